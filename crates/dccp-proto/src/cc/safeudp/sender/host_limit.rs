//! The limit for one round trip after the receiving host had no buffers (RFC 4340 §11.7.2).

use crate::time::Instant;
use core::time::Duration;

/// Counts of one round trip, and the limit that followed from the one before.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct HostLimit {
    round: u64,
    began: Option<Instant>,
    sent: f64,
    drops: u64,
    limit: Option<(f64, Instant)>,
    last: Option<f64>,
}

impl HostLimit {
    /// Bytes have left.
    pub(super) fn on_sent(&mut self, now: Instant, bytes: f64) {
        self.began.get_or_insert(now);
        self.sent += bytes;
    }

    /// Feedback of round trip `round` reports `drops` packets that found no buffer, with `size` bytes each. 4340-11.7.2-3: in the next
    /// round trip the rate is lower by one packet per round trip for each, but never below one packet.
    pub(super) fn on_feedback(
        &mut self,
        now: Instant,
        round: u64,
        drops: u64,
        size: f64,
        rtt: Duration,
    ) {
        self.drops += drops;
        if round <= self.round {
            return;
        }
        self.round = round;
        let drops = core::mem::take(&mut self.drops);
        let sent = core::mem::take(&mut self.sent);
        let began = self.began.replace(now).unwrap_or(now);
        let time = (now - began).max(rtt).as_secs_f64();
        self.last = None;
        if drops > 0 {
            let packet = size / rtt.as_secs_f64();
            let rate = (sent / time - super::to_f64(drops) * packet).max(packet);
            self.limit = Some((rate, now + rtt));
            self.last = Some(rate);
        }
    }

    /// The limit now, in bytes per second.
    pub(super) fn rate(&self, now: Instant) -> Option<f64> {
        self.limit
            .filter(|(_, until)| now < *until)
            .map(|(rate, _)| rate)
    }

    /// The limit that followed from the last whole round trip.
    pub(super) const fn last(&self) -> Option<f64> {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Instant = Instant::from_nanos(1_000_000_000);
    const RTT: Duration = Duration::from_millis(100);

    #[test]
    fn each_drop_takes_a_packet_off_the_next_round_trip() {
        // 4340-11.7.2-3
        for (drops, packets) in [(3, 97.0), (99, 1.0), (500, 1.0)] {
            let mut limit = HostLimit::default();
            limit.on_sent(START, 100_000.0);
            limit.on_feedback(START + RTT / 2, 0, drops, 1000.0, RTT);
            assert_eq!(limit.rate(START + RTT / 2), None);
            limit.on_feedback(START + RTT, 1, 0, 1000.0, RTT);
            let rate = limit.rate(START + RTT).expect("a limit");
            assert!((rate - packets * 10_000.0).abs() < 1e-6, "{rate}");
            assert_eq!(limit.rate(START + 2 * RTT), None);
        }
    }

    #[test]
    fn round_trip_without_drops_has_no_limit() {
        let mut limit = HostLimit::default();
        limit.on_sent(START, 100_000.0);
        limit.on_feedback(START + RTT, 1, 0, 1000.0, RTT);
        assert_eq!((limit.rate(START + RTT), limit.last()), (None, None));
    }
}
