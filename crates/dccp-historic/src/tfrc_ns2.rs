//! ns-2's TFRC as an implementation of CCID 3.
//!
//! It differs from RFC 5348 in these rules:
//! - Slow start is that of RFC 3448 ([`SlowStart::Rfc3448`]).
//! - The receiver measures the receive rate over the last round trip by window counters (`meter.rs`).
//! - The first loss interval comes from a coarse search for a fraction with a power of two. It differs from the
//!   value of RFC 5348 §6.3.1 by up to a quarter.
//! - The mean loss interval is always that of eight intervals. Missing ones count as empty, and none is discounted.
//!   After the first loss event, the rate is 0.4 of that of RFC 5348 §5.4.

mod meter;

use core::time::Duration;
use dccp_proto::cc::ccid3::{Ccid3, Counted, SlowStart, Tfrc, Variant, Weighed, receiver, sender};
use dccp_proto::cc::config::CcConfig;
use dccp_proto::cc::{Ccid, Dependency, HcReceiver, HcSender};
use meter::Ns2Meter;

/// CCID 3 as ns-2 implements it.
#[derive(Clone, Copy, Debug)]
pub struct TfrcNs2;

impl Ccid for TfrcNs2 {
    fn number(&self) -> u8 {
        3
    }

    fn name(&self) -> &'static str {
        "tfrc-ns2"
    }

    fn sender(&self, config: &CcConfig) -> Box<dyn HcSender> {
        sender::<Rules>(config)
    }

    fn receiver(&self, config: &CcConfig) -> Box<dyn HcReceiver> {
        receiver::<Rules>(config)
    }

    fn needs(&self) -> &[Dependency] {
        Ccid3.needs()
    }

    fn features(&self) -> &[u8] {
        Ccid3.features()
    }

    fn options(&self) -> &[u8] {
        Ccid3.options()
    }
}

/// The rules of ns-2.
#[derive(Clone, Copy, Debug, Default)]
struct Rules;

impl Variant for Rules {
    type Meter = Ns2Meter;
    const CCID: u8 = 3;
    const SPACING: Duration = Duration::ZERO;
    const TELLS_DROPS: bool = false;
    const SLOW_START: SlowStart = SlowStart::Rfc3448;

    fn rate(&self, s: f64, r: f64, p: f64) -> f64 {
        Tfrc.rate(s, r, p)
    }

    fn loss_event_rate(&self, s: f64, r: f64, x: f64) -> f64 {
        Tfrc.loss_event_rate(s, r, x)
    }

    fn length(interval: &Counted) -> f64 {
        Tfrc::length(interval)
    }

    fn mean_rate(intervals: impl Iterator<Item = Weighed> + Clone) -> Option<f64> {
        Some(diluted_rate(intervals))
    }
}

/// The weights of closed loss intervals, newest first (RFC 5348 §5.4).
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// Returns the loss event rate of these loss intervals, newest first, the open one at the front. Missing intervals
/// are empty and keep their weight.
fn diluted_rate(mut intervals: impl Iterator<Item = Weighed> + Clone) -> f64 {
    let open = intervals.next().map_or(0.0, |i| i.length);
    let closed = intervals.take(WEIGHTS.len());
    let weighted = closed.clone().zip(&WEIGHTS);
    let without = weighted.fold(0.0, |sum, (i, weight)| {
        sum + i.length * (weight * i.discount)
    });
    if without <= 0.0 {
        return 0.0;
    }
    let later = closed
        .zip(&WEIGHTS[1..])
        .map(|(i, weight)| i.length * weight);
    let with_open = open + later.sum::<f64>();
    let weights: f64 = WEIGHTS.iter().sum();
    (weights / with_open.max(without)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp_proto::cc::law::testing::assert_near;

    #[test]
    fn missing_intervals_are_empty() {
        let rate = |lengths: &[f64]| {
            let intervals = lengths.iter().map(|&length| Weighed {
                length,
                discount: 1.0,
            });
            diluted_rate(intervals)
        };
        assert!(rate(&[]) <= 0.0);
        assert!(rate(&[10.0]) <= 0.0);
        // One of the weights 1 + 1 + 1 + 1 + 0.8 + 0.6 + 0.4 + 0.2. The open one is included if that gives more.
        assert_near(rate(&[10.0, 600.0]), 6.0 / 610.0);
        let five = [200.0; 5];
        let with = |open: f64, closed: &[f64]| rate(&[&[open], closed].concat());
        assert_near(with(10.0, &five), 6.0 / 960.0);
        assert_near(with(400.0, &five), 6.0 / 1_280.0);
        // The oldest of eight drops out when the open one counts. None is discounted.
        let eight = [100.0; 8];
        assert_near(with(10.0, &eight), 6.0 / 600.0);
        assert_near(with(10_000.0, &eight), 6.0 / 10_500.0);
        assert_near(rate(&[0.0, 2.0]), 1.0);
    }
}
