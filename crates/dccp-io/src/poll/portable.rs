//! `mio`, for systems without epoll.

use core::time::Duration;
use std::io;
use std::sync::Arc;

use mio::event::Source;
use mio::{Events, Interest};

use super::{Ready, Token, sleep_time};

/// Events taken from the system at a time.
const EVENTS_MAX: usize = 256;
const WAKER: mio::Token = mio::Token(usize::MAX);

/// Waits for many transports at a time, on one thread.
#[derive(Debug)]
pub struct Poller {
    poll: mio::Poll,
    events: Events,
    waker: Waker,
    busy_wait: Duration,
}

/// Wakes a [`Poller`] from any thread.
#[derive(Clone, Debug)]
pub struct Waker(Arc<mio::Waker>);

impl Poller {
    /// A poller that leaves the last `busy_wait` before a deadline to its caller: a wait that is no
    /// longer than that only looks and returns. Zero: it sleeps to the end.
    ///
    /// # Errors
    /// When the system has no more descriptors.
    pub fn new(busy_wait: Duration) -> io::Result<Self> {
        let poll = mio::Poll::new()?;
        let waker = mio::Waker::new(poll.registry(), WAKER)?;
        Ok(Self {
            poll,
            events: Events::with_capacity(EVENTS_MAX),
            waker: Waker(Arc::new(waker)),
            busy_wait,
        })
    }

    /// Whether a [`wait`](Self::wait) of this length sleeps, and does not only look.
    pub fn sleeps(&self, timeout: Option<Duration>) -> bool {
        sleep_time(timeout, self.busy_wait) != Some(Duration::ZERO)
    }

    /// Wakes this poller from other threads.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Starts to watch a transport for datagrams and errors.
    ///
    /// # Errors
    /// When it is watched already, or the system has no more memory.
    pub fn add(&mut self, source: &mut dyn Source, token: Token) -> io::Result<()> {
        let registry = self.poll.registry();
        registry.register(source, mio::Token(token.0), Interest::READABLE)
    }

    /// Starts or stops to watch a blocked transport until it has room to send.
    ///
    /// # Errors
    /// When the transport is not watched.
    pub fn want_writable(
        &mut self,
        source: &mut dyn Source,
        token: Token,
        want: bool,
    ) -> io::Result<()> {
        let interest = if want {
            Interest::READABLE | Interest::WRITABLE
        } else {
            Interest::READABLE
        };
        let registry = self.poll.registry();
        registry.reregister(source, mio::Token(token.0), interest)
    }

    /// Stops to watch a transport.
    ///
    /// # Errors
    /// When it is not watched.
    pub fn remove(&mut self, source: &mut dyn Source) -> io::Result<()> {
        self.poll.registry().deregister(source)
    }

    /// Waits until something is ready, a [`Waker`] is used, or `timeout` is over (`None`: never);
    /// fills `ready`. It may return early with nothing.
    ///
    /// # Errors
    /// None that a program could cause.
    pub fn wait(&mut self, timeout: Option<Duration>, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        let time = sleep_time(timeout, self.busy_wait);
        match self.poll.poll(&mut self.events, time) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => return Ok(()),
            done => done?,
        }
        let transports = self.events.iter().filter(|e| e.token() != WAKER);
        ready.extend(transports.map(|e| Ready {
            token: Token(e.token().0),
            readable: e.is_readable(),
            writable: e.is_writable(),
            error: e.is_error(),
        }));
        Ok(())
    }
}

impl Waker {
    /// Makes the poller's current or next wait return. Returns `false` if the system refused.
    pub fn wake(&self) -> bool {
        self.0.wake().is_ok()
    }
}
