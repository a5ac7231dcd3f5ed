//! Waits that Ctrl-C ends.

use crate::wire::channel::{Channel, Lost};
use crate::wire::message::Message;
use core::time::Duration;
use dccp::clock;
use dccp_cli::{Failure, exit, interrupt};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

/// How often a wait looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);

/// Fails after Ctrl-C.
pub(crate) fn uninterrupted() -> Result<(), Failure> {
    if !interrupt::is_pressed() {
        return Ok(());
    }
    Err(Failure {
        code: exit::INTERRUPTED,
        what: "interrupted before the test began".into(),
        next: "start it again".into(),
    })
}

/// Does what can take seconds and cannot be ended. After Ctrl-C its thread is left behind.
pub(crate) fn interruptible<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    let (done, outcome) = mpsc::sync_channel(1);
    let thread = thread::Builder::new().name("connect".into());
    let started = thread.spawn(move || {
        // After Ctrl-C the receiver is gone.
        let _ = done.send(work());
    });
    started.map_err(|e| Failure::run(e.to_string(), "check this system's limits"))?;
    loop {
        match outcome.recv_timeout(LOOK) {
            Ok(outcome) => return Ok(outcome),
            Err(RecvTimeoutError::Timeout) => uninterrupted()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::run("the attempt to connect failed", "try again"));
            }
        }
    }
}

/// The next message of the server; nothing after `time` or after Ctrl-C.
pub(crate) fn answer(channel: &mut Channel, time: Duration) -> Result<Option<Message>, Lost> {
    let until = clock::now() + time;
    loop {
        let now = clock::now();
        let message = channel.poll((now + LOOK).min(until))?;
        if message.is_some() || now >= until || interrupt::is_pressed() {
            return Ok(message);
        }
    }
}
