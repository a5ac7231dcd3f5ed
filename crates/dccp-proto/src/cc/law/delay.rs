//! Helpers of laws that react to delay: the choice of the delay, and its recent extremes.

use super::Ack;
use crate::time::Instant;
use core::time::Duration;

/// A delay in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Sample {
    pub(super) delay: f64,
    /// The kind of delay changed with this sample. Earlier samples cannot be compared with it.
    pub(super) is_other_kind: bool,
}

/// Prefers the one-way delay, because the reverse path does not influence it. After the first one-way
/// delay, round trips are ignored.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Signal {
    is_one_way: bool,
}

impl Signal {
    /// Returns the delay that an acknowledgement reports.
    pub(super) fn sample(&mut self, ack: &Ack) -> Option<Sample> {
        let was_one_way = self.is_one_way;
        self.is_one_way |= ack.one_way.is_some();
        let delay = if self.is_one_way {
            ack.one_way?
        } else {
            ack.rtt?
        };
        Some(Sample {
            delay: delay.as_secs_f64(),
            is_other_kind: self.is_one_way != was_one_way,
        })
    }

    /// Appends the kind of delay to a snapshot.
    pub(super) fn inner(self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("delay_is_one_way", f64::from(u8::from(self.is_one_way))));
    }
}

/// The least and the greatest value in the last `N` spans of time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Extremes<const N: usize> {
    span: Duration,
    /// The start of the newest span.
    begin: Instant,
    /// The least and the greatest value of each span, the newest first.
    spans: [(f64, f64); N],
}

/// The extremes of a span without values.
const NOTHING: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);

impl<const N: usize> Extremes<N> {
    pub(super) const fn new(span: Duration) -> Self {
        Self {
            span,
            begin: Instant::ZERO,
            spans: [NOTHING; N],
        }
    }

    pub(super) fn add(&mut self, now: Instant, value: f64) {
        if now >= self.begin + self.span * u32::try_from(N).unwrap_or(u32::MAX) {
            self.clear();
            self.begin = now;
        }
        while now >= self.begin + self.span {
            self.spans.rotate_right(1);
            self.spans[0] = NOTHING;
            self.begin += self.span;
        }
        let (min, max) = &mut self.spans[0];
        *min = min.min(value);
        *max = max.max(value);
    }

    /// Discards all values.
    pub(super) const fn clear(&mut self) {
        self.spans = [NOTHING; N];
    }

    /// Returns the least value, infinite if there is none.
    pub(super) fn min(&self) -> f64 {
        self.spans.iter().map(|s| s.0).fold(NOTHING.0, f64::min)
    }

    /// Returns the greatest value, negative infinity if there is none.
    pub(super) fn max(&self) -> f64 {
        self.spans.iter().map(|s| s.1).fold(NOTHING.1, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::fixtures::{at, ms};
    use crate::cc::law::bench::assert_near;

    #[test]
    fn extremes_expire_after_their_spans() {
        let mut e = Extremes::<3>::new(ms(100));
        assert!(e.min().is_infinite() && e.max().is_infinite());
        for (now, value, min, max) in [
            (0, 5.0, 5.0, 5.0),
            (99, 9.0, 5.0, 9.0),
            (100, 7.0, 5.0, 9.0),
            (299, 8.0, 5.0, 9.0),
            (300, 8.5, 7.0, 8.5),
            (399, 7.5, 7.0, 8.5),
            (400, 7.6, 7.5, 8.5),
            (700, 1.0, 1.0, 1.0),
            (9000, 2.0, 2.0, 2.0),
            // After a long silence the spans start again with this value.
            (9350, 3.0, 3.0, 3.0),
            (9649, 4.0, 3.0, 4.0),
            (9650, 5.0, 4.0, 5.0),
        ] {
            e.add(at(now), value);
            assert_near(e.min(), min);
            assert_near(e.max(), max);
        }
    }

    #[test]
    fn one_way_delays_replace_round_trips_permanently() {
        let mut s = Signal::default();
        let mut hear = |rtt: Option<u64>, one_way: Option<u64>| {
            let ack = Ack {
                rtt: rtt.map(ms),
                one_way: one_way.map(ms),
                ..Ack::default()
            };
            s.sample(&ack).map(|x| (x.delay, x.is_other_kind))
        };
        assert_eq!(hear(None, None), None);
        assert_eq!(hear(Some(250), None), Some((0.25, false)));
        assert_eq!(hear(Some(250), Some(500)), Some((0.5, true)));
        assert_eq!(hear(Some(250), None), None);
        assert_eq!(hear(None, Some(750)), Some((0.75, false)));
    }
}
