//! A test that runs in a process of its own: whatever happens to it, the server goes on, and the figures of the
//! processor are those of the test alone.
//!
//! The server writes one line with an [`Order`] to the standard input of the process, and reads the lines of its JSON
//! stream. When the standard input is closed, also because the server has vanished, the process ends its test in order.

use super::errand::Errand;
use crate::cmd::bulk;
use crate::plan::Plan;
use crate::wire::pieces::LINE_MAX;
use core::net::SocketAddr;
use dccp_cli::{Failure, interrupt};
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, TrySendError, sync_channel};
use std::thread;

/// The word that starts this program as such a process. No host and no option has this name.
pub(crate) const WORD: &str = "--third-party-process";
/// Lines that wait until the client takes them. When there are more, intervals are left out.
const LINES_MAX: usize = 256;

/// The test that the process is to run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) errand: Errand,
    /// Where the other server may be: addresses that were checked, so the name is not looked up again.
    pub(crate) remotes: Vec<SocketAddr>,
    /// The key of this host's server.
    pub(crate) key_file: Option<PathBuf>,
}

/// Runs the test of an order in this process; gives the exit code.
///
/// # Errors
/// There is no order, or the test cannot run.
pub(crate) fn run() -> Result<u8, Failure> {
    let no_order = || {
        Failure::usage(
            "this command is for `dccpmon serve --third-party` only",
            "write `dccpmon --from A B` to have A measure to B",
        )
    };
    let mut line = String::new();
    let read = io::stdin()
        .lock()
        .take(LINE_MAX as u64)
        .read_line(&mut line);
    read.map_err(|_| no_order())?;
    let order: Order = serde_json::from_str(&line).map_err(|_| no_order())?;
    let mut asked = order.errand.test().map_err(|_| no_order())?;
    asked.key_file = order.key_file;
    thread::Builder::new()
        .name("stdin".into())
        .spawn(press_at_end)
        .map_err(|e| Failure::run(e.to_string(), "check this system's limits"))?;
    bulk::run_with(&asked, |asked| Plan::to(asked, order.remotes))
}

/// Ends the test when the standard input ends.
fn press_at_end() {
    // An error is an end too.
    let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
    interrupt::press();
}

/// The process of a test, as the server sees it. It is killed when dropped.
pub(crate) struct Process {
    child: Child,
    /// Closed when the test is to end.
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Process {
    /// Starts the test of an order.
    ///
    /// # Errors
    /// The system does not start the process.
    pub(crate) fn start(order: &Order) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .arg(WORD)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        // Ctrl-C on the server's terminal ends the test through the server only, and so in order.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let (lines, received) = sync_channel(LINES_MAX);
        let mut process = Self {
            child: command.spawn()?,
            stdin: None,
            lines: received,
        };
        let (stdin, stdout) = (process.child.stdin.take(), process.child.stdout.take());
        let (mut stdin, stdout) = stdin.zip(stdout).ok_or(io::ErrorKind::BrokenPipe)?;
        thread::Builder::new()
            .name("lines".into())
            .spawn(move || read_lines(stdout, &lines))?;
        let line = serde_json::to_string(order)? + "\n";
        stdin.write_all(line.as_bytes())?;
        process.stdin = Some(stdin);
        Ok(process)
    }

    /// Makes the test end in order. Its last line follows.
    pub(crate) fn stop(&mut self) {
        self.stdin = None;
    }

    /// A line that the process has printed.
    ///
    /// # Errors
    /// There is none yet, or none follows.
    pub(crate) fn line(&self) -> Result<String, TryRecvError> {
        self.lines.try_recv()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads lines until the end. The process must never wait for the client, so there is a bound on those that wait.
fn read_lines(stdout: impl Read, lines: &SyncSender<String>) {
    let mut stdout = BufReader::new(stdout);
    loop {
        let mut line = String::new();
        match stdout.by_ref().take(LINE_MAX as u64).read_line(&mut line) {
            Ok(1..) if line.ends_with('\n') => {}
            _ => return,
        }
        line.pop();
        if !line.starts_with(INTERVAL) {
            if lines.send(line).is_err() {
                return;
            }
        } else if let Err(TrySendError::Disconnected(_)) = lines.try_send(line) {
            return;
        }
    }
}

/// The begin of a line about an interval.
const INTERVAL: &str = r#"{"event":"interval","#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{sample, stream};

    #[test]
    fn intervals_are_left_out_when_too_many_wait() {
        let document = sample::document();
        let interval = stream::interval(&document.intervals[0]);
        assert!(interval.starts_with(INTERVAL), "{interval}");
        let text = stream::start(&document) + &interval.repeat(5);
        let (lines, received) = sync_channel(3);
        read_lines(text.as_bytes(), &lines);
        drop(lines);
        assert_eq!(received.iter().count(), 3);
    }

    #[test]
    fn half_a_line_is_none() {
        let (lines, received) = sync_channel(3);
        read_lines(&b"{}\n{"[..], &lines);
        drop(lines);
        assert_eq!(received.iter().collect::<Vec<_>>(), ["{}"]);
    }
}
