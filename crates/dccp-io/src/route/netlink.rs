//! MTUs of interfaces and routes, read from the kernel's tables by `rtnetlink` (rtnetlink(7)).
//!
//! ```text
//! request and answer: | length u32 | type u16 | flags u16 | sequence u32 | sender u32 | header | attributes |
//! attribute:          | length u16 | type u16 | data … | padding to 4 bytes |
//! ```
//! Socket options would be simpler (`IP_MTU`), but they report the kernel's cache of path MTUs, which a single forged ICMP
//! message fills for ten minutes. The tables say what this host and its administrator know.

use std::net::IpAddr;
use std::os::fd::OwnedFd;

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

const HEADER: usize = 16;
const ROUTE_HEADER: usize = 12;
const LINK_HEADER: usize = 16;
/// Room for an answer. Of an interface with many statistics the end is cut off, which is not read.
const ANSWER_MAX: usize = 8192;

const REQUEST: u16 = 1;
const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
const NEW_ROUTE: u16 = 24;
const GET_ROUTE: u16 = 26;
/// Answer with the entry of the table, not with the route that the kernel made of it and of its cache.
const FIB_MATCH: u32 = 0x2000;

const ROUTE_TO: u16 = 1;
const ROUTE_INTERFACE: u16 = 4;
const ROUTE_METRICS: u16 = 8;
const METRIC_MTU: u16 = 2;
const LINK_NAME: u16 = 3;
const LINK_MTU: u16 = 4;
/// Flags in the type of an attribute.
const TYPE_MASK: u16 = 0x3fff;

/// The MTU with which packets to `remote` leave this host, in bytes; `None` if the kernel does not say. `scope_id`: the
/// interface of a link-local address, else 0.
pub(super) fn mtu(remote: IpAddr, scope_id: u32) -> Option<u32> {
    let tables = Tables::open().ok()?;
    let way = tables.ask(&route_request(remote, scope_id, 0), NEW_ROUTE)?;
    let interface = word(find(&way, ROUTE_HEADER, ROUTE_INTERFACE)?)?;
    let link = tables.ask(&link_request(interface), NEW_LINK)?;
    let link_mtu = word(find(&link, LINK_HEADER, LINK_MTU)?)?;
    let limits = [
        Some(link_mtu),
        (remote.is_ipv6()).then(|| ipv6_mtu(&link)).flatten(),
        administrators_mtu(&tables, remote, scope_id),
        // An IPv4 packet cannot be longer.
        remote.is_ipv4().then_some(u16::MAX.into()),
    ];
    limits.into_iter().flatten().min()
}

/// IPv6 has an MTU of its own on each interface, which a router's advertisement sets (RFC 4861 §6.3.4).
fn ipv6_mtu(link: &[u8]) -> Option<u32> {
    let name = find(link, LINK_HEADER, LINK_NAME)?;
    let name = core::str::from_utf8(name.strip_suffix(&[0])?).ok()?;
    let file = format!("/proc/sys/net/ipv6/conf/{}/mtu", name.replace('.', "/"));
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// The MTU that an administrator gave to the route, if any.
fn administrators_mtu(tables: &Tables, remote: IpAddr, scope_id: u32) -> Option<u32> {
    let entry = tables.ask(&route_request(remote, scope_id, FIB_MATCH), NEW_ROUTE)?;
    let metrics = find(&entry, ROUTE_HEADER, ROUTE_METRICS)?;
    word(find(metrics, 0, METRIC_MTU)?)
}

fn route_request(remote: IpAddr, scope_id: u32, flags: u32) -> Vec<u8> {
    let (family, address) = match remote {
        IpAddr::V4(ip) => (AddressFamily::INET, ip.octets().to_vec()),
        IpAddr::V6(ip) => (AddressFamily::INET6, ip.octets().to_vec()),
    };
    let family = u8::try_from(family.as_raw()).unwrap_or(0);
    let bits = u8::try_from(address.len() * 8).unwrap_or(0);
    // Family, bits of destination and source, service, table, protocol, scope, type; flags.
    let mut body = vec![family, bits, 0, 0, 0, 0, 0, 0];
    body.extend(flags.to_ne_bytes());
    push(&mut body, ROUTE_TO, &address);
    if scope_id != 0 {
        push(&mut body, ROUTE_INTERFACE, &scope_id.to_ne_bytes());
    }
    request(GET_ROUTE, &body)
}

fn link_request(interface: u32) -> Vec<u8> {
    let mut body = [0; LINK_HEADER];
    body[4..8].copy_from_slice(&interface.to_ne_bytes());
    request(GET_LINK, &body)
}

fn request(kind: u16, body: &[u8]) -> Vec<u8> {
    let len = u32::try_from(HEADER + body.len()).unwrap_or(0);
    let mut bytes = len.to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(REQUEST.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend(body);
    bytes
}

fn push(body: &mut Vec<u8>, kind: u16, data: &[u8]) {
    let len = u16::try_from(4 + data.len()).unwrap_or(0);
    body.extend(len.to_ne_bytes());
    body.extend(kind.to_ne_bytes());
    body.extend(data);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// A socket to the kernel's tables.
struct Tables(OwnedFd);

impl Tables {
    fn open() -> rustix::io::Result<Self> {
        let socket = rustix::net::socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            // The default is the table of routes.
            None,
        )?;
        Ok(Self(socket))
    }

    /// Returns the kernel's answer without its first header, or `None` if it refuses. The kernel has answered when the
    /// request is sent.
    fn ask(&self, request: &[u8], answer: u16) -> Option<Vec<u8>> {
        let kernel = SocketAddrNetlink::new(0, 0);
        rustix::net::sendto(&self.0, request, SendFlags::empty(), &kernel).ok()?;
        let mut bytes = vec![0; ANSWER_MAX];
        let (len, _) = rustix::net::recv(&self.0, &mut bytes[..], RecvFlags::DONTWAIT).ok()?;
        bytes.truncate(len);
        // A refusal has another type.
        if half(bytes.get(4..)?) != Some(answer) {
            return None;
        }
        bytes.drain(..HEADER.min(len));
        Some(bytes)
    }
}

/// The data of the first attribute of a kind, behind a header.
fn find(message: &[u8], header: usize, kind: u16) -> Option<&[u8]> {
    let mut rest = message.get(header..)?;
    loop {
        let len = usize::from(half(rest)?);
        let found = half(rest.get(2..)?)? & TYPE_MASK;
        let data = rest.get(4..len)?;
        if found == kind {
            return Some(data);
        }
        rest = rest.get(len.next_multiple_of(4)..)?;
    }
}

fn half(bytes: &[u8]) -> Option<u16> {
    bytes.first_chunk().copied().map(u16::from_ne_bytes)
}

fn word(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().copied().map(u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_behind_padding_and_up_to_a_cut() {
        let mut body = vec![9; ROUTE_HEADER];
        push(&mut body, 7, b"abc");
        push(&mut body, ROUTE_METRICS | 0x8000, &[1, 2, 3, 4]);
        assert_eq!(find(&body, ROUTE_HEADER, 7), Some(&b"abc"[..]));
        assert_eq!(
            find(&body, ROUTE_HEADER, ROUTE_METRICS),
            Some(&[1, 2, 3, 4][..])
        );
        assert_eq!(find(&body, ROUTE_HEADER, 9), None);
        for len in 0..body.len() {
            assert_eq!(find(&body[..len], ROUTE_HEADER, ROUTE_METRICS), None);
        }
        // A length below the header's ends the list.
        let bad = [0, 0, 7, 0].repeat(4);
        assert_eq!(find(&bad, 0, 7), None);
    }

    #[test]
    fn kernel_knows_no_interface_without_number() {
        let tables = Tables::open().unwrap();
        assert!(tables.ask(&link_request(0x7fff_fff0), NEW_LINK).is_none());
        // The loopback's answer follows the refusal.
        assert!(tables.ask(&link_request(1), NEW_LINK).is_some());
    }
}
