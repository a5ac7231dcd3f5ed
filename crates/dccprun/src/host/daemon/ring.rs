//! One ring and two threads: one waits for datagrams, the other one for room.
//!
//! A call that looks at the ring or at the daemon's messages takes the signal that something has changed, and the other thread
//! does not get it. Therefore each side has a descriptor of its own that wakes it: after a look that finds what it waits for, and
//! after every other call.

use crate::host::link::Ended;
use core::time::Duration;
use dccp::ReadyFd;
use dccp::packet_ring::{Label, PushError};
use dccp_ring_ipc::RingClient;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The two threads of a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Receive,
    Send,
}

impl Side {
    const fn other(self) -> Self {
        match self {
            Self::Receive => Self::Send,
            Self::Send => Self::Receive,
        }
    }
}

/// The ring of a connection.
pub(super) struct Ring {
    shared: Mutex<Shared>,
    /// Readable when something has changed since the last look.
    ready: ReadyFd,
    /// A descriptor of each side that wakes it.
    wake: [OwnedFd; 2],
}

/// The parts of a ring that both threads use.
pub(super) struct Shared {
    pub(super) client: RingClient,
    waits: [bool; 2],
}

impl Ring {
    /// Prepares a client for both threads.
    ///
    /// # Errors
    /// When the system has no descriptors left.
    pub(super) fn new(mut client: RingClient) -> io::Result<Self> {
        // Its calls do not wait, because they are made under the lock.
        client.set_timeout(Some(Duration::ZERO));
        let wake = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        Ok(Self {
            ready: client.ready_fd()?,
            wake: [wake()?, wake()?],
            shared: Mutex::new(Shared {
                client,
                waits: [false; 2],
            }),
        })
    }

    /// Calls the client, and wakes the threads that wait.
    pub(super) fn with<T>(&self, call: impl FnOnce(&mut RingClient) -> T) -> T {
        let mut shared = self.lock();
        let result = call(&mut shared.client);
        for side in [Side::Receive, Side::Send] {
            self.wake(&shared, side);
        }
        result
    }

    /// Wakes the thread of a side, if it waits.
    fn wake(&self, shared: &Shared, side: Side) {
        if shared.waits[side as usize] {
            // It can fail only if the descriptor is readable already.
            let _ = rustix::io::write(&self.wake[side as usize], &1_u64.to_ne_bytes());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a side can do something, or the connection is over.
    pub(super) fn wait(&self, side: Side) -> MutexGuard<'_, Shared> {
        let mut shared = self.lock();
        loop {
            shared.waits[side as usize] = false;
            // Of a ring that is broken, the call that follows reports the error.
            let found = shared.client.ready();
            let found = found.map_or([true; 2], |ready| [ready.recv, ready.send]);
            if found[side.other() as usize] {
                self.wake(&shared, side.other());
            }
            if found[side as usize] {
                return shared;
            }
            shared.waits[side as usize] = true;
            drop(shared);
            self.sleep(side);
            shared = self.lock();
        }
    }

    fn sleep(&self, side: Side) {
        let wake = &self.wake[side as usize];
        let mut polled = [
            PollFd::new(&self.ready, PollFlags::IN),
            PollFd::new(wake, PollFlags::IN),
        ];
        if poll(&mut polled, None).is_err() {
            // Without the memory to wait, a thread must not use a core.
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = rustix::io::read(wake, &mut [0_u8; 8]);
    }

    /// Pushes datagrams, and waits for room. Those that are too long are lost. Returns the greatest length at that
    /// moment, if it is known.
    ///
    /// # Errors
    /// When the connection has ended.
    pub(super) fn send<'a>(
        &self,
        packets: impl Iterator<Item = &'a [u8]>,
    ) -> Result<Option<usize>, Ended> {
        let mut packets = packets.peekable();
        let mut mps = None;
        while packets.peek().is_some() {
            let mut shared = self.wait(Side::Send);
            if shared.client.over().is_some() {
                return Err(Ended);
            }
            mps = shared.client.max_packet_size();
            let mut batch = shared.client.sender().batch();
            while let Some(packet) = packets.peek() {
                match batch.push(packet, Label::default()) {
                    Err(PushError::Full) => break,
                    Err(PushError::Broken(_)) => return Err(Ended),
                    Ok(_) | Err(PushError::TooLong { .. }) => packets.next(),
                };
            }
        }
        Ok(mps)
    }

    /// Sends what is pushed, closes, and waits for the end. A connection that does not end in time is aborted.
    pub(super) fn close(&self, at_most: Duration) {
        // The other thread has nothing to do but to notice the end.
        self.with(|client| {
            if client.close(at_most).is_err() {
                client.abort();
            }
        });
    }

    /// Ends the connection by a Reset.
    pub(super) fn abort(&self) {
        self.with(RingClient::abort);
    }
}
