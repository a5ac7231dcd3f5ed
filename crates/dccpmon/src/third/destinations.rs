//! The hosts that clients may have a server measure to.
//!
//! A server sends packets to such a host because a stranger names it. So without a list these are public addresses
//! only: a client cannot explore the networks behind the server.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use dccp_cli::args::BadValue;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// The longest name of a host in characters (RFC 1035 §2.3.4), with room for the brackets and the zone of an address.
const NAME_MAX: usize = 255;

/// An entry of the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Destination {
    /// An address or a network.
    Net(IpNet),
    /// A host that the client must name like this, at any address.
    Host(String),
}

/// The permitted destinations; an empty list permits all public addresses.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Destinations(pub(crate) Vec<Destination>);

/// Reads an entry of the list.
pub(crate) fn destination(text: &str) -> Result<Destination, BadValue> {
    let net = text
        .parse()
        .or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    if let Ok(net) = net {
        return Ok(Destination::Net(net));
    }
    // A wrong address is no name.
    let is_name = is_host(text) && text.contains(|c: char| c.is_ascii_alphabetic());
    if is_name && !text.starts_with('-') && !text.contains([':', '[', ']', '%']) {
        return Ok(Destination::Host(text.to_ascii_lowercase()));
    }
    Err(BadValue::new(
        "must be a network, an address or the name of a host",
        "write for example --third-party 192.0.2.0/24,b.example",
    ))
}

/// Whether a text has only the characters of names and addresses.
pub(crate) fn is_host(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-._:[]%".contains(c);
    (1..=NAME_MAX).contains(&text.len()) && text.chars().all(is_allowed)
}

impl Destinations {
    /// Those of a host's addresses to which the server may measure.
    pub(crate) fn permitted(&self, host: &str, addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
        let is_permitted = |ip: IpAddr| {
            let is_in = |entry: &Destination| match entry {
                Destination::Net(net) => net.contains(&ip),
                Destination::Host(name) => name.eq_ignore_ascii_case(host),
            };
            if self.0.is_empty() {
                is_public(ip)
            } else {
                self.0.iter().any(is_in)
            }
        };
        let addresses = addresses.into_iter();
        addresses
            .filter(|at| is_permitted(at.ip().to_canonical()))
            .collect()
    }
}

impl fmt::Display for Destinations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("public addresses");
        }
        let texts: Vec<String> = self.0.iter().map(Destination::to_string).collect();
        f.write_str(&texts.join(", "))
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Net(net) if net.prefix_len() == net.max_prefix_len() => {
                write!(f, "{}", net.addr())
            }
            Self::Net(net) => write!(f, "{net}"),
            Self::Host(name) => f.write_str(name),
        }
    }
}

const fn v4(a: u8, b: u8, c: u8, prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, 0), prefix)
}

const fn v6(first: u16, second: u16, prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0), prefix)
}

/// The networks of IANA's registry of special addresses of IPv4 (RFC 6890), with multicast and the reserved rest.
const SPECIAL_V4: [Ipv4Net; 14] = [
    v4(0, 0, 0, 8),
    v4(10, 0, 0, 8),
    v4(100, 64, 0, 10),
    v4(127, 0, 0, 8),
    v4(169, 254, 0, 16),
    v4(172, 16, 0, 12),
    v4(192, 0, 0, 24),
    v4(192, 0, 2, 24),
    v4(192, 88, 99, 24),
    v4(192, 168, 0, 16),
    v4(198, 18, 0, 15),
    v4(198, 51, 100, 24),
    v4(203, 0, 113, 24),
    // Multicast, reserved addresses and the broadcast.
    v4(224, 0, 0, 3),
];
/// The addresses of IPv6 that networks get (RFC 4291 §2.4).
const UNICAST_V6: Ipv6Net = v6(0x2000, 0, 3);
/// The special ones among them. Addresses of 6to4 and Teredo contain one of IPv4, which can be private.
const SPECIAL_V6: [Ipv6Net; 4] = [
    v6(0x2001, 0, 23),
    v6(0x2001, 0xdb8, 32),
    v6(0x2002, 0, 16),
    v6(0x3fff, 0, 20),
];

/// Whether an address is one of a host on the Internet.
fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => !SPECIAL_V4.iter().any(|net| net.contains(&ip)),
        IpAddr::V6(ip) => {
            UNICAST_V6.contains(&ip) && !SPECIAL_V6.iter().any(|net| net.contains(&ip))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(texts: &[&str]) -> Destinations {
        Destinations(
            texts
                .iter()
                .map(|text| destination(text).unwrap())
                .collect(),
        )
    }

    fn permits(list: &Destinations, host: &str, ip: &str) -> bool {
        let at = SocketAddr::new(ip.parse().unwrap(), 14233);
        list.permitted(host, vec![at]) == [at]
    }

    // goal 16: without a list the networks behind the server are out of reach.
    #[test]
    fn private_addresses_are_refused_without_a_list() {
        let public = Destinations::default();
        for ip in [
            "8.8.8.8",
            "192.0.3.1",
            "223.255.255.255",
            "2a00::1",
            "2001:4860::8",
        ] {
            assert!(permits(&public, "b.example", ip), "{ip}");
        }
        for ip in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.31.0.1",
            "192.168.0.1",
            "198.19.0.1",
            "203.0.113.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "64:ff9b::a00:1",
            "fe80::1",
            "fd00::1",
            "ff02::1",
            "2001::1",
            "2001:db8::1",
            "2002:a00:1::1",
        ] {
            assert!(!permits(&public, "b.example", ip), "{ip}");
        }
    }

    #[test]
    fn list_permits_its_entries_only() {
        let list = list(&["192.168.7.0/24", "fd00::5", "B.example"]);
        assert!(permits(&list, "192.168.7.9", "192.168.7.9"));
        assert!(permits(&list, "x", "::ffff:192.168.7.9"));
        assert!(permits(&list, "x", "fd00::5"));
        assert!(permits(&list, "b.Example", "10.0.0.1"));
        assert!(!permits(&list, "c.example", "10.0.0.1"));
        assert!(!permits(&list, "x", "8.8.8.8"));
        assert_eq!(list.to_string(), "192.168.7.0/24, fd00::5, b.example");
        // A name keeps the addresses that are permitted.
        let both = ["192.168.7.1:1", "8.8.8.8:1"].map(|at| at.parse().unwrap());
        assert_eq!(list.permitted("x", both.to_vec()), [both[0]]);
    }

    #[test]
    fn wrong_entries_are_no_names() {
        for text in [
            "",
            "10.0.0.0/33",
            "10.0.0.256",
            "a b",
            "--help",
            "[::1]",
            "a/b",
        ] {
            assert!(destination(text).is_err(), "{text}");
        }
    }
}
