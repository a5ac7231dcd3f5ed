//! Capture files: pcapng with whole IP packets, as Wireshark's tools read them.
//!
//! Frames are written out as they would be on a wire: IPv4 or IPv6 header, UDP header with its
//! checksum where DCCP is in UDP, ICMP messages, and payloads of zeros in full. The time is virtual
//! and begins at 1970.

mod transport;

use crate::frame::{About, Content, Frame, IcmpError};
use dccp_capture::ip::{
    self, PROTOCOL_ICMP, PROTOCOL_ICMPV6, checksum, pseudo_header, saturated_u16,
};
use dccp_capture::pcapng::{Packet, Section, Writer};
use dccp_proto::Instant;
use dccp_proto::path::Path;
use std::io::{self, Write};

/// Writes frames to a capture file.
#[derive(Debug)]
pub struct PcapWriter<W> {
    /// The file, or the first error; nothing is written after it.
    file: io::Result<Writer<W>>,
    packet: Vec<u8>,
    /// Bytes of each packet that are written, at most.
    snap: usize,
}

impl<W: Write> PcapWriter<W> {
    /// Starts a file of whole packets.
    pub fn new(out: W) -> Self {
        Self::with_snap(out, usize::MAX)
    }

    /// Starts a file of the first `snap` bytes of each packet.
    pub fn with_snap(out: W, snap: usize) -> Self {
        Self {
            file: Writer::new(out, &Section::default()),
            packet: Vec::new(),
            snap,
        }
    }

    /// Writes one frame, seen at this moment.
    pub fn frame(&mut self, now: Instant, frame: &Frame) {
        let Ok(file) = &mut self.file else {
            return;
        };
        self.packet.clear();
        write_ip_packet(frame, &mut self.packet);
        let len = self.packet.len();
        let packet = Packet {
            time_ns: now.as_nanos(),
            bytes: &self.packet[..len.min(self.snap)],
            len,
            direction: None,
            comment: None,
        };
        if let Err(error) = file.packet(&packet) {
            self.file = Err(error);
        }
    }

    /// Ends the file and gives back what it was written to.
    ///
    /// # Errors
    /// The first error of writing.
    pub fn finish(self) -> io::Result<W> {
        self.file?.finish()
    }
}

/// Appends the IP packet that a frame stands for.
pub fn write_ip_packet(frame: &Frame, out: &mut Vec<u8>) {
    match frame.content {
        Content::Dccp => {
            let datagram = ip::Datagram {
                path: frame.path,
                tos: frame.ecn as u8,
                may_fragment: frame.may_fragment,
                bytes: &frame.bytes,
                zeros: frame.zeros,
                missing: 0,
            };
            datagram.write(out);
        }
        Content::Icmp { error, about } => write_icmp(frame, error, about, out),
        Content::Tcp(segment) => transport::write_tcp(frame, &segment, out),
        Content::Udp(datagram) => transport::write_udp(frame, &datagram, out),
    }
}

/// The IP header of a packet on this path.
const fn ip_header(path: &Path, protocol: u8, tos: u8, may_fragment: bool) -> ip::Header {
    ip::Header {
        source: path.local,
        destination: path.remote,
        protocol,
        tos,
        may_fragment,
    }
}

/// An ICMP error from the peer's address: the simulator's routers have none of their own.
fn write_icmp(frame: &Frame, error: IcmpError, about: About, out: &mut Vec<u8>) {
    let mut message = Vec::new();
    let is_v6 = frame.path.local.is_ipv6();
    let (kind, code, rest) = match (error, is_v6) {
        (IcmpError::TooBig { mtu }, false) => (3, 4, u32::from(saturated_u16(mtu))),
        (IcmpError::TooBig { mtu }, true) => (2, 0, u32::try_from(mtu).unwrap_or(u32::MAX)),
        (IcmpError::Unreachable { kind, code }, _) => (kind, code, 0),
    };
    message.extend_from_slice(&[kind, code, 0, 0]);
    message.extend_from_slice(&rest.to_be_bytes());
    let quote = ip::Datagram {
        path: frame.path,
        tos: about.ecn as u8,
        may_fragment: false,
        bytes: &frame.bytes,
        zeros: 0,
        missing: about.len.saturating_sub(frame.bytes.len()),
    };
    quote.write(&mut message);

    let back = frame.path.reversed();
    let (protocol, pseudo) = if is_v6 {
        let pseudo = pseudo_header(back.local, back.remote, PROTOCOL_ICMPV6, message.len());
        (PROTOCOL_ICMPV6, pseudo)
    } else {
        (PROTOCOL_ICMP, 0)
    };
    let sum = checksum(pseudo, &message).to_be_bytes();
    message[2..4].copy_from_slice(&sum);
    ip_header(&back, protocol, 0, false).write(message.len(), out);
    out.extend_from_slice(&message);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use dccp_capture::ip::{PROTOCOL_TCP, PROTOCOL_UDP};
    use dccp_proto::path::Encap;
    use dccp_proto::wire::PacketType;

    #[test]
    fn the_ipv4_header_checksum_is_right() {
        // RFC 1071: the sum over a whole header, its checksum included, is all ones.
        let mut packet = Vec::new();
        write_ip_packet(&testing::frame(PacketType::Data), &mut packet);
        assert_eq!(checksum(0, &packet[..20]), 0);
        assert_eq!(packet[9], 33);
        assert_eq!(packet.len(), testing::frame(PacketType::Data).ip_len());
    }

    #[test]
    fn the_udp_checksum_is_right_and_never_zero() {
        // 6773-3.3-1
        let mut frame = testing::frame(PacketType::Data);
        frame.path.encap = Encap::Udp {
            local_port: 6511,
            remote_port: 6511,
        };
        let mut zero_sums = 0;
        for n in 0..=u16::MAX {
            frame.bytes[0..2].copy_from_slice(&n.to_be_bytes());
            let mut packet = Vec::new();
            write_ip_packet(&frame, &mut packet);
            let Path { local, remote, .. } = frame.path;
            let pseudo = pseudo_header(local, remote, PROTOCOL_UDP, packet.len() - 20);
            assert_eq!(checksum(pseudo, &packet[20..]), 0);
            assert_ne!(packet[26..28], [0, 0]);
            zero_sums += usize::from(packet[26..28] == [0xff, 0xff]);
        }
        assert!(zero_sums > 0, "one of all sums is zero");
    }

    #[test]
    fn segments_and_datagrams_of_udp_have_right_checksums_and_lengths() {
        let mut segment = testing::segment();
        segment.timestamps = Some(crate::frame::segment::Timestamps { value: 7, echo: 8 });
        segment.sack.push((3000, 4000));
        let mut syn = segment;
        syn.flags = crate::frame::segment::Flags::SYN;
        let contents = [
            (Content::Tcp(segment), PROTOCOL_TCP),
            (Content::Tcp(syn), PROTOCOL_TCP),
            (Content::Udp(testing::udp()), PROTOCOL_UDP),
        ];
        for (content, protocol) in contents {
            let mut frame = testing::frame(PacketType::Data);
            (frame.content, frame.zeros) = (content, 0);
            frame.bytes.clear();
            let mut packet = Vec::new();
            write_ip_packet(&frame, &mut packet);
            assert_eq!(packet.len(), frame.ip_len(), "{content:?}");
            let Path { local, remote, .. } = frame.path;
            let pseudo = pseudo_header(local, remote, protocol, packet.len() - 20);
            assert_eq!(checksum(pseudo, &packet[20..]), 0, "{content:?}");
        }
    }

    #[test]
    fn an_error_of_writing_is_not_forgotten() {
        #[derive(Debug)]
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let error = PcapWriter::new(Full).finish().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
