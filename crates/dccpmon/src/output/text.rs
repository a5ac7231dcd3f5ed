//! Texts of figures, shared by the tables.

use dccp::proto::number::to_f64;
use dccp_cli::quantity::show as units;
use dccp_stats::Spread;

/// The width of a terminal that every line fits into.
pub(crate) const WIDTH: usize = 80;
/// The width of the names before the lines of a summary.
const LABEL: usize = 14;

/// Milliseconds without their unit, in at most 6 characters up to 1,000 s: `20.4`.
pub(crate) fn millis(ns: Option<u64>) -> String {
    match ns {
        None => "-".into(),
        Some(ns) if ns >= 1_000_000_000 => format!("{:.0}", to_f64(ns) / 1e6),
        Some(ns) => units::millis(ns),
    }
}

/// A rate, or a dash: `95.2 Mbit/s`.
pub(crate) fn rate(bits_per_s: Option<f64>) -> String {
    bits_per_s.map_or("-".into(), units::rate)
}

/// A rate in at most 8 characters: `95.2Mb/s`.
pub(crate) fn short_rate(bits_per_s: f64) -> String {
    units::rate(bits_per_s).replace(' ', "").replace("bit", "b")
}

/// A distribution of times: `min 20.1  p50 27.3  p99 42.9  max 44.0 ms`. Percentiles without enough samples are dashes.
pub(crate) fn spread(of: &Spread) -> String {
    format!(
        "min {}  p50 {}  p99 {}  max {} ms",
        millis(Some(of.min)),
        millis(of.p50),
        millis(of.p99),
        millis(Some(of.max))
    )
}

/// The asymmetry of two flows: `0.125`. A zero has no sign.
pub(crate) fn asymmetry(of: f64) -> String {
    let text = format!("{of:.3}");
    if text == "-0.000" {
        "0.000".into()
    } else {
        text
    }
}

/// A share with two digits behind the point: `0.05 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// The least and the greatest length that a length of a loss pattern stands for: from 64 packets on, those less than
/// 1/8 longer share its count.
pub(crate) fn length_class(length: u64) -> (u64, u64) {
    if length < 64 {
        return (length, length);
    }
    let width = 1 << (length.ilog2() - 3);
    (length, length.saturating_add(width - 1))
}

/// The same as text: `3`, or `960 to 1023`.
pub(crate) fn lengths(length: u64) -> String {
    match length_class(length) {
        (from, to) if from == to => from.to_string(),
        (from, to) => format!("{from} to {to}"),
    }
}

/// A text broken between words, with further lines moved to the right.
pub(crate) fn wrapped(text: &str, indent: usize) -> String {
    dccp_cli::wrapped(text, indent, WIDTH)
}

/// A help text, or a list of limits, with lines that fit into a terminal. Further lines stand below the description.
pub(crate) fn fitted(text: &str) -> String {
    let indent = |line: &str| {
        let words = line.trim_start();
        let gap = words.find("  ").unwrap_or(0);
        line.len() - words[gap..].trim_start().len()
    };
    text.lines()
        .map(|line| wrapped(line, indent(line)) + "\n")
        .collect()
}

/// The lines of a summary under one name. A line ends where the next part has no room.
pub(crate) fn paragraph(label: &str, parts: &[String]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = format!("{:<LABEL$}", format!(" {label}"));
    let mut is_empty = true;
    for word in parts.iter().flat_map(|part| pieces(part)) {
        let gap = if is_empty { "" } else { word.gap };
        if !is_empty && line.chars().count() + gap.len() + word.text.chars().count() > WIDTH {
            lines.push(line);
            line = " ".repeat(LABEL);
            line += word.text;
        } else {
            line += gap;
            line += word.text;
        }
        is_empty = false;
    }
    lines.push(line.trim_end().to_owned());
    lines
}

/// A text that stays on one line, and the gap before it.
struct Piece<'a> {
    gap: &'static str,
    text: &'a str,
}

/// The pieces of a part: all of it if it fits into a line, else its words.
fn pieces(part: &str) -> Vec<Piece<'_>> {
    let piece = |gap, text| Piece { gap, text };
    // A part in brackets belongs to the part before it.
    let first = if part.starts_with('(') { " " } else { "  " };
    if part.chars().count() <= WIDTH - LABEL {
        return vec![piece(first, part)];
    }
    let words = part.split(' ').enumerate();
    words
        .map(|(n, word)| piece(if n == 0 { first } else { " " }, word))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_at_most_six_characters() {
        let texts = [45_600, 20_400_000, 999_900_000, 100_000_000_000].map(|ns| millis(Some(ns)));
        assert_eq!(texts, ["0.046", "20.4", "999.9", "100000"]);
        assert_eq!(millis(None), "-");
    }

    #[test]
    fn asymmetry_of_zero_has_no_sign() {
        let texts = [-0.000_4, 0.0, -0.001, 0.125].map(asymmetry);
        assert_eq!(texts, ["0.000", "0.000", "-0.001", "0.125"]);
    }

    #[test]
    fn long_lengths_are_ranges() {
        let texts = [1, 63, 64, 72, 960, 1024].map(lengths);
        let wanted = [
            "1",
            "63",
            "64 to 71",
            "72 to 79",
            "960 to 1023",
            "1024 to 1151",
        ];
        assert_eq!(texts, wanted);
        assert_eq!(length_class(15 << 60), (15 << 60, u64::MAX));
    }

    #[test]
    fn paragraph_breaks_between_parts() {
        let part = |n: usize| format!("part {n} of thirty letters here");
        let lines = paragraph("where lost", &[part(1), part(2), part(3)]);
        assert_eq!(
            lines,
            [
                " where lost   part 1 of thirty letters here  part 2 of thirty letters here",
                "              part 3 of thirty letters here",
            ]
        );
    }

    #[test]
    fn long_plan_is_wrapped() {
        let plan = format!("plan  {}", "word ".repeat(40).trim_end());
        let text = wrapped(&plan, 6);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines.len() == 3 && lines.iter().all(|line| line.len() <= WIDTH),
            "{text}"
        );
        assert!(lines[1].starts_with("      word") && !lines[0].ends_with(' '));
        assert_eq!(wrapped("plan  short", 6), "plan  short");
    }

    #[test]
    fn long_part_breaks_between_words() {
        let lines = paragraph("limited by", &["word ".repeat(40)]);
        assert!(lines.len() > 2 && lines.iter().all(|line| line.len() <= WIDTH));
        assert_eq!(lines.join(" ").matches("word").count(), 40);
    }
}
