//! Verdicts as text: a line for each assertion, and below it the groups that disagree.

use crate::judge::verdict::{AssertionVerdict, Group, Mark};

/// The lines of all assertions; nothing if there are none.
pub fn of_assertions(assertions: &[AssertionVerdict]) -> String {
    if assertions.is_empty() {
        return String::new();
    }
    let lines: String = assertions.iter().map(of_assertion).collect();
    format!("\n{lines}")
}

fn of_assertion(assertion: &AssertionVerdict) -> String {
    let claim = assertion.claim.as_ref().map(|claim| format!("{claim}: "));
    let (claim, says) = (claim.unwrap_or_default(), &assertion.says);
    let share = match (assertion.share, &assertion.problem) {
        (Some(_), _) => held(assertion),
        (None, Some(problem)) => format!(" ({problem})"),
        (None, None) => " (some cells are missing)".to_owned(),
    };
    let mark = match assertion.mark {
        Mark::Holds => "holds",
        Mark::Fails => "fails",
        Mark::Unknown => "open ",
    };
    let is_short = |group: &&Group| group.held < assertion.repetitions;
    let groups = assertion.groups.iter().filter(is_short);
    let groups = groups.filter(|_| assertion.mark == Mark::Fails);
    let groups: String = groups
        .map(|group| line_of_group(group, assertion.repetitions))
        .collect();
    format!("{mark}  {claim}{says}{share}\n{groups}")
}

/// In how many repetitions an assertion holds, if there are several.
fn held(assertion: &AssertionVerdict) -> String {
    let all = assertion.repetitions;
    if all < 2 {
        return String::new();
    }
    #[expect(clippy::cast_precision_loss, reason = "at most 10,000")]
    let held = assertion.share.unwrap_or(0.0) * all as f64;
    let of_means = match assertion.holds_for_means {
        Some(false) => ", not for the means",
        _ => "",
    };
    format!(" (in {held:.0} of {all} repetitions{of_means})")
}

fn line_of_group(group: &Group, repetitions: usize) -> String {
    let place = group.place.iter();
    let place: Vec<String> = place
        .map(|(axis, label)| format!("{axis}={label}"))
        .collect();
    let place = if place.is_empty() {
        "all".to_owned()
    } else {
        place.join(", ")
    };
    let number = |value: Option<f64>| value.map_or("unknown".to_owned(), four_digits);
    let (left, right) = (number(group.left), number(group.right));
    let held = group.held;
    format!("       {place}: {left} against {right}, held in {held} of {repetitions}\n")
}

/// A number with four digits.
pub(super) fn four_digits(value: f64) -> String {
    let size = value.abs();
    if (1e-3..1e4).contains(&size) || value == 0.0 {
        let digits: f64 = format!("{value:.3e}").parse().unwrap_or(value);
        return digits.to_string();
    }
    format!("{value:.3e}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Expectation;
    use std::collections::BTreeMap;

    fn verdict(mark: Mark, held: usize) -> AssertionVerdict {
        AssertionVerdict {
            claim: Some("C01".into()),
            kind: Expectation::Order,
            says: "Reno is slowest".into(),
            that: String::new(),
            artefact: None,
            mark,
            share: Some(0.6),
            repetitions: 5,
            holds_for_means: Some(false),
            groups: vec![Group {
                place: BTreeMap::from([("window".into(), "4MiB".into())]),
                held,
                left: Some(123_456.0),
                right: Some(0.5),
            }],
            problem: None,
        }
    }

    #[test]
    fn failed_assertion_shows_where_it_does_not_hold() {
        let unknown = AssertionVerdict {
            claim: None,
            share: None,
            problem: Some("no cells are left to compare".into()),
            ..verdict(Mark::Unknown, 0)
        };
        assert_eq!(
            of_assertions(&[verdict(Mark::Fails, 3), unknown]),
            "\nfails  C01: Reno is slowest (in 3 of 5 repetitions, not for the means)\n       \
             window=4MiB: 1.235e5 against 0.5, held in 3 of 5\n\
             open   Reno is slowest (no cells are left to compare)\n"
        );
        assert_eq!(of_assertions(&[]), "");
    }
}
