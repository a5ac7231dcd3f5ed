//! Messages between the two processes of a ring: each is one packet of a Unix socket.
//!
//! Numbers are little-endian. The first byte names the message; bytes of another length or
//! with other values than its name demands are invalid.

mod code;
mod event;

use crate::request::{RingListenRequest, RingRequest};
use core::net::{IpAddr, Ipv6Addr};
use dccp::{DccpAddr, Encapsulation};
use dccp_proto::Event;
use dccp_proto::config::bounds;
use dccp_proto::wire::ServiceCode;
use dccp_ring::Shape;
use event::{build_event, parse_event};

pub(crate) use event::has_form;

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
    /// A ring: its memory and its bell come with this message. The connection has this local address.
    Lent(DccpAddr),
    /// A refusal, with its reason.
    Refused(String),
    /// The end of a listener, because the policy does not let the application listen any more. The text has the reason.
    Revoked(String),
    /// An event of the connection, and the greatest length of a datagram now, if known.
    Event(Event, Option<u32>),
    /// The listener has this address.
    Listening(DccpAddr),
    /// An accepted connection: its ring's memory, its bell and a channel of its own come with this message.
    Accepted {
        /// The address at the server's host.
        local: DccpAddr,
        /// The peer's address.
        peer: DccpAddr,
        /// The Service Code of its Request.
        service: ServiceCode,
        /// The greatest length of a datagram now, if known.
        mps: Option<u32>,
    },
}

/// The greatest length of a message in bytes.
pub(crate) const MESSAGE_MAX: usize = 320;
/// The name of the protocol and its version.
const MAGIC: [u8; 8] = *b"DCCPRS\0\x03";
/// Longest text of a law in a request, in bytes.
const LAW_MAX: usize = 64;
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

impl RingRequest {
    /// Whether the request has a form between processes.
    pub(crate) fn check(&self) -> Result<(), String> {
        check_law(self.law.as_deref())
    }
}

impl RingListenRequest {
    /// Whether the request has a form between processes.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.services.len() > bounds::SERVICE_CODES {
            return Err("a listener serves 32 Service Codes at most".into());
        }
        check_law(self.law.as_deref())
    }
}

fn check_law(law: Option<&str>) -> Result<(), String> {
    match law {
        Some("") => Err("the law has no name".into()),
        Some(text) if text.len() > LAW_MAX => {
            Err(format!("the text of a law has {LAW_MAX} bytes at most"))
        }
        _ => Ok(()),
    }
}

/// Address of the peer, Service Code, CCID, encapsulation, law, shape.
fn build_request(request: &RingRequest) -> Vec<u8> {
    let mut bytes = build_address(request.remote);
    bytes.extend(request.service.0.to_le_bytes());
    bytes.push(request.ccid.unwrap_or(NO_CCID));
    bytes.push(build_encapsulation(request.encapsulation));
    bytes.extend(build_law(request.law.as_deref()));
    bytes.extend(build_shape(&request.shape));
    bytes
}

fn parse_request(bytes: &[u8]) -> Option<RingRequest> {
    let mut read = Reader(bytes);
    let request = RingRequest {
        remote: read.address()?,
        service: ServiceCode(read.u32()?),
        ccid: ccid_of(read.take()?),
        encapsulation: read.encapsulation()?,
        law: read.law()?,
        shape: read.shape()?,
    };
    read.0.is_empty().then_some(request)
}

/// Address to listen at, CCID, encapsulation, law, shape, connections, Service Codes.
fn build_listen_request(request: &RingListenRequest) -> Vec<u8> {
    let mut bytes = build_address(request.local);
    bytes.push(request.ccid.unwrap_or(NO_CCID));
    bytes.push(build_encapsulation(request.encapsulation));
    bytes.extend(build_law(request.law.as_deref()));
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
        encapsulation: read.encapsulation()?,
        law: read.law()?,
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

const OVER_UDP: u8 = 0;
const OVER_IP: u8 = 1;

fn build_encapsulation(encapsulation: Encapsulation) -> u8 {
    match encapsulation {
        Encapsulation::Udp => OVER_UDP,
        Encapsulation::Ip => OVER_IP,
    }
}

/// Length and text; length 0: no law.
fn build_law(law: Option<&str>) -> Vec<u8> {
    let text = law.unwrap_or_default().as_bytes();
    let text = &text[..text.len().min(LAW_MAX)];
    [&[u8::try_from(text.len()).unwrap_or(0)], text].concat()
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
            Self::Lent(local) => [&[0], &MAGIC[..], &build_address(*local)].concat(),
            Self::Refused(text) => [&[1], clip(text).as_bytes()].concat(),
            Self::Revoked(text) => [&[5], clip(text).as_bytes()].concat(),
            Self::Event(event, mps) => {
                let mut bytes = vec![2];
                bytes.extend(mps.unwrap_or(NO_MPS).to_le_bytes());
                bytes.extend(build_event(event).unwrap_or_default());
                bytes
            }
            Self::Listening(address) => [&[3], &build_address(*address)[..]].concat(),
            Self::Accepted {
                local,
                peer,
                service,
                mps,
            } => {
                let mut bytes = vec![4];
                bytes.extend(build_address(*local));
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
            (0, rest) => {
                let mut read = Reader(rest.strip_prefix(&MAGIC)?);
                let local = read.address()?;
                read.0.is_empty().then_some(Self::Lent(local))
            }
            (1, rest) => Some(Self::Refused(String::from_utf8_lossy(rest).into())),
            (5, rest) => Some(Self::Revoked(String::from_utf8_lossy(rest).into())),
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
                    local: read.address()?,
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

    fn encapsulation(&mut self) -> Option<Encapsulation> {
        match self.take()? {
            [OVER_UDP] => Some(Encapsulation::Udp),
            [OVER_IP] => Some(Encapsulation::Ip),
            _ => None,
        }
    }

    /// Reads the text of a law; the inner `None`: there is none.
    #[expect(clippy::option_option, reason = "invalid bytes differ from no law")]
    fn law(&mut self) -> Option<Option<String>> {
        let [len] = self.take()?;
        let (text, rest) = self.0.split_at_checked(len.into())?;
        self.0 = rest;
        let text = core::str::from_utf8(text).ok()?;
        let is_valid = text.len() <= LAW_MAX;
        is_valid.then(|| Some(text.to_owned()).filter(|text| !text.is_empty()))
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
mod tests;
