//! MTUs of interfaces and routes, from the kernel's tables.
//!
//! Socket options would be simpler (`IP_MTU`), but they report the kernel's cache of path MTUs, which a single forged ICMP
//! message fills for ten minutes. The tables say what this host and its administrator know.

use std::net::IpAddr;

use rustix::net::AddressFamily;

use crate::netlink::{self, GET_LINK, LINK_HEADER, NEW_LINK, Tables, find, link_header, word};

const ROUTE_HEADER: usize = 12;
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

/// The MTU with which packets to `remote` leave this host, in bytes; `None` if the kernel does not say. `scope_id`: the
/// interface of a link-local address, else 0.
pub(super) fn mtu(remote: IpAddr, scope_id: u32) -> Option<u32> {
    let tables = Tables::open().ok()?;
    let way = ask_route(&tables, remote, scope_id, 0)?;
    let interface = word(find(&way, ROUTE_HEADER, ROUTE_INTERFACE)?)?;
    let link = tables.ask(GET_LINK, 0, &link_header(interface), NEW_LINK)?;
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
    let entry = ask_route(tables, remote, scope_id, FIB_MATCH)?;
    let metrics = find(&entry, ROUTE_HEADER, ROUTE_METRICS)?;
    word(find(metrics, 0, METRIC_MTU)?)
}

/// The kernel's route to a host. `flags`: those in the header of a route.
fn ask_route(tables: &Tables, remote: IpAddr, scope_id: u32, flags: u32) -> Option<Vec<u8>> {
    let (family, address) = match remote {
        IpAddr::V4(ip) => (AddressFamily::INET, ip.octets().to_vec()),
        IpAddr::V6(ip) => (AddressFamily::INET6, ip.octets().to_vec()),
    };
    let family = u8::try_from(family.as_raw()).unwrap_or(0);
    let bits = u8::try_from(address.len() * 8).unwrap_or(0);
    // Family, bits of destination and source, service, table, protocol, scope, type; flags.
    let mut body = vec![family, bits, 0, 0, 0, 0, 0, 0];
    body.extend(flags.to_ne_bytes());
    netlink::push(&mut body, ROUTE_TO, &address);
    if scope_id != 0 {
        netlink::push(&mut body, ROUTE_INTERFACE, &scope_id.to_ne_bytes());
    }
    tables.ask(GET_ROUTE, 0, &body, NEW_ROUTE)
}
