//! The record of one sent packet.

use super::{Ack, SentPacket, TellFate};
use crate::cc::delivery::Stamp;
use crate::conn::RTT_LEAST;
use crate::queue::{Fate, Slot};
use crate::time::Instant;
use core::time::Duration;

/// State of a sent packet. The first two leave its fate open; the last two mean that it was received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Nothing is known; data counts as in flight.
    InFlight,
    /// Nothing is known, but a timeout has taken it out of the pipe.
    TimedOut,
    /// No report will come. Its fate has been reported as sent.
    Passed,
    /// Taken for lost.
    Lost,
    /// Received without a mark.
    Received,
    /// Received with a mark.
    Marked,
}

/// One packet that we sent, in 28 bytes: a busy connection keeps those of three round trips, which are most of its
/// memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    /// Nanoseconds, low half and high half: whole, they would make each record longer by their alignment.
    sent_at: [u32; 2],
    slot: u32,
    /// The low half of the stamp's bytes; the rest is in `bits`.
    delivered: u32,
    since_delivered: Span,
    since_first_sent: Span,
    len: u16,
    /// State, CCVal, what is so, and the high part of the stamp's bytes, from the lowest bit on.
    bits: u16,
}

const STATE: u16 = 0b111;
const CCVAL_AT: u32 = 3;
const HAS_VECTOR: u16 = 1 << 7;
const HAS_DATA: u16 = 1 << 8;
const IS_DROPPED: u16 = 1 << 9;
const IS_APP_LIMITED: u16 = 1 << 10;
const IS_WITHHELD: u16 = 1 << 11;
const DELIVERED_AT: u32 = 12;

/// The application data of a packet that we sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data {
    pub(super) slot: Slot,
    /// In bytes; IP carries no more.
    pub(super) len: u16,
    pub(super) stamp: Stamp,
    /// A Drop Code has been reported and counted.
    pub(super) is_dropped: bool,
}

impl Record {
    /// A packet leaves.
    #[expect(clippy::cast_possible_truncation, reason = "both halves are kept")]
    pub(super) fn new(packet: &SentPacket, data: Option<Data>) -> Self {
        let at = packet.now.as_nanos();
        let flag = |is_set: bool, bit: u16| if is_set { bit } else { 0 };
        let mut record = Self {
            sent_at: [at as u32, (at >> 32) as u32],
            slot: 0,
            delivered: 0,
            since_delivered: Span(0),
            since_first_sent: Span(0),
            len: 0,
            bits: u16::from(packet.ccval & 0xF) << CCVAL_AT | flag(packet.has_vector, HAS_VECTOR),
        };
        if let Some(Data {
            slot,
            len,
            stamp,
            is_dropped,
        }) = data
        {
            record.slot = slot.0;
            record.delivered = stamp.delivered as u32;
            record.since_delivered = Span::between(stamp.delivered_at, packet.now);
            record.since_first_sent = Span::between(stamp.first_sent_at, packet.now);
            record.len = len;
            record.bits |= HAS_DATA
                | flag(is_dropped, IS_DROPPED)
                | flag(stamp.is_app_limited, IS_APP_LIMITED)
                | ((stamp.delivered >> 32) as u16) << DELIVERED_AT;
        }
        record
    }

    /// The same record for the datagram in another slot.
    #[inline]
    pub(crate) fn with_slot(&self, slot: Slot) -> Self {
        Self {
            slot: slot.0,
            ..*self
        }
    }

    /// The same record for a number that no packet carries.
    pub(crate) fn withheld(mut self) -> Self {
        self.bits |= IS_WITHHELD;
        self
    }

    /// Whether no packet carried this number.
    pub(super) fn is_withheld(&self) -> bool {
        self.bits & IS_WITHHELD != 0
    }

    /// When it left.
    pub(super) fn sent_at(&self) -> Instant {
        let [low, high] = self.sent_at.map(u64::from);
        Instant::from_nanos(high << 32 | low)
    }

    /// Its CCVal.
    #[expect(clippy::cast_possible_truncation, reason = "four bits")]
    pub(super) fn ccval(&self) -> u8 {
        (self.bits >> CCVAL_AT) as u8 & 0xF
    }

    /// It carried an Ack Vector.
    pub(super) fn has_vector(&self) -> bool {
        self.bits & HAS_VECTOR != 0
    }

    /// Whether this is known of it.
    pub(super) fn is(&self, state: State) -> bool {
        self.bits & STATE == state as u16
    }

    /// Whether the peer has it.
    pub(super) fn is_received(&self) -> bool {
        self.bits & STATE >= State::Received as u16
    }

    /// Whether its fate has not been reported.
    pub(super) fn is_open(&self) -> bool {
        self.bits & STATE <= State::TimedOut as u16
    }

    pub(super) fn set_state(&mut self, state: State) {
        self.bits = self.bits & !STATE | state as u16;
    }

    /// How many bytes of application data it carried, if any.
    pub(super) fn len(&self) -> Option<u16> {
        (self.bits & HAS_DATA != 0).then_some(self.len)
    }

    /// Its application data, if it carried any.
    pub(super) fn data(&self) -> Option<Data> {
        let len = self.len()?;
        let sent_at = self.sent_at();
        let delivered_high = u64::from(self.bits >> DELIVERED_AT);
        Some(Data {
            slot: Slot(self.slot),
            len,
            stamp: Stamp {
                delivered: delivered_high << 32 | u64::from(self.delivered),
                delivered_at: self.since_delivered.before(sent_at),
                first_sent_at: self.since_first_sent.before(sent_at),
                is_app_limited: self.bits & IS_APP_LIMITED != 0,
            },
            is_dropped: self.bits & IS_DROPPED != 0,
        })
    }

    /// A Drop Code is reported of its data. Returns whether that is the first (4340-11.7-7).
    pub(super) fn note_drop(&mut self) -> bool {
        let is_first = self.bits & IS_DROPPED == 0;
        self.bits |= IS_DROPPED;
        is_first
    }

    /// Tells the fate of the data, if the application waits for it.
    pub(super) fn tell(&self, tell: TellFate<'_>, fate: Fate) {
        if self.bits & HAS_DATA != 0 {
            tell(Slot(self.slot), fate);
        }
    }

    /// The round-trip sample that an acknowledgement gives that names this packet, if nothing has
    /// reported it before (RFC 4340 §13). A packet without data need not be answered soon, unless it
    /// is a Request or a Response (5348-4.2-1), so it gives a sample only with an Elapsed Time; and an Elapsed Time
    /// longer than the round trip is not to be believed.
    pub(super) fn rtt(&self, now: Instant, ack: &Ack<'_>) -> Option<Duration> {
        let is_timely = self.len().is_some() || ack.elapsed.is_some() || ack.is_prompt;
        if self.is_received() || !is_timely {
            return None;
        }
        let rtt = (now - self.sent_at()).checked_sub(ack.elapsed.unwrap_or_default())?;
        Some(rtt.max(RTT_LEAST))
    }
}

/// A time in 32 bits: exact to 2.1 s, then to a microsecond; 36 minutes stand for all that is longer.
#[derive(Clone, Copy, Debug)]
struct Span(u32);

impl Span {
    /// The highest bit: the others count units of 2^10 ns.
    const COARSE: u32 = 1 << 31;

    #[expect(clippy::cast_possible_truncation, reason = "less than 2^31")]
    fn between(earlier: Instant, later: Instant) -> Self {
        let ns = later.as_nanos().saturating_sub(earlier.as_nanos());
        Self(if ns < u64::from(Self::COARSE) {
            ns as u32
        } else {
            Self::COARSE | (ns >> 10).min(u64::from(Self::COARSE - 1)) as u32
        })
    }

    /// Returns the instant this span before `later`.
    fn before(self, later: Instant) -> Instant {
        let units = u64::from(self.0 & !Self::COARSE);
        let is_coarse = self.0 & Self::COARSE != 0;
        let ns = if is_coarse { units << 10 } else { units };
        Instant::from_nanos(later.as_nanos().saturating_sub(ns))
    }
}

#[cfg(test)]
mod tests;
