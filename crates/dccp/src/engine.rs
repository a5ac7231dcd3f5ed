//! The engine: one thread inside the program that runs connections. No daemon is needed.
//!
//! Sockets and listeners send it `Command`s; it answers through channels and through the
//! shared state of each connection. Most programs never see it: the first socket starts the one
//! that all share.

use crate::budget::EngineBudget;
use crate::command::{Command, Mailbox};
use crate::driver::Driver;
use crate::error::{CloseError, EngineGone};
use crate::patience::Patience;
use crate::stats::EngineStats;
#[cfg(feature = "unstable")]
use crate::tap::PacketTap;
use crate::thread_mark;
use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use dccp_io::{Poller, ProcessGeneration};
use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

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

/// Settings of an engine.
#[derive(Clone, Debug)]
#[must_use]
pub struct EngineOptions {
    name: String,
    busy_wait: Duration,
    threads: usize,
    #[cfg(feature = "unstable")]
    tap: Option<Arc<dyn PacketTap>>,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            name: "dccp".into(),
            busy_wait: Duration::ZERO,
            threads: 1,
            #[cfg(feature = "unstable")]
            tap: None,
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

    /// Busy-polls for this long before each deadline instead of sleeping: exact to the microsecond, at the price of CPU time.
    /// Zero by default.
    pub fn busy_wait(mut self, before_deadline: Duration) -> Self {
        self.busy_wait = before_deadline;
        self
    }

    /// Number of threads, 1 by default. Each connection stays with one of them. A listener has a socket in each thread
    /// (`SO_REUSEPORT`), and the kernel divides arriving flows by a hash of addresses and ports. Connections that the program
    /// opens go to each thread in turn. Over UDP only, because over IP every socket would get every packet. (Linux)
    #[cfg(target_os = "linux")]
    pub fn threads(mut self, threads: core::num::NonZeroUsize) -> Self {
        self.threads = threads.get();
        self
    }

    /// Shows each datagram of the engine to `tap`.
    #[cfg(feature = "unstable")]
    pub fn tap(mut self, tap: Arc<dyn PacketTap>) -> Self {
        self.tap = Some(tap);
        self
    }
}

impl Engine {
    /// Starts an engine of its own.
    ///
    /// # Errors
    /// When the system gives no thread, no poller or no randomness.
    pub fn start(options: &EngineOptions) -> io::Result<Self> {
        let budget = EngineBudget::new();
        let handles = (0..options.threads).map(|_| Self::start_thread(options, budget.clone()));
        Ok(Self {
            threads: Arc::new(Threads {
                handles: handles.collect::<io::Result<_>>()?,
                opened: AtomicUsize::new(0),
            }),
            at: 0,
        })
    }

    fn start_thread(options: &EngineOptions, budget: Arc<EngineBudget>) -> io::Result<Handle> {
        let options = options.clone();
        let process = ProcessGeneration::watched();
        let (started, outcome) = sync_channel(1);
        std::thread::Builder::new()
            .name(options.name.clone())
            .spawn(move || match begin(&options, budget) {
                Ok((mailbox, driver)) => {
                    // The starting thread waits for the answer.
                    let _ = started.send(Ok(mailbox));
                    thread_mark::mark();
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

    /// Waits until the engine has no connection any more. Call it at the end of a program, after dropping or closing its
    /// sockets.
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

    /// The counters of all threads since the engine started: those of its connections, of connections that have ended, and of
    /// packets of no connection. No counter goes down but `curr_estab` and `connections`.
    ///
    /// # Errors
    /// When the engine is gone.
    pub fn stats(&self) -> Result<EngineStats, EngineGone> {
        let mut sum = EngineStats::default();
        for thread in 0..self.threads() {
            sum = sum.plus(&self.at(thread).ask(Command::Stats)?);
        }
        Ok(sum)
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
        if thread_mark::is_on_engine() {
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

/// Makes mailbox and driver on the engine's thread, because a poller belongs to one thread.
fn begin(options: &EngineOptions, budget: Arc<EngineBudget>) -> io::Result<(Arc<Mailbox>, Driver)> {
    let poller = Poller::new(options.busy_wait)?;
    let mailbox = Arc::new(Mailbox::new(poller.waker()));
    let driver = Driver::new(mailbox.clone(), poller, budget)?;
    #[cfg(feature = "unstable")]
    let driver = with_tap(driver, options.tap.clone());
    Ok((mailbox, driver))
}

#[cfg(feature = "unstable")]
fn with_tap(mut driver: Driver, tap: Option<Arc<dyn PacketTap>>) -> Driver {
    driver.tap = tap;
    driver
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

/// One thread. Dropping this signals to the thread that no more commands come.
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
