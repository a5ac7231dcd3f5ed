//! Packets on their way over a link.

use super::Arrival;
use crate::loss::Fate;
use crate::parcel::Parcel;
use dccp_proto::Instant;
use dccp_proto::wire::Ecn;

/// What of a packet travels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet<T> {
    pub(crate) token: T,
    /// Length of the IP packet in bytes.
    pub(crate) len: u32,
    pub(crate) ecn: Ecn,
}

/// One on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flying<T> {
    pub(super) at: Instant,
    /// Since when this link has had nothing to tell before it: its place among what comes at one moment.
    pub(super) since: Instant,
    pub(super) packet: Packet<T>,
    pub(super) fate: Fate,
}

/// One that others may overtake.
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
