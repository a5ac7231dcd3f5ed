//! Rings of one process and of two, as one.

use crate::Outcome;
use dccp::RingSocket;
use dccp::packet_ring::Sender;
use dccp_ring_ipc::RingClient;

/// Who runs the engine of a ring.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A thread of this process.
    Own,
    /// Another process.
    Lent,
    /// The service of a host, by its policy.
    Daemon,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Own, Self::Lent, Self::Daemon];

    /// Its name in the output.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Lent => "lent",
            Self::Daemon => "daemon",
        }
    }
}

/// A connection with a ring before it.
pub(crate) enum Ring {
    /// Its engine is a thread of this process.
    Own(RingSocket),
    /// Its engine is another process's.
    Lent(RingClient),
}

impl Ring {
    /// The ring.
    pub(crate) fn sender(&mut self) -> &mut Sender {
        match self {
            Self::Own(ring) => ring.sender(),
            Self::Lent(ring) => ring.sender(),
        }
    }

    /// Waits until it pays to push.
    pub(crate) fn wait_for_room(&mut self) -> Outcome {
        match self {
            Self::Own(ring) => Ok(ring.wait_for_room()?),
            Self::Lent(ring) => Ok(ring.wait_for_room()?),
        }
    }

    /// Sends what waits, and closes.
    pub(crate) fn close(&mut self) -> Outcome {
        match self {
            Self::Own(ring) => _ = ring.socket().close()?,
            Self::Lent(ring) => _ = ring.close(core::time::Duration::from_secs(10))?,
        }
        Ok(())
    }
}
