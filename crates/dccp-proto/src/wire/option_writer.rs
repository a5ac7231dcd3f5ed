//! Options → bytes: the inverse of [`Opt::decode`](super::Opt::decode).

use super::checksum::crc_to_wire;
use super::options::{Elapsed, FeatureOpt, OPTIONS_MAX};
use super::{Opt, Options};
use core::fmt;

/// The option does not fit: into the space that is left, or into its own fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoSpace;

impl fmt::Display for NoSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the option does not fit")
    }
}

impl core::error::Error for NoSpace {}

/// Where a Data Checksum option waits for its value, see
/// [`fill_data_checksum`](super::fill_data_checksum).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DataChecksumSlot {
    offset: usize,
}

impl DataChecksumSlot {
    /// Bytes between the start of the options and the value.
    pub(super) const fn offset(self) -> usize {
        self.offset
    }
}

/// Collects the options of one packet, in order, up to a limit in bytes.
#[derive(Clone)]
pub struct OptionWriter {
    bytes: Vec<u8>,
    limit: usize,
}

impl OptionWriter {
    /// A writer for at most `limit` bytes (never more than [`OPTIONS_MAX`]).
    pub fn new(limit: usize) -> Self {
        Self::with_memory(Vec::new(), limit)
    }

    /// As [`new`](Self::new), with the memory of an earlier writer: so that many packets need one allocation.
    pub fn with_memory(mut bytes: Vec<u8>, limit: usize) -> Self {
        bytes.clear();
        Self {
            bytes,
            limit: limit.min(OPTIONS_MAX),
        }
    }

    /// Gives the memory back.
    pub fn into_memory(self) -> Vec<u8> {
        self.bytes
    }

    /// Empties the writer and gives it a new limit.
    pub fn reset(&mut self, limit: usize) {
        self.bytes.clear();
        self.limit = limit.min(OPTIONS_MAX);
    }

    /// Raises the limit by `bytes`.
    pub fn add_room(&mut self, bytes: usize) {
        self.limit = (self.limit + bytes).min(OPTIONS_MAX);
    }

    /// Bytes written so far, without the padding to a multiple of 4 that `build` adds.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    /// The options written so far.
    pub fn options(&self) -> Options<'_> {
        Options(self.as_slice())
    }

    /// How many bytes have been written.
    pub const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing has been written.
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// How many bytes are left.
    pub const fn remaining(&self) -> usize {
        self.limit - self.bytes.len()
    }

    /// Goes back to an earlier [`len`](Self::len).
    pub fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
    }

    /// Appends an option.
    ///
    /// # Errors
    /// [`NoSpace`] if it does not fit whole, has more than 253 bytes of data, or a number that is
    /// too large for its field; nothing is written then.
    pub fn push(&mut self, option: &Opt<'_>) -> Result<(), NoSpace> {
        let kind = option.kind();
        match *option {
            Opt::Padding | Opt::Mandatory | Opt::SlowReceiver => self.append(kind, &[], &[]),
            Opt::ChangeL(FeatureOpt { feature, values })
            | Opt::ConfirmL(FeatureOpt { feature, values })
            | Opt::ChangeR(FeatureOpt { feature, values })
            | Opt::ConfirmR(FeatureOpt { feature, values }) => {
                self.append(kind, &[feature], values)
            }
            Opt::NdpCount { count, width } => {
                let bytes = count.to_be_bytes();
                let unused = 8_usize.checked_sub(usize::from(width)).ok_or(NoSpace)?;
                let (zeros, value) = bytes.split_at_checked(unused).ok_or(NoSpace)?;
                if !matches!(width, 1..=6) || zeros.iter().any(|&b| b != 0) {
                    return Err(NoSpace);
                }
                self.append(kind, value, &[])
            }
            Opt::Timestamp(timestamp) => self.append(kind, &timestamp.to_be_bytes(), &[]),
            Opt::TimestampEcho { echo, elapsed } => match elapsed {
                Elapsed::None => self.append(kind, &echo.to_be_bytes(), &[]),
                Elapsed::Short(v) => self.append(kind, &echo.to_be_bytes(), &v.to_be_bytes()),
                Elapsed::Long(v) => self.append(kind, &echo.to_be_bytes(), &v.to_be_bytes()),
            },
            Opt::ElapsedTime(elapsed) => match elapsed {
                // Elapsed Time has no form without a value.
                Elapsed::None => self.append(kind, &[0, 0], &[]),
                Elapsed::Short(v) => self.append(kind, &v.to_be_bytes(), &[]),
                Elapsed::Long(v) => self.append(kind, &v.to_be_bytes(), &[]),
            },
            Opt::DataChecksum(crc) => self.append(kind, &crc_to_wire(crc), &[]),
            Opt::QuickStartResponse {
                rate,
                ttl_diff,
                nonce,
            } => {
                if rate > 0xF || nonce >> 30 != 0 {
                    return Err(NoSpace);
                }
                self.append(kind, &[rate, ttl_diff], &(nonce << 2).to_be_bytes())
            }
            Opt::InitCookie(data)
            | Opt::AckVector { cells: data, .. }
            | Opt::DataDropped(data)
            | Opt::Multipath(data)
            | Opt::CcidSpecific { data, .. }
            | Opt::Unknown { data, .. }
            | Opt::Malformed { data, .. } => self.append(kind, data, &[]),
        }
    }

    /// Appends Mandatory and the option that it makes so, or nothing (RFC 4340 §5.8.2).
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_mandatory(&mut self, option: &Opt<'_>) -> Result<(), NoSpace> {
        let start = self.len();
        self.push(&Opt::Mandatory)?;
        self.push(option).inspect_err(|_| self.truncate(start))
    }

    /// Appends options that are encoded already, all or none.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_all(&mut self, options: Options<'_>) -> Result<(), NoSpace> {
        if options.0.len() > self.remaining() {
            return Err(NoSpace);
        }
        self.bytes.extend_from_slice(options.0);
        Ok(())
    }

    /// Appends a Data Checksum option whose value is not known before the payload is in place.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_data_checksum(&mut self) -> Result<DataChecksumSlot, NoSpace> {
        self.push(&Opt::DataChecksum(0))?;
        Ok(DataChecksumSlot {
            offset: self.len() - 4,
        })
    }

    /// Appends an option of type `kind` with `data`; types below 32 are a single byte and take none.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_raw(&mut self, kind: u8, data: &[u8]) -> Result<(), NoSpace> {
        self.append(kind, data, &[])
    }

    /// Appends an option with the data `front` and `back`.
    pub(super) fn append(&mut self, kind: u8, front: &[u8], back: &[u8]) -> Result<(), NoSpace> {
        let data_len = front.len() + back.len();
        // 4340-5.8-2: types below 32 have no length byte, and no data.
        let total = if kind < 32 { 1 } else { 2 + data_len };
        if total > self.remaining() || kind < 32 && data_len > 0 {
            return Err(NoSpace);
        }
        let length = u8::try_from(total).map_err(|_| NoSpace)?;
        self.bytes.push(kind);
        if kind >= 32 {
            self.bytes.push(length);
            self.bytes.extend_from_slice(front);
            self.bytes.extend_from_slice(back);
        }
        Ok(())
    }
}

impl fmt::Debug for OptionWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.options().fmt(f)
    }
}

#[cfg(test)]
mod tests;
