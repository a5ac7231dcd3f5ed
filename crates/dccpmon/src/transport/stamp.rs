//! Arrival times that the kernel noted, on the clock of this program.
//!
//! The kernel notes them on the wall clock, and this program reads a steady clock. Their difference is constant, because
//! the kernel corrects the rates of both in the same way. It changes when the wall clock is set. Times that were noted
//! before and after that cannot be told apart, so from then on the program takes the times itself.

use crate::schema::StampSource;
use core::time::Duration;
use dccp::{Instant, clock};

/// A larger change of the difference shows that the wall clock was set.
const STEP: Duration = Duration::from_millis(1);
/// Pairs of readings for one difference. The thread can be interrupted within a pair: the closest one counts.
const PAIRS: usize = 8;

/// Converts arrival times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KernelTimes {
    /// The wall clock at the origin of this program's clock; `None`: the program takes the times.
    origin: Option<Duration>,
}

impl KernelTimes {
    /// Of a socket whose kernel notes arrival times.
    pub(crate) fn new() -> Self {
        Self {
            origin: Some(origin()),
        }
    }

    /// Of a socket whose kernel does not note them.
    pub(crate) const NONE: Self = Self { origin: None };

    /// When a datagram arrived that the program has now, and the source of that time. `stamp` is the kernel's time.
    pub(crate) fn arrival(&mut self, stamp: Option<Duration>) -> (Instant, StampSource) {
        let now = clock::now();
        self.convert(stamp, now, clock::unix_time(), origin)
    }

    /// The same, at a time on both clocks. `measured` compares them with more care.
    fn convert(
        &mut self,
        stamp: Option<Duration>,
        now: Instant,
        wall: Duration,
        measured: impl FnOnce() -> Duration,
    ) -> (Instant, StampSource) {
        let has_moved = |origin: Duration, found: Duration| origin.abs_diff(found) > STEP;
        if let Some(origin) = self.origin
            && has_moved(origin, at_origin(wall, now))
            && has_moved(origin, measured())
        {
            self.origin = None;
        }
        match (self.origin, stamp) {
            (Some(origin), Some(stamp)) => {
                let at = Instant::ZERO + stamp.saturating_sub(origin);
                // Both differences have errors below a microsecond.
                (at.min(now), StampSource::Kernel)
            }
            _ => (now, StampSource::Program),
        }
    }
}

/// The wall clock at the origin of this program's clock.
fn origin() -> Duration {
    let pairs = (0..PAIRS).map(|_| {
        let before = clock::now();
        let wall = clock::unix_time();
        let gap = clock::now() - before;
        (gap, at_origin(wall, before + gap / 2))
    });
    let closest = pairs.min_by_key(|(gap, _)| *gap);
    closest.map_or(Duration::ZERO, |(_, origin)| origin)
}

fn at_origin(wall: Duration, now: Instant) -> Duration {
    wall.saturating_sub(Duration::from_nanos(now.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: Duration = Duration::from_hours(500_000);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn wall(ms: u64) -> Duration {
        ORIGIN + Duration::from_millis(ms)
    }

    fn times() -> KernelTimes {
        KernelTimes {
            origin: Some(ORIGIN),
        }
    }

    fn unused() -> Duration {
        panic!("the clocks agree")
    }

    // goal 33: times of the kernel stand on the clock of the program.
    #[test]
    fn stamp_of_the_kernel_is_converted() {
        let mut times = times();
        let found = times.convert(Some(wall(700)), at(900), wall(900), unused);
        assert_eq!(found, (at(700), StampSource::Kernel));
        // No packet arrives after it was read.
        let found = times.convert(Some(wall(901)), at(900), wall(900), unused);
        assert_eq!(found, (at(900), StampSource::Kernel));
        let found = times.convert(None, at(900), wall(900), unused);
        assert_eq!(found, (at(900), StampSource::Program));
    }

    #[test]
    fn pause_between_the_clocks_is_no_step() {
        let mut times = times();
        let found = times.convert(Some(wall(700)), at(900), wall(940), || ORIGIN);
        assert_eq!(found, (at(700), StampSource::Kernel));
    }

    // goal 33: a wall clock that is set does not change delays.
    #[test]
    fn after_a_step_of_the_wall_clock_the_program_takes_the_times() {
        for step_ms in [3_600_000, 2] {
            let later = ORIGIN + Duration::from_millis(step_ms);
            let earlier = ORIGIN.saturating_sub(Duration::from_millis(step_ms));
            for stepped in [later, earlier] {
                let mut times = times();
                let stamp = Some(wall(899));
                let now = stepped + Duration::from_millis(900);
                let found = times.convert(stamp, at(900), now, || stepped);
                assert_eq!(found, (at(900), StampSource::Program));
                // The clock is set back, and its stamps are not trusted any more.
                let found = times.convert(Some(wall(950)), at(1000), wall(1000), unused);
                assert_eq!(found, (at(1000), StampSource::Program));
            }
        }
    }

    #[test]
    fn clocks_of_this_host_agree() {
        let mut times = KernelTimes::new();
        let before = clock::now();
        let stamp = clock::unix_time();
        let (at, source) = times.arrival(Some(stamp));
        assert_eq!(source, StampSource::Kernel);
        let error = if at < before {
            before - at
        } else {
            at - before
        };
        assert!(error < STEP + (clock::now() - before), "{error:?}");
    }
}
