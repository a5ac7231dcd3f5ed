//! Sequence numbers of one direction of a connection, counted from its first packet.

use dccp_proto::Seq;
use dccp_proto::wire::{Packet, PacketType};

/// The first and the newest number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    pub(crate) first: Seq,
    pub(crate) newest: Seq,
}

impl Numbers {
    /// Takes the number of a packet into account, and returns it with 48 bits.
    pub(crate) fn add(numbers: &mut Option<Self>, packet: &Packet<'_>) -> Seq {
        let numbers = numbers.get_or_insert(Self {
            first: packet.seq,
            newest: packet.seq,
        });
        let seq = numbers.extended(packet.seq, packet.is_short);
        numbers.newest = numbers.newest.max(seq);
        seq
    }

    pub(crate) fn count(self, seq: Seq) -> i64 {
        seq.distance(self.first)
    }

    /// Returns the 48-bit number of a field that has 24 bits in a short header.
    pub(crate) fn extended(self, seq: Seq, is_short: bool) -> Seq {
        if is_short {
            Seq::extend_24(seq.low_24(), self.newest)
        } else {
            seq
        }
    }

    /// Returns the Acknowledgement Number of a packet of the other direction, if it tells what arrived.
    pub(crate) fn acknowledged(self, packet: &Packet<'_>) -> Option<Seq> {
        let has_acknowledgement = !matches!(
            packet.packet_type(),
            PacketType::Sync | PacketType::SyncAck | PacketType::Reset
        );
        let ack = packet.ack().filter(|_| has_acknowledgement)?;
        Some(self.extended(ack, packet.is_short))
    }
}
