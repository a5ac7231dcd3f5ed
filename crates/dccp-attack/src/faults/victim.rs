//! The programs whose system calls fail: they transfer numbered datagrams, and open connections beside that.
//!
//! A victim prints `ready` and the words that the other process needs. It works until it reads a line: then no call
//! fails any more. It waits until datagrams arrive and openings succeed again, closes, and prints its [`Report`].

use super::ledger::Report;
use anyhow::{Context as _, Result, anyhow, bail};
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use dccp::packet_ring::{Label, Shape};
use dccp::{
    Encapsulation, Engine, EngineOptions, Event, Fate, Instant, Listener, Options, RecvError,
    SendOptions, Socket, clock,
};
use dccp_ring_ipc::{RingCaller, RingClient, RingLimits, RingRequest, RingServer};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::thread;

/// The victim's part.
#[derive(Clone, Debug, clap::Subcommand)]
pub(crate) enum Part {
    /// Both ends of a connection over UDP, each with an engine
    Udp,
    /// Both ends of a connection over IP, each with an engine
    Ip,
    /// The server of rings, and the peer of their connections
    RingServer,
    /// An application with a ring of the server at this path, connected to this address
    RingClient { path: String, peer: String },
}

/// The port of the transfer.
const PORT: u16 = 5001;
/// The port of the openings.
const PROBE_PORT: u16 = 5002;
/// The time between two datagrams.
const PACE: Duration = Duration::from_millis(2);
/// The time between two openings.
const OPENING_PACE: Duration = Duration::from_millis(50);
/// The longest wait of one call.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest time from the end of a fault until all works again.
const RECOVERY: Duration = Duration::from_secs(20);
const LEN: usize = 500;

/// The state that the threads of a victim share.
#[derive(Default)]
struct Shared {
    report: Mutex<Report>,
    /// The end of the fault.
    ended_at: Mutex<Option<Instant>>,
    is_over: AtomicBool,
}

impl Shared {
    fn report(&self) -> std::sync::MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time since the end of the fault, in milliseconds.
    fn since_fault(&self) -> Option<u64> {
        let at = *self.ended_at.lock().unwrap_or_else(PoisonError::into_inner);
        at.map(|at| ms(clock::now() - at))
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn on_event(&self, event: &Event) {
        let name = format!("{event:?}");
        let name: String = name
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect();
        *self.report().events.entry(name).or_default() += 1;
    }

    fn on_fate(&self, fate: Fate, number: u64) {
        let mut report = self.report();
        *report.fates.entry(fate.name().into()).or_default() += 1;
        if fate.is_received() && !report.acked.insert(number) {
            report.repeated_fates += 1;
        }
    }

    fn on_arrival(&self, bytes: &[u8], last: &mut Instant) {
        let number = bytes
            .first_chunk()
            .map_or(u64::MAX, |n| u64::from_be_bytes(*n));
        let since_fault = self.since_fault();
        let gap = {
            let now = clock::now();
            ms(now - core::mem::replace(last, now))
        };
        let mut report = self.report();
        report.longest_gap_ms = report.longest_gap_ms.max(gap);
        if !report.received.insert(number) {
            report.duplicates += 1;
        }
        report.resumed_ms = report.resumed_ms.or(since_fault);
    }

    /// Opens connections until the end, each by `open`.
    fn open_again_and_again(&self, mut open: impl FnMut() -> Result<()>) {
        while !self.is_over() {
            let began = clock::now();
            let was_over = self.since_fault().is_some();
            let opened = open();
            let since_fault = self.since_fault().filter(|_| was_over);
            let mut report = self.report();
            let openings = &mut report.openings;
            openings.longest_ms = openings.longest_ms.max(ms(clock::now() - began));
            match opened {
                Ok(()) => {
                    openings.succeeded += 1;
                    report.opened_ms = report.opened_ms.or(since_fault);
                }
                Err(error) => *openings.failed.entry(format!("{error:#}")).or_default() += 1,
            }
            drop(report);
            thread::sleep(OPENING_PACE);
        }
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Runs a victim to its end.
pub(crate) fn run(part: &Part) -> Result<()> {
    let shared = Shared::default();
    match part {
        Part::Udp => connection(&shared, Encapsulation::Udp)?,
        Part::Ip => connection(&shared, Encapsulation::Ip)?,
        Part::RingServer => ring_server(&shared)?,
        Part::RingClient { path, peer } => ring_client(&shared, path.as_ref(), peer)?,
    }
    println!("{}", serde_json::to_string(&*shared.report())?);
    Ok(())
}

/// Says that the victim works, waits for the end of the fault, and then until all works again.
fn attend(shared: &Shared, mut works: impl FnMut(&Report) -> bool) -> Result<()> {
    thread::sleep(Duration::from_millis(200));
    println!("ready");
    io::stdout().flush()?;
    let mut line = String::new();
    // The fault may hit this call, too.
    while io::stdin().read_line(&mut line).is_err() {
        thread::sleep(Duration::from_millis(5));
    }
    *shared
        .ended_at
        .lock()
        .unwrap_or_else(PoisonError::into_inner) = Some(clock::now());
    let until = clock::now() + RECOVERY;
    while clock::now() < until && !works(&shared.report()) {
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn options(engine: &Engine) -> Options {
    Options::new()
        .engine(engine)
        .service_code(*b"FLTS")
        .recv_timeout(PATIENCE)
        .send_timeout(PATIENCE)
        .connect_timeout(PATIENCE)
        .linger(RECOVERY)
        .fate_buffer(1 << 20)
}

/// Both ends of a connection.
fn connection(shared: &Shared, encapsulation: Encapsulation) -> Result<()> {
    let engines = [start("server")?, start("client")?];
    let [server, client] = engines
        .each_ref()
        .map(|engine| options(engine).encapsulation(encapsulation));
    let listener = Listener::bind(("127.0.0.1:0", PORT), &server)?;
    let place = listener.local_addrs()[0];
    let client = Socket::connect(place, &client)?;
    let server = listener.accept()?;
    let is_closing = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| receive(shared, &server));
        scope.spawn(|| shared.open_again_and_again(|| open(encapsulation)));
        let sender = scope.spawn(|| send(shared, &client, &is_closing));
        attend(shared, |report| {
            report.resumed_ms.is_some() && report.opened_ms.is_some()
        })?;
        is_closing.store(true, Ordering::Relaxed);
        let _ = sender.join();
        shared.is_over.store(true, Ordering::Relaxed);
        Ok(())
    })
}

fn start(name: &str) -> Result<Engine> {
    Engine::start(&EngineOptions::new().name(name)).context("engine")
}

/// Sends numbered datagrams, and closes at the end.
fn send(shared: &Shared, socket: &Socket, is_closing: &AtomicBool) {
    socket.set_nonblocking(true);
    let mut fates = Vec::new();
    let mut next = 0_u64;
    let mut take_fates = || {
        socket.recv_fates(&mut fates, usize::MAX);
        fates
            .drain(..)
            .for_each(|told| shared.on_fate(told.fate, told.tag));
        while let Some(event) = socket.poll_event() {
            shared.on_event(&event);
        }
    };
    while !is_closing.load(Ordering::Relaxed) {
        if socket
            .send_with(&datagram(next), SendOptions::new().tag(next))
            .is_ok()
        {
            next += 1;
            shared.report().offered = next;
        }
        take_fates();
        if let Some(reason) = socket.close_reason() {
            shared.report().ended.get_or_insert(format!("{reason:?}"));
        }
        thread::sleep(PACE);
    }
    let closed = socket.close();
    if let Ok(stats) = socket.stats() {
        shared.report().host_dropped = stats.host_drops.total();
    }
    if let Err(error) = closed {
        shared
            .report()
            .ended
            .get_or_insert(format!("close: {error}"));
    }
    take_fates();
}

fn datagram(number: u64) -> [u8; LEN] {
    let mut bytes = [0; LEN];
    bytes[..8].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// Receives until the peer has closed.
fn receive(shared: &Shared, socket: &Socket) {
    let mut buf = [0; LEN];
    let mut last = clock::now();
    loop {
        match socket.recv(&mut buf) {
            Ok(len) => shared.on_arrival(&buf[..len], &mut last),
            Err(RecvError::TimedOut) => {}
            Err(_) => break,
        }
        while let Some(event) = socket.poll_event() {
            shared.on_event(&event);
        }
    }
}

/// Opens two engines and a connection between them, sends a datagram both ways, and closes.
fn open(encapsulation: Encapsulation) -> Result<()> {
    let engines = [start("probed")?, start("probe")?];
    let [server, client] = engines
        .each_ref()
        .map(|engine| options(engine).encapsulation(encapsulation));
    let listener = Listener::bind(("127.0.0.1:0", PROBE_PORT), &server).context("bind")?;
    let client = Socket::connect(listener.local_addrs()[0], &client).context("connect")?;
    let server = listener.accept().context("accept")?;
    let mut buf = [0; 16];
    client.send(b"there").context("send")?;
    server.recv(&mut buf).context("receive")?;
    server.send(b"back").context("send back")?;
    client.recv(&mut buf).context("receive back")?;
    let client = client.close().context("close");
    client.map(drop)
}

/// The server of rings. The peer of their connections is in the same process.
fn ring_server(shared: &Shared) -> Result<()> {
    let engine = start("server")?;
    let options = options(&engine);
    let listener = Listener::bind(("127.0.0.1:0", PORT), &options)?;
    let probed = Listener::bind(("127.0.0.1:0", PROBE_PORT), &options)?;
    let path = std::env::temp_dir().join(format!("victim-{}", std::process::id()));
    let lent = options.clone();
    let policy = move |_: &RingCaller, _: &RingRequest| Ok(lent.clone());
    let rings = RingServer::bind(&path, RingLimits::default(), policy)?;
    let words = [&listener, &probed].map(|listener| listener.local_addrs()[0].to_string());
    let words = format!("{} {} {}", path.display(), words[0], words[1]);
    println!("serves {words}");
    let server = listener.accept()?;
    thread::scope(|scope| {
        scope.spawn(|| receive(shared, &server));
        scope.spawn(|| answer_probes(shared, &probed));
        attend(shared, |_| true)?;
        // The client closes first.
        let closed = server.wait_closed(2 * RECOVERY).map(drop);
        shared.is_over.store(true, Ordering::Relaxed);
        server.abort();
        closed.context("the client does not close")
    })?;
    drop(rings);
    Ok(())
}

/// Returns the datagrams of probes.
fn answer_probes(shared: &Shared, listener: &Listener) {
    let mut buf = [0; 16];
    while !shared.is_over() {
        let Ok(probe) = listener.accept_timeout(Duration::from_millis(100)) else {
            continue;
        };
        if let Ok(len) = probe.recv(&mut buf) {
            // The probe notices a failure.
            let _ = probe.send(&buf[..len]);
            let _ = probe.wait_closed(PATIENCE);
        }
    }
}

/// An application with a ring.
fn ring_client(shared: &Shared, path: &Path, peers: &str) -> Result<()> {
    let (peer, probed) = peers.split_once(',').context("two addresses")?;
    let shape = Shape::new(256, 600);
    let request =
        |peer: &str| anyhow::Ok(RingRequest::new(peer.parse()?, shape).service_code(*b"FLTS"));
    let mut ring = RingClient::connect(path, &request(peer)?)?;
    let probe = request(probed)?;
    let is_closing = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| shared.open_again_and_again(|| open_ring(path, &probe)));
        let sender = scope.spawn(|| push(shared, &mut ring, &is_closing));
        let mut offered_before = None;
        attend(shared, |report| {
            let before = *offered_before.get_or_insert(report.offered);
            report.opened_ms.is_some() && report.acked.last().is_some_and(|last| *last > before)
        })?;
        is_closing.store(true, Ordering::Relaxed);
        let _ = sender.join();
        shared.is_over.store(true, Ordering::Relaxed);
        Ok(())
    })
}

/// Pushes numbered datagrams, and closes at the end.
fn push(shared: &Shared, ring: &mut RingClient, is_closing: &AtomicBool) {
    let mut next = 0_u64;
    let mut fates = Vec::new();
    let mut buf = [0; 16];
    while !is_closing.load(Ordering::Relaxed) {
        let label = Label {
            tag: next,
            ..Label::default()
        };
        if ring.over().is_none() && ring.sender().push(&datagram(next), label).is_ok() {
            next += 1;
            shared.report().offered = next;
        }
        // Sleeps: nothing arrives.
        ring.set_timeout(Some(PACE));
        let _ = ring.recv(&mut buf);
        take_ring_fates(shared, ring, &mut fates);
        if let Some(over) = ring.over() {
            shared.report().ended.get_or_insert(format!("{over}"));
            thread::sleep(PACE);
        }
    }
    if let Err(error) = ring.close(RECOVERY) {
        shared
            .report()
            .ended
            .get_or_insert(format!("close: {error}"));
    }
    take_ring_fates(shared, ring, &mut fates);
}

fn take_ring_fates(shared: &Shared, ring: &mut RingClient, fates: &mut Vec<dccp::RingFate>) {
    if let Err(error) = ring.recv_fates(fates, usize::MAX) {
        shared
            .report()
            .ended
            .get_or_insert(format!("fates: {error}"));
    }
    fates
        .drain(..)
        .for_each(|told| shared.on_fate(told.fate, told.tag));
    while let Some(event) = ring.poll_event() {
        shared.on_event(&event);
    }
}

/// Opens a ring, sends a datagram both ways, and closes.
fn open_ring(path: &Path, request: &RingRequest) -> Result<()> {
    let mut ring = RingClient::connect_timeout(path, request, PATIENCE).context("connect")?;
    ring.set_timeout(Some(PATIENCE));
    let pushed = ring.sender().push(b"there and back", Label::default());
    pushed.map_err(|error| anyhow!("push: {error}"))?;
    let mut buf = [0; 16];
    let len = ring.recv(&mut buf).context("receive")?;
    if &buf[..len] != b"there and back" {
        bail!("another datagram came back");
    }
    ring.close(PATIENCE).context("close")?;
    Ok(())
}
