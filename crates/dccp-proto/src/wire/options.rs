//! Options (RFC 4340 §5.8): what came, decoded one by one. [`OptionWriter`]
//! writes what goes.

use super::checksum::crc_from_wire;
use super::{OptionWriter, PacketType};
use core::fmt;
use core::time::Duration;

/// The most bytes of options that a header can hold: Data Offset counts 255 words, and
/// the smallest header has 12 bytes (4340-5-1).
pub const OPTIONS_MAX: usize = 1008;

/// The option area of a packet, not yet interpreted.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Options<'a>(pub &'a [u8]);

impl<'a> Options<'a> {
    /// No options.
    pub const EMPTY: Options<'static> = Options(&[]);

    /// The options in order of appearance (4340-5.8-3). An option whose length is below 2 or leads beyond the
    /// area ends the iteration (4340-5.8-5).
    pub const fn iter(self) -> OptionIter<'a> {
        OptionIter { rest: self.0 }
    }
}

impl<'a> IntoIterator for Options<'a> {
    type Item = Opt<'a>;
    type IntoIter = OptionIter<'a>;

    fn into_iter(self) -> OptionIter<'a> {
        self.iter()
    }
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// One option, decoded to its type.
///
/// An option of a known number with a length that it cannot have is [`Opt::Malformed`]; one of an
/// unassigned number is [`Opt::Unknown`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Opt<'a> {
    /// Type 0; anywhere, any number of times (4340-5.8.1-1).
    Padding,
    /// Type 1: the next option must be understood (§5.8.2).
    Mandatory,
    /// Type 2 (§11.6).
    SlowReceiver,
    /// Type 32 (§6.1).
    ChangeL(FeatureOpt<'a>),
    /// Type 33 (§6.2).
    ConfirmL(FeatureOpt<'a>),
    /// Type 34 (§6.1).
    ChangeR(FeatureOpt<'a>),
    /// Type 35 (§6.2).
    ConfirmR(FeatureOpt<'a>),
    /// Type 36 (§8.1.4).
    InitCookie(&'a [u8]),
    /// Type 37 (§7.7), 1 to 6 bytes; `width` is how many there were.
    NdpCount {
        /// The count.
        count: u64,
        /// Bytes of the value, 1–6.
        width: u8,
    },
    /// Types 38 and 39 (§11.4): state in the high 2 bits, run length − 1 in the low 6.
    AckVector {
        /// The nonce echo: type 39.
        nonce: bool,
        /// The cells, newest first.
        cells: &'a [u8],
    },
    /// Type 40 (§11.7): block bytes, newest first.
    DataDropped(&'a [u8]),
    /// Type 41 (§13.1): 32 bits of a clock that counts units of 10 µs (4340-13.1-1).
    Timestamp(u32),
    /// Type 42 (§13.3).
    TimestampEcho {
        /// The timestamp that comes back.
        echo: u32,
        /// The time since it arrived.
        elapsed: Elapsed,
    },
    /// Type 43 (§13.2).
    ElapsedTime(Elapsed),
    /// Type 44 (§9.3): CRC-32c of the application data.
    DataChecksum(u32),
    /// Type 45 (RFC 5634 §2.2.1).
    QuickStartResponse {
        /// Rate Request, 4 bits.
        rate: u8,
        /// TTL Diff.
        ttl_diff: u8,
        /// QS Nonce, 30 bits.
        nonce: u32,
    },
    /// Type 46 (RFC 9897), not interpreted.
    Multipath(&'a [u8]),
    /// Types 128–255: belong to a CCID (§10.3); decoded by `wire::ccid_options`.
    CcidSpecific {
        /// The option type.
        kind: u8,
        /// Its data.
        data: &'a [u8],
    },
    /// A number that is not assigned: ignored, unless it is Mandatory (4340-5.8-4).
    Unknown {
        /// The option type.
        kind: u8,
        /// Its data; empty for the single-byte types below 32.
        data: &'a [u8],
    },
    /// A known number with an impossible length (4340-5.8-8).
    Malformed {
        /// The option type.
        kind: u8,
        /// Its data.
        data: &'a [u8],
    },
}

impl<'a> Opt<'a> {
    /// NDP Count in the smallest of its six widths (4340-7.7-3).
    pub const fn ndp_count(count: u64) -> Self {
        let mut width = 1;
        while width < 8 && count >> (8 * width) != 0 {
            width += 1;
        }
        Self::NdpCount { count, width }
    }

    /// The option type.
    pub const fn kind(&self) -> u8 {
        match *self {
            Self::Padding => 0,
            Self::Mandatory => 1,
            Self::SlowReceiver => 2,
            Self::ChangeL(_) => 32,
            Self::ConfirmL(_) => 33,
            Self::ChangeR(_) => 34,
            Self::ConfirmR(_) => 35,
            Self::InitCookie(_) => 36,
            Self::NdpCount { .. } => 37,
            Self::AckVector { nonce: false, .. } => 38,
            Self::AckVector { nonce: true, .. } => 39,
            Self::DataDropped(_) => 40,
            Self::Timestamp(_) => 41,
            Self::TimestampEcho { .. } => 42,
            Self::ElapsedTime(_) => 43,
            Self::DataChecksum(_) => 44,
            Self::QuickStartResponse { .. } => 45,
            Self::Multipath(_) => 46,
            Self::CcidSpecific { kind, .. }
            | Self::Unknown { kind, .. }
            | Self::Malformed { kind, .. } => kind,
        }
    }

    /// The data of a Reset because of the option: its type and the first two bytes of its data, or zeros
    /// (4340-5.6-4).
    pub fn reset_data(&self) -> [u8; 3] {
        let mut writer = OptionWriter::new(OPTIONS_MAX);
        let written = writer.push(self);
        let encoded = if written.is_ok() {
            writer.as_slice()
        } else {
            &[]
        };
        let byte = |i: usize| encoded.get(i).copied().unwrap_or(0);
        [self.kind(), byte(2), byte(3)]
    }

    /// Whether the option means something on packets of this type; it is ignored on others, and
    /// never sent on them (4340-5.8-7). Of options that belong to a CCID, the CCID decides.
    pub const fn is_allowed_on(&self, packet_type: PacketType) -> bool {
        match self.kind() {
            // Mandatory and Change: 4340-5.8.2-2, 4340-6-1
            1 | 32 | 34 => !matches!(packet_type, PacketType::Data),
            // Confirm, Ack Vector, Data Dropped and Elapsed Time need an Acknowledgement Number, and
            // Init Cookies are echoed with one: 4340-6.6.1-1, 4340-11-2, 4340-8.1.4-1, 4340-11.7-4, 4340-13.2-3
            33 | 35 | 36 | 38..=40 | 43 => packet_type.has_ack(),
            _ => true,
        }
    }

    /// Decodes the option of type `kind` with `data` (empty for single-byte types).
    pub fn decode(kind: u8, data: &'a [u8]) -> Self {
        let feature = |make: fn(FeatureOpt<'a>) -> Self, least: usize| match data.split_first() {
            Some((&feature, values)) if values.len() >= least => {
                make(FeatureOpt { feature, values })
            }
            _ => Self::Malformed { kind, data },
        };
        match (kind, data) {
            (0, _) => Self::Padding,
            (1, _) => Self::Mandatory,
            (2, _) => Self::SlowReceiver,
            (32, _) => feature(Self::ChangeL, 1),
            (33, _) => feature(Self::ConfirmL, 0),
            (34, _) => feature(Self::ChangeR, 1),
            (35, _) => feature(Self::ConfirmR, 0),
            (36, _) => Self::InitCookie(data),
            (37, [_, ..]) if data.len() <= 6 => Self::NdpCount {
                count: data.iter().fold(0, |n, &b| n << 8 | u64::from(b)),
                width: data.iter().fold(0, |n, _| n + 1),
            },
            (38 | 39, _) => Self::AckVector {
                nonce: kind == 39,
                cells: data,
            },
            (40, _) => Self::DataDropped(data),
            (41, &[a, b, c, d]) => Self::Timestamp(u32::from_be_bytes([a, b, c, d])),
            (42, &[a, b, c, d, ref elapsed @ ..]) => match Elapsed::decode(elapsed) {
                Some(elapsed) => Self::TimestampEcho {
                    echo: u32::from_be_bytes([a, b, c, d]),
                    elapsed,
                },
                None => Self::Malformed { kind, data },
            },
            (43, [_, ..]) => match Elapsed::decode(data) {
                Some(elapsed) => Self::ElapsedTime(elapsed),
                None => Self::Malformed { kind, data },
            },
            (44, &[a, b, c, d]) => Self::DataChecksum(crc_from_wire([a, b, c, d])),
            (45, &[rate, ttl_diff, a, b, c, d]) => Self::QuickStartResponse {
                rate: rate & 0xF,
                ttl_diff,
                nonce: u32::from_be_bytes([a, b, c, d]) >> 2,
            },
            (46, [_, ..]) => Self::Multipath(data),
            (37 | 41..=46, _) => Self::Malformed { kind, data },
            (128.., _) => Self::CcidSpecific { kind, data },
            _ => Self::Unknown { kind, data },
        }
    }
}

/// The content of a Change or Confirm option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FeatureOpt<'a> {
    /// The feature number.
    pub feature: u8,
    /// Its values: a preference list (SP), one number (NN), or nothing (an empty Confirm).
    pub values: &'a [u8],
}

/// A time in units of 10 µs with the width that it has on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Elapsed {
    /// Absent (Timestamp Echo only): zero.
    None,
    /// Two bytes.
    Short(u16),
    /// Four bytes; `u32::MAX` means more than 42949.67294 s.
    Long(u32),
}

impl Elapsed {
    /// The value in units of 10 µs.
    pub const fn units(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Short(v) => v as u32,
            Self::Long(v) => v,
        }
    }

    /// The value as a duration.
    pub fn duration(self) -> Duration {
        Duration::from_micros(10 * u64::from(self.units()))
    }

    /// For Elapsed Time: two bytes up to 0.65535 s, else four (4340-13.2-1). Rounded down, since
    /// more than the truth is forbidden (4340-13.2-2).
    pub fn from_duration(d: Duration) -> Self {
        let units = d.as_micros() / 10;
        match u16::try_from(units) {
            Ok(v) => Self::Short(v),
            Err(_) => Self::Long(u32::try_from(units).unwrap_or(u32::MAX)),
        }
    }

    /// For Timestamp Echo: the smallest form, which for less than 10 µs is none (4340-13.3-1).
    pub fn smallest(d: Duration) -> Self {
        match Self::from_duration(d) {
            Self::Short(0) => Self::None,
            elapsed => elapsed,
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        Some(match *bytes {
            [] => Self::None,
            [a, b] => Self::Short(u16::from_be_bytes([a, b])),
            [a, b, c, d] => Self::Long(u32::from_be_bytes([a, b, c, d])),
            _ => return None,
        })
    }
}

/// Iterates over the options of a packet.
#[derive(Clone, Debug)]
pub struct OptionIter<'a> {
    rest: &'a [u8],
}

impl<'a> OptionIter<'a> {
    /// The bytes not yet passed; after the last option, those that a bad length hides.
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for OptionIter<'a> {
    type Item = Opt<'a>;

    fn next(&mut self) -> Option<Opt<'a>> {
        let (&kind, rest) = self.rest.split_first()?;
        if kind < 32 {
            self.rest = rest;
            return Some(Opt::decode(kind, &[]));
        }
        let (&length, rest) = rest.split_first()?;
        // 4340-5.8-5: a bad length hides all that follows. The iterator stays before it, so every
        // later call ends here, too.
        let (data, rest) = rest.split_at_checked(usize::from(length).checked_sub(2)?)?;
        self.rest = rest;
        Some(Opt::decode(kind, data))
    }
}

/// The name of an option of Multipath DCCP. Its number, `MP_OPT`, is the first byte of [`Opt::Multipath`]
/// (RFC 9897 §3.2). All are ignored, because Multipath Capable is never agreed on.
pub const fn multipath_name(mp_opt: u8) -> &'static str {
    match mp_opt {
        0 => "MP_CONFIRM",
        1 => "MP_JOIN",
        2 => "MP_FAST_CLOSE",
        3 => "MP_KEY",
        4 => "MP_SEQ",
        5 => "MP_HMAC",
        6 => "MP_RTT",
        7 => "MP_ADDADDR",
        8 => "MP_REMOVEADDR",
        9 => "MP_PRIO",
        10 => "MP_CLOSE",
        11 => "MP_EXP",
        _ => "unassigned Multipath option",
    }
}

#[cfg(test)]
mod tests;
