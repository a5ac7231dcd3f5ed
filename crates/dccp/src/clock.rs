//! The only reader of the operating system's clocks.
//!
//! All instants of a process share one origin, so that those of the engine and those of the
//! application compare. The clock is monotonic; it does not follow changes of the wall clock.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the module that the ban points to"
)]

use core::time::Duration;
use dccp_proto::Instant;
use std::sync::OnceLock;
use std::time::SystemTime;

/// Now, in nanoseconds since the first call in this process.
pub fn now() -> Instant {
    static ORIGIN: OnceLock<std::time::Instant> = OnceLock::new();
    let origin = ORIGIN.get_or_init(std::time::Instant::now);
    let ns = u64::try_from(origin.elapsed().as_nanos()).unwrap_or(u64::MAX);
    Instant::from_nanos(ns)
}

/// Wall-clock time since 1970-01-01 UTC, for reports only: it may jump.
pub fn unix_time() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_moves_forward() {
        let before = now();
        std::thread::sleep(Duration::from_millis(2));
        assert!(now() - before >= Duration::from_millis(2));
    }
}
