//! The loop: transports ↔ endpoints ↔ queues ↔ timers. It holds no protocol rule.
//!
//! ```text
//! commands ─┐
//! packets ──┼─▶ a port's endpoint ─▶ outputs drained ─▶ its transport, its sockets
//! deadlines ┘
//! ```
//!
//! One turn of a port takes one receive batch, so that one batch makes at most one acknowledgement
//! and no port starves another.

use crate::addr::DccpAddr;
use crate::budget::EngineBudget;
use crate::clock;
use crate::command::{Command, Connect, Listen, Mailbox};
use crate::error::{BindError, ConnectError};
use crate::group::Membership;
use crate::hash::ProcessHash;
use crate::incoming::Incoming;
#[cfg(target_os = "linux")]
use crate::limits::RESTING_DIVISOR;
use crate::limits::RESTING_PORTS;
use crate::names::{Opened, PortKey, with_scope};
use crate::port::{Occupation, Port, token};
use crate::request::Request;
use crate::stats::EngineStats;
#[cfg(feature = "unstable")]
use crate::tap::PacketTap;
#[cfg(all(target_os = "linux", feature = "unstable"))]
use crate::wake_fds::WakeFds;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use dccp_io::{
    Carrier, Encapsulation, HostLosses, Poller, Ready, RecvBuffer, Token, is_out_of_descriptors,
    is_out_of_memory, route,
};
use dccp_proto::config::bounds;
use dccp_proto::path::{Encap, Path};
use dccp_proto::{Config, Instant};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

mod sockets;

/// The engine's thread.
pub(crate) struct Driver {
    mailbox: Arc<Mailbox>,
    poller: Poller,
    /// Shared with the other threads.
    budget: Arc<EngineBudget>,
    hash: ProcessHash,
    udp: Carrier,
    /// Made when first asked for: it looks at the host and takes part in sharing it.
    ip: Option<Carrier>,
    is_finishing: bool,
    ports: BTreeMap<PortKey, Port>,
    /// Counters of ports that are closed.
    closed: EngineStats,
    /// Duplicates of the sockets that the application gave, by their ports.
    given: BTreeMap<PortKey, UdpSocket>,
    next_key: u64,
    /// Ports that have something to do now; one may stand here twice.
    runnable: Vec<PortKey>,
    deadlines: BTreeSet<(Instant, PortKey)>,
    /// Ports that are kept only because a flow rests there, the oldest first.
    resting: VecDeque<PortKey>,
    resting_max: usize,
    buffer: RecvBuffer,
    losses: HostLosses,
    /// Settings of the last connection that was opened. The next one usually has the same, and shares them.
    settings: Arc<Config>,
    /// Waits that failed one after the other.
    failed_waits: u32,
    /// Replies that are due at the end of the turns.
    answers: Vec<SyncSender<()>>,
    #[cfg(all(target_os = "linux", feature = "unstable"))]
    wake_fds: WakeFds,
    #[cfg(feature = "unstable")]
    pub(crate) tap: Option<Arc<dyn PacketTap>>,
}

/// Resting ports that go at most for one call that finds no descriptor.
const RELEASED_MAX: usize = 8;

/// The longest pause between two looks at the sockets while the poller fails.
const BLIND_WAIT_MAX: Duration = Duration::from_millis(10);

/// While busy-waiting, skip polling within this time of a deadline, because the system call would overrun it.
const POLL_TIME: Duration = Duration::from_micros(3);

/// The loop.
impl Driver {
    /// # Errors
    /// When the system gives no randomness.
    pub(crate) fn new(
        mailbox: Arc<Mailbox>,
        poller: Poller,
        budget: Arc<EngineBudget>,
    ) -> io::Result<Self> {
        let udp = Carrier::new(Encapsulation::Udp, dccp_io::Options::default());
        Ok(Self {
            mailbox,
            poller,
            budget,
            hash: ProcessHash::new()?,
            udp: udp.map_err(io::Error::other)?,
            ip: None,
            is_finishing: false,
            ports: BTreeMap::new(),
            closed: EngineStats::default(),
            given: BTreeMap::new(),
            next_key: 0,
            runnable: Vec::new(),
            deadlines: BTreeSet::new(),
            resting: VecDeque::new(),
            resting_max: resting_max(),
            buffer: RecvBuffer::new(),
            losses: HostLosses::default(),
            settings: Arc::default(),
            failed_waits: 0,
            answers: Vec::new(),
            #[cfg(all(target_os = "linux", feature = "unstable"))]
            wake_fds: WakeFds::default(),
            #[cfg(feature = "unstable")]
            tap: None,
        })
    }

    /// Runs until no handle and no connection is left.
    pub(crate) fn run(mut self) {
        let mut commands = Vec::new();
        let mut ready = Vec::new();
        let mut turns = Vec::new();
        let mut now = clock::now();
        while !(self.is_finishing && self.ports.is_empty()) {
            now = match self.wait(now, &mut ready) {
                Ok(woken) => {
                    self.failed_waits = 0;
                    woken
                }
                Err(_) => self.wait_blindly(now, &mut ready),
            };
            // Before the ports' turns: who rang waits no longer than this.
            self.mailbox.take(&mut commands);
            if !commands.is_empty() {
                for command in commands.drain(..) {
                    self.obey(command);
                }
                now = clock::now();
            }
            self.mark_runnable(now, &ready);
            core::mem::swap(&mut self.runnable, &mut turns);
            turns.sort_unstable();
            turns.dedup();
            for key in turns.drain(..) {
                self.run_port(now, key);
                now = clock::now();
            }
            for reply in self.answers.drain(..) {
                // The asking thread waits for the answer, unless it has ended.
                let _ = reply.send(());
            }
        }
    }

    /// Waits for packets, commands or the next deadline. Returns the time then.
    fn wait(&mut self, now: Instant, ready: &mut Vec<Ready>) -> io::Result<Instant> {
        let mut timeout = Some(Duration::ZERO);
        if self.runnable.is_empty() {
            timeout = self.deadlines.first().map(|(due, _)| *due - now);
        }
        // A zero-timeout poll needs no waker.
        if !self.poller.sleeps(timeout) {
            if let Some(time) = timeout.filter(|time| !time.is_zero() && *time <= POLL_TIME) {
                ready.clear();
                return Ok(clock::spin(time));
            }
            self.poller.wait(timeout, ready)?;
            return Ok(clock::now());
        }
        if !self.mailbox.fall_asleep() {
            timeout = Some(Duration::ZERO);
        }
        let waited = self.poller.wait(timeout, ready);
        self.mailbox.wake_up();
        waited.map(|()| clock::now())
    }

    /// The poller failed: sleeps briefly, and then takes everything for ready. So connections go on, if slowly, for as
    /// long as the poller fails. Returns the time then.
    fn wait_blindly(&mut self, now: Instant, ready: &mut Vec<Ready>) -> Instant {
        ready.clear();
        self.failed_waits = self.failed_waits.saturating_add(1);
        if self.runnable.is_empty() {
            let pause = BLIND_WAIT_MAX.min(Duration::from_millis(self.failed_waits.into()));
            let deadline = self.deadlines.first().map(|(due, _)| *due - now);
            std::thread::sleep(deadline.map_or(pause, |time| time.min(pause)));
        }
        let ports = self.ports.keys().map(|key| token(*key));
        ready.extend(ports.map(taken_for_ready));
        #[cfg(all(target_os = "linux", feature = "unstable"))]
        ready.extend(self.wake_fds.tokens().map(taken_for_ready));
        clock::now()
    }

    fn mark_runnable(&mut self, now: Instant, ready: &[Ready]) {
        for news in ready {
            #[cfg(all(target_os = "linux", feature = "unstable"))]
            if let Some(conn) = self.wake_fds.on_ready(&mut self.poller, news) {
                self.obey(Command::Do(conn, Request::DataReady));
                continue;
            }
            let key = PortKey(news.token.0 as u64);
            if let Some(port) = self.ports.get_mut(&key) {
                port.on_ready(*news);
                self.runnable.push(key);
            }
        }
        let due = self.deadlines.iter().take_while(|(at, _)| *at <= now);
        self.runnable.extend(due.map(|(_, key)| *key));
    }

    fn run_port(&mut self, now: Instant, key: PortKey) {
        let Some(mut port) = self.ports.get_mut(&key) else {
            return;
        };
        if port.needs_mending(now) {
            self.mend(now, key);
            let Some(mended) = self.ports.get_mut(&key) else {
                return;
            };
            port = mended;
        }
        if port.turn(now, &mut self.poller, &mut self.buffer, &mut self.losses) {
            self.runnable.push(key);
        }
        let next = port.next_deadline();
        if next != port.deadline {
            if let Some(old) = port.deadline {
                self.deadlines.remove(&(old, key));
            }
            self.deadlines.extend(next.map(|at| (at, key)));
            port.deadline = next;
        }
        self.close_if_idle(key);
    }

    /// Closes a port that is not needed any more. One that only rests stays for its time, unless too
    /// many do.
    fn close_if_idle(&mut self, key: PortKey) {
        match self.ports.get(&key).map(Port::occupation) {
            None | Some(Occupation::Busy | Occupation::Shared) => {}
            Some(Occupation::Resting) if !self.is_finishing => self.rest(key),
            Some(_) => self.close(key),
        }
    }

    fn rest(&mut self, key: PortKey) {
        if self.resting.contains(&key) {
            return;
        }
        self.resting.push_back(key);
        if self.resting.len() > self.resting_max {
            self.release_oldest();
        }
    }

    /// Closes the port that rests for longest; `false` if none rests.
    fn release_oldest(&mut self) -> bool {
        while let Some(oldest) = self.resting.pop_front() {
            if self.ports.get(&oldest).map(Port::occupation) == Some(Occupation::Resting) {
                self.close(oldest);
                return true;
            }
        }
        false
    }

    /// Makes a call that needs a file descriptor. If none is left, ports that only rest go, the oldest first.
    fn with_descriptor<T, E>(
        &mut self,
        lacks_one: impl Fn(&E) -> bool,
        mut call: impl FnMut() -> Result<T, E>,
    ) -> Result<T, E> {
        for _ in 0..RELEASED_MAX {
            match call() {
                Err(e) if lacks_one(&e) && self.release_oldest() => {}
                done => return done,
            }
        }
        call()
    }

    fn close(&mut self, key: PortKey) {
        let Some(mut port) = self.ports.remove(&key) else {
            return;
        };
        self.given.remove(&key);
        self.closed = self.closed.plus(&port.stats());
        port.unwatch(&mut self.poller);
        if let Some(at) = port.deadline {
            self.deadlines.remove(&(at, key));
        }
        self.resting.retain(|k| *k != key);
    }
}

/// Commands.
impl Driver {
    fn obey(&mut self, command: Command) {
        match command {
            Command::Connect(connect) => {
                let opened = self.connect(&connect);
                // The asking thread waits for the answer, unless it has ended.
                let _ = connect.reply.send(opened);
            }
            Command::Listen(mut listen) => {
                let sockets = core::mem::take(&mut listen.sockets);
                let given = listen.given.take();
                let bound = self.listen(&listen, sockets, given);
                if bound.is_err() {
                    self.unlisten(&listen.incoming, listen.thread);
                }
                let _ = listen.reply.send(bound);
            }
            Command::Unlisten(incoming, thread) => self.unlisten(&incoming, thread),
            Command::Do(conn, request) => {
                if let Some(port) = self.ports.get_mut(&conn.port) {
                    port.request(conn.conn, request);
                    self.runnable.push(conn.port);
                }
            }
            #[cfg(all(target_os = "linux", feature = "unstable"))]
            Command::WatchFd(conn, fd) => {
                if self.wake_fds.watch(&mut self.poller, conn, fd).is_err() {
                    // Its application could not wake the engine.
                    self.obey(Command::Do(conn, Request::Abort));
                }
            }
            #[cfg(all(target_os = "linux", feature = "unstable"))]
            Command::UnwatchFd(conn) => self.wake_fds.unwatch(&mut self.poller, conn),
            Command::CloseIdle => self.close_idle(),
            Command::Answer(reply) => self.answers.push(reply),
            Command::Count(reply) => {
                let connections = self.ports.values().map(Port::connections).sum();
                // The asking thread waits.
                let _ = reply.send(connections);
            }
            Command::Stats(reply) => {
                let each = self.ports.values_mut().map(Port::stats);
                let sum = each.fold(self.closed, |sum, port| sum.plus(&port));
                // The asking thread waits.
                let _ = reply.send(sum);
            }
            Command::Finish => {
                self.is_finishing = true;
                self.close_idle();
            }
        }
    }

    fn close_idle(&mut self) {
        for key in self.ports.keys().copied().collect::<Vec<_>>() {
            self.close_if_idle(key);
        }
    }

    fn connect(&mut self, connect: &Connect) -> Result<Opened, ConnectError> {
        let remote = connect.remote;
        if is_without_interface(connect.encapsulation, remote) {
            return Err(ConnectError::LinkLocal { remote });
        }
        let way = self.with_descriptor(is_limited, || route::to_place(remote.udp_addr()))?;
        let mtu = connect.mtu.unwrap_or_else(|| usual_mtu(way.mtu));
        if mtu < bounds::MTU_LEAST {
            return Err(ConnectError::PathTooNarrow { remote, mtu });
        }
        let source = |port| with_scope(SocketAddr::new(way.source, port), way.scope_id);
        let local = match connect.local {
            Some(local) if !local.ip().is_unspecified() => local,
            Some(any) => source(any.port()),
            None => source(0),
        };
        // 6773-3.8-2: each connection has a UDP port of its own.
        let key = match connect.encapsulation {
            Encapsulation::Udp => self.open(connect.encapsulation, connect.gso, local)?,
            Encapsulation::Ip => self.find_or_open(connect.encapsulation, connect.gso, local)?,
        };
        let config = Config {
            mtu,
            ..connect.config.clone()
        };
        if *self.settings != config {
            self.settings = Arc::new(config);
        }
        let opened = self.connect_at(key, local.ip(), connect);
        self.runnable.push(key);
        opened
    }

    /// Opens a connection from this port, with the settings that are kept.
    fn connect_at(
        &mut self,
        key: PortKey,
        local: IpAddr,
        connect: &Connect,
    ) -> Result<Opened, ConnectError> {
        let carrier = self.carrier(connect.encapsulation)?;
        let Some(port) = self.ports.get_mut(&key) else {
            return Err(ConnectError::NoRoom);
        };
        let encap = match connect.encapsulation {
            Encapsulation::Ip => Encap::Ip,
            Encapsulation::Udp => Encap::Udp {
                local_port: port.local_addr().port(),
                remote_port: connect.remote.udp_port,
            },
        };
        let path = Path {
            local,
            remote: connect.remote.ip,
            encap,
        };
        port.connect(&carrier, path, connect, &self.settings)
    }

    fn listen(
        &mut self,
        listen: &Listen,
        sockets: Vec<Option<Membership>>,
        mut given: Option<UdpSocket>,
    ) -> Result<Vec<SocketAddr>, BindError> {
        let mut bound = Vec::new();
        let carrier = self.carrier(listen.encapsulation)?;
        for (local, socket) in listen.locals.iter().zip(sockets) {
            let key = match socket {
                Some(Membership { transport, seat }) => {
                    self.add(listen.encapsulation, listen.gso, transport, Some(seat))?
                }
                None => match given.take() {
                    Some(socket) => self.adopt(listen.gso, socket)?,
                    None => self.find_or_open(listen.encapsulation, listen.gso, *local)?,
                },
            };
            self.runnable.push(key);
            if let Some(port) = self.ports.get_mut(&key) {
                port.listen(&carrier, local.ip(), listen)?;
                let mut place = *local;
                place.set_port(port.local_addr().port());
                bound.push(place);
            }
        }
        Ok(bound)
    }

    fn unlisten(&mut self, incoming: &Arc<Incoming>, thread: usize) {
        let waiting = incoming.close(thread);
        for (key, port) in &mut self.ports {
            port.unlisten(incoming);
            self.runnable.push(*key);
        }
        for accepted in waiting {
            let conn = accepted.opened.conn;
            self.obey(Command::Do(conn, Request::Abort));
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.mailbox.finish();
        for port in self.ports.values_mut() {
            port.fail();
        }
    }
}

/// Whether a call failed because there is no descriptor or no memory for a socket.
fn is_limited(error: &io::Error) -> bool {
    is_out_of_descriptors(error) || is_out_of_memory(error)
}

/// Ports that may rest: a part of what the process may open.
fn resting_max() -> usize {
    #[cfg(target_os = "linux")]
    if let Some(descriptors) = dccp_io::local::descriptors_max() {
        let share = usize::try_from(descriptors / RESTING_DIVISOR).unwrap_or(usize::MAX);
        return share.min(RESTING_PORTS);
    }
    RESTING_PORTS
}

/// The report of a poller about a source that has everything.
fn taken_for_ready(token: Token) -> Ready {
    Ready {
        token,
        readable: true,
        writable: false,
        error: true,
    }
}

/// Whether an address means nothing as it stands: link-local addresses are those of an interface
/// (RFC 4007). A UDP socket can be bound to one; the raw socket serves all.
fn is_without_interface(encapsulation: Encapsulation, remote: DccpAddr) -> bool {
    let is_link_local = match remote.ip {
        IpAddr::V4(_) => false,
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    is_link_local && (remote.scope_id == 0 || encapsulation == Encapsulation::Ip)
}

/// The first MTU of a connection without a configured one: that of the route's interface, at most Ethernet's. Longer paths
/// seldom carry the larger packets of a loopback interface or of jumbo frames, and learning that costs seconds.
fn usual_mtu(route: Option<u32>) -> usize {
    const ETHERNET: usize = 1500;
    route
        .and_then(|mtu| usize::try_from(mtu).ok())
        .map_or(ETHERNET, |mtu| mtu.min(ETHERNET))
}
