//! Many runs at once, on threads. Runs share nothing, so their results do not depend on the number of threads.

use super::outcome::Outcome;
use super::{bench, sim};
use crate::scenario::plan::Run;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};

/// Progress of the runs.
#[derive(Debug)]
pub enum News {
    /// This much virtual time of the run with this index has passed since its last report.
    Played(usize, Duration),
    /// The run with this index has ended, with its outcome or the reason of its failure.
    Over(usize, Result<Outcome, String>),
}

/// Virtual time between two reports of progress.
const STEP: Duration = Duration::from_millis(500);
/// Real time after which `tell` is called without a new result.
const QUIET: Duration = Duration::from_millis(100);

/// Quiet periods, 2 s in all, after which a stopped run counts as hanging.
const PATIENCE: u32 = 20;

/// Plays runs on `jobs` threads, measurements of this machine on one, and reports to `tell`. If `tell` returns `false`, the
/// current runs are cancelled. `tell` is also called without a new result, so that it can stop runs at any time.
pub fn play_all(runs: &[&Run], jobs: usize, tell: impl FnMut(Option<News>) -> bool) {
    let runs: Vec<Run> = runs.iter().map(|&run| run.clone()).collect();
    let number = runs.len();
    // Measurements would disturb each other.
    let jobs = if runs.iter().any(|run| run.bench().is_some()) {
        1
    } else {
        jobs
    };
    let play = move |index: usize, stop: &AtomicBool, news: &mpsc::Sender<News>| {
        play(index, runs.get(index)?, stop, news)
    };
    give_out(number, jobs, play, tell);
}

/// Distributes runs over threads. A thread that hangs when all runs are given up is abandoned, so that finished runs
/// are not lost. It ends with the program.
fn give_out<P>(number: usize, jobs: usize, play: P, mut tell: impl FnMut(Option<News>) -> bool)
where
    P: Fn(usize, &AtomicBool, &mpsc::Sender<News>) -> Option<Result<Outcome, String>>,
    P: Send + Sync + 'static,
{
    let shared = Arc::new((AtomicUsize::new(0), AtomicBool::new(false), play));
    let (sender, receiver) = mpsc::channel();
    for _ in 0..jobs.clamp(1, number.max(1)) {
        let (sender, shared) = (sender.clone(), Arc::clone(&shared));
        std::thread::spawn(move || {
            let (next, stop, play) = &*shared;
            while !stop.load(Ordering::Relaxed) {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= number {
                    break;
                }
                if let Some(result) = play(index, stop, &sender)
                    && sender.send(News::Over(index, result)).is_err()
                {
                    break;
                }
            }
        });
    }
    drop(sender);
    let mut quiet = 0;
    while quiet < PATIENCE {
        let news = match receiver.recv_timeout(QUIET) {
            Ok(news) => Some(news),
            Err(mpsc::RecvTimeoutError::Timeout) => None,
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        };
        let is_quiet = news.is_none();
        if !tell(news) {
            shared.1.store(true, Ordering::Relaxed);
            quiet += u32::from(is_quiet);
        }
    }
}

/// Plays one run; `None` if it was given up.
fn play(
    index: usize,
    run: &Run,
    stop: &AtomicBool,
    sender: &mpsc::Sender<News>,
) -> Option<Result<Outcome, String>> {
    let mut told = Duration::ZERO;
    let progress = |at: Duration| {
        if at >= told + STEP || at == run.end {
            // The receiver is gone only when all runs are given up.
            let _ = sender.send(News::Played(index, at.saturating_sub(told)));
            told = at;
        }
        !stop.load(Ordering::Relaxed)
    };
    let played = || match run.bench() {
        Some(bench) => bench::measure(run, bench).map(Some),
        None => sim::play(run, None, progress).map_err(|error| error.to_string()),
    };
    match catch_unwind(AssertUnwindSafe(played)) {
        Ok(Ok(outcome)) => outcome.map(Ok),
        Ok(Err(error)) => Some(Err(error)),
        Err(panic) => Some(Err(message(panic.as_ref()))),
    }
}

/// The message of a panic.
fn message(panic: &(dyn core::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hanging_run_is_abandoned() {
        let play = |index: usize, _: &AtomicBool, _: &mpsc::Sender<News>| {
            if index == 0 {
                return Some(Err("failed".to_owned()));
            }
            loop {
                std::thread::park();
            }
        };
        let mut over = Vec::new();
        give_out(2, 1, play, |news| {
            if let Some(News::Over(index, Err(why))) = news {
                over.push((index, why));
            }
            over.is_empty()
        });
        assert_eq!(over, [(0, "failed".to_owned())]);
    }

    #[test]
    fn each_run_is_played_once() {
        for jobs in [1, 3, 100] {
            let play =
                |index: usize, _: &AtomicBool, _: &mpsc::Sender<News>| Some(Err(index.to_string()));
            let mut over = Vec::new();
            give_out(20, jobs, play, |news| {
                if let Some(News::Over(index, Err(why))) = news {
                    assert_eq!(why, index.to_string());
                    over.push(index);
                }
                true
            });
            over.sort_unstable();
            assert_eq!(over, (0..20).collect::<Vec<_>>());
        }
        give_out(
            0,
            4,
            |_, _: &AtomicBool, _: &mpsc::Sender<News>| None,
            |_| true,
        );
    }
}
