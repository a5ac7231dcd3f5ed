//! Options of laws as text: `name[:key=value,…]`, the same on command lines and in scenario files.
//!
//! `settings!` makes a struct whose fields are the keys; `choice!` makes an enum of words.

use super::Law;
use core::fmt;
use core::ops::RangeInclusive;

/// Fields that can be set and read by name.
pub(crate) trait Settings {
    /// The names, in the order in which they are written.
    fn keys(&self) -> &'static [&'static str];

    /// Sets the field `key` from text; the error says what is allowed. Unknown keys are not passed.
    fn set(&mut self, key: &str, value: &str) -> Result<(), String>;

    /// The field `key` as text.
    fn text(&self, key: &str) -> String;
}

/// Options of a law, from which the law is made.
pub(super) trait Plan: Settings {
    /// A new law with these options.
    fn build(&self) -> Box<dyn Law>;
}

/// A value that has one text.
pub(crate) trait Value: Copy {
    /// The text from which it is read back.
    fn text(self) -> String;
}

impl Value for f64 {
    fn text(self) -> String {
        self.to_string()
    }
}

impl Value for u32 {
    fn text(self) -> String {
        self.to_string()
    }
}

impl Value for bool {
    fn text(self) -> String {
        if self { "yes" } else { "no" }.into()
    }
}

/// Reads a number from a range.
pub(crate) fn number(range: RangeInclusive<f64>) -> impl Fn(&str) -> Result<f64, String> {
    move |text| match text.parse() {
        Ok(n) if range.contains(&n) => Ok(n),
        _ => Err(format!(
            "a number from {} to {}",
            range.start(),
            range.end()
        )),
    }
}

/// Reads a whole number from a range.
pub(crate) fn whole(range: RangeInclusive<u32>) -> impl Fn(&str) -> Result<u32, String> {
    move |text| match text.parse() {
        Ok(n) if range.contains(&n) => Ok(n),
        _ => Err(format!(
            "a whole number from {} to {}",
            range.start(),
            range.end()
        )),
    }
}

/// Reads `yes` or `no`.
pub(crate) fn yes_no(text: &str) -> Result<bool, String> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("yes or no".into()),
    }
}

/// A struct of options: each field with its default and the function that reads it.
macro_rules! settings {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$field_meta:meta])* $field:ident: $type:ty = $default:expr, $read:expr;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Debug)]
        $vis struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $crate::cc::law::settings::Settings for $name {
            fn keys(&self) -> &'static [&'static str] {
                &[$(stringify!($field)),*]
            }

            fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
                $(if key == stringify!($field) {
                    self.$field = ($read)(value)?;
                })*
                Ok(())
            }

            fn text(&self, key: &str) -> String {
                $(if key == stringify!($field) {
                    return $crate::cc::law::settings::Value::text(self.$field);
                })*
                String::new()
            }
        }
    };
}
pub(crate) use settings;

/// An enum whose variants are words.
macro_rules! choice {
    ($(#[$meta:meta])* pub enum $name:ident {
        $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            $($(#[$variant_meta])* $variant,)*
        }

        impl $name {
            /// Reads one of the words.
            pub(crate) fn read(text: &str) -> Result<Self, String> {
                match text {
                    $($word => Ok(Self::$variant),)*
                    _ => Err([$($word),*].join(" or ")),
                }
            }
        }

        impl $crate::cc::law::settings::Value for $name {
            fn text(self) -> String {
                match self { $(Self::$variant => $word,)* }.into()
            }
        }
    };
}
pub(crate) use choice;

/// `key=value,…` in its parts. No key comes twice: which of its values is meant?
pub(crate) fn split_options(text: &str) -> Result<Vec<(&str, &str)>, LawError> {
    let mut options: Vec<(&str, &str)> = Vec::new();
    for option in text.split(',').filter(|o| !o.is_empty()) {
        let (key, value) = option.split_once('=').ok_or_else(|| LawError {
            problem: format!("{option}: an option has a value"),
            next: format!("write {option}=VALUE"),
        })?;
        if let Some((_, first)) = options.iter().find(|(known, _)| *known == key) {
            return Err(LawError {
                problem: format!("{key} is given twice, as {first} and as {value}"),
                next: format!("write it once: {key}={value}"),
            });
        }
        options.push((key, value));
    }
    Ok(options)
}

/// Why a text names no law.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LawError {
    /// What is wrong.
    pub problem: String,
    /// What to write instead.
    pub next: String,
}

impl LawError {
    /// An option that may have only the values that are `allowed`.
    pub(crate) fn not_allowed(key: &str, value: &str, allowed: &str) -> Self {
        Self {
            problem: format!("{key}={value}: not allowed"),
            next: format!("write {allowed}"),
        }
    }

    /// A word that is not among the known ones.
    pub(crate) fn unknown(what: &str, word: &str, known: &[&str]) -> Self {
        let next = match nearest(word, known) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("choose one of {}", known.join(", ")),
        };
        Self {
            problem: format!("{word}: there is no such {what}"),
            next,
        }
    }
}

impl fmt::Display for LawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.problem, self.next)
    }
}

impl core::error::Error for LawError {}

/// The known word that is the fewest letters away, if that is at most about a third of the letters.
fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let limit = (word.len() + 1) / 3;
    let near = known.iter().map(|k| (distance(word, k), *k)).min()?;
    (near.0 <= limit).then_some(near.1)
}

/// How many letters must be put in, taken out or replaced to make one word of the other.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters() {
        for (a, b, d) in [
            ("", "", 0),
            ("", "abc", 3),
            ("cubic", "cubic", 0),
            ("cubci", "cubic", 2),
            ("cubik", "cubic", 1),
            ("bic", "cubic", 2),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(a, b), d, "{a} {b}");
            assert_eq!(distance(b, a), d, "{b} {a}");
        }
    }

    #[test]
    fn a_near_word_is_named_and_a_far_one_is_not() {
        let known = ["reno", "highspeed", "bic"];
        assert_eq!(nearest("highspede", &known), Some("highspeed"));
        assert_eq!(nearest("renoo", &known), Some("reno"));
        assert_eq!(nearest("bik", &known), Some("bic"));
        assert_eq!(nearest("xyz", &known), None);
        assert_eq!(nearest("highwater", &known), None);
        assert_eq!(nearest("x", &[]), None);
    }

    #[test]
    fn values_are_read_from_their_range_only() {
        let half = number(0.5..=2.0);
        assert_eq!(half("0.5"), Ok(0.5));
        assert_eq!(half("2"), Ok(2.0));
        for bad in ["0.49", "2.01", "NaN", "inf", "", "1x"] {
            assert_eq!(half(bad), Err("a number from 0.5 to 2".into()), "{bad}");
        }
        let few = whole(1..=9);
        assert_eq!(few("9"), Ok(9));
        for bad in ["0", "10", "-1", "1.5", ""] {
            assert_eq!(few(bad), Err("a whole number from 1 to 9".into()), "{bad}");
        }
        assert_eq!(yes_no("yes"), Ok(true));
        assert_eq!(yes_no("no"), Ok(false));
        assert_eq!(yes_no("true"), Err("yes or no".into()));
    }
}
