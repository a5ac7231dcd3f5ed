//! The attacker's packets. The attacker knows addresses and ports of both ends.

use crate::app::{FORGED, SERVICE};
use crate::end::End;
use core::fmt;
use dccp_proto::Seq;
use dccp_proto::path::Flow;
use dccp_proto::wire::{self, Kind, Options, Packet, PacketType, Payload, ResetCode};

/// The distance of a wrong number from the right one: far outside every window of the models.
const FAR: u64 = 1 << 40;

/// The attacker's knowledge of sequence numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Numbers {
    /// None: all numbers are far away.
    Far,
    /// The sequence number is the next one, and the acknowledgement number is far away.
    WrongAck,
    /// Complete: the sequence number is the last one in the window, ¾ W ahead.
    Ahead,
    /// Complete: the sequence number is the next one.
    Next,
}

impl Numbers {
    /// Whether a packet with these numbers is invalid.
    pub const fn is_blind(self) -> bool {
        matches!(self, Self::Far | Self::WrongAck)
    }
}

/// A forged packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Forgery {
    /// The end that gets it, in the name of the other end.
    pub to: End,
    /// Its type.
    pub packet_type: PacketType,
    /// Its numbers.
    pub numbers: Numbers,
}

impl fmt::Display for Forgery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers = match self.numbers {
            Numbers::Far => "far numbers",
            Numbers::WrongAck => "the next sequence number and a far acknowledgement",
            Numbers::Ahead => "numbers at the end of the window",
            Numbers::Next => "the next numbers",
        };
        let Self {
            to, packet_type, ..
        } = self;
        write!(
            f,
            "a forged {packet_type:?} with {numbers} reaches the {to}"
        )
    }
}

/// The numbers of a connection that an attacker may know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// The last number that the peer of the target sent.
    pub(crate) peer: Option<Seq>,
    /// The last number that the target sent.
    pub(crate) target: Option<Seq>,
    /// The window for the peer's numbers, in packets.
    pub(crate) window: u64,
}

impl Forgery {
    /// All types of packets to both ends. Types without an acknowledgement number have none that is wrong.
    pub fn all(numbers: Numbers) -> Vec<Self> {
        let needs_ack = numbers == Numbers::WrongAck;
        let types = PacketType::ALL.into_iter();
        let types = types.filter(|packet_type| packet_type.has_ack() || !needs_ack);
        let to_both = |packet_type| {
            End::BOTH.map(|to| Self {
                to,
                packet_type,
                numbers,
            })
        };
        types.flat_map(to_both).collect()
    }

    /// Whether a packet of this type carries a forged datagram.
    pub(crate) fn has_data(self) -> bool {
        matches!(self.packet_type, PacketType::Data | PacketType::DataAck)
    }

    /// The packet for the end of `flow`, or `None` if the attacker cannot know the numbers yet.
    pub(crate) fn build(self, flow: &Flow, known: Known) -> Option<Vec<u8>> {
        let (seq, ack) = match self.numbers {
            Numbers::Far => (
                known.peer.unwrap_or(Seq::ZERO).plus(FAR),
                known.target.unwrap_or(Seq::ZERO).plus(FAR),
            ),
            Numbers::WrongAck => (known.peer?.next(), known.target?.plus(FAR)),
            Numbers::Ahead => (
                known.peer?.plus((3 * known.window).div_ceil(4)),
                known.target?,
            ),
            Numbers::Next => (known.peer?.next(), known.target?),
        };
        let payload = if self.has_data() { FORGED } else { &[] };
        let packet = Packet {
            source_port: flow.remote_port,
            dest_port: flow.local_port,
            ccval: 0,
            cscov: 0,
            is_short: false,
            seq,
            kind: Kind::new(self.packet_type, ack, SERVICE, ResetCode::ABORTED),
            options: Options::EMPTY,
            payload: Payload::Bytes(payload),
        };
        let mut bytes = Vec::new();
        let rule = flow.path.reversed().checksum_rule();
        wire::build(&mut bytes, &packet, rule).expect("the packet is valid");
        Some(bytes)
    }
}
