//! Mistakes in a scenario file or one of its expressions: each has a place, a description and a hint.

pub(crate) use crate::suggestion::suggestion;

use core::fmt;
use core::ops::Range;

/// A range of bytes of the file.
pub(crate) type Place = Range<usize>;

/// Mistakes that are reported of one file. More would hide the first.
const REPORTED_MAX: usize = 20;

/// One mistake, before the file has a name.
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

    /// A key that must be there.
    pub(crate) fn missing(place: &Place, key: &str) -> Self {
        Self::new(place, format!("{key} is missing"), format!("add {key} = …"))
    }

    /// A word that is none of the known ones.
    pub(crate) fn unknown(place: &Place, what: &str, word: &str, known: &[&str]) -> Self {
        let next = suggestion(word, known);
        Self::new(place, format!("{word}: there is no such {what}"), next)
    }
}

/// The mistakes found so far: each once, at most [`REPORTED_MAX`].
#[derive(Default, Debug)]
pub(crate) struct Mistakes(Vec<Mistake>);

impl Mistakes {
    /// Adds a mistake, unless it is known from another cell.
    pub(crate) fn add(&mut self, mistake: Mistake) {
        if !self.is_full() && !self.0.contains(&mistake) {
            self.0.push(mistake);
        }
    }

    /// Returns the value, or adds the mistake.
    pub(crate) fn check<T>(&mut self, result: Result<T, Mistake>) -> Option<T> {
        result.map_err(|mistake| self.add(mistake)).ok()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= REPORTED_MAX
    }

    /// The errors to report, in the order of the file.
    pub(crate) fn into_errors(mut self, file: &str, text: &str) -> Vec<ScenarioError> {
        self.0.sort_by_key(|mistake| mistake.place.start);
        let mistakes = self.0.into_iter();
        mistakes
            .map(|mistake| ScenarioError::at(mistake, file, text))
            .collect()
    }
}

/// A mistake in a scenario file, or the reason why it cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{file}{}: {what}", Position(*.position))]
pub struct ScenarioError {
    /// The file as the caller named it.
    pub file: String,
    /// Line and column in characters, both from 1; `None` if the file could not be read.
    pub position: Option<(usize, usize)>,
    /// The description: what is wrong.
    pub what: String,
    /// The hint: what to write instead.
    pub next: String,
}

impl ScenarioError {
    pub(crate) fn at(mistake: Mistake, file: &str, text: &str) -> Self {
        let before = text.get(..mistake.place.start).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        let column = before[line_start..].chars().count() + 1;
        Self {
            file: file.to_owned(),
            position: Some((line, column)),
            what: mistake.what,
            next: mistake.next,
        }
    }
}

/// Shows a position as `:line:column`, and no position as nothing.
struct Position(Option<(usize, usize)>);

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some((line, column)) => write!(f, ":{line}:{column}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_counts_lines_and_characters() {
        let text = "a = 1\n# µ\nµµb = 2\n";
        let start = text.find('b').unwrap();
        let error = ScenarioError::at(Mistake::new(&(start..start + 1), "what", "next"), "f", text);
        assert_eq!(error.position, Some((3, 3)));
        assert_eq!(error.to_string(), "f:3:3: what");
    }

    #[test]
    fn mistakes_are_reported_once_in_the_order_of_the_file() {
        let mut mistakes = Mistakes::default();
        for start in [9, 3, 9] {
            mistakes.add(Mistake::new(&(start..start + 1), format!("{start}"), ""));
        }
        let errors = mistakes.into_errors("f", "0123456789");
        let what: Vec<&str> = errors.iter().map(|error| error.what.as_str()).collect();
        assert_eq!(what, ["3", "9"]);
    }
}
