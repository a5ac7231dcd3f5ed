//! Commands to the engine's threads, and the mailbox through which they go.

use crate::addr::DccpAddr;
use crate::error::{BindError, ConnectError};
use crate::group::Membership;
use crate::incoming::Incoming;
use crate::names::{ConnRef, Opened};
use crate::request::Request;
use crate::shared::Shared;
use crate::stats::EngineStats;
use core::net::SocketAddr;
use core::num::NonZeroU16;
use dccp_io::{Encapsulation, Waker};
use dccp_proto::Config;
use dccp_proto::wire::ServiceCode;
use std::net::UdpSocket;
#[cfg(all(target_os = "linux", feature = "unstable"))]
use std::os::fd::OwnedFd;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A command of a socket or a listener to the engine.
pub(crate) enum Command {
    /// Open a connection.
    Connect(Box<Connect>),
    /// Listen.
    Listen(Box<Listen>),
    /// Stop listening: the listener that gave this, and the thread that does.
    Unlisten(Arc<Incoming>, usize),
    /// Do this for a connection.
    Do(ConnRef, Request),
    /// Treat bytes that arrive at a Unix socket as a request to look at the connection's outbox.
    #[cfg(all(target_os = "linux", feature = "unstable"))]
    WatchFd(ConnRef, OwnedFd),
    /// Stop that.
    #[cfg(all(target_os = "linux", feature = "unstable"))]
    UnwatchFd(ConnRef),
    /// Close the sockets that were kept for other threads.
    CloseIdle,
    /// Answer when all earlier commands have been obeyed, and the ports have had their turns.
    Answer(SyncSender<()>),
    /// Say how many connections there are.
    Count(SyncSender<usize>),
    /// Give the counters of all ports.
    Stats(SyncSender<EngineStats>),
    /// No more commands will come: end when the connections have ended.
    Finish,
}

/// A connection to open.
pub(crate) struct Connect {
    pub(crate) encapsulation: Encapsulation,
    pub(crate) gso: bool,
    pub(crate) local: Option<SocketAddr>,
    pub(crate) remote: DccpAddr,
    /// `None`: any that is free.
    pub(crate) dccp_port: Option<NonZeroU16>,
    pub(crate) config: Config,
    /// Replaces the configuration's MTU; `None`: the route's.
    pub(crate) mtu: Option<usize>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) reply: SyncSender<Result<Opened, ConnectError>>,
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
    /// The socket that the application gave: that of the only address.
    pub(crate) given: Option<UdpSocket>,
    /// The addresses that are really used.
    pub(crate) reply: SyncSender<Result<Vec<SocketAddr>, BindError>>,
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
    pub(crate) fn new(waker: Waker) -> Self {
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
            if !self.waker.wake() {
                // The next command wakes the thread.
                self.lock().is_asleep = true;
            }
        }
    }

    /// Takes all commands.
    pub(crate) fn take(&self, into: &mut Vec<Command>) {
        core::mem::swap(&mut self.lock().commands, into);
    }

    /// Announces that the thread will sleep; `false` if there are commands.
    pub(crate) fn fall_asleep(&self) -> bool {
        let mut inner = self.lock();
        inner.is_asleep = inner.commands.is_empty();
        inner.is_asleep
    }

    /// The thread is awake again and needs no wake-up.
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
