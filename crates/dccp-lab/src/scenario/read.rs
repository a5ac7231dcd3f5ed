//! From items to values: texts, numbers and quantities.

use super::document::{Item, Value};
use super::mistake::Mistake;
use core::fmt::Display;
use core::ops::RangeInclusive;
use core::str::FromStr;
use core::time::Duration;
use dccp_cli::quantity::QuantityError;
use dccp_proto::Rate;

/// A text.
pub(crate) fn text(item: &Item) -> Result<&str, Mistake> {
    match &item.value {
        Value::Text(text) => Ok(text),
        _ => Err(wrong_kind(item, "a text", "put it in quotes")),
    }
}

/// A text that can name something: letters, digits and `-_.`.
pub(crate) fn name(item: &Item) -> Result<String, Mistake> {
    let text = text(item)?;
    let is_good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if text.is_empty() || !text.chars().all(is_good) {
        return Err(Mistake::new(
            &item.place,
            format!("'{text}' is no name"),
            "use letters, digits, '-', '_' and '.'",
        ));
    }
    Ok(text.to_owned())
}

/// `true` or `false`.
pub(crate) fn flag(item: &Item) -> Result<bool, Mistake> {
    match item.value {
        Value::Flag(flag) => Ok(flag),
        _ => Err(wrong_kind(item, "true or false", "write true or false")),
    }
}

/// A whole number from a range.
pub(crate) fn whole(range: RangeInclusive<u64>) -> impl Fn(&Item) -> Result<u64, Mistake> {
    from_range("a whole number", range)
}

/// A number from a range.
pub(crate) fn number(range: RangeInclusive<f64>) -> impl Fn(&Item) -> Result<f64, Mistake> {
    from_range("a number", range)
}

fn from_range<T: FromStr + PartialOrd + Display>(
    kind: &'static str,
    range: RangeInclusive<T>,
) -> impl Fn(&Item) -> Result<T, Mistake> + use<T> {
    let next = format!("write {kind} from {} to {}", range.start(), range.end());
    move |item| {
        let Value::Number(number) = &item.value else {
            return Err(wrong_kind(item, "a number", &next));
        };
        let what = match number.parse() {
            Ok(n) if range.contains(&n) => return Ok(n),
            Err(_) if number.contains('.') => format!("{number} is not {kind}"),
            _ => format!("{number} is out of range"),
        };
        Err(Mistake::new(&item.place, what, next.clone()))
    }
}

/// A time: `"20ms"`.
pub(crate) fn time(item: &Item) -> Result<Duration, Mistake> {
    quantity(item, "a time such as \"20ms\"", dccp_cli::quantity::time)
}

/// A time that is not zero.
pub(crate) fn period(item: &Item) -> Result<Duration, Mistake> {
    let period = time(item)?;
    if period.is_zero() {
        return Err(Mistake::new(
            &item.place,
            "this time must not be zero",
            "write 1s, 100ms or 1us",
        ));
    }
    Ok(period)
}

/// A rate: `"450Mbit"`, `"150kB/s"`. Up to 10 Tbit/s, of which a packet takes about a nanosecond.
pub(crate) fn rate(item: &Item) -> Result<Rate, Mistake> {
    const MOST: u64 = 10_000_000_000_000;
    let bits = with_unit(
        item,
        ("a rate", "write 9600bit, 50Mbit or 150kB/s"),
        dccp_cli::quantity::rate_bits_per_s,
    )?;
    if !(8..=MOST).contains(&bits) {
        return Err(Mistake::new(
            &item.place,
            format!("{} is no rate that can be simulated", item.label()),
            "write 8bit to 10Tbit",
        ));
    }
    #[expect(clippy::cast_precision_loss, reason = "at most 10^13")]
    let bytes = bits as f64 / 8.0;
    Ok(Rate::from_bytes_per_s(bytes))
}

/// A size in bytes: `"64KiB"`.
pub(crate) fn size(item: &Item) -> Result<u64, Mistake> {
    with_unit(
        item,
        ("a size", "write 1400B, 64KiB or 4MiB"),
        dccp_cli::quantity::size_bytes,
    )
}

/// A size that is not zero.
pub(crate) fn bytes(item: &Item) -> Result<u64, Mistake> {
    match size(item)? {
        0 => Err(Mistake::new(
            &item.place,
            "this size must not be zero",
            "write 1B, 64KiB or 4MiB",
        )),
        bytes => Ok(bytes),
    }
}

/// A share of a whole: `"1%"` or `0.01`.
pub(crate) fn share(item: &Item) -> Result<f64, Mistake> {
    match &item.value {
        Value::Number(_) => number(0.0..=1.0)(item),
        _ => quantity(
            item,
            "a share such as \"1%\" or 0.01",
            dccp_cli::quantity::share,
        ),
    }
}

/// The same of what has a unit that may be left out elsewhere: in a file it could be meant for another.
fn with_unit<T>(
    item: &Item,
    (kind, next): (&str, &str),
    read: impl FnOnce(&str) -> Result<T, QuantityError>,
) -> Result<T, Mistake> {
    let Value::Text(text) = &item.value else {
        return Err(wrong_kind(item, kind, "put it in quotes, with its unit"));
    };
    let what = match read(text) {
        Ok(_) if text.parse::<f64>().is_ok() => format!("'{text}' is {kind} without a unit"),
        Ok(value) => return Ok(value),
        Err(error) => error.to_string(),
    };
    Err(Mistake::new(&item.place, what, next))
}

/// A text that a function of `dccp-quantity` reads.
fn quantity<T>(
    item: &Item,
    what: &str,
    read: impl FnOnce(&str) -> Result<T, QuantityError>,
) -> Result<T, Mistake> {
    match &item.value {
        Value::Text(text) => read(text).map_err(|error| from_quantity(item, &error)),
        _ => Err(wrong_kind(item, what, "put it in quotes, with its unit")),
    }
}

/// The mistake that a text is no quantity.
pub(crate) fn from_quantity(item: &Item, error: &QuantityError) -> Mistake {
    Mistake::new(&item.place, error.to_string(), error.next_step())
}

fn wrong_kind(item: &Item, wanted: &str, next: &str) -> Mistake {
    Mistake::new(
        &item.place,
        format!("this should be {wanted}, not {}", item.kind()),
        next,
    )
}

#[cfg(test)]
mod tests {
    use super::super::document;
    use super::*;

    fn item(value: &str) -> Item {
        let table = document::parse(&format!("k = {value}")).unwrap();
        table.0[0].item.clone()
    }

    fn what<T: core::fmt::Debug>(result: Result<T, Mistake>) -> String {
        result.unwrap_err().what
    }

    #[test]
    fn quantities_are_read_from_texts() {
        assert_eq!(time(&item("\"20ms\"")), Ok(Duration::from_millis(20)));
        for (text, bytes_per_s) in [("\"8bit\"", 1.0), ("\"10Tbit\"", 1.25e12)] {
            assert_eq!(rate(&item(text)), Ok(Rate::from_bytes_per_s(bytes_per_s)));
        }
        assert_eq!(size(&item("\"4MiB\"")), Ok(4 << 20));
        assert_eq!(bytes(&item("\"1B\"")), Ok(1));
        assert_eq!(share(&item("\"1%\"")), Ok(0.01));
        assert_eq!(share(&item("0.25")), Ok(0.25));
    }

    #[test]
    fn what_is_no_quantity_says_so() {
        assert_eq!(
            what(time(&item("20"))),
            "this should be a time such as \"20ms\", not a number"
        );
        assert_eq!(what(rate(&item("\"0Mbit\""))), "must be greater than 0");
        for rate_text in ["\"7bit\"", "\"11Tbit\""] {
            assert!(what(rate(&item(rate_text))).ends_with("can be simulated"));
        }
        assert_eq!(what(period(&item("\"0s\""))), "this time must not be zero");
        assert_eq!(what(bytes(&item("\"0B\""))), "this size must not be zero");
        assert_eq!(what(whole(1..=9)(&item("10"))), "10 is out of range");
        assert_eq!(
            what(whole(1..=9)(&item("1.5"))),
            "1.5 is not a whole number"
        );
        assert_eq!(what(rate(&item("\"10\""))), "'10' is a rate without a unit");
        assert_eq!(
            what(size(&item("\"1000\""))),
            "'1000' is a size without a unit"
        );
        assert_eq!(what(number(0.5..=1.0)(&item("0.4"))), "0.4 is out of range");
        assert_eq!(what(share(&item("1.01"))), "1.01 is out of range");
        assert_eq!(what(name(&item("\"a b\""))), "'a b' is no name");
        assert_eq!(name(&item("\"nms1-sttl\"")), Ok("nms1-sttl".to_owned()));
    }
}
