//! `dccpmon serve`: the other end of all tests.

use crate::args::{DURATION_MAX, FLOWS_MAX, Family, Serve};
use crate::control::{Channel, Lost, Message, Setup};
use crate::flow::Traffic;
use crate::host::Usage;
use crate::invite;
use crate::meter::{End, Meter, SAMPLE};
use crate::packet::{Head, Kind, LEN_MAX, LEN_MIN};
use crate::plan::{SERVICE, data_options};
use crate::report::FlowTotal;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use dccp::proto::time::nanos;
use dccp::{
    AcceptError, BindError, Encapsulation, Listener, ListenerEvent, Options, Socket, clock,
};
use dccp_cli::quantity::show as units;
use dccp_cli::{Failure, exit, interrupt};
use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver as Inlet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tests at the same time.
const TESTS_MAX: usize = 4;
/// Connections that have not said yet what they are for.
const GREETINGS_MAX: usize = 64;
/// How long a client may take for each step of the agreement.
const STEP: Duration = Duration::from_secs(10);
/// How often threads look whether the program ends.
const LOOK: Duration = Duration::from_millis(200);

/// Serves until Ctrl-C, or for one test; gives the exit code.
pub(crate) fn run(asked: &Serve) -> Result<u8, Failure> {
    interrupt::listen()?;
    let hall = Arc::new(Hall::default());
    let listeners = listen(asked)?;
    let threads: Vec<_> = listeners
        .into_iter()
        .map(|listener| {
            let hall = hall.clone();
            let is_one_off = asked.is_one_off;
            std::thread::spawn(move || welcome(&listener, &hall, is_one_off))
        })
        .collect();
    for thread in threads {
        // A panic there has printed its message; the other listeners go on.
        let _ = thread.join();
    }
    // The running tests end, and their clients receive totals of the part that was measured.
    let until = clock::now() + STEP;
    while !hall.tests().is_empty() && clock::now() < until {
        std::thread::sleep(SAMPLE);
    }
    Ok(if interrupt::is_pressed() {
        exit::INTERRUPTED
    } else {
        exit::DONE
    })
}

/// Opens what was asked for, and says what is open and how to reach it.
fn listen(asked: &Serve) -> Result<Vec<Listener>, Failure> {
    let options = data_options(Options::new().service_code(SERVICE));
    let mut listeners = Vec::new();
    let mut ways = Vec::new();
    if asked.over != Some(Encapsulation::Ip) {
        let (opened, text) = open(
            asked,
            &options.clone().encapsulation(Encapsulation::Udp),
            asked.udp_port,
        )?;
        listeners.extend(opened);
        ways.push(format!("DCCP-over-UDP on {text}"));
    }
    if asked.over != Some(Encapsulation::Udp) {
        match open(asked, &options.encapsulation(Encapsulation::Ip), 0) {
            Ok((opened, _)) => {
                listeners.extend(opened);
                ways.push("DCCP on protocol 33".into());
            }
            // The user did not request it with --over: serve without it.
            Err(e) if asked.over.is_none() => {
                ways.push(format!("DCCP on protocol 33 (skipped: {})", e.what));
            }
            Err(e) => return Err(e),
        }
    }
    println!(
        "dccpmon {} serving {}, DCCP port {}",
        env!("CARGO_PKG_VERSION"),
        ways.join(" and "),
        asked.dccp_port
    );
    println!(
        "  tests at once: {TESTS_MAX}    limit: {} h each    key: none (anyone may test)",
        DURATION_MAX.as_secs() / 3600
    );
    for line in invite::lines(asked) {
        println!("{line}");
    }
    Ok(listeners)
}

/// Listens on all addresses of the families asked for; not to have IPv6 is no error.
fn open(asked: &Serve, options: &Options, port: u16) -> Result<(Vec<Listener>, String), Failure> {
    let v6 = SocketAddr::from(([0; 8], port));
    let v4 = SocketAddr::from(([0; 4], port));
    let wanted = match asked.family {
        Family::V4 => vec![v4],
        Family::V6 => vec![v6],
        Family::Any => vec![v4, v6],
    };
    let mut opened = Vec::new();
    let mut places = Vec::new();
    let mut refusal: Option<BindError> = None;
    for local in wanted {
        match Listener::bind((local, asked.dccp_port), options) {
            Ok(listener) => {
                places.extend(
                    listener
                        .local_addrs()
                        .iter()
                        .map(|at| at.udp_addr().to_string()),
                );
                opened.push(listener);
            }
            Err(e) => refusal = refusal.or(Some(e)),
        }
    }
    match refusal {
        Some(e) if opened.is_empty() => Err(Failure::run(e.to_string(), e.next_step())),
        _ => Ok((opened, places.join(" and "))),
    }
}

/// Where connections find the test that they belong to.
#[derive(Default)]
struct Hall {
    /// Running tests by token: where their data connections go.
    tests: Mutex<BTreeMap<u64, mpsc::Sender<(u32, Socket)>>>,
    greetings: Mutex<usize>,
    /// A test has been done.
    is_used: AtomicBool,
}

impl Hall {
    fn tests(&self) -> MutexGuard<'_, BTreeMap<u64, mpsc::Sender<(u32, Socket)>>> {
        self.tests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn greetings(&self) -> MutexGuard<'_, usize> {
        self.greetings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a test; `None` if there is none.
    fn enter(self: &Arc<Self>) -> Option<Place> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).ok()?;
        let token = u64::from_be_bytes(bytes);
        let mut tests = self.tests();
        if tests.len() >= TESTS_MAX {
            return None;
        }
        let (sender, joining) = mpsc::channel();
        tests.insert(token, sender);
        Some(Place {
            hall: self.clone(),
            token,
            joining,
        })
    }
}

/// A test's place in the hall, free again when dropped.
struct Place {
    hall: Arc<Hall>,
    token: u64,
    joining: Inlet<(u32, Socket)>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.hall.tests().remove(&self.token);
        self.hall.is_used.store(true, Ordering::SeqCst);
    }
}

fn welcome(listener: &Listener, hall: &Arc<Hall>, is_one_off: bool) {
    loop {
        let is_served = is_one_off && hall.is_used.load(Ordering::SeqCst);
        if interrupt::is_pressed() || is_served {
            return;
        }
        while let Some(event) = listener.poll_event() {
            println!("{}", trouble(&event));
        }
        let socket = match listener.accept_timeout(LOOK) {
            Ok(socket) => socket,
            Err(AcceptError::TimedOut | AcceptError::WouldBlock) => continue,
            Err(_) => return,
        };
        {
            let mut greetings = hall.greetings();
            if *greetings >= GREETINGS_MAX {
                socket.abort();
                continue;
            }
            *greetings += 1;
        }
        let hall = hall.clone();
        std::thread::spawn(move || greet(socket, &hall));
    }
}

/// A listener's event in words.
fn trouble(event: &ListenerEvent) -> String {
    match event {
        ListenerEvent::Lost { place, error } => {
            format!("socket at {place}: failed ({error}); opening it again")
        }
        ListenerEvent::Back { place } => format!("socket at {place}: works again"),
        other => format!("{other:?}"),
    }
}

/// The first datagram says what a connection is for.
fn greet(socket: Socket, hall: &Arc<Hall>) {
    socket.set_recv_timeout(Some(STEP));
    let mut datagram = vec![0; LEN_MAX];
    let first = socket.recv(&mut datagram);
    *hall.greetings() -= 1;
    let Some(first) = first.ok().and_then(|len| datagram.get(..len)) else {
        return;
    };
    if Channel::is_control(first) {
        let peer = socket.peer_addr();
        let outcome = Channel::new(socket, Some(first)).and_then(|c| serve(c, hall));
        match outcome {
            Ok(Some(text)) => println!("test from {peer}: {text}"),
            Ok(None) => println!("test from {peer}: refused"),
            Err(e) => println!("test from {peer}: broken off, {e}"),
        }
        return;
    }
    let Some(head) = Head::read(first).filter(|h| h.kind == Kind::Join) else {
        return;
    };
    let test = hall.tests().get(&head.token).cloned();
    if let Some(test) = test {
        // A test that has ended meanwhile needs no connection.
        let _ = test.send((head.flow, socket));
    }
}

/// Serves one test; gives a line about it, or nothing if it was refused.
fn serve(mut channel: Channel, hall: &Arc<Hall>) -> Result<Option<String>, Lost> {
    let until = clock::now() + STEP;
    let Some(Message::Setup(setup)) = channel.poll(until)? else {
        return Err(Lost::Nonsense);
    };
    let place = match check(&setup) {
        Ok(()) => hall.enter().ok_or(Refusal::BUSY),
        Err(refusal) => Err(refusal),
    };
    let place = match place {
        Ok(place) => place,
        Err(refusal) => {
            refuse(&mut channel, &refusal)?;
            return Ok(None);
        }
    };
    channel.say(&Message::Ready { token: place.token })?;
    let Some(sockets) = gather(&mut channel, &setup, &place)? else {
        refuse(&mut channel, &Refusal::STOPPED)?;
        return Ok(None);
    };
    let mut test = Test {
        channel,
        setup,
        token: place.token,
    };
    test.run(&sockets).map(Some)
}

/// Why a test is refused.
struct Refusal {
    reason: &'static str,
    next: &'static str,
}

impl Refusal {
    const BUSY: Self = Self {
        reason: "server busy: it runs the maximum number of tests",
        next: "wait until one has ended, and try again",
    };
    const STOPPED: Self = Self {
        reason: "it is shutting down",
        next: "start `dccpmon serve` there again",
    };
}

fn refuse(channel: &mut Channel, refusal: &Refusal) -> Result<(), Lost> {
    channel.say(&Message::Refused {
        reason: refusal.reason.into(),
        next: refusal.next.into(),
    })?;
    channel.flush(clock::now() + STEP).map(|_| ())
}

fn check(setup: &Setup) -> Result<(), Refusal> {
    let longest = nanos(DURATION_MAX);
    let shortest_interval = nanos(Duration::from_millis(100));
    let holds = (1..=FLOWS_MAX).contains(&setup.flows)
        && (1..=longest).contains(&setup.duration_ns)
        && setup.interval_ns >= shortest_interval
        && (LEN_MIN..=LEN_MAX).contains(&setup.length_bytes)
        && setup.rate_bps != Some(0);
    if holds {
        return Ok(());
    }
    Err(Refusal {
        reason: "the test is beyond what it serves",
        next: "ask for an hour at most, 32 flows at most, and intervals of at least 100 ms",
    })
}

/// Waits for the data connections, and for the client to say that it has heard of all; gives none
/// if the program is to end.
fn gather(
    channel: &mut Channel,
    setup: &Setup,
    place: &Place,
) -> Result<Option<Vec<Arc<Socket>>>, Lost> {
    let mut joined = BTreeMap::new();
    let until = clock::now() + STEP;
    loop {
        while let Ok((flow, socket)) = place.joining.try_recv() {
            if flow < setup.flows && !joined.contains_key(&flow) {
                joined.insert(flow, Arc::new(socket));
                channel.say(&Message::Joined { flow })?;
            }
        }
        match channel.poll(clock::now() + SAMPLE)? {
            Some(Message::Start) if joined.len() == setup.flows as usize => {
                return Ok(Some(joined.into_values().collect()));
            }
            Some(_) => return Err(Lost::Nonsense),
            None if interrupt::is_pressed() => return Ok(None),
            None if clock::now() >= until => return Err(Lost::Silent),
            None => {}
        }
    }
}

/// A test that runs.
struct Test {
    channel: Channel,
    setup: Setup,
    token: u64,
}

impl Test {
    fn run(&mut self, sockets: &[Arc<Socket>]) -> Result<String, Lost> {
        let usage = Usage::begin();
        let flows = self
            .start(sockets)
            .map_err(|e| Lost::Closed(e.to_string()))?;
        let mut meter = Meter::new(flows, true);
        self.watch(&mut meter)?;
        if self.setup.is_reverse {
            meter.finish_sending();
            self.channel.say(&Message::Sent)?;
        } else {
            meter.finish_receiving();
        }
        let totals = meter.totals();
        let line = self.line(&totals);
        for total in totals {
            self.channel.say(&Message::Total(Box::new(total)))?;
        }
        self.channel
            .say(&Message::Host(Box::new(usage.host(meter.mib()))))?;
        let until = clock::now() + STEP;
        while clock::now() < until {
            match self.channel.poll(until) {
                Ok(Some(Message::Bye)) | Err(_) => break,
                Ok(_) => {}
            }
        }
        Ok(line)
    }

    fn start(&self, sockets: &[Arc<Socket>]) -> std::io::Result<Vec<End>> {
        let duration = Duration::from_nanos(self.setup.duration_ns);
        (0..)
            .zip(sockets)
            .map(|(flow, socket)| {
                if !self.setup.is_reverse {
                    return End::receive(socket, self.token, flow);
                }
                let traffic = Traffic {
                    token: self.token,
                    flow,
                    length: self.setup.length_bytes,
                    rate_bps: self.setup.rate_bps,
                };
                End::send(socket, traffic, duration)
            })
            .collect()
    }

    /// Tells about the intervals until the sending end has ended.
    fn watch(&mut self, meter: &mut Meter) -> Result<(), Lost> {
        let interval = Duration::from_nanos(self.setup.interval_ns);
        let mut next = interval;
        let mut is_ending = false;
        loop {
            if interrupt::is_pressed() && !core::mem::replace(&mut is_ending, true) {
                self.channel.say(&Message::Ending)?;
            }
            meter.sample();
            let until = SAMPLE.min(next.saturating_sub(meter.elapsed()));
            let message = self.channel.poll(clock::now() + until)?;
            let is_over = match message {
                Some(Message::Stop | Message::Sent) => true,
                Some(_) => return Err(Lost::Nonsense),
                None => meter.is_done() || (is_ending && self.setup.is_reverse),
            };
            let elapsed = meter.elapsed();
            if elapsed >= next || (is_over && elapsed + interval / 2 >= next) {
                next += interval;
                for told in meter.interval() {
                    if !self.channel.is_behind() {
                        self.channel.say(&Message::Interval(told))?;
                    }
                }
            }
            if is_over {
                return Ok(());
            }
        }
    }

    /// Sums the test up in one line of the server's output.
    fn line(&self, totals: &[FlowTotal]) -> String {
        let time = Duration::from_nanos(self.setup.duration_ns);
        let what = if self.setup.is_reverse {
            "sent"
        } else {
            "received"
        };
        let packets: u64 = totals
            .iter()
            .map(|t| {
                let left = t.tx.as_ref().map(|tx| tx.left);
                left.or(t.rx.as_ref().map(|rx| rx.delivered)).unwrap_or(0)
            })
            .sum();
        let bytes = packets * self.setup.length_bytes as u64;
        format!(
            "{} flow(s), {what} {packets} packets of {} B, {}",
            self.setup.flows,
            self.setup.length_bytes,
            units::rate(crate::result::rate(bytes, time))
        )
    }
}
