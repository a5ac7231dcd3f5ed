//! Outcomes of attacks, and their table.

use core::fmt::Write as _;

/// An attack.
#[derive(Clone, Copy)]
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// The promise that the attack tests.
    pub(crate) claim: &'static str,
    /// Sends the given number of packets.
    pub(crate) run: fn(&Attack, u64) -> Outcome,
}

impl Attack {
    pub(crate) fn run(&self, packets: u64) -> Outcome {
        (self.run)(self, packets)
    }
}

/// The result of an attack.
#[derive(Default)]
pub(crate) struct Outcome {
    sent: u64,
    figures: Vec<String>,
    broken: Vec<String>,
}

impl Outcome {
    pub(crate) fn new(sent: u64) -> Self {
        Self {
            sent,
            ..Self::default()
        }
    }

    /// Adds a figure for information.
    pub(crate) fn note(&mut self, figure: impl Into<String>) {
        self.figures.push(figure.into());
    }

    /// Adds a figure that must be at most `most`.
    pub(crate) fn expect_at_most(&mut self, what: &str, figure: u64, most: u64) {
        self.note(format!("{figure} {what}"));
        self.expect(figure <= most, format!("{figure} {what}: at most {most}"));
    }

    /// Requires something of the outcome.
    pub(crate) fn expect(&mut self, holds: bool, text: impl Into<String>) {
        if !holds {
            self.broken.push(text.into());
        }
    }

    /// Whether the outcome is the expected one.
    pub(crate) fn holds(&self) -> bool {
        self.broken.is_empty()
    }

    /// `as promised`, or what differs.
    pub(crate) fn verdict(&self) -> String {
        if self.holds() {
            return "as promised".into();
        }
        format!("BROKEN: {}", self.broken.join("; "))
    }
}

/// The outcomes in Markdown.
pub(crate) fn table(outcomes: &[(Attack, Outcome)]) -> String {
    let mut text =
        String::from("| attack | promise | sent | outcome | figures |\n|---|---|---|---|---|\n");
    for (attack, outcome) in outcomes {
        let Attack { name, claim, .. } = attack;
        let (verdict, figures) = (outcome.verdict(), outcome.figures.join(", "));
        let _ = writeln!(
            text,
            "| {name} | {claim} | {} | {verdict} | {figures} |",
            outcome.sent
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figure_above_its_limit_breaks_the_promise() {
        let attack = Attack {
            name: "flood",
            claim: "nothing happens",
            run: |_, sent| Outcome::new(sent),
        };
        let mut outcome = attack.run(7);
        outcome.expect_at_most("answers", 3, 3);
        assert!(outcome.holds());
        outcome.expect_at_most("bytes", 4, 3);
        assert!(!outcome.holds());
        assert_eq!(
            table(&[(attack, outcome)]).lines().last(),
            Some(
                "| flood | nothing happens | 7 | BROKEN: 4 bytes: at most 3 | 3 answers, 4 bytes |"
            )
        );
    }
}
