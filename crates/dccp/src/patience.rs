//! How long calls wait.

use crate::clock;
use crate::error::{AcceptError, RecvError, SendError};
use core::time::Duration;
use dccp_proto::Instant;

/// How long a call may wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Patience {
    /// Not at all.
    None,
    /// So long.
    For(Duration),
    /// For ever.
    Forever,
}

impl Patience {
    /// A blocking call's: so long, or for ever.
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
    /// How long the next sleep may last: `None` is for ever. The time counts from the first call.
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
}

impl From<Waited> for SendError {
    fn from(w: Waited) -> Self {
        match w {
            Waited::WouldBlock => Self::WouldBlock,
            Waited::TimedOut => Self::TimedOut,
        }
    }
}

impl From<Waited> for RecvError {
    fn from(w: Waited) -> Self {
        match w {
            Waited::WouldBlock => Self::WouldBlock,
            Waited::TimedOut => Self::TimedOut,
        }
    }
}

impl From<Waited> for AcceptError {
    fn from(w: Waited) -> Self {
        match w {
            Waited::WouldBlock => Self::WouldBlock,
            Waited::TimedOut => Self::TimedOut,
        }
    }
}
