//! The clock that limits the time of connections.

use std::time::Instant;

/// Returns the time now.
#[expect(clippy::disallowed_methods, reason = "the only reader of the clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
