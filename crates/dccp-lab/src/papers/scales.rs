//! The scales of the results of several experiments.

use crate::scenario::Scale;

/// How many results are full and how many are quick.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Scales {
    /// The experiments with full results.
    pub full: Vec<String>,
    /// The experiments with quick results.
    pub quick: Vec<String>,
}

impl Scales {
    /// Sorts experiments by the scale of their results.
    pub fn of<'a>(experiments: impl IntoIterator<Item = (&'a str, Scale)>) -> Self {
        let mut scales = Self::default();
        for (name, scale) in experiments {
            let list = match scale {
                Scale::Full => &mut scales.full,
                Scale::Quick => &mut scales.quick,
            };
            list.push(name.to_owned());
        }
        scales
    }

    /// `full`, `quick` or `mixed`.
    pub const fn word(&self) -> &'static str {
        match (self.full.is_empty(), self.quick.is_empty()) {
            (_, true) => "full",
            (true, false) => "quick",
            (false, false) => "mixed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_names_the_scale_of_all_results() {
        let word = |scales: &[Scale]| Scales::of(scales.iter().map(|s| ("e01", *s))).word();
        assert_eq!(word(&[Scale::Full, Scale::Full]), "full");
        assert_eq!(word(&[Scale::Quick]), "quick");
        assert_eq!(word(&[Scale::Quick, Scale::Full]), "mixed");
    }
}
