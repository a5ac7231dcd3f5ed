//! The limits and the key of a server.

use super::rate::BURST;
use crate::cli::Serve;
use crate::limits::{FLOWS_MAX, INTERVAL_MIN, LOST_RUNS_MAX, SOCKET_BUFFER};
use crate::load::echo::ASK_MIN;
use crate::load::shape::Shape;
use crate::schema::{ServerLimits, Transport};
use crate::third::destinations::Destinations;
use crate::transport::tcp::has_congestion;
use crate::wire::auth::{Exchange, Key, Nonce, Proof};
use crate::wire::hello::{Hello, PROGRAM, PROTOCOL, Welcome};
use crate::wire::message::{Mode, RefusalCode, Refused, Request, Setup};
use crate::wire::packet::{LEN_MAX, LEN_MIN};
use core::time::Duration;
use dccp::proto::number::to_f64;
use dccp::proto::time::nanos;
use dccp_cli::Failure;
use dccp_cli::quantity::show as units;
use std::path::PathBuf;

/// The limits and the key of a server.
#[derive(Debug)]
pub(super) struct Policy {
    pub(super) tests: u32,
    pub(super) duration: Duration,
    /// Bits per second of all flows of a test together.
    pub(super) rate_bps: Option<u64>,
    pub(super) key: Option<Key>,
    /// `None`: it measures to no other host.
    pub(super) third_party: Option<ThirdParty>,
}

/// The terms of tests to hosts that clients name.
#[derive(Debug)]
pub(super) struct ThirdParty {
    pub(super) destinations: Destinations,
    /// The key that this server shares with the others.
    pub(super) key_file: Option<PathBuf>,
}

impl Policy {
    /// Reads the key.
    pub(super) fn of(asked: &Serve) -> Result<Self, Failure> {
        Ok(Self {
            tests: asked.tests,
            duration: asked.duration,
            rate_bps: asked.rate_bps,
            key: asked.key_file.as_deref().map(Key::read).transpose()?,
            third_party: asked.third_party.clone().map(|destinations| ThirdParty {
                destinations,
                key_file: asked.key_file.clone(),
            }),
        })
    }

    /// Answers the first message of a client.
    pub(super) fn welcome(&self, hello: &Hello) -> Result<(Exchange, Welcome), Refused> {
        let Some(protocol) = PROTOCOL.highest_common(hello.protocol) else {
            return Err(wrong_version(&hello.protocol.to_string()));
        };
        let nonce = Nonce::random().map_err(|e| Refused::new(RefusalCode::Busy, e.what, e.next))?;
        let welcome = Welcome {
            protocol,
            program: PROGRAM.into(),
            nonce,
            needs_key: self.key.is_some(),
            limits: self.limits(),
        };
        Ok((Exchange::new(hello.nonce, nonce), welcome))
    }

    fn limits(&self) -> ServerLimits {
        ServerLimits {
            tests: self.tests,
            flows: FLOWS_MAX,
            duration_ns: nanos(self.duration),
            rate_bps: self.rate_bps,
            packet_bytes_max: LEN_MAX as u64,
            interval_ns_min: nanos(INTERVAL_MIN),
        }
    }

    /// Checks the proof and the values of a request. Lowers its duration and its rate to what the server allows.
    pub(super) fn grant(&self, exchange: &mut Exchange, setup: &Setup) -> Result<Request, Refused> {
        self.check_key(exchange, setup)?;
        let request = serde_json::from_str(&setup.body).ok().filter(is_valid);
        let request: Request = request.ok_or_else(|| {
            Refused::new(
                RefusalCode::Limit,
                "the server does not serve such a test",
                format!(
                    "ask for at most {FLOWS_MAX} flows, datagrams of {LEN_MIN} to {LEN_MAX} bytes and intervals of at least {INTERVAL_MIN:?}"
                ),
            )
        })?;
        check_congestion(&request)?;
        self.lower(request)
    }

    /// Lowers the duration and the rate of a valid request to what the server allows.
    ///
    /// # Errors
    /// Its bursts are above the limit of the rate.
    pub(super) fn lower(&self, mut request: Request) -> Result<Request, Refused> {
        request.duration_ns = request.duration_ns.min(nanos(self.duration));
        if let (Shape::Greedy, Some(bps)) = (&request.shape, request.rate_bps) {
            request.shape = Shape::Cbr { bps };
        }
        request.rate_bps = request.shape.mean_bps(request.length_bytes);
        if let Some(limit) = self.rate_bps {
            let each = (limit / u64::from(request.flows)).max(1);
            if request.rate_bps.is_none_or(|bps| bps > each) {
                request.rate_bps = Some(each);
                request.shape = Shape::Cbr { bps: each };
            } else if has_higher_bursts(&request, each) {
                return Err(too_bursty(each));
            }
        }
        Ok(request)
    }

    pub(super) fn check_key(&self, exchange: &mut Exchange, setup: &Setup) -> Result<(), Refused> {
        let Some(key) = &self.key else { return Ok(()) };
        let proof = setup.proof.clone().map(Proof::try_from);
        let is_proven = match proof {
            Some(Ok(proof)) => exchange.check_request(key, &setup.body, &proof),
            Some(Err(_)) | None => false,
        };
        if is_proven {
            return Ok(());
        }
        Err(Refused::new(
            RefusalCode::Key,
            "the server refused the key",
            "pass --key-file FILE with the server's key",
        ))
    }
}

/// The refusal of a peer that speaks other versions of the protocol.
pub(super) fn wrong_version(theirs: &str) -> Refused {
    Refused::new(
        RefusalCode::Version,
        format!("the server speaks {PROTOCOL} of the protocol, this program {theirs}"),
        "install the same version at both ends",
    )
}

/// Checks that this system has the congestion control that its sender is to take.
fn check_congestion(request: &Request) -> Result<(), Refused> {
    let is_sender = request.is_reverse || request.is_both;
    let name = request.congestion.as_deref().filter(|_| is_sender);
    if name.is_none_or(has_congestion) {
        return Ok(());
    }
    Err(Refused::new(
        RefusalCode::Limit,
        "the server's system has no such congestion control of TCP",
        "leave --congestion out, or load the kernel's module of this name there",
    ))
}

/// Whether the shape has a higher rate for a short time than each flow may have.
pub(super) fn has_higher_bursts(request: &Request, bps: u64) -> bool {
    let peak = request.shape.peak_bps(request.length_bytes, BURST);
    peak.is_none_or(|peak| peak > bps)
}

pub(super) fn too_bursty(bps: u64) -> Refused {
    let rate = units::rate(to_f64(bps));
    Refused::new(
        RefusalCode::Limit,
        format!("the server allows each flow {rate}, and bursts of {BURST:?} at that rate"),
        "ask for smaller bursts, or for a constant rate with -b",
    )
}

pub(super) fn is_valid(request: &Request) -> bool {
    (1..=FLOWS_MAX).contains(&request.flows)
        && request.duration_ns > 0
        && request.interval_ns >= nanos(INTERVAL_MIN)
        && (LEN_MIN..=LEN_MAX).contains(&request.length_bytes)
        && request.rate_bps != Some(0)
        && request.lost_runs <= LOST_RUNS_MAX
        && (request.congestion.is_none() || request.transport == Transport::Tcp)
        && (request.socket_buffer_bytes).is_none_or(|bytes| SOCKET_BUFFER.contains(&bytes))
        // Both directions have as many flows.
        && !(request.is_both && (request.is_reverse || request.flows % 2 == 1))
        && (!request.is_one_connection || can_share_connections(request))
        && (request.mode == Mode::Stream || has_one_flow_of_packets(request))
}

/// Flows share a connection in different directions only, and UDP has no connection.
fn can_share_connections(request: &Request) -> bool {
    request.is_both && !request.has_echoes && request.transport != Transport::Udp
}

/// `rr` and `media` need one flow of packets that have room for their heads.
fn has_one_flow_of_packets(request: &Request) -> bool {
    let has_packets = request.transport != Transport::Tcp;
    request.flows == 1 && !request.is_reverse && has_packets && request.length_bytes >= ASK_MIN
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::hello::Versions;

    fn policy() -> Policy {
        Policy {
            tests: 16,
            duration: Duration::from_mins(1),
            rate_bps: None,
            key: None,
            third_party: None,
        }
    }

    fn exchange() -> Exchange {
        Exchange::new(Nonce::random().unwrap(), Nonce::random().unwrap())
    }

    fn request() -> Request {
        Request {
            mode: Mode::Stream,
            transport: Transport::Dccp,
            shape: Shape::Greedy,
            seed: 0,
            congestion: None,
            socket_buffer_bytes: None,
            lost_runs: 0,
            flows: 4,
            duration_ns: 3_600_000_000_000,
            interval_ns: 1_000_000_000,
            is_reverse: false,
            length_bytes: 100,
            rate_bps: None,
            is_both: false,
            is_one_connection: false,
            has_echoes: false,
            obeys: false,
        }
    }

    fn setup(request: &Request) -> Setup {
        let body = serde_json::to_string(request).unwrap();
        Setup {
            body,
            ..Setup::default()
        }
    }

    #[test]
    fn duration_and_rate_are_lowered_to_the_limits() {
        let policy = Policy {
            rate_bps: Some(1000),
            ..policy()
        };
        let granted = policy.grant(&mut exchange(), &setup(&request())).unwrap();
        assert_eq!(granted.duration_ns, 60_000_000_000);
        assert_eq!(granted.rate_bps, Some(250), "a quarter for each flow");
        let modest = Request {
            duration_ns: 1,
            rate_bps: Some(10),
            shape: Shape::Cbr { bps: 10 },
            ..request()
        };
        let granted = policy.grant(&mut exchange(), &setup(&modest)).unwrap();
        assert_eq!(granted, modest);
        // A request hides no higher rate behind its shape.
        let bursts = Request {
            rate_bps: Some(1),
            shape: "burst:1000/1s".parse().unwrap(),
            ..request()
        };
        let granted = policy.grant(&mut exchange(), &setup(&bursts)).unwrap();
        assert_eq!(granted.shape, Shape::Cbr { bps: 250 });
        assert_eq!(granted.rate_bps, Some(250));
    }

    #[test]
    fn bursts_above_the_limit_are_refused() {
        let policy = Policy {
            rate_bps: Some(10_000_000),
            ..policy()
        };
        let grant = |shape: &str| {
            let request = Request {
                flows: 1,
                length_bytes: 1250,
                shape: shape.parse().unwrap(),
                ..request()
            };
            policy.grant(&mut exchange(), &setup(&request))
        };
        // Their mean rates are below the limit.
        for shape in ["burst:1000000/1h", "square:1M..19M/1h", "frames:1:9M"] {
            let refused = grant(shape).unwrap_err();
            assert_eq!(refused.code, RefusalCode::Limit, "{shape}");
        }
        for shape in [
            "burst:10/100ms",
            "sine:1M..9M/1s",
            "frames:30:4M",
            "poisson:9M",
        ] {
            let granted = grant(shape).unwrap();
            assert_eq!(granted.shape, shape.parse::<Shape>().unwrap());
        }
    }

    #[test]
    fn invalid_requests_are_refused() {
        let wrong = [
            Request {
                is_both: true,
                flows: 3,
                ..request()
            },
            Request {
                is_one_connection: true,
                ..request()
            },
            Request {
                is_one_connection: true,
                is_both: true,
                transport: Transport::Udp,
                ..request()
            },
            Request {
                is_one_connection: true,
                is_both: true,
                has_echoes: true,
                ..request()
            },
            Request {
                mode: Mode::Rr,
                ..request()
            },
            Request {
                mode: Mode::Rr,
                flows: 1,
                length_bytes: ASK_MIN - 1,
                ..request()
            },
            Request {
                lost_runs: LOST_RUNS_MAX + 1,
                ..request()
            },
            Request {
                flows: 0,
                ..request()
            },
            Request {
                flows: FLOWS_MAX + 1,
                ..request()
            },
            Request {
                duration_ns: 0,
                ..request()
            },
            Request {
                interval_ns: 1,
                ..request()
            },
            Request {
                length_bytes: LEN_MIN - 1,
                ..request()
            },
            Request {
                rate_bps: Some(0),
                ..request()
            },
            Request {
                congestion: Some("reno".into()),
                ..request()
            },
            Request {
                socket_buffer_bytes: Some(*SOCKET_BUFFER.end() + 1),
                ..request()
            },
            Request {
                transport: Transport::Tcp,
                is_reverse: true,
                congestion: Some("nosuch".into()),
                ..request()
            },
            Request {
                transport: Transport::Tcp,
                is_both: true,
                congestion: Some("nosuch".into()),
                ..request()
            },
        ];
        for request in wrong {
            let refused = policy()
                .grant(&mut exchange(), &setup(&request))
                .unwrap_err();
            assert_eq!(refused.code, RefusalCode::Limit, "{request:?}");
        }
        for body in ["", "{}", "[", "null"] {
            let setup = Setup {
                body: body.into(),
                ..Setup::default()
            };
            assert!(policy().grant(&mut exchange(), &setup).is_err(), "{body}");
        }
    }

    // goal 56: a recorded request is worth nothing, neither on another connection nor again on its own.
    #[test]
    fn replayed_setup_is_refused() {
        let key = Key::new(b"0123456789abcdef");
        let policy = Policy {
            key: Some(key.clone()),
            ..policy()
        };
        let (client, server) = (Nonce::random().unwrap(), Nonce::random().unwrap());
        let body = serde_json::to_string(&request()).unwrap();
        let proof = Exchange::new(client, server).prove_request(&key, &body);
        let recorded = Setup {
            body,
            proof: Some(proof.into()),
            ..Setup::default()
        };
        let mut first = Exchange::new(client, server);
        assert!(policy.grant(&mut first, &recorded).is_ok());
        let again = policy.grant(&mut first, &recorded).unwrap_err();
        // The client repeats its nonce; the server's differs on each connection.
        let mut second = Exchange::new(client, Nonce::random().unwrap());
        let elsewhere = policy.grant(&mut second, &recorded).unwrap_err();
        for refused in [again, elsewhere] {
            assert_eq!(refused.code, RefusalCode::Key);
        }
    }

    #[test]
    fn other_versions_are_refused_with_both_ranges() {
        let hello = |min, max| Hello {
            protocol: Versions { min, max },
            program: "1".into(),
            nonce: Nonce::random().unwrap(),
        };
        let (_, welcome) = policy().welcome(&hello(2, 3)).unwrap();
        assert_eq!(welcome.protocol, 2);
        let refused = policy().welcome(&hello(3, 4)).unwrap_err();
        assert_eq!(refused.code, RefusalCode::Version);
        assert_eq!(
            refused.reason,
            "the server speaks version 2 of the protocol, this program versions 3 to 4"
        );
    }
}
