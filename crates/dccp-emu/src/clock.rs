//! The clock of the emulator: the only place that reads the system's.

use dccp_proto::Instant;
use std::sync::OnceLock;

/// The time now, since the first call in this process.
#[expect(clippy::disallowed_methods, reason = "this is where the clock is read")]
pub fn now() -> Instant {
    static START: OnceLock<std::time::Instant> = OnceLock::new();
    let start = *START.get_or_init(std::time::Instant::now);
    Instant::ZERO + start.elapsed()
}
