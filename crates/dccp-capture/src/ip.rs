//! IP and UDP headers, as the kernel writes them in front of a datagram.

use core::net::IpAddr;
use dccp_proto::path::{Encap, Path};
use dccp_proto::wire::PseudoHeader;

/// IP protocol number of TCP.
pub const PROTOCOL_TCP: u8 = 6;
/// IP protocol number of UDP.
pub const PROTOCOL_UDP: u8 = 17;
/// IP protocol number of ICMP.
pub const PROTOCOL_ICMP: u8 = 1;
/// IP protocol number of ICMPv6.
pub const PROTOCOL_ICMPV6: u8 = 58;

/// Returns the protocol number of the IP header that carries DCCP.
const fn protocol_of(encap: Encap) -> u8 {
    match encap {
        Encap::Ip => PseudoHeader::PROTOCOL,
        Encap::Udp { .. } => PROTOCOL_UDP,
    }
}

/// The fields of an IP header that differ between packets. Time to live is 64.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// Source address.
    pub source: IpAddr,
    /// Destination address, of the same family.
    pub destination: IpAddr,
    /// The protocol behind the header.
    pub protocol: u8,
    /// DSCP and ECN: the byte TOS of IPv4, Traffic Class of IPv6.
    pub tos: u8,
    /// Whether routers may fragment the packet.
    pub may_fragment: bool,
}

impl Header {
    /// Appends the header of a packet that has `payload_len` bytes behind it.
    pub fn write(&self, payload_len: usize, out: &mut Vec<u8>) {
        let (tos, protocol) = (self.tos, self.protocol);
        match (self.source, self.destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let start = out.len();
                let [len_high, len_low] = saturated_u16(20 + payload_len).to_be_bytes();
                let flags = if self.may_fragment { 0 } else { 0x40 };
                out.extend_from_slice(&[
                    0x45, tos, len_high, len_low, 0, 0, flags, 0, 64, protocol, 0, 0,
                ]);
                out.extend_from_slice(&source.octets());
                out.extend_from_slice(&destination.octets());
                let sum = checksum(0, &out[start..]).to_be_bytes();
                out[start + 10..start + 12].copy_from_slice(&sum);
            }
            (source, destination) => {
                let [len_high, len_low] = saturated_u16(payload_len).to_be_bytes();
                let class = [0x60 | tos >> 4, tos << 4];
                out.extend_from_slice(&[class[0], class[1], 0, 0, len_high, len_low, protocol, 64]);
                for address in [source, destination] {
                    match address {
                        IpAddr::V4(v4) => out.extend_from_slice(&v4.to_ipv6_mapped().octets()),
                        IpAddr::V6(v6) => out.extend_from_slice(&v6.octets()),
                    }
                }
            }
        }
    }
}

/// Appends a UDP header with `payload_len` bytes behind it.
pub fn write_udp_header(
    source: u16,
    destination: u16,
    payload_len: usize,
    checksum: u16,
    out: &mut Vec<u8>,
) {
    for field in [
        source,
        destination,
        saturated_u16(8 + payload_len),
        checksum,
    ] {
        out.extend_from_slice(&field.to_be_bytes());
    }
}

/// Fills in the checksum of a whole UDP datagram, whose checksum field is 0.
///
/// # Panics
/// If `datagram` is shorter than a UDP header.
pub fn fill_udp_checksum(source: IpAddr, destination: IpAddr, datagram: &mut [u8]) {
    // 6773-3.3-1: a UDP checksum of 0 would mean none; 0xffff is the same number.
    let pseudo = pseudo_header(source, destination, PROTOCOL_UDP, datagram.len());
    let sum = match checksum(pseudo, datagram) {
        0 => 0xffff,
        sum => sum,
    };
    datagram[6..8].copy_from_slice(&sum.to_be_bytes());
}

/// Returns the sum of a pseudo-header, for [`checksum`]. `len` counts the bytes behind the IP header.
pub fn pseudo_header(source: IpAddr, destination: IpAddr, protocol: u8, len: usize) -> u64 {
    let address = |a| match a {
        IpAddr::V4(a) => sum(&a.octets()),
        IpAddr::V6(a) => sum(&a.octets()),
    };
    address(source) + address(destination) + u64::from(protocol) + len as u64
}

/// Returns the Internet checksum (RFC 1071) of `bytes`, whose checksum field is 0, and of a pseudo-header.
pub fn checksum(pseudo_header: u64, bytes: &[u8]) -> u16 {
    let mut sum = pseudo_header + sum(bytes);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !saturated_u16(usize::try_from(sum).unwrap_or(0))
}

fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<2>();
    let even: u64 = words
        .iter()
        .map(|&w| u64::from(u16::from_be_bytes(w)))
        .sum();
    even + rest.first().map_or(0, |&b| u64::from(b) << 8)
}

/// Lengths of packets fit their fields; one that does not is shown as the largest that does.
pub fn saturated_u16(len: usize) -> u16 {
    u16::try_from(len).unwrap_or(u16::MAX)
}

/// A DCCP datagram that was sent or received, whole or in part.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Source (`local`) and destination (`remote`) of the datagram.
    pub path: Path,
    /// DSCP and ECN.
    pub tos: u8,
    /// Whether routers may fragment the packet.
    pub may_fragment: bool,
    /// The bytes at the front, from the DCCP header on.
    pub bytes: &'a [u8],
    /// Zero bytes that follow.
    pub zeros: usize,
    /// Bytes after those that were not captured.
    pub missing: usize,
}

impl Datagram<'_> {
    /// Appends the IP packet, less the bytes that are missing. Returns its length on the wire.
    ///
    /// If bytes are missing, the UDP checksum is 0xffff, because it cannot be computed. Wireshark verifies no
    /// checksum of a packet that was cut.
    pub fn write(&self, out: &mut Vec<u8>) -> usize {
        let Path {
            local,
            remote,
            encap,
        } = self.path;
        let len = self.bytes.len() + self.zeros + self.missing;
        let udp_len = match encap {
            Encap::Ip => 0,
            Encap::Udp { .. } => 8,
        };
        let start = out.len();
        let header = Header {
            source: local,
            destination: remote,
            protocol: protocol_of(encap),
            tos: self.tos,
            may_fragment: self.may_fragment,
        };
        header.write(udp_len + len, out);
        let ip_len = out.len() - start;
        if let Encap::Udp {
            local_port,
            remote_port,
        } = encap
        {
            let checksum = if self.missing == 0 { 0 } else { 0xffff };
            write_udp_header(local_port, remote_port, len, checksum, out);
        }
        out.extend_from_slice(self.bytes);
        out.resize(out.len() + self.zeros, 0);
        if udp_len != 0 && self.missing == 0 {
            fill_udp_checksum(local, remote, &mut out[start + ip_len..]);
        }
        ip_len + udp_len + len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: [IpAddr; 2] = [
        IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 1)),
        IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 2)),
    ];
    const V6: [IpAddr; 2] = [
        IpAddr::V6(core::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)),
        IpAddr::V6(core::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2)),
    ];
    const UDP: Encap = Encap::Udp {
        local_port: 50_000,
        remote_port: 14_233,
    };

    fn datagram([local, remote]: [IpAddr; 2], encap: Encap, bytes: &[u8]) -> Datagram<'_> {
        Datagram {
            path: Path {
                local,
                remote,
                encap,
            },
            tos: 0xba,
            may_fragment: false,
            bytes,
            zeros: 0,
            missing: 0,
        }
    }

    #[test]
    fn ipv4_header_sums_to_all_ones() {
        let mut packet = Vec::new();
        let len = datagram(V4, Encap::Ip, &[7; 30]).write(&mut packet);
        assert_eq!(len, 50);
        assert_eq!(packet.len(), 50);
        // RFC 1071: the sum over a whole header, its checksum included, is all ones.
        assert_eq!(checksum(0, &packet[..20]), 0);
        assert_eq!(packet[..4], [0x45, 0xba, 0, 50]);
        assert_eq!(packet[6], 0x40, "do not fragment");
        assert_eq!(packet[9], 33);
    }

    #[test]
    fn ipv6_header_has_traffic_class_and_payload_length() {
        let mut packet = Vec::new();
        let len = datagram(V6, UDP, &[7; 30]).write(&mut packet);
        assert_eq!((len, packet.len()), (78, 78));
        assert_eq!(packet[..8], [0x6b, 0xa0, 0, 0, 0, 38, 17, 64]);
        let pseudo = pseudo_header(V6[0], V6[1], PROTOCOL_UDP, 38);
        assert_eq!(checksum(pseudo, &packet[40..]), 0);
    }

    #[test]
    fn zeros_are_written_and_summed() {
        let mut stored = Vec::new();
        datagram(V4, UDP, &[1, 2, 3, 4, 0, 0, 0]).write(&mut stored);
        let mut counted = Vec::new();
        let zeros = Datagram {
            zeros: 3,
            ..datagram(V4, UDP, &[1, 2, 3, 4])
        };
        assert_eq!(zeros.write(&mut counted), 35);
        assert_eq!(counted, stored);
    }

    #[test]
    fn cut_datagram_keeps_its_length_on_the_wire() {
        let mut packet = Vec::new();
        let cut = Datagram {
            missing: 970,
            ..datagram(V4, UDP, &[7; 30])
        };
        assert_eq!(cut.write(&mut packet), 1_028);
        assert_eq!(packet.len(), 58);
        assert_eq!(packet[2..4], 1_028_u16.to_be_bytes(), "IP total length");
        assert_eq!(packet[24..26], 1_008_u16.to_be_bytes(), "UDP length");
        assert_ne!(packet[26..28], [0, 0], "a checksum of 0 would mean none");
    }

    #[test]
    fn packets_are_appended_without_touching_earlier_bytes() {
        let mut one = Vec::new();
        datagram(V6, UDP, &[9; 5]).write(&mut one);
        let mut two = vec![0xaa; 3];
        datagram(V6, UDP, &[9; 5]).write(&mut two);
        assert_eq!(two[..3], [0xaa; 3]);
        assert_eq!(two[3..], one);
    }
}
