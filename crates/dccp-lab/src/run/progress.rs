//! The progress of many runs, measured by the work that each is expected to make. Virtual time alone would not do: a
//! second at 10 Gbit/s takes a thousand times as long as one at 10 Mbit/s.

use super::pool::News;
use super::work::expected;
use crate::scenario::plan::Run;
use core::time::Duration;

/// The progress of runs, and of those that were finished before.
#[derive(Clone, PartialEq, Debug)]
pub struct Progress {
    runs: Vec<Part>,
    cells_over: usize,
    cells: usize,
    /// Work of all cells.
    all: f64,
    /// Work of the cells that were finished before.
    before: f64,
    /// Work that has been played.
    played: f64,
}

/// One run.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Part {
    work: f64,
    time: Duration,
    /// Work that has been played.
    played: f64,
}

impl Progress {
    /// Progress of `runs`, which are to be played; `finished` were before.
    pub fn new(runs: &[&Run], finished: &[&Run]) -> Self {
        let part = |run: &&Run| Part {
            work: expected(run),
            time: run.end,
            played: 0.0,
        };
        let runs: Vec<Part> = runs.iter().map(part).collect();
        let before = finished.iter().map(|run| expected(run)).sum();
        Self {
            cells_over: finished.len(),
            cells: finished.len() + runs.len(),
            all: before + runs.iter().map(|run| run.work).sum::<f64>(),
            runs,
            before,
            played: 0.0,
        }
    }

    /// Takes news of the runs in. A run that ends early has no work left.
    pub fn note(&mut self, news: &News) {
        let (&index, time) = match news {
            News::Played(index, time) => (index, Some(*time)),
            News::Over(index, _) => {
                self.cells_over += 1;
                (index, None)
            }
        };
        let run = &mut self.runs[index];
        let left = run.work - run.played;
        let step = time.map_or(left, |time| {
            let share = time.as_secs_f64() / run.time.as_secs_f64();
            left.min(run.work * share)
        });
        run.played += step;
        self.played += step;
    }

    /// The finished share of all work, 0 to 1.
    pub fn share(&self) -> f64 {
        if self.all > 0.0 {
            ((self.before + self.played) / self.all).min(1.0)
        } else {
            1.0
        }
    }

    /// The time that the rest takes, if the runs so far took `elapsed`; `None` before a hundredth of them has been
    /// played. Cells that were finished before say nothing about the speed.
    pub fn left(&self, elapsed: Duration) -> Option<Duration> {
        let todo = self.all - self.before;
        let share = self.played / todo.max(f64::MIN_POSITIVE);
        (share > 0.01).then(|| elapsed.mul_f64(((1.0 - share) / share).max(0.0)))
    }

    /// Finished cells, also those from before.
    pub const fn cells_over(&self) -> usize {
        self.cells_over
    }

    /// All cells.
    pub const fn cells(&self) -> usize {
        self.cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Scale, Scenario};

    const S: fn(u64) -> Duration = Duration::from_secs;

    /// Cells of 10 s at 1 Mbit/s and at 1 Gbit/s.
    fn scenario() -> Scenario {
        let text = "schema = \"dccplab/1\"\nname = \"n\"\nseed = 1\n[topology]\nnodes = [\"a\", \"b\"]\n\
            [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"${rate}\"\n[matrix]\nrate = [\"1Mbit\", \"1Gbit\"]\n\
            [[flow]]\nid = \"f\"\nfrom = \"a\"\nto = \"b\"\n[measure]\nduration = \"10s\"\n";
        Scenario::parse(text, "f", Scale::Full).expect("a scenario")
    }

    fn over(index: usize) -> News {
        News::Over(index, Err(String::new()))
    }

    #[test]
    fn cheap_cell_is_a_small_share_of_the_work() {
        let scenario = scenario();
        let runs: Vec<&Run> = scenario.runs.iter().collect();
        let mut progress = Progress::new(&runs, &[]);
        progress.note(&over(0));
        assert!(progress.share() < 0.01, "{progress:?}");
        assert_eq!(progress.left(S(1)), None, "too early to say");
        progress.note(&News::Played(1, S(5)));
        assert!((progress.share() - 0.5).abs() < 0.01, "{progress:?}");
        let left = progress.left(S(60)).expect("half is known");
        assert!((left.as_secs_f64() - 60.0).abs() < 1.0, "{left:?}");
        progress.note(&over(1));
        assert_eq!((progress.cells_over(), progress.cells()), (2, 2));
        assert!((progress.share() - 1.0).abs() < 1e-9, "{progress:?}");
    }

    #[test]
    fn finished_cells_count_but_say_nothing_about_the_speed() {
        let scenario = scenario();
        let [cheap, dear] = [&scenario.runs[0], &scenario.runs[1]];
        let mut progress = Progress::new(&[cheap], &[dear]);
        assert!(progress.share() > 0.99);
        assert_eq!((progress.cells_over(), progress.cells()), (1, 2));
        progress.note(&News::Played(0, S(5)));
        assert_eq!(progress.left(S(3)), Some(S(3)), "half of what is to do");
    }
}
