//! A progress line on standard error, if that is a terminal.

use crate::clock::now;
use core::time::Duration;
use dccp_lab::run::pool::News;
use dccp_lab::run::progress::Progress;
use std::io::{IsTerminal as _, Write as _, stderr};
use std::time::Instant;

/// The progress line.
pub(crate) struct Line {
    progress: Progress,
    is_shown: bool,
    begun: Instant,
    shown: Instant,
}

/// The shortest time between two updates of the line.
const PAUSE: Duration = Duration::from_millis(200);
const BAR: usize = 24;

impl Line {
    /// A line that shows this progress. Without a terminal, nothing is shown.
    pub(crate) fn new(progress: Progress) -> Self {
        let now = now();
        Self {
            progress,
            is_shown: stderr().is_terminal(),
            begun: now,
            shown: now,
        }
    }

    /// Takes news of the runs in.
    pub(crate) fn note(&mut self, news: &News) {
        self.progress.note(news);
        let now = now();
        if self.is_shown && now - self.shown >= PAUSE {
            self.shown = now;
            let line = line(&self.progress, now - self.begun);
            // A closed terminal needs no progress line.
            let _ = write!(stderr(), "\r{line}\x1b[K");
        }
    }

    /// Clears the line.
    pub(crate) fn clear(&self) {
        if self.is_shown {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}

fn line(progress: &Progress, elapsed: Duration) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to 100"
    )]
    let percent = (progress.share() * 100.0) as usize;
    let full = BAR * percent / 100;
    let bar: String = (0..BAR).map(|n| if n < full { '#' } else { '.' }).collect();
    let left = match progress.left(elapsed) {
        Some(left) => format!("{} left", clock_time(left)),
        None => "…".to_owned(),
    };
    format!(
        "[{bar}] {percent:>3} %  {} of {} cells  {left}",
        progress.cells_over(),
        progress.cells()
    )
}

/// `1:02:03`, `2:03`.
fn clock_time(time: Duration) -> String {
    let s = time.as_secs();
    match (s / 3600, s / 60 % 60, s % 60) {
        (0, m, s) => format!("{m}:{s:02}"),
        (h, m, s) => format!("{h}:{m:02}:{s:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp_lab::scenario::plan::Run;
    use dccp_lab::scenario::{Scale, Scenario};

    #[test]
    fn line_shows_progress_and_remaining_time() {
        let text = "schema = \"dccplab/1\"\nname = \"n\"\nseed = 1\n[topology]\nnodes = [\"a\", \"b\"]\n\
            [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Mbit\"\n\
            [[flow]]\nid = \"f\"\nfrom = \"a\"\nto = \"b\"\n[measure]\nduration = \"100s\"\nrepeat = 4\n";
        let scenario = Scenario::parse(text, "f", Scale::Full).expect("a scenario");
        let runs: Vec<&Run> = scenario.runs.iter().collect();
        // Two of four cells are known, and a quarter of the others is played.
        let mut progress = Progress::new(&runs[..2], &runs[2..]);
        progress.note(&News::Played(0, Duration::from_secs(50)));
        assert_eq!(
            line(&progress, Duration::from_secs(30)),
            "[##############..........]  62 %  2 of 4 cells  1:30 left"
        );
        assert_eq!(clock_time(Duration::from_secs(3723)), "1:02:03");
    }
}
