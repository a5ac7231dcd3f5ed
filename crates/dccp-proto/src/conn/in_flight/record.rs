//! The record of one sent packet.

use super::{Ack, TellFate};
use crate::cc::delivery::Stamp;
use crate::conn::RTT_LEAST;
use crate::queue::{Fate, Slot};
use crate::time::Instant;
use core::time::Duration;

/// What is known of a sent packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Nothing is known; data counts as in flight.
    InFlight,
    /// Nothing is known, but a timeout has taken it out of the pipe.
    TimedOut,
    /// Nothing is known and nothing will be: its fate has been told as sent.
    Passed,
    /// Taken for lost.
    Lost,
    /// Received without a mark.
    Received,
    /// Received with a mark.
    Marked,
}

impl State {
    /// Whether the peer has it.
    pub(super) fn is_received(self) -> bool {
        matches!(self, Self::Received | Self::Marked)
    }

    /// Whether its fate has not been told.
    pub(super) fn is_open(self) -> bool {
        matches!(self, Self::InFlight | Self::TimedOut)
    }
}

/// One packet that we sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) sent_at: Instant,
    pub(super) ccval: u8,
    pub(super) has_vector: bool,
    pub(super) state: State,
    pub(super) data: Option<Data>,
}

/// The application data of a packet that we sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data {
    pub(super) slot: Option<Slot>,
    pub(super) len: u32,
    pub(super) stamp: Stamp,
    /// A Drop Code has been reported and counted.
    pub(super) is_dropped: bool,
}

impl Record {
    /// Tells the fate of the data, if the application waits for it.
    pub(super) fn tell(&self, tell: TellFate<'_>, fate: Fate) {
        if let Some(slot) = self.data.and_then(|d| d.slot) {
            tell(slot, fate);
        }
    }

    /// The round-trip sample that an acknowledgement gives that names this packet, if nothing has
    /// reported it before (RFC 4340 §13). A packet without data need not be answered soon, unless it
    /// is a Request or a Response (5348-4.2-1), so it gives a sample only with an Elapsed Time; and an Elapsed Time
    /// longer than the round trip is not to be believed.
    pub(super) fn rtt(&self, now: Instant, ack: &Ack<'_>) -> Option<Duration> {
        let is_timely = self.data.is_some() || ack.elapsed.is_some() || ack.is_prompt;
        if self.state.is_received() || !is_timely {
            return None;
        }
        let rtt = (now - self.sent_at).checked_sub(ack.elapsed.unwrap_or_default())?;
        Some(rtt.max(RTT_LEAST))
    }
}
