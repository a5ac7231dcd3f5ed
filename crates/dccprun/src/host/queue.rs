//! Queues in shared memory, which a program uses instead of its Unix socket: up to one for each direction of a connection.

use core::sync::atomic::{AtomicUsize, Ordering};
use dccprun_queue::{inward, outward};
use rustix::io::Errno;
use rustix::net::SendFlags;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, Weak};

/// Queues of this process at most, of 270 kB each. Further connections use their Unix sockets.
const QUEUES_MAX: usize = 1024;

static QUEUES: AtomicUsize = AtomicUsize::new(0);

/// The queues of a connection.
#[derive(Default)]
pub(super) struct Queues {
    /// Datagrams to send.
    pub(super) outward: Lending<outward::Consumer>,
    /// Received datagrams.
    pub(super) inward: Lending<inward::Producer>,
    /// This host's end of the program's socket, while the connection lasts.
    pub(super) data: OnceLock<Weak<OwnedFd>>,
}

/// A queue, from the program's first request for it on. `Side` is this host's side.
pub(super) struct Lending<Side> {
    state: Mutex<State<Side>>,
}

struct State<Side> {
    lent: Option<Lent>,
    /// No thread has it yet.
    side: Option<Side>,
    is_closed: bool,
}

/// The descriptor of a queue that the program has. It may ask again: a process that has executed another program has lost it.
struct Lent(OwnedFd);

impl Queues {
    /// Sends another bell for received datagrams.
    ///
    /// # Errors
    /// The program has no such queue, or the system has no memory.
    pub(super) fn send_bell(&self, bell: &[u8]) -> io::Result<()> {
        let data = self.data.get().and_then(Weak::upgrade);
        let data = data.ok_or(Errno::NOTCONN)?;
        let state = self.inward.state();
        let lent = state.lent.as_ref().ok_or(Errno::NOTCONN)?;
        let side = inward::Consumer::attach(lent.0.as_fd())?;
        side.count_bell();
        let sent = rustix::net::send(&*data, bell, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        if let Err(error) = sent {
            side.uncount_bell();
            return Err(error.into());
        }
        Ok(())
    }

    /// The connection has ended: the program sends no more. Datagrams that it has received stay.
    pub(super) fn end(&self) {
        if let Some(lent) = self.outward.close()
            // Without the memory for this, later datagrams are lost without an error.
            && let Ok(side) = outward::Producer::attach(lent.0.as_fd())
        {
            side.close();
        }
    }

    /// Whether the program has left datagrams of its queue unread; without a queue that it uses, they were in the socket.
    pub(super) fn has_unread(&self) -> bool {
        let state = self.inward.state();
        let lent = state.lent.as_ref();
        let side = lent.and_then(|lent| inward::Consumer::attach(lent.0.as_fd()).ok());
        side.is_none_or(|side| !side.is_switched() || !side.is_empty())
    }
}

impl<Side> Lending<Side> {
    /// Calls `send` with the descriptor for the program. The first time, `create` makes the queue.
    ///
    /// # Errors
    /// `ENOBUFS`: there are too many queues, or too little memory; `ENOTCONN`: the connection is over.
    pub(super) fn lend<T>(
        &self,
        create: impl FnOnce() -> io::Result<(Side, OwnedFd)>,
        send: impl FnOnce(BorrowedFd<'_>) -> T,
    ) -> io::Result<T> {
        let mut state = self.state();
        if state.is_closed {
            return Err(Errno::NOTCONN.into());
        }
        if state.lent.is_none() {
            let (side, lent) = count(create)?;
            state.side = Some(side);
            state.lent = Some(lent);
        }
        let lent = state.lent.as_ref().ok_or(Errno::NOTCONN)?;
        Ok(send(lent.0.as_fd()))
    }

    /// This host's side, once the queue has been lent.
    pub(super) fn take(&self) -> Option<Side> {
        self.take_if(|_| true)
    }

    /// As [`take`](Self::take), if a condition holds.
    pub(super) fn take_if(&self, condition: impl FnOnce(&Side) -> bool) -> Option<Side> {
        let mut state = self.state();
        state.side.take_if(|side| condition(side))
    }

    /// Lends the queue no more. Returns the descriptor.
    fn close(&self) -> Option<Lent> {
        let mut state = self.state();
        state.is_closed = true;
        state.lent.take()
    }

    fn state(&self) -> MutexGuard<'_, State<Side>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<Side> Default for Lending<Side> {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                lent: None,
                side: None,
                is_closed: false,
            }),
        }
    }
}

/// Makes a queue, if there are not too many.
fn count<Side>(create: impl FnOnce() -> io::Result<(Side, OwnedFd)>) -> io::Result<(Side, Lent)> {
    let more = |count| (count < QUEUES_MAX).then_some(count + 1);
    let counted = QUEUES.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    counted.map_err(|_| Errno::NOBUFS)?;
    let made = create().map_err(|_| {
        QUEUES.fetch_sub(1, Ordering::Relaxed);
        Errno::NOBUFS
    });
    let (side, descriptor) = made?;
    Ok((side, Lent(descriptor)))
}

impl Drop for Lent {
    fn drop(&mut self) {
        QUEUES.fetch_sub(1, Ordering::Relaxed);
    }
}
