//! The real clock. The progress line and the times of experiments need it; no result depends on it.

use std::time::Instant;

/// Returns the time now.
#[expect(clippy::disallowed_methods, reason = "the only reader of the clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
