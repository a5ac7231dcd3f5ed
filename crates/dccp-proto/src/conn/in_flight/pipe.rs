//! The pipe: data packets in flight (RFC 4341 §5).

use super::record::{Record, State};

/// Data packets and their bytes in flight.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    packets: u32,
    bytes: u64,
    /// The most packets since [`take_max`](Self::take_max).
    max: u32,
}

impl Pipe {
    pub(super) const fn packets(&self) -> u32 {
        self.packets
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The most packets in flight since the last call.
    pub(super) fn take_max(&mut self) -> u32 {
        core::mem::replace(&mut self.max, self.packets)
    }

    /// Must be called before packets leave the pipe. Sending a packet does not look at the maximum, because most
    /// packets are sent in runs.
    pub(super) fn note_max(&mut self) {
        self.max = self.max.max(self.packets);
    }

    /// A data packet was sent (4341-5-1).
    #[inline]
    pub(super) fn add(&mut self, len: u16) {
        self.packets += 1;
        self.bytes += u64::from(len);
    }

    /// A packet stops being in flight, if it was: only data counts, and only once (4341-5-4).
    pub(super) fn remove(&mut self, record: &Record) {
        if record.is(State::InFlight)
            && let Some(len) = record.len()
        {
            self.packets -= 1;
            self.bytes -= u64::from(len);
        }
    }

    /// Nothing is in flight (4341-5-2).
    pub(super) fn clear(&mut self) {
        self.note_max();
        self.packets = 0;
        self.bytes = 0;
    }
}
