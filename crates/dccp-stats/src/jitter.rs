//! Delays of one direction and their variation.
//!
//! Neither needs equal clocks: delays are collected relative to the first one.

use crate::{Arrival, Histogram, SignedHistogram, Spread};
use dccp_proto::number::to_f64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The variation of one-way delays, by three definitions.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Jitter {
    /// RFC 3550 §6.4.1 at the last packet: the filtered difference of the delays of two packets that arrived one after
    /// the other. Duplicates are left out. `None` for fewer than two packets.
    pub rfc3550_ns: Option<u64>,
    /// The magnitude of the difference of the delays of packets n and n + 1 (RFC 5481 §4.1, inter-packet delay
    /// variation), for pairs that arrived one directly after the other.
    pub ipdv_ns: Option<Spread>,
    /// The 95th percentile of the one-way delay minus its median, as owping's "jitter". RFC 5481 §4.2 counts packet delay
    /// variation from the least delay; the difference of two percentiles is the same. It includes the drift of the clocks.
    pub p95_minus_p50_ns: Option<u64>,
}

/// One-way delays by clocks that were not compared: differences from the first delay.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug, Default)]
pub struct RawDelays {
    /// The first delay of the flow: the receiver's clock at the arrival minus the sender's clock at the departure.
    base_ns: i64,
    deviations: SignedHistogram,
}

impl RawDelays {
    /// The number of delays.
    pub fn len(&self) -> u64 {
        self.deviations.len()
    }

    /// Whether there are no delays.
    pub fn is_empty(&self) -> bool {
        self.deviations.is_empty()
    }

    /// The one-way delays, if the receiver's clock minus the sender's is `offset_ns` all the time (see
    /// [`ClockFit::offset_between`](crate::ClockFit::offset_between) for the error). A negative delay counts as 0.
    pub fn one_way(&self, offset_ns: i64) -> Histogram {
        self.deviations
            .shifted(self.base_ns.saturating_sub(offset_ns))
    }

    /// Adds later delays of the same flow.
    pub(crate) fn merge(&mut self, later: &Self) {
        if self.is_empty() {
            self.clone_from(later);
        } else {
            self.deviations.merge(&later.deviations);
        }
    }
}

/// Follows the delays of a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delays {
    first_ns: Option<i64>,
    /// The number and the delay of the last packet.
    last: Option<(u64, i64)>,
    /// The filtered difference of RFC 3550.
    filtered_ns: Option<f64>,
    ipdv: Histogram,
    /// The delays since [`Delays::interval`] was called.
    recent: RawDelays,
    /// The delays before that.
    earlier: RawDelays,
}

impl Delays {
    pub(crate) fn add(&mut self, arrival: &Arrival) {
        // The clocks' difference can be anything, so the subtractions wrap. Differences of delays are right again.
        let delay = (arrival.arrived_ns)
            .wrapping_sub(arrival.sent_ns)
            .cast_signed();
        let first = *self.first_ns.get_or_insert(delay);
        self.recent.base_ns = first;
        self.recent.deviations.record(delay.wrapping_sub(first));
        if let Some((number, before)) = self.last.replace((arrival.number, delay)) {
            let difference = delay.wrapping_sub(before).unsigned_abs();
            let magnitude = to_f64(difference);
            let filtered = self.filtered_ns.unwrap_or(0.0);
            self.filtered_ns = Some(filtered + (magnitude - filtered) / 16.0);
            if arrival.number.wrapping_sub(number) == 1 {
                self.ipdv.record(difference);
            }
        }
    }

    /// The delays since the last call.
    pub(crate) fn interval(&mut self) -> RawDelays {
        let recent = core::mem::take(&mut self.recent);
        self.earlier.merge(&recent);
        recent
    }

    /// The jitter, and all delays.
    pub(crate) fn finish(mut self) -> (Jitter, RawDelays) {
        self.interval();
        let deviations = &self.earlier.deviations;
        let from_least = deviations.shifted(deviations.least().saturating_neg());
        let spread = from_least
            .quantile(950)
            .zip(from_least.quantile(500))
            .map(|(p95, p50)| p95 - p50);
        let jitter = Jitter {
            rfc3550_ns: self.filtered_ns.map(rounded),
            ipdv_ns: self.ipdv.spread(),
            p95_minus_p50_ns: spread,
        };
        (jitter, self.earlier)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "magnitudes are positive, and the cast saturates"
)]
fn rounded(magnitude: f64) -> u64 {
    magnitude.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet each 20 ms with these delays in microseconds; `None` is a lost packet.
    fn after(delays_us: &[Option<u64>], offset_ns: u64) -> (Jitter, RawDelays) {
        let mut delays = Delays::default();
        for (&delay, number) in delays_us.iter().zip(0_u64..) {
            let sent_ns = 1_000_000_000 + number * 20_000_000;
            if let Some(delay) = delay {
                delays.add(&Arrival {
                    number,
                    sent_ns,
                    arrived_ns: (sent_ns + delay * 1000).wrapping_add(offset_ns),
                    bytes: 100,
                    is_marked: false,
                });
            }
        }
        delays.finish()
    }

    #[test]
    fn jitter_of_a_constant_delay_is_zero() {
        for offset in [0, 77_000_000_000_000, u64::MAX - 5_000_000_000] {
            let (jitter, delays) = after(&[Some(10_000); 30], offset);
            assert_eq!(jitter.rfc3550_ns, Some(0));
            assert_eq!(jitter.ipdv_ns.map(|s| (s.max, s.n)), Some((0, 29)));
            assert_eq!(jitter.p95_minus_p50_ns, Some(0));
            assert_eq!(delays.len(), 30);
        }
    }

    /// Differences of 8, 8 and 4 ms: 8/16 = 0.5, then 0.5 + 7.5/16 = 0.96875, then 0.96875 + 3.03125/16.
    // goal 25: jitter of RFC 3550.
    #[test]
    fn jitter_of_rfc_3550_follows_its_filter() {
        let ms = |n: u64| Some(n * 1000);
        let (jitter, _) = after(&[ms(10), ms(18), ms(10), ms(14)], 0);
        assert_eq!(jitter.rfc3550_ns, Some(1_158_203));
        assert_eq!(after(&[ms(10)], 0).0.rfc3550_ns, None);
        let (first, _) = after(&[ms(10), ms(18)], 1 << 60);
        assert_eq!(
            first.rfc3550_ns,
            Some(500_000),
            "the filter starts at the first difference"
        );
    }

    // goal 25: the variation between packets.
    #[test]
    fn variation_between_packets_skips_gaps() {
        let us = Some;
        let (jitter, _) = after(&[us(10), us(30), None, us(90), us(80)], 0);
        let ipdv = jitter.ipdv_ns.unwrap();
        assert_eq!((ipdv.n, ipdv.min, ipdv.max), (2, 10_000, 20_000));
    }

    // goal 25: the 95th percentile minus the median.
    #[test]
    fn variation_by_percentiles_is_the_upper_half() {
        let delays: Vec<_> = (0..100).map(|k| Some(10_000 + (k * 37) % 100)).collect();
        let (jitter, _) = after(&delays, 0);
        // The 95th and the 50th of 100 delays that are 1 us apart.
        let found = jitter.p95_minus_p50_ns.unwrap();
        assert!(found.abs_diff(45_000) <= 1_500, "{found}");
    }

    #[test]
    fn one_way_delays_need_the_offset_of_the_clocks() {
        let offset = 3_600_000_000_000_u64;
        let (_, raw) = after(&[Some(10_000), Some(12_000), Some(9_000)], offset);
        let spread = raw.one_way(offset.cast_signed()).spread().unwrap();
        for (found, exact) in [(spread.min, 9_000_000), (spread.max, 12_000_000)] {
            assert!(found.abs_diff(exact) <= exact / 250, "{found}");
        }
    }

    #[test]
    fn intervals_add_up_to_the_whole() {
        let mut delays = Delays::default();
        let arrival = |number: u64, arrived_ns| Arrival {
            number,
            sent_ns: 0,
            arrived_ns,
            bytes: 1,
            is_marked: false,
        };
        delays.add(&arrival(0, 1000));
        delays.add(&arrival(1, 1100));
        assert_eq!(delays.interval().len(), 2);
        assert!(delays.interval().is_empty());
        delays.add(&arrival(2, 900));
        let second = delays.interval().one_way(0).spread().unwrap();
        assert_eq!((second.min, second.n), (900, 1));
        let (_, all) = delays.finish();
        let spread = all.one_way(0).spread().unwrap();
        assert_eq!((spread.min, spread.max, spread.n), (900, 1100, 3));
    }
}
