//! Notices for the application that receives: less arrives than the sender declared (SafeUDP §7).

use crate::cc::safeudp::codes::{Shortfall, bits_per_s};
use crate::number::to_f64;
use crate::time::Instant;
use core::time::Duration;

/// The rate is compared over this time.
const PERIOD: Duration = Duration::from_secs(1);
/// A shortfall begins below this part of the declared rate …
const SHORT: f64 = 0.90;
/// … and is over from this part on.
const ENOUGH: f64 = 0.95;

/// Compares what arrives with what the sender declared.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct ShortfallWatch {
    bytes: u64,
    since: Option<Instant>,
    is_short: bool,
    notice: Option<Shortfall>,
}

impl ShortfallWatch {
    /// Data arrived, `declared` is in bytes per second.
    pub(super) fn on_data(&mut self, now: Instant, bytes: usize, declared: f64) {
        let since = *self.since.get_or_insert(now);
        let time = now - since;
        if time < PERIOD {
            self.bytes += bytes as u64;
            return;
        }
        let rate = to_f64(self.bytes) / time.as_secs_f64();
        (self.bytes, self.since) = (bytes as u64, Some(now));
        if time >= 2 * PERIOD {
            // The sender paused, or the path failed: an event of its own tells that.
            return;
        }
        let bound = if self.is_short { ENOUGH } else { SHORT };
        let is_short = rate < bound * declared;
        if is_short != self.is_short {
            self.is_short = is_short;
            self.notice = Some(Shortfall {
                declared_bits_per_s: bits_per_s(declared),
                received_bits_per_s: bits_per_s(rate),
                is_over: !is_short,
            });
        }
    }

    /// The notice that waits.
    pub(super) fn poll(&mut self) -> Option<Shortfall> {
        self.notice.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::fixtures::{START, ms};

    #[test]
    fn shortfall_is_told_when_it_begins_and_when_it_is_over() {
        let mut watch = ShortfallWatch::default();
        let mut now = START;
        // 100 packets per second were declared.
        let mut notices = Vec::new();
        for (seconds, interval) in [(3, 10), (3, 20), (3, 10)] {
            for _ in 0..seconds * 1000 / interval {
                watch.on_data(now, 1000, 100_000.0);
                notices.extend(watch.poll());
                now += ms(interval);
            }
        }
        let told: Vec<_> = notices
            .iter()
            .map(|n| (n.declared_bits_per_s, n.received_bits_per_s, n.is_over))
            .collect();
        assert_eq!(told, [(800_000, 400_000, false), (800_000, 800_000, true)]);
    }

    #[test]
    fn pause_is_no_shortfall() {
        let mut watch = ShortfallWatch::default();
        watch.on_data(START, 1000, 100_000.0);
        watch.on_data(START + ms(60_000), 1000, 100_000.0);
        assert_eq!(watch.poll(), None);
    }

    #[test]
    fn rate_near_the_declared_one_is_no_shortfall() {
        let mut watch = ShortfallWatch::default();
        for n in 0..1000 {
            watch.on_data(START + ms(10) * n, 920, 100_000.0);
        }
        assert_eq!(watch.poll(), None);
    }
}
