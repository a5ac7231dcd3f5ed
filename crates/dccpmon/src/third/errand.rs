//! The test that a client has a server run to another host.
//!
//! It holds numbers, shapes, and names of hosts, laws and congestion controls. Each is checked, and none can name a file
//! of the server or become an option of a command line.

use super::destinations::is_host;
use crate::cli::both::BothWords;
use crate::cli::flow::FlowValues;
use crate::cli::values::{ccid, congestion, law};
use crate::cli::{Bulk, Family};
use crate::limits::{FLOWS_MAX, INTERVAL_MIN};
use crate::load::shape::Shape;
use crate::output::{Format, Options};
use crate::plan::usual_length;
use crate::result::check::Wanted;
use crate::schema::{Kind, Transport};
use crate::session::probe::IDLE_MAX;
use crate::wire::message::{Mode, Request};
use crate::wire::parts::MESSAGE_MAX;
use core::time::Duration;
use dccp::proto::time::nanos;
use dccp::{Encapsulation, safeudp};
use dccp_cli::Failure;
use serde::{Deserialize, Serialize};

/// The body of a request for such a test. A server that does not know it refuses it, because it is no [`Request`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    errand: Errand,
}

/// A test to run. A field that a server does not know makes it refuse the test rather than run another one.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub(crate) struct Errand {
    /// The host to measure to, by the name or the address that the measuring server knows.
    pub(crate) host: String,
    pub(crate) udp_port: u16,
    dccp_port: u16,
    is_over_ip: bool,
    pub(crate) family: Family,
    kind: Kind,
    pub(crate) duration_ns: u64,
    interval_ns: u64,
    idle_ns: u64,
    transport: Transport,
    shape: Shape,
    seed: u64,
    /// Bytes of a datagram, or of a block of TCP; `None`: the usual ones.
    length_bytes: Option<usize>,
    /// Packets of each flow; `None`: as many as the time permits.
    packets: Option<u64>,
    flows: u32,
    /// The values of each flow; empty: all are alike.
    own: Vec<OwnFlow>,
    is_reverse: bool,
    is_both: bool,
    is_one_connection: bool,
    /// The CCID of the flows of the far server, if both ends send.
    server_ccid: Option<u8>,
    has_echoes: bool,
    ccid: u8,
    /// Whether the senders follow the advice of CCID 248. Servers that do not know it run the tests without it.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    obeys: bool,
    /// The law of CCID 2, as text.
    law: String,
    /// The congestion control of TCP.
    congestion: Option<String>,
    /// The kernel's buffers of the data sockets in bytes; `None`: the usual ones.
    socket_buffer: Option<u64>,
    is_strict: bool,
    lost_runs: u32,
}

/// The values of a flow.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnFlow {
    ccid: u8,
    law: String,
    shape: Shape,
}

impl OwnFlow {
    fn of(values: &FlowValues) -> Self {
        Self {
            ccid: values.ccid,
            law: values.law.to_string(),
            shape: values.shape.clone(),
        }
    }

    fn values(&self) -> Result<FlowValues, String> {
        Ok(FlowValues {
            ccid: ccid_of(self.ccid)?,
            law: law(&self.law).map_err(|e| e.problem)?,
            shape: self.shape.clone(),
        })
    }
}

/// A CCID that a command line can have.
fn ccid_of(number: u8) -> Result<u8, String> {
    ccid(&number.to_string()).map_err(|e| e.problem)
}

impl Errand {
    /// The errand of a command line. What is left out here stays with the client: outputs, the key, the title.
    pub(crate) fn of(test: &Bulk) -> Self {
        Self {
            host: test.host.clone(),
            udp_port: test.udp_port,
            dccp_port: test.dccp_port,
            is_over_ip: test.over == Encapsulation::Ip,
            family: test.family,
            kind: test.kind,
            duration_ns: nanos(test.duration),
            interval_ns: nanos(test.interval),
            idle_ns: nanos(test.idle_time()),
            transport: test.transport,
            shape: test.shape.clone(),
            seed: test.seed,
            length_bytes: test.length,
            packets: test.packets,
            flows: test.flows,
            own: test.own.iter().map(OwnFlow::of).collect(),
            is_reverse: test.is_reverse,
            is_both: test.is_both,
            is_one_connection: test.is_one_connection,
            server_ccid: test.server_ccid,
            has_echoes: test.has_echoes,
            ccid: test.ccid,
            obeys: test.obeys,
            law: test.law.to_string(),
            congestion: test.congestion.clone(),
            socket_buffer: test.socket_buffer,
            is_strict: test.is_strict,
            lost_runs: test.lost_runs,
        }
    }

    /// The body of a request.
    ///
    /// # Errors
    /// Traces make it too long.
    pub(crate) fn body(self) -> Result<String, Failure> {
        let body = serde_json::to_string(&Body { errand: self }).expect("keys are texts");
        // As a text within the message, its quotation marks are escaped.
        if body.len() > MESSAGE_MAX / 2 {
            return Err(Failure::usage(
                "--flow: the traces of all flows together are too long for a third-party test",
                "write shorter traces, or start the test at the host of --from",
            ));
        }
        Ok(body)
    }

    /// The errand in the body of a request; `None` if it is another request.
    pub(crate) fn read(body: &str) -> Option<Self> {
        serde_json::from_str::<Body>(body)
            .ok()
            .map(|body| body.errand)
    }

    /// The test for this host's client.
    ///
    /// # Errors
    /// Returns the problem if a value cannot be one of a command line.
    pub(crate) fn test(&self) -> Result<Bulk, String> {
        let own: Result<Vec<FlowValues>, String> = self.own.iter().map(OwnFlow::values).collect();
        let own = own?;
        self.check()?;
        Ok(Bulk {
            kind: self.kind,
            host: self.host.clone(),
            udp_port: self.udp_port,
            dccp_port: self.dccp_port,
            over: if self.is_over_ip {
                Encapsulation::Ip
            } else {
                Encapsulation::Udp
            },
            family: self.family,
            duration: Duration::from_nanos(self.duration_ns),
            interval: Duration::from_nanos(self.interval_ns),
            transport: self.transport,
            rate_bps: self.shape.mean_bps(self.length()),
            shape: self.shape.clone(),
            seed: self.seed,
            length: self.length_bytes,
            packets: self.packets,
            flows: self.flows,
            own,
            is_reverse: self.is_reverse,
            is_both: self.is_both,
            is_one_connection: self.is_one_connection,
            server_ccid: self.server_ccid.map(ccid_of).transpose()?,
            has_echoes: self.has_echoes,
            sample: None,
            ccid: ccid_of(self.ccid)?,
            obeys: self.obeys,
            law: law(&self.law).map_err(|e| e.problem)?,
            congestion: self.congestion.clone(),
            socket_buffer: self.socket_buffer,
            title: None,
            notes: Vec::new(),
            output: Options {
                format: Format::JsonStream,
                ..Options::default()
            },
            wanted: Wanted::default(),
            key_file: None,
            is_strict: self.is_strict,
            is_patient: false,
            is_dry_run: false,
            runs_max: 1,
            until_ci: None,
            idle: Some(Duration::from_nanos(self.idle_ns)),
            lost_runs: self.lost_runs,
        })
    }

    /// Finds values that the command line refuses, apart from those that a server checks in each [`Request`].
    fn check(&self) -> Result<(), String> {
        let fails = |is_wrong: bool, problem: &str| {
            if is_wrong {
                Err(problem.into())
            } else {
                Ok(())
            }
        };
        let (is_tcp, is_dccp) = match self.transport {
            Transport::Tcp => (true, false),
            Transport::Dccp => (false, true),
            Transport::Udp => (false, false),
        };
        if let Some(name) = &self.congestion {
            congestion(name).map_err(|e| format!("congestion {}", e.problem))?;
        }
        fails(!is_host(&self.host), "its host is none")?;
        fails(self.udp_port == 0 || self.dccp_port == 0, "its port is 0")?;
        fails(
            !matches!(self.kind, Kind::Bulk | Kind::Stream),
            "it is not of the kind bulk or stream",
        )?;
        fails(self.idle_ns > nanos(IDLE_MAX), "its idle time is too long")?;
        fails(is_tcp && self.has_echoes, "TCP has no echoes")?;
        fails(
            self.packets == Some(0) || is_tcp && self.packets.is_some(),
            "its count of packets does not fit",
        )?;
        let both = BothWords {
            bidir: self.is_both,
            one_connection: self.is_one_connection,
            server_ccid: self.server_ccid,
        };
        both.check(self.transport, self.has_echoes)
            .map_err(|failure| failure.what)?;
        let is_greedy =
            |ccid: u8, shape: &Shape| ccid == safeudp::NUMBER && *shape == Shape::Greedy;
        let ccids = [Some(self.ccid), self.server_ccid];
        let mut own = self.own.iter();
        fails(
            is_dccp
                && (ccids
                    .into_iter()
                    .flatten()
                    .any(|ccid| is_greedy(ccid, &self.shape))
                    || own.any(|flow| is_greedy(flow.ccid, &flow.shape))),
            "CCID 248 needs a rate",
        )?;
        let has_own = !self.own.is_empty();
        let is_alike = self.own.len() != self.flows as usize || self.flows > FLOWS_MAX;
        let is_backward = self.is_reverse || self.is_both;
        fails(
            has_own && (is_alike || is_backward || !is_dccp),
            "its flows contradict each other",
        )
    }

    /// Bytes of a datagram on a path that bears them, or of a block of TCP.
    fn length(&self) -> usize {
        self.length_bytes
            .unwrap_or_else(|| usual_length(self.transport))
    }

    /// Takes over the values that a server has lowered.
    pub(crate) fn lower(&mut self, granted: &Request) -> Result<(), String> {
        let length = self.length();
        self.duration_ns = granted.duration_ns;
        let least = nanos(INTERVAL_MIN);
        self.interval_ns = self.interval_ns.min(granted.duration_ns.max(least));
        self.shape = granted.shape.clone();
        for own in &mut self.own {
            let mut values = own.values()?;
            values.lower(granted.rate_bps, length);
            *own = OwnFlow::of(&values);
        }
        Ok(())
    }

    /// The shapes of the flows with values of their own.
    pub(crate) fn own_shapes(&self) -> impl Iterator<Item = &Shape> {
        self.own.iter().map(|own| &own.shape)
    }
}

impl Bulk {
    /// The request that covers this test as an errand, the same at both ends.
    pub(crate) fn errand_request(&self) -> Request {
        let length = self.length.unwrap_or_else(|| usual_length(self.transport));
        self.request(Mode::Stream, length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Command, parse};
    use serde_json::{Value, json};

    fn test_of(line: &str) -> Bulk {
        let words = line.split_whitespace().map(Into::into);
        match parse(words) {
            Ok(Command::Bulk(test)) => *test,
            other => panic!("{line}: {other:?}"),
        }
    }

    // goal 16: the test that the other host runs is the one of the command line.
    #[test]
    fn errand_keeps_the_values_of_a_command_line() {
        for line in [
            "h",
            "stream h -R -t 2 -i 0.5",
            "h -u -b 5M -l 200 -P 3 --lost 5 -w 64K",
            "2001:db8::1 --tcp -C reno -6 -p 7000 --dccp-port 7",
            "h --law cubic:fast_convergence=no --strict --idle 0 --over ip",
            "h --flow ccid=3,rate=5M --flow law=cubic",
            "h --count 30 -l 100",
            "h --bidir --one-connection --ccid 2 --server-ccid 3",
            "h --ccid 248 -b 9M --obey",
            "h --bidir --shape pareto:5M/1.5 --seed 18446744073709551615 -4",
        ] {
            let test = test_of(line);
            let body = Errand::of(&test).body().unwrap();
            let errand = Errand::read(&body).unwrap();
            let mut read = errand.test().unwrap();
            assert_eq!(read.errand_request(), test.errand_request(), "{line}");
            assert_eq!(read.output.format, Format::JsonStream);
            read.output = test.output.clone();
            read.idle = test.idle;
            read.rate_bps = test.rate_bps;
            assert_eq!(read, test, "{line}");
        }
    }

    fn changed(change: impl FnOnce(&mut Value)) -> Option<Errand> {
        let body = Errand::of(&test_of("h")).body().unwrap();
        let mut body: Value = serde_json::from_str(&body).unwrap();
        change(&mut body["errand"]);
        Errand::read(&body.to_string())
    }

    // goal 16: nothing in it names a file, and a value of a later version is not left out silently.
    #[test]
    fn errand_with_unknown_values_is_none() {
        assert!(changed(|_| ()).is_some());
        for (name, value) in [
            ("save", json!("/etc/passwd")),
            ("key_file", json!("/etc/passwd")),
            ("shape", json!("trace:/etc/passwd")),
            ("is_strict", json!("--save")),
        ] {
            let errand = changed(|errand| errand[name] = value.clone());
            assert_eq!(errand, None, "{name}");
        }
        assert_eq!(Errand::read("{}"), None);
    }

    #[test]
    fn values_that_no_command_line_has_are_refused() {
        for (name, value) in [
            ("host", json!("")),
            ("host", json!("a b")),
            ("host", json!("x".repeat(256))),
            ("udp_port", json!(0)),
            ("kind", json!("sweep")),
            ("idle_ns", json!(6_000_000_000_u64)),
            ("ccid", json!(9)),
            ("server_ccid", json!(3)),
            ("packets", json!(0)),
            ("is_one_connection", json!(true)),
            ("law", json!("quic")),
            ("congestion", json!("a/b")),
            (
                "own",
                json!([{"ccid": 3, "law": "reno", "shape": "greedy"}, {"ccid": 2, "law": "reno", "shape": "greedy"}]),
            ),
        ] {
            let errand = changed(|errand| errand[name] = value.clone()).unwrap();
            assert!(errand.test().is_err(), "{name}: {value}");
        }
    }

    #[test]
    fn lowered_errand_asks_for_no_more_than_it_may() {
        let test = test_of("h -t 60 --flow rate=9M --flow ccid=3");
        let mut errand = Errand::of(&test);
        let granted = Request {
            duration_ns: 1_000_000_000,
            rate_bps: Some(1_000_000),
            shape: Shape::Cbr { bps: 1_000_000 },
            ..test.errand_request()
        };
        errand.lower(&granted).unwrap();
        let lowered = errand.test().unwrap();
        assert_eq!(lowered.duration, Duration::from_secs(1));
        assert_eq!(lowered.interval, Duration::from_secs(1));
        for flow in 0..2 {
            assert_eq!(lowered.values_of(flow).shape, granted.shape);
        }
        assert_eq!(lowered.values_of(1).ccid, 3);
    }
}
