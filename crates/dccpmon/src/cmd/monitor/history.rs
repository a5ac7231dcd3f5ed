//! The results of a test on the disk: one document per line, without its intervals, the newest last.

use super::config;
use crate::schema::Document;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Longer lines than this are not read, and end the history before them.
const LINE_MAX: u64 = 16 << 20;

/// The history of one test.
#[derive(Debug)]
pub(super) struct History {
    path: PathBuf,
    keep: usize,
    lines: usize,
}

impl History {
    /// Opens the history of the test with this name. The folder is made if it does not exist.
    ///
    /// # Errors
    /// The folder or the file cannot be used.
    pub(super) fn open(asked: &config::History, name: &str) -> io::Result<Self> {
        fs::create_dir_all(&asked.dir)?;
        let mut history = Self {
            path: asked.dir.join(format!("{name}.ndjson")),
            keep: asked.keep,
            lines: 0,
        };
        history.lines = history.count()?;
        history.cut()?;
        Ok(history)
    }

    /// Removes what stands behind the last whole line: a disk that was full leaves a part of one.
    fn cut(&self) -> io::Result<()> {
        let mut whole = 0;
        let counted = each_line(&self.path, |line| {
            whole += line.len() as u64;
            Ok(())
        });
        match counted {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            counted => counted?,
        }
        let file = OpenOptions::new().write(true).open(&self.path)?;
        let rest = file.metadata()?.len().saturating_sub(whole);
        if (1..LINE_MAX).contains(&rest) {
            file.set_len(whole)?;
        }
        Ok(())
    }

    /// Adds a result. When there are twice as many as are kept, the older half goes.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn add(&mut self, document: &Document) -> io::Result<()> {
        let short = Document {
            intervals: Vec::new(),
            ..document.clone()
        };
        let line = serde_json::to_string(&short)? + "\n";
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)?;
        let before = file.metadata()?.len();
        // One call: a monitor that is killed leaves whole lines.
        if let Err(e) = file.write_all(line.as_bytes()) {
            // A full disk has room for a shorter file. If not, the next start removes the part.
            let _ = file.set_len(before);
            return Err(e);
        }
        self.lines += 1;
        if self.lines >= self.keep.saturating_mul(2) {
            self.shorten()?;
        }
        Ok(())
    }

    /// Writes the newest results into a new file, which then takes the place of the old one.
    fn shorten(&mut self) -> io::Result<()> {
        let excess = self.lines - self.keep;
        let part = self.path.with_extension("ndjson.part");
        let mut out = BufWriter::new(File::create(&part)?);
        let mut kept = 0;
        let mut number = 0;
        each_line(&self.path, |line| {
            number += 1;
            if number > excess {
                kept += 1;
                out.write_all(line)?;
            }
            Ok(())
        })?;
        out.into_inner().map_err(io::Error::from)?.sync_all()?;
        fs::rename(&part, &self.path)?;
        self.lines = kept;
        Ok(())
    }

    /// Counts the lines of the file, which need not exist.
    fn count(&self) -> io::Result<usize> {
        let mut lines = 0;
        let counted = each_line(&self.path, |_| {
            lines += 1;
            Ok(())
        });
        match counted {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(0),
            counted => counted.map(|()| lines),
        }
    }
}

/// Reads a file line by line, each with its end.
fn each_line(path: &Path, mut handle: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut file = BufReader::new(File::open(path)?);
    let mut line = Vec::new();
    loop {
        line.clear();
        file.by_ref().take(LINE_MAX).read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            return Ok(());
        }
        handle(&line)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;

    fn folder(name: &str) -> config::History {
        let id = std::process::id();
        let dir = std::env::temp_dir().join(format!("dccpmon-{name}-{id}"));
        let _ = fs::remove_dir_all(&dir);
        config::History { dir, keep: 3 }
    }

    /// The times of the stored results.
    fn times(history: &History) -> Vec<u64> {
        let text = fs::read_to_string(&history.path).unwrap();
        let documents = text.lines().map(|line| serde_json::from_str(line).unwrap());
        documents
            .map(|document: Document| {
                assert!(document.intervals.is_empty());
                document.record.ended_unix_s
            })
            .collect()
    }

    #[test]
    fn history_keeps_the_newest_results() {
        let asked = folder("history");
        let mut history = History::open(&asked, "a").unwrap();
        let mut document = sample::document();
        for time in 1..=8 {
            document.record.ended_unix_s = time;
            history.add(&document).unwrap();
            assert!(history.lines < 6);
        }
        // Six results became three, and two followed.
        assert_eq!(times(&history), [4, 5, 6, 7, 8]);
        // Another run of the program goes on where this one ended.
        let mut again = History::open(&asked, "a").unwrap();
        assert_eq!(again.lines, 5);
        document.record.ended_unix_s = 9;
        again.add(&document).unwrap();
        assert_eq!(times(&again), [7, 8, 9]);
        assert_eq!(History::open(&asked, "b").unwrap().lines, 0);
        fs::remove_dir_all(&asked.dir).unwrap();
    }

    #[test]
    fn part_of_a_line_does_not_spoil_the_next_one() {
        let asked = folder("history-part");
        let document = sample::document();
        let mut history = History::open(&asked, "a").unwrap();
        history.add(&document).unwrap();
        let mut file = OpenOptions::new().append(true).open(&history.path).unwrap();
        file.write_all(b"{\"schema\":").unwrap();
        let mut again = History::open(&asked, "a").unwrap();
        again.add(&document).unwrap();
        assert_eq!(times(&again).len(), 2);
        fs::remove_dir_all(&asked.dir).unwrap();
    }
}
