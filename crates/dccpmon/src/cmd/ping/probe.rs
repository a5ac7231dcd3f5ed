//! Single DCCP-Requests, and what comes back.

use core::net::SocketAddr;
use core::time::Duration;
use dccp::proto::batch::Batch;
use dccp::proto::path::{Encap, Path};
use dccp::unstable::io::poll::Token;
use dccp::unstable::io::{Carrier, Options, Poller, Received, RecvBuffer, Transport, route};
use dccp::unstable::proto::endpoint::{IcmpError, IcmpKind};
use dccp::unstable::proto::wire::{Kind, Options as NoOptions, Packet, Payload, build, parse};
use dccp::{Ecn, Encapsulation, Instant, OpenError, ResetCode, Seq, ServiceCode, clock};
use dccp_cli::{Failure, interrupt};
use std::net::UdpSocket;

/// The longest wait between two looks whether the user has interrupted.
const LOOK: Duration = Duration::from_millis(100);
/// A UDP port that hardly any host has open: the first one of traceroute.
const CLOSED_PORT: u16 = 33434;
/// How many ports are tried until one is free.
const PORT_TRIES: usize = 16;

/// The reaction of a host to a Request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sign {
    /// A Response, after this round trip.
    Response(Duration),
    /// A Reset with this code.
    Reset(ResetCode),
    /// An ICMP error of this type and code.
    Icmp {
        kind: u8,
        code: u8,
        /// It quotes the sequence number of the Request, which hosts off the path do not know.
        is_verified: bool,
    },
    /// Nothing in time.
    Silence,
}

/// Sends Requests to one port of one host.
pub(super) struct Prober {
    carrier: Carrier,
    transport: Box<dyn Transport>,
    poller: Poller,
    buffer: RecvBuffer,
    path: Path,
    dccp_port: u16,
    service: ServiceCode,
}

/// The numbers of one Request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Request {
    source_port: u16,
    seq: Seq,
}

impl Prober {
    /// Opens a socket to `remote`.
    ///
    /// # Errors
    /// The system cannot send that way.
    pub(super) fn open(
        over: Encapsulation,
        remote: SocketAddr,
        dccp_port: u16,
        service: ServiceCode,
    ) -> Result<Self, OpenError> {
        let carrier = Carrier::new(over, Options::default())?;
        let route = route::to_place(remote)?;
        let mut local = SocketAddr::new(route.source, 0);
        if let SocketAddr::V6(local) = &mut local {
            local.set_scope_id(route.scope_id);
        }
        let mut transport = carrier.open(local)?;
        let encap = match over {
            Encapsulation::Ip => Encap::Ip,
            Encapsulation::Udp => Encap::Udp {
                local_port: transport.local_addr().port(),
                remote_port: remote.port(),
            },
        };
        let mut poller = Poller::new(Duration::ZERO)?;
        poller.add(transport.source(), Token(0))?;
        Ok(Self {
            carrier,
            transport,
            poller,
            buffer: RecvBuffer::new(),
            path: Path {
                local: route.source,
                remote: remote.ip(),
                encap,
            },
            dccp_port,
            service,
        })
    }

    /// Sends a Request from a new port and waits for a sign.
    ///
    /// # Errors
    /// The system does not send the Request.
    pub(super) fn probe(&mut self, timeout: Duration) -> Result<Sign, Failure> {
        let failure = |e: std::io::Error| Failure::run(e.to_string(), "try again");
        let request = Request::random()?;
        let mut claims = (0..PORT_TRIES).map(|tried| {
            let tried = u16::try_from(tried).unwrap_or_default();
            let source_port = request.source_port.wrapping_add(tried) | 0xC000;
            let claim = self.carrier.claim(source_port)?;
            Ok((
                claim,
                Request {
                    source_port,
                    ..request
                },
            ))
        });
        let free = claims.find(|claim: &std::io::Result<_>| claim.is_ok());
        let (_claim, request) = free
            .unwrap_or_else(|| Err(std::io::ErrorKind::AddrInUse.into()))
            .map_err(failure)?;
        let sent_at = clock::now();
        let service = self.service;
        self.send(request, Kind::Request { service })?;
        let until = sent_at + timeout;
        let mut ready = Vec::new();
        while clock::now() < until && !interrupt::is_pressed() {
            let wait = (until - clock::now()).min(LOOK);
            self.poller.wait(Some(wait), &mut ready).map_err(failure)?;
            if let Some(sign) = self.receive(request, sent_at).map_err(failure)? {
                return Ok(sign);
            }
        }
        Ok(Sign::Silence)
    }

    /// Sends a packet of the connection that `request` would begin.
    fn send(&mut self, request: Request, kind: Kind) -> Result<(), Failure> {
        let packet = Packet {
            source_port: request.source_port,
            dest_port: self.dccp_port,
            ccval: 0,
            cscov: 0,
            is_short: false,
            seq: request.seq,
            kind,
            options: NoOptions(&[]),
            payload: Payload::EMPTY,
        };
        let mut batch = Batch::new(1);
        let rule = self.path.checksum_rule();
        batch.push_built(&self.path, Ecn::NotEct, false, 0, |bytes| {
            build(bytes, &packet, rule).is_ok()
        });
        let sent = self.transport.send(&batch, 0);
        match sent.dropped {
            Some(drop) => Err(Failure::run(
                format!(
                    "this host does not send to {}: {:?}",
                    self.path.remote, drop.reason
                ),
                "check its routes and its firewall",
            )),
            None => Ok(()),
        }
    }

    /// Reads what waits. A Response is answered by a Reset, so that the host keeps nothing.
    fn receive(&mut self, request: Request, sent_at: Instant) -> std::io::Result<Option<Sign>> {
        let mut found = None;
        let mut response = None;
        let (rule, dccp_port) = (self.path.checksum_rule(), self.dccp_port);
        let remote = self.path;
        let mut sink = |received: Received<'_>| {
            if received.path.remote != remote.remote || received.path.encap != remote.encap {
                return;
            }
            for datagram in received.datagrams {
                let Ok(packet) = parse(&datagram, rule) else {
                    continue;
                };
                let is_answer = packet.source_port == dccp_port
                    && packet.dest_port == request.source_port
                    && packet.ack() == Some(request.seq);
                match packet.kind {
                    Kind::Response { .. } if is_answer => {
                        response = Some(packet.seq);
                        found = Some(Sign::Response(clock::now() - sent_at));
                    }
                    Kind::Reset { code, .. } if is_answer => found = Some(Sign::Reset(code)),
                    _ => {}
                }
            }
        };
        while self.transport.recv(&mut self.buffer, &mut sink)? {}
        if let Some(ack) = response {
            let next = Request {
                seq: request.seq.next(),
                ..request
            };
            let (code, data) = (ResetCode::ABORTED, [0; 3]);
            // If the Reset is lost, the host forgets the handshake by itself.
            let _ = self.send(next, Kind::Reset { ack, code, data });
        }
        if found.is_some() {
            return Ok(found);
        }
        let mut sink = |error: IcmpError<'_>| {
            let is_ours = error.path.remote == remote.remote && error.path.encap == remote.encap;
            if let IcmpKind::Unreachable { kind, code } = error.kind
                && is_ours
                && let Some(is_verified) = request.is_quoted(error.quoted, dccp_port)
            {
                found = Some(Sign::Icmp {
                    kind,
                    code,
                    is_verified,
                });
            }
        };
        while self.transport.recv_errors(&mut self.buffer, &mut sink)? > 0 {}
        Ok(found)
    }
}

impl Request {
    fn random() -> Result<Self, Failure> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(|e| {
            Failure::run(
                format!("the system has no random numbers: {e}"),
                "try again",
            )
        })?;
        let random = u64::from_be_bytes(bytes);
        let [.., high, low] = bytes;
        Ok(Self {
            source_port: u16::from_be_bytes([high, low]) | 0xC000,
            seq: Seq::new(random >> 16),
        })
    }

    /// Whether `quoted` is the begin of this Request, and then whether that is verified by the sequence number. Routers
    /// may quote less than that, over UDP nothing of DCCP.
    fn is_quoted(self, quoted: &[u8], dccp_port: u16) -> Option<bool> {
        let ports = [self.source_port, dccp_port].map(u16::to_be_bytes).concat();
        let seq = self.seq.value().to_be_bytes();
        let common = quoted.len().min(ports.len());
        let is_of_ports = quoted.get(..common) == ports.get(..common);
        match quoted.get(10..16) {
            Some(number) => (is_of_ports && seq.ends_with(number)).then_some(true),
            None => is_of_ports.then_some(false),
        }
    }
}

/// Whether the host answers for a UDP port that is closed: then it is alive, and no firewall hides it.
pub(super) fn is_alive(remote: SocketAddr, timeout: Duration) -> bool {
    let ask = || {
        let route = route::to_place(remote)?;
        let mut local = SocketAddr::new(route.source, 0);
        let mut closed = remote;
        closed.set_port(CLOSED_PORT);
        if let SocketAddr::V6(local) = &mut local {
            local.set_scope_id(route.scope_id);
        }
        let socket = UdpSocket::bind(local)?;
        socket.connect(closed)?;
        socket.set_read_timeout(Some(timeout))?;
        socket.send(&[0])?;
        socket.recv(&mut [0; 1])
    };
    match ask() {
        Ok(_) => true,
        Err(e) => e.kind() == std::io::ErrorKind::ConnectionRefused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: Request = Request {
        source_port: 50_000,
        seq: Seq::new(0x0102_0304_0506),
    };

    #[test]
    fn quote_of_a_request_is_verified_by_its_sequence_number() {
        let packet = Packet {
            source_port: REQUEST.source_port,
            dest_port: 5001,
            ccval: 0,
            cscov: 0,
            is_short: false,
            seq: REQUEST.seq,
            kind: Kind::Request {
                service: ServiceCode::NONE,
            },
            options: NoOptions(&[]),
            payload: Payload::EMPTY,
        };
        let mut bytes = Vec::new();
        build(&mut bytes, &packet, dccp::proto::wire::ChecksumRule::Udp).unwrap();
        let quoted = |bytes: &[u8]| REQUEST.is_quoted(bytes, 5001);
        assert_eq!(quoted(&bytes), Some(true));
        // A router that quotes 8 bytes of IP's payload shows the ports, or nothing if these are those of UDP.
        assert_eq!(quoted(&bytes[..8]), Some(false));
        assert_eq!(quoted(&[]), Some(false));
        bytes[15] ^= 1;
        assert_eq!(quoted(&bytes), None, "another sequence number");
        bytes[15] ^= 1;
        bytes[1] ^= 1;
        assert_eq!(quoted(&bytes), None, "another port");
        assert_eq!(quoted(&bytes[..8]), None);
    }

    #[test]
    fn random_requests_use_ephemeral_ports() {
        let requests = [(); 16].map(|()| Request::random().unwrap());
        assert!(requests.iter().all(|r| r.source_port >= 0xC000));
        assert!(requests.iter().any(|r| r.seq != requests[0].seq));
    }
}
