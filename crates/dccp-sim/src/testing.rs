//! What the unit tests of several modules share.

use crate::frame::{Content, Frame};
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
        line: None,
    }
}
