//! Packets that a host drops below its sockets: in the rings of its interfaces, and in the backlogs of its processors.

use core::time::Duration;

use dccp_proto::Instant;

#[cfg(target_os = "linux")]
use linux::Counts;

#[cfg(target_os = "linux")]
mod linux;

/// The counters rest at least for this time between two readings …
const REST_MIN: Duration = Duration::from_millis(1);
/// … and for this multiple of the time that the last reading took.
const REST: u32 = 20;

/// The drops of a host since the first reading. They are of all its flows; those of sockets are not among them.
#[derive(Debug, Default)]
pub struct HostLosses {
    counts: Option<Counts>,
    total: u64,
    next: Option<Instant>,
    read_at: Option<Instant>,
}

impl HostLosses {
    /// Returns the buffers dropped since the first call. A buffer can hold several packets (GRO). It reads the counters of the
    /// calling thread's network namespace, unless it did so within `pause`, or a reading would take much of the processor.
    /// `clock` measures that. A counter that cannot be read stands still.
    pub fn read(&mut self, now: Instant, pause: Duration, clock: fn() -> Instant) -> u64 {
        let is_due = self.next.is_none_or(|next| now >= next);
        if is_due && self.read_at.is_none_or(|at| now >= at + pause) {
            let begin = clock();
            let counts = self.counts.get_or_insert_default();
            self.total = self.total.saturating_add(counts.advance());
            let end = clock();
            self.read_at = Some(end);
            self.next = Some(end + REST_MIN.max(REST * (end - begin)));
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
