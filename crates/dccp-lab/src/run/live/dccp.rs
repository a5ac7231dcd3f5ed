//! Our DCCP, over IP protocol 33 as in the simulator.

use super::LiveError;
use super::end::{LOOK, Received, Receivers, Sample, Sender, lock};
use super::pump::Pump;
use crate::run::outcome::RoundTrip;
use crate::run::stage::State;
use crate::run::streams::has_ack_vectors;
use ::dccp::safeudp::SendCode;
use ::dccp::{
    AcceptError, CloseReason, DccpAddr, Encapsulation, Engine, Event, Listener, Options, RecvBatch,
    RecvError, SendError, SendOptions, Socket, WhenFull,
};
use core::net::{Ipv4Addr, SocketAddr};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use dccp_emu::clock;
use dccp_proto::time::nanos;
use dccp_proto::wire::Payload;
use dccp_proto::{Config, Instant, Rate};
use dccp_sim::source::{App, Message, Reading, Source, Stamp};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;

const SERVICE: [u8; 4] = *b"LAB ";
/// The longest time for opening a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// The time between two samples of what a receiver misses.
const SAMPLE: Duration = Duration::from_millis(10);
/// Datagrams that one call takes at most.
const BATCH: usize = 64;
/// A slow reader that wakes late by more than this does not make up for it.
const CATCH_UP: Duration = Duration::from_millis(10);
/// Connections of one host to another.
const CONNECTIONS: usize = 4096;

/// A stream over DCCP.
pub(super) struct DccpSender {
    stream: Arc<Stream>,
    /// When the last fetched round trip was measured.
    seen: Option<Instant>,
    is_stopped: bool,
}

struct Stream {
    socket: OnceLock<Socket>,
    pump: OnceLock<Pump>,
    is_over: AtomicBool,
    failed: Mutex<Option<String>>,
    /// Datagrams that found no room in the send buffer.
    overflowed: AtomicU64,
    answered_bytes: AtomicU64,
    /// Round trips of stamped datagrams, and when they ended.
    pings: Mutex<Vec<(Instant, Duration)>>,
    /// The receiver reports the fate of each packet.
    reports_fates: bool,
    /// The start of the run.
    begin: Instant,
}

/// The settings of both ends.
fn options(config: &Config, engine: &Engine) -> Options {
    let plan = config.clone();
    Options::new()
        .configure(move |own| {
            *own = Config {
                connect_timeout: CONNECT,
                ..plan
            }
        })
        .service_code(SERVICE)
        .encapsulation(Encapsulation::Ip)
        .engine(engine)
        .send_timeout(LOOK)
        .recv_timeout(LOOK)
        .backlog(CONNECTIONS)
        .connections_per_source(CONNECTIONS)
}

/// A listener. The engine runs in the namespace of the host.
pub(super) fn listen(
    engine: &Engine,
    address: Ipv4Addr,
    port: u16,
    config: &Config,
    app: &App,
) -> Result<Listener, LiveError> {
    let local = DccpAddr::new(address.into(), 0, port);
    let mut options = options(config, engine);
    if app.reading != Reading::AtOnce {
        options = options.recv_buffer(app.receive_buffer);
    }
    Listener::bind(local, &options).map_err(|error| {
        LiveError::failed(
            format!("DCCP over IP: {error}"),
            "unload the kernel's own DCCP (`rmmod dccp_ipv4 dccp`)",
        )
    })
}

/// The ends of a stream.
pub(super) struct Ends {
    pub(super) local: Ipv4Addr,
    pub(super) remote: Ipv4Addr,
    /// The port of the listener.
    pub(super) port: u16,
}

impl DccpSender {
    /// Connects and sends on a thread of its own.
    pub(super) fn start(
        engine: &Engine,
        ends: &Ends,
        config: &Config,
        app: App,
        begin: Instant,
    ) -> (Self, JoinHandle<()>) {
        let options = options(config, engine).bind(SocketAddr::from((ends.local, 0)));
        let remote = DccpAddr::new(ends.remote.into(), 0, ends.port);
        let stream = Arc::new(Stream {
            socket: OnceLock::new(),
            pump: OnceLock::new(),
            is_over: AtomicBool::new(false),
            failed: Mutex::default(),
            overflowed: AtomicU64::new(0),
            answered_bytes: AtomicU64::new(0),
            pings: Mutex::default(),
            reports_fates: has_ack_vectors(config),
            begin,
        });
        let sending = stream.clone();
        let thread = std::thread::spawn(move || match Socket::connect(remote, &options) {
            Ok(socket) => sending.run(socket, &app),
            Err(error) => *lock(&sending.failed) = Some(error.to_string()),
        });
        let sender = Self {
            stream,
            seen: None,
            is_stopped: false,
        };
        (sender, thread)
    }
}

impl Stream {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Sends what the application has until the end.
    fn run(&self, socket: Socket, app: &App) {
        let socket = self.socket.get_or_init(|| socket);
        if let Source::Bulk { len, count } = app.source {
            return self.send_bulk(socket, len, count);
        }
        let pump = self.pump.get_or_init(|| Pump::new(app));
        std::thread::scope(|scope| {
            scope.spawn(|| self.receive(socket, app, pump));
            pump.run(|message| self.send(socket, &message));
        });
    }

    /// Sends as much as the transport takes, in datagrams of `len` bytes, or fewer if the path has not that size.
    fn send_bulk(&self, socket: &Socket, len: usize, mut count: u64) {
        while count > 0 && !self.is_over() {
            let mps = socket.max_packet_size().unwrap_or(len);
            match socket.send_zeros(len.min(mps)) {
                Ok(_) => count -= 1,
                // The path has become smaller.
                Err(SendError::TimedOut | SendError::TooBig { .. }) => {}
                Err(_) => return,
            }
        }
    }

    /// Sends a datagram that is due now. Returns whether to go on.
    fn send(&self, socket: &Socket, message: &Message) -> bool {
        let options = SendOptions::new().when_full(WhenFull::Error);
        let sent = match message {
            Message::Bytes(bytes) => socket.send_with(bytes, options),
            Message::Zeros(len) => socket.send_with(&vec![0; *len], options),
        };
        match sent {
            Ok(_) => true,
            Err(SendError::WouldBlock | SendError::TimedOut | SendError::TooBig { .. }) => {
                self.overflowed.fetch_add(1, Ordering::Relaxed);
                true
            }
            Err(_) => false,
        }
    }

    /// Receives what the peer sends back.
    fn receive(&self, socket: &Socket, app: &App, pump: &Pump) {
        let mut batch = RecvBatch::new(BATCH);
        let counts_answers = matches!(app.source, Source::Requests { .. });
        while !self.is_over() && !pump.is_over() {
            take_advice(socket, app, pump);
            match socket.recv_batch(&mut batch) {
                Ok(_) => {}
                Err(RecvError::TimedOut) => continue,
                Err(_) => return,
            }
            let now = clock::now();
            for datagram in &batch {
                if let Some(stamp) = Stamp::read(datagram).filter(|_| app.stamps) {
                    lock(&self.pings).push((now, stamp.delay(now).age));
                }
                if counts_answers {
                    let bytes = datagram.len() as u64;
                    self.answered_bytes.fetch_add(bytes, Ordering::Relaxed);
                }
                pump.on_received(datagram.len());
            }
        }
    }
}

/// Lowers the rate of an application that obeys CCID 248.
fn take_advice(socket: &Socket, app: &App, pump: &Pump) {
    while let Some(event) = socket.poll_event() {
        if let Event::SafeUdp(SendCode::Congestion {
            advised_bits_per_s, ..
        }) = event
            && app.obeys
        {
            pump.slow_to(advised_bits_per_s);
        }
    }
}

impl Sender for DccpSender {
    fn port(&self) -> Option<u16> {
        let socket = self.stream.socket.get();
        socket.map(|socket| socket.local_addr().dccp_port)
    }

    fn sample(&self) -> Sample {
        let load = |n: &AtomicU64| n.load(Ordering::Relaxed);
        let mut sample = Sample {
            lost: Some(0),
            marked: Some(0),
            loss_events: Some(0),
            dropped_by_sender: load(&self.stream.overflowed),
            broken: lock(&self.stream.failed).clone(),
            ..Sample::default()
        };
        let Some(socket) = self.stream.socket.get() else {
            return sample;
        };
        let reason = socket.close_reason().filter(|_| !self.is_stopped);
        let reason = reason.filter(|reason| *reason != CloseReason::Local);
        sample.broken = sample.broken.or(reason.map(|reason| format!("{reason:?}")));
        let (Ok(stats), Ok(snapshot)) = (socket.stats(), socket.snapshot()) else {
            return sample;
        };
        let counters = stats.connection.counters;
        let fates = self.stream.reports_fates;
        Sample {
            sent: counters.data_sent,
            lost: fates.then_some(counters.data_lost),
            marked: fates.then_some(counters.data_marked),
            loss_events: snapshot.tx.loss_events,
            dropped_by_sender: sample.dropped_by_sender + stats.sent.fates.limited,
            dropped_by_receiver: stats.connection.rx_dropped.iter().sum(),
            state: State {
                cwnd_packets: snapshot.tx.cwnd_packets,
                ssthresh_packets: snapshot.tx.ssthresh_packets,
                rate_bps: snapshot.tx.rate.map(Rate::bits_per_s),
                rtt: snapshot.rtt_sample.map(|(_, rtt)| rtt),
            },
            ..sample
        }
    }

    fn answered_bytes(&self) -> u64 {
        self.stream.answered_bytes.load(Ordering::Relaxed)
    }

    fn round_trips(&mut self, now: Duration) -> Vec<RoundTrip> {
        let snapshot = self.stream.socket.get().and_then(|s| s.snapshot().ok());
        let sample = snapshot.and_then(|snapshot| snapshot.rtt_sample);
        let Some((at, rtt)) = sample.filter(|(at, _)| Some(*at) > self.seen) else {
            return Vec::new();
        };
        self.seen = Some(at);
        vec![RoundTrip {
            at: now,
            rtt_ns: nanos(rtt),
        }]
    }

    fn pings(&self) -> Vec<RoundTrip> {
        let trip = |&(at, rtt): &(Instant, Duration)| RoundTrip {
            at: at - self.stream.begin,
            rtt_ns: nanos(rtt),
        };
        lock(&self.stream.pings).iter().map(trip).collect()
    }

    fn lateness(&self) -> (u64, u64) {
        self.stream.pump.get().map_or((0, 0), Pump::counts)
    }

    fn stop(&mut self) {
        self.is_stopped = true;
        self.stream.is_over.store(true, Ordering::Relaxed);
        if let Some(pump) = self.stream.pump.get() {
            pump.end();
        }
        if let Some(socket) = self.stream.socket.get() {
            socket.abort();
        }
    }
}

/// How the receiving end of a flow works.
pub(super) struct Receiving {
    pub(super) app: App,
    pub(super) receivers: Arc<Receivers>,
}

/// Accepts the connections of a flow until its end.
pub(super) fn accept(listener: &Listener, receiving: &Arc<Receiving>) {
    let mut threads = Vec::new();
    while !receiving.receivers.is_over() {
        match listener.accept_timeout(LOOK) {
            Ok(socket) => {
                let receiving = receiving.clone();
                threads.push(std::thread::spawn(move || receiving.receive(&socket)));
            }
            Err(AcceptError::TimedOut | AcceptError::WouldBlock) => {}
            Err(_) => break,
        }
    }
    for thread in threads {
        // A thread that panicked has said so.
        let _ = thread.join();
    }
}

impl Receiving {
    /// Receives the datagrams of a stream until its end, and answers them as the application does.
    fn receive(&self, socket: &Socket) {
        let received = self.receivers.of(socket.peer_addr().dccp_port);
        let is_slow = self.app.reading != Reading::AtOnce;
        let mut batch = RecvBatch::new(if is_slow { 1 } else { BATCH });
        let mut sampled = clock::now();
        let mut next_read = sampled;
        while !self.receivers.is_over() {
            if is_slow {
                std::thread::sleep((next_read - clock::now()).min(LOOK));
            }
            if clock::now() < next_read {
                continue;
            }
            match socket.recv_batch(&mut batch) {
                Ok(_) => self.take(socket, &batch, &received),
                Err(RecvError::TimedOut) => {}
                Err(_) => break,
            }
            next_read = self.next_read(next_read, &batch);
            if clock::now() - sampled >= SAMPLE {
                sampled = clock::now();
                sample_losses(socket, &received);
            }
        }
        sample_losses(socket, &received);
    }

    /// When the application has finished reading the datagrams.
    fn next_read(&self, last: Instant, batch: &RecvBatch) -> Instant {
        let Reading::AtRate(rate) = self.app.reading else {
            return last;
        };
        let bytes: usize = batch.iter().map(|datagram| datagram.len()).sum();
        let now = clock::now();
        let begun = if now - last > CATCH_UP { now } else { last };
        begun + rate.time_for(bytes as u64)
    }

    fn take(&self, socket: &Socket, batch: &RecvBatch, received: &Received) {
        let bytes: usize = batch.iter().map(|datagram| datagram.len()).sum();
        received.add(batch.len() as u64, bytes as u64);
        for datagram in batch {
            for message in self.app.replies(Payload::Bytes(datagram)) {
                let options = SendOptions::new().when_full(WhenFull::Error);
                // An answer that finds no room is lost, as on a full path.
                let _ = match message {
                    Message::Bytes(bytes) => socket.send_with(&bytes, options),
                    Message::Zeros(len) => socket.send_with(&vec![0; len], options),
                };
            }
        }
    }
}

/// Notes the missing and the marked packets, which with CCIDs 3 and 4 only the receiver knows.
fn sample_losses(socket: &Socket, received: &Received) {
    if let (Ok(snapshot), Ok(stats)) = (socket.snapshot(), socket.stats()) {
        let missing = snapshot.rx.missing.unwrap_or(0);
        received.missing.store(missing, Ordering::Relaxed);
        let marked = stats.connection.counters.ce_received;
        received.marked.store(marked, Ordering::Relaxed);
    }
}
