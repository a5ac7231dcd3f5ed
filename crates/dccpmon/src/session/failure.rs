//! Failed connections in the words of this program.

use crate::cli::Bulk;
use dccp::safeudp;
use dccp::{CloseReason, ConnectError, DEFAULT_UDP_PORT, Encapsulation, OpenError, ResetCode};
use dccp_cli::Failure;

/// The number of the feature CCID (RFC 4340 §6.4).
const CCID_FEATURE: u8 = 1;

/// The failure of a connection to the server.
pub(crate) fn failure(asked: &Bulk, e: ConnectError) -> Failure {
    let host = &asked.host;
    let is_udp = asked.over == Encapsulation::Udp;
    let place = match asked.over {
        Encapsulation::Udp => format!("{host} port {}", asked.udp_port),
        Encapsulation::Ip => format!("{host}, DCCP port {}", asked.dccp_port),
    };
    match e {
        ConnectError::NoAnswer {
            requests, waited, ..
        } => Failure::run(
            format!(
                "nothing answers at {place} ({requests} DCCP-Request packets in {:.1} s, no reply, no ICMP)",
                waited.as_secs_f64()
            ),
            format!(
                "is `dccpmon serve` running there? `{}` tells whether the port is filtered or closed",
                ping(asked)
            ),
        ),
        ConnectError::Unreachable { kind, code, .. } if is_forbidden(kind, code) => Failure::run(
            format!("a firewall refuses packets to {place} (ICMP type {kind} code {code})"),
            if is_udp {
                format!(
                    "open UDP port {} there, or choose another with -p",
                    asked.udp_port
                )
            } else {
                "let IP protocol 33 pass there, or leave --over ip out".to_owned()
            },
        ),
        ConnectError::Unreachable { kind, code, .. } => Failure::run(
            format!("nothing listens at {place} (ICMP type {kind} code {code})"),
            "start `dccpmon serve` there, or check the port",
        ),
        ConnectError::Refused { .. } => Failure::run(
            format!("{place} answers, but not for DCCP port {}", asked.dccp_port),
            "start `dccpmon serve` there, or check --dccp-port",
        ),
        ConnectError::HeldOff { wait } => held_off(
            format!("a circuit breaker of CCID 248 holds back connections to {host}"),
            &format!("wait {:.1} s", wait.as_secs_f64()),
        ),
        ConnectError::Ended {
            reason:
                CloseReason::Reset {
                    code: ResetCode::MANDATORY_ERROR,
                    data: [_, CCID_FEATURE, safeudp::NUMBER],
                    ..
                },
            ..
        } => held_off(
            format!(
                "{place} does not take CCID 248 now: a circuit breaker holds it back, or that dccpmon is older"
            ),
            "wait half a minute",
        ),
        ConnectError::TooBusy { .. } if asked.has_safe_udp() => held_off(
            format!("{place} is too busy, or holds back CCID 248 after a circuit breaker"),
            "wait half a minute",
        ),
        ConnectError::Open(e) => open_failure(&e),
        other => Failure::run(other.to_string(), other.next_step()),
    }
}

/// The failure of a connection with CCID 248 during a hold, which this host or the peer keeps.
fn held_off(what: String, wait: &str) -> Failure {
    Failure::run(
        what,
        format!("{wait} and send less than before, or choose another --ccid"),
    )
}

/// Whether a router or host says that a rule forbids the packet: types of ICMP (RFC 792, RFC 1812) and of `ICMPv6` (RFC 4443).
pub(crate) fn is_forbidden(kind: u8, code: u8) -> bool {
    matches!((kind, code), (3, 9 | 10 | 13) | (1, 1 | 5 | 6))
}

/// The failure of a socket that could not be opened.
pub(crate) fn open_failure(e: &OpenError) -> Failure {
    match e {
        OpenError::NeedsCapability => Failure::run(
            "protocol 33 needs CAP_NET_RAW",
            "run as root, `setcap cap_net_raw+ep` on this program, or leave --over ip out",
        ),
        other => Failure::run(other.to_string(), other.next_step()),
    }
}

/// The command line that probes the same port.
fn ping(asked: &Bulk) -> String {
    let host = &asked.host;
    match (asked.over, asked.udp_port) {
        (Encapsulation::Ip, _) => format!("dccpmon ping {host} --over ip"),
        (Encapsulation::Udp, DEFAULT_UDP_PORT) => format!("dccpmon ping {host}"),
        (Encapsulation::Udp, port) => format!("dccpmon ping {host} -p {port}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Command, parse};
    use core::time::Duration;
    use dccp::DccpAddr;
    use std::net::SocketAddr;

    fn lines(line: &str, e: ConnectError) -> String {
        let words = line.split_whitespace().map(Into::into);
        let Ok(Command::Bulk(asked)) = parse(words) else {
            panic!("{line}");
        };
        let failure = failure(&asked, e);
        assert_eq!(failure.code, 1);
        failure.to_string()
    }

    #[test]
    fn each_failed_connection_has_a_next_step() {
        let remote: DccpAddr = (SocketAddr::from(([127, 0, 0, 1], 14233)), 5001).into();
        let silent = || ConnectError::NoAnswer {
            remote,
            requests: 3,
            waited: Duration::from_secs(5),
        };
        let icmp = |code| ConnectError::Unreachable {
            remote,
            kind: 3,
            code,
        };
        for (line, e, text) in [
            (
                "h",
                silent(),
                "error: nothing answers at h port 14233 (3 DCCP-Request packets in 5.0 s, no reply, no ICMP)\n \
                 next: is `dccpmon serve` running there? `dccpmon ping h` tells whether the port is filtered or closed",
            ),
            (
                "h -p 7000",
                silent(),
                "error: nothing answers at h port 7000 (3 DCCP-Request packets in 5.0 s, no reply, no ICMP)\n \
                 next: is `dccpmon serve` running there? `dccpmon ping h -p 7000` tells whether the port is filtered or closed",
            ),
            (
                "h --over ip",
                silent(),
                "error: nothing answers at h, DCCP port 5001 (3 DCCP-Request packets in 5.0 s, no reply, no ICMP)\n \
                 next: is `dccpmon serve` running there? `dccpmon ping h --over ip` tells whether the port is filtered or closed",
            ),
            (
                "h",
                icmp(3),
                "error: nothing listens at h port 14233 (ICMP type 3 code 3)\n \
                 next: start `dccpmon serve` there, or check the port",
            ),
            (
                "h",
                icmp(13),
                "error: a firewall refuses packets to h port 14233 (ICMP type 3 code 13)\n \
                 next: open UDP port 14233 there, or choose another with -p",
            ),
            (
                "h --over ip",
                icmp(13),
                "error: a firewall refuses packets to h, DCCP port 5001 (ICMP type 3 code 13)\n \
                 next: let IP protocol 33 pass there, or leave --over ip out",
            ),
            (
                "h",
                ConnectError::Refused { remote },
                "error: h port 14233 answers, but not for DCCP port 5001\n \
                 next: start `dccpmon serve` there, or check --dccp-port",
            ),
            (
                "h --ccid 248 -b 1M",
                ConnectError::HeldOff {
                    wait: Duration::from_millis(8_500),
                },
                "error: a circuit breaker of CCID 248 holds back connections to h\n \
                 next: wait 8.5 s and send less than before, or choose another --ccid",
            ),
            (
                "h --ccid safeudp -b 1M",
                ConnectError::TooBusy { remote },
                "error: h port 14233 is too busy, or holds back CCID 248 after a circuit breaker\n \
                 next: wait half a minute and send less than before, or choose another --ccid",
            ),
            (
                "h --over ip",
                ConnectError::Open(OpenError::NeedsCapability),
                "error: protocol 33 needs CAP_NET_RAW\n \
                 next: run as root, `setcap cap_net_raw+ep` on this program, or leave --over ip out",
            ),
        ] {
            assert_eq!(lines(line, e), text, "{line}");
        }
    }
}
