//! The result as a view of the terminal while the test runs. Its thread draws and reads keys, so that nothing of this
//! delays the measurement: an update that finds the thread's queue full is dropped.

mod keys;
mod view;

use crate::schema::{Interval, Mark};
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use dccp_cli::{exit, interrupt};
use keys::{Action, Keys};
use ratatui::DefaultTerminal;
use std::io::{self, IsTerminal as _, stdin, stdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use view::View;

/// Intervals that wait for the thread.
const QUEUE: usize = 64;
/// The time between two pictures.
const PERIOD: Duration = Duration::from_millis(100);
/// The marks that a user can set.
const MARKS_MAX: usize = 1_000;

/// A running view. The terminal is as before after it is dropped.
pub(crate) struct Live {
    intervals: Option<SyncSender<Interval>>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// The state that both threads use.
#[derive(Default)]
struct Shared {
    /// The time since the begin of the test.
    elapsed_ns: AtomicU64,
    marks: Mutex<Vec<Mark>>,
}

impl Live {
    /// Starts the view; `None` without a terminal.
    pub(crate) fn start(title: &str, duration_ns: u64) -> Option<Self> {
        if !(stdin().is_terminal() && stdout().is_terminal()) {
            return None;
        }
        let terminal = ratatui::try_init().ok()?;
        let view = View::new(title, duration_ns, std::env::var_os("NO_COLOR").is_none());
        let shared = Arc::new(Shared::default());
        let (sender, intervals) = sync_channel(QUEUE);
        let worker = Worker {
            terminal,
            view,
            intervals,
            shared: shared.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("live view".into())
            .spawn(move || worker.run());
        let Ok(thread) = thread else {
            ratatui::restore();
            return None;
        };
        Some(Self {
            intervals: Some(sender),
            shared,
            thread: Some(thread),
        })
    }

    /// Shows an interval.
    pub(crate) fn add(&self, interval: &Interval) {
        if let Some(intervals) = &self.intervals {
            // A full queue means a slow terminal.
            let _ = intervals.try_send(interval.clone());
        }
    }

    /// Shows the time.
    pub(crate) fn progress(&self, elapsed_ns: u64) {
        self.shared.elapsed_ns.store(elapsed_ns, Ordering::Relaxed);
    }

    /// Ends the view. Returns the marks that the user set.
    pub(crate) fn finish(mut self) -> Vec<Mark> {
        self.end();
        core::mem::take(
            &mut *self
                .shared
                .marks
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    fn end(&mut self) {
        self.intervals = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has restored the terminal.
            let _ = thread.join();
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.end();
    }
}

/// The thread of the view.
struct Worker {
    terminal: DefaultTerminal,
    view: View,
    intervals: Receiver<Interval>,
    shared: Arc<Shared>,
}

impl Worker {
    fn run(mut self) {
        loop {
            match self.intervals.recv_timeout(PERIOD) {
                Ok(interval) => self.view.add(&interval),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let is_seen = self.read_keys().and_then(|()| self.draw());
            if is_seen.is_err() {
                break;
            }
        }
        ratatui::restore();
    }

    fn draw(&mut self) -> io::Result<()> {
        let elapsed_ns = self.shared.elapsed_ns.load(Ordering::Relaxed);
        self.view.set_time(elapsed_ns);
        self.terminal.draw(|frame| self.view.draw(frame))?;
        Ok(())
    }

    fn read_keys(&mut self) -> io::Result<()> {
        while let Some(action) = Keys::next()? {
            match action {
                Action::End if interrupt::is_pressed() => {
                    // As the second Ctrl-C does.
                    ratatui::restore();
                    std::process::exit(exit::INTERRUPTED.into());
                }
                Action::End => interrupt::press(),
                Action::Pause => self.view.toggle_pause(),
                Action::Mark => {
                    let at_ns = self.shared.elapsed_ns.load(Ordering::Relaxed);
                    let marks = self.shared.marks.lock();
                    let mut marks = marks.unwrap_or_else(PoisonError::into_inner);
                    if marks.len() < MARKS_MAX {
                        let text = format!("mark {}", marks.len() + 1);
                        marks.push(Mark { at_ns, text });
                        self.view.set_marks(marks.len());
                    }
                }
            }
        }
        Ok(())
    }
}
