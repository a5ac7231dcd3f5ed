//! The delivery rate: bytes over time between two acknowledgements. The time is the longer of the
//! time to send the bytes and the time until they were acknowledged.

use crate::time::{Instant, Rate};

/// The bits of a count of delivered bytes that a [`Stamp`] stores.
const DELIVERED: u64 = (1 << 36) - 1;

/// The delivered data at the time that a packet was sent.
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    /// Bytes, modulo 2^36. At most 2^36 bytes can be in flight.
    pub(crate) delivered: u64,
    pub(crate) delivered_at: Instant,
    /// When the packet was sent whose receipt was known last.
    pub(crate) first_sent_at: Instant,
    /// The sender had run out of data.
    pub is_app_limited: bool,
}

/// Estimates the delivery rate from the data delivered so far.
#[derive(Debug, Default)]
pub struct DeliveryRate {
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    app_limited_until: u64,
}

impl DeliveryRate {
    /// A data packet leaves; `is_first`: nothing was in flight, so idle time ends here.
    pub fn on_send(&mut self, now: Instant, is_first: bool) -> Stamp {
        if is_first {
            self.delivered_at = now;
            self.first_sent_at = now;
        }
        Stamp {
            delivered: self.delivered & DELIVERED,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            is_app_limited: self.delivered < self.app_limited_until,
        }
    }

    /// The application has nothing to send while `pipe_bytes` are in flight.
    pub fn on_app_limited(&mut self, pipe_bytes: u64) {
        self.app_limited_until = self.delivered + pipe_bytes.max(1);
    }

    /// The peer reported a packet with `len` bytes.
    pub fn on_delivered(&mut self, now: Instant, len: u32) {
        self.delivered += u64::from(len);
        self.delivered_at = now;
    }

    /// The rate since the newest packet that an acknowledgement reports was sent; `None` if no time
    /// has passed.
    pub fn sample(&mut self, now: Instant, newest: &Stamp, sent_at: Instant) -> Option<Rate> {
        self.first_sent_at = sent_at;
        let sending = sent_at - newest.first_sent_at;
        let learning = now - newest.delivered_at;
        let time = sending.max(learning);
        let delivered = self.delivered.wrapping_sub(newest.delivered) & DELIVERED;
        (!time.is_zero()).then(|| Rate::over(delivered, time))
    }
}
