//! Where the clock is read: how long something took, for nothing but progress and limits.

use std::time::{Duration, Instant};

/// What comes out, and how long it took.
#[expect(clippy::disallowed_methods, reason = "this is where the clock is read")]
pub(crate) fn timed<T>(what: impl FnOnce() -> T) -> (T, Duration) {
    let begin = Instant::now();
    (what(), begin.elapsed())
}
