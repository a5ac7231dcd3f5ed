//! One line of the table: a figure of ours beside a peer's, and what is asked of their ratio.

use core::fmt;
use serde::{Serialize, Serializer};

/// The goal of a ratio.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Goal {
    /// Nothing is asked.
    None,
    AtLeast(f64),
    AtMost(f64),
    /// No further from 1 than this.
    Within(f64),
}

/// A figure of ours, the one that it stands beside, and what is asked of their ratio.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub(super) struct Row {
    name: String,
    ours: f64,
    peer: Option<f64>,
    ratio: Option<f64>,
    #[serde(serialize_with = "as_text")]
    goal: Goal,
    met: Option<bool>,
}

pub(super) const HEADER: &str = "\
| figure | ours | beside | ratio | goal | met |\n\
|---|---|---|---|---|---|";

impl Row {
    pub(super) fn new(name: String, ours: f64, peer: Option<f64>, goal: Goal) -> Self {
        let ratio = peer.map(|peer| ours / peer);
        let met = ratio.and_then(|ratio| match goal {
            Goal::None => None,
            Goal::AtLeast(least) => Some(ratio >= least),
            Goal::AtMost(most) => Some(ratio <= most),
            Goal::Within(part) => Some((ratio - 1.0).abs() <= part),
        });
        Self {
            name,
            ours,
            peer,
            ratio,
            goal,
            met,
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::AtLeast(least) => write!(f, "≥ {least}"),
            Self::AtMost(most) => write!(f, "≤ {most}"),
            Self::Within(part) => write!(f, "1 ± {part}"),
        }
    }
}

fn as_text<S: Serializer>(goal: &Goal, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(goal)
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: Option<f64>, digits: usize| {
            value.map_or(String::new(), |value| format!("{value:.digits$}"))
        };
        // Rates are counted in hundreds of thousands, other figures not.
        let digits = usize::from(self.ours < 10_000.0);
        let met = match self.met {
            Some(true) => "yes",
            Some(false) => "no",
            None => "",
        };
        write!(
            f,
            "| {} | {} | {} | {} | {} | {met} |",
            self.name,
            text(Some(self.ours), digits),
            text(self.peer, digits),
            text(self.ratio, 3),
            self.goal
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(ours: f64, peer: f64, goal: Goal) -> Option<bool> {
        Row::new(String::new(), ours, Some(peer), goal).met
    }

    #[test]
    fn goals_are_about_the_ratio() {
        assert_eq!(met(10.0, 2.0, Goal::AtLeast(5.0)), Some(true));
        assert_eq!(met(9.9, 2.0, Goal::AtLeast(5.0)), Some(false));
        assert_eq!(met(3.0, 2.0, Goal::AtMost(1.5)), Some(true));
        assert_eq!(met(3.1, 2.0, Goal::AtMost(1.5)), Some(false));
        assert_eq!(met(97.0, 100.0, Goal::Within(0.02)), Some(false));
        assert_eq!(met(101.0, 100.0, Goal::Within(0.02)), Some(true));
        assert_eq!(met(1.0, 1.0, Goal::None), None);
    }

    #[test]
    fn a_row_is_text_and_json() {
        let row = Row::new("x".into(), 1_000_000.0, Some(250_000.0), Goal::AtLeast(5.0));
        assert_eq!(
            row.to_string(),
            "| x | 1000000 | 250000 | 4.000 | ≥ 5 | no |"
        );
        let json = serde_json::to_value(&row).unwrap();
        assert_eq!(json["goal"], "≥ 5");
        assert_eq!(json["met"], false);
        assert_eq!(json["ratio"], 4.0);
    }
}
