//! How others reach a server on this host: the command to run there.

use crate::cli::{DCCP_PORT, Family, Serve};
use core::net::IpAddr;
use dccp::{DEFAULT_UDP_PORT, Encapsulation};
use getifaddrs::{InterfaceFlags, getifaddrs};

/// The most addresses that are shown.
const SHOWN_MAX: usize = 4;

/// A line for each address of this host, or one for the host itself if it has no other.
pub(crate) fn lines(asked: &Serve) -> Vec<String> {
    let hosts = addresses(asked.family);
    if hosts.is_empty() {
        let own = if asked.family == Family::V6 {
            "::1"
        } else {
            "127.0.0.1"
        };
        return vec![format!("  try from this host:  {}", command(asked, own))];
    }
    let shown = hosts.iter().take(SHOWN_MAX);
    shown
        .map(|ip| {
            format!(
                "  try from another host:  {}",
                command(asked, &ip.to_string())
            )
        })
        .collect()
}

/// The command for the other host.
fn command(asked: &Serve, host: &str) -> String {
    let mut words = vec![format!("dccpmon {host}")];
    if asked.over == Some(Encapsulation::Ip) {
        words.push("--over ip".into());
    } else if asked.udp_port != DEFAULT_UDP_PORT {
        words.push(format!("-p {}", asked.udp_port));
    }
    if asked.dccp_port != DCCP_PORT {
        words.push(format!("--dccp-port {}", asked.dccp_port));
    }
    words.join(" ")
}

/// Addresses where other hosts reach this one, IPv4 first. Link-local ones are left out because they need
/// the name of an interface of the other host.
fn addresses(family: Family) -> Vec<IpAddr> {
    // If the system cannot list its addresses, none are shown.
    let interfaces = getifaddrs().into_iter().flatten();
    let mut found: Vec<IpAddr> = interfaces
        .filter(|i| !i.flags.contains(InterfaceFlags::LOOPBACK))
        .filter_map(|i| i.address.ip_addr())
        .filter(|ip| match ip {
            IpAddr::V4(v4) => family != Family::V6 && !v4.is_link_local(),
            IpAddr::V6(v6) => family != Family::V4 && !v6.is_unicast_link_local(),
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVE: Serve = Serve::USUAL;

    #[test]
    fn the_command_names_what_is_not_usual() {
        assert_eq!(command(&SERVE, "192.0.2.10"), "dccpmon 192.0.2.10");
        let other_ports = Serve {
            udp_port: 7000,
            dccp_port: 7001,
            ..SERVE
        };
        assert_eq!(
            command(&other_ports, "::1"),
            "dccpmon ::1 -p 7000 --dccp-port 7001"
        );
        let over_ip = Serve {
            over: Some(Encapsulation::Ip),
            ..other_ports
        };
        assert_eq!(
            command(&over_ip, "h"),
            "dccpmon h --over ip --dccp-port 7001"
        );
    }

    #[test]
    fn there_is_always_a_line() {
        for family in [Family::Any, Family::V4, Family::V6] {
            let lines = lines(&Serve { family, ..SERVE });
            assert!((1..=SHOWN_MAX).contains(&lines.len()), "{lines:?}");
        }
    }
}
