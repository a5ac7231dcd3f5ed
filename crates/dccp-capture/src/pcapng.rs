//! Writes pcapng files (draft-ietf-opsawg-pcapng) of IP packets, as Wireshark's tools read them.
//!
//! A file has one section with one interface. Its packets begin with the IP header (`LINKTYPE_RAW`). Times are in
//! nanoseconds.

use crate::Direction;
use std::io::{self, Write};

/// Block types.
mod block {
    pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
    pub(super) const INTERFACE_DESCRIPTION: u32 = 1;
    pub(super) const INTERFACE_STATISTICS: u32 = 5;
    pub(super) const ENHANCED_PACKET: u32 = 6;
}

/// Option codes. Each block type has its own.
mod code {
    pub(super) const END: u16 = 0;
    pub(super) const SECTION_APPLICATION: u16 = 4;
    pub(super) const INTERFACE_NAME: u16 = 2;
    pub(super) const INTERFACE_TIME_RESOLUTION: u16 = 9;
    pub(super) const STATISTICS_RECEIVED: u16 = 4;
    pub(super) const STATISTICS_DROPPED: u16 = 5;
    pub(super) const PACKET_COMMENT: u16 = 1;
    pub(super) const PACKET_FLAGS: u16 = 2;
}

/// The origin of a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Section<'a> {
    /// The program that writes the file, with its version.
    pub application: Option<&'a str>,
    /// The interface where packets were captured.
    pub interface: Option<&'a str>,
    /// The most bytes of a packet in the file; `None`: no limit.
    pub snap: Option<u32>,
}

/// A captured packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// When it was captured, in nanoseconds since 1970.
    pub time_ns: u64,
    /// The captured bytes, from the IP header on.
    pub bytes: &'a [u8],
    /// Its length on the wire, from the IP header on.
    pub len: usize,
    /// Whether it left or arrived, if that is known.
    pub direction: Option<Direction>,
    /// A comment that Wireshark shows beside the packet. Filters find it as `frame.comment`.
    pub comment: Option<&'a str>,
}

/// Counts of a whole capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Packets that were seen, those that are not in the file included.
    pub received: u64,
    /// Packets that are not in the file, because the capture was too slow.
    pub dropped: u64,
}

/// Writes a capture file.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    /// The options of a block, reused.
    options: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// Writing fails.
    pub fn new(out: W, section: &Section<'_>) -> io::Result<Self> {
        let mut writer = Self {
            out,
            options: Vec::new(),
        };
        if let Some(application) = section.application {
            writer.option(code::SECTION_APPLICATION, application.as_bytes());
        }
        // Byte-order magic, version 1.0, length of the section unknown.
        writer.block(
            block::SECTION_HEADER,
            &[
                &0x1a2b_3c4d_u32.to_le_bytes(),
                &[1, 0, 0, 0],
                &u64::MAX.to_le_bytes(),
            ],
        )?;
        if let Some(name) = section.interface {
            writer.option(code::INTERFACE_NAME, name.as_bytes());
        }
        // Times are in 10^-9 s.
        writer.option(code::INTERFACE_TIME_RESOLUTION, &[9]);
        // LINKTYPE_RAW; a limit of 0 means none.
        writer.block(
            block::INTERFACE_DESCRIPTION,
            &[
                &101_u16.to_le_bytes(),
                &[0; 2],
                &section.snap.unwrap_or(0).to_le_bytes(),
            ],
        )?;
        Ok(writer)
    }

    /// Appends a packet.
    ///
    /// # Errors
    /// Writing fails. The file must not be continued then.
    pub fn packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        if let Some(comment) = packet.comment {
            let end = comment.floor_char_boundary(usize::from(u16::MAX));
            self.option(code::PACKET_COMMENT, &comment.as_bytes()[..end]);
        }
        if let Some(direction) = packet.direction {
            let flags: u32 = match direction {
                Direction::In => 1,
                Direction::Out => 2,
            };
            self.option(code::PACKET_FLAGS, &flags.to_le_bytes());
        }
        self.block(
            block::ENHANCED_PACKET,
            &[
                &[0; 4],
                &timestamp(packet.time_ns),
                &saturated_u32(packet.bytes.len()).to_le_bytes(),
                &saturated_u32(packet.len).to_le_bytes(),
                packet.bytes,
                padding(packet.bytes.len()),
            ],
        )
    }

    /// Appends the counts of the capture, so that readers see whether packets are missing. `time_ns` is the time of
    /// the counts, in nanoseconds since 1970.
    ///
    /// # Errors
    /// Writing fails. The file must not be continued then.
    pub fn statistics(&mut self, time_ns: u64, statistics: Statistics) -> io::Result<()> {
        let Statistics { received, dropped } = statistics;
        self.option(code::STATISTICS_RECEIVED, &received.to_le_bytes());
        self.option(code::STATISTICS_DROPPED, &dropped.to_le_bytes());
        self.block(block::INTERFACE_STATISTICS, &[&[0; 4], &timestamp(time_ns)])
    }

    /// Hands what is written so far to the reader of a pipe or socket.
    ///
    /// # Errors
    /// Writing fails.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Ends the file and returns what it was written to.
    ///
    /// # Errors
    /// Writing fails.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    /// Adds an option to the next block. `value` has at most 65,535 bytes.
    fn option(&mut self, code: u16, value: &[u8]) {
        let len = u16::try_from(value.len()).unwrap_or(u16::MAX);
        let value = &value[..usize::from(len)];
        self.options.extend_from_slice(&code.to_le_bytes());
        self.options.extend_from_slice(&len.to_le_bytes());
        self.options.extend_from_slice(value);
        self.options.extend_from_slice(padding(value.len()));
    }

    /// Writes a block with the options that were added. The length of `parts` is a multiple of 4.
    fn block(&mut self, kind: u32, parts: &[&[u8]]) -> io::Result<()> {
        if !self.options.is_empty() {
            self.option(code::END, &[]);
        }
        let body: usize = parts.iter().map(|part| part.len()).sum();
        let len = saturated_u32(12 + body + self.options.len()).to_le_bytes();
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&len)?;
        for part in parts {
            self.out.write_all(part)?;
        }
        self.out.write_all(&self.options)?;
        self.options.clear();
        self.out.write_all(&len)
    }
}

/// The bytes that lengthen `len` bytes to a multiple of 4.
const fn padding(len: usize) -> &'static [u8] {
    match len % 4 {
        0 => &[],
        1 => &[0; 3],
        2 => &[0; 2],
        _ => &[0; 1],
    }
}

/// A time as two words, the high one first.
fn timestamp(ns: u64) -> [u8; 8] {
    ns.rotate_left(32).to_le_bytes()
}

/// Lengths fit their fields; one that does not is shown as the largest that does.
fn saturated_u32(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Packet<'_> = Packet {
        time_ns: 0x0102_0304_0506_0708,
        bytes: &[0x45, 1, 2, 3, 4],
        len: 1_000,
        direction: None,
        comment: None,
    };

    /// The bytes that `write` adds to a new file.
    fn added(write: impl FnOnce(&mut Writer<Vec<u8>>) -> io::Result<()>) -> Vec<u8> {
        let empty = Writer::new(Vec::new(), &Section::default()).and_then(Writer::finish);
        let empty = empty.expect("memory");
        let mut writer = Writer::new(Vec::new(), &Section::default()).expect("memory");
        write(&mut writer).expect("memory");
        writer.finish().expect("memory")[empty.len()..].to_vec()
    }

    #[test]
    fn packet_without_options_has_the_bytes_of_the_draft() {
        let expected: [&[u8]; 5] = [
            &[6, 0, 0, 0, 40, 0, 0, 0],
            &[0, 0, 0, 0, 4, 3, 2, 1, 8, 7, 6, 5],
            &[5, 0, 0, 0, 0xe8, 3, 0, 0],
            &[0x45, 1, 2, 3, 4, 0, 0, 0],
            &[40, 0, 0, 0],
        ];
        assert_eq!(added(|w| w.packet(&PACKET)), expected.concat());
    }

    #[test]
    fn comment_and_direction_follow_the_packet() {
        let packet = Packet {
            direction: Some(Direction::Out),
            comment: Some("acked"),
            ..PACKET
        };
        let block = added(|w| w.packet(&packet));
        let expected: [&[u8]; 4] = [
            &[1, 0, 5, 0, b'a', b'c', b'k', b'e', b'd', 0, 0, 0],
            &[2, 0, 4, 0, 2, 0, 0, 0],
            &[0, 0, 0, 0],
            &[64, 0, 0, 0],
        ];
        assert_eq!(block[36..], expected.concat());
        assert_eq!(block[4..8], [64, 0, 0, 0], "both lengths are equal");
    }

    #[test]
    fn options_of_one_packet_are_not_repeated_in_the_next() {
        let commented = Packet {
            comment: Some("first"),
            ..PACKET
        };
        let both = added(|w| {
            w.packet(&commented)?;
            w.packet(&PACKET)
        });
        assert!(both.ends_with(&added(|w| w.packet(&PACKET))));
    }

    #[test]
    fn long_comment_is_cut_between_characters() {
        let comment = "ü".repeat(40_000);
        let packet = Packet {
            comment: Some(&comment),
            ..PACKET
        };
        let block = added(|w| w.packet(&packet));
        assert_eq!(block[36..40], [1, 0, 0xfe, 0xff], "65,534 bytes");
        assert_eq!(block.len() % 4, 0);
    }

    #[test]
    fn statistics_count_received_and_dropped_packets() {
        let statistics = Statistics {
            received: 11,
            dropped: 7,
        };
        let expected: [&[u8]; 6] = [
            &[5, 0, 0, 0, 52, 0, 0, 0],
            &[0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0],
            &[4, 0, 8, 0, 11, 0, 0, 0, 0, 0, 0, 0],
            &[5, 0, 8, 0, 7, 0, 0, 0, 0, 0, 0, 0],
            &[0, 0, 0, 0],
            &[52, 0, 0, 0],
        ];
        let block = added(|w| w.statistics(1 << 32 | 2, statistics));
        assert_eq!(block, expected.concat());
    }

    #[test]
    fn error_of_writing_is_returned() {
        #[derive(Debug)]
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let error = Writer::new(Full, &Section::default()).expect_err("it is full");
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
