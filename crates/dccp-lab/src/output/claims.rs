//! Claims as text: a line for each, with its mark, and below it why it is not "holds".

use super::count;
use crate::papers::{ClaimMark, ClaimVerdict, Scales, number};
use dccp_cli::wrapped;

/// Where texts begin in the table.
const INDENT: usize = 39;
const COLUMNS: usize = 120;

/// The line above the table: the results that it shows, and where they are.
pub fn heading(scales: &Scales, folder: &str) -> String {
    let count = |names: &[String]| count(names.len(), "experiment");
    match (&scales.full[..], &scales.quick[..]) {
        (full, []) => format!("full results of {} in {folder}\n", count(full)),
        ([], quick) => format!(
            "quick results of {} in {folder}: shorter runs and fewer draws\n",
            count(quick)
        ),
        (full, quick) => format!(
            "full results of {} in {folder}, and quick ones of {}\n",
            count(full),
            quick.join(", ")
        ),
    }
}

/// The table of claims, and a last line with their numbers.
pub fn of_claims(claims: &[ClaimVerdict]) -> String {
    let lines: String = claims.iter().map(of_claim).collect();
    format!("{lines}{}\n", numbers(claims))
}

/// The numbers of claims by their marks.
pub fn numbers(claims: &[ClaimVerdict]) -> String {
    let with = |mark| claims.iter().filter(|claim| claim.mark == mark).count();
    [
        count(claims.len(), "claim"),
        format!(": {} hold", with(ClaimMark::Holds)),
        format!(", {} only with an artefact", with(ClaimMark::Artefact)),
        format!(", {} fail", with(ClaimMark::Fails)),
        format!(", {} not testable", with(ClaimMark::Untestable)),
        format!(", {} open", with(ClaimMark::Open)),
    ]
    .concat()
}

/// The lines of one claim.
fn of_claim(claim: &ClaimVerdict) -> String {
    let share = claim.share.map(|share| format!("{:.0} %", share * 100.0));
    let experiments: Vec<&str> = (claim.experiments.iter())
        .map(|name| number(name))
        .collect();
    let head = format!(
        "{}  {:<12} {:>5}  {:<12} {}",
        claim.id,
        word(claim.mark),
        share.unwrap_or_else(|| "-".to_owned()),
        experiments.join(" "),
        claim.says
    );
    let failing = claim.failing.iter().map(|says| format!("fails: {says}"));
    let artefact = claim
        .artefact
        .iter()
        .map(|name| format!("only with {name}"));
    let below = artefact.chain(failing).chain(claim.remark.clone());
    let below = below.map(|line| " ".repeat(INDENT) + &line);
    let lines = core::iter::once(head).chain(below);
    lines
        .map(|line| wrapped(&line, INDENT, COLUMNS) + "\n")
        .collect()
}

/// The mark in words.
pub const fn word(mark: ClaimMark) -> &'static str {
    match mark {
        ClaimMark::Holds => "holds",
        ClaimMark::Artefact => "artefact",
        ClaimMark::Fails => "fails",
        ClaimMark::Untestable => "not testable",
        ClaimMark::Open => "open",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heading_says_which_results_are_shown() {
        use crate::scenario::Scale::{Full, Quick};
        let of = |scales: &[_]| heading(&Scales::of(scales.iter().copied()), "d");
        let two = of(&[("e01", Full), ("e02", Full)]);
        assert_eq!(two, "full results of 2 experiments in d\n");
        let quick = "quick results of 1 experiment in d: shorter runs and fewer draws\n";
        assert_eq!(of(&[("e01", Quick)]), quick);
        let mixed = of(&[("e01", Full), ("e02", Quick)]);
        assert_eq!(
            mixed,
            "full results of 1 experiment in d, and quick ones of e02\n"
        );
    }

    #[test]
    fn claim_that_fails_says_why() {
        let claim = ClaimVerdict {
            id: "C01".into(),
            says: "Reno is slow".into(),
            source: "a paper".into(),
            mark: ClaimMark::Fails,
            artefact: None,
            share: Some(0.4),
            experiments: vec!["e01-throughput".into(), "e02-long-path".into()],
            remark: Some("the queue is too long".into()),
            failing: vec!["Reno is slowest".into()],
        };
        assert_eq!(
            of_claims(&[claim]),
            "C01  fails         40 %  e01 e02      Reno is slow\n\
             \u{20}                                      fails: Reno is slowest\n\
             \u{20}                                      the queue is too long\n\
             1 claim: 0 hold, 0 only with an artefact, 1 fail, 0 not testable, 0 open\n"
        );
    }
}
