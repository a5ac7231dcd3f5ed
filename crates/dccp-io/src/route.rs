//! The route that the system would choose for packets to a host.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

#[cfg(target_os = "linux")]
mod mtu;

/// The way to a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Route {
    /// The address of this host that packets would come from.
    pub source: IpAddr,
    /// The interface of a link-local IPv6 `source`, by its number; 0 otherwise (RFC 4007).
    pub scope_id: u32,
    /// MTU of the interface, or of the route if its administrator set a smaller one, in bytes of the IP packet. It does not
    /// depend on ICMP messages that the system has seen. `None` where the system does not tell (4340-14.1-1).
    pub mtu: Option<u32>,
}

/// Asks the system for the way to `remote`; sends nothing.
///
/// # Errors
/// When there is no route.
pub fn to(remote: IpAddr) -> io::Result<Route> {
    // Any port will do.
    to_place(SocketAddr::new(remote, 9))
}

/// Asks the system for the way to a UDP port, which for a link-local address also names the
/// interface; sends nothing.
///
/// # Errors
/// When there is no route.
pub fn to_place(remote: SocketAddr) -> io::Result<Route> {
    let any: IpAddr = match remote {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0))?;
    // A UDP socket's connect only looks up the route.
    socket.connect(remote)?;
    let source = socket.local_addr()?;
    // Its descriptor may be the last, and reading the MTU needs one.
    drop(socket);
    let interface = match remote {
        SocketAddr::V6(v6) => v6.scope_id(),
        SocketAddr::V4(_) => 0,
    };
    let scope_id = match source {
        SocketAddr::V6(v6) if v6.ip().is_unicast_link_local() => v6.scope_id(),
        _ => 0,
    };
    Ok(Route {
        source: source.ip(),
        scope_id,
        mtu: mtu(remote.ip(), interface),
    })
}

#[cfg(target_os = "linux")]
use mtu::mtu;

#[cfg(not(target_os = "linux"))]
fn mtu(_: IpAddr, _: u32) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_to_this_host_uses_the_loopback() {
        let v4 = to(Ipv4Addr::LOCALHOST.into()).unwrap();
        assert_eq!(v4.source, Ipv4Addr::LOCALHOST);
        let v6 = to(Ipv6Addr::LOCALHOST.into()).unwrap();
        assert_eq!(v6.source, Ipv6Addr::LOCALHOST);
        // An IPv4 packet cannot have all of the interface's 65,536 bytes.
        if cfg!(target_os = "linux") {
            assert_eq!((v4.mtu, v6.mtu), (Some(65_535), Some(65_536)));
        }
    }
}
