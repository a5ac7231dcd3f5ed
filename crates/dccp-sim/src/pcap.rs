//! Capture files: pcapng with whole IP packets, as Wireshark's tools read them.
//!
//! Frames are written out as they would be on a wire: IPv4 or IPv6 header, UDP header with its
//! checksum where DCCP is in UDP, ICMP messages, and payloads of zeros in full. The time is virtual
//! and begins at 1970.

mod transport;

use crate::frame::{About, Content, Frame, IcmpError};
use core::net::IpAddr;
use dccp_proto::Instant;
use dccp_proto::path::{Encap, Path};
use std::io::{self, Write};

const PROTOCOL_ICMP: u8 = 1;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
const PROTOCOL_DCCP: u8 = 33;
const PROTOCOL_ICMPV6: u8 = 58;

/// Writes frames to a capture file.
#[derive(Debug)]
pub struct PcapWriter<W> {
    out: W,
    packet: Vec<u8>,
    /// Bytes of each packet that are written, at most.
    snap: usize,
    /// The first error; nothing is written after it.
    error: Option<io::Error>,
}

impl<W: Write> PcapWriter<W> {
    /// Starts a file of whole packets.
    pub fn new(out: W) -> Self {
        Self::with_snap(out, usize::MAX)
    }

    /// Starts a file of the first `snap` bytes of each packet.
    pub fn with_snap(out: W, snap: usize) -> Self {
        let mut writer = Self {
            out,
            packet: Vec::new(),
            snap,
            error: None,
        };
        // Section header: byte-order magic, version 1.0, length unknown.
        writer.block(
            0x0a0d_0d0a,
            &[
                &0x1a2b_3c4d_u32.to_le_bytes(),
                &[1, 0, 0, 0],
                &u64::MAX.to_le_bytes(),
            ],
        );
        // Interface: LINKTYPE_RAW, no limit of length, times in 10^-9 s (option 9), end of options.
        writer.block(
            1,
            &[
                &101_u16.to_le_bytes(),
                &[0; 2],
                &[0; 4],
                &[9, 0, 1, 0, 9, 0, 0, 0],
                &[0; 4],
            ],
        );
        writer
    }

    /// Writes one frame, seen at this moment.
    pub fn frame(&mut self, now: Instant, frame: &Frame) {
        let mut packet = core::mem::take(&mut self.packet);
        packet.clear();
        write_ip_packet(frame, &mut packet);
        let ns = now.as_nanos();
        let len = len_u32(packet.len()).to_le_bytes();
        packet.truncate(self.snap);
        let captured = len_u32(packet.len()).to_le_bytes();
        // Enhanced packet: interface 0, time in two halves, captured and original length.
        self.block(
            6,
            &[
                &[0; 4],
                &len_u32((ns >> 32) as usize).to_le_bytes(),
                &len_u32((ns & 0xffff_ffff) as usize).to_le_bytes(),
                &captured,
                &len,
                &packet,
                &[0; 3][..packet.len().next_multiple_of(4) - packet.len()],
            ],
        );
        self.packet = packet;
    }

    /// Ends the file and gives back what it was written to.
    ///
    /// # Errors
    /// The first error of writing.
    pub fn finish(mut self) -> io::Result<W> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.out.flush()?;
        Ok(self.out)
    }

    fn block(&mut self, kind: u32, parts: &[&[u8]]) {
        if self.error.is_none() {
            self.error = self.write_block(kind, parts).err();
        }
    }

    fn write_block(&mut self, kind: u32, parts: &[&[u8]]) -> io::Result<()> {
        let body: usize = parts.iter().map(|p| p.len()).sum();
        let len = len_u32(body + 12).to_le_bytes();
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&len)?;
        for part in parts {
            self.out.write_all(part)?;
        }
        self.out.write_all(&len)
    }
}

/// Appends the IP packet that a frame stands for.
pub fn write_ip_packet(frame: &Frame, out: &mut Vec<u8>) {
    match frame.content {
        Content::Dccp => {
            let len = frame.bytes.len() + frame.zeros;
            let tos = frame.ecn as u8;
            write_ip_header(
                &frame.path,
                protocol(&frame.path),
                tos,
                frame.may_fragment,
                len,
                out,
            );
            write_datagram(frame, out);
        }
        Content::Icmp { error, about } => write_icmp(frame, error, about, out),
        Content::Tcp(segment) => transport::write_tcp(frame, &segment, out),
        Content::Udp(datagram) => transport::write_udp(frame, &datagram, out),
    }
}

const fn protocol(path: &Path) -> u8 {
    match path.encap {
        Encap::Ip => PROTOCOL_DCCP,
        Encap::Udp { .. } => PROTOCOL_UDP,
    }
}

/// The DCCP datagram, with a UDP header in front where the path has one.
fn write_datagram(frame: &Frame, out: &mut Vec<u8>) {
    let start = out.len();
    let len = frame.bytes.len() + frame.zeros;
    if let Encap::Udp {
        local_port,
        remote_port,
    } = frame.path.encap
    {
        write_udp_header(local_port, remote_port, len, 0, out);
    }
    out.extend_from_slice(&frame.bytes);
    out.resize(out.len() + frame.zeros, 0);
    if frame.path.encap != Encap::Ip {
        let Path { local, remote, .. } = frame.path;
        fill_udp_checksum(local, remote, start, out);
    }
}

/// Fills in the checksum of the datagram of UDP that begins at `start`.
fn fill_udp_checksum(local: IpAddr, remote: IpAddr, start: usize, out: &mut [u8]) {
    // 6773-3.3-1: a UDP checksum of 0 would mean none; 0xffff is the same number.
    let pseudo = pseudo_header(local, remote, PROTOCOL_UDP, out.len() - start);
    let sum = match checksum(pseudo, &out[start..]) {
        0 => 0xffff,
        sum => sum,
    };
    out[start + 6..start + 8].copy_from_slice(&sum.to_be_bytes());
}

fn write_udp_header(source: u16, dest: u16, len: usize, checksum: u16, out: &mut Vec<u8>) {
    for field in [source, dest, len_u16(8 + len), checksum] {
        out.extend_from_slice(&field.to_be_bytes());
    }
}

/// An IP header for `len` bytes of DCCP, and of UDP header where the path has one.
fn write_ip_header(
    path: &Path,
    protocol: u8,
    tos: u8,
    may_fragment: bool,
    len: usize,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    let len = path.overhead() + len;
    match (path.local, path.remote) {
        (IpAddr::V4(source), IpAddr::V4(dest)) => {
            let total = len_u16(len).to_be_bytes();
            let flags = if may_fragment { 0 } else { 0x40 };
            out.extend_from_slice(&[
                0x45, tos, total[0], total[1], 0, 0, flags, 0, 64, protocol, 0, 0,
            ]);
            out.extend_from_slice(&source.octets());
            out.extend_from_slice(&dest.octets());
            let sum = checksum(0, &out[start..]).to_be_bytes();
            out[start + 10..start + 12].copy_from_slice(&sum);
        }
        (source, dest) => {
            let payload = len_u16(len - 40).to_be_bytes();
            out.extend_from_slice(&[0x60, tos << 4, 0, 0, payload[0], payload[1], protocol, 64]);
            for address in [source, dest] {
                match address {
                    IpAddr::V4(v4) => out.extend_from_slice(&v4.to_ipv6_mapped().octets()),
                    IpAddr::V6(v6) => out.extend_from_slice(&v6.octets()),
                }
            }
        }
    }
}

/// An ICMP error from the peer's address: the simulator's routers have none of their own.
fn write_icmp(frame: &Frame, error: IcmpError, about: About, out: &mut Vec<u8>) {
    let about_len = about.len;
    let tos = about.ecn as u8;
    let mut message = Vec::new();
    let is_v6 = frame.path.local.is_ipv6();
    let (kind, code, rest) = match (error, is_v6) {
        (IcmpError::TooBig { mtu }, false) => (3, 4, u32::from(len_u16(mtu))),
        (IcmpError::TooBig { mtu }, true) => (2, 0, len_u32(mtu)),
        (IcmpError::Unreachable { kind, code }, _) => (kind, code, 0),
    };
    message.extend_from_slice(&[kind, code, 0, 0]);
    message.extend_from_slice(&rest.to_be_bytes());
    write_ip_header(
        &frame.path,
        protocol(&frame.path),
        tos,
        false,
        about_len,
        &mut message,
    );
    if let Encap::Udp {
        local_port,
        remote_port,
    } = frame.path.encap
    {
        // The quote is cut short, so its checksum cannot be verified.
        write_udp_header(local_port, remote_port, about_len, 0xffff, &mut message);
    }
    message.extend_from_slice(&frame.bytes);

    let back = Path {
        encap: Encap::Ip,
        ..frame.path.reversed()
    };
    let (protocol, pseudo) = if is_v6 {
        let pseudo = pseudo_header(back.local, back.remote, PROTOCOL_ICMPV6, message.len());
        (PROTOCOL_ICMPV6, pseudo)
    } else {
        (PROTOCOL_ICMP, 0)
    };
    let sum = checksum(pseudo, &message).to_be_bytes();
    message[2..4].copy_from_slice(&sum);
    write_ip_header(&back, protocol, 0, false, message.len(), out);
    out.extend_from_slice(&message);
}

fn pseudo_header(source: IpAddr, dest: IpAddr, protocol: u8, len: usize) -> u64 {
    let address = |a| match a {
        IpAddr::V4(a) => sum(&a.octets()),
        IpAddr::V6(a) => sum(&a.octets()),
    };
    address(source) + address(dest) + u64::from(protocol) + len as u64
}

fn sum(bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(2);
    let even: u64 = (&mut words)
        .map(|w| u64::from(w[0]) << 8 | u64::from(w[1]))
        .sum();
    even + words.remainder().first().map_or(0, |&b| u64::from(b) << 8)
}

/// The Internet checksum (RFC 1071) of `bytes`, whose checksum field is 0, and of what a
/// pseudo-header adds.
fn checksum(pseudo: u64, bytes: &[u8]) -> u16 {
    let mut sum = pseudo + sum(bytes);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !len_u16(usize::try_from(sum).unwrap_or(0))
}

/// Lengths of packets fit their fields; one that does not is shown as the largest that does.
fn len_u16(len: usize) -> u16 {
    u16::try_from(len).unwrap_or(u16::MAX)
}

fn len_u32(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
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
            let pseudo = pseudo_header(local, remote, 17, packet.len() - 20);
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
