//! TCP of the kernel.

use super::LiveError;
use super::end::{LOOK, Received, Receivers, Sample, Sender, lock};
use super::pump::Pump;
use crate::run::outcome::RoundTrip;
use crate::run::stage::State;
use ::dccp::unstable::io::{TcpState, tcp_state};
use core::net::{Ipv4Addr, SocketAddr};
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use dccp_proto::time::nanos;
use dccp_sim::source::{App, Source};
use dccp_sim::tcp::Config;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;

/// The longest time for opening a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// Bytes that one call hands to the kernel or takes from it.
const BLOCK: usize = 1 << 16;
/// Connections that wait to be accepted.
const BACKLOG: i32 = 1024;
/// Bytes of the Timestamps option of each segment, which the MSS of a socket counts.
const TIMESTAMPS: u32 = 12;

/// A stream over TCP.
pub(super) struct TcpSender {
    stream: Arc<Stream>,
    port: u16,
    /// Bytes acknowledged at the last sample of the round trip.
    acknowledged: u64,
    /// The last state, once the stream is stopped.
    last: Option<TcpState>,
}

#[derive(Default)]
struct Stream {
    /// Until the end of the stream: then the kernel resets the connection.
    socket: Mutex<Option<TcpStream>>,
    pump: OnceLock<Pump>,
    is_over: AtomicBool,
    failed: Mutex<Option<String>>,
}

/// An unconnected socket in the namespace of the calling thread, with a congestion control of the kernel.
pub(super) fn open(address: Ipv4Addr, law: &str, config: &Config) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_tcp_congestion(law.as_bytes())?;
    set_segments(&socket, config)?;
    socket.bind(&SocketAddr::from((address, 0)).into())?;
    Ok(socket)
}

/// A listener in the namespace of the calling thread.
pub(super) fn listen(address: Ipv4Addr, port: u16, config: &Config) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    set_segments(&socket, config)?;
    socket.bind(&SocketAddr::from((address, port)).into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Sets the size of segments, if it is not what packets of 1500 bytes hold.
fn set_segments(socket: &Socket, config: &Config) -> io::Result<()> {
    if config.mss == Config::default().mss {
        return Ok(());
    }
    socket.set_tcp_mss(u32::from(config.mss) + TIMESTAMPS)
}

impl TcpSender {
    /// Connects and sends on a thread of its own.
    pub(super) fn start(
        socket: Socket,
        remote: SocketAddr,
        app: App,
    ) -> Result<(Self, JoinHandle<()>), LiveError> {
        let local = socket.local_addr()?.as_socket();
        let port = local.map_or(0, |local| local.port());
        let stream = Arc::new(Stream::default());
        let sending = stream.clone();
        let thread = std::thread::spawn(move || {
            if let Err(error) = sending.run(socket, remote, &app) {
                *lock(&sending.failed) = Some(error.to_string());
            }
        });
        let sender = Self {
            stream,
            port,
            acknowledged: 0,
            last: None,
        };
        Ok((sender, thread))
    }

    fn state(&self) -> Option<TcpState> {
        let now = lock(&self.stream.socket).as_ref().and_then(tcp_state);
        now.or(self.last)
    }
}

impl Stream {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Connects, and sends what the application has until the end.
    fn run(&self, socket: Socket, remote: SocketAddr, app: &App) -> io::Result<()> {
        socket.connect_timeout(&remote.into(), CONNECT)?;
        socket.set_write_timeout(Some(LOOK))?;
        // Data that wait when the stream ends are not sent.
        socket.set_linger(Some(Duration::ZERO))?;
        let mut stream = TcpStream::from(socket);
        *lock(&self.socket) = Some(stream.try_clone()?);
        let zeros = vec![0; BLOCK];
        if let Source::Bulk { len, count } = app.source {
            let bytes = count.saturating_mul(len as u64);
            self.send(&mut stream, &zeros, bytes)?;
            while !self.is_over() {
                std::thread::sleep(LOOK);
            }
            return Ok(());
        }
        let mut result = Ok(());
        let pump = self.pump.get_or_init(|| Pump::new(app));
        if self.is_over() {
            // It ended before the pump was there.
            pump.end();
        }
        pump.run(|message| {
            result = self.send(&mut stream, &zeros, message.len() as u64);
            result.is_ok()
        });
        result
    }

    /// Hands this number of bytes to the kernel, until the end of the stream.
    fn send(&self, stream: &mut TcpStream, zeros: &[u8], mut bytes: u64) -> io::Result<()> {
        while bytes > 0 && !self.is_over() {
            let len = usize::try_from(bytes).unwrap_or(BLOCK).min(BLOCK);
            match stream.write(&zeros[..len]) {
                Ok(taken) => bytes -= taken as u64,
                Err(error) if is_time_out(&error) => {}
                Err(_) if self.is_over() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Sender for TcpSender {
    fn port(&self) -> Option<u16> {
        Some(self.port)
    }

    fn sample(&self) -> Sample {
        let Some(state) = self.state() else {
            return Sample {
                lost: Some(0),
                broken: lock(&self.stream.failed).clone(),
                ..Sample::default()
            };
        };
        let retransmitted = u64::from(state.retransmitted_segments);
        // A very large number stands for no threshold.
        let threshold = Some(state.ssthresh_segments).filter(|n| *n < 1 << 30);
        Sample {
            sent: state.data_segments.into(),
            lost: Some(retransmitted),
            retransmitted,
            state: State {
                cwnd_packets: Some(state.cwnd_segments.into()),
                ssthresh_packets: threshold.map(f64::from),
                rtt: Some(Duration::from_micros(state.rtt_us.into())),
                rate_bps: None,
            },
            broken: lock(&self.stream.failed).clone(),
            ..Sample::default()
        }
    }

    fn round_trips(&mut self, now: Duration) -> Vec<RoundTrip> {
        let state = self
            .state()
            .filter(|state| state.acknowledged_bytes > self.acknowledged);
        let Some(state) = state else {
            return Vec::new();
        };
        self.acknowledged = state.acknowledged_bytes;
        let rtt = Duration::from_micros(state.rtt_us.into());
        vec![RoundTrip {
            at: now,
            rtt_ns: nanos(rtt),
        }]
    }

    fn lateness(&self) -> (u64, u64) {
        self.stream.pump.get().map_or((0, 0), Pump::counts)
    }

    fn stop(&mut self) {
        self.last = self.state();
        self.stream.is_over.store(true, Ordering::Relaxed);
        if let Some(pump) = self.stream.pump.get() {
            pump.end();
        }
        // The thread has the other descriptor; with the last one the connection is reset.
        lock(&self.stream.socket).take();
    }
}

/// Accepts the connections of a flow until its end. Returns the threads that read them.
pub(super) fn accept(listener: &TcpListener, mss: u16, receivers: &Arc<Receivers>) {
    /// The time between two looks for a new connection.
    const PAUSE: Duration = Duration::from_millis(5);
    let mut threads = Vec::new();
    while !receivers.is_over() {
        let Ok((stream, peer)) = listener.accept() else {
            std::thread::sleep(PAUSE);
            continue;
        };
        let received = receivers.of(peer.port());
        let receivers = receivers.clone();
        threads.push(std::thread::spawn(move || {
            // An error is the end of the connection.
            let _ = read(stream, mss, &received, &receivers);
        }));
    }
    for thread in threads {
        // A thread that panicked has said so.
        let _ = thread.join();
    }
}

fn read(
    mut stream: TcpStream,
    mss: u16,
    received: &Received,
    receivers: &Receivers,
) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(LOOK))?;
    SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
    let mut memory = vec![0; 4 * BLOCK];
    while !receivers.is_over() {
        match stream.read(&mut memory) {
            Ok(0) => return Ok(()),
            Ok(len) => {
                let before = received.bytes();
                let segments = |bytes: u64| bytes / u64::from(mss);
                let after = before + len as u64;
                received.add(segments(after) - segments(before), len as u64);
            }
            Err(error) if is_time_out(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn is_time_out(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}
