//! What a plain link knows as soon as a packet enters: when it will leave the queue, and when it will arrive.
//!
//! Behind a drop-tail queue and a steady rate nothing is decided on a packet any more. So one that has to wait
//! flies from the beginning, and of its wait only the moments are kept, for the account of the queue. When the
//! link changes, those that still wait are called back into the queue.

use super::{Link, Packet};
use crate::loss::Loss;
use crate::queue::Waiting;
use dccp_proto::Instant;

/// When a packet that waits will enter the transmitter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Booking {
    pub(super) start: Instant,
    /// Since when it has waited.
    since: Instant,
    /// Length of the IP packet in bytes.
    len: u32,
    /// What the transmitter then carries over from the packet before.
    fraction: u32,
}

impl<T: Copy> Link<T> {
    /// Whether a packet that travels no longer than others flies from the beginning.
    pub(super) fn may_book(&self) -> bool {
        self.is_up
            && self.transmitter.is_steady()
            && self.faults.are_quiet()
            && self.queue.is_drop_tail()
    }

    /// Whether all that waits is booked, and so the next packet may be.
    pub(super) fn is_booked(&self) -> bool {
        self.queue.len() == self.timetable.len() && self.strays.is_empty()
    }

    /// Lets a packet wait, and fly at once.
    #[inline]
    pub(super) fn book(&mut self, now: Instant, mut packet: Packet<T>) -> Result<(), Loss> {
        match self.queue.admit(now, packet.len as usize, packet.ecn) {
            Ok(ecn) => packet.ecn = ecn,
            Err(reason) => return Err(self.lose(reason)),
        }
        if self.timetable.is_empty() {
            self.before = (self.last_at, self.last_since);
        }
        let start = self.transmitter.free_at();
        self.timetable.push_back(Booking {
            start,
            since: now,
            len: packet.len,
            fraction: self.transmitter.fraction(),
        });
        self.begin(start, packet, now);
        Ok(())
    }

    /// Writes into the account of the queue who has left it by now.
    pub(super) fn depart(&mut self, now: Instant) {
        while let Some(booking) = self.timetable.front()
            && booking.start <= now
        {
            let len = booking.len as usize;
            self.queue.depart(booking.start, booking.since, len);
            self.timetable.pop_front();
        }
    }

    /// How long the transmitter will work on those that wait, in ns.
    pub(super) fn booked_ns(&self) -> u64 {
        let first = self.timetable.front();
        first.map_or(0, |first| {
            self.transmitter.free_at().as_nanos() - first.start.as_nanos()
        })
    }

    /// Calls those that wait back into the queue, as something will be different for them. Until that is empty
    /// nothing is booked.
    pub(super) fn recall(&mut self) {
        let Some(&Booking {
            start, fraction, ..
        }) = self.timetable.front()
        else {
            return;
        };
        self.busy_ns -= self.booked_ns();
        self.transmitter.resume(start, fraction);
        let begun = self.flight.len() - self.timetable.len();
        for (flying, booking) in self.flight.drain(begun..).zip(self.timetable.drain(..)) {
            let parcel = flying.packet.parcel();
            let since = booking.since;
            self.queue.join(Waiting { parcel, since });
        }
        // The one in the transmitter flies before them, unless a trace has ended, which leaves it taken by none.
        let last = self.flight.back().map(|last| (last.at, last.since));
        (self.last_at, self.last_since) = last.unwrap_or(self.before);
    }
}

#[cfg(test)]
mod tests;
