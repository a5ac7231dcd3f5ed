//! Which law governs a window, and with which options: as values, and as text.

use super::settings::{LawError, Plan, Settings, split_options};
use super::{
    Law, bbr, bic, cubic, fast, highspeed, htcp, ledbat, lp, reno, scalable, vegas, westwood,
};
use crate::cc::slow_start::{self, Pace};
use core::fmt;
use core::str::FromStr;

macro_rules! laws {
    ($($(#[$meta:meta])* $variant:ident($config:ty) = $name:literal,)*) => {
        /// A law with its options.
        #[derive(Clone, Copy, PartialEq, Debug)]
        pub enum LawKind {
            $($(#[$meta])* $variant($config),)*
        }

        impl LawKind {
            /// The names of all laws.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The law of this name with its defaults.
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant(<$config>::default())),)*
                    _ => None,
                }
            }

            /// Its name.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
            }

            fn plan(&self) -> &dyn Plan {
                match self { $(Self::$variant(config) => config,)* }
            }

            fn plan_mut(&mut self) -> &mut dyn Plan {
                match self { $(Self::$variant(config) => config,)* }
            }
        }
    };
}

laws! {
    /// Reno (RFC 4341 §5, RFC 5681).
    Reno(reno::Config) = "reno",
    /// HighSpeed TCP (RFC 3649).
    HighSpeed(highspeed::Config) = "highspeed",
    /// Scalable TCP (Kelly 2003).
    Scalable(scalable::Config) = "scalable",
    /// BIC (Xu, Harfoush, Rhee 2004).
    Bic(bic::Config) = "bic",
    /// CUBIC (RFC 9438).
    Cubic(cubic::Config) = "cubic",
    /// H-TCP (Leith, Shorten 2004).
    Htcp(htcp::Config) = "htcp",
    /// FAST TCP (Jin, Wei, Low 2004).
    Fast(fast::Config) = "fast",
    /// TCP-LP (Kuzmanovic, Knightly 2003).
    TcpLp(lp::Config) = "tcp-lp",
    /// HSTCP-LP (Kuzmanovic, Knightly, Cottrell 2004).
    HstcpLp(lp::HighSpeedConfig) = "hstcp-lp",
    /// Vegas (Brakmo, Peterson 1995).
    Vegas(vegas::Config) = "vegas",
    /// LEDBAT (RFC 6817).
    Ledbat(ledbat::Config) = "ledbat",
    /// BBR, version 3 (draft-ietf-ccwg-bbr), experimental.
    Bbr(bbr::Config) = "bbr",
    /// Westwood+ (Mascolo et al. 2001–2004).
    Westwood(westwood::Config) = "westwood",
}

impl LawKind {
    /// A new law.
    pub fn build(&self) -> Box<dyn Law> {
        self.plan().build()
    }
}

/// How a window grows and shrinks: a law, and how slow start leads to it.
///
/// As text: `name[:key=value,…]`, where the keys are those of the law and of [`slow_start::Config`].
///
/// ```
/// use dccp_proto::cc::law::LawConfig;
/// let law: LawConfig = "scalable:lwnd=38".parse()?;
/// assert_eq!(law.to_string(), "scalable:lwnd=38");
/// # Ok::<(), dccp_proto::cc::law::settings::LawError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LawConfig {
    /// The law.
    pub kind: LawKind,
    /// Slow start before it.
    pub slow_start: slow_start::Config,
}

impl LawConfig {
    /// What CCID 2 is (4341-3.1-1).
    pub const RENO: Self = Self {
        kind: LawKind::Reno(reno::Config::WHOLE_PACKETS),
        slow_start: slow_start::Config::CCID_2,
    };

    /// Says which option is out of its range.
    ///
    /// # Errors
    /// The option, and what it may be.
    pub fn check(&self) -> Result<(), LawError> {
        let mut copy = *self;
        for (key, value) in self.options() {
            copy.set(key, &value)?;
        }
        Ok(())
    }

    fn keys(&self) -> Vec<&'static str> {
        [self.kind.plan().keys(), self.slow_start.keys()].concat()
    }

    /// All options as text.
    fn options(&self) -> Vec<(&'static str, String)> {
        let of_law = self.kind.plan();
        let of_law = of_law.keys().iter().map(|key| (*key, of_law.text(key)));
        let start = &self.slow_start;
        let of_start = start.keys().iter().map(|key| (*key, start.text(key)));
        of_law.chain(of_start).collect()
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), LawError> {
        let settings: &mut dyn Settings = if self.slow_start.keys().contains(&key) {
            &mut self.slow_start
        } else if self.kind.plan().keys().contains(&key) {
            self.kind.plan_mut()
        } else {
            let what = format!("option of {}", self.kind.name());
            return Err(LawError::unknown(&what, key, &self.keys()));
        };
        settings
            .set(key, value)
            .map_err(|allowed| LawError::not_allowed(key, value, &allowed))
    }
}

impl From<LawKind> for LawConfig {
    /// The law after the slow start that suits it: CCID 2's own for Reno, else one packet for each
    /// acknowledged one.
    fn from(kind: LawKind) -> Self {
        let pace = match kind {
            LawKind::Reno(_) => Pace::Ccid2,
            _ => Pace::Standard,
        };
        let slow_start = slow_start::Config {
            slow_start: pace,
            ..slow_start::Config::CCID_2
        };
        Self { kind, slow_start }
    }
}

impl Default for LawConfig {
    fn default() -> Self {
        Self::RENO
    }
}

impl FromStr for LawConfig {
    type Err = LawError;

    fn from_str(text: &str) -> Result<Self, LawError> {
        let (name, options) = text.split_once(':').unwrap_or((text, ""));
        let kind =
            LawKind::named(name).ok_or_else(|| LawError::unknown("law", name, LawKind::NAMES))?;
        let mut config = Self::from(kind);
        for (key, value) in split_options(options)? {
            config.set(key, value)?;
        }
        Ok(config)
    }
}

impl fmt::Display for LawConfig {
    /// The name, and the options that are not as the law has them by default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.kind.name();
        f.write_str(name)?;
        let usual = LawKind::named(name).map_or(Self::RENO, Self::from);
        let mut mark = ':';
        for ((key, value), (_, default)) in self.options().into_iter().zip(usual.options()) {
            if value != default {
                write!(f, "{mark}{key}={value}")?;
                mark = ',';
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Wants;
    use super::*;

    fn read(text: &str) -> LawConfig {
        text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    #[test]
    fn every_law_is_read_by_its_name_and_says_it() {
        for name in LawKind::NAMES {
            let config = read(name);
            assert_eq!(config.to_string(), *name);
            assert_eq!(config.kind.build().name(), *name);
            assert_eq!(config.check(), Ok(()));
        }
        assert_eq!(read("reno"), LawConfig::default());
    }

    #[test]
    fn a_law_that_looks_at_rates_or_one_way_delays_says_so() {
        let wanting = |wants: fn(Wants) -> bool| {
            let names = LawKind::NAMES.iter().copied();
            names.filter(move |name| wants(read(name).kind.build().wants()))
        };
        assert!(wanting(|wants| wants.delivered_rate).eq(["bbr"]));
        assert!(wanting(|wants| wants.one_way).eq(["tcp-lp", "hstcp-lp", "ledbat"]));
    }

    #[test]
    fn options_are_read_and_written_back() {
        for text in [
            "highspeed:table=kernel,count=acks",
            "reno:fractional=yes,flows=16,slow_start=standard",
            "scalable:lwnd=38,max_ssthresh=100",
            "cubic:hystart=yes",
        ] {
            assert_eq!(read(text).to_string(), text);
        }
        assert_eq!(read("highspeed:table=formula").to_string(), "highspeed");
        assert_eq!(read("highspeed:").to_string(), "highspeed");
    }

    #[test]
    fn mistakes_name_what_is_near() {
        for (text, error) in [
            (
                "highsped",
                "highsped: there is no such law; did you mean highspeed?",
            ),
            (
                "highspeed:tabel=kernel",
                "tabel: there is no such option of highspeed; did you mean table?",
            ),
            (
                "highspeed:table=linux",
                "table=linux: not allowed; write rfc or kernel or formula or exact",
            ),
            (
                "reno:fractional",
                "fractional: an option has a value; write fractional=VALUE",
            ),
            (
                "bic:mode=linux,mode=paper",
                "mode is given twice, as linux and as paper; write it once: mode=paper",
            ),
            (
                "reno:flows=0",
                "flows=0: not allowed; write a whole number from 1 to 1024",
            ),
        ] {
            let found = text.parse::<LawConfig>().unwrap_err().to_string();
            assert_eq!(found, error);
        }
        let far = "quic".parse::<LawConfig>().unwrap_err();
        assert_eq!(
            far.next,
            format!("choose one of {}", LawKind::NAMES.join(", "))
        );
    }

    #[test]
    fn values_that_no_text_can_give_are_refused_too() {
        let kind = LawKind::Reno(reno::Config {
            flows: 0,
            ..reno::Config::default()
        });
        let error = LawConfig::from(kind).check().unwrap_err();
        assert_eq!(error.problem, "flows=0: not allowed");
    }
}
