//! `HyStart++` (RFC 9406): ends the first slow start when the delay rises, before packets are lost.

use crate::cc::law::Window;
use core::time::Duration;

/// Samples that a round trip's minimum needs (RFC 9406 §4.3).
const SAMPLES_MIN: u32 = 8;
/// The least rise of the minimum that ends slow start: an eighth of it, within these bounds.
const THRESHOLD_MIN: Duration = Duration::from_millis(4);
const THRESHOLD_MAX: Duration = Duration::from_millis(16);
const THRESHOLD_DIVISOR: u32 = 8;
/// After a rise, slow start continues for this many round trips at a quarter of the pace. They show whether
/// the rise was noise.
const CONSERVATIVE_ROUNDS: u32 = 5;
const CONSERVATIVE_DIVISOR: f64 = 4.0;
/// Without pacing, at most this many packets of an acknowledgement count.
const UNPACED_MAX: u32 = 8;

/// The state of `HyStart++`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct HyStart {
    is_paced: bool,
    round: u64,
    /// The least samples of the last round trip and of this one.
    last: Option<Duration>,
    current: Option<Duration>,
    samples: u32,
    conservative: Option<Conservative>,
}

/// Slow start at a quarter of the pace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Conservative {
    /// A shorter round trip shows that the rise was noise.
    baseline: Duration,
    rounds: u32,
}

impl HyStart {
    pub(super) const fn new(is_paced: bool) -> Self {
        Self {
            is_paced,
            round: 0,
            last: None,
            current: None,
            samples: 0,
            conservative: None,
        }
    }

    /// Takes a round-trip sample, which may end slow start.
    pub(super) fn on_rtt(&mut self, window: &mut Window, round: u64, rtt: Duration) {
        if round != self.round {
            self.begin_round(window, round);
        }
        self.samples += 1;
        let current = self.current.map_or(rtt, |c| c.min(rtt));
        self.current = Some(current);
        if self.samples < SAMPLES_MIN {
            return;
        }
        match (self.conservative, self.last) {
            (Some(c), _) if current < c.baseline => self.conservative = None,
            (None, Some(last)) if current >= last + threshold(last) => {
                self.conservative = Some(Conservative {
                    baseline: current,
                    rounds: 0,
                });
            }
            _ => {}
        }
    }

    fn begin_round(&mut self, window: &mut Window, round: u64) {
        self.round = round;
        self.last = self.current.take();
        self.samples = 0;
        if let Some(c) = &mut self.conservative {
            c.rounds += 1;
            if c.rounds >= CONSERVATIVE_ROUNDS {
                window.leave_slow_start();
            }
        }
    }

    /// Returns the most that each acknowledged packet may add.
    pub(super) const fn pace(&self) -> f64 {
        if self.conservative.is_some() {
            1.0 / CONSERVATIVE_DIVISOR
        } else {
            1.0
        }
    }

    /// Returns the most packets of an acknowledgement that may make the window grow.
    pub(super) const fn packets_max(&self) -> u32 {
        if self.is_paced { u32::MAX } else { UNPACED_MAX }
    }
}

/// Returns the rise of the minimum above `last` that ends slow start.
fn threshold(last: Duration) -> Duration {
    (last / THRESHOLD_DIVISOR).clamp(THRESHOLD_MIN, THRESHOLD_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::fixtures::ms;
    use crate::cc::law::bench::{assert_near, table};

    #[test]
    fn the_threshold_is_as_pinned() {
        // RFC 9406 §4.3: an eighth of the minimum, at least 4 ms and at most 16 ms.
        for [last_ms, threshold_ms] in table(
            "
              1      4
             10      4
             32      4
             70   8.75
             94  11.75
            128     16
            170     16
            ",
        ) {
            let last = Duration::from_secs_f64(last_ms / 1000.0);
            assert_near(threshold(last).as_secs_f64() * 1000.0, threshold_ms);
        }
    }

    /// Runs a round trip of `samples` samples. Returns the pace after it.
    fn round(h: &mut HyStart, w: &mut Window, round: u64, samples: u32, rtt_ms: u64) -> f64 {
        for _ in 0..samples {
            h.on_rtt(w, round, ms(rtt_ms));
        }
        h.pace()
    }

    #[test]
    fn a_risen_minimum_slows_the_growth_and_five_round_trips_end_it() {
        let mut h = HyStart::new(true);
        let mut w = Window::new(100);
        assert_near(round(&mut h, &mut w, 1, 8, 80), 1.0);
        // The threshold is 80 + 10 ms. Seven samples are too few.
        assert_near(round(&mut h, &mut w, 2, 8, 89), 1.0);
        assert_near(round(&mut h, &mut w, 3, 7, 101), 1.0);
        assert_near(round(&mut h, &mut w, 3, 1, 101), 0.25);
        for number in 4..=7 {
            round(&mut h, &mut w, number, 8, 101);
            assert!(w.is_slow_start());
        }
        h.on_rtt(&mut w, 8, ms(101));
        assert!(!w.is_slow_start());
        assert_near(w.ssthresh, 100.0);
    }

    #[test]
    fn a_minimum_that_falls_again_was_noise() {
        let mut h = HyStart::new(true);
        let mut w = Window::new(100);
        round(&mut h, &mut w, 1, 8, 80);
        assert_near(round(&mut h, &mut w, 2, 8, 90), 0.25);
        assert_near(round(&mut h, &mut w, 3, 8, 90), 0.25);
        assert_near(round(&mut h, &mut w, 4, 7, 89), 0.25);
        assert_near(round(&mut h, &mut w, 4, 1, 89), 1.0);
    }

    #[test]
    fn without_pacing_eight_packets_of_an_acknowledgement_count() {
        assert_eq!(HyStart::new(true).packets_max(), u32::MAX);
        assert_eq!(HyStart::new(false).packets_max(), 8);
    }
}
