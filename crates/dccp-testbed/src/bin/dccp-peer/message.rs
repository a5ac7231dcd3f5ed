//! The messages: `"DPT1"`, a sequence number from 0 (32 bits), the time of sending in ns (64 bits),
//! all big endian, then the bytes 16, 17, 18, … up to 255, 0, 1, … Shorter ones have no header.

use std::collections::HashSet;

const MAGIC: &[u8; 4] = b"DPT1";
const HEADER: usize = 16;

/// Fills `message` as the `number`-th.
pub(crate) fn fill(message: &mut [u8], number: u32, now_ns: u64) {
    for (byte, value) in message.iter_mut().zip((0..=255).cycle()) {
        *byte = value;
    }
    if message.len() >= HEADER {
        message[..4].copy_from_slice(MAGIC);
        message[4..8].copy_from_slice(&number.to_be_bytes());
        message[8..HEADER].copy_from_slice(&now_ns.to_be_bytes());
    }
}

/// Counts what has arrived.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    pub(crate) received: u64,
    pub(crate) bytes: u64,
    pub(crate) duplicates: u64,
    pub(crate) reordered: u64,
    pub(crate) damaged: u64,
    without_header: u64,
    /// The highest number so far, plus one.
    next_expected: u64,
    seen: HashSet<u32>,
}

impl Arrivals {
    pub(crate) fn count(&mut self, message: &[u8]) {
        self.received += 1;
        self.bytes += message.len() as u64;
        if message.len() < HEADER || !message.starts_with(MAGIC) {
            self.without_header += 1;
            return;
        }
        let expected = (0..=255).cycle();
        let mut body = message.iter().zip(expected).skip(HEADER);
        self.damaged += u64::from(body.any(|(byte, value)| *byte != value));
        let [_, _, _, _, a, b, c, d, ..] = message else {
            return;
        };
        self.count_number(u32::from_be_bytes([*a, *b, *c, *d]));
    }

    fn count_number(&mut self, number: u32) {
        if !self.seen.insert(number) {
            self.duplicates += 1;
            return;
        }
        let after = u64::from(number) + 1;
        if after > self.next_expected {
            self.next_expected = after;
        } else {
            self.reordered += 1;
        }
    }

    /// Gaps in the numbers; `None` if messages came, but without numbers.
    pub(crate) fn lost(&self) -> Option<u64> {
        let is_known = self.received > self.without_header || self.received == 0;
        is_known.then(|| self.next_expected - self.seen.len() as u64)
    }
}
