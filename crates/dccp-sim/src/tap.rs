//! A node without a protocol: it keeps what arrives, and sends what a test makes it send.

use crate::frame::{Content, Frame, FrameId};
use crate::net::{Context, Departure};
use crate::node::Node;
use dccp_proto::Instant;
use dccp_proto::path::Path;
use dccp_proto::wire::{ChecksumRule, Datagram, Ecn, Packet, Payload, build};

/// Keeps all frames that it receives.
#[derive(Debug, Default)]
pub struct Tap {
    /// Packets that have arrived, with their times.
    pub received: Vec<(Instant, Frame)>,
}

impl Tap {
    /// The DCCP datagrams that have arrived, ICMP messages left out.
    pub fn datagrams(&self) -> impl Iterator<Item = &Frame> {
        let frames = self.received.iter().map(|(_, frame)| frame);
        frames.filter(|frame| frame.content == Content::Dccp)
    }

    /// Sends a packet with a right checksum.
    ///
    /// # Panics
    /// If the packet cannot be built.
    pub fn send(&mut self, context: &mut Context<'_>, path: Path, packet: &Packet<'_>) {
        let mut bytes = Vec::new();
        let rule = path.checksum_rule();
        build(&mut bytes, packet, rule).expect("a packet that can be built");
        let zeros = match packet.payload {
            Payload::Zeros(n) => n,
            Payload::Bytes(_) => 0,
        };
        self.send_raw(
            context,
            path,
            Datagram {
                bytes: &bytes,
                zeros,
            },
        );
    }

    /// Sends any bytes in place of a DCCP datagram.
    pub fn send_raw(&mut self, context: &mut Context<'_>, path: Path, datagram: Datagram<'_>) {
        context.send(&Departure {
            path,
            ecn: Ecn::NotEct,
            may_fragment: false,
            datagram,
        });
    }

    /// Decodes a datagram that arrived, its checksum verified.
    ///
    /// # Panics
    /// If it is malformed.
    pub fn packet(frame: &Frame) -> Packet<'_> {
        let rule: ChecksumRule = frame.path.checksum_rule();
        dccp_proto::wire::parse(&frame.datagram(), rule).expect("a well-formed packet")
    }
}

impl Node for Tap {
    fn on_frame(&mut self, context: &mut Context<'_>, frame: FrameId) {
        self.received
            .push((context.now(), context.frame(frame).clone()));
        context.deliver(frame);
    }
}
