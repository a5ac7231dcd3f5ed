//! TCP segments (RFC 9293 §3.1) as values: the simulator passes them without bytes, and writes bytes
//! only into capture files.

/// The flags of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(u8);

impl Flags {
    /// No more data from this end.
    pub const FIN: Self = Self(0x01);
    /// The first segment of this end.
    pub const SYN: Self = Self(0x02);
    /// There is no such connection.
    pub const RST: Self = Self(0x04);
    /// The receiver should not wait for more.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement number counts.
    pub const ACK: Self = Self(0x10);
    /// A mark was seen (RFC 3168 §6.1).
    pub const ECE: Self = Self(0x40);
    /// The window was reduced for it.
    pub const CWR: Self = Self(0x80);

    /// Both sets of flags.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The flags of `other` if it holds, else none of them.
    #[must_use]
    pub const fn with_if(self, holds: bool, other: Self) -> Self {
        if holds { self.with(other) } else { self }
    }

    /// Whether all of these are set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The byte of the header.
    pub const fn byte(self) -> u8 {
        self.0
    }
}

/// Bytes received beyond a gap: from the first sequence number to before the second (RFC 2018 §3).
pub type Block = (u32, u32);

/// Blocks that fit beside a timestamps option (RFC 2018 §3).
pub const BLOCKS_MAX: usize = 3;

/// The SACK option, the newest block first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sack {
    blocks: [Block; BLOCKS_MAX],
    count: u8,
}

impl Sack {
    /// Adds a block, if there is room.
    pub const fn push(&mut self, block: Block) {
        if (self.count as usize) < BLOCKS_MAX {
            self.blocks[self.count as usize] = block;
            self.count += 1;
        }
    }

    /// The blocks.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks[..usize::from(self.count)]
    }
}

/// The timestamps option (RFC 7323 §3), in units of 10 µs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timestamps {
    /// When the segment left, by its sender's clock.
    pub value: u32,
    /// `value` of a segment of the peer, or 0.
    pub echo: u32,
}

/// Names a connection within its host, as the receiver's table of connections would.
pub type SocketId = u32;

/// The receiver's name for the connection is not known yet.
pub const UNKNOWN: SocketId = u32::MAX;

/// A segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Port of the sender.
    pub source_port: u16,
    /// Port of the receiver.
    pub dest_port: u16,
    /// Number of the first byte of data (or of SYN, or of FIN).
    pub seq: u32,
    /// The next byte that the sender expects.
    pub ack: u32,
    /// Bytes that it has room for. On the wire in units of `2^window_scale`.
    pub window: u32,
    /// The Window Scale option of the sender (RFC 7323 §2): sent with SYN.
    pub window_scale: u8,
    /// Flags.
    pub flags: Flags,
    /// The Maximum Segment Size option of the sender: sent with SYN.
    pub mss: u16,
    /// Bytes of data; all are zeros.
    pub len: u16,
    /// The Timestamps option.
    pub timestamps: Option<Timestamps>,
    /// The SACK option.
    pub sack: Sack,
    /// The sender's name for the connection: not on the wire, it spares the receiver a table.
    pub from: SocketId,
    /// The receiver's name for it.
    pub to: SocketId,
}

/// Bytes of a header without options.
const HEADER: usize = 20;
/// Bytes of the options of a SYN: MSS, SACK Permitted, Timestamps, Window Scale and padding.
const SYN_OPTIONS: usize = 20;
/// The same without Timestamps.
const SYN_OPTIONS_PLAIN: usize = 12;
/// Bytes of the Timestamps option with padding (RFC 7323 appendix A).
pub const TIMESTAMPS: u16 = 12;

impl Segment {
    /// Whether the segment has SYN.
    pub const fn is_syn(&self) -> bool {
        self.flags.has(Flags::SYN)
    }

    /// Bytes of the header with its options.
    pub fn header_len(&self) -> usize {
        let has_timestamps = self.timestamps.is_some();
        HEADER
            + match (self.is_syn(), has_timestamps) {
                (true, true) => SYN_OPTIONS,
                (true, false) => SYN_OPTIONS_PLAIN,
                (false, _) => {
                    let sack = match self.sack.blocks().len() {
                        0 => 0,
                        n => 4 + 8 * n,
                    };
                    sack + if has_timestamps {
                        usize::from(TIMESTAMPS)
                    } else {
                        0
                    }
                }
            }
    }

    /// Bytes of the segment, without the IP header.
    pub fn wire_len(&self) -> usize {
        self.header_len() + usize::from(self.len)
    }

    /// Sequence numbers that it takes: its data, and one for SYN and FIN each.
    pub fn seq_len(&self) -> u32 {
        u32::from(self.len) + u32::from(self.is_syn()) + u32::from(self.flags.has(Flags::FIN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn flags_say_what_they_are() {
        let flags = Flags::SYN.with(Flags::ACK).with_if(false, Flags::FIN);
        assert_eq!(flags.byte(), 0x12);
        assert!(flags.has(Flags::ACK) && !flags.has(Flags::FIN));
    }

    #[test]
    fn options_count_on_the_wire() {
        let plain = testing::segment();
        assert_eq!((plain.header_len(), plain.wire_len()), (20, 1020));
        let mut s = Segment {
            timestamps: Some(Timestamps { value: 1, echo: 0 }),
            ..plain
        };
        assert_eq!(s.header_len(), 32);
        for (n, len) in [(1, 44), (2, 52), (3, 60), (4, 60)] {
            s.sack.push((1000 * n, 1000 * n + 500));
            assert_eq!(s.header_len(), len);
        }
        assert_eq!(s.sack.blocks(), [(1000, 1500), (2000, 2500), (3000, 3500)]);
        s.flags = Flags::SYN;
        assert_eq!(s.header_len(), 40);
        s.timestamps = None;
        assert_eq!(s.header_len(), 32);
    }

    #[test]
    fn syn_and_fin_take_a_number_each() {
        let with = |flags, len| Segment {
            flags,
            len,
            ..testing::segment()
        };
        assert_eq!(with(Flags::ACK, 7).seq_len(), 7);
        assert_eq!(with(Flags::SYN, 0).seq_len(), 1);
        assert_eq!(with(Flags::FIN.with(Flags::ACK), 7).seq_len(), 8);
    }
}
