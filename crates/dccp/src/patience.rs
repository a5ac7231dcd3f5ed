//! How long calls wait.

use crate::clock;
use crate::error::{AcceptError, CloseError, EngineGone, RecvError, SendError};
use core::time::Duration;
use dccp_proto::Instant;

/// The side of a connection that a call waits on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// Datagrams, fates and events.
    Recv,
    /// Room to send; the beginning and the end of the connection.
    Send,
}

/// How long a call may wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Patience {
    /// Not at all.
    None,
    /// For this time.
    For(Duration),
    /// Without limit.
    Forever,
}

impl Patience {
    /// That of a blocking call: for `timeout`, or without limit.
    pub(crate) fn of(timeout: Option<Duration>) -> Self {
        timeout.map_or(Self::Forever, Self::For)
    }

    /// Begins to wait.
    pub(crate) fn begin(self) -> Waiting {
        Waiting {
            patience: self,
            deadline: None,
        }
    }
}

/// A call that waits.
pub(crate) struct Waiting {
    patience: Patience,
    deadline: Option<Instant>,
}

impl Waiting {
    /// How long the next sleep may last; `None`: without limit. The time counts from the first call.
    pub(crate) fn left(&mut self) -> Result<Option<Duration>, Waited> {
        match self.patience {
            Patience::None => Err(Waited::WouldBlock),
            Patience::Forever => Ok(None),
            Patience::For(time) => {
                let now = clock::now();
                let left = *self.deadline.get_or_insert(now + time) - now;
                if left.is_zero() {
                    Err(Waited::TimedOut)
                } else {
                    Ok(Some(left))
                }
            }
        }
    }
}

/// Why a call returns without what it waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waited {
    /// It may not wait.
    WouldBlock,
    /// It has waited long enough.
    TimedOut,
    /// The engine does not run in this process.
    EngineGone,
}

macro_rules! from_waited {
    ($($error:ident),*) => {$(
        impl From<Waited> for $error {
            fn from(waited: Waited) -> Self {
                match waited {
                    Waited::WouldBlock => Self::WouldBlock,
                    Waited::TimedOut => Self::TimedOut,
                    Waited::EngineGone => Self::EngineGone(EngineGone::default()),
                }
            }
        }
    )*};
}

from_waited!(SendError, RecvError, AcceptError);

impl From<Waited> for CloseError {
    fn from(waited: Waited) -> Self {
        match waited {
            Waited::WouldBlock | Waited::TimedOut => Self::TimedOut,
            Waited::EngineGone => Self::EngineGone(EngineGone::default()),
        }
    }
}
