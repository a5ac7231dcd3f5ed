//! epoll, an eventfd to wake it, and a timerfd.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

use super::{Ready, Token, sleep_time};
use crate::transport::Source;

/// Attempts of one wake-up.
const WAKE_TRIES: usize = 4;
/// Events taken from the kernel at a time.
const EVENTS_MAX: usize = 256;
const WAKER: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;
const ZERO: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// Waits for many transports at a time, on one thread.
pub struct Poller {
    epoll: OwnedFd,
    timer: OwnedFd,
    waker: Waker,
    events: Vec<Event>,
    busy_wait: Duration,
}

/// Wakes a [`Poller`] from any thread.
#[derive(Clone, Debug)]
pub struct Waker(Arc<Bell>);

#[derive(Debug)]
struct Bell {
    fd: OwnedFd,
    /// Rung and not yet heard: ringing again would be a system call for nothing.
    is_rung: AtomicBool,
}

impl Poller {
    /// A poller that leaves the last `busy_wait` before a deadline to its caller: a wait that is no
    /// longer than that only looks and returns. Zero: it sleeps to the end.
    ///
    /// # Errors
    /// When the system has no more file descriptors.
    pub fn new(busy_wait: Duration) -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let timer = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
        )?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        // Edges: neither has to be read. A timer that is set again is quiet until it expires.
        let edge = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &bell, EventData::new_u64(WAKER), edge)?;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), edge)?;
        Ok(Self {
            epoll,
            timer,
            waker: Waker(Arc::new(Bell {
                fd: bell,
                is_rung: AtomicBool::new(false),
            })),
            events: Vec::with_capacity(EVENTS_MAX),
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
    pub fn add(&mut self, source: Source<'_>, token: Token) -> io::Result<()> {
        Ok(epoll::add(
            &self.epoll,
            source,
            EventData::new_u64(token.0 as u64),
            EventFlags::IN,
        )?)
    }

    /// Starts or stops to watch a blocked transport until it has room to send.
    ///
    /// # Errors
    /// When the transport is not watched.
    pub fn want_writable(
        &mut self,
        source: Source<'_>,
        token: Token,
        want: bool,
    ) -> io::Result<()> {
        let flags = if want {
            EventFlags::IN | EventFlags::OUT
        } else {
            EventFlags::IN
        };
        let data = EventData::new_u64(token.0 as u64);
        Ok(epoll::modify(&self.epoll, source, data, flags)?)
    }

    /// Stops to watch a transport.
    ///
    /// # Errors
    /// When it is not watched.
    pub fn remove(&mut self, source: Source<'_>) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, source)?)
    }

    /// Waits until something is ready, a [`Waker`] is used, or `timeout` is over (`None`: never);
    /// fills `ready`. It may return early with nothing.
    ///
    /// # Errors
    /// None that a program could cause.
    pub fn wait(&mut self, timeout: Option<Duration>, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        self.events.clear();
        let limit = match sleep_time(timeout, self.busy_wait) {
            Some(Duration::ZERO) => Some(&ZERO),
            Some(time) => {
                self.set_timer(time)?;
                None
            }
            None => None,
        };
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), limit) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        for event in &self.events {
            let (flags, data) = (event.flags, event.data.u64());
            match data {
                TIMER => {}
                // After this the caller looks at what the other thread left before it rang.
                WAKER => self.waker.0.is_rung.store(false, Ordering::SeqCst),
                _ => ready.push(Ready {
                    token: Token(usize::try_from(data).unwrap_or(usize::MAX)),
                    readable: flags.contains(EventFlags::IN),
                    writable: flags.contains(EventFlags::OUT),
                    error: flags.contains(EventFlags::ERR),
                }),
            }
        }
        Ok(())
    }

    fn set_timer(&self, time: Duration) -> io::Result<()> {
        let spec = Itimerspec {
            it_interval: ZERO,
            it_value: Timespec {
                tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: time.subsec_nanos().into(),
            },
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &spec)?;
        Ok(())
    }
}

impl Waker {
    /// Makes the poller's current or next wait return. Cheap when it is about to anyway. Returns `false` if the system
    /// refused.
    pub fn wake(&self) -> bool {
        if self.0.is_rung.swap(true, Ordering::SeqCst) {
            return true;
        }
        for _ in 0..WAKE_TRIES {
            match rustix::io::write(&self.0.fd, &1u64.to_ne_bytes()) {
                // An eventfd overflows after 2^64 - 2 additions: then it is readable, too.
                Ok(_) | Err(Errno::AGAIN) => return true,
                Err(_) => {}
            }
        }
        self.0.is_rung.store(false, Ordering::SeqCst);
        false
    }
}
