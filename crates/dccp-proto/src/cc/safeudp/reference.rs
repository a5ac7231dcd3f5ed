//! The reference rate: loss events of the network, as TFRC counts them, at the sender (SafeUDP §5; RFC 5348 §5).

use crate::cc::ccid3::loss_intervals::{N, Weighed, discount, loss_event_rate};
use crate::number::to_f64;
use crate::seq::Seq;
use core::iter::once;
use std::collections::VecDeque;

/// The loss intervals of a half-connection.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct LossEvents {
    /// Packets judged since the last event began.
    open: u64,
    /// The intervals between events, newest first.
    closed: VecDeque<Weighed>,
    /// Losses of packets up to this one belong to the last event.
    boundary: Option<Seq>,
    events: u64,
}

impl LossEvents {
    /// Packets were judged. `congestion` is the newest of those that the network lost or marked, and `newest` the newest
    /// packet sent. Losses of packets sent within a round trip of an event belong to it (5348-5.2-1).
    pub(crate) fn on_judged(&mut self, judged: u64, congestion: Option<Seq>, newest: Seq) {
        self.open += judged;
        let Some(congestion) = congestion else {
            return;
        };
        if self.boundary.is_some_and(|last| !congestion.is_after(last)) {
            return;
        }
        self.boundary = Some(newest);
        self.events += 1;
        let factor = discount(self.intervals());
        for interval in &mut self.closed {
            interval.discount *= factor;
        }
        let length = core::mem::take(&mut self.open).max(1);
        self.closed.push_front(Weighed::new(to_f64(length)));
        self.closed.truncate(N);
    }

    /// The loss event rate, 0 without events.
    pub(crate) fn rate(&self) -> f64 {
        loss_event_rate(self.intervals(), discount(self.intervals()))
    }

    /// Events so far.
    pub(crate) const fn events(&self) -> u64 {
        self.events
    }

    /// Forgets all intervals, because the network has been clean for long.
    pub(crate) fn forget(&mut self) {
        self.closed.clear();
        self.open = 0;
    }

    fn intervals(&self) -> impl Iterator<Item = Weighed> + Clone + '_ {
        once(Weighed::new(to_f64(self.open))).chain(self.closed.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Judges `n` packets in acknowledgements of ten, without loss.
    fn run(events: &mut LossEvents, n: u64) {
        for _ in 0..n / 10 {
            events.on_judged(10, None, Seq::ZERO);
        }
    }

    #[test]
    fn losses_of_a_round_trip_are_one_event() {
        // 5348-5.2-1
        let mut events = LossEvents::default();
        events.on_judged(100, Some(Seq::new(100)), Seq::new(200));
        events.on_judged(50, Some(Seq::new(200)), Seq::new(250));
        assert_eq!(events.events(), 1);
        events.on_judged(50, Some(Seq::new(201)), Seq::new(300));
        assert_eq!(events.events(), 2);
    }

    #[test]
    fn burst_of_losses_is_as_rare_as_a_single_one() {
        let mut events = LossEvents::default();
        for n in 1..=20 {
            run(&mut events, 990);
            let seq = Seq::new(1000 * n);
            events.on_judged(10, Some(seq), seq.plus(50));
        }
        let p = events.rate();
        assert!((p - 1e-3).abs() < 1e-5, "{p}");
    }

    #[test]
    fn long_clean_time_lowers_the_rate_and_forgetting_clears_it() {
        let mut events = LossEvents::default();
        assert!(events.rate().abs() < 1e-12);
        for n in 1..=10 {
            run(&mut events, 90);
            let seq = Seq::new(100 * n);
            events.on_judged(10, Some(seq), seq.plus(5));
        }
        let before = events.rate();
        run(&mut events, 10_000);
        assert!(events.rate() < before / 10.0, "{before} {}", events.rate());
        events.forget();
        assert!(events.rate().abs() < 1e-12);
    }
}
