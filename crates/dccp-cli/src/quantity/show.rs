//! Formats numbers with their units for people: decimal factors, three digits.

use dccp_proto::number::to_f64;

/// Formats a rate: `95.2 Mbit/s`.
pub fn rate(bits_per_s: f64) -> String {
    scaled(bits_per_s, "bit/s")
}

/// Formats a size: `12.0 MB`.
pub fn bytes(n: u64) -> String {
    scaled(to_f64(n), "B")
}

/// Formats nanoseconds as milliseconds: `20.4`.
pub fn millis(ns: u64) -> String {
    let ms = to_f64(ns) / 1e6;
    if ms < 1.0 {
        format!("{ms:.3}")
    } else {
        format!("{ms:.1}")
    }
}

/// Formats nanoseconds as microseconds: `0.9`.
pub fn micros(ns: u64) -> String {
    format!("{:.1}", to_f64(ns) / 1e3)
}

/// Formats a share: `60 %`.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Formats a share of packets: `0.05 %`.
pub fn loss(lost: u64, of: u64) -> String {
    if of == 0 {
        return "-".into();
    }
    format!("{:.2} %", to_f64(lost) * 100.0 / to_f64(of))
}

/// Formats nanoseconds as seconds, without trailing zeros: `1`, `0.5`, `12.34`.
pub fn seconds(ns: u64) -> String {
    let text = format!("{:.2}", to_f64(ns) / 1e9);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn scaled(value: f64, unit: &str) -> String {
    const STEPS: [(f64, &str); 4] = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    // A value that would be printed as 1000 uses the next unit.
    for (factor, prefix) in STEPS {
        if value >= factor * 0.9995 {
            return format!("{} {prefix}{unit}", three_digits(value / factor));
        }
    }
    format!("{value:.0} {unit}")
}

fn three_digits(value: f64) -> String {
    if value < 9.995 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_decimal_factor() {
        for (value, text) in [
            (0.0, "0 bit/s"),
            (999.0, "999 bit/s"),
            (1000.0, "1.00 kbit/s"),
            (95_200_112.0, "95.2 Mbit/s"),
            (999_400.0, "999 kbit/s"),
            (999_600.0, "1.00 Mbit/s"),
            (2.5e9, "2.50 Gbit/s"),
            (1.234e12, "1.23 Tbit/s"),
        ] {
            assert_eq!(rate(value), text);
        }
        assert_eq!(bytes(12_000_000), "12.0 MB");
    }

    #[test]
    fn times_and_shares() {
        assert_eq!(millis(20_400_000), "20.4");
        assert_eq!(millis(45_600), "0.046");
        assert_eq!(seconds(1_000_064_212), "1");
        assert_eq!(seconds(500_000_000), "0.5");
        assert_eq!(seconds(10_000_000_000), "10");
        assert_eq!(loss(21, 42164), "0.05 %");
        assert_eq!(loss(0, 0), "-");
        assert_eq!(percent(0.6), "60 %");
    }
}
