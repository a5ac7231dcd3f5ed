//! Options (RFC 4340 §5.8): an iterator over what came, a writer of what goes.

use core::fmt;

/// The most bytes of options that a header can hold: Data Offset counts 255 words, 12 bytes of
/// which are the smallest header (4340-5-1).
pub const OPTIONS_MAX: usize = 1008;

/// The option area of a packet, not yet interpreted.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Options<'a>(pub &'a [u8]);

impl<'a> Options<'a> {
    /// No options.
    pub const EMPTY: Options<'static> = Options(&[]);

    /// The options in order of appearance. An option whose length is below 2 or leads beyond the
    /// area ends the iteration (4340-5.8-5).
    pub const fn iter(&self) -> OptionIter<'a> {
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
    /// Type 0.
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
    /// Type 41 (§13.1), in units of 10 µs.
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
    /// A number that is not assigned.
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
                width: data.len() as u8,
            },
            (38 | 39, _) => Self::AckVector {
                nonce: kind == 39,
                cells: data,
            },
            (40, _) => Self::DataDropped(data),
            (41, &[a, b, c, d]) => Self::Timestamp(u32::from_be_bytes([a, b, c, d])),
            (42, &[a, b, c, d, ref rest @ ..]) => match *rest {
                [] => Elapsed::None.echo(u32::from_be_bytes([a, b, c, d])),
                [e, f] => Elapsed::Short(u16::from_be_bytes([e, f]))
                    .echo(u32::from_be_bytes([a, b, c, d])),
                [e, f, g, h] => Elapsed::Long(u32::from_be_bytes([e, f, g, h]))
                    .echo(u32::from_be_bytes([a, b, c, d])),
                _ => Self::Malformed { kind, data },
            },
            (43, &[a, b]) => Self::ElapsedTime(Elapsed::Short(u16::from_be_bytes([a, b]))),
            (43, &[a, b, c, d]) => {
                Self::ElapsedTime(Elapsed::Long(u32::from_be_bytes([a, b, c, d])))
            }
            (44, &[a, b, c, d]) => Self::DataChecksum(u32::from_be_bytes([a, b, c, d])),
            (46, _) => Self::Multipath(data),
            (37 | 41..=45, _) => Self::Malformed { kind, data },
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
    pub fn duration(self) -> core::time::Duration {
        core::time::Duration::from_micros(10 * u64::from(self.units()))
    }

    const fn echo<'a>(self, echo: u32) -> Opt<'a> {
        Opt::TimestampEcho {
            echo,
            elapsed: self,
        }
    }

    /// The shortest form that is never absent: two bytes up to 0.65535 s (4340-13.2-1).
    pub fn from_duration(d: core::time::Duration) -> Self {
        let units = d.as_micros() / 10;
        match u16::try_from(units) {
            Ok(v) => Self::Short(v),
            Err(_) => Self::Long(u32::try_from(units).unwrap_or(u32::MAX)),
        }
    }
}

/// Iterates over the options of a packet.
#[derive(Clone, Debug)]
pub struct OptionIter<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for OptionIter<'a> {
    type Item = Opt<'a>;

    fn next(&mut self) -> Option<Opt<'a>> {
        let (&kind, rest) = self.rest.split_first()?;
        if kind < 32 {
            self.rest = rest;
            return Some(Opt::decode(kind, &[]));
        }
        // 4340-5.8-5: a bad length hides all that follows.
        let body = rest
            .split_first()
            .and_then(|(&length, rest)| rest.split_at_checked(usize::from(length).checked_sub(2)?));
        let Some((data, rest)) = body else {
            self.rest = &[];
            return None;
        };
        self.rest = rest;
        Some(Opt::decode(kind, data))
    }
}

/// No room is left for this option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoSpace;

/// Collects the options of one packet, in order, up to a limit in bytes.
#[derive(Clone)]
pub struct OptionWriter {
    buf: [u8; OPTIONS_MAX],
    len: usize,
    limit: usize,
}

impl OptionWriter {
    /// A writer for at most `limit` bytes (never more than [`OPTIONS_MAX`]).
    pub const fn new(limit: usize) -> Self {
        let limit = if limit < OPTIONS_MAX {
            limit
        } else {
            OPTIONS_MAX
        };
        Self {
            buf: [0; OPTIONS_MAX],
            len: 0,
            limit,
        }
    }

    /// Empties the writer and gives it a new limit.
    pub fn reset(&mut self, limit: usize) {
        self.len = 0;
        self.limit = limit.min(OPTIONS_MAX);
    }

    /// Bytes written so far, without the padding to a multiple of 4 that `build` adds.
    pub fn as_slice(&self) -> &[u8] {
        self.buf.get(..self.len).unwrap_or_default()
    }

    /// How many bytes have been written.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing has been written.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many bytes are left.
    pub const fn remaining(&self) -> usize {
        self.limit - self.len
    }

    /// Goes back to an earlier [`len`](Self::len).
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Appends an option of type `kind` with `data`; types below 32 are a single byte and take none.
    ///
    /// # Errors
    /// [`NoSpace`] if it does not fit whole; nothing is written then.
    pub fn push_raw(&mut self, kind: u8, data: &[u8]) -> Result<(), NoSpace> {
        let header: &[u8] = if kind < 32 {
            &[kind]
        } else {
            let length = u8::try_from(data.len() + 2).map_err(|_| NoSpace)?;
            &[kind, length]
        };
        let total = header.len() + if kind < 32 { 0 } else { data.len() };
        if total > self.remaining() {
            return Err(NoSpace);
        }
        let room = self
            .buf
            .get_mut(self.len..self.len + total)
            .ok_or(NoSpace)?;
        let (front, back) = room.split_at_mut(header.len());
        front.copy_from_slice(header);
        if kind >= 32 {
            back.copy_from_slice(data);
        }
        self.len += total;
        Ok(())
    }
}

impl fmt::Debug for OptionWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Options(self.as_slice()).fmt(f)
    }
}
