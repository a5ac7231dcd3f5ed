//! The file with the allowed rates. A reader always sees a whole document, because each one replaces the file.

use dccp_cli::Failure;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// A file that is replaced at each change.
#[derive(Debug)]
pub(super) struct RateFile {
    path: PathBuf,
    /// The new document, until it replaces the file.
    draft: PathBuf,
    has_failed: bool,
}

impl RateFile {
    /// Writes the first document.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn create(path: &Path, text: &str) -> Result<Self, Failure> {
        let mut draft = OsString::from(path);
        draft.push(format!(".{}", std::process::id()));
        let file = Self {
            path: path.to_owned(),
            draft: draft.into(),
            has_failed: false,
        };
        file.replace(text)
            .map_err(|e| Failure::write(path, &e))
            .map(|()| file)
    }

    /// Replaces the file. Returns a complaint at the first of several failures.
    pub(super) fn write(&mut self, text: &str) -> Option<String> {
        let failure = self.replace(text).err();
        let is_new = failure.is_some() && !self.has_failed;
        self.has_failed = failure.is_some();
        let failure = failure.filter(|_| is_new)?;
        let path = self.path.display();
        Some(format!("--rate-file {path}: cannot be written: {failure}"))
    }

    fn replace(&self, text: &str) -> io::Result<()> {
        std::fs::write(&self.draft, text)?;
        std::fs::rename(&self.draft, &self.path)
    }
}

impl Drop for RateFile {
    /// A rate of a program that does not run would mislead.
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
        let _ = std::fs::remove_file(&self.draft);
    }
}
