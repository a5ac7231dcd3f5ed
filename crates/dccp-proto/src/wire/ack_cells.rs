//! The bytes of Ack Vectors and Data Dropped: run-length coded packets, newest first
//! (RFC 4340 §11.4, §11.7).
//!
//! ```text
//!   Ack Vector cell        Normal Block           Drop Block
//!   +---+-----------+      +-+-------------+      +-+-----+-------+
//!   | S | length −1 |      |0|  length −1  |      |1| DC  | len −1|
//!   +---+-----------+      +-+-------------+      +-+-----+-------+
//!     2       6             1       7              1   3      4      bits
//! ```

use super::{Opt, Options};
use crate::seq::Seq;

/// The state of a packet in an Ack Vector (RFC 4340 §11.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum AckState {
    /// Received.
    Received = 0,
    /// Received with a Congestion Experienced mark.
    Marked = 1,
    /// Not assigned; counts as not received (4340-11.4-6).
    Reserved = 2,
    /// Not yet received.
    NotReceived = 3,
}

/// One byte of an Ack Vector: neighbouring packets in the same state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckCell {
    /// Their state.
    pub state: AckState,
    /// How many they are, 1–64.
    pub len: u8,
}

impl AckCell {
    /// The most packets in one cell.
    pub const LEN_MAX: u8 = 64;

    /// Decodes a cell.
    pub const fn from_byte(byte: u8) -> Self {
        let state = match byte >> 6 {
            0 => AckState::Received,
            1 => AckState::Marked,
            2 => AckState::Reserved,
            _ => AckState::NotReceived,
        };
        Self {
            state,
            len: (byte & 0x3F) + 1,
        }
    }

    /// Encodes the cell; a length out of range becomes the nearest one in it.
    pub const fn to_byte(self) -> u8 {
        let len = if self.len < Self::LEN_MAX {
            self.len
        } else {
            Self::LEN_MAX
        };
        (self.state as u8) << 6 | len.saturating_sub(1)
    }
}

/// Why the peer's host dropped data of a packet that it had received (RFC 4340 §11.7).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DropCode(u8);

#[expect(missing_docs, reason = "the names are the RFC's")]
impl DropCode {
    pub const PROTOCOL_CONSTRAINTS: Self = Self(0);
    pub const APPLICATION_NOT_LISTENING: Self = Self(1);
    pub const RECEIVE_BUFFER: Self = Self(2);
    pub const CORRUPT: Self = Self(3);
    pub const DELIVERED_CORRUPT: Self = Self(7);

    /// The code with this number; `None` above 7.
    pub const fn from_number(n: u8) -> Option<Self> {
        if n < 8 { Some(Self(n)) } else { None }
    }

    /// The code's number, 0–7.
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// One byte of Data Dropped: neighbouring packets with the same fate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DropBlock {
    /// Why their data was dropped; `None`: it was not, or they were not received (4340-11.7-3).
    pub code: Option<DropCode>,
    /// How many they are: 1–128, and with a code 1–16.
    pub len: u8,
}

impl DropBlock {
    /// The most packets in a Normal Block.
    pub const NORMAL_LEN_MAX: u8 = 128;
    /// The most packets in a Drop Block.
    pub const DROPPED_LEN_MAX: u8 = 16;

    /// Decodes a block (4340-11.7-1).
    pub const fn from_byte(byte: u8) -> Self {
        if byte & 0x80 == 0 {
            return Self {
                code: None,
                len: byte + 1,
            };
        }
        Self {
            code: Some(DropCode(byte >> 4 & 7)),
            len: (byte & 0xF) + 1,
        }
    }

    /// Encodes the block; a length out of range becomes the nearest one in it.
    pub const fn to_byte(self) -> u8 {
        let (front, len_max) = match self.code {
            None => (0, Self::NORMAL_LEN_MAX),
            Some(code) => (0x80 | code.0 << 4, Self::DROPPED_LEN_MAX),
        };
        let len = if self.len < len_max {
            self.len
        } else {
            len_max
        };
        front | len.saturating_sub(1)
    }
}

/// Packets with neighbouring sequence numbers and the same report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run<T> {
    /// The newest of them.
    pub newest: Seq,
    /// The oldest of them.
    pub oldest: Seq,
    /// The report.
    pub said: T,
}

impl<'a> Options<'a> {
    /// The runs of all Ack Vectors of a packet, newest first. They continue each other, and the first
    /// begins at `ack`, the packet's Acknowledgement Number. At most 1,000 runs.
    pub fn ack_runs(self, ack: Seq) -> impl Iterator<Item = Run<AckState>> + use<'a> {
        let cells = self.iter().filter_map(|option| match option {
            Opt::AckVector { cells, .. } => Some(cells),
            _ => None,
        });
        runs(ack, cells.flatten(), |&byte| {
            let cell = AckCell::from_byte(byte);
            (cell.state, cell.len)
        })
    }

    /// The runs of all Data Dropped options of a packet, newest first. They continue each other, and the
    /// first begins at `ack`, the packet's Acknowledgement Number. At most 1,000 runs.
    pub fn drop_runs(self, ack: Seq) -> impl Iterator<Item = Run<Option<DropCode>>> + use<'a> {
        let blocks = self.iter().filter_map(|option| match option {
            Opt::DataDropped(blocks) => Some(blocks),
            _ => None,
        });
        runs(ack, blocks.flatten(), |&byte| {
            let block = DropBlock::from_byte(byte);
            (block.code, block.len)
        })
    }
}

/// Gives each of the `bytes` the sequence numbers that it speaks of.
fn runs<'a, T>(
    mut next: Seq,
    bytes: impl Iterator<Item = &'a u8>,
    decode: impl Fn(&'a u8) -> (T, u8),
) -> impl Iterator<Item = Run<T>> {
    bytes.map(move |byte| {
        let (said, len) = decode(byte);
        let newest = next;
        next = newest.minus(u64::from(len));
        Run {
            newest,
            oldest: next.next(),
            said,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use AckState::{Marked, NotReceived, Received, Reserved};

    fn run<T>(newest: u64, oldest: u64, said: T) -> Run<T> {
        Run {
            newest: Seq::new(newest),
            oldest: Seq::new(oldest),
            said,
        }
    }

    #[test]
    fn cells_are_two_bits_of_state_and_six_of_length() {
        // 4340-11.4-2, 4340-11.4-6
        for (byte, state, len) in [
            (0x00, Received, 1),
            (0x3F, Received, 64),
            (0x40, Marked, 1),
            (0x85, Reserved, 6),
            (0xC0, NotReceived, 1),
            (0xFF, NotReceived, 64),
        ] {
            assert_eq!(AckCell::from_byte(byte), AckCell { state, len });
        }
        for byte in 0..=255 {
            assert_eq!(AckCell::from_byte(byte).to_byte(), byte);
        }
    }

    #[test]
    fn lengths_out_of_range_become_the_nearest() {
        let cell = |state, len| AckCell { state, len }.to_byte();
        assert_eq!([cell(Marked, 0), cell(Marked, 65)], [0x40, 0x7F]);
        let block = |code, len| DropBlock { code, len }.to_byte();
        assert_eq!([block(None, 0), block(None, 129)], [0x00, 0x7F]);
        let code = Some(DropCode::RECEIVE_BUFFER);
        assert_eq!([block(code, 0), block(code, 17)], [0xA0, 0xAF]);
    }

    #[test]
    fn the_first_cell_is_the_acknowledgement_number() {
        // 4340-11.4-2: the example of RFC 4340 §11.4.
        let options = Options(&[38, 7, 0, 192, 3, 64, 5, 0]);
        let runs: Vec<_> = options.ack_runs(Seq::new(100)).collect();
        assert_eq!(
            runs,
            [
                run(100, 100, Received),
                run(99, 99, NotReceived),
                run(98, 95, Received),
                run(94, 94, Marked),
                run(93, 88, Received),
            ]
        );
    }

    #[test]
    fn vectors_of_one_packet_continue_each_other_across_the_wrap() {
        let options = Options(&[38, 3, 0x01, 1, 39, 4, 0xC0, 0x02, 0, 38, 2]);
        let runs: Vec<_> = options.ack_runs(Seq::new(1)).collect();
        let max = (1 << 48) - 1;
        assert_eq!(
            runs,
            [
                run(1, 0, Received),
                run(max, max, NotReceived),
                run(max - 1, max - 3, Received),
            ]
        );
    }

    #[test]
    fn drop_blocks_are_normal_or_have_a_code() {
        // 4340-11.7-1, 4340-11.7-2
        let dropped = |n, len| DropBlock {
            code: DropCode::from_number(n),
            len,
        };
        let normal = |len| DropBlock { code: None, len };
        for (byte, block) in [
            (0x00, normal(1)),
            (0x7F, normal(128)),
            (0x80, dropped(0, 1)),
            (0xA2, dropped(2, 3)),
            (0xFF, dropped(7, 16)),
        ] {
            assert_eq!(DropBlock::from_byte(byte), block);
        }
        for byte in 0..=255 {
            assert_eq!(DropBlock::from_byte(byte).to_byte(), byte);
        }
        assert_eq!(DropCode::from_number(7), Some(DropCode::DELIVERED_CORRUPT));
        assert_eq!(DropCode::from_number(8), None);
        assert_eq!(DropCode::CORRUPT.number(), 3);
    }

    #[test]
    fn drop_blocks_go_back_from_the_acknowledgement_number() {
        // 4340-11.7-1: the example of RFC 4340 §11.7 without its mistake (requirements, part 27),
        // split over two options.
        let options = Options(&[40, 4, 0, 160, 38, 3, 63, 40, 4, 3, 162]);
        let full = DropCode::from_number(2);
        assert_eq!(full, Some(DropCode::RECEIVE_BUFFER));
        let runs: Vec<_> = options.drop_runs(Seq::new(100)).collect();
        assert_eq!(
            runs,
            [
                run(100, 100, None),
                run(99, 99, full),
                run(98, 95, None),
                run(94, 92, full),
            ]
        );
    }

    #[test]
    fn an_option_covers_as_many_packets_as_the_rfc_says() {
        // 4340-11.7-1
        let mut option = [0xFF; 255];
        option[0] = 38;
        let last = Options(&option).ack_runs(Seq::new(16_192)).last();
        assert_eq!(last.unwrap().oldest, Seq::new(1));
        let mut option = [0x7F; 255];
        option[0] = 40;
        option[1] = 255;
        let last = Options(&option).drop_runs(Seq::new(32_384)).last();
        assert_eq!(last.unwrap().oldest, Seq::new(1));
    }
}
