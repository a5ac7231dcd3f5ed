//! UDP sockets towards the applications: batches, ECN marks, and the addresses of both ends.

use crate::limits::SOCKET_BUFFER;
use core::net::{IpAddr, SocketAddr};
use mio::event::Source;
use mio::net::UdpSocket;
use mio::{Interest, Registry, Token};
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use std::io::{self, ErrorKind, IoSliceMut};

/// The largest message of the kernel: one datagram, or several that it has joined (GRO).
const MESSAGE_MAX: usize = 65_535;
/// The most bytes that leave in one system call (GSO), with room for headers.
const SEND_MAX: usize = 65_000;

/// The application's end of a flow: its address, and the local address that it uses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct AppAddr {
    pub(crate) remote: SocketAddr,
    /// `None` where the system does not report it.
    pub(crate) local: Option<IpAddr>,
}

/// Errors that one call reads away.
const ERRORS_MAX: usize = 64;

/// A non-blocking UDP socket.
pub(crate) struct UdpPort {
    socket: UdpSocket,
    state: UdpSocketState,
}

impl UdpPort {
    /// A socket at this address of the host.
    pub(crate) fn bind(local: SocketAddr) -> io::Result<Self> {
        Self::new(UdpSocket::bind(local)?)
    }

    /// A socket that exchanges datagrams with this address only.
    pub(crate) fn connect(remote: SocketAddr) -> io::Result<Self> {
        let any: SocketAddr = match remote {
            SocketAddr::V4(_) => ([0; 4], 0).into(),
            SocketAddr::V6(_) => ([0; 8], 0).into(),
        };
        let socket = UdpSocket::bind(any)?;
        socket.connect(remote)?;
        Self::new(socket)
    }

    fn new(socket: UdpSocket) -> io::Result<Self> {
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        // The system's own limit is enough for most programs.
        let _ = state.set_recv_buffer_size(UdpSockRef::from(&socket), SOCKET_BUFFER);
        Ok(Self { socket, state })
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    pub(crate) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        self.socket.register(registry, token, Interest::READABLE)
    }

    pub(crate) fn deregister(&mut self, registry: &Registry) {
        // The socket is closed next, which removes it too.
        let _ = self.socket.deregister(registry);
    }

    /// Fills `intake` with the messages that wait. Returns false if none waits.
    pub(crate) fn recv(&self, intake: &mut Intake) -> bool {
        let mut slices: Vec<IoSliceMut<'_>> = intake
            .bytes
            .chunks_exact_mut(MESSAGE_MAX)
            .map(IoSliceMut::new)
            .collect();
        intake.filled = 0;
        // An error is that of an earlier datagram, and what waits behind it would otherwise wait for the next event.
        for _ in 0..ERRORS_MAX {
            let socket = UdpSockRef::from(&self.socket);
            match self.state.recv(socket, &mut slices, &mut intake.meta) {
                Ok(filled) => {
                    intake.filled = filled;
                    return filled > 0;
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return false,
                Err(e) => intake.refused += u64::from(e.kind() == ErrorKind::ConnectionRefused),
            }
        }
        true
    }

    /// Sends datagrams to the application. Returns how many the system did not take.
    ///
    /// They leave as Not-ECT: the ECN field of one side ends at the bridge.
    pub(crate) fn send<'a>(
        &self,
        to: AppAddr,
        datagrams: impl Iterator<Item = &'a [u8]>,
        scratch: &mut Vec<u8>,
    ) -> u64 {
        let mut dropped = 0;
        let mut run = Run::default();
        scratch.clear();
        let segments_max = self.state.max_gso_segments();
        for datagram in datagrams {
            let is_full = run.count >= segments_max || scratch.len() + datagram.len() > SEND_MAX;
            if is_full || !run.takes(datagram.len()) {
                dropped += self.flush(to, run, scratch);
                run = Run::default();
            }
            run.add(datagram.len());
            scratch.extend_from_slice(datagram);
        }
        dropped + self.flush(to, run, scratch)
    }

    /// Sends what has been collected in one system call. Returns how many datagrams the system did not take.
    fn flush(&self, to: AppAddr, run: Run, scratch: &mut Vec<u8>) -> u64 {
        if run.count == 0 {
            return 0;
        }
        let transmit = Transmit {
            destination: to.remote,
            ecn: None,
            contents: scratch,
            segment_size: (run.count > 1).then_some(run.len),
            src_ip: to.local,
        };
        let mut sent = self.state.try_send((&self.socket).into(), &transmit);
        if matches!(&sent, Err(e) if is_refusal(e.kind())) {
            // The error is that of an earlier datagram.
            sent = self.state.try_send((&self.socket).into(), &transmit);
        }
        scratch.clear();
        match sent {
            Ok(()) => 0,
            Err(_) => run.count as u64,
        }
    }
}

fn is_refusal(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset | ErrorKind::Interrupted
    )
}

/// Datagrams of one length that leave together. Only the last one may be shorter.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    count: usize,
    len: usize,
    is_closed: bool,
}

impl Run {
    fn takes(&self, len: usize) -> bool {
        // An empty datagram is no segment.
        self.count == 0 || (!self.is_closed && len <= self.len && len > 0)
    }

    fn add(&mut self, len: usize) {
        if self.count == 0 {
            self.len = len;
            self.is_closed = len == 0;
        }
        self.count += 1;
        self.is_closed |= len < self.len;
    }
}

/// Messages of one system call.
pub(crate) struct Intake {
    bytes: Vec<u8>,
    meta: [RecvMeta; BATCH_SIZE],
    filled: usize,
    /// Earlier datagrams that were refused, since [`take_refused`](Self::take_refused): no program takes them.
    refused: u64,
}

/// One message: datagrams of one length, from one sender.
pub(crate) struct Message<'a> {
    pub(crate) from: AppAddr,
    /// The network has marked the datagrams as Congestion Experienced (RFC 3168).
    pub(crate) is_ce: bool,
    bytes: &'a [u8],
    stride: usize,
}

impl<'a> Message<'a> {
    pub(crate) fn datagrams(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let is_empty = self.bytes.is_empty();
        let empty: Option<&'a [u8]> = is_empty.then_some(&[]);
        empty
            .into_iter()
            .chain(self.bytes.chunks(self.stride.max(1)))
    }
}

impl Intake {
    pub(crate) fn new() -> Self {
        Self {
            bytes: vec![0; MESSAGE_MAX * BATCH_SIZE],
            meta: [RecvMeta::default(); BATCH_SIZE],
            filled: 0,
            refused: 0,
        }
    }

    /// An intake without memory, in place of one that is in use.
    pub(crate) fn empty() -> Self {
        Self {
            bytes: Vec::new(),
            meta: [RecvMeta::default(); BATCH_SIZE],
            filled: 0,
            refused: 0,
        }
    }

    /// Datagrams to a program that the system refused, since the last call.
    pub(crate) fn take_refused(&mut self) -> u64 {
        core::mem::take(&mut self.refused)
    }

    /// The messages of the last call.
    pub(crate) fn messages(&self) -> impl Iterator<Item = Message<'_>> {
        let meta = self.meta.iter().take(self.filled);
        meta.zip(self.bytes.chunks_exact(MESSAGE_MAX))
            .map(|(meta, bytes)| Message {
                from: AppAddr {
                    remote: meta.addr,
                    local: meta.dst_ip,
                },
                is_ce: meta.ecn == Some(EcnCodepoint::Ce),
                bytes: bytes.get(..meta.len).unwrap_or(bytes),
                stride: meta.stride,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths of the runs that these datagrams make.
    fn runs(lens: &[usize]) -> Vec<usize> {
        let mut counts = Vec::new();
        let mut run = Run::default();
        for &len in lens {
            if !run.takes(len) {
                counts.push(run.count);
                run = Run::default();
            }
            run.add(len);
        }
        counts.push(run.count);
        counts
    }

    #[test]
    fn only_the_last_datagram_of_a_run_is_shorter() {
        assert_eq!(runs(&[1400, 1400, 600, 600, 600]), [3, 2]);
        assert_eq!(runs(&[600, 1400, 1400]), [1, 2]);
        assert_eq!(runs(&[0, 0, 5]), [1, 1, 1]);
        assert_eq!(runs(&[5, 0]), [1, 1]);
    }

    #[test]
    fn empty_message_is_one_empty_datagram() {
        let of = |bytes: &'static [u8], stride| {
            let from = AppAddr {
                remote: ([127, 0, 0, 1], 1).into(),
                local: None,
            };
            let message = Message {
                from,
                is_ce: false,
                bytes,
                stride,
            };
            message.datagrams().map(<[u8]>::len).collect::<Vec<_>>()
        };
        assert_eq!(of(b"", 0), [0]);
        assert_eq!(of(b"12345", 2), [2, 2, 1]);
        assert_eq!(of(b"12345", 5), [5]);
    }
}
