//! Files of results. They are opened before the test, so that a wrong name costs no measurement.

use dccp_cli::Failure;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A file that is written whole or not at all: a reader never sees half of it.
#[derive(Debug)]
pub(crate) struct ResultFile {
    /// The file as the user names it.
    path: PathBuf,
    file: File,
    /// `None`: a device or a pipe, which must stay what it is.
    part: Option<Part>,
}

/// A file beside the result, which takes its place at the end.
#[derive(Debug)]
struct Part {
    path: PathBuf,
    /// The place of the result, behind all links.
    target: PathBuf,
}

impl Drop for Part {
    fn drop(&mut self) {
        // After the end it has its new name, and nothing is removed.
        let _ = fs::remove_file(&self.path);
    }
}

impl ResultFile {
    /// Opens the file.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let opened = if fs::metadata(path).is_ok_and(|about| !about.is_file()) {
            let file = OpenOptions::new().write(true).open(path);
            file.map(|file| (file, None))
        } else {
            Part::create(path).map(|(file, part)| (file, Some(part)))
        };
        let (file, part) = opened.map_err(|e| Failure::write(path, &e))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            part,
        })
    }

    /// Writes the result.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn write(mut self, text: &str) -> Result<(), Failure> {
        let written = self.file.write_all(text.as_bytes());
        let part = self.part.as_ref();
        written
            .and_then(|()| part.map_or(Ok(()), |part| fs::rename(&part.path, &part.target)))
            .map_err(|e| Failure::write(&self.path, &e))
    }

    /// Whether both replace the same file.
    fn replaces(&self, other: &Self) -> bool {
        let target = |file: &Self| file.part.as_ref().map(|part| part.target.clone());
        target(self).is_some() && target(self) == target(other)
    }
}

impl Part {
    fn create(path: &Path) -> io::Result<(File, Self)> {
        let target = resolved(path)?;
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|e| io::Error::other(e.to_string()))?;
        let mut name = target.as_os_str().to_owned();
        name.push(format!(".part-{:016x}", u64::from_ne_bytes(random)));
        let path = PathBuf::from(name);
        // Another user of the folder cannot put a link in its place.
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)?;
        Ok((file, Self { path, target }))
    }
}

/// The file behind all links.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    if let Ok(file) = fs::canonicalize(path) {
        return Ok(file);
    }
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")))?;
    Ok(folder.join(name))
}

/// The files of one run.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// The document.
    pub(crate) save: Option<ResultFile>,
    /// The page.
    pub(crate) html: Option<ResultFile>,
}

impl Files {
    /// Opens both.
    ///
    /// # Errors
    /// One cannot be written, or both are the same.
    pub(crate) fn create(save: Option<&Path>, html: Option<&Path>) -> Result<Self, Failure> {
        let files = Self {
            save: save.map(ResultFile::create).transpose()?,
            html: html.map(ResultFile::create).transpose()?,
        };
        match (&files.save, &files.html) {
            (Some(save), Some(html)) if save.replaces(html) => Err(Failure::usage(
                "--save and --html name the same file",
                "give each a name of its own",
            )),
            _ => Ok(files),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An empty folder of one test.
    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("dccpmon-{name}-{}", std::process::id()));
        // It exists only after an earlier run.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[cfg(unix)]
    #[test]
    fn device_stays_a_device() {
        let file = ResultFile::create(Path::new("/dev/null")).unwrap();
        file.write("text").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn file_is_whole_or_absent() {
        let folder = folder("whole");
        let path = folder.join("result");
        drop(ResultFile::create(&path).unwrap());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::write(&path, "before").unwrap();
        let file = ResultFile::create(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "before");
        file.write("after").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "after");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn link_stays_a_link() {
        let folder = folder("link");
        let (path, link) = (folder.join("result"), folder.join("link"));
        fs::write(&path, "before").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        ResultFile::create(&link).unwrap().write("after").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "after");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn one_name_for_both_files_is_a_mistake() {
        let folder = folder("same");
        let path = folder.join("result");
        let failure = Files::create(Some(&path), Some(&path)).unwrap_err();
        assert_eq!(failure.code, 2);
        assert_eq!(failure.what, "--save and --html name the same file");
        let other = folder.join("page");
        Files::create(Some(&path), Some(&other)).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        fs::remove_dir_all(&folder).unwrap();
    }
}
