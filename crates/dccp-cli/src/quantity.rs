//! Parses quantities on command lines and in scenario files: `50M`, `20ms`, `64KiB`, `1%`. All programs of the
//! project use the same rules:
//!
//! | what | examples | rule |
//! |---|---|---|
//! | rate | `50M`, `1.5G`, `9600`, `100Mbit/s`, `1Gbit`, `150kB/s` | bits per second, bytes with `B/s`; factors are decimal |
//! | size | `1400`, `1400B`, `64KiB`, `64KB`, `64K` | bytes; a bare `K`, `M`, `G` is 1024-based as in iperf3 |
//! | packets | `100p`, `100` | a whole number |
//! | time | `20ms`, `1.5s`, `2m`, `20min`, `1h` | needs a unit, unless the caller names one for bare numbers |
//! | share | `1%`, `0.01` | 0 to 1 |
//!
//! [`show`] formats them. Numbers are decimal, may have a fraction, and have no sign. Any other text is an error that
//! says how to write the quantity.

pub mod show;

use core::fmt;
use core::time::Duration;

/// The reason why a text is not a quantity. `Display` states the problem, and
/// [`next_step`](Self::next_step) says how to write it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuantityError {
    problem: String,
    next_step: &'static str,
}

impl QuantityError {
    fn new(problem: impl Into<String>, kind: &Kind) -> Self {
        Self {
            problem: problem.into(),
            next_step: kind.next_step,
        }
    }

    /// Returns a hint that says how to write the quantity.
    pub const fn next_step(&self) -> &'static str {
        self.next_step
    }
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl std::error::Error for QuantityError {}

/// A kind of quantity and its units with their factors.
struct Kind {
    name: &'static str,
    next_step: &'static str,
    units: &'static [(&'static str, f64)],
}

const RATE: Kind = Kind {
    name: "rate",
    next_step: "write bits per second: 9600, 50M or 1.5G",
    units: &[
        ("", 1.0),
        ("K", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("T", 1e12),
        ("bit/s", 1.0),
        ("Kbit/s", 1e3),
        ("Mbit/s", 1e6),
        ("Gbit/s", 1e9),
        ("Tbit/s", 1e12),
        ("kbit/s", 1e3),
        ("bit", 1.0),
        ("kbit", 1e3),
        ("Kbit", 1e3),
        ("Mbit", 1e6),
        ("Gbit", 1e9),
        ("Tbit", 1e12),
        ("B/s", 8.0),
        ("kB/s", 8e3),
        ("KB/s", 8e3),
        ("MB/s", 8e6),
        ("GB/s", 8e9),
    ],
};

const KIB: f64 = 1024.0;

const SIZE: Kind = Kind {
    name: "size",
    next_step: "write bytes: 1400, 64KiB (65536) or 64KB (64000)",
    units: &[
        ("", 1.0),
        ("B", 1.0),
        ("K", KIB),
        ("M", KIB * KIB),
        ("G", KIB * KIB * KIB),
        ("KiB", KIB),
        ("MiB", KIB * KIB),
        ("GiB", KIB * KIB * KIB),
        ("KB", 1e3),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
    ],
};

const TIME_UNITS: &[(&str, f64)] = &[
    ("ns", 1e-9),
    ("us", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("min", 60.0),
    ("h", 3600.0),
];

const TIME: Kind = Kind {
    name: "time",
    next_step: "write 5s, 20ms, 40us, 5m or 1h",
    units: TIME_UNITS,
};

const SECONDS: Kind = Kind {
    name: "time",
    next_step: "write 5s, 5m or 5 (seconds)",
    units: TIME_UNITS,
};

const PACKETS: Kind = Kind {
    name: "number of packets",
    next_step: "write 100p",
    units: &[("p", 1.0), ("", 1.0)],
};

const SHARE: Kind = Kind {
    name: "share",
    next_step: "write 1% or 0.01",
    units: &[("", 1.0), ("%", 0.01)],
};

/// Parses a rate in bits per second, at least 1.
///
/// # Errors
/// The text is not a rate, or the rate is 10^18 bit/s or more.
pub fn rate_bits_per_s(text: &str) -> Result<u64, QuantityError> {
    let rate = whole(positive(text, &RATE)?, text, &RATE)?;
    if rate == 0 {
        // Rounded, it would stand for no limit.
        return Err(QuantityError::new(
            format!("'{text}' is less than 1 bit/s"),
            &RATE,
        ));
    }
    Ok(rate)
}

/// Parses a size in bytes; 0 is valid.
///
/// # Errors
/// The text is not a size, not a whole number of bytes, or 10^18 bytes or more.
pub fn size_bytes(text: &str) -> Result<u64, QuantityError> {
    let bytes = number(text, &SIZE)?;
    if bytes.fract() != 0.0 {
        return Err(QuantityError::new(
            format!("'{text}' is no whole number of bytes"),
            &SIZE,
        ));
    }
    whole(bytes, text, &SIZE)
}

/// Parses a number of packets; 0 is valid.
///
/// # Errors
/// The text is not a whole number, or it is 10^18 or more.
pub fn packets(text: &str) -> Result<u64, QuantityError> {
    let packets = number(text, &PACKETS)?;
    if packets.fract() != 0.0 {
        return Err(QuantityError::new(
            format!("'{text}' is no whole number of packets"),
            &PACKETS,
        ));
    }
    whole(packets, text, &PACKETS)
}

/// Parses a time with a unit; `0s` is valid.
///
/// # Errors
/// The text is not a time, or the time is more than a century.
pub fn time(text: &str) -> Result<Duration, QuantityError> {
    duration(text, &TIME)
}

/// Parses a time. A bare number is in seconds, as in iperf3.
///
/// # Errors
/// The same as [`time`].
pub fn time_or_seconds(text: &str) -> Result<Duration, QuantityError> {
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return duration(&format!("{text}s"), &SECONDS);
    }
    duration(text, &SECONDS)
}

/// Parses a share, 0 to 1.
///
/// # Errors
/// The text is not a share, or the share is more than 1.
pub fn share(text: &str) -> Result<f64, QuantityError> {
    let value = number(text, &SHARE)?;
    if value > 1.0 {
        return Err(QuantityError::new(
            format!("'{text}' is more than the whole"),
            &SHARE,
        ));
    }
    Ok(value)
}

fn duration(text: &str, kind: &Kind) -> Result<Duration, QuantityError> {
    const CENTURY_S: f64 = 3.2e9;
    let s = number(text, kind)?;
    if s > CENTURY_S {
        return Err(too_large(text, kind));
    }
    // Rounds to whole nanoseconds, which removes the error of the binary fraction.
    let ns = (s * 1e9).round();
    Ok(Duration::from_nanos(whole_number(ns)))
}

fn positive(text: &str, kind: &Kind) -> Result<f64, QuantityError> {
    let value = number(text, kind)?;
    if value > 0.0 {
        Ok(value)
    } else {
        Err(QuantityError::new("must be greater than 0", kind))
    }
}

fn whole(value: f64, text: &str, kind: &Kind) -> Result<u64, QuantityError> {
    const LIMIT: f64 = 1e18;
    if value >= LIMIT {
        return Err(too_large(text, kind));
    }
    Ok(whole_number(value.round()))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "callers give whole numbers from 0 to far below 2^64"
)]
fn whole_number(value: f64) -> u64 {
    value as u64
}

fn too_large(text: &str, kind: &Kind) -> QuantityError {
    QuantityError::new(format!("'{text}' is too large for a {}", kind.name), kind)
}

/// Returns the number times the factor of its unit.
fn number(text: &str, kind: &Kind) -> Result<f64, QuantityError> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (figure, unit) = text.split_at(digits);
    let figure: f64 = figure
        .parse()
        .map_err(|_| QuantityError::new(format!("'{text}' is not a {}", kind.name), kind))?;
    let unit = unit.trim_start();
    if let Some((_, factor)) = kind.units.iter().find(|(name, _)| *name == unit) {
        return Ok(figure * factor);
    }
    let problem = if unit.is_empty() {
        format!("'{text}' needs a unit of {}", kind.name)
    } else {
        format!("'{unit}' is not a unit of {}", kind.name)
    };
    Err(QuantityError::new(problem, kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_decimal_bits_per_second() {
        for (text, bits) in [
            ("9600", 9_600),
            ("50M", 50_000_000),
            ("1.5G", 1_500_000_000),
            ("100Mbit/s", 100_000_000),
            ("100 Mbit/s", 100_000_000),
            ("2K", 2_000),
            ("450Mbit", 450_000_000),
            ("2.39Gbit", 2_390_000_000),
            ("400kbit", 400_000),
            ("150kB/s", 1_200_000),
            ("1MB/s", 8_000_000),
            ("100B/s", 800),
        ] {
            assert_eq!(rate_bits_per_s(text), Ok(bits), "{text}");
        }
    }

    #[test]
    fn a_bare_k_of_a_size_is_1024() {
        for (text, bytes) in [
            ("0", 0),
            ("1400", 1400),
            ("1400B", 1400),
            ("64K", 65_536),
            ("64KiB", 65_536),
            ("64KB", 64_000),
            ("1.5K", 1536),
            ("2MiB", 2_097_152),
            ("1GB", 1_000_000_000),
            ("10kB", 10_000),
        ] {
            assert_eq!(size_bytes(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn packets_are_whole() {
        for (text, n) in [("0p", 0), ("100p", 100), ("7", 7)] {
            assert_eq!(packets(text), Ok(n), "{text}");
        }
        assert_eq!(
            packets("1.5p").unwrap_err().to_string(),
            "'1.5p' is no whole number of packets"
        );
        assert_eq!(
            packets("1B").unwrap_err().to_string(),
            "'B' is not a unit of number of packets"
        );
    }

    #[test]
    fn times_are_exact_to_the_nanosecond() {
        for (text, ns) in [
            ("5s", 5_000_000_000),
            ("20ms", 20_000_000),
            ("0.1ms", 100_000),
            ("1.5us", 1_500),
            ("3ns", 3),
            ("0s", 0),
            ("2m", 120_000_000_000),
            ("20min", 1_200_000_000_000),
            ("1h", 3_600_000_000_000),
        ] {
            assert_eq!(time(text), Ok(Duration::from_nanos(ns)), "{text}");
        }
        assert_eq!(time_or_seconds("5"), Ok(Duration::from_secs(5)));
        assert_eq!(time_or_seconds("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(time_or_seconds("5m"), Ok(Duration::from_mins(5)));
    }

    #[test]
    fn shares_are_from_0_to_1() {
        assert_eq!(share("1%"), Ok(0.01));
        assert_eq!(share("0.25"), Ok(0.25));
        assert_eq!(share("100%"), Ok(1.0));
        assert_eq!(
            share("101%").unwrap_err().to_string(),
            "'101%' is more than the whole"
        );
    }

    #[test]
    fn errors_state_the_problem_and_the_next_step() {
        for (error, what, how) in [
            (
                time_or_seconds("5x").unwrap_err(),
                "'x' is not a unit of time",
                "write 5s, 5m or 5 (seconds)",
            ),
            (
                time("5").unwrap_err(),
                "'5' needs a unit of time",
                "write 5s, 20ms, 40us, 5m or 1h",
            ),
            (
                rate_bits_per_s("10X").unwrap_err(),
                "'X' is not a unit of rate",
                "write bits per second: 9600, 50M or 1.5G",
            ),
            (
                rate_bits_per_s("0").unwrap_err(),
                "must be greater than 0",
                "write bits per second: 9600, 50M or 1.5G",
            ),
            (
                rate_bits_per_s("0.4").unwrap_err(),
                "'0.4' is less than 1 bit/s",
                "write bits per second: 9600, 50M or 1.5G",
            ),
            (
                size_bytes("abc").unwrap_err(),
                "'abc' is not a size",
                "write bytes: 1400, 64KiB (65536) or 64KB (64000)",
            ),
            (
                size_bytes("1.5").unwrap_err(),
                "'1.5' is no whole number of bytes",
                "write bytes: 1400, 64KiB (65536) or 64KB (64000)",
            ),
        ] {
            assert_eq!((error.to_string().as_str(), error.next_step()), (what, how));
        }
    }

    #[test]
    fn signs_exponents_and_long_texts_are_rejected() {
        for text in ["", "-5s", "+5s", "5e3s", "1..2s", "infs", "nans", "."] {
            assert!(time(text).is_err(), "{text}");
        }
        assert!(time("99999999h").is_err());
        assert!(rate_bits_per_s("9999999T").is_err());
        assert!(size_bytes("99999999999999999999").is_err());
    }

    #[test]
    fn the_bounds_are_exact() {
        assert_eq!(time("3200000000s"), Ok(Duration::from_secs(3_200_000_000)));
        assert!(time("3200000001s").is_err());
        assert!(rate_bits_per_s("1000000T").is_err());
        assert_eq!(rate_bits_per_s("999999T"), Ok(999_999_000_000_000_000));
    }
}
