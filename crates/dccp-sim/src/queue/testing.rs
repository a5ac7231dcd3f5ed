//! Helpers that the tests of all disciplines share. Times are in microseconds.

use super::{Queue, QueueConfig};
use crate::loss::Loss;
use crate::parcel::Parcel;
use crate::random::Seed;
use dccp_proto::wire::Ecn;
use dccp_proto::{Instant, Rate};

pub(super) fn us(n: u64) -> Instant {
    Instant::from_nanos(1000 * n)
}

/// A packet of 1000 bytes.
pub(super) fn parcel(token: u32, ecn: Ecn) -> Parcel<u32> {
    sized(token, 1000, ecn)
}

pub(super) fn sized(token: u32, len: usize, ecn: Ecn) -> Parcel<u32> {
    Parcel::new(token, len, ecn)
}

/// A queue in front of a transmitter of 1 MB/s: a packet of 1000 bytes a millisecond.
pub(super) struct Bench {
    queue: Queue<u32>,
}

impl Bench {
    pub(super) fn new(config: QueueConfig) -> Self {
        config.check().unwrap();
        let rate = Some(Rate::from_bytes_per_s(1e6));
        Self {
            queue: Queue::new(config, rate, Seed(5).stream("queue")),
        }
    }

    pub(super) fn push(&mut self, at: u64, parcel: Parcel<u32>) -> Result<(), Loss> {
        let result = self.queue.push(us(at), parcel);
        assert!(self.queue.is_within_limit());
        result
    }

    pub(super) fn pop(&mut self, at: u64) -> Option<Parcel<u32>> {
        self.queue.pop(us(at)).map(|waiting| waiting.parcel)
    }

    /// Drops all that waits, as an outage does.
    pub(super) fn flush(&mut self, at: u64) {
        self.queue.flush(us(at), Loss::Outage);
    }

    /// Tokens and reasons of the packets dropped from inside since the last call.
    pub(super) fn dropped(&mut self) -> Vec<(u32, Loss)> {
        let dropped = core::iter::from_fn(|| self.queue.take_dropped());
        dropped
            .map(|(parcel, reason)| (parcel.token, reason))
            .collect()
    }

    pub(super) fn ready_us(&self) -> Option<u64> {
        self.queue.ready_at().map(|at| at.as_nanos() / 1000)
    }

    pub(super) fn len(&self) -> (usize, usize) {
        (self.queue.len(), self.queue.bytes())
    }

    pub(super) fn marked(&self) -> u64 {
        self.queue.books().marked
    }

    /// Offers packets every `gap` and takes one every millisecond until `end`. Returns for each one
    /// that left when it did and how long it had waited.
    pub(super) fn overload(&mut self, gap: u64, end: u64, ecn: Ecn) -> Vec<(u64, u64)> {
        let mut left = Vec::new();
        let mut came = Vec::new();
        let (mut next_in, mut next_out) = (0, 1000);
        while next_out < end {
            if next_in <= next_out {
                let token = u32::try_from(came.len()).unwrap();
                came.push(next_in);
                let _ = self.push(next_in, parcel(token, ecn));
                next_in += gap;
            } else {
                if let Some(p) = self.pop(next_out) {
                    left.push((next_out, next_out - came[p.token as usize]));
                }
                next_out += 1000;
            }
        }
        left
    }
}
