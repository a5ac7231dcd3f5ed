//! Helpers that the unit tests of several modules share.

use crate::frame::segment::{Flags, Sack, Segment, UNKNOWN};
use crate::frame::{Content, Frame, UdpDatagram};
use core::net::Ipv4Addr;
use dccp_proto::Instant;
use dccp_proto::path::{Encap, Path};
use dccp_proto::wire::{Ecn, PacketType};

/// A frame over IPv4 with a DCCP header of this type, X = 1, ports 5001 → 6001, and 100 zeros.
pub(crate) fn frame(packet_type: PacketType) -> Frame {
    let mut bytes = vec![0; 24];
    bytes[..4].copy_from_slice(&[0x13, 0x89, 0x17, 0x71]);
    bytes[4] = 6;
    bytes[8] = (packet_type as u8) << 1 | 1;
    Frame {
        path: Path {
            local: Ipv4Addr::new(10, 0, 0, 1).into(),
            remote: Ipv4Addr::new(10, 0, 0, 2).into(),
            encap: Encap::Ip,
        },
        content: Content::Dccp,
        ecn: Ecn::NotEct,
        may_fragment: false,
        bytes,
        zeros: 100,
        sent: Instant::ZERO,
        to: None,
        line: None,
    }
}

/// A segment with 1000 bytes and no options, ports 5001 → 6001.
pub(crate) fn segment() -> Segment {
    Segment {
        source_port: 5001,
        dest_port: 6001,
        seq: 1,
        ack: 1,
        window: 65_535,
        window_scale: 0,
        flags: Flags::ACK,
        mss: 1448,
        len: 1000,
        timestamps: None,
        sack: Sack::default(),
        from: UNKNOWN,
        to: UNKNOWN,
    }
}

/// A datagram of UDP with 100 bytes, ports 5001 → 6001.
pub(crate) fn udp() -> UdpDatagram {
    UdpDatagram {
        source_port: 5001,
        dest_port: 6001,
        len: 100,
        number: 0,
        sent: Instant::ZERO,
        answers: None,
    }
}
