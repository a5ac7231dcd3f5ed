//! `[draw]`: values that a published experiment does not give. Each repetition draws its own.
//!
//! All cells of a repetition have the same drawn values, so that they can be compared.

use super::document::{Item, entries};
use super::keys::DrawKeys;
use super::names::Values;
use super::values::At;
use crate::mistake::{Mistake, Mistakes, Place};
use dccp_sim::Seed;
use toml::Spanned;
use toml::de::DeValue;

/// A variable and how it is drawn.
#[derive(Debug)]
pub(crate) struct Draw {
    variable: String,
    place: Place,
    from: Span,
}

/// The values of one variable.
#[derive(Clone, PartialEq, Debug)]
enum Span {
    /// Each with the same probability.
    OneOf(Vec<String>),
    /// Any between two, with this unit behind the number.
    Between {
        least: f64,
        most: f64,
        unit: String,
        is_logarithmic: bool,
    },
}

/// The variables of `[draw]`.
pub(crate) fn draws(section: Option<&Item<'_>>, mistakes: &mut Mistakes) -> Option<Vec<Draw>> {
    let mut draws = Vec::new();
    for (key, item) in section.map(entries).unwrap_or_default() {
        let keys = super::document::read::<At<DrawKeys>>(item, mistakes)?;
        draws.push(Draw {
            variable: key.get_ref().to_string(),
            place: item.span(),
            from: mistakes.check(values(&keys))?,
        });
    }
    Some(draws)
}

fn values(keys: &At<DrawKeys>) -> Result<Span, Mistake> {
    let refused = |what: &str| {
        let next = "write { from = \"0.5\", to = \"2\" } or { one_of = [\"100p\", \"2000p\"] }";
        Err(Mistake::new(&keys.place, what, next))
    };
    match (&keys.one_of, &keys.from, &keys.to) {
        (Some(values), None, None) if values.is_empty() => refused("there is nothing to choose"),
        (Some(values), None, None) if keys.log.is_none() => Ok(Span::OneOf(values.clone())),
        (None, Some(from), Some(to)) => {
            let (Some((least, unit)), Some((most, other))) = (split(from), split(to)) else {
                return refused("from and to are numbers with a unit, or without");
            };
            let is_logarithmic = keys.log.unwrap_or(false);
            if unit != other {
                return refused("from and to have different units");
            }
            if most <= least || (is_logarithmic && least <= 0.0) {
                return refused("from must be less than to, and above 0 with log");
            }
            Ok(Span::Between {
                least,
                most,
                unit: unit.to_owned(),
                is_logarithmic,
            })
        }
        _ => refused("a variable is drawn from a span or from a list"),
    }
}

/// A number and its unit.
fn split(text: &str) -> Option<(f64, &str)> {
    let is_number = |c: char| c.is_ascii_digit() || ".e-+".contains(c);
    let end = text.find(|c| !is_number(c)).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

impl Draw {
    /// The value in a repetition.
    fn value(&self, seed: Seed, repeat: u32) -> String {
        let mut random = seed.stream(&format!("draw {} {repeat}", self.variable));
        match &self.from {
            Span::OneOf(values) => values[random.index_below(values.len())].clone(),
            Span::Between {
                least,
                most,
                unit,
                is_logarithmic,
            } => {
                let share = random.unit();
                let value = if *is_logarithmic {
                    least * libm::pow(most / least, share)
                } else {
                    least + (most - least) * share
                };
                shown(value, unit)
            }
        }
    }
}

/// A number with four digits; packets and bytes are whole.
fn shown(value: f64, unit: &str) -> String {
    if ["p", "B"].contains(&unit) || value == 0.0 {
        return format!("{value:.0}{unit}");
    }
    // Shares and times of files have no exponents.
    let decimals = (0_u8..16).find(|n| value.abs() * libm::exp10(f64::from(*n)) >= 999.5);
    let text = match usize::from(decimals.unwrap_or(16)) {
        0 => format!("{value:.0}"),
        n => format!("{value:.n$}"),
    };
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{text}{unit}")
}

/// The values of all drawn variables in a repetition.
pub(crate) fn drawn<'i>(draws: &[Draw], seed: u64, repeat: u32) -> Values<'i> {
    let draw = |draw: &Draw| {
        let value = DeValue::String(draw.value(Seed(seed), repeat).into());
        (
            draw.variable.clone(),
            Spanned::new(draw.place.clone(), value),
        )
    };
    draws.iter().map(draw).collect()
}

#[cfg(test)]
mod tests {
    use super::super::document::{self, label, value};
    use super::*;

    fn read(text: &str) -> Result<Vec<Draw>, String> {
        let mut mistakes = Mistakes::default();
        let document = document::parse(text, &mut mistakes).expect("TOML");
        let draws = draws(value(&document, "draw"), &mut mistakes);
        let errors = mistakes.into_errors("f", text);
        draws.ok_or_else(|| errors[0].to_string())
    }

    fn texts(draws: &[Draw], repeat: u32) -> Vec<String> {
        let values = drawn(draws, 7, repeat);
        values.iter().map(|(_, item)| label(item)).collect()
    }

    #[test]
    fn drawn_values_lie_in_their_spans_and_repeat_with_the_seed() {
        let text = "[draw]\nq = { from = \"100p\", to = \"5000p\" }\n\
            l = { from = \"0.00001%\", to = \"0.1%\", log = true }\na = { one_of = [\"20\", \"200\"] }";
        let draws = read(text).expect("valid");
        let (mut small, mut alphas) = (0, [0, 0]);
        for repeat in 0..200 {
            let values = texts(&draws, repeat);
            assert_eq!(values, texts(&draws, repeat));
            let packets: u64 = values[0]
                .strip_suffix('p')
                .expect("packets")
                .parse()
                .expect("whole");
            assert!((100..=5000).contains(&packets), "{packets}");
            let loss = values[1].strip_suffix('%').expect("a share");
            let loss: f64 = loss.parse().expect("a number");
            assert!((1e-5..=0.1).contains(&loss), "{loss}");
            small += u32::from(loss < 1e-3);
            alphas[usize::from(values[2] == "200")] += 1;
        }
        // Half of the logarithmic span lies below its geometric mean.
        assert!((70..=130).contains(&small), "{small}");
        assert!(alphas[0] > 70 && alphas[1] > 70, "{alphas:?}");
    }

    #[test]
    fn numbers_have_four_digits() {
        assert_eq!(shown(1234.56, "p"), "1235p");
        assert_eq!(shown(0.123_456, ""), "0.1235");
        assert_eq!(shown(1.234_56e-6, "%"), "0.000001235%");
        assert_eq!(shown(0.5, ""), "0.5");
        assert_eq!(shown(12345.6, "s"), "12346s");
        assert_eq!(shown(12.3456, "ms"), "12.35ms");
        assert_eq!(shown(0.4, "B"), "0B");
    }

    #[test]
    fn impossible_spans_are_refused() {
        for (table, what) in [
            (
                "{ from = \"5p\", to = \"1p\" }",
                "from must be less than to",
            ),
            (
                "{ from = \"0\", to = \"1\", log = true }",
                "from must be less than to",
            ),
            (
                "{ from = \"1p\", to = \"2B\" }",
                "from and to have different units",
            ),
            ("{ from = \"x\", to = \"2B\" }", "from and to are numbers"),
            (
                "{ from = \"1p\" }",
                "a variable is drawn from a span or from a list",
            ),
            ("{ one_of = [] }", "there is nothing to choose"),
        ] {
            let error = read(&format!("[draw]\nq = {table}")).expect_err(table);
            assert!(error.starts_with(&format!("f:2:5: {what}")), "{error}");
        }
    }
}
