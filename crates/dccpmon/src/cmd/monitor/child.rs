//! One run of a test, in a process of its own: so whatever happens to it, the monitor goes on.

use super::config::Test;
use crate::schema::Document;
use core::time::Duration;
use dccp::clock;
use dccp_cli::interrupt;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;

/// The time that an interrupted run may take to end by itself.
const FAREWELL: Duration = Duration::from_secs(12);
/// The time between two checks whether the monitor ends.
const LOOK: Duration = Duration::from_millis(100);
/// The longest document in bytes.
const DOCUMENT_MAX: u64 = 256 << 20;

/// Runs a test for its document.
///
/// # Errors
/// The program did not start, or left no document.
pub(super) fn run(program: &Path, test: &Test) -> Result<Document, String> {
    let mut child = Command::new(program)
        .args(&test.words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("cannot start: {e}"))?;
    let outcome = output(&mut child).and_then(|output| wait(&output, test.at_most));
    if outcome.is_err() {
        // It may have ended.
        let _ = child.kill();
    }
    let ended = child.wait();
    let output = outcome?;
    serde_json::from_str(&output).map_err(|e| match ended {
        Ok(status) => format!("no result ({status}): {e}"),
        Err(_) => format!("no result: {e}"),
    })
}

/// Reads the output of a process in a thread, because the pipe would block this one.
fn output(child: &mut Child) -> Result<Receiver<String>, String> {
    let stdout = child.stdout.take().ok_or("no pipe from the test")?;
    let (sender, receiver) = mpsc::channel();
    thread::Builder::new()
        .name("output".into())
        .spawn(move || {
            let mut text = String::new();
            // A broken text is no document, and the parser says so.
            let _ = stdout.take(DOCUMENT_MAX).read_to_string(&mut text);
            let _ = sender.send(text);
        })
        .map_err(|e| format!("cannot read the test's output: {e}"))?;
    Ok(receiver)
}

/// Waits for the end of the output. Ctrl-C on a terminal reaches the process too, which then ends with a result.
fn wait(output: &Receiver<String>, at_most: Duration) -> Result<String, String> {
    let mut until = clock::now() + at_most;
    let mut is_ending = false;
    loop {
        match output.recv_timeout(LOOK) {
            Ok(text) => return Ok(text),
            Err(RecvTimeoutError::Disconnected) => return Err("its output is lost".into()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let now = clock::now();
        if interrupt::is_pressed() && !core::mem::replace(&mut is_ending, true) {
            until = until.min(now + FAREWELL);
        }
        if now >= until {
            return Err("it did not end in time".into());
        }
    }
}
