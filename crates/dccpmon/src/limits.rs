//! The limits of `dccpmon serve`: what its clients can use of this host.

use core::time::Duration;

/// Tests at the same time, over all listeners.
pub(crate) const TESTS_MAX: usize = 4;
/// Connections of one listener that wait for their first message. A further one displaces the oldest of the source
/// address that holds the most.
pub(crate) const GUESTS_MAX: usize = 64;
/// The longest time from accepting a connection to its request for a test, and for each later answer of the client.
pub(crate) const ANSWER_MAX: Duration = Duration::from_secs(10);
/// The most time that a test gets beyond the duration that its client asked for.
pub(crate) const OVERTIME_MAX: Duration = Duration::from_secs(5);
/// The longest wait for the answer of a client whose test was ended for its time.
pub(crate) const FAREWELL_MAX: Duration = Duration::from_secs(1);
/// A test without data for this time ends, or for two intervals between datagrams if its rate is so low.
pub(crate) const IDLE_MAX: Duration = Duration::from_secs(10);
/// The longest test.
pub(crate) const DURATION_MAX: Duration = Duration::from_hours(1);
/// The most flows of one test.
pub(crate) const FLOWS_MAX: u32 = 32;
