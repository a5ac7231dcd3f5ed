//! The order and the fate of datagrams, over slot numbers. Socket and simulator share this code.
//!
//! [`Outbox`] and [`Inbox`] are what a connection sees of its application. [`SendQueue`] keeps order and counters for
//! an implementor of [`Outbox`].

mod order;
mod send;

pub use send::{FateCounts, Full, SendQueue, SlotFate};

use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::{Ecn, Payload, Place};

/// Names one datagram from its push until its fate is reported.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot(pub u32);

/// How a datagram ended. Each datagram has exactly one fate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Fate {
    /// It left, and the connection ended before a report on it came.
    Sent,
    /// The peer received it.
    Acked,
    /// The peer received it with a congestion mark.
    AckedCe,
    /// The network lost it: three later packets were reported, and it was not. A datagram that arrives after that keeps
    /// this fate, and a report of it counts as a spurious loss.
    Lost,
    /// The peer's host dropped it; the drop code is the reason (RFC 4340 §11.7).
    RxDropped(u8),
    /// Its deadline came before it could leave.
    Expired,
    /// A newer datagram with the same key took its place.
    Superseded,
    /// The application withdrew it, or the connection ended before it could leave.
    Withdrawn,
    /// The queue dropped it to make room.
    Overflowed,
    /// The congestion controller dropped it.
    Limited,
    /// It exceeded the maximum packet size when it was due to leave.
    TooBig,
}

impl Fate {
    /// All fates, with drop code 0.
    pub const ALL: [Self; 11] = [
        Self::Sent,
        Self::Acked,
        Self::AckedCe,
        Self::Lost,
        Self::RxDropped(0),
        Self::Expired,
        Self::Superseded,
        Self::Withdrawn,
        Self::Overflowed,
        Self::Limited,
        Self::TooBig,
    ];

    /// Its place in [`ALL`](Self::ALL).
    pub const fn index(self) -> u8 {
        match self {
            Self::Sent => 0,
            Self::Acked => 1,
            Self::AckedCe => 2,
            Self::Lost => 3,
            Self::RxDropped(_) => 4,
            Self::Expired => 5,
            Self::Superseded => 6,
            Self::Withdrawn => 7,
            Self::Overflowed => 8,
            Self::Limited => 9,
            Self::TooBig => 10,
        }
    }

    /// The fate's name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Acked => "acked",
            Self::AckedCe => "acked_ce",
            Self::Lost => "lost",
            Self::RxDropped(_) => "rx_dropped",
            Self::Expired => "expired",
            Self::Superseded => "superseded",
            Self::Withdrawn => "withdrawn",
            Self::Overflowed => "overflowed",
            Self::Limited => "limited",
            Self::TooBig => "too_big",
        }
    }

    /// Whether the peer's application can have the datagram.
    pub const fn is_received(self) -> bool {
        matches!(self, Self::Acked | Self::AckedCe)
    }
}

/// The order, deadline and key of one datagram in a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueueLabel {
    /// A datagram overtakes waiting datagrams of lower priority.
    pub priority: u8,
    /// From this time on it is not sent: [`Fate::Expired`].
    pub deadline: Option<Instant>,
    /// A newer datagram with the same key replaces it while it waits: [`Fate::Superseded`].
    pub key: Option<u64>,
}

impl QueueLabel {
    /// Whether the deadline has come.
    pub fn is_late(&self, now: Instant) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= now)
    }
}

/// The treatment of a datagram that finds the queue full.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum WhenFull {
    /// The sender waits for room, where calls can wait.
    #[default]
    Wait,
    /// The queue refuses it.
    Error,
    /// The datagram that has waited longest makes room, whatever its priority: [`Fate::Overflowed`].
    DropOldest,
    /// The oldest datagram of the lowest priority makes room. If all waiting datagrams have a higher priority, the new
    /// one is [`Fate::Overflowed`] itself.
    DropLowestPriority,
}

/// The next datagram of an [`Outbox`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offer {
    /// Its slot.
    pub slot: Slot,
    /// Its length in bytes.
    pub len: usize,
    /// Whether it consists of zeros, which are stored nowhere.
    pub is_zeros: bool,
}

/// The content of an [`Outbox`] while nothing may leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waiting {
    /// No datagram.
    Nothing,
    /// This datagram is next.
    Datagram(Offer),
    /// The next datagram is known only when it may leave, because the application supplies it then.
    OnRequest,
}

/// The source of outgoing datagrams. The connection takes a datagram only when it may leave now, so that the
/// application can change its mind until then.
pub trait Outbox {
    /// The next datagram, or none. One may leave now. An outbox that has used its budget for this turn returns `None`,
    /// reports [`Waiting::OnRequest`] and asks for another turn.
    fn peek(&mut self, now: Instant) -> Option<Offer>;

    /// The content while nothing may leave, or while [`peek`](Self::peek) offers nothing.
    fn waiting(&mut self, now: Instant) -> Waiting {
        self.peek(now).map_or(Waiting::Nothing, Waiting::Datagram)
    }

    /// Expires datagrams whose deadline has come. Returns the next time, later than `now`, when a deadline comes or a
    /// filler is due. The connection calls this when nothing more may leave, and sets a timer. An outbox that has used
    /// its budget for this turn returns `None` and asks for another turn.
    fn expire(&mut self, _now: Instant) -> Option<Instant> {
        None
    }

    /// Whether the datagram that [`peek`](Self::peek) offered has a priority above 0. A controller that drops its input
    /// drops others first.
    fn is_important(&mut self) -> bool {
        false
    }

    /// Waiting bytes, as far as known.
    fn backlog(&mut self) -> u64 {
        0
    }

    /// At most this many datagrams leave now as one batch. An outbox may claim them in one step until the turn ends.
    fn prepare(&mut self, _datagrams: usize) {}

    /// Claims the datagram that [`peek`](Self::peek) offered and copies it to `place`. `place` has the datagram's
    /// length, or length 0 for zeros. `false`: the application withdrew it meanwhile, and nothing is claimed.
    fn claim_into(&mut self, now: Instant, slot: Slot, place: &mut Place<'_>) -> bool;

    /// Refuses the offered datagram: it will not be sent. After [`Fate::Withdrawn`] the connection is over, and it
    /// refuses offers until there are none: an endless outbox must stop.
    fn refuse(&mut self, now: Instant, slot: Slot, fate: Fate);

    /// Reports the fate of a claimed datagram.
    fn on_fate(&mut self, now: Instant, slot: Slot, fate: Fate);
}

/// The connection's knowledge of a delivered datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// Time of arrival.
    pub arrived: Instant,
    /// Sequence number of its packet.
    pub seq: Seq,
    /// ECN field of its packet.
    pub ecn: Ecn,
    /// Its Data Checksum did not match, and the application accepts such data (4340-9.3-2: deliver marked as corrupt).
    pub is_corrupt: bool,
}

/// The application's answer to a delivered datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accepted {
    /// The application has it.
    Yes,
    /// The receive buffer is full: Drop Code 2.
    Full,
    /// The application no longer listens: Drop Code 1.
    NotListening,
}

/// The destination of received datagrams.
pub trait Inbox {
    /// Takes a datagram, and copies what it stores.
    fn deliver(&mut self, datagram: Payload<'_>, meta: Delivery) -> Accepted;
}
