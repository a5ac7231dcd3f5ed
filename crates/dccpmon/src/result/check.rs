//! Assertions on figures: `--assert 'loss<0.1%'`, and the comparison with the document of an earlier run.

use crate::result::figures::{Better, FIGURES, Figure, find, similar};
use crate::result::stored;
use crate::schema::{Assertion, Document, Requested, Status};
use core::fmt;
use dccp_cli::Failure;
use std::path::PathBuf;

/// An assertion on one figure.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Assert {
    name: &'static str,
    operator: Operator,
    value: f64,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operator {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    Unequal,
}

impl Operator {
    /// Longer ones first, because `<` begins `<=`.
    const ALL: [(&'static str, Self); 6] = [
        ("<=", Self::LessOrEqual),
        (">=", Self::GreaterOrEqual),
        ("==", Self::Equal),
        ("!=", Self::Unequal),
        ("<", Self::Less),
        (">", Self::Greater),
    ];

    #[expect(clippy::float_cmp, reason = "counts are whole, and users ask for it")]
    fn holds(self, value: f64, wanted: f64) -> bool {
        match self {
            Self::Less => value < wanted,
            Self::LessOrEqual => value <= wanted,
            Self::Greater => value > wanted,
            Self::GreaterOrEqual => value >= wanted,
            Self::Equal => value == wanted,
            Self::Unequal => value != wanted,
        }
    }
}

/// The error of an assertion: its constraint and a hint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AssertError {
    pub(crate) problem: String,
    pub(crate) next: String,
}

impl Assert {
    /// Parses `FIGURE OPERATOR VALUE`, such as `rtt.p99<30ms`.
    ///
    /// # Errors
    /// There is no such figure or operator, or the value has not the figure's unit.
    pub(crate) fn parse(text: &str) -> Result<Self, AssertError> {
        let found = text
            .find(['<', '>', '=', '!'])
            .map(|at| text.split_at(at))
            .and_then(|(name, rest)| {
                let mut operators = Operator::ALL.iter();
                let (sign, operator) = operators.find(|(sign, _)| rest.starts_with(sign))?;
                Some((name.trim(), *operator, rest[sign.len()..].trim()))
            });
        let Some((name, operator, value)) = found else {
            return Err(AssertError {
                problem: "must be a figure, an operator and a value".into(),
                next: "write for example --assert 'rtt.p99<30ms'".into(),
            });
        };
        let Some(figure) = find(name) else {
            return Err(AssertError {
                problem: "there is no such figure".into(),
                next: format!(
                    "did you mean {}? `dccpmon export --figures` lists them",
                    similar(name)
                ),
            });
        };
        let value = figure.kind.parse(value).map_err(|e| AssertError {
            problem: e.to_string(),
            next: format!("write for example '{name}<{}'", figure.kind.example()),
        })?;
        Ok(Self {
            name: figure.name,
            operator,
            value,
            text: text.to_owned(),
        })
    }

    /// The outcome for a document. An assertion on a figure that the document does not know does not hold.
    fn check(&self, document: &Document) -> Assertion {
        let value = find(self.name).and_then(|figure| figure.of(document));
        Assertion {
            text: self.text.clone(),
            holds: value.is_some_and(|value| self.operator.holds(value, self.value)),
            value,
            wanted: Some(self.value),
        }
    }
}

/// An earlier run to compare with.
#[derive(Clone, PartialEq, Debug)]
struct Baseline {
    document: Document,
    noise: f64,
}

/// The figures that a baseline checks.
const BASELINE_FIGURES: [&str; 4] = ["goodput", "loss", "rtt.p50", "rtt.p99"];

impl Baseline {
    /// The outcomes for the figures that both documents know.
    fn check(&self, document: &Document) -> Vec<Assertion> {
        let figures = FIGURES
            .iter()
            .filter(|figure| BASELINE_FIGURES.contains(&figure.name));
        figures
            .filter_map(|figure| self.check_figure(figure, document))
            .collect()
    }

    fn check_figure(&self, figure: &Figure, document: &Document) -> Option<Assertion> {
        let before = figure.of(&self.document)?;
        let now = figure.of(document);
        let (sign, bound) = match figure.better {
            Better::Greater => (">=", before * (1.0 - self.noise)),
            // One loss more is not a change of the path.
            _ if figure.name == "loss" => ("<=", before * (1.0 + self.noise) + LOSS_NOISE),
            _ => ("<=", before * (1.0 + self.noise)),
        };
        let holds = now.is_some_and(|now| match figure.better {
            Better::Greater => now >= bound,
            _ => now <= bound,
        });
        Some(Assertion {
            text: format!(
                "{}{sign}{} (baseline {})",
                figure.name,
                figure.kind.show(bound),
                figure.kind.show(before)
            ),
            holds,
            value: now,
            wanted: Some(bound),
        })
    }
}

/// The share of losses that is always allowed beyond the baseline's.
const LOSS_NOISE: f64 = 0.000_1;

/// The checks that the command line asks for.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) asserts: Vec<Assert>,
    pub(crate) baseline: Option<BaselineFile>,
}

/// The file of an earlier run.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct BaselineFile {
    pub(crate) path: PathBuf,
    /// The share that a figure may be worse.
    pub(crate) noise: f64,
}

impl Wanted {
    /// Reads the baseline of a test with these values.
    ///
    /// # Errors
    /// Its file is no document of a whole test, or of a test with other values.
    pub(crate) fn load(&self, requested: &Requested) -> Result<Checks, Failure> {
        let read = |file: &BaselineFile| {
            let document = stored::read(&file.path)?;
            check_baseline(file, &document, requested)?;
            Ok(Baseline {
                document,
                noise: file.noise,
            })
        };
        Ok(Checks {
            asserts: self.asserts.clone(),
            baseline: self.baseline.as_ref().map(read).transpose()?,
        })
    }
}

/// Only a whole test of the same kind says what is usual.
fn check_baseline(
    file: &BaselineFile,
    document: &Document,
    requested: &Requested,
) -> Result<(), Failure> {
    let shown = file.path.display();
    if document.status != Status::Complete || document.summary.is_none() {
        return Err(Failure::usage(
            format!("--baseline {shown}: must be the result of a complete test"),
            "save another one with --save",
        ));
    }
    let differences = differences(&document.requested, requested);
    if differences.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(
        format!(
            "--baseline {shown}: that test differs in {}",
            differences.join(", ")
        ),
        "compare like with like, or save a baseline of this test",
    ))
}

/// The reasons why the figures of two tests cannot be compared.
pub(crate) fn differences(a: &Requested, b: &Requested) -> Vec<&'static str> {
    let flow = |requested: &Requested| {
        let flow = requested.flows.first().cloned();
        flow.map(|flow| (flow.shape, flow.packet_bytes))
    };
    let (shape_a, shape_b) = (flow(a), flow(b));
    let checks = [
        ("the transport", a.transport != b.transport),
        ("the encapsulation", a.over != b.over),
        ("the direction", a.direction != b.direction),
        ("the connections", a.one_connection != b.one_connection),
        ("the number of flows", a.flows.len() != b.flows.len()),
        (
            "the traffic shape",
            shape_a.as_ref().map(|flow| &flow.0) != shape_b.as_ref().map(|flow| &flow.0),
        ),
        (
            "the packet size",
            shape_a.map(|flow| flow.1) != shape_b.map(|flow| flow.1),
        ),
    ];
    let differing = checks.into_iter().filter(|(_, differs)| *differs);
    differing.map(|(name, _)| name).collect()
}

/// Everything that is checked at the end of a run.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Checks {
    asserts: Vec<Assert>,
    baseline: Option<Baseline>,
}

impl Checks {
    /// Whether there is nothing to check.
    pub(crate) fn is_empty(&self) -> bool {
        self.asserts.is_empty() && self.baseline.is_none()
    }

    /// Adds the outcomes to a document. Returns whether all hold.
    pub(crate) fn apply(&self, document: &mut Document) -> bool {
        if self.is_empty() {
            return true;
        }
        let asserts = self.asserts.iter().map(|assert| assert.check(document));
        let mut outcomes: Vec<Assertion> = asserts.collect();
        if let Some(baseline) = &self.baseline {
            outcomes.extend(baseline.check(document));
        }
        let holds = outcomes.iter().all(|outcome| outcome.holds);
        document.assertions = Some(outcomes);
        holds
    }
}

/// The line of an outcome.
impl fmt::Display for Assertion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name_end = self.text.find(['<', '>', '=', '!']).unwrap_or(0);
        let figure = find(self.text[..name_end].trim());
        let value = match (self.value, figure) {
            (Some(value), Some(figure)) => figure.kind.show(value),
            (Some(value), None) => value.to_string(),
            (None, _) => "not known".into(),
        };
        let word = if self.holds { "ok  " } else { "FAIL" };
        write!(f, "{word} {}: {value}", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;
    use crate::schema::Transport;

    fn holds(text: &str) -> bool {
        let assert = Assert::parse(text).unwrap();
        assert.check(&sample::document()).holds
    }

    #[test]
    fn assertions_compare_figures_with_their_units() {
        let right = [
            "goodput>90M",
            "goodput >= 94.4M",
            "loss<0.1%",
            "rtt.p99<=42.9ms",
            "rtt.min>20ms",
            "ledger.lost_network==18",
            "ledger.lost_receiver_app==0",
            "ledger.unknown!=1",
            "rpm>1900.5",
        ];
        for text in right {
            assert!(holds(text), "{text}");
        }
        for text in ["goodput>900M", "loss<0.01%", "rtt.p50<20ms", "marks!=0"] {
            assert!(!holds(text), "{text}");
        }
    }

    #[test]
    fn figure_that_is_not_known_does_not_hold() {
        assert!(!holds("retransmits<1000") && !holds("retransmits>=0"));
    }

    #[test]
    fn wrong_assertions_have_hints() {
        let error = |text| Assert::parse(text).unwrap_err();
        assert_eq!(error("latncy<5ms").problem, "there is no such figure");
        assert!(
            error("latncy<5ms")
                .next
                .starts_with("did you mean rtt.p50?")
        );
        assert_eq!(error("rtt.p50<5").next, "write for example 'rtt.p50<30ms'");
        for text in ["goodput", "", "goodput=5M", "<", "goodput<"] {
            error(text);
        }
    }

    #[test]
    fn baseline_fails_only_beyond_the_noise() {
        let baseline = |noise| Baseline {
            document: sample::document(),
            noise,
        };
        let mut now = sample::document();
        assert!(
            baseline(0.0)
                .check(&now)
                .iter()
                .all(|outcome| outcome.holds)
        );
        now.summary.as_mut().unwrap().goodput_bps = Some(0.96 * 94.4e6);
        let outcomes = baseline(0.03).check(&now);
        let failed: Vec<_> = outcomes.iter().filter(|outcome| !outcome.holds).collect();
        assert_eq!(failed.len(), 1);
        assert_eq!(
            failed[0].to_string(),
            "FAIL goodput>=91.6 Mbit/s (baseline 94.4 Mbit/s): 90.6 Mbit/s"
        );
        assert!(
            baseline(0.05)
                .check(&now)
                .iter()
                .all(|outcome| outcome.holds)
        );
    }

    // goal 46: tests of different set-ups are compared only on demand.
    #[test]
    fn unlike_runs_are_refused() {
        let like = sample::document().requested;
        assert!(differences(&like, &like).is_empty());
        let mut other = like.clone();
        other.transport = Transport::Tcp;
        other.flows[0].packet_bytes = Some(1_200);
        assert_eq!(
            differences(&like, &other),
            ["the transport", "the packet size"]
        );
    }

    // goal 48: a baseline is a whole test with the same values.
    #[test]
    fn unlike_or_failed_baseline_is_a_mistake() {
        let file = BaselineFile {
            path: "before.json".into(),
            noise: 0.0,
        };
        let before = sample::document();
        let requested = before.requested.clone();
        check_baseline(&file, &before, &requested).unwrap();
        let mut failed = before.clone();
        failed.summary = None;
        let mut incomplete = before.clone();
        incomplete.status = Status::Incomplete;
        for document in [failed, incomplete] {
            let failure = check_baseline(&file, &document, &requested).unwrap_err();
            let what = "--baseline before.json: must be the result of a complete test";
            assert_eq!((failure.code, failure.what.as_str()), (2, what));
        }
        let mut reverse = requested;
        reverse.direction = crate::schema::Direction::Reverse;
        let failure = check_baseline(&file, &before, &reverse).unwrap_err();
        let what = "--baseline before.json: that test differs in the direction";
        assert_eq!((failure.code, failure.what.as_str()), (2, what));
    }

    #[test]
    fn outcomes_stand_in_the_document() {
        let mut document = sample::document();
        assert!(Checks::default().apply(&mut document) && document.assertions.is_none());
        let checks = Checks {
            asserts: vec![Assert::parse("loss<0.001%").unwrap()],
            baseline: None,
        };
        assert!(!checks.apply(&mut document));
        let outcome = &document.assertions.unwrap()[0];
        assert_eq!(outcome.to_string(), "FAIL loss<0.001%: 0.050 %");
    }
}
