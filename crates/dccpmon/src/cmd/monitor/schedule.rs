//! The times of the tests to one host.

use core::time::Duration;

/// When each test is due. Times count from the start of the monitor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Schedule {
    entries: Vec<Entry>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Entry {
    every: Duration,
    due: Duration,
    has_run: bool,
}

impl Schedule {
    /// Each test is due at once, in the order of the file. There is at least one.
    pub(super) fn new(every: impl Iterator<Item = Duration>) -> Self {
        let entries = every.map(|every| Entry {
            every,
            due: Duration::ZERO,
            has_run: false,
        });
        Self {
            entries: entries.collect(),
        }
    }

    /// The number of the test that is due first, and its time.
    pub(super) fn first(&self) -> (usize, Duration) {
        let entries = self.entries.iter().enumerate();
        let dues = entries.map(|(number, entry)| (entry.due, number));
        dues.min()
            .map_or((0, Duration::ZERO), |(due, number)| (number, due))
    }

    /// Whether a test has run.
    pub(super) fn has_run(&self, number: usize) -> bool {
        self.entries.get(number).is_none_or(|entry| entry.has_run)
    }

    /// Notes that a test ran from `started` to `ended`. It is due again after its time, up to a tenth earlier or
    /// later as `random` says, so that monitors with one schedule do not always meet. A time that has passed is now.
    pub(super) fn ran(&mut self, number: usize, started: Duration, ended: Duration, random: u32) {
        if let Some(entry) = self.entries.get_mut(number) {
            entry.has_run = true;
            entry.due = (started + jittered(entry.every, random)).max(ended);
        }
    }
}

/// From 0.9 to 1.1 times a time.
fn jittered(time: Duration, random: u32) -> Duration {
    let share = f64::from(random) / f64::from(u32::MAX);
    time.mul_f64(0.9 + 0.2 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_take_turns_and_never_overlap() {
        let at = Duration::from_secs;
        let mut schedule = Schedule::new([at(100), at(30)].into_iter());
        assert_eq!(schedule.first(), (0, at(0)));
        let middle = u32::MAX / 2;
        schedule.ran(0, at(0), at(10), middle);
        assert_eq!(schedule.first(), (1, at(0)));
        assert!(schedule.has_run(0) && !schedule.has_run(1));
        // It took longer than its time: it is due when it has ended.
        schedule.ran(1, at(10), at(50), middle);
        assert_eq!(schedule.first(), (1, at(50)));
        schedule.ran(1, at(50), at(51), u32::MAX);
        assert_eq!(schedule.first(), (1, at(83)));
        schedule.ran(1, at(83), at(99), u32::MAX);
        assert_eq!(schedule.first().0, 0);
    }

    #[test]
    fn times_vary_by_a_tenth() {
        let time = Duration::from_secs(100);
        assert_eq!(jittered(time, 0), Duration::from_secs(90));
        let most = jittered(time, u32::MAX).as_secs_f64();
        assert!((most - 110.0).abs() < 1e-6, "{most}");
    }
}
