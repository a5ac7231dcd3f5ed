//! The processes of `dccpmon`.

use super::words::Test;
use crate::run::live::LiveError;
use serde_json::Value;
use std::env;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};

/// A test that runs.
pub(super) struct Running {
    test: Test,
    child: Child,
    /// Reads the process's output, so that it never waits.
    reader: JoinHandle<(String, String)>,
}

/// A test with its document.
pub(super) struct Measured {
    pub(super) test: Test,
    pub(super) document: Value,
}

/// The program `dccpmon`: the one beside this program, else the one that the system finds.
fn program() -> PathBuf {
    let name = format!("dccpmon{}", env::consts::EXE_SUFFIX);
    let beside = env::current_exe().map(|own| own.with_file_name(&name));
    let beside = beside.ok().filter(|path| path.is_file());
    beside.unwrap_or_else(|| name.into())
}

fn spawn(words: &[String]) -> Result<Child, LiveError> {
    let program = program();
    let mut command = Command::new(&program);
    command.args(words).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().map_err(|error| {
        LiveError::failed(
            format!("{}: {error}", program.display()),
            "install dccpmon beside dccplab, or in a folder of PATH",
        )
    })
}

/// Asks a server whether it would run a test.
pub(super) fn greet(words: &[String]) -> Result<(), LiveError> {
    let output = spawn(words)?.wait_with_output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    document(&(text(&output.stdout), text(&output.stderr))).map(drop)
}

impl Running {
    /// Starts a test.
    pub(super) fn start(test: Test) -> Result<Self, LiveError> {
        let mut child = spawn(&test.words)?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        // Without all of its text, the output is no document.
        let reader = thread::spawn(move || {
            let out = stdout.map(io::read_to_string).transpose();
            let err = stderr.map(io::read_to_string).transpose();
            let all = |read: io::Result<Option<String>>| read.ok().flatten().unwrap_or_default();
            (all(out), all(err))
        });
        Ok(Self {
            test,
            child,
            reader,
        })
    }

    /// Whether the process has ended.
    pub(super) fn has_ended(&mut self) -> bool {
        // An error means that there is no such process any more.
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// The test with its document, of a process that has ended.
    pub(super) fn measured(self) -> Result<Measured, LiveError> {
        let output = self.reader.join().unwrap_or_default();
        Ok(Measured {
            document: document(&output).map_err(|error| LiveError {
                what: format!("[[flow]] {}: {}", self.test.id, error.what),
                ..error
            })?,
            test: self.test,
        })
    }

    /// Ends the process. Its server notices that.
    pub(super) fn end(mut self) {
        // It may have ended meanwhile.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.reader.join();
    }
}

/// The document that the process printed, if it has results or is a plan; otherwise the reason why not.
fn document((stdout, stderr): &(String, String)) -> Result<Value, LiveError> {
    let document: Value = serde_json::from_str(stdout).unwrap_or_default();
    let is_planned = document["status"] == "planned";
    if is_planned || document["summary"].is_object() {
        return Ok(document);
    }
    let error = &document["error"];
    if let (Some(what), Some(next)) = (error["what"].as_str(), error["next"].as_str()) {
        return Err(LiveError::failed(what, next));
    }
    let line = |begin: &str| {
        let lines = stderr.lines().map(str::trim_start);
        lines
            .filter_map(|line| line.strip_prefix(begin))
            .next_back()
    };
    Err(LiveError::failed(
        line("error: ").unwrap_or("dccpmon ended without a result"),
        line("next: ").unwrap_or("start `dccpmon` alone with the same hosts to see why"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_comes_from_the_document_or_from_the_two_lines() {
        let reason = |stdout: &str, stderr: &str| {
            let error = document(&(stdout.into(), stderr.into())).unwrap_err();
            (error.what, error.next)
        };
        let of_document =
            r#"{"status": "failed", "summary": null, "error": {"what": "w", "next": "n"}}"#;
        assert_eq!(reason(of_document, ""), ("w".into(), "n".into()));
        let lines = "note: x\nerror: -l 9: is short\n next: write 32\n";
        assert_eq!(
            reason("", lines),
            ("-l 9: is short".into(), "write 32".into())
        );
        assert_eq!(reason("", "").0, "dccpmon ended without a result");
        let planned = r#"{"status": "planned", "summary": null}"#;
        assert!(document(&(planned.into(), String::new())).is_ok());
    }
}
