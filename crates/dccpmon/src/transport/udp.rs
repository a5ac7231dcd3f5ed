//! Flows over UDP, without congestion control: each has a socket of its own at both ends.

use super::stamp::KernelTimes;
use super::{
    Counters, Flow, FlowError, LOOK, Packet, Run, Sample, Sink, buffers, is_time_out, last_number,
    lock, set_buffers,
};
use crate::limits::RECV_BYTES;
use crate::schema::StampSource;
use crate::wire::figures::{Buffers, Negotiated};
use crate::wire::packet::LEN_MAX;
use core::net::{IpAddr, SocketAddr};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use dccp::safeudp::SendCode;
use dccp::unstable::io::{
    is_out_of_memory, recv_drops, recv_stamped, report_drops, stamp_arrivals,
};
use dccp::{Instant, clock};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::sync::Mutex;

/// Bytes of a UDP header.
const UDP_HEADER: u64 = 8;
/// If datagrams follow each other faster than this, the receiver does not sleep between them. On the same host the sender
/// would have to wake it for each of them.
const WATCH: Duration = Duration::from_micros(10);

/// One end of a flow over UDP.
pub(crate) struct UdpFlow {
    socket: UdpSocket,
    /// Bytes of the IP and UDP headers of a datagram.
    overhead: u64,
    incoming: Mutex<Incoming>,
    /// The source of the arrival times so far.
    stamps: Mutex<Option<StampSource>>,
    /// Datagrams that the kernel took.
    sent: AtomicU64,
    /// Datagrams that this host dropped for want of memory.
    dropped: AtomicU64,
    wire_bytes: AtomicU64,
    /// Datagrams sent against the direction of the data.
    replies: AtomicU64,
    /// The socket reports what a queue of this host drops: set by the first send.
    reports_drops: AtomicBool,
}

/// Memory of the receive calls.
struct Incoming {
    /// Room for a datagram.
    memory: Vec<u8>,
    times: KernelTimes,
    /// The source of the last arrival time.
    last: Option<StampSource>,
    /// When the last datagram was read.
    read_at: Instant,
    /// Until then, the receiver looks again and again for the next datagram, and does not sleep.
    watch_until: Instant,
}

impl UdpFlow {
    /// A flow to `peer` from any free port.
    pub(crate) fn connect(peer: SocketAddr) -> io::Result<Self> {
        let any: SocketAddr = match peer {
            SocketAddr::V4(_) => ([0; 4], 0).into(),
            SocketAddr::V6(_) => ([0; 8], 0).into(),
        };
        Self::between(bind(any, false)?, peer)
    }

    /// A flow to `peer` from the port of `listener`, which then receives nothing of this peer any more. `local` is the
    /// address that the peer uses: on a host with several, the kernel would choose one by its routes.
    pub(crate) fn accept(
        listener: &UdpSocket,
        local: IpAddr,
        peer: SocketAddr,
    ) -> io::Result<Self> {
        let mut local = SocketAddr::new(local, listener.local_addr()?.port());
        if let (SocketAddr::V6(local), SocketAddr::V6(peer)) = (&mut local, peer) {
            local.set_scope_id(peer.scope_id());
        }
        Self::between(bind(local, true)?, peer)
    }

    fn between(socket: UdpSocket, peer: SocketAddr) -> io::Result<Self> {
        socket.connect(peer)?;
        socket.set_read_timeout(Some(LOOK))?;
        socket.set_write_timeout(Some(LOOK))?;
        let times = stamp_arrivals(&socket).map_or(KernelTimes::NONE, |()| KernelTimes::new());
        let ip_header = if peer.is_ipv4() { 20 } else { 40 };
        Ok(Self {
            socket,
            overhead: ip_header + UDP_HEADER,
            incoming: Mutex::new(Incoming {
                memory: vec![0; LEN_MAX],
                times,
                last: None,
                read_at: Instant::ZERO,
                watch_until: Instant::ZERO,
            }),
            stamps: Mutex::default(),
            sent: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            wire_bytes: AtomicU64::new(0),
            replies: AtomicU64::new(0),
            reports_drops: AtomicBool::new(false),
        })
    }

    fn send_one(&self, datagram: &[u8]) -> io::Result<usize> {
        if !self.reports_drops.swap(true, Ordering::Relaxed) {
            self.report_drops()?;
        }
        match self.socket.send(datagram) {
            Err(e) if is_unreachable(&e) => {
                // It can be an old ICMP error.
                self.report_drops()?;
                self.socket.send(datagram)
            }
            outcome => outcome,
        }
    }

    /// A queue of this host that drops a datagram says so from now on. ICMP errors that wait are removed.
    fn report_drops(&self) -> io::Result<()> {
        report_drops(&self.socket, self.socket.local_addr()?.is_ipv6())
    }

    fn count(&self, sent: u64, dropped: u64, length: usize) {
        self.sent.fetch_add(sent, Ordering::Relaxed);
        self.dropped.fetch_add(dropped, Ordering::Relaxed);
        let bytes = (sent - dropped) * (length as u64 + self.overhead);
        self.wire_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A UDP socket. A shared address can be bound by several sockets of this program.
pub(crate) fn bind(local: SocketAddr, is_shared: bool) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(local), Type::DGRAM, Some(Protocol::UDP))?;
    if local.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    #[cfg(unix)]
    socket.set_reuse_port(is_shared)?;
    #[cfg(not(unix))]
    socket.set_reuse_address(is_shared)?;
    let bytes = usize::try_from(RECV_BYTES).unwrap_or(usize::MAX);
    socket.set_recv_buffer_size(bytes)?;
    socket.bind(&local.into())?;
    Ok(socket.into())
}

impl Flow for UdpFlow {
    fn send(&self, run: &Run<'_>) -> Result<usize, FlowError> {
        let (mut taken, mut dropped) = (0, 0);
        let mut outcome = Ok(());
        for datagram in run.datagrams() {
            match self.send_one(datagram) {
                Ok(_) => taken += 1,
                Err(e) if is_out_of_memory(&e) => {
                    taken += 1;
                    dropped += 1;
                }
                Err(e) => {
                    outcome = Err(e);
                    break;
                }
            }
        }
        self.count(taken, dropped, run.length);
        match outcome {
            // The next call returns the error again.
            Err(e) if taken == 0 && !is_time_out(&e) => Err(failure(&e)),
            _ => Ok(usize::try_from(taken).unwrap_or(usize::MAX)),
        }
    }

    fn local_addr(&self) -> Option<SocketAddr> {
        self.socket.local_addr().ok()
    }

    fn reply(&self, datagram: &[u8]) {
        if self.socket.send(datagram).is_ok() {
            self.replies.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn recv(&self, sink: Sink<'_>) -> Result<(), FlowError> {
        let mut incoming = lock(&self.incoming);
        let Incoming {
            memory,
            times,
            last,
            read_at,
            watch_until,
        } = &mut *incoming;
        let received = loop {
            let waits = clock::now() >= *watch_until;
            match recv_stamped(&self.socket, memory, waits) {
                Err(e) if !waits && is_time_out(&e) => core::hint::spin_loop(),
                outcome => break outcome,
            }
        };
        let (length, stamp) = match received {
            Ok(received) => received,
            Err(e) if is_time_out(&e) => return Ok(()),
            Err(e) => return Err(failure(&e)),
        };
        let now = clock::now();
        if now - core::mem::replace(read_at, now) < WATCH {
            *watch_until = now + WATCH;
        }
        let (arrived, source) = times.arrival(stamp);
        if last.replace(source) != Some(source) {
            let mut stamps = lock(&self.stamps);
            *stamps = StampSource::of_all([*stamps, Some(source)]);
        }
        let is_by_kernel = source == StampSource::Kernel;
        let packet = Packet {
            bytes: memory.get(..length).unwrap_or_default(),
            arrived,
            waited: is_by_kernel.then(|| clock::now() - arrived),
            is_marked: false,
        };
        sink(&mut core::iter::once(packet));
        Ok(())
    }

    fn stamps(&self) -> Option<StampSource> {
        *lock(&self.stamps)
    }

    fn shows_end(&self) -> bool {
        false
    }

    fn sample(&self) -> Option<Sample> {
        None
    }

    fn store_queue_times(&self) {}

    fn queue_times(&self, _: &mut dyn FnMut(Duration)) {}

    fn conclusions(&self, _add: &mut dyn FnMut(SendCode)) {}

    fn shows_round_trips(&self) -> bool {
        false
    }

    fn counters(&self) -> Option<Counters> {
        let sent = self.sent.load(Ordering::Relaxed);
        Some(Counters {
            taken: sent,
            left: sent,
            dropped_host: self.dropped.load(Ordering::Relaxed),
            wire_bytes: self.wire_bytes.load(Ordering::Relaxed),
            packets_sent: sent + self.replies.load(Ordering::Relaxed),
            dropped_kernel: recv_drops(&self.socket),
            ..Counters::default()
        })
    }

    fn negotiated(&self) -> Negotiated {
        Negotiated::default()
    }

    fn protocol_counters(&self, _: &mut dyn FnMut(String, u64)) {}

    fn flush(&self) -> bool {
        true
    }

    fn withdraw(&self) -> u64 {
        0
    }

    fn is_drained(&self) -> bool {
        true
    }

    fn close(&self) {}

    fn has_closed(&self, _: Instant) -> bool {
        true
    }

    fn abort(&self) {}

    fn set_buffers(&self, bytes: u64) -> io::Result<()> {
        set_buffers(&SockRef::from(&self.socket), bytes)
    }

    fn buffers(&self) -> Buffers {
        let max = ["net.core.rmem_max", "net.core.wmem_max"].map(last_number);
        buffers(&SockRef::from(&self.socket), max)
    }
}

fn is_unreachable(e: &io::Error) -> bool {
    use ErrorKind::{HostUnreachable, NetworkUnreachable};
    matches!(e.kind(), HostUnreachable | NetworkUnreachable)
}

fn failure(e: &io::Error) -> FlowError {
    FlowError(match e.kind() {
        ErrorKind::ConnectionRefused => "the peer's UDP port is closed".into(),
        _ => e.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ends of a flow. The server's address is 127.0.0.`host`, and its listener has all addresses.
    fn pair_at(host: u8) -> (UdpFlow, UdpFlow) {
        let listener = bind(([0; 4], 0).into(), true).unwrap();
        let to = IpAddr::from([127, 0, 0, host]);
        let port = listener.local_addr().unwrap().port();
        let client = UdpFlow::connect((to, port).into()).unwrap();
        // The system names a local address once the socket is connected.
        let peer = client.socket.local_addr().unwrap();
        let server = UdpFlow::accept(&listener, to, peer).unwrap();
        (client, server)
    }

    fn pair() -> (UdpFlow, UdpFlow) {
        pair_at(1)
    }

    fn received(flow: &UdpFlow) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        flow.recv(&mut |packets| all.extend(packets.map(|p| p.bytes.to_vec())))
            .unwrap();
        all
    }

    #[test]
    fn accepted_flow_takes_the_datagrams_of_its_peer() {
        let (client, server) = pair();
        let bytes = [[1; 50], [2; 50], [3; 50]].concat();
        let run = Run {
            bytes: &bytes,
            length: 50,
        };
        assert_eq!(client.send(&run).unwrap(), 3);
        let all: Vec<Vec<u8>> = (0..3).flat_map(|_| received(&server)).collect();
        assert_eq!(all.concat(), bytes);
        let counters = client.counters().unwrap();
        assert_eq!((counters.taken, counters.left), (3, 3));
        assert_eq!(counters.wire_bytes, 3 * (50 + 28));
        assert_eq!(server.send(&run).unwrap(), 3);
        assert_eq!(received(&client), [vec![1; 50]]);
    }

    // Only Linux has all of 127.0.0.0/8 without preparation.
    #[test]
    #[cfg(target_os = "linux")]
    fn flow_uses_the_address_that_its_peer_uses() {
        let (client, server) = pair_at(5);
        let bytes = [7; 50];
        let run = Run {
            bytes: &bytes,
            length: 50,
        };
        for (from, to) in [(&client, &server), (&server, &client)] {
            assert_eq!(from.send(&run).unwrap(), 1);
            assert_eq!(received(to), [bytes.to_vec()]);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn full_receive_buffer_is_counted() {
        let (client, server) = pair();
        let small = SockRef::from(&server.socket);
        small.set_recv_buffer_size(4096).unwrap();
        let bytes = vec![7; 1000 * 64];
        let run = Run {
            bytes: &bytes,
            length: 1000,
        };
        assert_eq!(client.send(&run).unwrap(), 64);
        let mut delivered = 0;
        loop {
            match received(&server).len() {
                0 => break,
                more => delivered += more as u64,
            }
        }
        let dropped = server.counters().unwrap().dropped_kernel.unwrap();
        assert!(delivered < 64);
        assert_eq!(delivered + dropped, 64);
    }
}
