//! `--from`: the words of a third-party test, which one server runs to another.

use super::values::number;
use super::{Bulk, BulkWords, Command, bulk};
use crate::schema::Kind;
use crate::third::destinations::is_host;
use clap::Args;
use core::fmt;
use dccp_cli::Failure;
use dccp_cli::args::BadValue;

/// Examples below the help of `bulk` and `stream`.
pub(super) const EXAMPLES: &str = "Examples:\n  \
    dccpmon 192.0.2.10 -R -t 30            the server sends for 30 s\n  \
    dccpmon 192.0.2.10 -u -b 20M -l 200    UDP at 20 Mbit/s\n  \
    dccpmon 192.0.2.10 --ccid safeudp -b 20M --obey   20 Mbit/s, or what CCID 248 advises\n  \
    dccpmon --from 192.0.2.10 192.0.2.20   the server 192.0.2.10 measures to the server 192.0.2.20\n\
    With --from, all options but the outputs describe the test between the two servers,\n\
    and --key-file and --wait are for the first.";

#[derive(Args, Debug, Default)]
pub(super) struct ThirdWords {
    /// Let this server measure to HOST, which is a server too. It must permit that with --third-party. Its ports are
    /// those of -p and --dccp-port unless they stand here
    #[arg(
        long,
        value_name = "SERVER[:PORT[/DCCP-PORT]]",
        help_heading = "Third party",
        value_parser = server,
        conflicts_with_all = ["sample", "dry_run", "repeat", "until_ci", "pcap", "qlog"]
    )]
    from: Option<Server>,
    /// The same as HOST
    #[arg(
        long,
        value_name = "HOST",
        help_heading = "Third party",
        requires = "from",
        conflicts_with = "host"
    )]
    to: Option<String>,
}

/// A third-party test.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Third {
    /// The server that measures.
    pub(crate) from: Origin,
    /// Its test, with the outputs of this host.
    pub(crate) test: Bulk,
}

/// Where the measuring server is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Origin {
    text: String,
    pub(crate) host: String,
    pub(crate) udp_port: u16,
    pub(crate) dccp_port: u16,
}

/// As the user wrote it.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A server with the ports that are given.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Server {
    text: String,
    host: String,
    udp_port: Option<u16>,
    dccp_port: Option<u16>,
}

/// Reads `HOST`, `HOST:PORT` or `HOST:PORT/DCCP-PORT`. An IPv6 address with a port stands in brackets.
fn server(text: &str) -> Result<Server, BadValue> {
    let next = "write for example --from 192.0.2.10, --from [2001:db8::1]:14233 or --from a.example:14233/5001";
    let port = |text: &str, protocol: &str| {
        let found = number(1..=u16::MAX)(text).ok();
        let found = found.or_else(|| dccp::service_port(text, protocol));
        let rule = "a port must be 1 to 65535, or a name of /etc/services";
        found.ok_or_else(|| BadValue::new(rule, next))
    };
    let (place, dccp_port) = match text.split_once('/') {
        Some((place, dccp_port)) => (place, Some(port(dccp_port, "dccp")?)),
        None => (text, None),
    };
    let is_bare_v6 = place.matches(':').count() > 1 && !place.starts_with('[');
    let (host, udp_port) = match place.rsplit_once(':') {
        Some((host, udp_port)) if !is_bare_v6 && !udp_port.ends_with(']') => {
            (host, Some(port(udp_port, "udp")?))
        }
        _ => (place, None),
    };
    if !is_host(host) || host.starts_with('-') {
        return Err(BadValue::new("is no server", next));
    }
    Ok(Server {
        text: text.into(),
        host: host.into(),
        udp_port,
        dccp_port,
    })
}

/// The command of `bulk` or `stream`.
pub(super) fn measurement(mut words: BulkWords, kind: Kind) -> Result<Command, Failure> {
    let ThirdWords { from, to } = core::mem::take(&mut words.third);
    words.host = words.host.or(to);
    let test = bulk(words, kind)?;
    let Some(from) = from else {
        return Ok(Command::Bulk(Box::new(test)));
    };
    let from = Origin {
        udp_port: from.udp_port.unwrap_or(test.udp_port),
        dccp_port: from.dccp_port.unwrap_or(test.dccp_port),
        text: from.text,
        host: from.host,
    };
    Ok(Command::Third(Box::new(Third { from, test })))
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn third(line: &str) -> Third {
        match parse(line.split_whitespace().map(Into::into)) {
            Ok(Command::Third(third)) => *third,
            other => panic!("{line}: {other:?}"),
        }
    }

    // goal 16: `--from HOST --to HOST`, or the second host as in any other test.
    #[test]
    fn both_servers_are_named() {
        let usual = third("--from a.example b.example -R");
        assert_eq!(
            (usual.from.host.as_str(), usual.test.host.as_str()),
            ("a.example", "b.example")
        );
        assert_eq!((usual.from.udp_port, usual.from.dccp_port), (14233, 5001));
        assert!(usual.test.is_reverse);
        assert_eq!(third("--from a.example --to b.example -R"), usual);
        assert_eq!(third("bulk b.example -R --from a.example"), usual);
        let stream = third("stream --from a.example b.example");
        assert_eq!(stream.test.kind, Kind::Stream);
        // The ports are those of both, unless the first has its own.
        let ports = third("--from a b -p 7000 --dccp-port 7001").from;
        assert_eq!((ports.udp_port, ports.dccp_port), (7000, 7001));
        for (text, host, udp_port, dccp_port) in [
            ("192.0.2.1:7", "192.0.2.1", 7, 5001),
            ("a:7/8", "a", 7, 8),
            ("a/8", "a", 14233, 8),
            ("2001:db8::1", "2001:db8::1", 14233, 5001),
            ("[2001:db8::1]", "[2001:db8::1]", 14233, 5001),
            ("[2001:db8::1]:7/8", "[2001:db8::1]", 7, 8),
        ] {
            let from = third(&format!("--from {text} b")).from;
            assert_eq!(
                (from.host.as_str(), from.udp_port, from.dccp_port),
                (host, udp_port, dccp_port)
            );
            assert_eq!(from.to_string(), text);
        }
    }

    #[test]
    fn mistakes_have_two_lines() {
        for (line, text) in [
            (
                "--from a b --pcap x",
                "error: --from and --pcap exclude each other\n next: leave one of them out",
            ),
            (
                "--from a b --to c",
                "error: HOST and --to exclude each other\n next: leave one of them out",
            ),
            (
                "--to c",
                "error: --to: no server is named that measures to it\n next: add --from SERVER, or write the host alone",
            ),
            (
                "--from a",
                "error: there is no host to measure to\n next: write `dccpmon HOST`, or `dccpmon serve` on the other host",
            ),
            (
                "--from a/no-such-service b",
                "error: --from a/no-such-service: a port must be 1 to 65535, or a name of /etc/services\n next: write for example --from 192.0.2.10, --from [2001:db8::1]:14233 or --from a.example:14233/5001",
            ),
            (
                "--from a:0 b",
                "error: --from a:0: a port must be 1 to 65535, or a name of /etc/services\n next: write for example --from 192.0.2.10, --from [2001:db8::1]:14233 or --from a.example:14233/5001",
            ),
        ] {
            let failure = parse(line.split_whitespace().map(Into::into)).unwrap_err();
            assert_eq!(failure.to_string(), text);
        }
    }
}
