//! Addresses: where a DCCP socket or listener is.

mod services;

pub use services::service_port;

use crate::fault::Fault;
use core::fmt;
use core::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use core::str::FromStr;
use std::io;
use std::net::ToSocketAddrs;

/// The UDP port of a [`DccpAddr`] whose text has none. Port 6511 is reserved for a system-wide service (6773-3.8-1).
pub const DEFAULT_UDP_PORT: u16 = 14233;

/// Where a DCCP socket or listener is: an IP address with two ports.
///
/// Over UDP (RFC 6773) the UDP port leads to the program, and the DCCP port to a listener inside it. Over IP there is only
/// the DCCP port; the UDP port is ignored, and is 0 in addresses that this library returns.
///
/// The text form is `IP:UDP-PORT/DCCP-PORT`, with IPv6 addresses in brackets. Without a UDP port it is
/// [`DEFAULT_UDP_PORT`]. Where names are looked up ([`ToDccpAddrs`]), each port can be the name of a service of
/// `/etc/services`, with the protocols `udp` and `dccp`: `example.net:dccp-udp/discard`.
///
/// ```
/// use dccp::DccpAddr;
///
/// let address: DccpAddr = "192.0.2.10:14233/5001".parse()?;
/// assert_eq!((address.udp_port, address.dccp_port), (14233, 5001));
/// assert_eq!(address, "192.0.2.10/5001".parse()?);
/// let address: DccpAddr = "[2001:db8::1]:40000/5001".parse()?;
/// assert_eq!(address.to_string(), "[2001:db8::1]:40000/5001");
/// # Ok::<(), dccp::AddrError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub struct DccpAddr {
    /// The host.
    pub ip: IpAddr,
    /// UDP port. For a listener 0 means any that is free.
    pub udp_port: u16,
    /// DCCP port. For a listener 0 means any that is free.
    pub dccp_port: u16,
    /// Number of the interface of a link-local IPv6 address; otherwise 0.
    pub scope_id: u32,
}

impl DccpAddr {
    /// An address of IP address, UDP port and DCCP port.
    pub const fn new(ip: IpAddr, udp_port: u16, dccp_port: u16) -> Self {
        Self {
            ip,
            udp_port,
            dccp_port,
            scope_id: 0,
        }
    }

    /// The same host and UDP port as a UDP socket names them.
    pub fn udp_addr(&self) -> SocketAddr {
        match self.ip {
            IpAddr::V4(_) => SocketAddr::new(self.ip, self.udp_port),
            IpAddr::V6(ip) => SocketAddrV6::new(ip, self.udp_port, 0, self.scope_id).into(),
        }
    }

    /// Rewrites the address as a UDP socket would: an IPv4 address in IPv6 form becomes IPv4, and the unspecified address
    /// becomes this host. The core's path must name what packets really carry.
    pub(crate) fn canonical(mut self) -> Self {
        self.ip = match self.ip.to_canonical() {
            IpAddr::V4(ip) if ip.is_unspecified() => core::net::Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        self
    }
}

impl From<(SocketAddr, u16)> for DccpAddr {
    /// Joins host and UDP port with a DCCP port.
    fn from((udp, dccp_port): (SocketAddr, u16)) -> Self {
        let scope_id = match udp {
            SocketAddr::V4(_) => 0,
            SocketAddr::V6(v6) => v6.scope_id(),
        };
        Self {
            scope_id,
            ..Self::new(udp.ip(), udp.port(), dccp_port)
        }
    }
}

impl fmt::Display for DccpAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}/{}", self.udp_addr(), self.dccp_port))
    }
}

impl FromStr for DccpAddr {
    type Err = AddrError;

    /// Reads `IP:UDP-PORT/DCCP-PORT`. Names of hosts, interfaces and services are looked up by [`ToDccpAddrs`] instead.
    fn from_str(text: &str) -> Result<Self, AddrError> {
        let parts = Parts::of(text, None)?;
        let not_an_ip = || AddrError::NotAnIp { text: text.into() };
        let bracketed = format!("[{}]:{}", parts.host, parts.udp_port);
        let udp = match parts.host.parse() {
            Ok(ip) => SocketAddr::new(ip, parts.udp_port),
            // With the number of an interface.
            Err(_) => bracketed.parse().map_err(|_| not_an_ip())?,
        };
        Ok((udp, parts.dccp_port).into())
    }
}

/// Why a text is no address.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddrError {
    /// Caller: it does not end with the DCCP port.
    #[error("address {text}: must end with a slash and the DCCP port")]
    NoDccpPort {
        /// The text.
        text: String,
    },
    /// Caller: a port is no number, or too large.
    #[error("address {text}: a port must be a number from 0 to 65535")]
    BadPort {
        /// The text.
        text: String,
    },
    /// Caller: no service has this name.
    #[error(
        "address {text}: {name}: must be a port or a service of the protocol {protocol} in /etc/services"
    )]
    UnknownService {
        /// The text.
        text: String,
        /// The name.
        name: String,
        /// The protocol of the port: `udp` or `dccp`.
        protocol: &'static str,
    },
    /// Caller: the host is no IP address, where no name is looked up.
    #[error("address {text}: must begin with an IP address")]
    NotAnIp {
        /// The text.
        text: String,
    },
    /// Caller: the host has no UDP port.
    #[error("the address has no UDP port")]
    NoUdpPort,
    /// System: the name could not be looked up.
    #[error(transparent)]
    Lookup(#[from] io::Error),
}

impl AddrError {
    /// The party that can mend it.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Lookup(_) => Fault::System,
            _ => Fault::Caller,
        }
    }

    /// The next step for the user, in one line.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::UnknownService { .. } => {
                "write the port as a number, or add the service to /etc/services"
            }
            Self::NoUdpPort => "write host:port, as in 192.0.2.10:14233",
            Self::Lookup(_) => "check the spelling and the name servers, or write the address",
            _ => "write HOST:UDP-PORT/DCCP-PORT, as in 192.0.2.10:14233/5001",
        }
    }

    pub(crate) fn io_kind(&self) -> io::ErrorKind {
        match self {
            Self::Lookup(e) => e.kind(),
            _ => io::ErrorKind::InvalidInput,
        }
    }
}

/// Returns the port of a service by its name and protocol.
type LookUp<'a> = dyn Fn(&str, &str) -> Option<u16> + 'a;

/// Host, UDP port and DCCP port of a text.
struct Parts<'a> {
    /// Without brackets.
    host: &'a str,
    udp_port: u16,
    dccp_port: u16,
}

impl<'a> Parts<'a> {
    /// Splits a text. Without `look_up`, ports must be numbers.
    fn of(text: &'a str, look_up: Option<&LookUp<'_>>) -> Result<Self, AddrError> {
        let (place, dccp_port) = text
            .rsplit_once('/')
            .ok_or_else(|| AddrError::NoDccpPort { text: text.into() })?;
        let port = |port: &str, protocol: &'static str| {
            if let Some(look_up) = look_up
                && services::is_name(port)
            {
                return look_up(port, protocol).ok_or_else(|| AddrError::UnknownService {
                    text: text.into(),
                    name: port.into(),
                    protocol,
                });
            }
            let is_number = !port.starts_with('+');
            let number = port.parse().ok().filter(|_| is_number);
            number.ok_or_else(|| AddrError::BadPort { text: text.into() })
        };
        let (host, udp_port) = match place.strip_prefix('[').and_then(|p| p.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, rest)) => {
                let udp_port = rest.strip_prefix(':');
                let bad_port = || AddrError::BadPort { text: text.into() };
                (host, Some(udp_port.ok_or_else(bad_port)?))
            }
            // An IPv6 address without brackets has more than one colon, and no port.
            None => match place.split_once(':') {
                Some((host, udp_port)) if !udp_port.contains(':') => (host, Some(udp_port)),
                _ => (place, None),
            },
        };
        Ok(Self {
            host,
            udp_port: udp_port.map_or(Ok(DEFAULT_UDP_PORT), |p| port(p, "udp"))?,
            dccp_port: port(dccp_port, "dccp")?,
        })
    }
}

/// Types that stand for one or more [`DccpAddr`]s, as [`ToSocketAddrs`] does for TCP and UDP.
///
/// | type | example |
/// |---|---|
/// | [`DccpAddr`], or a slice of them | `listener.local_addrs()` |
/// | text: host, UDP port, DCCP port | `"example.net:14233/5001"`, `"[fe80::1%eth0]:dccp-udp/discard"` |
/// | host and UDP port as for a UDP socket, and the DCCP port | `("192.0.2.10:14233", 5001)` |
///
/// Names are looked up, which can block.
pub trait ToDccpAddrs {
    /// The addresses; connecting tries them in this order.
    ///
    /// # Errors
    /// When the text is no address, or the name cannot be looked up.
    fn to_dccp_addrs(&self) -> Result<Vec<DccpAddr>, AddrError>;
}

impl ToDccpAddrs for DccpAddr {
    fn to_dccp_addrs(&self) -> Result<Vec<DccpAddr>, AddrError> {
        Ok(vec![*self])
    }
}

impl ToDccpAddrs for [DccpAddr] {
    fn to_dccp_addrs(&self) -> Result<Vec<DccpAddr>, AddrError> {
        Ok(self.to_vec())
    }
}

impl ToDccpAddrs for Vec<DccpAddr> {
    fn to_dccp_addrs(&self) -> Result<Vec<DccpAddr>, AddrError> {
        Ok(self.clone())
    }
}

impl ToDccpAddrs for str {
    fn to_dccp_addrs(&self) -> Result<Vec<DccpAddr>, AddrError> {
        let parts = Parts::of(self, Some(&service_port))?;
        let found = (parts.host, parts.udp_port).to_socket_addrs()?;
        Ok(found.map(|udp| (udp, parts.dccp_port).into()).collect())
    }
}

impl ToDccpAddrs for String {
    fn to_dccp_addrs(&self) -> Result<Vec<DccpAddr>, AddrError> {
        self.as_str().to_dccp_addrs()
    }
}

impl<A: ToSocketAddrs> ToDccpAddrs for (A, u16) {
    fn to_dccp_addrs(&self) -> Result<Vec<DccpAddr>, AddrError> {
        let (place, dccp_port) = self;
        let found = place
            .to_socket_addrs()
            .map_err(|error| match error.kind() {
                // So the standard library says that a text has no port.
                io::ErrorKind::InvalidInput => AddrError::NoUdpPort,
                _ => AddrError::Lookup(error),
            })?;
        Ok(found.map(|udp| (udp, *dccp_port).into()).collect())
    }
}

impl<A: ToDccpAddrs + ?Sized> ToDccpAddrs for &A {
    fn to_dccp_addrs(&self) -> Result<Vec<DccpAddr>, AddrError> {
        (**self).to_dccp_addrs()
    }
}

/// 4340-5.1-2: a random DCCP port of the dynamic range (RFC 4340 §19.9).
pub(crate) fn random_dccp_port() -> io::Result<u16> {
    const DYNAMIC: u16 = 0xC000;
    let mut bytes = [0; 2];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(DYNAMIC | u16::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> DccpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn text_form_comes_back() {
        for text in [
            "192.0.2.10:14233/5001",
            "0.0.0.0:0/0",
            "[2001:db8::1]:65535/65535",
            "[fe80::1%9]:7/8",
        ] {
            assert_eq!(parsed(text).to_string(), text);
        }
        assert_eq!(parsed("[fe80::1%9]:7/8").scope_id, 9);
    }

    #[test]
    fn udp_port_has_a_default() {
        assert_eq!(parsed("192.0.2.10/1").udp_port, DEFAULT_UDP_PORT);
        assert_eq!(parsed("[::1]/1"), parsed("[::1]:14233/1"));
        assert_eq!(parsed("::1/1"), parsed("[::1]:14233/1"));
    }

    #[test]
    fn wrong_texts_are_refused_with_a_reason() {
        let refused = |text: &str| text.parse::<DccpAddr>().unwrap_err();
        assert!(matches!(
            refused("192.0.2.1:7"),
            AddrError::NoDccpPort { .. }
        ));
        for text in [
            "192.0.2.1:7/",
            "192.0.2.1:x/7",
            "192.0.2.1:7/65536",
            "::1:7/+8",
        ] {
            let error = refused(text);
            assert!(matches!(error, AddrError::BadPort { .. }), "{text}");
            assert!(error.to_string().contains(text));
        }
        for text in ["example.net:7/8", "/8", "[fe80::1%eth0]:7/8", "[]:7/8"] {
            assert!(matches!(refused(text), AddrError::NotAnIp { .. }), "{text}");
        }
        assert!(matches!(refused("[::1]7/8"), AddrError::BadPort { .. }));
    }

    #[test]
    fn ports_can_be_names_of_services() {
        let look_up = |name: &str, protocol: &str| match (name, protocol) {
            ("dccp-udp", "udp") => Some(6511),
            ("discard", "dccp") => Some(9),
            _ => None,
        };
        let ports = |text| Parts::of(text, Some(&look_up)).map(|p| (p.udp_port, p.dccp_port));
        assert_eq!(ports("a:dccp-udp/discard").unwrap(), (6511, 9));
        assert_eq!(ports("[::1]:7/discard").unwrap(), (7, 9));
        assert_eq!(ports("a/discard").unwrap(), (DEFAULT_UDP_PORT, 9));
        // Each port has its own protocol.
        let error = ports("a:discard/9").unwrap_err();
        assert!(
            matches!(&error, AddrError::UnknownService { name, protocol: "udp", .. } if name == "discard")
        );
        assert_eq!(error.fault(), Fault::Caller);
        assert!(error.next_step().contains("/etc/services"));
        // The system's own list, which any system with UDP has.
        if service_port("domain", "udp").is_some() {
            assert_eq!(
                "127.0.0.1:domain/7".to_dccp_addrs().unwrap(),
                [parsed("127.0.0.1:53/7")]
            );
        }
        let unknown = "127.0.0.1:7/no-such-service".to_dccp_addrs();
        assert!(matches!(unknown, Err(AddrError::UnknownService { .. })));
        // Without a look-up, ports are numbers.
        let refused = "127.0.0.1:domain/7".parse::<DccpAddr>();
        assert!(matches!(refused, Err(AddrError::BadPort { .. })));
    }

    #[test]
    fn names_and_pairs_are_looked_up() {
        let found = "localhost:7/8".to_dccp_addrs().unwrap();
        assert!(found.iter().all(|a| (a.udp_port, a.dccp_port) == (7, 8)));
        assert!(!found.is_empty());
        let pair = ("127.0.0.1:7", 8).to_dccp_addrs().unwrap();
        assert_eq!(pair, [parsed("127.0.0.1:7/8")]);
        let error = ("127.0.0.1", 8).to_dccp_addrs().unwrap_err();
        assert!(matches!(error, AddrError::NoUdpPort));
        assert_eq!(error.fault(), Fault::Caller);
    }

    #[test]
    fn canonical_form_is_what_packets_carry() {
        assert_eq!(
            parsed("[::ffff:192.0.2.1]:7/8").canonical(),
            parsed("192.0.2.1:7/8")
        );
        assert_eq!(parsed("0.0.0.0:7/8").canonical(), parsed("127.0.0.1:7/8"));
        assert_eq!(parsed("[::]:7/8").canonical(), parsed("[::1]:7/8"));
    }
}
