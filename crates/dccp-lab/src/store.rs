//! Results on the disk: the document, and a companion file with the finished cells while others run.

use dccp_cli::Failure;
use dccp_lab::output::json::SCHEMA;
use dccp_lab::scenario::{Scale, Scenario};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};

/// The file of the results, and its companion `FILE.partial`: one line of JSON for each cell. Only one run at a time has
/// it.
pub(crate) struct Store {
    path: PathBuf,
    partial: File,
}

impl Store {
    /// Opens the companion file. A resumed run keeps its contents.
    pub(crate) fn open(path: &Path, is_resumed: bool) -> Result<Self, Failure> {
        check_replaceable(path)?;
        let name = partial(path);
        let mut options = File::options();
        let partial = options.create(true).read(true).append(true).open(&name);
        let partial = partial.map_err(|e| Failure::write(&name, &e))?;
        if partial.try_lock().is_err() {
            return Err(Failure::usage(
                format!("{}: another run writes this file", path.display()),
                "wait for its end, or name another file",
            ));
        }
        if is_resumed {
            cut_incomplete_line(&partial).map_err(|e| Failure::write(&name, &e))?;
        } else if partial.metadata().is_ok_and(|file| file.len() > 0) {
            return Err(Failure::usage(
                format!(
                    "{} holds the finished cells of a run that was stopped",
                    name.display()
                ),
                "add --resume to go on, or remove it",
            ));
        }
        Ok(Self {
            path: path.to_owned(),
            partial,
        })
    }

    /// Keeps a finished cell.
    pub(crate) fn keep(&mut self, program_hash: &str, cell: &Value) -> Result<(), Failure> {
        let line = serde_json::json!({ "program_hash": program_hash, "cell": cell });
        let written = writeln!(self.partial, "{line}");
        written.map_err(|e| Failure::write(&partial(&self.path), &e))
    }

    /// Writes the document and removes the companion file.
    pub(crate) fn finish(self, document: &Value) -> Result<(), Failure> {
        replace(&self.path, format!("{document}\n").as_bytes())?;
        // The companion file goes when it is empty.
        let emptied = self.partial.set_len(0);
        emptied.map_err(|e| Failure::write(&partial(&self.path), &e))
    }
}

/// A run that keeps no cell, such as one that is refused, leaves no companion file.
impl Drop for Store {
    fn drop(&mut self) {
        if self.partial.metadata().is_ok_and(|file| file.len() == 0) {
            let _ = fs::remove_file(partial(&self.path));
        }
    }
}

/// Checks that a file may be replaced, before its contents are computed. `/dev/null` must not be replaced.
pub(crate) fn check_replaceable(path: &Path) -> Result<(), Failure> {
    if fs::metadata(path).is_ok_and(|old| !old.is_file()) {
        return Err(Failure::usage(
            format!("{} is not a regular file", path.display()),
            "write the results to a new file",
        ));
    }
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    match folder {
        Some(folder) if !folder.is_dir() => Err(Failure::usage(
            format!(
                "{}: there is no folder {}",
                path.display(),
                folder.display()
            ),
            "create it, or name another file",
        )),
        _ => Ok(()),
    }
}

/// Writes a file. Readers find the old contents or the new ones, never a part.
pub(crate) fn replace(path: &Path, contents: &[u8]) -> Result<(), Failure> {
    let new = with_ending(path, "new");
    let written = fs::write(&new, contents).and_then(|()| fs::rename(&new, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&new);
        Failure::write(path, &error)
    })
}

/// Cuts off the last line if it is incomplete because the program was killed. The next line would become a part of
/// it.
fn cut_incomplete_line(file: &File) -> io::Result<()> {
    let mut reader = BufReader::new(file);
    let (mut end, mut line) = (0, Vec::new());
    while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
        end += line.len() as u64;
        line.clear();
    }
    file.set_len(end)
}

/// Checks that no file of a command is also another one of it. Each has a name for messages.
pub(crate) fn check_distinct<'a>(
    files: impl IntoIterator<Item = (&'static str, &'a Path)>,
) -> Result<(), Failure> {
    let mut known: Vec<(PathBuf, &'static str)> = Vec::new();
    for (name, path) in files {
        let place = place_of(path);
        if let Some((_, other)) = known.iter().find(|(known, _)| *known == place) {
            return Err(Failure::usage(
                format!(
                    "{}: {name} would be the same file as {other}",
                    path.display()
                ),
                "name another file",
            ));
        }
        known.push((place, name));
    }
    Ok(())
}

/// The place of a file, which need not exist, without links in its path.
fn place_of(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")));
    let new = || Some(folder.ok()?.join(path.file_name()?));
    let known = fs::canonicalize(path).ok();
    known.or_else(new).unwrap_or_else(|| path.to_owned())
}

/// Cells of this scenario that the same program has finished before, by their keys. `keys` are those that a run of the
/// whole scenario would have. Refuses a file with other contents or results of another scale, and full results of another
/// build or version of the scenario, because the results would replace it.
pub(crate) fn finished(
    path: &Path,
    scenario: &Scenario,
    keys: &[String],
    program_hash: &str,
) -> Result<BTreeMap<String, Value>, Failure> {
    let keys: BTreeSet<&str> = keys.iter().map(String::as_str).collect();
    let mut cells = BTreeMap::new();
    let (mut is_of_other_build, mut is_of_other_text) = (false, false);
    let mut add = |hash: &Value, cell: &Value| {
        is_of_other_build |= hash != program_hash;
        is_of_other_text |= !cell["key"].as_str().is_some_and(|key| keys.contains(key));
        if let Some(key) = cell["key"].as_str()
            && hash == program_hash
            && cell["error"].is_null()
        {
            cells.insert(key.to_owned(), cell.clone());
        }
    };
    if let Some(file) = open(path)? {
        let document: Value = serde_json::from_reader(BufReader::new(file))
            .map_err(|e| foreign(path, &format!("holds no results: {e}")))?;
        if document["schema"] != SCHEMA {
            return Err(foreign(path, "holds no results of dccplab"));
        }
        let name = &document["record"]["name"];
        if *name != scenario.name {
            let what = format!("holds results of another scenario, {name}");
            return Err(foreign(path, &what));
        }
        check_scale(path, &document["record"]["scale"], scenario)?;
        for cell in document["cells"].as_array().into_iter().flatten() {
            add(&document["record"]["program_hash"], cell);
        }
    }
    if let Some(file) = open(&partial(path))? {
        // The last line may be incomplete; then it is not a cell.
        for line in BufReader::new(file).lines().map_while(Result::ok) {
            if let Ok(line) = serde_json::from_str::<Value>(&line) {
                add(&line["program_hash"], &line["cell"]);
            }
        }
    }
    let others = [
        (is_of_other_build, "results of another build of dccplab"),
        (
            is_of_other_text,
            "cells that this scenario does not have here",
        ),
    ];
    match others.iter().find(|(is_there, _)| *is_there) {
        Some((_, held)) if scenario.scale == Scale::Full => Err(would_replace(path, held)),
        _ => Ok(cells),
    }
}

/// Refuses results of another scale: a quick run would replace the cells of a full one.
fn check_scale(path: &Path, stored: &Value, scenario: &Scenario) -> Result<(), Failure> {
    match stored.as_str() {
        Some(stored) if stored != scenario.scale.word() => {
            Err(would_replace(path, &format!("{stored} results")))
        }
        _ => Ok(()),
    }
}

/// The error for results that took long and that this run would replace.
fn would_replace(path: &Path, held: &str) -> Failure {
    Failure::usage(
        format!(
            "{} holds {held}, which this run would replace",
            path.display()
        ),
        "name another place, or remove this file",
    )
}

/// The error for a file that holds something else.
fn foreign(path: &Path, what: &str) -> Failure {
    Failure::usage(
        format!("{} {what}", path.display()),
        "name another file, or leave --resume out to replace this one",
    )
}

fn open(path: &Path) -> Result<Option<File>, Failure> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Failure::run(
            format!("{} cannot be read: {e}", path.display()),
            "check who may read it",
        )),
    }
}

fn partial(path: &Path) -> PathBuf {
    with_ending(path, "partial")
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}
