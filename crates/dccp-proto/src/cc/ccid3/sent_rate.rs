//! The rate that was really sent: no receive rate is higher (4340-12.3-4).

use crate::cc::Run;
use crate::number::to_f64;
use crate::time::Instant;
use core::time::Duration;

/// Counted for the headers of each packet, because some receivers count them.
const HEADERS: u64 = 64;
/// A receiver may report a burst two round trips after it was sent.
const WINDOWS: usize = 4;

/// Bytes sent in the last windows. A window lasts a round trip or longer.
#[derive(Debug)]
pub(crate) struct SentRate {
    began: Instant,
    /// Bytes in each window, newest first.
    bytes: [u64; WINDOWS],
}

impl SentRate {
    pub(crate) const fn new(now: Instant) -> Self {
        Self {
            began: now,
            bytes: [0; WINDOWS],
        }
    }

    /// Packets leave.
    pub(crate) fn on_sent(&mut self, now: Instant, rtt: Duration, run: &Run) {
        if now - self.began >= rtt {
            self.began = now;
            self.bytes.rotate_right(1);
            self.bytes[0] = 0;
        }
        self.bytes[0] += u64::from(run.packets) * (run.payload_len as u64 + HEADERS);
    }

    /// The highest rate of the last windows in bytes per second, or up to twice as much: any round trip lies within
    /// two windows that follow each other.
    pub(crate) fn max(&self, rtt: Duration) -> f64 {
        let pairs = self.bytes.windows(2).map(|pair| pair.iter().sum());
        to_f64(pairs.max().unwrap_or(0)) / rtt.as_secs_f64()
    }
}
