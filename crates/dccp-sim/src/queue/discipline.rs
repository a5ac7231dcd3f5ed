//! The interface of all disciplines, and the limit that each has.

use super::fifo::{Books, Waiting};
use crate::loss::Loss;
use crate::parcel::Parcel;
use crate::setting::Impossible;
use core::fmt;
use dccp_proto::{Instant, Rate};

/// How much a queue holds, the packet in transmission not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// This many packets.
    Packets(usize),
    /// This many bytes of IP packets.
    Bytes(usize),
}

impl Limit {
    /// Whether a packet of `len` bytes fits beside the waiting ones.
    pub(super) const fn admits(self, packets: usize, bytes: usize, len: usize) -> bool {
        self.holds(packets + 1, bytes + len)
    }

    /// Whether this many packets and bytes may wait.
    pub(super) const fn holds(self, packets: usize, bytes: usize) -> bool {
        match self {
            Self::Packets(max) => packets <= max,
            Self::Bytes(max) => bytes <= max,
        }
    }

    /// A discipline that decides on waiting packets needs room for one.
    pub(super) const fn check(self, setting: &'static str) -> Result<(), Impossible> {
        let is_possible = matches!(self, Self::Packets(1..) | Self::Bytes(1..));
        Impossible::unless(is_possible, setting, "at least one packet or byte")
    }
}

/// Decides on packets as they enter a queue, wait and leave. The [`Books`] count the waiting packets.
pub(crate) trait Discipline<T>: fmt::Debug + Send {
    /// Takes a packet.
    ///
    /// # Errors
    /// Why it is refused.
    fn push(&mut self, now: Instant, parcel: Parcel<T>, books: &mut Books<T>) -> Result<(), Loss>;

    /// Removes the next packet. Packets that the discipline drops instead go to the books.
    fn pop(&mut self, now: Instant, books: &mut Books<T>) -> Option<Waiting<T>>;

    /// The limit in its settings.
    fn limit_mut(&mut self) -> &mut Limit;

    /// When the next of the packets that wait may leave, as far as the discipline decides that.
    fn ready_at(&self) -> Option<Instant> {
        Some(Instant::ZERO)
    }

    /// The popped packet of `len` bytes goes to the transmitter.
    fn on_dequeue(&mut self, _now: Instant, _len: usize) {}

    /// The transmitter has been idle since then, until now.
    fn on_idle(&mut self, _since: Instant) {}

    /// The transmitter has another rate from now on.
    fn set_rate(&mut self, _rate: Option<Rate>) {}

    /// Whether it decides only on entry: packets then leave first in, first out, as soon as they can.
    fn is_plain(&self) -> bool {
        false
    }

    /// Whether it is plain and no packet in it may be overtaken later.
    fn is_in_order(&self) -> bool {
        false
    }
}
