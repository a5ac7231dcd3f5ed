//! The choice of a law for a window, and its settings.

use super::{
    Law, bbr, bic, cubic, fast, highspeed, htcp, ledbat, lp, reno, scalable, udt, vegas, westwood,
};
use crate::cc::slow_start::{self, Pace};
use core::fmt;
use core::ops::RangeInclusive;
use std::sync::Arc;

/// The settings of a law. Each connection builds its own law from them.
pub trait LawSettings: fmt::Debug + Send + Sync {
    /// The law's name, the same as [`Law::name`].
    fn name(&self) -> &'static str;

    /// Builds a law with these settings.
    fn build(&self) -> Box<dyn Law>;

    /// Checks that each setting is in its range.
    ///
    /// # Errors
    /// Returns the setting that is out of its range, and the range.
    fn check(&self) -> Result<(), SettingError> {
        Ok(())
    }

    /// Returns the default pace of slow start for this law.
    fn pace(&self) -> Pace {
        Pace::Standard
    }
}

/// A setting that is out of its range.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct SettingError {
    /// The name of the setting.
    pub setting: &'static str,
    /// Its value.
    pub value: f64,
    /// The least value that is allowed.
    pub least: f64,
    /// The greatest value that is allowed.
    pub most: f64,
}

impl SettingError {
    /// Checks that the value of a setting is in a range.
    ///
    /// # Errors
    /// Returns the setting that is out of its range, and the range.
    pub fn unless_within(
        setting: &'static str,
        value: f64,
        range: RangeInclusive<f64>,
    ) -> Result<(), Self> {
        if range.contains(&value) {
            return Ok(());
        }
        Err(Self {
            setting,
            value,
            least: *range.start(),
            most: *range.end(),
        })
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            setting,
            value,
            least,
            most,
        } = self;
        write!(f, "{setting}: {value}: must be from {least} to {most}")
    }
}

impl core::error::Error for SettingError {}

/// The configuration of a window: a law, and the slow start before it.
///
/// The default is CCID 2's own Reno (4341-3.1-1).
///
/// ```
/// use dccp_proto::cc::law::{LawConfig, scalable};
/// let law = LawConfig::from(scalable::Config { lwnd: 38.0 });
/// assert_eq!(law.name(), "scalable");
/// ```
#[derive(Clone, Debug)]
pub struct LawConfig {
    law: Arc<dyn LawSettings>,
    /// Slow start before the law.
    pub slow_start: slow_start::Config,
}

impl LawConfig {
    /// The law's name.
    pub fn name(&self) -> &'static str {
        self.law.name()
    }

    /// Builds a law with these settings.
    pub fn build(&self) -> Box<dyn Law> {
        self.law.build()
    }

    /// Checks that each setting of the law and of slow start is in its range.
    ///
    /// # Errors
    /// Returns the setting that is out of its range, and the range.
    pub fn check(&self) -> Result<(), SettingError> {
        self.law.check()?;
        self.slow_start.check()
    }
}

impl<L: LawSettings + 'static> From<L> for LawConfig {
    /// The law after its default slow start.
    fn from(law: L) -> Self {
        let slow_start = slow_start::Config {
            pace: law.pace(),
            ..slow_start::Config::default()
        };
        Self {
            law: Arc::new(law),
            slow_start,
        }
    }
}

impl Default for LawConfig {
    fn default() -> Self {
        reno::Config::default().into()
    }
}

impl PartialEq for LawConfig {
    /// Two laws are equal if their names and their settings are equal, as [`Debug`](fmt::Debug) prints them.
    fn eq(&self, other: &Self) -> bool {
        let settings = |law: &Self| format!("{:?}", law.law);
        self.slow_start == other.slow_start
            && self.name() == other.name()
            && (Arc::ptr_eq(&self.law, &other.law) || settings(self) == settings(other))
    }
}

impl fmt::Display for LawConfig {
    /// The name of the law.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// All built-in laws with their defaults.
pub fn all() -> impl Iterator<Item = LawConfig> {
    [
        reno::Config::default().into(),
        highspeed::Config.into(),
        scalable::Config::default().into(),
        bic::Config::default().into(),
        cubic::Config::default().into(),
        htcp::Config::default().into(),
        fast::Config::default().into(),
        lp::Config::default().into(),
        lp::HighSpeedConfig::default().into(),
        vegas::Config::default().into(),
        ledbat::Config::default().into(),
        bbr::Config::default().into(),
        westwood::Config.into(),
        udt::Config::default().into(),
    ]
    .into_iter()
}

#[cfg(test)]
mod tests {
    use super::super::Wants;
    use super::*;

    #[test]
    fn every_law_has_one_name_and_valid_defaults() {
        for law in all() {
            assert_eq!(law.build().name(), law.name());
            assert_eq!(law.check(), Ok(()));
            assert_eq!(all().filter(|other| *other == law).count(), 1, "{law}");
        }
    }

    #[test]
    fn law_requests_the_rates_and_one_way_delays_that_it_uses() {
        let wanting = |wants: fn(Wants) -> bool| {
            let laws = all().filter(move |law| wants(law.build().wants()));
            laws.map(|law| law.name())
        };
        assert!(wanting(|wants| wants.delivered_rate).eq(["bbr", "udt"]));
        assert!(wanting(|wants| wants.one_way).eq(["tcp-lp", "hstcp-lp", "ledbat"]));
    }

    #[test]
    fn laws_with_other_settings_differ() {
        let law = |lwnd| LawConfig::from(scalable::Config { lwnd });
        assert_eq!(law(38.0), law(38.0));
        assert_ne!(law(38.0), law(16.0));
        let mut other = law(38.0);
        other.slow_start.hystart = true;
        assert_ne!(other, law(38.0));
    }

    #[test]
    fn setting_out_of_range_is_named() {
        let law = reno::Config {
            flows: 0,
            ..reno::Config::default()
        };
        let error = LawConfig::from(law).check().unwrap_err();
        assert_eq!(error.to_string(), "flows: 0: must be from 1 to 1024");
        let mut law = LawConfig::default();
        law.slow_start.max_ssthresh = f64::NAN;
        assert!(law.check().is_err());
    }
}
