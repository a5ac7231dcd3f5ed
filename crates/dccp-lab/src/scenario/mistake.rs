//! What is wrong in a scenario file, and where.

use core::fmt;
use core::ops::Range;

/// Bytes of the file.
pub(crate) type Place = Range<usize>;

/// What is wrong at a place of the file, before the file has a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mistake {
    pub(crate) place: Place,
    pub(crate) what: String,
    pub(crate) next: String,
}

impl Mistake {
    pub(crate) fn new(place: &Place, what: impl Into<String>, next: impl Into<String>) -> Self {
        Self {
            place: place.clone(),
            what: what.into(),
            next: next.into(),
        }
    }

    /// A word that is none of the known ones.
    pub(crate) fn unknown(place: &Place, what: &str, word: &str, known: &[&str]) -> Self {
        let next = match nearest(word, known) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("choose one of {}", known.join(", ")),
        };
        Self::new(place, format!("{word}: there is no such {what}"), next)
    }

    /// Something that the format has and this version cannot do.
    pub(crate) fn not_yet(place: &Place, what: &str) -> Self {
        Self::new(
            place,
            format!("{what}: not yet"),
            "leave it out; this version would have to ignore it",
        )
    }
}

/// The known word that is the fewest letters away, if that is at most about a third of the letters.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let limit = (word.chars().count() + 1) / 3;
    let far = |known: &&str| strsim::osa_distance(word, known);
    known
        .iter()
        .copied()
        .min_by_key(far)
        .filter(|near| far(near) <= limit)
}

/// Why a scenario file cannot be run: two lines, what is wrong and what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioError {
    /// The file as it was named.
    pub file: String,
    /// Line, from 1; `None` if the file could not be read at all.
    pub line: Option<usize>,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub next: String,
}

impl ScenarioError {
    pub(crate) fn at(mistake: Mistake, file: &str, text: &str) -> Self {
        let before = text.get(..mistake.place.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            file: file.to_owned(),
            line: Some(before.matches('\n').count() + 1),
            column: before[line_start..].chars().count() + 1,
            what: mistake.what,
            next: mistake.next,
        }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}:{}", self.column)?;
        }
        write!(f, ": {}", self.what)
    }
}

impl core::error::Error for ScenarioError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_told_as_line_and_column_in_characters() {
        let text = "a = 1\n# µ\nµµb = 2\n";
        let start = text.find('b').unwrap();
        let error = ScenarioError::at(Mistake::new(&(start..start + 1), "what", "next"), "f", text);
        assert_eq!((error.line, error.column), (Some(3), 3));
        assert_eq!(error.to_string(), "f:3:3: what");
    }

    #[test]
    fn only_near_words_are_suggested() {
        let known = ["queue", "rate", "delay"];
        assert_eq!(nearest("qeue", &known), Some("queue"));
        assert_eq!(nearest("rat", &known), Some("rate"));
        assert_eq!(nearest("raet", &known), Some("rate"));
        assert_eq!(nearest("colour", &known), None);
    }
}
