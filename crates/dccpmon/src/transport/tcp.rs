//! Flows over TCP of the system. The data are blocks of one length that begin with the head of a test packet.

use super::{
    Counters, Flow, FlowError, LOOK, Packet, Run, Sample, Sink, buffers, is_time_out, last_number,
    lock, set_buffers,
};
use crate::schema::{StampSource, TcpTotals};
use crate::wire::figures::{Buffers, Negotiated};
use core::net::SocketAddr;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use dccp::safeudp::SendCode;
use dccp::unstable::io::{TcpState, tcp_state};
use dccp::{Instant, clock};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Mutex;

/// Connections that the system holds before they are accepted.
const BACKLOG: i32 = 64;
/// Blocks that one call of the system writes or reads.
const BLOCKS: usize = 2;
/// The longest time for opening a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// The time between two looks at data that wait in the kernel.
const PAUSE: Duration = Duration::from_millis(1);
/// The congestion controls of flows for which none was asked for: the first one that the system has.
const USUAL: [&str; 2] = ["cubic", "reno"];
/// The congestion controls that the kernel has at hand.
const LISTED: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// One end of a flow over TCP.
pub(crate) struct TcpFlow {
    stream: TcpStream,
    /// Bytes of a block.
    length: usize,
    /// Memory for blocks that arrive, and how much of it is filled. The first byte begins a block.
    incoming: Mutex<(Vec<u8>, usize)>,
    /// The rest of a block that the kernel did not take.
    outgoing: Mutex<Vec<u8>>,
    /// Blocks whose sending has begun.
    taken: AtomicU64,
}

impl TcpFlow {
    /// Opens a connection for blocks of `length` bytes.
    pub(crate) fn connect(peer: SocketAddr, length: usize) -> io::Result<Self> {
        let socket = socket(peer)?;
        socket.connect_timeout(&peer.into(), CONNECT)?;
        Self::new(socket.into(), length)
    }

    /// An open connection for blocks of `length` bytes.
    pub(crate) fn new(stream: TcpStream, length: usize) -> io::Result<Self> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(LOOK))?;
        stream.set_write_timeout(Some(LOOK))?;
        Ok(Self {
            stream,
            length,
            incoming: Mutex::new((vec![0; length * BLOCKS], 0)),
            outgoing: Mutex::default(),
            taken: AtomicU64::new(0),
        })
    }

    /// Hands bytes to the kernel, and waits at most [`LOOK`] for room. Returns how many it took.
    fn write(&self, bytes: &[u8]) -> Result<usize, FlowError> {
        if bytes.is_empty() {
            return Ok(0);
        }
        match (&self.stream).write(bytes) {
            Ok(0) => Err(FlowError("the peer has closed the connection".into())),
            Ok(taken) => Ok(taken),
            Err(e) if is_time_out(&e) => Ok(0),
            Err(e) => Err(FlowError(e.to_string())),
        }
    }

    /// Hands over the rest of a block. Returns whether nothing is left.
    fn complete(&self, rest: &mut Vec<u8>) -> Result<bool, FlowError> {
        let taken = self.write(rest)?;
        rest.drain(..taken);
        Ok(rest.is_empty())
    }
}

impl Flow for TcpFlow {
    fn send(&self, run: &Run<'_>) -> Result<usize, FlowError> {
        let mut rest = lock(&self.outgoing);
        if !self.complete(&mut rest)? {
            return Ok(0);
        }
        let until = clock::now() + LOOK;
        let mut begun = 0;
        for blocks in run.bytes.chunks(run.length * BLOCKS) {
            let taken = match self.write(blocks) {
                Ok(taken) => taken,
                // The next call returns the error again.
                Err(_) if begun > 0 => break,
                Err(e) => return Err(e),
            };
            let started = taken.div_ceil(run.length);
            begun += started;
            // A block that has begun must be completed before the next one.
            rest.extend_from_slice(&blocks[taken..started * run.length]);
            if taken < blocks.len() || clock::now() >= until {
                break;
            }
        }
        self.taken.fetch_add(begun as u64, Ordering::Relaxed);
        Ok(begun)
    }

    fn recv(&self, sink: Sink<'_>) -> Result<(), FlowError> {
        let mut incoming = lock(&self.incoming);
        let (memory, filled) = &mut *incoming;
        match (&self.stream).read(&mut memory[*filled..]) {
            Ok(0) => {
                // The peer waits for this.
                let _ = self.stream.shutdown(Shutdown::Write);
                return Err(FlowError("the peer has closed the connection".into()));
            }
            Ok(length) => *filled += length,
            Err(e) if is_time_out(&e) => return Ok(()),
            Err(e) => return Err(FlowError(e.to_string())),
        }
        if *filled >= self.length {
            let arrived = clock::now();
            let blocks = memory[..*filled].chunks_exact(self.length);
            sink(&mut blocks.map(|bytes| Packet {
                bytes,
                arrived,
                waited: None,
                is_marked: false,
            }));
            let rest = *filled % self.length;
            memory.copy_within(*filled - rest..*filled, 0);
            *filled = rest;
        }
        Ok(())
    }

    fn stamps(&self) -> Option<StampSource> {
        Some(StampSource::Program)
    }

    fn shows_end(&self) -> bool {
        true
    }

    fn reply(&self, _: &[u8]) {}

    fn conclusions(&self, _add: &mut dyn FnMut(SendCode)) {}

    fn shows_round_trips(&self) -> bool {
        true
    }

    fn store_queue_times(&self) {}

    fn queue_times(&self, _: &mut dyn FnMut(Duration)) {}

    fn sample(&self) -> Option<Sample> {
        let state = tcp_state(&self.stream)?;
        let is_idle = state.unsent_bytes == 0 && state.unacked_segments == 0;
        Some(Sample {
            safe_udp: None,
            rtt: Some((clock::now(), Duration::from_micros(state.rtt_us.into()))),
            is_idle,
            is_sequence_window_full: false,
            is_window_full: !is_idle && state.unacked_segments >= state.cwnd_segments,
            cwnd_packets: Some(f64::from(state.cwnd_segments)),
            // The system names no threshold by a very large one.
            ssthresh_packets: Some(state.ssthresh_segments)
                .filter(|n| *n < 1 << 30)
                .map(f64::from),
            rate_bps: None,
            phase: Some(phase(&state)),
            lost: state.retransmitted_segments.into(),
            retransmitted: Some(state.retransmitted_segments.into()),
        })
    }

    fn counters(&self) -> Option<Counters> {
        let taken = self.taken.load(Ordering::Relaxed);
        let state = tcp_state(&self.stream);
        Some(Counters {
            taken,
            left: taken,
            wire_bytes: state.map_or(0, |s| wire_bytes(&s, self.stream.peer_addr().ok())),
            tcp: state.map(|state| totals(&state)),
            ..Counters::default()
        })
    }

    fn negotiated(&self) -> Negotiated {
        Negotiated {
            cc: congestion(&SockRef::from(&self.stream)),
            mss_bytes: tcp_state(&self.stream).map(|state| state.mss_bytes.into()),
            ..Negotiated::default()
        }
    }

    fn protocol_counters(&self, _: &mut dyn FnMut(String, u64)) {}

    fn flush(&self) -> bool {
        // A connection that has failed sends no more.
        let has_left = self.complete(&mut lock(&self.outgoing)).unwrap_or(true)
            && tcp_state(&self.stream).is_none_or(|state| state.unsent_bytes == 0);
        if !has_left {
            std::thread::sleep(PAUSE);
        }
        has_left
    }

    fn withdraw(&self) -> u64 {
        0
    }

    fn is_drained(&self) -> bool {
        // A connection that has failed sends no more.
        self.complete(&mut lock(&self.outgoing)).unwrap_or(true)
            && tcp_state(&self.stream)
                .is_none_or(|state| state.unsent_bytes == 0 && state.unacked_segments == 0)
    }

    fn close(&self) {
        // It fails if the connection has ended.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    fn has_closed(&self, until: Instant) -> bool {
        let mut memory = vec![0; self.length];
        while clock::now() < until {
            match (&self.stream).read(&mut memory) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(e) if is_time_out(&e) => {}
                Err(_) => return true,
            }
        }
        false
    }

    fn abort(&self) {
        // It fails if the connection has ended.
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    fn local_addr(&self) -> Option<SocketAddr> {
        self.stream.local_addr().ok()
    }

    fn set_congestion(&self, name: &str) -> io::Result<()> {
        set_congestion(&SockRef::from(&self.stream), name)
    }

    fn set_buffers(&self, bytes: u64) -> io::Result<()> {
        set_buffers(&SockRef::from(&self.stream), bytes)
    }

    fn buffers(&self) -> Buffers {
        let max = ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"].map(last_number);
        buffers(&SockRef::from(&self.stream), max)
    }
}

fn phase(state: &TcpState) -> &'static str {
    match state.recovery {
        2 => "cwr",
        3 => "recovery",
        4 => "loss",
        _ if state.cwnd_segments < state.ssthresh_segments => "slow_start",
        _ => "avoid",
    }
}

/// Bytes of IP packets with data; acknowledgements are not counted.
fn wire_bytes(state: &TcpState, peer: Option<SocketAddr>) -> u64 {
    const TCP_WITH_TIMESTAMPS: u64 = 32;
    let ip = if peer.is_some_and(|p| p.is_ipv6()) {
        40
    } else {
        20
    };
    state.sent_bytes + u64::from(state.data_segments) * (ip + TCP_WITH_TIMESTAMPS)
}

fn totals(state: &TcpState) -> TcpTotals {
    TcpTotals {
        sent_bytes: state.sent_bytes,
        acknowledged_bytes: state.acknowledged_bytes,
        retransmitted_segments: state.retransmitted_segments.into(),
        retransmitted_bytes: state.retransmitted_bytes,
        busy_ns: state.busy_us * 1000,
        rwnd_limited_ns: state.rwnd_limited_us * 1000,
        sndbuf_limited_ns: state.sndbuf_limited_us * 1000,
    }
}

/// A socket with the usual congestion control: systems differ in theirs, and results must be comparable.
fn socket(local_or_peer: SocketAddr) -> io::Result<Socket> {
    let domain = Domain::for_address(local_or_peer);
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
    for name in USUAL {
        if set_congestion(&socket, name).is_ok() {
            break;
        }
    }
    Ok(socket)
}

/// A listener. The address may have been used a moment ago. Connections inherit the congestion control.
pub(crate) fn listen(local: SocketAddr) -> io::Result<TcpListener> {
    let socket = socket(local)?;
    if local.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    #[cfg(unix)]
    socket.set_reuse_address(true)?;
    socket.bind(&local.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Whether TCP of this system has a congestion control of this name, and lets this program choose it.
pub(crate) fn has_congestion(name: &str) -> bool {
    // The kernel would load a module for a name that it does not list, if the program may do that. The name can be
    // that of a remote client.
    let listed = std::fs::read_to_string(LISTED);
    if listed.is_ok_and(|list| !list.split_whitespace().any(|known| known == name)) {
        return false;
    }
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP));
    socket.is_ok_and(|socket| set_congestion(&socket, name).is_ok())
}

#[cfg(any(target_os = "linux", target_os = "freebsd"))]
fn set_congestion(socket: &Socket, name: &str) -> io::Result<()> {
    socket.set_tcp_congestion(name.as_bytes())
}

#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
fn set_congestion(_: &Socket, _: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The name of a connection's congestion control; `None` where the system does not show it.
#[cfg(any(target_os = "linux", target_os = "freebsd"))]
fn congestion(socket: &Socket) -> Option<String> {
    let name = socket.tcp_congestion().ok()?;
    // The kernel fills its field with zeros.
    let name = name.split(|byte| *byte == 0).next()?;
    Some(String::from_utf8_lossy(name).into_owned())
}

#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
fn congestion(_: &Socket) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(length: usize) -> (TcpFlow, TcpFlow) {
        let listener = listen(([127, 0, 0, 1], 0).into()).unwrap();
        let client = TcpFlow::connect(listener.local_addr().unwrap(), length).unwrap();
        let (stream, _) = listener.accept().unwrap();
        (client, TcpFlow::new(stream, length).unwrap())
    }

    fn received(flow: &TcpFlow) -> Vec<u8> {
        let mut all = Vec::new();
        flow.recv(&mut |packets| packets.for_each(|p| all.extend_from_slice(p.bytes)))
            .unwrap();
        all
    }

    #[test]
    fn blocks_arrive_whole_and_the_end_is_shown() {
        let (sender, receiver) = pair(50);
        let bytes = [[1; 50], [2; 50], [3; 50]].concat();
        let run = Run {
            bytes: &bytes,
            length: 50,
        };
        assert_eq!(sender.send(&run).unwrap(), 3);
        let mut all = Vec::new();
        while all.len() < bytes.len() {
            all.extend(received(&receiver));
        }
        assert_eq!(all, bytes);
        assert_eq!(sender.counters().unwrap().left, 3);
        sender.close();
        let until = clock::now() + CONNECT;
        while receiver.recv(&mut |_| {}).is_ok() {
            assert!(clock::now() < until);
        }
        assert!(sender.has_closed(until));
    }

    #[test]
    fn sender_whose_peer_reads_late_loses_nothing() {
        let (sender, receiver) = pair(64_000);
        let bytes = vec![7; 64_000 * 64];
        let run = Run {
            bytes: &bytes,
            length: 64_000,
        };
        let until = clock::now() + CONNECT;
        let mut given = 0;
        // The buffers of loopback hold some megabytes. A call that finds no room ends.
        loop {
            assert!(clock::now() < until, "the kernel took {given} blocks");
            let taken = sender.send(&run).unwrap();
            if taken == 0 {
                break;
            }
            given += taken;
        }
        assert!(!sender.is_drained());
        let mut delivered = 0;
        while delivered < given {
            assert!(
                clock::now() < until,
                "{delivered} of {given} blocks arrived"
            );
            delivered += received(&receiver).len() / 64_000;
            sender.is_drained();
        }
        assert_eq!(sender.counters().unwrap().taken, given as u64);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn chosen_congestion_control_is_recorded() {
        let (sender, receiver) = pair(50);
        // Each kernel has reno.
        assert!(has_congestion("reno") && !has_congestion("nosuch"));
        sender.set_congestion("reno").unwrap();
        assert_eq!(sender.negotiated().cc.as_deref(), Some("reno"));
        let inherited = receiver.negotiated().cc.unwrap();
        assert!(USUAL.contains(&inherited.as_str()), "{inherited}");
    }
}
