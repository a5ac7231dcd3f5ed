//! The server, which lends rings to other processes.

use crate::arrivals::{Arrivals, displaced};
use crate::channel::Gate;
use crate::error::RingServerError;
use crate::inventory::{Inventory, LentConnection, LentListener};
use crate::lent::Room;
use crate::request::{Policy, RingLimits, RingPolicy};
use crate::session::{Session, Stock};
use crate::watch::{Watch, Watched};
use core::time::Duration;
use dccp::clock;
use dccp_proto::Instant;
use rustix::event::PollFlags;
use rustix::net::RecvFlags;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

/// Lends connections of this process's engine to applications of other processes, each through a ring in shared memory.
///
/// Applications push, change and receive datagrams without a system call ([`RingClient`](crate::RingClient)). If the
/// policy allows it, the server also listens for them, and lends the connections that they accept
/// ([`RingListener`](crate::RingListener)).
///
/// The server trusts no application: one that breaks the rules of its ring or of its messages loses its own connection
/// only. After the end of an application, the datagrams that it pushed are sent, and its connection is closed.
/// One thread serves all applications. Dropping the server ends the thread and all lent connections.
#[derive(Debug)]
pub struct RingServer {
    /// The path that this server made.
    path: Option<PathBuf>,
    inventory: Inventory,
    stop: UnixStream,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl RingServer {
    /// Lends rings to applications that connect to `path`, a Unix socket that this call creates, if `policy` allows. The path's
    /// permissions decide which users can connect.
    ///
    /// ```no_run
    /// use dccp::Options;
    /// use dccp_ring_ipc::{RingCaller, RingLimits, RingRequest, RingServer};
    ///
    /// let policy = |caller: &RingCaller, request: &RingRequest| {
    ///     if caller.uid == 1000 && request.remote.dccp_port == 5001 {
    ///         Ok(Options::new())
    ///     } else {
    ///         Err("only user 1000, to port 5001".into())
    ///     }
    /// };
    /// let server = RingServer::bind("/run/rings", RingLimits::default(), policy)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the path cannot be bound, or the system has no thread.
    pub fn bind(
        path: impl AsRef<Path>,
        limits: RingLimits,
        policy: impl RingPolicy + 'static,
    ) -> Result<Self, RingServerError> {
        let path = path.as_ref().to_path_buf();
        let gate = Gate::bind(&path).map_err(|error| RingServerError::Path {
            path: path.clone(),
            error,
        })?;
        Self::start(gate, Some(path), limits, policy)
    }

    /// Lends rings to applications that connect to this listening Unix socket for packets (`SOCK_SEQPACKET`), which a service
    /// manager has made.
    ///
    /// # Errors
    /// Fails if it is no such socket, or the system has no thread.
    pub fn from_socket(
        socket: OwnedFd,
        limits: RingLimits,
        policy: impl RingPolicy + 'static,
    ) -> Result<Self, RingServerError> {
        let gate = Gate::of(socket).map_err(RingServerError::System)?;
        Self::start(gate, None, limits, policy)
    }

    fn start(
        gate: Gate,
        path: Option<PathBuf>,
        limits: RingLimits,
        policy: impl RingPolicy + 'static,
    ) -> Result<Self, RingServerError> {
        let (stop, stopped) = UnixStream::pair().map_err(RingServerError::System)?;
        let inventory = Inventory::default();
        let service = Service::new(gate, stopped, limits, policy, inventory.clone())
            .map_err(RingServerError::System)?;
        let thread = std::thread::Builder::new().name("dccp-rings".into());
        let thread = thread
            .spawn(move || service.run())
            .map_err(RingServerError::System)?;
        Ok(Self {
            path,
            inventory,
            stop,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// The connections that are lent now, in the order of their numbers.
    pub fn connections(&self) -> Vec<LentConnection> {
        self.inventory.connections()
    }

    /// The listeners that are lent now, in the order of their numbers.
    pub fn listeners(&self) -> Vec<LentListener> {
        self.inventory.listeners()
    }

    /// Whether the server's thread runs. It ends by [`stop`](Self::stop), or by a fault.
    pub fn is_running(&self) -> bool {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Ends all lent connections and listeners. The applications learn that the server has ended.
    pub fn stop(&self) {
        // The thread watches the other end.
        let _ = self.stop.shutdown(std::net::Shutdown::Both);
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take() {
            let _ = thread.join();
            if let Some(path) = &self.path {
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

impl Drop for RingServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The state of the server's thread.
struct Service {
    gate: Gate,
    stopped: UnixStream,
    watch: Watch,
    limits: RingLimits,
    policy: Policy,
    inventory: Inventory,
    /// In the order of age.
    sessions: BTreeMap<u64, Session>,
    next: u64,
    deadlines: BTreeSet<(Instant, u64)>,
    /// Sessions that have requested nothing.
    silent: BTreeSet<u64>,
    arrivals: Arrivals,
    /// Seats and memory that sessions have.
    seats: usize,
    memory: u64,
}

/// The pause after a failed system call, so that a failure that lasts does not use a core.
const PAUSE: Duration = Duration::from_millis(10);
/// The applications that have connected and requested nothing. They have no seat; a further one displaces the oldest of
/// the user that has the most.
const SILENT_MAX: usize = 16;
/// The applications that are accepted in one turn.
const ADMITTED_MAX: usize = 16;

/// The keys of the server's own descriptors. Those of sessions follow.
const STOP: u64 = 0;
const GATE: u64 = 1;

impl Service {
    fn new(
        gate: Gate,
        stopped: UnixStream,
        limits: RingLimits,
        policy: impl RingPolicy + 'static,
        inventory: Inventory,
    ) -> io::Result<Self> {
        let watch = Watch::new()?;
        for (key, fd) in [(STOP, stopped.as_fd()), (GATE, gate.as_fd())] {
            watch.update(
                key,
                &mut Watched::default(),
                [(fd, PollFlags::IN)].into_iter(),
            )?;
        }
        Ok(Self {
            gate,
            stopped,
            watch,
            limits,
            policy: Policy(Box::new(policy)),
            inventory,
            sessions: BTreeMap::new(),
            next: GATE + 1,
            deadlines: BTreeSet::new(),
            silent: BTreeSet::new(),
            arrivals: Arrivals::default(),
            seats: 0,
            memory: 0,
        })
    }

    fn run(mut self) {
        loop {
            let due = self.deadlines.first().map(|(at, _)| *at);
            let mut turns = match self.watch.wait(due) {
                Ok(ready) => ready,
                Err(_) => self.all_keys_after_pause(),
            };
            if turns.remove(&STOP) {
                break;
            }
            let has_caller = turns.remove(&GATE);
            let now = clock::now();
            let due = self.deadlines.iter().take_while(|(at, _)| *at <= now);
            turns.extend(due.map(|(_, key)| *key));
            for key in turns {
                self.serve(key);
            }
            if has_caller {
                self.admit();
            }
        }
        for session in core::mem::take(&mut self.sessions).into_values() {
            session.end(&mut self.policy);
        }
    }

    /// Replaces the wait while it fails: after a pause, everything gets a turn.
    fn all_keys_after_pause(&self) -> BTreeSet<u64> {
        std::thread::sleep(PAUSE);
        let stop = rustix::net::recv(&self.stopped, &mut [0; 1], RecvFlags::DONTWAIT);
        let is_stopped = matches!(stop, Ok((_, 0)));
        let own = is_stopped.then_some(STOP).into_iter().chain([GATE]);
        own.chain(self.sessions.keys().copied()).collect()
    }

    /// Gives a turn to a session, unless it has ended.
    fn serve(&mut self, key: u64) {
        let room = Room {
            memory: self.limits.memory.saturating_sub(self.memory),
            seats: self.limits.clients.saturating_sub(self.seats),
        };
        let Some(mut session) = self.take(key) else {
            return;
        };
        let mut stock = Stock::new(&mut self.policy, &self.inventory, room);
        let stays = session.turn(&mut stock);
        let new_sessions = stock.new_sessions;
        if !stays {
            // Before they close: a trace, for example, may share the connection with its descriptor.
            self.watch.forget(session.sources());
        }
        if stays || session.outlasts_its_end(&mut self.policy) {
            self.put(key, session);
        }
        for session in new_sessions {
            self.add(session);
        }
    }

    /// Takes a session out, with what it counts for.
    fn take(&mut self, key: u64) -> Option<Session> {
        let session = self.sessions.remove(&key)?;
        self.silent.remove(&key);
        if let Some(due) = session.due() {
            self.deadlines.remove(&(due, key));
        }
        self.seats -= session.seats();
        self.memory -= session.memory();
        Some(session)
    }

    /// Puts a session in, and watches what it waits for. One that cannot be watched ends.
    fn put(&mut self, key: u64, mut session: Session) {
        let mut watched = core::mem::take(&mut session.watched);
        let updated = self.watch.update(key, &mut watched, session.sources());
        session.watched = watched;
        if updated.is_err() {
            self.watch.forget(session.sources());
            session.end(&mut self.policy);
            return;
        }
        if session.seats() == 0 {
            self.silent.insert(key);
        }
        self.deadlines.extend(session.due().map(|due| (due, key)));
        self.seats += session.seats();
        self.memory += session.memory();
        self.sessions.insert(key, session);
    }

    fn add(&mut self, session: Session) {
        let key = self.next;
        self.next += 1;
        self.put(key, session);
    }

    /// Accepts applications. The request of each decides whether it gets a seat.
    fn admit(&mut self) {
        for _ in 0..ADMITTED_MAX {
            let channel = match self.gate.accept() {
                Ok(channel) => channel,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    // Without a descriptor, the waiting application would wake this thread again at once.
                    std::thread::sleep(PAUSE);
                    return;
                }
            };
            let Ok(session) = Session::new(channel) else {
                continue;
            };
            let user = self.policy.charged_user(session.uid());
            if !self.arrivals.admit(clock::now(), user) {
                session.dismiss("too many requests of this user in a second");
                continue;
            }
            self.displace_silent();
            let key = self.next;
            self.add(session);
            // Its request may have come with it.
            self.serve(key);
        }
    }

    /// Displaces a session that has requested nothing if there are too many.
    fn displace_silent(&mut self) {
        if self.silent.len() < SILENT_MAX {
            return;
        }
        let user_of = |session: &Session| self.policy.charged_user(session.uid());
        let silent = self.silent.iter();
        let silent = silent.filter_map(|key| Some((*key, user_of(self.sessions.get(key)?))));
        let silent: Vec<(u64, u32)> = silent.collect();
        let Some(session) = displaced(&silent).and_then(|key| self.take(key)) else {
            return;
        };
        self.watch.forget(session.sources());
        session.dismiss("too many programs have connected without a request; try again");
    }
}
