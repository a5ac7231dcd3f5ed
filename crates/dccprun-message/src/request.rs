//! Requests of a program's library, and the answers.

use crate::name::{Family, SocketKey};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// The longest body: more than a list of 32 Service Codes.
pub const BODY_MAX: usize = 256;
const HEAD: usize = 14;
/// The longest message.
pub const MESSAGE_MAX: usize = HEAD + BODY_MAX;
/// An address in a body.
pub const ADDR_LEN: usize = 22;

/// A request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Set an option: argument and body are its name and value.
    Set,
    /// Return the value of an option: its name is the argument.
    Get,
    /// Give the socket an address.
    Bind,
    /// Connect to an address. The argument is the number of messages on the data socket that are no datagrams. The answer
    /// comes at the end of the handshake.
    Connect,
    /// As `Connect`, and the answer comes at once.
    ConnectLater,
    /// Listen. The argument is the backlog.
    Listen,
    /// Return the address of this end.
    LocalName,
    /// Return the address of the other end, and the greatest length of a datagram.
    PeerName,
    /// Return the error of the connection as a number of 4 bytes, and forget it.
    TakeError,
    /// Lend the queue of datagrams to send, of an open connection. Its descriptor comes with the answer.
    SendQueue,
    /// Lend the queue of received datagrams.
    ReceiveQueue,
    /// Send another bell for the queue of received datagrams: a thread waits that the first one has not woken.
    Bell,
}

const OPS: [Op; 12] = [
    Op::Set,
    Op::Get,
    Op::Bind,
    Op::Connect,
    Op::ConnectLater,
    Op::Listen,
    Op::LocalName,
    Op::PeerName,
    Op::TakeError,
    Op::SendQueue,
    Op::ReceiveQueue,
    Op::Bell,
];

/// A request about one socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request<'a> {
    /// The request.
    pub op: Op,
    /// The socket.
    pub key: SocketKey,
    /// Its meaning depends on the request.
    pub argument: i32,
    /// At most [`BODY_MAX`] bytes.
    pub body: &'a [u8],
}

impl<'a> Request<'a> {
    /// Writes the message into `buffer`; `None`: the body is too long.
    pub fn build<'b>(&self, buffer: &'b mut [u8; MESSAGE_MAX]) -> Option<&'b [u8]> {
        let len = HEAD + self.body.len();
        buffer.get_mut(HEAD..len)?.copy_from_slice(self.body);
        let family = match self.key.family {
            Family::V4 => 4,
            Family::V6 => 6,
        };
        // The order of `OPS` is that of the variants.
        buffer[..2].copy_from_slice(&[self.op as u8, family]);
        buffer[2..10].copy_from_slice(&self.key.number.to_le_bytes());
        buffer[10..HEAD].copy_from_slice(&self.argument.to_le_bytes());
        buffer.get(..len)
    }

    /// Reads a message; `None`: it is none.
    pub fn parse(message: &'a [u8]) -> Option<Self> {
        let ([op, family], rest) = message.split_first_chunk::<2>()?;
        let (number, rest) = rest.split_first_chunk::<8>()?;
        let (argument, body) = rest.split_first_chunk::<4>()?;
        let family = match family {
            4 => Family::V4,
            6 => Family::V6,
            _ => return None,
        };
        Some(Self {
            op: *OPS.get(usize::from(*op))?,
            key: SocketKey {
                family,
                number: u64::from_le_bytes(*number),
            },
            argument: i32::from_le_bytes(*argument),
            body: (body.len() <= BODY_MAX).then_some(body)?,
        })
    }
}

/// An answer: an error number, or a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    error: i32,
    body: [u8; BODY_MAX],
    len: usize,
}

impl Answer {
    /// Success without a body.
    pub const DONE: Self = Self::error(0);

    /// An error number, as in `errno`.
    pub const fn error(error: i32) -> Self {
        Self {
            error,
            body: [0; BODY_MAX],
            len: 0,
        }
    }

    /// Success with a body. The bytes beyond [`BODY_MAX`] are cut off.
    pub fn body(body: &[u8]) -> Self {
        let mut answer = Self::DONE;
        for (room, byte) in answer.body.iter_mut().zip(body) {
            *room = *byte;
        }
        answer.len = body.len().min(BODY_MAX);
        answer
    }

    /// Writes the message into `buffer`.
    pub fn build<'b>(&self, buffer: &'b mut [u8; MESSAGE_MAX]) -> &'b [u8] {
        let len = 4 + self.len;
        buffer[..4].copy_from_slice(&self.error.to_le_bytes());
        buffer[4..len].copy_from_slice(&self.body[..self.len]);
        &buffer[..len]
    }

    /// Reads a message; `None`: it is none.
    pub fn parse(message: &[u8]) -> Option<Self> {
        let (error, body) = message.split_first_chunk::<4>()?;
        let mut answer = Self::body((body.len() <= BODY_MAX).then_some(body)?);
        answer.error = i32::from_le_bytes(*error);
        Some(answer)
    }

    /// The body.
    ///
    /// # Errors
    /// The error number of the answer.
    pub fn result(&self) -> Result<&[u8], i32> {
        match self.error {
            0 => Ok(&self.body[..self.len]),
            error => Err(error),
        }
    }
}

/// An address as bytes.
pub fn address(addr: SocketAddr) -> [u8; ADDR_LEN] {
    let mut bytes = [0; ADDR_LEN];
    let (port, rest) = bytes.split_at_mut(2);
    let (ip, scope) = rest.split_at_mut(16);
    port.copy_from_slice(&addr.port().to_be_bytes());
    match addr {
        SocketAddr::V4(v4) => ip[..4].copy_from_slice(&v4.ip().octets()),
        SocketAddr::V6(v6) => {
            ip.copy_from_slice(&v6.ip().octets());
            scope.copy_from_slice(&v6.scope_id().to_le_bytes());
        }
    }
    bytes
}

/// The address at the head of a body; `None`: there is none.
pub fn read_address(family: Family, body: &[u8]) -> Option<SocketAddr> {
    let (port, rest) = body.split_first_chunk::<2>()?;
    let (ip, rest) = rest.split_first_chunk::<16>()?;
    let (scope, _) = rest.split_first_chunk::<4>()?;
    let port = u16::from_be_bytes(*port);
    Some(match family {
        Family::V4 => {
            let [a, b, c, d, ..] = *ip;
            SocketAddr::new(IpAddr::V4(Ipv4Addr::new(a, b, c, d)), port)
        }
        Family::V6 => {
            let scope = u32::from_le_bytes(*scope);
            SocketAddrV6::new(Ipv6Addr::from(*ip), port, 0, scope).into()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: SocketKey = SocketKey {
        family: Family::V6,
        number: 0x0102_0304_0506_0708,
    };

    #[test]
    fn requests_come_back() {
        for (index, op) in OPS.into_iter().enumerate() {
            assert_eq!(op as usize, index);
            let request = Request {
                op,
                key: KEY,
                argument: -1,
                body: &[7; BODY_MAX],
            };
            let mut buffer = [0; MESSAGE_MAX];
            let message = request.build(&mut buffer).unwrap();
            assert_eq!(Request::parse(message), Some(request));
            assert_eq!(Request::parse(&message[..HEAD - 1]), None);
        }
    }

    #[test]
    fn garbage_is_no_request() {
        let mut message = [0; MESSAGE_MAX + 1];
        assert_eq!(Request::parse(&message[..MESSAGE_MAX]), None);
        message[1] = 4;
        assert!(Request::parse(&message[..MESSAGE_MAX]).is_some());
        assert_eq!(Request::parse(&message), None);
        message[0] = 12;
        assert_eq!(Request::parse(&message[..MESSAGE_MAX]), None);
        assert_eq!(Request::parse(&[]), None);
    }

    #[test]
    fn answers_come_back() {
        let mut buffer = [0; MESSAGE_MAX];
        let answer = Answer::body(&[1, 2, 3]);
        assert_eq!(Answer::parse(answer.build(&mut buffer)), Some(answer));
        assert_eq!(answer.result(), Ok(&[1, 2, 3][..]));
        let error = Answer::error(111);
        let read = Answer::parse(error.build(&mut buffer)).unwrap();
        assert_eq!(read.result(), Err(111));
        assert_eq!(Answer::parse(&[0; 3]), None);
        assert_eq!(Answer::parse(&[0; 5 + BODY_MAX]), None);
    }

    #[test]
    fn addresses_come_back() {
        for text in ["192.0.2.1:5001", "[2001:db8::1]:1", "[fe80::1%3]:65535"] {
            let addr: SocketAddr = text.parse().unwrap();
            let family = if addr.is_ipv4() {
                Family::V4
            } else {
                Family::V6
            };
            assert_eq!(read_address(family, &address(addr)), Some(addr));
            assert_eq!(read_address(family, &address(addr)[1..]), None);
        }
    }
}
