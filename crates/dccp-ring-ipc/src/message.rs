//! Messages between the two processes of a ring: each is one packet of a Unix socket.
//!
//! Numbers are little-endian. The first byte names the message; bytes of another length or
//! with other values than its name demands are invalid.

mod code;

use crate::request::{RingListenRequest, RingRequest};
use core::net::{IpAddr, Ipv6Addr};
use core::time::Duration;
use dccp::DccpAddr;
use dccp_proto::config::bounds;
use dccp_proto::time::nanos;
use dccp_proto::wire::{ResetCode, ServiceCode};
use dccp_proto::{CloseReason, Event, RateHint};
use dccp_ring::Shape;

/// A message of an application to the server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ClientMessage {
    /// Requests a ring with this connection behind it. Sent once, as the first message.
    Lend(RingRequest),
    /// Send the datagrams that wait, then close.
    Close,
    /// End the connection at once.
    Abort,
    /// Requests a listener. Sent once, as the first message.
    Listen(RingListenRequest),
    /// Requests the next connection of the listener. Not repeated before the answer.
    Accept,
}

/// A message of the server to an application.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ServerMessage {
    /// A ring: its memory and its bell come with this message.
    Lent,
    /// A refusal, with its reason.
    Refused(String),
    /// An event of the connection, and the greatest length of a datagram now, if known.
    Event(Event, Option<u32>),
    /// The listener has this address.
    Listening(DccpAddr),
    /// An accepted connection: its ring's memory, its bell and a channel of its own come with this message.
    Accepted {
        /// The peer's address.
        peer: DccpAddr,
        /// The Service Code of its Request.
        service: ServiceCode,
        /// The greatest length of a datagram now, if known.
        mps: Option<u32>,
    },
}

/// The greatest length of a message in bytes.
pub(crate) const MESSAGE_MAX: usize = 256;
/// The name of the protocol and its version.
const MAGIC: [u8; 8] = *b"DCCPRS\0\x02";
/// Longest text in a message, in bytes.
const TEXT_MAX: usize = 200;

impl ClientMessage {
    /// The bytes of the message.
    pub(crate) fn build(&self) -> Vec<u8> {
        match self {
            Self::Lend(request) => [&[0], &MAGIC[..], &build_request(request)].concat(),
            Self::Close => vec![1],
            Self::Abort => vec![2],
            Self::Listen(request) => [&[3], &MAGIC[..], &build_listen_request(request)].concat(),
            Self::Accept => vec![4],
        }
    }

    /// Reads a message; `None` if the bytes are invalid.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        match bytes.split_first()? {
            (0, rest) => parse_request(rest.strip_prefix(&MAGIC)?).map(Self::Lend),
            (1, []) => Some(Self::Close),
            (2, []) => Some(Self::Abort),
            (3, rest) => parse_listen_request(rest.strip_prefix(&MAGIC)?).map(Self::Listen),
            (4, []) => Some(Self::Accept),
            _ => None,
        }
    }
}

/// Parses the bytes as a message of each kind and builds it again, as the fuzz target `ring_messages` does.
pub fn rebuilt(bytes: &[u8]) -> [Option<Vec<u8>>; 2] {
    [
        ClientMessage::parse(bytes).map(|message| message.build()),
        ServerMessage::parse(bytes).map(|message| message.build()),
    ]
}

/// Address of the peer, Service Code, CCID, shape.
fn build_request(request: &RingRequest) -> Vec<u8> {
    let mut bytes = build_address(request.remote);
    bytes.extend(request.service.0.to_le_bytes());
    bytes.push(request.ccid.unwrap_or(NO_CCID));
    bytes.extend(build_shape(&request.shape));
    bytes
}

fn parse_request(bytes: &[u8]) -> Option<RingRequest> {
    let mut read = Reader(bytes);
    let request = RingRequest {
        remote: read.address()?,
        service: ServiceCode(read.u32()?),
        ccid: ccid_of(read.take()?),
        shape: read.shape()?,
    };
    read.0.is_empty().then_some(request)
}

/// Address to listen at, CCID, shape, connections, Service Codes.
fn build_listen_request(request: &RingListenRequest) -> Vec<u8> {
    let mut bytes = build_address(request.local);
    bytes.push(request.ccid.unwrap_or(NO_CCID));
    bytes.extend(build_shape(&request.shape));
    bytes.extend(request.connections.to_le_bytes());
    for service in &request.services {
        bytes.extend(service.0.to_le_bytes());
    }
    bytes
}

fn parse_listen_request(bytes: &[u8]) -> Option<RingListenRequest> {
    let mut read = Reader(bytes);
    let mut request = RingListenRequest {
        local: read.address()?,
        ccid: ccid_of(read.take()?),
        shape: read.shape()?,
        connections: read.u32()?,
        services: Vec::new(),
    };
    while !read.0.is_empty() {
        if request.services.len() == bounds::SERVICE_CODES {
            return None;
        }
        let service = ServiceCode(read.u32()?);
        if !request.services.contains(&service) {
            request.services.push(service);
        }
    }
    Some(request)
}

/// Family, address, scope, UDP port, DCCP port.
fn build_address(address: DccpAddr) -> Vec<u8> {
    let (family, ip, scope) = match address.ip {
        IpAddr::V4(v4) => (4, v4.to_ipv6_mapped(), 0),
        IpAddr::V6(v6) => (6, v6, address.scope_id),
    };
    let mut bytes = vec![family];
    bytes.extend(ip.octets());
    bytes.extend(scope.to_le_bytes());
    bytes.extend(address.udp_port.to_le_bytes());
    bytes.extend(address.dccp_port.to_le_bytes());
    bytes
}

fn build_shape(shape: &Shape) -> Vec<u8> {
    let Shape {
        slots,
        slot_bytes,
        fates,
        arrivals,
        arrival_bytes,
    } = *shape;
    let numbers = [slots, slot_bytes, fates, arrivals, arrival_bytes];
    numbers.map(u32::to_le_bytes).concat()
}

const NO_CCID: u8 = 255;

fn ccid_of([ccid]: [u8; 1]) -> Option<u8> {
    Some(ccid).filter(|&ccid| ccid != NO_CCID)
}

impl ServerMessage {
    /// The bytes of the message.
    pub(crate) fn build(&self) -> Vec<u8> {
        match self {
            Self::Lent => [&[0], &MAGIC[..]].concat(),
            Self::Refused(text) => [&[1], clip(text).as_bytes()].concat(),
            Self::Event(event, mps) => {
                let mut bytes = vec![2];
                bytes.extend(mps.unwrap_or(NO_MPS).to_le_bytes());
                bytes.extend(build_event(event).unwrap_or_default());
                bytes
            }
            Self::Listening(address) => [&[3], &build_address(*address)[..]].concat(),
            Self::Accepted { peer, service, mps } => {
                let mut bytes = vec![4];
                bytes.extend(build_address(*peer));
                bytes.extend(service.0.to_le_bytes());
                bytes.extend(mps.unwrap_or(NO_MPS).to_le_bytes());
                bytes
            }
        }
    }

    /// Reads a message; `None` if the bytes are invalid.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        match bytes.split_first()? {
            (0, rest) => (rest == MAGIC).then_some(Self::Lent),
            (1, rest) => Some(Self::Refused(String::from_utf8_lossy(rest).into())),
            (2, rest) => {
                let mut read = Reader(rest);
                let mps = mps_of(read.u32()?);
                Some(Self::Event(parse_event(read.0)?, mps))
            }
            (3, rest) => {
                let mut read = Reader(rest);
                let address = read.address()?;
                read.0.is_empty().then_some(Self::Listening(address))
            }
            (4, rest) => {
                let mut read = Reader(rest);
                let accepted = Self::Accepted {
                    peer: read.address()?,
                    service: ServiceCode(read.u32()?),
                    mps: mps_of(read.u32()?),
                };
                read.0.is_empty().then_some(accepted)
            }
            _ => None,
        }
    }
}

const NO_MPS: u32 = u32::MAX;

fn mps_of(mps: u32) -> Option<u32> {
    Some(mps).filter(|&mps| mps != NO_MPS)
}

/// Stands for an unknown rate.
const NO_RATE: u64 = u64::MAX;

/// Whether an event has a form between processes.
pub(crate) fn has_form(event: &Event) -> bool {
    build_event(event).is_some()
}

/// An event of a connection; `None`: it concerns the server only.
fn build_event(event: &Event) -> Option<Vec<u8>> {
    Some(match event {
        // The engine does not report the second to applications.
        Event::Connected | Event::Accepted { .. } => vec![0],
        Event::Mps(bytes) => {
            let bytes = u32::try_from(*bytes).unwrap_or(NO_MPS);
            [&[1], &bytes.to_le_bytes()[..]].concat()
        }
        Event::PeerClosed => vec![2],
        Event::PeerNotListening => vec![3],
        Event::SlowReceiver => vec![4],
        Event::Closed(CloseReason::Local) => vec![5],
        Event::Closed(CloseReason::Peer) => vec![6],
        Event::Closed(CloseReason::Reset { code, data, text }) => {
            [&[7, code.0], &data[..], clip(text).as_bytes()].concat()
        }
        Event::Closed(CloseReason::Aborted(code)) => vec![8, code.0],
        Event::Closed(CloseReason::TimedOut) => vec![9],
        Event::Closed(CloseReason::Unreachable { kind, code }) => vec![10, *kind, *code],
        Event::Rate(hint) => {
            let wait = nanos(hint.wait);
            [
                &[11],
                &hint.bits_per_s.to_le_bytes()[..],
                &wait.to_le_bytes(),
                &hint.delivered_bits_per_s.unwrap_or(NO_RATE).to_le_bytes(),
                &[u8::from(hint.is_app_limited)],
            ]
            .concat()
        }
        Event::Silent { silent_for } => {
            let silent_for = nanos(*silent_for);
            [&[12], &silent_for.to_le_bytes()[..]].concat()
        }
        Event::Unreachable { kind, code } => vec![13, *kind, *code],
        Event::SocketLost { os_error } => [&[14], &os_error.to_le_bytes()[..]].concat(),
        Event::SocketRestored => vec![15],
        Event::Misreport => vec![16],
        Event::SafeUdp(report) => [vec![17], code::build(report)?].concat(),
        Event::Shortfall(shortfall) => [vec![18], code::build_shortfall(shortfall)].concat(),
        _ => return None,
    })
}

fn parse_event(bytes: &[u8]) -> Option<Event> {
    Some(match *bytes {
        [0] => Event::Connected,
        [1, a, b, c, d] => Event::Mps(u32::from_le_bytes([a, b, c, d]).try_into().ok()?),
        [2] => Event::PeerClosed,
        [3] => Event::PeerNotListening,
        [4] => Event::SlowReceiver,
        [5] => Event::Closed(CloseReason::Local),
        [6] => Event::Closed(CloseReason::Peer),
        [7, code, a, b, c, ref text @ ..] => Event::Closed(CloseReason::Reset {
            code: ResetCode(code),
            data: [a, b, c],
            text: String::from_utf8_lossy(text).into(),
        }),
        [8, code] => Event::Closed(CloseReason::Aborted(ResetCode(code))),
        [9] => Event::Closed(CloseReason::TimedOut),
        [10, kind, code] => Event::Closed(CloseReason::Unreachable { kind, code }),
        [11, ref numbers @ ..] => {
            let mut numbers = Reader(numbers);
            let hint = RateHint {
                bits_per_s: u64::from_le_bytes(numbers.take()?),
                wait: Duration::from_nanos(u64::from_le_bytes(numbers.take()?)),
                delivered_bits_per_s: Some(u64::from_le_bytes(numbers.take()?))
                    .filter(|&rate| rate != NO_RATE),
                is_app_limited: numbers.take()? == [1],
            };
            Event::Rate(Some(hint).filter(|_| numbers.0.is_empty())?)
        }
        [12, ref silent_for @ ..] => Event::Silent {
            silent_for: Duration::from_nanos(u64::from_le_bytes(silent_for.try_into().ok()?)),
        },
        [13, kind, code] => Event::Unreachable { kind, code },
        [14, a, b, c, d] => Event::SocketLost {
            os_error: i32::from_le_bytes([a, b, c, d]),
        },
        [15] => Event::SocketRestored,
        [16] => Event::Misreport,
        [17, ref report @ ..] => Event::SafeUdp(code::parse(report)?),
        [18, ref shortfall @ ..] => Event::Shortfall(code::parse_shortfall(shortfall)?),
        _ => return None,
    })
}

/// The part of a text that fits in a message.
fn clip(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_MAX)]
}

/// Takes bytes from the front.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn address(&mut self) -> Option<DccpAddr> {
        let [family] = self.take()?;
        let ip = Ipv6Addr::from(self.take::<16>()?);
        let scope_id = self.u32()?;
        let ip = match (family, ip.to_ipv4_mapped()) {
            (4, Some(v4)) if scope_id == 0 => IpAddr::V4(v4),
            (6, _) => IpAddr::V6(ip),
            _ => return None,
        };
        let mut address = DccpAddr::new(ip, self.u16()?, self.u16()?);
        address.scope_id = scope_id;
        Some(address)
    }

    fn shape(&mut self) -> Option<Shape> {
        Some(Shape {
            slots: self.u32()?,
            slot_bytes: self.u32()?,
            fates: self.u32()?,
            arrivals: self.u32()?,
            arrival_bytes: self.u32()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client_messages() -> Vec<ClientMessage> {
        let shape = Shape {
            slots: 1,
            slot_bytes: 2,
            fates: 3,
            arrivals: u32::MAX,
            arrival_bytes: 5,
        };
        let remotes = [
            "192.0.2.1:14233/5001",
            "[2001:db8::1]:7/1",
            "[fe80::1%9]:1/2",
        ];
        let lend = remotes.map(|remote| {
            let request = RingRequest::new(remote.parse().unwrap(), shape);
            ClientMessage::Lend(request.service_code(*b"TEST"))
        });
        let listen = ["0.0.0.0:14233/5001", "[::]:0/0", "[fe80::1%9]:1/2"].map(|local| {
            let request = RingListenRequest::new(local.parse().unwrap(), shape);
            ClientMessage::Listen(request.connections(7))
        });
        let mut most = RingListenRequest::new("192.0.2.1:7/1".parse().unwrap(), shape).ccid(3);
        for code in (0..).take(bounds::SERVICE_CODES) {
            most = most.service_code([code, 0, 0, 1]);
        }
        let mut messages = vec![
            ClientMessage::Close,
            ClientMessage::Abort,
            ClientMessage::Accept,
        ];
        messages.extend(lend.clone());
        messages.extend(lend.map(|lend| match lend {
            ClientMessage::Lend(request) => ClientMessage::Lend(request.ccid(3)),
            other => other,
        }));
        messages.extend(listen);
        messages.push(ClientMessage::Listen(most));
        messages
    }

    fn server_messages() -> Vec<ServerMessage> {
        let reset = CloseReason::Reset {
            code: ResetCode::TOO_BUSY,
            data: [1, 2, 3],
            text: "später".into(),
        };
        let reasons = [
            CloseReason::Local,
            CloseReason::Peer,
            reset,
            CloseReason::Aborted(ResetCode::ABORTED),
            CloseReason::TimedOut,
            CloseReason::Unreachable { kind: 3, code: 1 },
        ];
        let events = [
            Event::Connected,
            Event::Mps(1400),
            Event::PeerClosed,
            Event::PeerNotListening,
            Event::SlowReceiver,
            Event::Rate(RateHint {
                bits_per_s: 1 << 40,
                delivered_bits_per_s: Some(1 << 39),
                is_app_limited: true,
                wait: Duration::from_millis(7),
            }),
            Event::Silent {
                silent_for: Duration::from_secs(20),
            },
            Event::Unreachable { kind: 3, code: 3 },
            Event::SocketLost { os_error: 9 },
            Event::SocketRestored,
            Event::Misreport,
        ];
        let events = events.into_iter().chain(reasons.map(Event::Closed));
        let events = events.map(|event| ServerMessage::Event(event, Some(1400)));
        let others = [
            ServerMessage::Lent,
            ServerMessage::Refused("no".into()),
            ServerMessage::Event(Event::Connected, None),
            ServerMessage::Listening("[::]:14233/5001".parse().unwrap()),
            ServerMessage::Accepted {
                peer: "[fe80::1%9]:14233/5001".parse().unwrap(),
                service: ServiceCode(7),
                mps: Some(1400),
            },
            ServerMessage::Accepted {
                peer: "192.0.2.1:0/7".parse().unwrap(),
                service: ServiceCode::NONE,
                mps: None,
            },
        ];
        events.chain(others).collect()
    }

    #[test]
    fn built_messages_are_parsed_unchanged() {
        for message in client_messages() {
            let bytes = message.build();
            assert!(bytes.len() <= MESSAGE_MAX);
            assert_eq!(ClientMessage::parse(&bytes), Some(message));
        }
        for message in server_messages() {
            assert_eq!(ServerMessage::parse(&message.build()), Some(message));
        }
    }

    #[test]
    fn longer_or_shorter_message_is_invalid() {
        for message in client_messages() {
            let mut bytes = message.build();
            bytes.push(0);
            assert_eq!(ClientMessage::parse(&bytes), None, "{message:?}");
            for len in 0..bytes.len() - 1 {
                // A list of Service Codes may end sooner, but each is whole.
                if !matches!(message, ClientMessage::Listen(_)) || len % 4 != (bytes.len() - 1) % 4
                {
                    assert_eq!(ClientMessage::parse(&bytes[..len]), None, "{message:?}");
                }
            }
        }
        for message in server_messages() {
            if let ServerMessage::Lent
            | ServerMessage::Listening(_)
            | ServerMessage::Accepted { .. } = message
            {
                let mut bytes = message.build();
                assert_eq!(
                    ServerMessage::parse(&bytes[..bytes.len() - 1]),
                    None,
                    "{message:?}"
                );
                bytes.push(0);
                assert_eq!(ServerMessage::parse(&bytes), None, "{message:?}");
            }
        }
        assert_eq!(ServerMessage::parse(&[]), None);
        assert_eq!(ServerMessage::parse(&[2, 0, 0, 0, 0, 1, 0, 0, 0]), None);
        assert_eq!(ServerMessage::parse(&[2, 0, 0, 0]), None);
    }

    #[test]
    fn message_with_impossible_values_is_invalid() {
        let is_lend = |message: &ClientMessage| matches!(message, ClientMessage::Lend(_));
        let lend = client_messages().into_iter().find(is_lend);
        let good = lend.expect("the one over IPv4").build();
        let family = 1 + MAGIC.len();
        // Another protocol, another version, no family, an address that is not of the family, a scope.
        for (at, value) in [
            (3, 0),
            (8, 1),
            (family, 5),
            (family + 1, 1),
            (family + 17, 1),
        ] {
            let mut bytes = good.clone();
            bytes[at] = value;
            assert_eq!(ClientMessage::parse(&bytes), None, "{at}");
        }
        // More Service Codes than a listener can serve.
        let Some(ClientMessage::Listen(mut most)) = client_messages().pop() else {
            panic!("the one with all that there can be");
        };
        most.services.push(ServiceCode(0));
        assert_eq!(
            ClientMessage::parse(&ClientMessage::Listen(most).build()),
            None
        );
    }

    #[test]
    fn repeated_service_code_is_dropped() {
        let Some(ClientMessage::Listen(most)) = client_messages().pop() else {
            panic!("the one with all that there can be");
        };
        let expected = ClientMessage::Listen(most.clone());
        let mut bytes = expected.build();
        bytes.extend(most.services[0].0.to_le_bytes());
        // The list is full before the repeated code.
        assert_eq!(ClientMessage::parse(&bytes), None);
        let mut fewer = most;
        fewer.services.truncate(2);
        let mut bytes = ClientMessage::Listen(fewer.clone()).build();
        bytes.extend(fewer.services[0].0.to_le_bytes());
        assert_eq!(
            ClientMessage::parse(&bytes),
            Some(ClientMessage::Listen(fewer))
        );
    }

    #[test]
    fn texts_are_clipped() {
        let refusal = ServerMessage::Refused("ä".repeat(500)).build();
        assert!(refusal.len() <= MESSAGE_MAX);
        assert_eq!(
            ServerMessage::parse(&refusal),
            Some(ServerMessage::Refused("ä".repeat(100)))
        );
    }
}
