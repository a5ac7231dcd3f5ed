//! Slow start of a window sender (RFC 4341 §5), and its variants.

mod hystart;

use super::law::{SettingError, Window};
use core::ops::RangeInclusive;
use core::time::Duration;
use hystart::HyStart;

/// The growth of a window in slow start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    /// One packet per two acknowledged ones, and at most half the Ack Ratio per acknowledgement (4341-5-8).
    Ccid2,
    /// One packet per acknowledged one (RFC 5681 §3.1 counted in packets).
    Standard,
}

/// Settings of slow start, which every law has.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// The pace.
    pub pace: Pace,
    /// Above this window, in packets, growth is slower (limited slow start, RFC 3742); 0: never.
    pub max_ssthresh: f64,
    /// The first slow start ends when the delay rises (HyStart++, RFC 9406).
    pub hystart: bool,
    /// The threshold before the first event, in packets; 0: none.
    pub initial_ssthresh: f64,
}

impl Default for Config {
    /// The slow start of CCID 2.
    fn default() -> Self {
        Self {
            pace: Pace::Ccid2,
            max_ssthresh: 0.0,
            hystart: false,
            initial_ssthresh: 0.0,
        }
    }
}

impl Config {
    /// Checks that each setting is in its range.
    ///
    /// # Errors
    /// Returns the setting that is out of its range, and the range.
    pub fn check(&self) -> Result<(), SettingError> {
        const THRESHOLDS: RangeInclusive<f64> = 0.0..=1e6;
        SettingError::unless_within("max_ssthresh", self.max_ssthresh, THRESHOLDS)?;
        SettingError::unless_within("initial_ssthresh", self.initial_ssthresh, THRESHOLDS)
    }

    /// Sets the threshold of a new window.
    pub fn begin(&self, window: &mut Window) {
        if self.initial_ssthresh > 0.0 {
            window.ssthresh = self.initial_ssthresh.max(2.0);
        }
    }
}

/// The state of slow start: grows a window up to its threshold.
#[derive(Clone, PartialEq, Debug)]
pub struct SlowStart {
    pace: Pace,
    /// Above this window growth is slower; 0: never.
    max_ssthresh: f64,
    /// With CCID 2's pace: acknowledged packets that have not made the window grow yet, 0 or 1.
    acked: u32,
    hystart: Option<Box<HyStart>>,
}

impl SlowStart {
    /// Creates a slow start with these settings. `is_paced`: the sender paces its packets.
    pub fn new(config: Config, is_paced: bool) -> Self {
        Self {
            pace: config.pace,
            max_ssthresh: config.max_ssthresh,
            acked: 0,
            hystart: config.hystart.then(|| Box::new(HyStart::new(is_paced))),
        }
    }

    /// Takes a round-trip sample of this round. It may end slow start.
    pub fn on_rtt(&mut self, window: &mut Window, round: u64, rtt: Duration) {
        // RFC 9406 §4.3: only the first slow start has no threshold yet.
        if let Some(hystart) = &mut self.hystart
            && window.ssthresh.is_infinite()
        {
            hystart.on_rtt(window, round, rtt);
        }
    }

    /// Takes `acked` newly acknowledged unmarked packets of one acknowledgement. Returns how many
    /// of them slow start did not use, because it is over.
    pub fn grow(&mut self, window: &mut Window, acked: u32, ack_ratio: u32) -> u32 {
        // 4341-5-8: an acknowledgement adds at most half its Ack Ratio. Otherwise a peer that acknowledges
        // late would make the sender burst. Rounds up, because Ack Ratio 1 would otherwise never grow.
        let mut allowance = ack_ratio.max(1).div_ceil(2);
        let packets_max = self.hystart.as_ref().map_or(u32::MAX, |h| h.packets_max());
        let mut left = acked;
        while left > 0 && window.is_slow_start() {
            left -= 1;
            if acked - left > packets_max {
                continue;
            }
            match self.pace {
                Pace::Standard => window.cwnd += self.step(window.cwnd),
                Pace::Ccid2 => {
                    self.acked += 1;
                    if self.acked == 2 {
                        self.acked = 0;
                        if allowance > 0 {
                            allowance -= 1;
                            window.cwnd += self.step(window.cwnd);
                        }
                    }
                }
            }
        }
        left
    }

    /// Discards the count, because the window shrank.
    pub const fn reset(&mut self) {
        self.acked = 0;
    }

    /// Returns the most that one acknowledged packet adds. Above `max_ssthresh` it is less (RFC 3742 §2).
    fn step(&self, cwnd: f64) -> f64 {
        let pace = self.hystart.as_ref().map_or(1.0, |h| h.pace());
        let limit = self.max_ssthresh;
        if limit > 0.0 && cwnd > limit {
            pace / (cwnd / (0.5 * limit)).floor()
        } else {
            pace
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::law::bench::table;

    fn window(cwnd: u32, ssthresh: f64) -> Window {
        Window {
            ssthresh,
            ..Window::new(cwnd)
        }
    }

    fn ccid_2() -> SlowStart {
        SlowStart::new(Config::default(), true)
    }

    #[test]
    fn two_acknowledged_packets_add_one() {
        // 4341-5-8
        let mut w = window(3, f64::INFINITY);
        let mut s = ccid_2();
        for (acked, cwnd) in [(1, 3), (1, 4), (3, 5), (1, 6)] {
            assert_eq!(s.grow(&mut w, acked, 4), 0);
            assert_eq!(w.packets(), cwnd);
        }
        s.grow(&mut w, 1, 2);
        s.reset();
        s.grow(&mut w, 1, 2);
        assert_eq!(w.packets(), 6);
    }

    #[test]
    fn an_acknowledgement_adds_half_the_ack_ratio_at_most() {
        // 4341-5-8
        for (ack_ratio, grown) in [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (64, 32)] {
            let mut w = window(100, f64::INFINITY);
            ccid_2().grow(&mut w, 100, ack_ratio);
            assert_eq!(w.packets(), 100 + grown, "{ack_ratio}");
        }
    }

    #[test]
    fn packets_beyond_the_threshold_are_returned_to_the_law() {
        let mut w = window(8, 10.0);
        assert_eq!(ccid_2().grow(&mut w, 10, 20), 6);
        assert_eq!(w.packets(), 10);
        assert_eq!(ccid_2().grow(&mut w, 10, 20), 10);
        let mut w = window(8, 10.0);
        let mut standard = SlowStart::new(
            Config {
                pace: Pace::Standard,
                ..Config::default()
            },
            true,
        );
        assert_eq!(standard.grow(&mut w, 10, 2), 8);
        assert_eq!(w.packets(), 10);
    }

    #[test]
    fn a_threshold_may_be_known_from_the_start() {
        let start = |initial_ssthresh| {
            let mut w = Window::new(4);
            Config {
                initial_ssthresh,
                ..Config::default()
            }
            .begin(&mut w);
            w.ssthresh.to_bits()
        };
        assert_eq!(start(0.0), f64::INFINITY.to_bits());
        assert_eq!(start(100.0), 100.0_f64.to_bits());
        assert_eq!(start(1.0), 2.0_f64.to_bits());
    }

    /// Limited slow start with `max_ssthresh` 100.
    fn limited() -> SlowStart {
        SlowStart::new(
            Config {
                pace: Pace::Standard,
                max_ssthresh: 100.0,
                ..Config::default()
            },
            true,
        )
    }

    #[test]
    fn limited_slow_start_grows_as_pinned() {
        // RFC 3742 §2: growth above `max_ssthresh` per round trip.
        for [cwnd, increase] in table(
            "
               50  1
              100  1
              101  0.5
              149  0.5
              150  0.333333
             1000  0.05
            83000  0.00060241
            ",
        ) {
            let mut w = Window {
                cwnd,
                ssthresh: f64::INFINITY,
            };
            limited().grow(&mut w, 1, 2);
            let grown = w.cwnd - cwnd;
            assert!(
                (grown - increase).abs() <= 1e-5 * increase,
                "{cwnd}: {grown}"
            );
        }
    }

    #[test]
    fn limited_slow_start_reaches_83000_packets_in_1663_round_trips() {
        // RFC 3742 states 836 round trips, which does not follow from its formula.
        let (mut w, start) = (1.0_f64, limited());
        let mut round_trips = 0;
        while w < 83_000.0 {
            w += w * start.step(w);
            round_trips += 1;
        }
        assert_eq!(round_trips, 1663);
    }

    #[test]
    fn a_rising_delay_ends_the_first_slow_start_and_no_other() {
        // RFC 9406 §4.3
        for (ssthresh, grown, is_slow_start) in [(f64::INFINITY, 25.0, false), (1e6, 100.0, true)] {
            let config = Config {
                pace: Pace::Standard,
                hystart: true,
                ..Config::default()
            };
            let mut s = SlowStart::new(config, true);
            let mut w = window(100, ssthresh);
            for round in 1..=7 {
                for _ in 0..8 {
                    s.on_rtt(&mut w, round, Duration::from_millis(50 + 10 * round));
                }
                if round == 2 {
                    s.grow(&mut w, 100, 2);
                    assert!((w.cwnd - 100.0 - grown).abs() < 1e-9, "{}", w.cwnd);
                }
            }
            assert_eq!(w.is_slow_start(), is_slow_start);
        }
        // Without pacing, eight packets of an acknowledgement count. The others have no effect.
        let config = Config {
            hystart: true,
            pace: Pace::Standard,
            ..Config::default()
        };
        let mut w = window(100, f64::INFINITY);
        assert_eq!(SlowStart::new(config, false).grow(&mut w, 64, 2), 0);
        assert_eq!(w.packets(), 108);
    }
}
