//! Packets that a host drops below its sockets: in the rings of its interfaces, and in the backlogs of its processors.

use core::time::Duration;

use dccp_proto::Instant;

#[cfg(target_os = "linux")]
use linux::Counts;

#[cfg(target_os = "linux")]
mod linux;

/// The counters are not read more often.
const PAUSE: Duration = Duration::from_millis(1);

/// The drops of a host since the first reading. They are of all its flows; those of sockets are not among them.
#[derive(Debug, Default)]
pub struct HostLosses {
    counts: Option<Counts>,
    total: u64,
    read_at: Option<Instant>,
}

impl HostLosses {
    /// Returns the buffers dropped since the first call. A buffer can hold several packets (GRO). It reads the counters of the calling thread's network namespace, unless it did
    /// so a millisecond ago. A counter that cannot be read stands still.
    pub fn read(&mut self, now: Instant) -> u64 {
        if self.read_at.is_none_or(|at| now >= at + PAUSE) {
            self.read_at = Some(now);
            let counts = self.counts.get_or_insert_default();
            self.total = self.total.saturating_add(counts.advance());
        }
        self.total
    }

    /// The drops at the last reading.
    pub fn total(&self) -> u64 {
        self.total
    }
}

/// Other systems have no such counters.
#[cfg(not(target_os = "linux"))]
#[derive(Debug, Default)]
struct Counts;

#[cfg(not(target_os = "linux"))]
impl Counts {
    fn advance(&mut self) -> u64 {
        0
    }
}
