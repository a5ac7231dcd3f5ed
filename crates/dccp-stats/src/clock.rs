//! The difference of two hosts' clocks.
//!
//! A probe travels from the client to the server and back. Its offset is wrong by at most half of its round trip, because
//! neither direction takes less than no time. The probe with the shortest round trip before a test and the one after it
//! give a straight line. If both clocks run at constant rates, then the line is between them never more wrong than the
//! worse of the two probes. Every other probe tests that assumption; a step of a clock between the groups stays hidden.

use dccp_proto::number::to_f64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The least difference of the clocks' rates that the error allows for: the kernel slews a clock by at most 500 ppm
/// (`adjtimex`). A time service can exceed it by other means; then the measured difference counts.
const SKEW_MAX: f64 = 500e-6;

/// The four times of a probe and its answer, in nanoseconds of the clock that is named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probe {
    /// The client sent the probe: the client's clock.
    pub sent_ns: u64,
    /// The server received it: the server's clock.
    pub arrived_ns: u64,
    /// The server sent the answer: the server's clock.
    pub replied_ns: u64,
    /// The client received the answer: the client's clock.
    pub returned_ns: u64,
}

impl Probe {
    /// The time on the path in both directions, without the time at the server. `None` if the times contradict each
    /// other.
    pub fn round_trip_ns(&self) -> Option<u64> {
        let whole = self.returned_ns.checked_sub(self.sent_ns)?;
        let at_server = self.replied_ns.checked_sub(self.arrived_ns)?;
        whole.checked_sub(at_server)
    }

    /// The server's clock minus the client's, if both directions take the same time.
    fn offset_ns(&self) -> Option<i64> {
        let there = i128::from(self.arrived_ns) - i128::from(self.sent_ns);
        let back = i128::from(self.returned_ns) - i128::from(self.replied_ns);
        i64::try_from((there - back) / 2).ok()
    }

    /// The client's time in the middle of the probe.
    fn at_ns(&self) -> u64 {
        self.sent_ns.midpoint(self.returned_ns)
    }
}

/// A measured offset and how wrong it can be.
#[expect(clippy::struct_field_names, reason = "units stand in the names")]
#[derive(Clone, Copy)]
struct Offset {
    at_ns: u64,
    offset_ns: i64,
    error_ns: u64,
    /// From the client's sending to its receiving.
    whole_ns: u64,
}

impl Offset {
    fn of(probe: &Probe) -> Option<Self> {
        Some(Self {
            at_ns: probe.at_ns(),
            offset_ns: probe.offset_ns()?,
            error_ns: probe.round_trip_ns()?.div_ceil(2),
            whole_ns: probe.returned_ns - probe.sent_ns,
        })
    }
}

/// The server's clock minus the client's, as a straight line over the client's time.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct ClockFit {
    /// The offset at `at_ns`.
    pub offset_ns: i64,
    /// The client's time of `offset_ns`.
    pub at_ns: u64,
    /// How much faster the server's clock runs, in parts per billion.
    pub skew_ppb: f64,
    /// The change of the offset from the probes before the test to those after it.
    pub drift_ns: i64,
    /// The line is wrong by at most this much between the two groups of probes, if both clocks run at constant rates.
    pub error_ns: u64,
    /// Whether all probes agree with constant rates. If not, `error_ns` is the least error that the probes prove.
    pub is_consistent: bool,
    /// The valid probes before the test.
    pub before_n: u32,
    /// The valid probes after the test.
    pub after_n: u32,
}

impl ClockFit {
    /// Fits a line through the best probe of each group. `None` if a group has no valid probe, or if the second group
    /// is not later than the first.
    ///
    /// If a probe contradicts the line, then a clock changed its rate or was set: the error grows to include that probe,
    /// and the fit is not consistent.
    pub fn new(before: &[Probe], after: &[Probe]) -> Option<Self> {
        let valid = |probes: &[Probe]| probes.iter().filter_map(Offset::of).collect::<Vec<_>>();
        let (before, after) = (valid(before), valid(after));
        let best = |offsets: &[Offset]| offsets.iter().min_by_key(|o| o.error_ns).copied();
        let (first, last) = (best(&before)?, best(&after)?);
        let span_ns = last
            .at_ns
            .checked_sub(first.at_ns)
            .filter(|&span| span > 0)?;
        let drift_ns = last.offset_ns.checked_sub(first.offset_ns)?;
        let skew = signed_f64(drift_ns) / to_f64(span_ns);
        // The clocks drift apart within a probe too. Rounding adds at most 3 ns.
        let bound_ns = |offset: &Offset| {
            let within_probe = skew.abs().max(SKEW_MAX) * to_f64(offset.whole_ns);
            let drift = rounded(within_probe).unsigned_abs();
            offset.error_ns.saturating_add(drift).saturating_add(3)
        };
        let line_ns = bound_ns(&first).max(bound_ns(&last));
        let mut fit = Self {
            offset_ns: first.offset_ns,
            at_ns: first.at_ns,
            skew_ppb: skew * 1e9,
            drift_ns,
            error_ns: line_ns,
            is_consistent: true,
            before_n: u32::try_from(before.len()).unwrap_or(u32::MAX),
            after_n: u32::try_from(after.len()).unwrap_or(u32::MAX),
        };
        for probe in before.iter().chain(&after) {
            let distance = probe.offset_ns.abs_diff(fit.offset_at(probe.at_ns));
            let proven_ns = distance.saturating_sub(bound_ns(probe));
            // Beyond its two points the line may be more wrong, in proportion to the distance.
            let beyond = first.at_ns.saturating_sub(probe.at_ns);
            let beyond = beyond.max(probe.at_ns.saturating_sub(last.at_ns));
            let stretch = 1.0 + 2.0 * to_f64(beyond) / to_f64(span_ns);
            if to_f64(proven_ns) > to_f64(line_ns) * stretch {
                fit.is_consistent = false;
                fit.error_ns = fit.error_ns.max(proven_ns);
            }
        }
        Some(fit)
    }

    /// The server's clock minus the client's at this time of the client.
    pub fn offset_at(&self, client_ns: u64) -> i64 {
        let after = signed_f64(client_ns.wrapping_sub(self.at_ns).cast_signed());
        (self.offset_ns).saturating_add(rounded(after * self.skew_ppb / 1e9))
    }

    /// One offset for a whole time, that in its middle, and how wrong it can be at any moment of that time: the error of
    /// the line and half of the clocks' drift. Both times are the client's.
    pub fn offset_between(&self, from_ns: u64, to_ns: u64) -> (i64, u64) {
        let drift_ns = self.offset_at(to_ns).abs_diff(self.offset_at(from_ns));
        let error_ns = self.error_ns.saturating_add(drift_ns.div_ceil(2) + 1);
        (self.offset_at(from_ns.midpoint(to_ns)), error_ns)
    }
}

fn signed_f64(n: i64) -> f64 {
    to_f64(n.unsigned_abs()).copysign(if n < 0 { -1.0 } else { 1.0 })
}

/// The nearest integer; the greatest ones for what does not fit.
#[expect(clippy::cast_possible_truncation, reason = "it saturates")]
fn rounded(x: f64) -> i64 {
    x.round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Two clocks with a constant difference of rates, and the probes between them.
    #[derive(Clone, Copy, Debug)]
    struct Clocks {
        offset: i64,
        skew_ppb: i64,
    }

    const START: u64 = 5_000_000_000_000;

    impl Clocks {
        /// The server's clock minus the client's.
        fn truth(self, client: u64) -> i64 {
            let after = i128::from(client) - i128::from(START);
            let drift = after * i128::from(self.skew_ppb) / 1_000_000_000;
            self.offset + i64::try_from(drift).unwrap()
        }

        fn server(self, client: u64) -> u64 {
            client.checked_add_signed(self.truth(client)).unwrap()
        }

        fn probe(self, sent: u64, there: u64, held: u64, back: u64) -> Probe {
            Probe {
                sent_ns: sent,
                arrived_ns: self.server(sent + there),
                replied_ns: self.server(sent + there + held),
                returned_ns: sent + there + held + back,
            }
        }
    }

    fn delays() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
        prop::collection::vec(
            (0..80_000_000_u64, 0..1_000_000_u64, 0..80_000_000_u64),
            1..20,
        )
    }

    proptest! {
        #[test]
        fn clock_fit_contains_the_true_offset(
            offset in -4_000_000_000_000_i64..4_000_000_000_000_000,
            skew_ppb in -200_000..200_000_i64,
            before in delays(),
            after in delays(),
            run in 1_000_000_000..100_000_000_000_u64,
        ) {
            let clocks = Clocks { offset, skew_ppb };
            let group = |from: u64, delays: &[(u64, u64, u64)]| -> Vec<Probe> {
                (delays.iter().zip(0..))
                    .map(|(&(there, held, back), k)| clocks.probe(from + k * 10_000_000, there, held, back))
                    .collect()
            };
            let end = START + 500_000_000 + run;
            let fit = ClockFit::new(&group(START, &before), &group(end, &after)).unwrap();
            prop_assert_eq!((fit.before_n as usize, fit.after_n as usize), (before.len(), after.len()));
            for k in 0..=10 {
                let at = START + 500_000_000 + run / 10 * k;
                let wrong = fit.offset_at(at).abs_diff(clocks.truth(at));
                prop_assert!(wrong <= fit.error_ns, "wrong by {} ns, stated {}", wrong, fit.error_ns);
            }
            prop_assert!(fit.is_consistent);
            let (from, to) = (START + 500_000_000, end);
            let (constant, error) = fit.offset_between(from, to);
            for k in 0..=10 {
                let wrong = constant.abs_diff(clocks.truth(from + (to - from) / 10 * k));
                prop_assert!(wrong <= error, "wrong by {} ns, stated {}", wrong, error);
            }
        }

        #[test]
        fn hostile_times_never_panic(times in prop::array::uniform8(any::<u64>())) {
            let [sent_ns, arrived_ns, replied_ns, returned_ns, rest @ ..] = times;
            let first = Probe { sent_ns, arrived_ns, replied_ns, returned_ns };
            let last = Probe { sent_ns: rest[0], arrived_ns: rest[1], replied_ns: rest[2], returned_ns: rest[3] };
            if let Some(fit) = ClockFit::new(&[first], &[first, last]) {
                let _ = fit.offset_at(u64::MAX);
            }
        }
    }

    #[test]
    fn equal_delays_give_the_offset_exactly() {
        let clocks = Clocks {
            offset: -18_231,
            skew_ppb: 0,
        };
        let before = [clocks.probe(START, 10_000, 500, 10_000)];
        let after = [clocks.probe(START + 1_000_000_000, 10_000, 500, 10_000)];
        let fit = ClockFit::new(&before, &after).unwrap();
        assert_eq!(
            (fit.offset_ns, fit.drift_ns, fit.error_ns),
            (-18_231, 0, 10_013)
        );
    }

    #[test]
    fn clock_that_jumps_between_probes_widens_the_error() {
        let steady = Clocks {
            offset: 0,
            skew_ppb: 0,
        };
        let jumped = Clocks {
            offset: 5_000_000,
            skew_ppb: 0,
        };
        let before = [
            steady.probe(START, 1_000, 0, 1_000),
            jumped.probe(START + 1_000_000, 2_000, 0, 2_000),
        ];
        let after = [steady.probe(START + 1_000_000_000, 1_000, 0, 1_000)];
        let fit = ClockFit::new(&before, &after).unwrap();
        assert!(fit.error_ns >= 5_000_000 - 2_010, "{fit:?}");
        assert!(!fit.is_consistent);
    }

    /// 20 ppm during 60 s are 1.2 ms: a constant offset is wrong by 0.6 ms at both ends.
    #[test]
    fn constant_offset_includes_half_of_the_drift() {
        let clocks = Clocks {
            offset: 0,
            skew_ppb: 20_000,
        };
        let end = START + 60_000_000_000;
        let before = [clocks.probe(START, 10_000, 0, 10_000)];
        let after = [clocks.probe(end, 10_000, 0, 10_000)];
        let fit = ClockFit::new(&before, &after).unwrap();
        let (offset, error) = fit.offset_between(START, end);
        assert!(offset.abs_diff(600_000) <= fit.error_ns, "{offset}");
        assert!((600_000..615_000).contains(&error), "{error}");
    }

    #[test]
    fn impossible_probes_are_ignored() {
        let clocks = Clocks {
            offset: 7,
            skew_ppb: 0,
        };
        let good = clocks.probe(START, 100, 100, 100);
        let longer_at_server = Probe {
            replied_ns: good.arrived_ns + 1_000_000,
            ..good
        };
        let before_sent = Probe {
            returned_ns: good.sent_ns - 1,
            ..good
        };
        let later = clocks.probe(START + 1_000_000, 100, 100, 100);
        let fit = ClockFit::new(&[longer_at_server, good, before_sent], &[later]).unwrap();
        assert_eq!((fit.before_n, fit.offset_ns), (1, 7));
        assert_eq!(good.round_trip_ns(), Some(200));
        assert_eq!(ClockFit::new(&[longer_at_server], &[later]), None);
        assert_eq!(ClockFit::new(&[good], &[]), None);
        assert_eq!(ClockFit::new(&[later], &[good]), None);
    }
}
