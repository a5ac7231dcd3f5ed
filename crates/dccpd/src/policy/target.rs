//! Where a rule of the policy lets its users connect or listen.

use core::fmt;
use core::net::IpAddr;
use core::ops::RangeInclusive;
use core::str::FromStr;
use dccp::DccpAddr;
use ipnet::IpNet;

/// Addresses and DCCP ports: `192.0.2.0/24 5001-5010`, `2001:db8::1 5001`, `5001-5010` (all addresses), `*` (all).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    /// `None`: all addresses.
    net: Option<IpNet>,
    ports: RangeInclusive<u16>,
}

impl Target {
    /// Whether it has an address. The unspecified one stands for all addresses, so only a target without a network, or with one of all
    /// addresses, has it.
    pub(crate) fn has(&self, address: &DccpAddr) -> bool {
        let ip = address.ip.to_canonical();
        let has_ip = match self.net {
            None => true,
            Some(net) => net.contains(&ip) && !(ip.is_unspecified() && net.prefix_len() > 0),
        };
        // Port 0 lets the system choose any port.
        let has_port = match address.dccp_port {
            0 => self.ports == (0..=u16::MAX),
            port => self.ports.contains(&port),
        };
        has_ip && has_port
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (net, ports) = match words[..] {
            [net, ports] => (net_of(net)?, ports_of(ports)?),
            ["*"] => (None, 0..=u16::MAX),
            [word] => match ports_of(word) {
                Ok(ports) => (None, ports),
                Err(wrong) if is_of_numbers(word) => return Err(wrong),
                Err(_) => (net_of(word)?, 0..=u16::MAX),
            },
            _ => return Err(format!("{text:?}: must be a network, ports, or both")),
        };
        Ok(Self { net, ports })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.ports.start(), self.ports.end());
        match self.net {
            Some(net) => write!(f, "{net}")?,
            None => f.write_str("*")?,
        }
        match (first, last) {
            (0, &u16::MAX) => Ok(()),
            _ if first == last => write!(f, " {first}"),
            _ => write!(f, " {first}-{last}"),
        }
    }
}

/// Bits of an IPv6 address before the IPv4 address that it has.
const MAPPED_BITS: u8 = 96;

fn net_of(text: &str) -> Result<Option<IpNet>, String> {
    if text == "*" {
        return Ok(None);
    }
    let net = text.parse::<IpNet>().ok();
    let net = net.or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    let net = net.ok_or_else(|| format!("{text}: is neither a network nor an address"))?;
    // Addresses of requests are compared in their IPv4 form.
    if let IpNet::V6(v6) = net
        && let Some(v4) = v6.addr().to_ipv4_mapped()
    {
        let prefix = v6.prefix_len().saturating_sub(MAPPED_BITS);
        return Err(format!("{text}: must have its IPv4 form: {v4}/{prefix}"));
    }
    Ok(Some(net))
}

/// Whether a word is meant as ports.
fn is_of_numbers(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit() || c == '-')
}

fn ports_of(text: &str) -> Result<RangeInclusive<u16>, String> {
    let wrong =
        || format!("{text}: must be a DCCP port from 1 to 65535, or the first and the last one");
    if text == "*" {
        return Ok(0..=u16::MAX);
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let port = |text: &str| text.parse::<u16>().map_err(|_| wrong());
    let (first, last) = (port(first)?, port(last)?);
    if first > last || first == 0 {
        return Err(wrong());
    }
    Ok(first..=last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(target: &str, address: &str) -> bool {
        let target: Target = target.parse().unwrap();
        target.has(&address.parse().unwrap())
    }

    #[test]
    fn targets_have_networks_and_ports() {
        assert!(has("192.0.2.0/24 5001-5010", "192.0.2.9:1/5001"));
        assert!(has("192.0.2.0/24 5001-5010", "[::ffff:192.0.2.9]:1/5010"));
        assert!(!has("192.0.2.0/24 5001-5010", "192.0.2.9:1/5011"));
        assert!(!has("192.0.2.0/24 5001-5010", "192.0.3.9:1/5001"));
        assert!(has("2001:db8::1", "[2001:db8::1]:1/9"));
        assert!(has("5001", "[2001:db8::1]:1/5001"));
        assert!(has("*", "192.0.2.9:1/1") && has("* 7", "192.0.2.9:1/7"));
        assert!(has("192.0.2.9", "192.0.2.9:1/0") && !has("1-65535", "192.0.2.9:1/0"));
    }

    #[test]
    fn unspecified_address_stands_for_all() {
        assert!(has("5001", "0.0.0.0:1/5001"));
        assert!(has("0.0.0.0/0 5001", "0.0.0.0:1/5001"));
        assert!(!has("0.0.0.0/8 5001", "0.0.0.0:1/5001"));
    }

    #[test]
    fn targets_are_written_as_they_are_read() {
        for text in ["*", "* 5001", "192.0.2.0/24", "2001:db8::/32 1-7"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn wrong_targets_say_what_is_wrong() {
        for (text, problem) in [
            (
                "9-3",
                "9-3: must be a DCCP port from 1 to 65535, or the first and the last one",
            ),
            (
                "::ffff:192.0.2.1 5001",
                "::ffff:192.0.2.1: must have its IPv4 form: 192.0.2.1/32",
            ),
            (
                "::ffff:192.0.2.0/120",
                "::ffff:192.0.2.0/120: must have its IPv4 form: 192.0.2.0/24",
            ),
            ("1-x", "1-x: is neither a network nor an address"),
            (
                "1.2.3.4 70000",
                "70000: must be a DCCP port from 1 to 65535, or the first and the last one",
            ),
            ("a b c", "\"a b c\": must be a network, ports, or both"),
            ("", "\"\": must be a network, ports, or both"),
        ] {
            assert_eq!(text.parse::<Target>(), Err(problem.to_owned()));
        }
    }
}
