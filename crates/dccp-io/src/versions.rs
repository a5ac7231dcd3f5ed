//! IP versions of a socket.

use std::io;
use std::net::IpAddr;

use socket2::SockRef;

/// The IP versions whose packets a socket carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Versions {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
    /// IPv6, and IPv4 by mapped addresses (RFC 4291 §2.5.5.2).
    Both,
}

impl Versions {
    /// The version of a socket that was opened for this address.
    pub(crate) fn of(ip: IpAddr) -> Self {
        if ip.is_ipv6() { Self::V6 } else { Self::V4 }
    }

    /// The versions of any socket.
    pub(crate) fn of_socket(socket: &SockRef<'_>) -> io::Result<Self> {
        if !socket.local_addr()?.is_ipv6() {
            return Ok(Self::V4);
        }
        let is_only_v6 = socket.only_v6()?;
        Ok(if is_only_v6 { Self::V6 } else { Self::Both })
    }

    /// Whether options of IPv4 apply.
    #[cfg(target_os = "linux")]
    pub(crate) fn has_v4(self) -> bool {
        self != Self::V6
    }

    /// Whether options of IPv6 apply.
    #[cfg(target_os = "linux")]
    pub(crate) fn has_v6(self) -> bool {
        self != Self::V4
    }

    /// A remote address as calls of such a socket take it.
    pub(crate) fn form(self, remote: IpAddr) -> IpAddr {
        match (self, remote) {
            (Self::Both, IpAddr::V4(v4)) => v4.to_ipv6_mapped().into(),
            _ => remote,
        }
    }
}
