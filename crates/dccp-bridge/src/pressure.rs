//! Whether a program sends more than the path takes, as a state with changes that are worth a line in the log.
//!
//! ```text
//!       waits of half the age in two samples, or advice  a datagram is dropped
//!   clear ────────────────────────────────▶ advisory ────────────────────────▶ enforcement
//!     ▲                                        │                                    │
//!     └──── waits are short, for a second ─────┴── no drops and short waits ────────┘
//! ```

use core::time::Duration;
use dccp::Instant;

/// The calm that ends a state of pressure.
const CALM: Duration = Duration::from_secs(1);

/// How a flow fares.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Level {
    /// Datagrams leave in time.
    #[default]
    Clear,
    /// Datagrams wait for long, or congestion control advises a lower rate.
    Advisory,
    /// Datagrams are dropped, because they are too old, the queue is full, or congestion control limits the rate.
    Enforcement,
}

impl Level {
    /// The word for documents.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Clear => "clear",
            Self::Advisory => "advisory",
            Self::Enforcement => "enforcement",
        }
    }
}

/// A change that is worth a line in the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// Datagrams wait for half of their greatest age, or congestion control advises a lower rate.
    Advisory,
    /// Datagrams are being dropped.
    Enforcement,
    /// The pressure is over. The number is that of the datagrams that were dropped meanwhile.
    Recovery(u64),
}

/// The state of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pressure {
    level: Level,
    /// Datagrams dropped since the last clear state.
    dropped: u64,
    calm_since: Option<Instant>,
    /// The wait of the last sample was long. One sample alone can be that of a burst after a pause.
    was_long: bool,
}

impl Pressure {
    pub(crate) fn level(&self) -> Level {
        self.level
    }

    /// Takes a sample: datagrams dropped since the last one, and the time that a datagram waits if it is queued now, and
    /// whether congestion control advises a lower rate.
    pub(crate) fn update(
        &mut self,
        now: Instant,
        dropped: u64,
        wait: Duration,
        max_age: Duration,
        is_advised: bool,
    ) -> Option<Change> {
        self.dropped += dropped;
        if dropped > 0 {
            self.calm_since = None;
            let is_new = self.level != Level::Enforcement;
            self.level = Level::Enforcement;
            return is_new.then_some(Change::Enforcement);
        }
        let is_long = wait >= max_age / 2 || is_advised;
        let was_long = core::mem::replace(&mut self.was_long, is_long) || is_advised;
        match self.level {
            Level::Clear if is_long && was_long => {
                self.level = Level::Advisory;
                Some(Change::Advisory)
            }
            Level::Clear => None,
            _ if is_long => {
                self.calm_since = None;
                None
            }
            _ => {
                let since = *self.calm_since.get_or_insert(now);
                if now < since + CALM {
                    return None;
                }
                let dropped = self.dropped;
                *self = Self::default();
                Some(Change::Recovery(dropped))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGE: Duration = Duration::from_millis(200);

    fn play(samples: &[(u64, u64)]) -> Vec<(usize, Change)> {
        let mut pressure = Pressure::default();
        let changes = samples.iter().enumerate().filter_map(|(i, (dropped, ms))| {
            let now = Instant::from_nanos(i as u64 * 500_000_000);
            let change = pressure.update(now, *dropped, Duration::from_millis(*ms), AGE, false);
            Some((i, change?))
        });
        changes.collect()
    }

    #[test]
    fn advice_is_reported_at_once_and_recovers_after_it() {
        let mut pressure = Pressure::default();
        let mut update = |ms: u64, is_advised| {
            let now = Instant::from_nanos(ms * 1_000_000);
            pressure.update(now, 0, Duration::ZERO, AGE, is_advised)
        };
        assert_eq!(update(0, true), Some(Change::Advisory));
        assert_eq!(update(500, true), None);
        assert_eq!(update(1000, false), None);
        assert_eq!(update(2000, false), Some(Change::Recovery(0)));
    }

    #[test]
    fn each_change_is_reported_once() {
        let samples = [
            (0, 0),
            (0, 120),
            (0, 150),
            (7, 199),
            (5, 199),
            (0, 150),
            (0, 10),
            (0, 0),
            (0, 0),
            (0, 200),
            (0, 0),
        ];
        assert_eq!(
            play(&samples),
            [
                (2, Change::Advisory),
                (3, Change::Enforcement),
                (8, Change::Recovery(12)),
            ]
        );
    }

    #[test]
    fn new_drop_starts_the_calm_again() {
        let samples = [(1, 0), (0, 0), (1, 0), (0, 0), (0, 0), (0, 0)];
        assert_eq!(
            play(&samples),
            [(0, Change::Enforcement), (5, Change::Recovery(2))]
        );
    }

    #[test]
    fn advisory_without_drops_recovers() {
        let samples = [(0, 100), (0, 100), (0, 99), (0, 99), (0, 99), (0, 99)];
        assert_eq!(
            play(&samples),
            [(1, Change::Advisory), (4, Change::Recovery(0))]
        );
    }
}
