//! The engine: one thread inside the program that runs connections. No daemon is needed.
//!
//! Sockets and listeners send it [`Command`]s; it answers through channels and through the
//! [`Shared`] state of each connection. Most programs never see it: the first socket starts the one
//! that all share.

use crate::addr::DccpAddr;
use crate::driver::Driver;
use crate::error::{BindError, CloseError, ConnectError, EngineGone};
use crate::group::Membership;
use crate::listener::Incoming;
use crate::patience::Patience;
use crate::shared::Shared;
use crate::stats::Inspection;
use core::cell::Cell;
use core::fmt;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use dccp_io::{Encapsulation, Poller, ProcessGeneration, Waker};
use dccp_proto::wire::ServiceCode;
use dccp_proto::{Config, ConnId, RateHint};
use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A thread that runs connections, or several. Clones are handles of the same threads.
///
/// They end when no handle, socket or listener is left and all connections have ended.
#[derive(Clone)]
pub struct Engine {
    threads: Arc<Threads>,
    /// The thread that commands go to.
    at: usize,
}

/// The threads of an engine.
struct Threads {
    handles: Vec<Handle>,
    /// Connections that were opened: each goes to the next thread.
    opened: AtomicUsize,
}

thread_local! {
    /// Whether this thread is an engine's.
    static RUNS_ENGINE: Cell<bool> = const { Cell::new(false) };
}

/// Settings of an engine.
#[derive(Clone, Debug)]
#[must_use]
pub struct EngineOptions {
    name: String,
    busy_wait: Duration,
    threads: usize,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            name: "dccp".into(),
            busy_wait: Duration::ZERO,
            threads: 1,
        }
    }
}

impl EngineOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The thread's name, for debuggers and `top`. `dccp` by default.
    pub fn name(mut self, name: &str) -> Self {
        self.name = name.into();
        self
    }

    /// The thread does not sleep through the last so much before a deadline, but looks for packets
    /// again and again: exact to the microsecond, at the price of CPU time. Zero, the default: it
    /// sleeps to the end.
    pub fn busy_wait(mut self, before_deadline: Duration) -> Self {
        self.busy_wait = before_deadline;
        self
    }

    /// So many threads, 1 by default, for many connections: each connection stays with one of them. A listener has a
    /// socket in each (`SO_REUSEPORT`), and the kernel divides what arrives by a hash of addresses and ports; what a
    /// program opens goes to each in turn. Only over UDP: over IP every socket would get every packet. (Linux)
    #[cfg(target_os = "linux")]
    pub fn threads(mut self, threads: core::num::NonZeroUsize) -> Self {
        self.threads = threads.get();
        self
    }
}

impl Engine {
    /// Starts an engine of its own.
    ///
    /// # Errors
    /// When the system gives no thread, no poller or no randomness.
    pub fn start(options: &EngineOptions) -> io::Result<Self> {
        let handles = (0..options.threads).map(|_| Self::start_thread(options));
        Ok(Self {
            threads: Arc::new(Threads {
                handles: handles.collect::<io::Result<_>>()?,
                opened: AtomicUsize::new(0),
            }),
            at: 0,
        })
    }

    fn start_thread(options: &EngineOptions) -> io::Result<Handle> {
        let busy_wait = options.busy_wait;
        let process = ProcessGeneration::watched();
        let (started, outcome) = sync_channel(1);
        std::thread::Builder::new()
            .name(options.name.clone())
            .spawn(move || match begin(busy_wait) {
                Ok((mailbox, driver)) => {
                    // Who started us waits for the answer.
                    let _ = started.send(Ok(mailbox));
                    RUNS_ENGINE.set(true);
                    driver.run();
                }
                Err(e) => {
                    let _ = started.send(Err(e));
                }
            })?;
        let mailbox = outcome
            .recv()
            .map_err(|_| io::Error::other("the engine's thread ended at once"))??;
        Ok(Handle { mailbox, process })
    }

    /// The engine that the process shares; starts it if it does not run yet.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn shared() -> io::Result<Self> {
        static SHARED: Mutex<Option<Engine>> = Mutex::new(None);
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(engine) = shared.as_ref().filter(|engine| engine.is_here()) {
            return Ok(engine.clone());
        }
        let engine = Self::start(&EngineOptions::new())?;
        // The parent's engine, after a fork, is not dropped: its locks may be held for ever.
        core::mem::forget(shared.replace(engine.clone()));
        Ok(engine)
    }

    /// Waits until the engine has no connection any more: for the end of a program, after its sockets have been dropped or
    /// closed.
    ///
    /// ```
    /// use core::time::Duration;
    /// use dccp::{Engine, Listener, Options, Socket};
    ///
    /// let options = Options::new();
    /// let listener = Listener::bind("127.0.0.1:0/0", &options)?;
    /// let socket = Socket::connect(listener.local_addrs(), &options)?;
    /// socket.send(b"goodbye")?;
    /// drop(socket);
    /// drop(listener.accept()?);
    /// Engine::shared()?.wait_idle(Duration::from_secs(10))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When connections are left after `at_most`, or the engine is gone.
    pub fn wait_idle(&self, at_most: Duration) -> Result<(), CloseError> {
        const PAUSE_MAX: Duration = Duration::from_millis(10);
        let mut pause = Duration::from_micros(100);
        let mut waiting = Patience::For(at_most).begin();
        while self.connections()? > 0 {
            let left = waiting.left()?.unwrap_or(PAUSE_MAX);
            std::thread::sleep(left.min(pause));
            pause = (2 * pause).min(PAUSE_MAX);
        }
        Ok(())
    }

    /// Connections that have not ended.
    fn connections(&self) -> Result<usize, EngineGone> {
        let each = (0..self.threads()).map(|thread| self.at(thread).ask(Command::Count));
        each.sum()
    }

    /// Whether it runs in this process.
    pub(crate) fn is_here(&self) -> bool {
        self.threads.handles[self.at].process.is_current()
    }

    /// Hands a command over. In a child of the engine's process it is dropped, and with it the way to answer.
    pub(crate) fn send(&self, command: Command) {
        if self.is_here() {
            self.threads.handles[self.at].mailbox.push(command);
        }
    }

    /// Whether a call may wait for an answer of the engine.
    pub(crate) fn check(&self) -> Result<(), EngineGone> {
        if is_on_engine() {
            return Err(EngineGone::OWN_THREAD);
        }
        if self.is_here() {
            Ok(())
        } else {
            Err(EngineGone::default())
        }
    }

    /// Hands a command over and waits for the answer.
    pub(crate) fn ask<T>(
        &self,
        command: impl FnOnce(SyncSender<T>) -> Command,
    ) -> Result<T, EngineGone> {
        self.check()?;
        let (reply, answer) = sync_channel(1);
        self.send(command(reply));
        answer.recv().map_err(|_| EngineGone::default())
    }

    /// How many threads it has.
    pub(crate) fn threads(&self) -> usize {
        self.threads.handles.len()
    }

    /// A handle whose commands go to one of the threads.
    pub(crate) fn at(&self, thread: usize) -> Self {
        Self {
            threads: self.threads.clone(),
            at: thread,
        }
    }

    /// A handle for the next connection.
    pub(crate) fn next(&self) -> Self {
        let opened = self.threads.opened.fetch_add(1, Ordering::Relaxed);
        self.at(opened % self.threads())
    }

    /// The threads' mailboxes.
    pub(crate) fn mailboxes(&self) -> impl Iterator<Item = Arc<Mailbox>> {
        let handles = self.threads.handles.iter();
        handles.map(|handle| handle.mailbox.clone())
    }
}

/// Whether this thread is an engine's: then nothing here may wait for it.
pub(crate) fn is_on_engine() -> bool {
    RUNS_ENGINE.get()
}

/// What the thread needs, made on it: a poller belongs to one thread.
fn begin(busy_wait: Duration) -> io::Result<(Arc<Mailbox>, Driver)> {
    let poller = Poller::new(busy_wait)?;
    let mailbox = Arc::new(Mailbox::new(poller.waker()));
    let driver = Driver::new(mailbox.clone(), poller)?;
    Ok((mailbox, driver))
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

/// One thread. Dropped, it tells the thread that no more commands come.
struct Handle {
    mailbox: Arc<Mailbox>,
    /// Where the thread runs: in child processes it is gone.
    process: ProcessGeneration,
}

impl Drop for Handle {
    fn drop(&mut self) {
        // In a child of the process the mailbox may be locked for ever.
        if self.process.is_current() {
            self.mailbox.push(Command::Finish);
        }
    }
}

/// Names a connection in its engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ConnRef {
    /// The transport that it uses.
    pub(crate) port: PortKey,
    /// Its name there.
    pub(crate) conn: ConnId,
}

/// The line of a connection's application to the engine.
#[derive(Clone)]
pub(crate) struct Calls(Arc<dyn Fn(Request) + Send + Sync>);

impl Calls {
    /// Whatever takes requests.
    pub(crate) fn to(taker: impl Fn(Request) + Send + Sync + 'static) -> Self {
        Self(Arc::new(taker))
    }

    pub(crate) fn call(&self, request: Request) {
        (self.0)(request);
    }
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Calls")
    }
}

/// Names a transport and its endpoint in an engine; never used twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct PortKey(pub(crate) u64);

/// What sockets and listeners ask of the engine.
pub(crate) enum Command {
    /// Open a connection.
    Connect(Box<Connect>),
    /// Listen.
    Listen(Box<Listen>),
    /// Stop listening: the listener that gave this, and the thread that does.
    Unlisten(Arc<Incoming>, usize),
    /// About a connection.
    Do(ConnRef, Request),
    /// Listen to the bell of a connection's application, which is another process.
    #[cfg(target_os = "linux")]
    Watch(ConnRef, Arc<crate::ring::lend::channel::Doorbell>),
    /// Do not any more.
    #[cfg(target_os = "linux")]
    Unwatch(ConnRef),
    /// What was kept for other threads may be closed.
    CloseIdle,
    /// Answer when all earlier commands have been obeyed, and the ports have had their turns.
    Answer(SyncSender<()>),
    /// Say how many connections there are.
    Count(SyncSender<usize>),
    /// No more commands will come: end when the connections have ended.
    Finish,
}

/// A connection to open.
pub(crate) struct Connect {
    pub(crate) encapsulation: Encapsulation,
    pub(crate) gso: bool,
    pub(crate) local: Option<SocketAddr>,
    pub(crate) remote: DccpAddr,
    pub(crate) config: Config,
    /// Replaces the configuration's MTU; `None`: the route's.
    pub(crate) mtu: Option<usize>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) reply: SyncSender<Result<Opened, ConnectError>>,
}

/// A connection that is on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened {
    pub(crate) conn: ConnRef,
    pub(crate) flow: dccp_proto::path::Flow,
    /// The interface of link-local IPv6 addresses, by its number; otherwise 0.
    pub(crate) scope_id: u32,
}

/// An address with the interface that it is of; that of IPv6 addresses only.
pub(crate) fn with_scope(mut address: SocketAddr, scope_id: u32) -> SocketAddr {
    if let SocketAddr::V6(v6) = &mut address {
        v6.set_scope_id(scope_id);
    }
    address
}

/// A DCCP port to listen on, at several addresses.
pub(crate) struct Listen {
    pub(crate) encapsulation: Encapsulation,
    pub(crate) gso: bool,
    pub(crate) locals: Vec<SocketAddr>,
    pub(crate) dccp_port: u16,
    /// The port was chosen at random: no other listener may have it.
    pub(crate) is_any_port: bool,
    pub(crate) services: Vec<ServiceCode>,
    pub(crate) config: Config,
    pub(crate) incoming: Arc<Incoming>,
    /// The thread that listens.
    pub(crate) thread: usize,
    /// For each address its socket, if there is one already: one of several of the UDP port.
    pub(crate) sockets: Vec<Option<Membership>>,
    /// The addresses that are really used.
    pub(crate) reply: SyncSender<Result<Vec<SocketAddr>, BindError>>,
}

/// What a socket asks for its connection.
pub(crate) enum Request {
    /// There is something to send.
    DataReady,
    /// Send what waits, then close.
    Close,
    /// Reset at once.
    Abort,
    /// The application is slow to read, or not any more.
    SlowReceiver(bool),
    /// Say what the network takes.
    RateHint(SyncSender<Option<RateHint>>),
    /// Show everything.
    Inspect(SyncSender<Inspection>),
}

/// The commands on their way to the thread.
pub(crate) struct Mailbox {
    inner: Mutex<Inner>,
    waker: Waker,
}

struct Inner {
    commands: Vec<Command>,
    is_asleep: bool,
    is_over: bool,
}

impl Mailbox {
    fn new(waker: Waker) -> Self {
        Self {
            inner: Mutex::new(Inner {
                commands: Vec::new(),
                is_asleep: false,
                is_over: false,
            }),
            waker,
        }
    }

    /// Hands a command over. If the thread has ended it is dropped, and with it the way to answer.
    pub(crate) fn push(&self, command: Command) {
        let mut inner = self.lock();
        if inner.is_over {
            return;
        }
        inner.commands.push(command);
        if core::mem::take(&mut inner.is_asleep) {
            drop(inner);
            self.waker.wake();
        }
    }

    /// Takes all commands.
    pub(crate) fn take(&self, into: &mut Vec<Command>) {
        core::mem::swap(&mut self.lock().commands, into);
    }

    /// The thread wants to sleep; `false` if there are commands.
    pub(crate) fn fall_asleep(&self) -> bool {
        let mut inner = self.lock();
        inner.is_asleep = inner.commands.is_empty();
        inner.is_asleep
    }

    /// The thread is awake again: nobody need wake it.
    pub(crate) fn wake_up(&self) {
        self.lock().is_asleep = false;
    }

    /// The thread has ended.
    pub(crate) fn finish(&self) {
        let mut inner = self.lock();
        inner.is_over = true;
        let late = core::mem::take(&mut inner.commands);
        drop(inner);
        drop(late);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
