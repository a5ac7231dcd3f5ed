//! One end of a connection: the kernel's test program or ours. Both take the same options and
//! print the same JSON lines.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// A line that a peer prints.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum Line {
    /// Connections are accepted now.
    Listening {},
    Connected {
        tx_ccid: u8,
        rx_ccid: u8,
    },
    /// Once a second.
    Report {},
    Summary(Summary),
    /// A call failed.
    Error {
        call: String,
        /// The kernel's name for it, such as `ECONNREFUSED`.
        error: String,
    },
}

/// The messages of a connection, counted at one end.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Summary {
    pub(super) sent: u64,
    pub(super) received: u64,
    /// Gaps in what arrived; `None` if the messages had no numbers.
    pub(super) lost: Option<u64>,
    pub(super) duplicates: u64,
    pub(super) damaged: u64,
    /// The end or event that closed it: `local`, `peer`, `timeout`, `error`.
    pub(super) end: String,
    pub(super) error: Option<String>,
}

/// A running peer; it is killed when this is dropped.
pub(super) struct Peer {
    name: &'static str,
    child: Child,
    lines: Receiver<String>,
    seen: Vec<Line>,
}

impl Peer {
    /// Starts a peer; what it prints is also appended to `log`.
    pub(super) fn spawn(name: &'static str, mut command: Command, log: &Path) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{name} does not start"))?;
        let stdout = child.stdout.take().context("a pipe was asked for")?;
        let mut log = File::options().append(true).open(log)?;
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // Without the log, or without a listener, there is no use in going on.
                let is_logged = writeln!(log, "{name}: {line}").is_ok();
                if !is_logged || sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            name,
            child,
            lines,
            seen: Vec::new(),
        })
    }

    /// Waits until the peer listens.
    pub(super) fn wait_until_listening(&mut self) -> Result<()> {
        while let Some(line) = self.next_line(Duration::from_secs(15))? {
            if matches!(line, Line::Listening {}) {
                return Ok(());
            }
        }
        bail!("{} does not listen: {:?}", self.name, self.seen.last());
    }

    /// Waits until the peer has ended; all its lines. `silence`: longest time between two of them.
    pub(super) fn wait_for_end(mut self, silence: Duration) -> Result<Vec<Line>> {
        while self.next_line(silence)?.is_some() {}
        Ok(std::mem::take(&mut self.seen))
    }

    /// The next line, `None` after the last one.
    fn next_line(&mut self, silence: Duration) -> Result<Option<Line>> {
        let line = match self.lines.recv_timeout(silence) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => {
                bail!(
                    "{} has said nothing for {silence:?}; last: {:?}",
                    self.name,
                    self.seen.last()
                )
            }
        };
        let line: Line =
            serde_json::from_str(&line).with_context(|| format!("{}: {line}", self.name))?;
        self.seen.push(line.clone());
        Ok(Some(line))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Both fail only where the peer has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
