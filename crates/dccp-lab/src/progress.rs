//! A progress line on standard error, if that is a terminal.

use crate::clock::now;
use core::time::Duration;
use std::io::{IsTerminal as _, Write as _, stderr};
use std::time::Instant;

/// The progress of all cells.
pub(crate) struct Progress {
    is_shown: bool,
    begun: Instant,
    shown: Instant,
    cells: usize,
    cells_over: usize,
    /// Virtual time in all.
    time: Duration,
    played: Duration,
}

/// The shortest time between two updates of the line.
const PAUSE: Duration = Duration::from_millis(200);
const BAR: usize = 24;

impl Progress {
    /// Progress of this number of cells, with this virtual time in all. Without a terminal, nothing is shown.
    pub(crate) fn new(cells: usize, time: Duration) -> Self {
        let now = now();
        Self {
            is_shown: stderr().is_terminal(),
            begun: now,
            shown: now,
            cells,
            cells_over: 0,
            time,
            played: Duration::ZERO,
        }
    }

    /// Adds virtual time that has been played.
    pub(crate) fn played(&mut self, time: Duration) {
        self.played += time;
        let now = now();
        if self.is_shown && now - self.shown >= PAUSE {
            self.shown = now;
            let line = line(self, now - self.begun);
            // A closed terminal needs no progress line.
            let _ = write!(stderr(), "\r{line}\x1b[K");
        }
    }

    /// Counts a finished cell.
    pub(crate) fn cell_over(&mut self) {
        self.cells_over += 1;
    }

    /// Clears the line.
    pub(crate) fn clear(&self) {
        if self.is_shown {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}

fn line(progress: &Progress, elapsed: Duration) -> String {
    let share = progress.played.as_secs_f64() / progress.time.as_secs_f64().max(1e-9);
    let share = share.clamp(0.0, 1.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to 100"
    )]
    let percent = (share * 100.0) as usize;
    let full = BAR * percent / 100;
    let bar: String = (0..BAR).map(|n| if n < full { '#' } else { '.' }).collect();
    let left = if share > 0.01 {
        let left = elapsed.mul_f64((1.0 - share) / share);
        format!("{} left", clock_time(left))
    } else {
        "…".to_owned()
    };
    format!(
        "[{bar}] {percent:>3} %  {} of {} cells  {left}",
        progress.cells_over, progress.cells
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

    #[test]
    fn line_shows_progress_and_remaining_time() {
        let mut progress = Progress::new(4, Duration::from_secs(100));
        progress.is_shown = false;
        progress.cell_over();
        progress.played(Duration::from_secs(25));
        assert_eq!(
            line(&progress, Duration::from_secs(30)),
            "[######..................]  25 %  1 of 4 cells  1:30 left"
        );
        assert_eq!(clock_time(Duration::from_secs(3723)), "1:02:03");
    }
}
