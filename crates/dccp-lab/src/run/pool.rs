//! Many runs at once, on threads. Runs share nothing, so their results do not depend on how many
//! threads there are.

use super::outcome::Outcome;
use super::sim;
use crate::scenario::plan::Run;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;

/// What happens while runs are played.
#[derive(Debug)]
pub enum News {
    /// So much virtual time more has passed.
    Played(Duration),
    /// The run with this index is over: what it measured, or why it failed.
    Over(usize, Result<Outcome, String>),
}

/// Virtual time between two pieces of news.
const STEP: Duration = Duration::from_millis(500);
/// Real time after which `tell` is called without news.
const QUIET: Duration = Duration::from_millis(100);

/// Plays runs on so many threads, and tells what happens until all are over or `tell` answers `false`:
/// then the runs at work are given up. It is called without news now and then.
pub fn play_all(runs: &[&Run], jobs: usize, mut tell: impl FnMut(Option<News>) -> bool) {
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, runs.len().max(1)) {
            let sender = sender.clone();
            let (next, stop) = (&next, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(run) = runs.get(index) else { break };
                    if let Some(result) = play(run, stop, &sender)
                        && sender.send(News::Over(index, result)).is_err()
                    {
                        break;
                    }
                }
            });
        }
        drop(sender);
        loop {
            let news = match receiver.recv_timeout(QUIET) {
                Ok(news) => Some(news),
                Err(mpsc::RecvTimeoutError::Timeout) => None,
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
            };
            if !tell(news) {
                stop.store(true, Ordering::Relaxed);
            }
        }
    });
}

/// Plays one run; `None` if it was given up.
fn play(
    run: &Run,
    stop: &AtomicBool,
    sender: &mpsc::Sender<News>,
) -> Option<Result<Outcome, String>> {
    let mut told = Duration::ZERO;
    let progress = |at: Duration| {
        if at >= told + STEP || at == run.end {
            // Nobody listens any more only when everything is being given up.
            let _ = sender.send(News::Played(at.saturating_sub(told)));
            told = at;
        }
        !stop.load(Ordering::Relaxed)
    };
    match catch_unwind(AssertUnwindSafe(|| sim::play(run, None, progress))) {
        Ok(Ok(outcome)) => outcome.map(Ok),
        Ok(Err(error)) => Some(Err(error.to_string())),
        Err(panic) => Some(Err(message(panic.as_ref()))),
    }
}

/// What a panic says.
fn message(panic: &(dyn core::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a broken promise").to_owned()
}
