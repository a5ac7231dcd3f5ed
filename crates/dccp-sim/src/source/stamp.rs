//! Stamps that an application writes into its datagrams to measure their delay.

use core::time::Duration;
use dccp_proto::Instant;

/// The first bytes of a datagram of an application that stamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// Number of the datagram, from 0.
    pub number: u64,
    /// When the application made it.
    pub made: Instant,
    /// Of what kind it is: 0 is ordinary, the greater the more important.
    pub class: u8,
}

/// A stamp that came, and how long it took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delay {
    /// When it came.
    pub at: Instant,
    /// How long ago it had been made.
    pub age: Duration,
    /// Its class.
    pub class: u8,
}

impl Stamp {
    /// Bytes of a stamp; a shorter datagram has none.
    pub const LEN: usize = 17;

    /// A datagram of `len` bytes that begins with the stamp.
    pub(crate) fn datagram(self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        if len >= Self::LEN {
            bytes[..8].copy_from_slice(&self.number.to_be_bytes());
            bytes[8..16].copy_from_slice(&self.made.as_nanos().to_be_bytes());
            bytes[16] = self.class;
        }
        bytes
    }

    /// The stamp of a datagram, if it is long enough for one.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (number, rest) = bytes.split_first_chunk()?;
        let (made, rest) = rest.split_first_chunk()?;
        Some(Self {
            number: u64::from_be_bytes(*number),
            made: Instant::from_nanos(u64::from_be_bytes(*made)),
            class: *rest.first()?,
        })
    }

    /// How old it is.
    pub fn delay(self, now: Instant) -> Delay {
        Delay {
            at: now,
            age: now - self.made,
            class: self.class,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_read_as_it_was_written() {
        let stamp = Stamp {
            number: 7,
            made: Instant::from_nanos(123_456_789),
            class: 2,
        };
        for len in [Stamp::LEN, 64] {
            let bytes = stamp.datagram(len);
            assert_eq!(bytes.len(), len);
            assert_eq!(Stamp::read(&bytes), Some(stamp));
        }
        assert_eq!(Stamp::read(&stamp.datagram(Stamp::LEN - 1)), None);
        let later = stamp.made + Duration::from_millis(3);
        assert_eq!(stamp.delay(later).age, Duration::from_millis(3));
    }
}
