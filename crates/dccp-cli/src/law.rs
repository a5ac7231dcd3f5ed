//! Laws as text: `name[:key=value,…]`, the same on command lines and in scenario files.
//!
//! ```
//! use dccp_cli::law;
//! let law = law::parse("scalable:lwnd=38")?;
//! assert_eq!(law.config.name(), "scalable");
//! assert_eq!(law.to_string(), "scalable:lwnd=38");
//! # Ok::<(), dccp_cli::law::LawError>(())
//! ```

use core::fmt;
use core::str::FromStr;
use dccp_proto::cc::law::{
    LawConfig, SettingError, bbr, bic, cubic, fast, highspeed, htcp, ledbat, lp, reno, scalable,
    udt, vegas, westwood,
};
use dccp_proto::cc::slow_start::{self, Pace};
use std::collections::BTreeMap;

/// A law and its text: the name, and the options that differ from the law's defaults.
#[derive(Clone, PartialEq, Debug)]
pub struct NamedLaw {
    /// The law.
    pub config: LawConfig,
    text: String,
}

impl Default for NamedLaw {
    /// Returns CCID 2's Reno.
    fn default() -> Self {
        Self {
            config: LawConfig::default(),
            text: "reno".into(),
        }
    }
}

impl fmt::Display for NamedLaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The reason why a text is not a law.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LawError {
    /// The problem.
    pub problem: String,
    /// A hint that says how to write it.
    pub next: String,
}

impl fmt::Display for LawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.problem, self.next)
    }
}

impl core::error::Error for LawError {}

impl LawError {
    fn unknown(what: &str, word: &str, known: &[&str]) -> Self {
        let next = match nearest(word, known) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("choose one of {}", known.join(", ")),
        };
        Self {
            problem: format!("{word}: there is no such {what}"),
            next,
        }
    }

    fn not_allowed(key: &str, value: &str, allowed: &str) -> Self {
        Self {
            problem: format!("{key}={value}: not allowed"),
            next: format!("write {allowed}"),
        }
    }
}

impl From<SettingError> for LawError {
    fn from(e: SettingError) -> Self {
        let allowed = format!("a number from {} to {}", e.least, e.most);
        Self::not_allowed(e.setting, &e.value.to_string(), &allowed)
    }
}

/// Reads the options of one law.
type Read = fn(&mut Options<'_>) -> Result<LawConfig, LawError>;

/// The laws that have options of their own.
const LAWS: &[(&str, Read)] = &[
    ("reno", |o| reno(o, reno::Config::default())),
    ("highspeed", |_| Ok(highspeed::Config.into())),
    ("scalable", |o| {
        let mut law = scalable::Config::default();
        o.value("lwnd", &mut law.lwnd)?;
        Ok(law.into())
    }),
    ("bic", |o| {
        let mut law = bic::Config::default();
        o.value("low_window", &mut law.low_window)?;
        o.yes_no("fast_convergence", &mut law.fast_convergence)?;
        Ok(law.into())
    }),
    ("cubic", |o| {
        let mut law = cubic::Config::default();
        o.yes_no("fast_convergence", &mut law.fast_convergence)?;
        o.yes_no("reno_friendly", &mut law.reno_friendly)?;
        o.value("beta", &mut law.beta)?;
        o.value("ecn_beta", &mut law.ecn_beta)?;
        Ok(law.into())
    }),
    ("htcp", |o| {
        let mut law = htcp::Config::default();
        o.yes_no("adaptive_backoff", &mut law.adaptive_backoff)?;
        o.yes_no("rtt_scaling", &mut law.rtt_scaling)?;
        o.yes_no("rate_test", &mut law.rate_test)?;
        o.yes_no("floor", &mut law.floor)?;
        Ok(law.into())
    }),
    ("fast", |o| {
        let mut law = fast::Config::default();
        o.value("alpha", &mut law.alpha)?;
        o.value("dead_band", &mut law.dead_band)?;
        o.value("gamma", &mut law.gamma)?;
        o.value("mi_threshold_ms", &mut law.mi_threshold_ms)?;
        o.value("loss_keep", &mut law.loss_keep)?;
        Ok(law.into())
    }),
    ("tcp-lp", |o| Ok(lp(o)?.into())),
    ("hstcp-lp", |o| Ok(lp::HighSpeedConfig(lp(o)?).into())),
    ("vegas", |o| {
        let mut law = vegas::Config::default();
        o.value("alpha", &mut law.alpha)?;
        o.value("beta", &mut law.beta)?;
        o.value("gamma", &mut law.gamma)?;
        Ok(law.into())
    }),
    ("ledbat", |o| {
        let mut law = ledbat::Config::default();
        o.value("target_ms", &mut law.target_ms)?;
        o.value("gain", &mut law.gain)?;
        Ok(law.into())
    }),
    ("bbr", |o| {
        let mut law = bbr::Config::default();
        o.value("loss_threshold", &mut law.loss_threshold)?;
        o.value("beta", &mut law.beta)?;
        o.value("headroom", &mut law.headroom)?;
        Ok(law.into())
    }),
    ("westwood", |_| Ok(westwood::Config.into())),
    ("udt", |o| {
        let mut law = udt::Config::default();
        o.value("memory_s", &mut law.memory_s)?;
        Ok(law.into())
    }),
];

fn reno(o: &mut Options<'_>, mut law: reno::Config) -> Result<LawConfig, LawError> {
    o.yes_no("fractional", &mut law.fractional)?;
    o.value("flows", &mut law.flows)?;
    o.value("ecn_beta", &mut law.ecn_beta)?;
    Ok(law.into())
}

fn lp(o: &mut Options<'_>) -> Result<lp::Config, LawError> {
    let mut law = lp::Config::default();
    o.value("threshold", &mut law.threshold)?;
    o.value("inference", &mut law.inference)?;
    o.value("memory_s", &mut law.memory_s)?;
    o.word(
        "signal",
        &[("one_way", true), ("rtt", false)],
        &mut law.one_way,
    )?;
    Ok(law)
}

/// Returns the names of all laws: ours, then those of other programs.
pub fn names() -> impl Iterator<Item = &'static str> {
    let ours = LAWS.iter().map(|(name, _)| *name);
    ours.chain(dccp_historic::law_names())
}

/// Parses a law for CCID 2.
///
/// # Errors
/// Returns the unknown name, option or value, and a hint that says how to write it.
pub fn parse(text: &str) -> Result<NamedLaw, LawError> {
    Laws::default().parse(text)
}

/// Parses a law for the simulator's TCP. Its own Reno has the standard slow start and counts fractions of packets.
///
/// # Errors
/// As [`parse`].
pub fn parse_for_tcp(text: &str) -> Result<NamedLaw, LawError> {
    Laws::default().parse_for_tcp(text)
}

/// Laws by name: those of this module, and others that a program adds.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Laws {
    added: BTreeMap<String, LawConfig>,
}

impl Laws {
    /// Adds a law under its name. It has no options but those of slow start.
    ///
    /// # Errors
    /// The name is taken, or has other signs than letters, digits, `-` and `_`.
    pub fn add(&mut self, law: LawConfig) -> Result<(), LawError> {
        let name = law.name();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(LawError {
                problem: format!("{name}: this cannot be the name of a law"),
                next: "use letters, digits, '-' and '_'".into(),
            });
        }
        if names().any(|known| known == name) || self.added.contains_key(name) {
            return Err(LawError {
                problem: format!("{name}: there is a law with this name"),
                next: "give yours another name".into(),
            });
        }
        self.added.insert(name.to_owned(), law);
        Ok(())
    }

    /// Parses a law for CCID 2.
    ///
    /// # Errors
    /// As [`parse`].
    pub fn parse(&self, text: &str) -> Result<NamedLaw, LawError> {
        self.read(text, built_in)
    }

    /// Parses a law for the simulator's TCP.
    ///
    /// # Errors
    /// As [`parse`].
    pub fn parse_for_tcp(&self, text: &str) -> Result<NamedLaw, LawError> {
        self.read(text, |name| {
            let is_reno = name == "reno";
            if is_reno {
                Some(reno_of_tcp)
            } else {
                built_in(name)
            }
        })
    }

    fn read(&self, text: &str, find: impl Fn(&str) -> Option<Read>) -> Result<NamedLaw, LawError> {
        let (name, options) = text.split_once(':').unwrap_or((text, ""));
        let mut options = Options::new(name, options)?;
        let mut config = match find(name) {
            Some(read) => read(&mut options)?,
            None => self.other(name).ok_or_else(|| {
                let mut known: Vec<&str> = names().collect();
                known.extend(self.added.keys().map(String::as_str));
                LawError::unknown("law", name, &known)
            })?,
        };
        slow_start(&mut options, &mut config.slow_start)?;
        let text = options.finish()?;
        config.check()?;
        Ok(NamedLaw { config, text })
    }

    /// A law that was added, or one of another program.
    fn other(&self, name: &str) -> Option<LawConfig> {
        let added = self.added.get(name).cloned();
        added.or_else(|| dccp_historic::law(name))
    }
}

fn built_in(name: &str) -> Option<Read> {
    let found = LAWS.iter().find(|(known, _)| *known == name);
    found.map(|(_, read)| *read)
}

fn reno_of_tcp(o: &mut Options<'_>) -> Result<LawConfig, LawError> {
    let default = reno::Config {
        fractional: true,
        ..reno::Config::default()
    };
    let mut law = reno(o, default)?;
    law.slow_start.pace = Pace::Standard;
    Ok(law)
}

/// The options of every law.
fn slow_start(o: &mut Options<'_>, config: &mut slow_start::Config) -> Result<(), LawError> {
    let paces = [("ccid2", Pace::Ccid2), ("standard", Pace::Standard)];
    o.word("slow_start", &paces, &mut config.pace)?;
    o.value("max_ssthresh", &mut config.max_ssthresh)?;
    o.yes_no("hystart", &mut config.hystart)?;
    o.value("initial_ssthresh", &mut config.initial_ssthresh)
}

/// The options in a text, and the options of a law.
struct Options<'a> {
    law: &'a str,
    written: Vec<(&'a str, &'a str)>,
    known: Vec<&'static str>,
    /// The law's text so far.
    text: String,
}

impl<'a> Options<'a> {
    /// Splits `key=value,…` into its parts. A repeated key is an error.
    fn new(law: &'a str, text: &'a str) -> Result<Self, LawError> {
        let mut written: Vec<(&str, &str)> = Vec::new();
        for option in text.split(',').filter(|o| !o.is_empty()) {
            let (key, value) = option.split_once('=').ok_or_else(|| LawError {
                problem: format!("{option}: an option has a value"),
                next: format!("write {option}=VALUE"),
            })?;
            if let Some((_, first)) = written.iter().find(|(known, _)| *known == key) {
                return Err(LawError {
                    problem: format!("{key} is given twice, as {first} and as {value}"),
                    next: format!("write it once: {key}={value}"),
                });
            }
            written.push((key, value));
        }
        Ok(Self {
            law,
            written,
            known: Vec::new(),
            text: law.to_owned(),
        })
    }

    /// Removes an option of the law and returns its value.
    fn take(&mut self, key: &'static str) -> Option<&'a str> {
        self.known.push(key);
        let place = self.written.iter().position(|(k, _)| *k == key)?;
        Some(self.written.remove(place).1)
    }

    /// Sets an option from text. Stores the text if the value differs from the default.
    fn set<T: PartialEq>(
        &mut self,
        key: &'static str,
        to: &mut T,
        read: impl Fn(&str) -> Option<T>,
        allowed: &str,
    ) -> Result<(), LawError> {
        let Some(text) = self.take(key) else {
            return Ok(());
        };
        let value = read(text).ok_or_else(|| LawError::not_allowed(key, text, allowed))?;
        if value != *to {
            let mark = if self.text.contains(':') { "," } else { ":" };
            self.text.extend([mark, key, "=", text]);
            *to = value;
        }
        Ok(())
    }

    /// Parses a number. The law checks its range.
    fn value<T: FromStr + PartialEq>(
        &mut self,
        key: &'static str,
        to: &mut T,
    ) -> Result<(), LawError> {
        self.set(key, to, |text| text.parse().ok(), "a number")
    }

    fn yes_no(&mut self, key: &'static str, to: &mut bool) -> Result<(), LawError> {
        self.word(key, &[("yes", true), ("no", false)], to)
    }

    fn word<T: Copy + PartialEq>(
        &mut self,
        key: &'static str,
        words: &[(&str, T)],
        to: &mut T,
    ) -> Result<(), LawError> {
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let read = |text: &str| words.iter().find(|(word, _)| *word == text).map(|w| w.1);
        self.set(key, to, read, &names.join(" or "))
    }

    /// Returns the law's text, or an error for an option that the law does not have.
    fn finish(self) -> Result<String, LawError> {
        match self.written.first() {
            None => Ok(self.text),
            Some((key, _)) => {
                let what = format!("option of {}", self.law);
                Err(LawError::unknown(&what, key, &self.known))
            }
        }
    }
}

/// Returns the known word with the fewest letters to change, if these are at most about a third of its letters.
fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let limit = (word.len() + 1) / 3;
    let near = known
        .iter()
        .map(|k| (strsim::levenshtein(word, k), *k))
        .min()?;
    (near.0 <= limit).then_some(near.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> NamedLaw {
        parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    #[test]
    fn every_law_is_read_by_its_name_and_reports_it() {
        for name in names() {
            let law = read(name);
            assert_eq!(law.to_string(), name);
            assert_eq!(law.config.name(), name);
            assert_eq!(law.config.build().name(), name);
            assert_eq!(parse_for_tcp(name).unwrap().to_string(), name);
        }
        let core: Vec<_> = dccp_proto::cc::law::all().collect();
        assert_eq!(core.len(), LAWS.len());
        for law in core {
            assert_eq!(read(law.name()).config, law);
        }
        assert_eq!(read("reno"), NamedLaw::default());
    }

    #[test]
    fn options_are_read_and_written_back() {
        for text in [
            "reno:fractional=yes,flows=16,slow_start=standard",
            "scalable:lwnd=38,max_ssthresh=100",
            "cubic:fast_convergence=no,hystart=yes",
            "bic-linux:initial_ssthresh=150",
            "hstcp-lp:signal=rtt",
        ] {
            assert_eq!(read(text).to_string(), text);
        }
        assert_eq!(read("cubic:beta=0.7").to_string(), "cubic");
        assert_eq!(read("highspeed:").to_string(), "highspeed");
        assert_ne!(read("fast:alpha=20").config, read("fast").config);
    }

    #[test]
    fn reno_of_tcp_has_the_standard_slow_start() {
        let tcp = parse_for_tcp("reno").unwrap();
        let same = "reno:fractional=yes,slow_start=standard";
        assert_eq!(tcp.config, read(same).config);
        assert_eq!(parse_for_tcp("cubic").unwrap(), read("cubic"));
    }

    #[test]
    fn added_law_is_read_by_its_name_with_options_of_slow_start() {
        let mut laws = Laws::default();
        let mine = || Mine { name: "mine" }.into();
        assert_eq!(laws.add(mine()), Ok(()));
        assert_eq!(laws.parse("mine").unwrap().config, mine());
        let slow = laws.parse_for_tcp("mine:hystart=yes").unwrap();
        assert!(slow.config.slow_start.hystart);
        assert_eq!(slow.to_string(), "mine:hystart=yes");
        let near = laws.parse("mina").unwrap_err();
        assert_eq!(near.next, "did you mean mine?");
        assert!(parse("mine").is_err(), "only there");
        for (name, next) in [
            ("mine", "give yours another name"),
            ("reno", "give yours another name"),
            ("m:n", "use letters, digits, '-' and '_'"),
        ] {
            assert_eq!(laws.add(Mine { name }.into()).unwrap_err().next, next);
        }
    }

    /// Reno under another name.
    #[derive(Debug)]
    struct Mine {
        name: &'static str,
    }

    impl dccp_proto::cc::law::LawSettings for Mine {
        fn name(&self) -> &'static str {
            self.name
        }

        fn build(&self) -> Box<dyn dccp_proto::cc::law::Law> {
            LawConfig::default().build()
        }
    }

    #[test]
    fn mistakes_suggest_the_nearest_word() {
        for (text, error) in [
            (
                "highsped",
                "highsped: there is no such law; did you mean highspeed?",
            ),
            (
                "fast:gama=0.5",
                "gama: there is no such option of fast; did you mean gamma?",
            ),
            (
                "cubic:hystart=on",
                "hystart=on: not allowed; write yes or no",
            ),
            (
                "reno:fractional",
                "fractional: an option has a value; write fractional=VALUE",
            ),
            (
                "bic:low_window=3,low_window=4",
                "low_window is given twice, as 3 and as 4; write it once: low_window=4",
            ),
            (
                "reno:flows=0",
                "flows=0: not allowed; write a number from 1 to 1024",
            ),
            ("fast:gamma=fast", "gamma=fast: not allowed; write a number"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), error);
        }
        let far = parse("quic").unwrap_err();
        assert!(
            far.next.starts_with("choose one of reno, highspeed"),
            "{far}"
        );
    }
}
