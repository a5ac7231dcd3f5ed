//! The words, numbers and signs of an expression.

use crate::mistake::Mistake;
use core::ops::Range;
use dccp_cli::quantity;

/// A token and where it stands.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) place: Range<usize>,
}

/// The kinds of tokens.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Kind {
    /// A name: letters, digits, `_` and `.`.
    Word(String),
    /// A text in single quotes.
    Quoted(String),
    /// A number, in seconds, bits per second, bytes or as a share if it had a unit.
    Number(f64),
    /// One of [`SIGNS`].
    Sign(&'static str),
}

/// Longer signs first.
const SIGNS: [&str; 18] = [
    "..", "<=", ">=", "==", "!=", "<", ">", "=", "+", "-", "*", "/", "^", "(", ")", "[", "]", ",",
];

/// Splits a text into tokens.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, Mistake> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (kind, length) = token(&text[at..], at)?;
        tokens.push(Token {
            kind,
            place: at..at + length,
        });
        at += length;
    }
    Ok(tokens)
}

/// The first token of a text that stands at `at`, and its length in bytes.
fn token(text: &str, at: usize) -> Result<(Kind, usize), Mistake> {
    let first = text.chars().next().unwrap_or(' ');
    if first == '\'' {
        let end = text[1..].find('\'').map(|end| end + 1);
        let end = end.ok_or_else(|| {
            let place = at..at + text.len();
            Mistake::new(&place, "this quotation has no end", "write 'label'")
        })?;
        return Ok((Kind::Quoted(text[1..end].to_owned()), end + 1));
    }
    if first.is_ascii_digit() {
        return number(text, at);
    }
    if first.is_alphabetic() || first == '_' {
        let is_inner = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let length = text.find(|c| !is_inner(c)).unwrap_or(text.len());
        return Ok((Kind::Word(text[..length].to_owned()), length));
    }
    let sign = SIGNS.into_iter().find(|sign| text.starts_with(sign));
    let sign = sign.ok_or_else(|| {
        let place = at..at + first.len_utf8();
        let next = "put labels with other characters in single quotes";
        Mistake::new(&place, format!("{first} has no meaning here"), next)
    })?;
    Ok((Kind::Sign(sign), sign.len()))
}

/// A number with or without a unit.
fn number(text: &str, at: usize) -> Result<(Kind, usize), Mistake> {
    let digits = digits(text);
    let is_unit = |c: char| c.is_alphabetic() || c == '%';
    let unit = text[digits..]
        .find(|c| !is_unit(c))
        .unwrap_or(text.len() - digits);
    let length = digits + unit;
    let written = &text[..length];
    let value = match &written[digits..] {
        "" => written.parse().ok(),
        "%" => quantity::share(written).ok(),
        unit if unit.ends_with("bit") => quantity::rate_bits_per_s(written).ok().map(float),
        unit if unit.ends_with('B') => quantity::size_bytes(written).ok().map(float),
        "p" => quantity::packets(written).ok().map(float),
        _ => quantity::time(written).ok().map(|time| time.as_secs_f64()),
    };
    let value = value.ok_or_else(|| {
        let what = format!("'{written}' is not a number");
        Mistake::new(
            &(at..at + length),
            what,
            "write 0.5, 5ms, 20Mbit, 4MiB or 3%",
        )
    })?;
    Ok((Kind::Number(value), length))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "quantities of scenarios are below 2^53"
)]
fn float(whole: u64) -> f64 {
    whole as f64
}

/// The length of `12`, `0.5` or `1e-9` at the beginning. Two points belong to a span.
fn digits(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digit = |n: usize| bytes.get(n).is_some_and(u8::is_ascii_digit);
    let mut n = 0;
    let skip = |n: &mut usize| {
        while digit(*n) {
            *n += 1;
        }
    };
    skip(&mut n);
    if bytes.get(n) == Some(&b'.') && digit(n + 1) {
        n += 1;
        skip(&mut n);
    }
    if bytes.get(n) == Some(&b'e') {
        let sign = usize::from(matches!(bytes.get(n + 1), Some(b'-' | b'+')));
        if digit(n + 1 + sign) {
            n += 1 + sign;
            skip(&mut n);
        }
    }
    n
}

/// A label as a number: a plain one, a share, time, rate, size or number of packets.
pub(crate) fn quantity_of(label: &str) -> Option<f64> {
    match &tokens(label).ok()?[..] {
        [
            Token {
                kind: Kind::Number(value),
                ..
            },
        ] => Some(*value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        let tokens = tokens(text).expect(text);
        tokens.into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn units_become_seconds_bits_per_second_bytes_and_shares() {
        let values = "5ms 20Mbit 4MiB 3% 1e-9 0.5 7p 2700s";
        let numbers = [0.005, 20e6, 4_194_304.0, 0.03, 1e-9, 0.5, 7.0, 2700.0];
        assert_eq!(kinds(values), numbers.map(Kind::Number));
    }

    #[test]
    fn spans_names_and_labels_are_told_apart() {
        let word = |text: &str| Kind::Word(text.into());
        assert_eq!(
            kinds("rtt.p99(a)[law!='reno*16'] in 1s..2s"),
            [
                word("rtt.p99"),
                Kind::Sign("("),
                word("a"),
                Kind::Sign(")"),
                Kind::Sign("["),
                word("law"),
                Kind::Sign("!="),
                Kind::Quoted("reno*16".into()),
                Kind::Sign("]"),
                word("in"),
                Kind::Number(1.0),
                Kind::Sign(".."),
                Kind::Number(2.0),
            ]
        );
    }

    #[test]
    fn foreign_characters_are_refused_where_they_stand() {
        let fault = tokens("goodput < 5 ?").unwrap_err();
        assert_eq!(fault.place, 12..13);
        assert_eq!(tokens("[law = 'reno]").unwrap_err().place, 7..13);
        assert_eq!(tokens("5 parsec").unwrap().len(), 2);
        assert_eq!(tokens("5parsec").unwrap_err().place, 0..7);
    }
}
