//! Outcomes of attacks, and their table.

use anyhow::Result;
use core::fmt::Write as _;
use serde_json::{Value, json};

/// The size of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scale {
    /// For continuous integration.
    Quick,
    All,
}

impl Scale {
    /// Packets of an attack in process.
    fn packets(self) -> u64 {
        match self {
            Self::Quick => 1_000_000,
            Self::All => 100_000_000,
        }
    }
}

/// An attack.
#[derive(Clone, Copy)]
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// The promise that the attack tests.
    pub(crate) claim: &'static str,
    run: Run,
    /// Whether only `all` runs it.
    is_only_in_all: bool,
}

#[derive(Clone, Copy)]
enum Run {
    /// Sends the given number of packets in virtual time.
    InProcess(fn(u64) -> Outcome),
    /// Uses sockets of this host.
    Real(fn(Scale) -> Result<Outcome>),
}

impl Attack {
    /// An attack in this process and in virtual time, which repeats exactly.
    pub(crate) const fn in_process(
        name: &'static str,
        claim: &'static str,
        run: fn(u64) -> Outcome,
    ) -> Self {
        Self::new(name, claim, Run::InProcess(run))
    }

    /// An attack with sockets and programs.
    pub(crate) const fn real(
        name: &'static str,
        claim: &'static str,
        run: fn(Scale) -> Result<Outcome>,
    ) -> Self {
        Self::new(name, claim, Run::Real(run))
    }

    const fn new(name: &'static str, claim: &'static str, run: Run) -> Self {
        Self {
            name,
            claim,
            run,
            is_only_in_all: false,
        }
    }

    /// Leaves it out of `quick`, because it needs a core without other load.
    pub(crate) const fn only_in_all(mut self) -> Self {
        self.is_only_in_all = true;
        self
    }

    pub(crate) fn belongs_to(&self, scale: Scale) -> bool {
        scale == Scale::All || !self.is_only_in_all
    }

    pub(crate) fn run(&self, scale: Scale) -> Outcome {
        match self.run {
            Run::InProcess(run) => run(scale.packets()),
            Run::Real(run) => run(scale).unwrap_or_else(|error| {
                let mut outcome = Outcome::new(0);
                outcome.expect(false, format!("not run: {error:#}"));
                outcome
            }),
        }
    }

    /// Runs an attack in process with `packets`. Returns `None` for others.
    #[cfg(test)]
    pub(crate) fn run_in_process(&self, packets: u64) -> Option<Outcome> {
        match self.run {
            Run::InProcess(run) => Some(run(packets)),
            Run::Real(_) => None,
        }
    }
}

/// The result of an attack.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Packets, connections or clients of the attacker.
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

    /// Adds a figure that must be at least `least`.
    pub(crate) fn expect_at_least(&mut self, what: &str, figure: u64, least: u64) {
        self.note(format!("{figure} {what}"));
        let text = format!("{figure} {what}: at least {least}");
        self.expect(figure >= least, text);
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

/// An attack, its outcome, and the seconds that it took.
pub(crate) type Row = (Attack, Outcome, f64);

/// The outcomes in Markdown.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text =
        String::from("| attack | promise | sent | outcome | figures |\n|---|---|---|---|---|\n");
    for (attack, outcome, _) in rows {
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

/// The outcomes in JSON.
pub(crate) fn json(rows: &[Row]) -> Value {
    let row = |(attack, outcome, seconds): &Row| {
        json!({
            "attack": attack.name,
            "promise": attack.claim,
            "sent": outcome.sent,
            "holds": outcome.holds(),
            "broken": outcome.broken,
            "figures": outcome.figures,
            "seconds": seconds,
        })
    };
    rows.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figure_above_its_limit_breaks_the_promise() {
        let attack = Attack::in_process("flood", "nothing happens", Outcome::new);
        let mut outcome = attack.run_in_process(7).unwrap();
        outcome.expect_at_most("answers", 3, 3);
        assert!(outcome.holds());
        outcome.expect_at_most("bytes", 4, 3);
        assert!(!outcome.holds());
        let rows = [(attack, outcome, 0.5)];
        assert_eq!(
            table(&rows).lines().last(),
            Some(
                "| flood | nothing happens | 7 | BROKEN: 4 bytes: at most 3 | 3 answers, 4 bytes |"
            )
        );
        assert_eq!(json(&rows)[0]["holds"], false);
    }

    #[test]
    fn attack_that_cannot_run_is_no_success() {
        let attack = Attack::real("flood", "", |_| anyhow::bail!("needs root"));
        let outcome = attack.run(Scale::Quick);
        assert_eq!(outcome.verdict(), "BROKEN: not run: needs root");
    }
}
