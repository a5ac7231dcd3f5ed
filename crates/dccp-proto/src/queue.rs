//! Order and fate of datagrams, over slot numbers: socket, ring and simulator use it (design 7).
//!
//! [`Outbox`] and [`Inbox`] are what a connection sees of the application; [`SendQueue`]
//! keeps the books for whoever implements an outbox.

mod order;
mod send;

pub use send::{FateCounts, FateReport, Full, SendQueue};

use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::{Ecn, Payload, Place};

/// Names one datagram of the application from the moment that it is pushed until its fate is told.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Slot(pub u32);

/// What became of a datagram. Each has exactly one fate (design 7).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fate {
    /// It left, and nothing reported on it before the connection ended.
    Sent,
    /// The peer received it.
    Acked,
    /// The peer received it with a congestion mark.
    AckedCe,
    /// The network lost it: three packets that left later were reported, and it was not. One that arrives after all
    /// keeps this fate; if that is reported, it is counted among the spurious losses.
    Lost,
    /// The peer's host dropped it; the drop code says why (RFC 4340 §11.7).
    RxDropped(u8),
    /// Its deadline passed before it could leave.
    Expired,
    /// A newer datagram with the same key took its place.
    Superseded,
    /// The application took it back, or the connection ended before it could leave.
    Withdrawn,
    /// The queue's policy dropped it.
    Overflowed,
    /// The congestion controller dropped it.
    Limited,
    /// It was larger than the maximum packet size at the moment it should have left.
    TooBig,
}

impl Fate {
    /// Each of them, with drop code 0.
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
}

/// What the application says about a datagram; by default nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Label {
    /// A datagram overtakes those of lower priority that wait.
    pub priority: u8,
    /// After this moment it is not sent: [`Fate::Expired`].
    pub deadline: Option<Instant>,
    /// A newer datagram with the same key takes its place, as long as it waits: [`Fate::Superseded`].
    pub key: Option<u64>,
}

impl Label {
    /// Whether a datagram must not leave any more.
    pub fn is_late(&self, now: Instant) -> bool {
        self.deadline.is_some_and(|deadline| deadline < now)
    }
}

/// What becomes of a datagram that finds the queue full.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum WhenFull {
    /// Who sends it waits for room, where calls can wait.
    #[default]
    Wait,
    /// It is not taken.
    Error,
    /// The datagram that has waited longest makes room, whatever its priority: [`Fate::Overflowed`].
    DropOldest,
    /// The oldest datagram of the lowest priority makes room. If all that wait have a higher priority than
    /// the new one, that is [`Fate::Overflowed`] itself.
    DropLowestPriority,
}

/// The datagram that an [`Outbox`] would give next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offer {
    /// Its slot.
    pub slot: Slot,
    /// Its length in bytes.
    pub len: usize,
    /// Whether it is all zeros and stored nowhere.
    pub is_zeros: bool,
}

/// What an [`Outbox`] has at a moment when nothing may leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waiting {
    /// Nothing.
    Nothing,
    /// This datagram is the next.
    Datagram(Offer),
    /// What is next is known when one may leave: the application will be asked then.
    OnRequest,
}

/// Where datagrams come from. The connection asks only when one may leave now, so that the
/// application can change its mind until then.
pub trait Outbox {
    /// The next datagram, or none. One may leave now. Who has looked at enough for this turn gives none, says
    /// [`Waiting::OnRequest`], and asks for another turn.
    fn peek(&mut self, now: Instant) -> Option<Offer>;

    /// What waits, at a moment when nothing may leave, or nothing is offered.
    fn waiting(&mut self, now: Instant) -> Waiting {
        self.peek(now).map_or(Waiting::Nothing, Waiting::Datagram)
    }

    /// Bytes that wait, as far as that is known.
    fn backlog(&mut self) -> u64 {
        0
    }

    /// So many datagrams leave now, one after the other, at most: a batch (design 8b). Who can claim them in one step at
    /// less cost may do so, until this turn is over.
    fn prepare(&mut self, _datagrams: usize) {}

    /// Takes the datagram that [`peek`](Self::peek) offered and fills `place` with it, which has its
    /// length (or none at all for zeros). `false`: it was taken back meanwhile, nothing is claimed.
    fn claim_into(&mut self, now: Instant, slot: Slot, place: &mut Place<'_>) -> bool;

    /// Refuses the offered datagram: it will not be sent. After [`Fate::Withdrawn`] the connection is over,
    /// and whatever is offered is withdrawn until nothing is: an outbox that always has more must stop.
    fn refuse(&mut self, now: Instant, slot: Slot, fate: Fate);

    /// Tells the fate of a datagram that was claimed.
    fn on_fate(&mut self, now: Instant, slot: Slot, fate: Fate);
}

/// What the connection knows of a datagram that it delivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivery {
    /// When it arrived.
    pub arrived: Instant,
    /// Its packet's sequence number.
    pub seq: Seq,
    /// The ECN field of its packet.
    pub ecn: Ecn,
    /// Its Data Checksum did not match, and the application asked for such data (4340-9.3-2).
    pub is_corrupt: bool,
}

/// What the application did with a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accepted {
    /// It has it.
    Yes,
    /// Its receive buffer is full: Drop Code 2.
    Full,
    /// It does not listen any more: Drop Code 1.
    NotListening,
}

/// Where received datagrams go.
pub trait Inbox {
    /// Takes a datagram; copies what it keeps.
    fn deliver(&mut self, datagram: Payload<'_>, meta: Delivery) -> Accepted;
}
