//! How often the peer acknowledges, and when its acknowledgements are acknowledged (SafeUDP §2).

use crate::cc::ack_ratio::AckRatio;
use crate::cc::config::CcConfig;
use crate::cc::{Feedback, Signal};
use crate::wire::features::Feature;

/// Acknowledgements are acknowledged this often per round trip, and after this many data packets at the latest.
const PER_RTT: u32 = 4;
const PACKETS: u32 = 128;
/// Packets of the first round trip.
const FIRST_WINDOW: u32 = 10;

/// The state of both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Acks {
    ratio: AckRatio,
    /// Data packets sent since the peer's acknowledgements were last acknowledged; whether others arrived since.
    sent: u32,
    has_new: bool,
    wants_ack: bool,
}

impl Acks {
    pub(super) fn new(config: &CcConfig) -> Self {
        Self {
            ratio: AckRatio::new(FIRST_WINDOW, config.ack_ratio, config.is_strict),
            sent: 0,
            has_new: false,
            wants_ack: false,
        }
    }

    /// The Ack Ratio of the peer.
    pub(super) fn ratio(&self) -> u32 {
        self.ratio.in_use()
    }

    /// Packets have left, at `window` per round trip. 4341-6.2-1: the peer can forget its Ack Vector state only after we
    /// acknowledge it.
    pub(super) fn on_sent(&mut self, packets: u32, window: u32) {
        self.sent = self.sent.saturating_add(packets);
        if self.has_new && self.sent >= (window / PER_RTT).clamp(1, PACKETS) {
            self.sent = 0;
            self.has_new = false;
            self.wants_ack = true;
        }
    }

    /// An acknowledgement arrived.
    pub(super) fn on_feedback(&mut self, fb: &Feedback<'_>, window: u32) {
        self.has_new = true;
        self.ratio.on_feedback(fb.round, fb.acks_lost, window);
    }

    /// The feature Ack Ratio has this value.
    pub(super) fn on_confirm(&mut self, value: u64) {
        self.ratio.on_confirm(value);
    }

    /// The next request to the connection.
    pub(super) fn poll(&mut self, window: u32) -> Option<Signal> {
        if core::mem::take(&mut self.wants_ack) {
            return Some(Signal::SendAck);
        }
        let value = self.ratio.poll(window)?;
        Some(Signal::Change {
            feature: Feature::AckRatio.number(),
            value: value.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::fixtures::{config, feedback};

    #[test]
    fn acknowledgements_are_acknowledged_four_times_per_round_trip() {
        // 4341-6.2-1
        let mut acks = Acks::new(&config());
        acks.on_confirm(2);
        let mut requests = 0;
        for _ in 0..100 {
            acks.on_feedback(&feedback(), 100);
            acks.on_sent(1, 100);
            requests += u32::from(acks.poll(100) == Some(Signal::SendAck));
        }
        assert_eq!(requests, 4);
    }

    #[test]
    fn peer_that_sent_nothing_is_not_acknowledged() {
        let mut acks = Acks::new(&config());
        acks.on_confirm(2);
        acks.on_sent(1000, 10);
        assert_ne!(acks.poll(10), Some(Signal::SendAck));
    }
}
