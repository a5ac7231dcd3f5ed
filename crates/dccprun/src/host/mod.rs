//! The host of the program's DCCP sockets: it answers requests of the library, and carries datagrams between Unix sockets
//! and DCCP connections.
//!
//! ```text
//! program                                  this process
//! library ── one connection a request ──── control ── table of sockets
//! Unix socket ──────────────────────────── connection (two threads) ── link ─┬─ own: an engine of this process
//! Unix listener ◄── a connection for each ─ listening (one thread) ──── link ─┴─ daemon: rings of dccpd
//! ```
//!
//! No request is trusted: numbers, lengths and addresses are checked, and all tables have bounds.

mod connection;
mod control;
mod copies;
mod daemon;
mod errors;
mod inward;
mod link;
mod listening;
mod outward;
mod own;
mod queue;
mod settings;
mod table;

use crate::cli::Defaults;
use crate::failure;
use crate::unix;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use daemon::Daemon;
use dccp::{Engine, EngineOptions};
use dccp_cli::Failure;
use dccprun_message::{HostKey, Role, SocketKey};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use table::Table;

/// Bytes of the stack of a thread that carries datagrams.
const STACK: usize = 256 << 10;
/// How long connections may take to end after the program.
const LINGER: Duration = Duration::from_secs(10);

/// The host, shared by its threads.
pub(crate) struct Host {
    key: HostKey,
    defaults: Defaults,
    carrier: Carrier,
    table: Mutex<Table>,
    /// Threads of connections and listeners.
    active: AtomicUsize,
    /// Accepts the program's ends of connections.
    data: OwnedFd,
}

/// The engine that runs the connections.
enum Carrier {
    /// An engine of this process.
    Engine(Engine),
    /// The daemon of the host.
    Daemon(Daemon),
}

impl Carrier {
    /// # Errors
    /// When the system gives no engine, or there is no daemon.
    fn start(defaults: &Defaults) -> Result<Self, Failure> {
        let Some(path) = defaults.daemon.clone() else {
            let engine = Engine::start(&EngineOptions::new());
            return engine.map(Self::Engine).map_err(|e| no_sockets(&e));
        };
        unix::probe(&path).map_err(|e| {
            let next = match e {
                Errno::ACCESS => "get access to the daemon's socket from the host's administrator",
                _ => "start dccpd, or name its socket with --daemon=PATH",
            };
            failure(
                format!("{}: the daemon does not answer: {e}", path.display()),
                next,
            )
        })?;
        Ok(Self::Daemon(Daemon { path }))
    }
}

fn no_sockets(error: &io::Error) -> Failure {
    failure(
        format!("the sockets for the program cannot be opened: {error}"),
        "raise this system's limits of open files and threads (ulimit -a)",
    )
}

/// A host whose threads run; dropping it ends the one that answers requests.
pub(crate) struct Running {
    host: Arc<Host>,
    /// Ends the thread when it is dropped.
    stop: Option<OwnedFd>,
    control: Option<JoinHandle<()>>,
}

impl Running {
    /// Starts a host.
    ///
    /// # Errors
    /// When the system gives no sockets, threads or randomness, or the daemon does not answer.
    pub(crate) fn start(defaults: Defaults) -> Result<Self, Failure> {
        let carrier = Carrier::start(&defaults)?;
        Self::open(defaults, carrier).map_err(|e| no_sockets(&e))
    }

    fn open(defaults: Defaults, carrier: Carrier) -> io::Result<Self> {
        let mut number = [0; 16];
        getrandom::fill(&mut number).map_err(io::Error::other)?;
        let uid = rustix::process::geteuid().as_raw();
        let key = HostKey::new(u128::from_ne_bytes(number), uid);
        let requests = unix::listener(key, Role::Control)?;
        let host = Arc::new(Host {
            key,
            defaults,
            carrier,
            table: Mutex::new(Table::default()),
            active: AtomicUsize::new(0),
            data: unix::listener(key, Role::Data)?,
        });
        let (stopped, stop) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let control = {
            let host = host.clone();
            let thread = Builder::new().name("dccprun-control".into());
            thread.spawn(move || control::serve(&host, &requests, &stopped))?
        };
        Ok(Self {
            host,
            stop: Some(stop),
            control: Some(control),
        })
    }

    /// The value of the program's environment variable.
    pub(crate) fn variable(&self) -> String {
        let digits = String::from_utf8_lossy(&self.host.key.digits);
        format!("{digits}:{}", self.host.key.uid)
    }

    /// Whether no connection and no listener is left.
    pub(crate) fn is_idle(&self) -> bool {
        self.host.active.load(Ordering::SeqCst) == 0
    }

    /// Whether a process has a socket, connected or not.
    pub(crate) fn has_sockets(&self) -> bool {
        unix::has_sockets(self.host.key)
    }

    /// Waits until the connections that closed have ended, within a bound.
    pub(crate) fn finish(&self) {
        // The daemon ends its connections by itself.
        if let Carrier::Engine(engine) = &self.host.carrier {
            // Those that have not ended are cut off with this process.
            let _ = engine.wait_idle(LINGER);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(control) = self.control.take() {
            // A panic there has printed its message.
            let _ = control.join();
        }
    }
}

impl Host {
    /// The table. A panic elsewhere while it was held does not make it unusable.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the program still has the socket that it opened as this one.
    fn is_alive(&self, key: SocketKey) -> bool {
        unix::is_alive(self.key, Role::Socket(key))
    }

    /// Runs a part of a connection or a listener on a thread that counts as active.
    ///
    /// # Errors
    /// When the system gives no thread.
    fn spawn(
        self: &Arc<Self>,
        name: &str,
        work: impl FnOnce(&Arc<Self>) + Send + 'static,
    ) -> io::Result<()> {
        let active = Active::new(self.clone());
        let thread = Builder::new().name(name.into()).stack_size(STACK);
        thread.spawn(move || work(&active.0)).map(drop)
    }
}

/// A thread that counts as active until this is dropped.
struct Active(Arc<Host>);

impl Active {
    fn new(host: Arc<Host>) -> Self {
        host.active.fetch_add(1, Ordering::SeqCst);
        Self(host)
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::SeqCst);
    }
}
