//! Timeouts of calls.

use core::time::Duration;
use dccp::clock;
use dccp_proto::Instant;
use rustix::event::Timespec;

/// The timeout of a call that waits.
pub(crate) struct Waiting {
    timeout: Option<Duration>,
    deadline: Option<Instant>,
}

/// The timeout of a call has passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TimedOut;

impl Waiting {
    /// Limits a call to `timeout`; `None`: no limit.
    pub(crate) fn within(timeout: Option<Duration>) -> Self {
        Self {
            timeout,
            deadline: None,
        }
    }

    /// Returns the longest time of the next sleep; `None`: no limit. The time counts from the first call.
    pub(crate) fn left(&mut self) -> Result<Option<Duration>, TimedOut> {
        let Some(timeout) = self.timeout else {
            return Ok(None);
        };
        let now = clock::now();
        let left = *self.deadline.get_or_insert(now + timeout) - now;
        if left.is_zero() {
            Err(TimedOut)
        } else {
            Ok(Some(left))
        }
    }
}

/// Returns the time from `now` until `due`.
pub(crate) fn timespec(due: Instant, now: Instant) -> Timespec {
    let left = due - now;
    Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: left.subsec_nanos().into(),
    }
}
