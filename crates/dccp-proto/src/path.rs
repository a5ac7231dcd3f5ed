//! Addresses of a packet, and the protocol that carries DCCP.

use crate::wire::{ChecksumRule, PseudoHeader};
use core::net::IpAddr;

/// The protocol that carries DCCP.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Encap {
    /// IP protocol 33 (RFC 4340): DCCP's own checksum counts.
    Ip,
    /// UDP (RFC 6773): UDP's checksum counts. UDP and DCCP ports are independent numbers.
    Udp {
        /// UDP port of this end.
        local_port: u16,
        /// UDP port of the peer.
        remote_port: u16,
    },
}

impl Encap {
    /// Returns the bytes of IP and UDP headers below DCCP (6773-3.7-1).
    pub const fn overhead(self, is_ipv6: bool) -> usize {
        let ip = if is_ipv6 { 40 } else { 20 };
        match self {
            Self::Ip => ip,
            Self::Udp { .. } => ip + 8,
        }
    }

    /// The same as the peer sees it.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Ip => Self::Ip,
            Self::Udp {
                local_port,
                remote_port,
            } => Self::Udp {
                local_port: remote_port,
                remote_port: local_port,
            },
        }
    }
}

/// The source that limits count for an address: an IPv4 address, or the first 64 bits of an IPv6 address, because one
/// customer of a provider has all addresses that begin with them.
pub fn source_of(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() & !u128::from(u64::MAX)).into()),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// The two hosts of a connection and the protocol between them. Addresses are of one family.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Path {
    /// Address of this end.
    pub local: IpAddr,
    /// Address of the peer.
    pub remote: IpAddr,
    /// The protocol that carries DCCP.
    pub encap: Encap,
}

impl Path {
    /// Bytes of headers below DCCP.
    pub const fn overhead(&self) -> usize {
        self.encap.overhead(self.remote.is_ipv6())
    }

    /// The same as the peer sees it.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self {
            local: self.remote,
            remote: self.local,
            encap: self.encap.reversed(),
        }
    }

    /// The checksum that protects packets on this path, in either direction (4340-9.1-2, 6773-3.3-2).
    pub fn checksum_rule(&self) -> ChecksumRule {
        match self.encap {
            Encap::Ip => ChecksumRule::Ip(PseudoHeader::new(self.local, self.remote)),
            Encap::Udp { .. } => ChecksumRule::Udp,
        }
    }
}

/// Names a connection on the wire: the 4-tuple of RFC 4340, the 6-tuple of RFC 6773 §3.8.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Flow {
    /// Addresses and, over UDP, the UDP ports.
    pub path: Path,
    /// DCCP port of this end.
    pub local_port: u16,
    /// DCCP port of the peer.
    pub remote_port: u16,
}
