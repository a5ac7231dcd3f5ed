//! The options of CCID 248 (SafeUDP §2).
//!
//! - 128, Declared Rate, from the HC-Sender: bytes per second that the application intends to send, 32 bits.
//! - 192, Receive Rate, from the HC-Receiver: bytes per second over the last round trip, 32 bits.
//! - 193, Arrival Time of the acknowledged packet, from the HC-Receiver: units of 10 µs, modulo 2^24.
//! - 194, Host Loss Count, from the HC-Receiver: packets that its host dropped below DCCP, modulo 2^24.

use crate::wire::{Opt, OptionWriter, Options};

/// The types of all of them.
pub(crate) const KINDS: [u8; 4] = [DECLARED_RATE, RECEIVE_RATE, ARRIVAL_TIME, HOST_LOSS_COUNT];

const DECLARED_RATE: u8 = 128;
const RECEIVE_RATE: u8 = 192;
const ARRIVAL_TIME: u8 = 193;
const HOST_LOSS_COUNT: u8 = 194;

/// Bytes of Declared Rate.
pub(crate) const DECLARED_RATE_LEN: usize = 6;
/// Bytes of the options of an acknowledgement.
pub(crate) const ACK_LEN: usize = 6 + 5 + 5;

/// The options of an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct AckOptions {
    /// Bytes per second.
    pub(crate) receive_rate: Option<u32>,
    /// Units of 10 µs.
    pub(crate) arrival_time: Option<u32>,
    pub(crate) host_loss_count: Option<u32>,
}

impl AckOptions {
    /// Reads the options of an acknowledgement. Malformed ones are ignored (4340-5.8-8).
    pub(crate) fn read(options: Options<'_>) -> Self {
        let mut read = Self::default();
        for option in options {
            match option {
                Opt::CcidSpecific {
                    kind: RECEIVE_RATE,
                    data: &[a, b, c, d],
                } => read.receive_rate = Some(u32::from_be_bytes([a, b, c, d])),
                Opt::CcidSpecific {
                    kind: ARRIVAL_TIME,
                    data: &[a, b, c],
                } => read.arrival_time = Some(u32::from_be_bytes([0, a, b, c])),
                Opt::CcidSpecific {
                    kind: HOST_LOSS_COUNT,
                    data: &[a, b, c],
                } => read.host_loss_count = Some(u32::from_be_bytes([0, a, b, c])),
                _ => {}
            }
        }
        read
    }

    /// Appends them, those that fit.
    pub(crate) fn write(&self, options: &mut OptionWriter) {
        let low_24 = |value: u32| {
            let [_, low @ ..] = value.to_be_bytes();
            low
        };
        if let Some(count) = self.host_loss_count {
            let _ = options.push_raw(HOST_LOSS_COUNT, &low_24(count));
        }
        if let Some(rate) = self.receive_rate {
            let _ = options.push_raw(RECEIVE_RATE, &rate.to_be_bytes());
        }
        if let Some(time) = self.arrival_time {
            let _ = options.push_raw(ARRIVAL_TIME, &low_24(time));
        }
    }
}

/// Appends Declared Rate in bytes per second, if it fits.
pub(crate) fn write_declared_rate(rate: u32, options: &mut OptionWriter) {
    let _ = options.push_raw(DECLARED_RATE, &rate.to_be_bytes());
}

/// Reads Declared Rate in bytes per second.
pub(crate) fn read_declared_rate(options: Options<'_>) -> Option<u32> {
    options.iter().find_map(|option| match option {
        Opt::CcidSpecific {
            kind: DECLARED_RATE,
            data: &[a, b, c, d],
        } => Some(u32::from_be_bytes([a, b, c, d])),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_an_acknowledgement_come_back_as_they_were() {
        let written = AckOptions {
            receive_rate: Some(0xFEDC_BA98),
            arrival_time: Some(0x12_3456),
            host_loss_count: Some(0xFF_FFFF),
        };
        let mut writer = OptionWriter::new(ACK_LEN);
        written.write(&mut writer);
        assert_eq!(writer.len(), ACK_LEN);
        assert_eq!(AckOptions::read(Options(writer.as_slice())), written);
    }

    #[test]
    fn host_loss_count_goes_first_where_room_is_short() {
        let mut writer = OptionWriter::new(8);
        let all = AckOptions {
            receive_rate: Some(1),
            arrival_time: None,
            host_loss_count: Some(2),
        };
        all.write(&mut writer);
        let read = AckOptions::read(Options(writer.as_slice()));
        assert_eq!((read.host_loss_count, read.receive_rate), (Some(2), None));
    }

    #[test]
    fn options_of_a_wrong_length_are_ignored() {
        let mut writer = OptionWriter::new(200);
        for kind in KINDS {
            for len in [0, 1, 2, 5, 9] {
                writer.push_raw(kind, &vec![0; len]).expect("room");
            }
        }
        let options = Options(writer.as_slice());
        assert_eq!(AckOptions::read(options), AckOptions::default());
        assert_eq!(read_declared_rate(options), None);
    }
}
