//! Errors of impossible settings.

use core::fmt;
use core::time::Duration;
use dccp_proto::Rate;

/// A setting that makes no sense, and its constraint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Impossible {
    /// The setting, such as `red.max_threshold`.
    pub setting: &'static str,
    /// The constraint, such as "above 0".
    pub must_be: &'static str,
}

impl Impossible {
    /// An error unless `holds`.
    ///
    /// # Errors
    /// This setting must be that.
    pub(crate) const fn unless(
        holds: bool,
        setting: &'static str,
        must_be: &'static str,
    ) -> Result<(), Self> {
        if holds {
            Ok(())
        } else {
            Err(Self { setting, must_be })
        }
    }

    /// An error unless `value` is a probability.
    ///
    /// # Errors
    /// This setting must be one.
    pub(crate) fn unless_share(value: f64, setting: &'static str) -> Result<(), Self> {
        Self::unless((0.0..=1.0).contains(&value), setting, "from 0 to 1")
    }

    /// An error unless something moves at `rate`, and not infinitely fast.
    ///
    /// # Errors
    /// This setting must be such a rate.
    pub(crate) fn unless_rate(rate: Rate, setting: &'static str) -> Result<(), Self> {
        let is_possible = rate.bytes_per_s() > 0.0 && rate.bytes_per_s().is_finite();
        Self::unless(is_possible, setting, "above 0 and finite")
    }

    /// An error unless `time` lasts.
    ///
    /// # Errors
    /// This setting must be a time above zero.
    pub(crate) const fn unless_lasting(time: Duration, setting: &'static str) -> Result<(), Self> {
        Self::unless(!time.is_zero(), setting, "above 0 s")
    }
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} must be {}", self.setting, self.must_be)
    }
}

impl core::error::Error for Impossible {}
