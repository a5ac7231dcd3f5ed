//! Packets in flight over a link.

use crate::loss::Fate;
use crate::parcel::Parcel;
use dccp_proto::Instant;
use dccp_proto::wire::Ecn;

/// A packet at the far end of the link, lost ones included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival<T> {
    /// Names the packet.
    pub token: T,
    /// The ECN field, as queues left it.
    pub ecn: Ecn,
    /// Its fate.
    pub fate: Fate,
}

/// The fields of a packet that travel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet<T> {
    pub(crate) token: T,
    /// Length of the IP packet in bytes.
    pub(crate) len: u32,
    pub(crate) ecn: Ecn,
}

/// A packet in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flying<T> {
    pub(super) at: Instant,
    /// Since when it has been the next arrival of this link: orders arrivals at one time.
    pub(super) since: Instant,
    pub(super) packet: Packet<T>,
    pub(super) fate: Fate,
}

/// A packet that others may overtake.
#[derive(Debug)]
pub(super) struct Stray<T> {
    /// When it arrives, and how many packets had been offered: the order among equals.
    pub(super) key: (Instant, u64),
    pub(super) flying: Flying<T>,
}

impl<T: Copy> Packet<T> {
    pub(super) fn of(parcel: &Parcel<T>) -> Self {
        Self {
            token: parcel.token,
            len: u32::try_from(parcel.len).unwrap_or(u32::MAX),
            ecn: parcel.ecn,
        }
    }

    /// The packet as it was before it was let in.
    pub(super) fn parcel(self) -> Parcel<T> {
        Parcel {
            may_fragment: true,
            ..Parcel::new(self.token, self.len as usize, self.ecn)
        }
    }
}

impl<T: Copy> Flying<T> {
    pub(super) const fn new(at: Instant, packet: Packet<T>, fate: Fate) -> Self {
        let since = Instant::ZERO;
        Self {
            at,
            since,
            packet,
            fate,
        }
    }

    pub(super) const fn arrival(&self) -> Arrival<T> {
        Arrival {
            token: self.packet.token,
            ecn: self.packet.ecn,
            fate: self.fate,
        }
    }
}

impl<T> PartialEq for Stray<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<T> Eq for Stray<T> {}

impl<T> PartialOrd for Stray<T> {
    fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Stray<T> {
    fn cmp(&self, other: &Self) -> core::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}
