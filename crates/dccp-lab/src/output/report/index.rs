//! The first page of a reproduction, `index.html`: the claims of the papers, and all experiments.

use crate::judge::verdict::{AssertionVerdict, Mark};
use crate::output::claims::{numbers, word};
use crate::papers::{ClaimMark, ClaimVerdict, Scales, number};
use crate::scenario::Scale;
use core::time::Duration;
use dccp_report::{Cell, Link, Page, Section, Table, Tone};

/// The name of the page in the folder.
pub const INDEX: &str = "index.html";

/// An experiment in the list.
#[derive(Clone, PartialEq, Debug)]
pub struct Listed {
    /// Its name, such as `e01-throughput`.
    pub name: String,
    /// Its subject.
    pub title: String,
    /// The file of its page, if there is one.
    pub page: Option<String>,
    /// Its size.
    pub scale: Scale,
    /// Cells in the result.
    pub cells: usize,
    /// Those that failed.
    pub failed: usize,
    /// The time of all cells in the simulated network.
    pub virtual_time: Duration,
    /// The time that the program needed, if it is known.
    pub run_time: Option<Duration>,
    /// The outcome of each assertion.
    pub assertions: Vec<AssertionVerdict>,
}

/// The page. `folder` is the name of the results' folder for readers.
pub fn index(experiments: &[Listed], claims: &[ClaimVerdict], folder: &str) -> String {
    let scales = Scales::of(experiments.iter().map(|one| (&one.name[..], one.scale)));
    let subtitle = crate::output::claims::heading(&scales, folder);
    Page::new("Claims of the source papers, and our experiments")
        .subtitle(subtitle.trim_end())
        .section("Summary", |section| summary(section, claims, &scales))
        .section("Claims", |section| {
            section.table(&of_claims(claims, experiments));
        })
        .section("Experiments", |section| {
            section.table(&of_experiments(experiments));
        })
        .section("Marks", marks)
        .to_string()
}

fn summary(section: &mut Section, claims: &[ClaimVerdict], scales: &Scales) {
    section.lead(&format!("{}.", numbers(claims)));
    if !scales.quick.is_empty() {
        section.text(
            "Quick results have shorter runs and fewer draws. A mark can change with the full ones, which \
             dccplab reproduce makes.",
        );
    }
    section.text(
        "Most experiments use 100 Mbit/s in place of the papers' 465, with windows and queues at the same multiples of \
         rate × round trip. Values that a paper does not give are drawn for each repetition.",
    );
}

/// The page of an experiment, as a link with its number.
fn link(name: &str, experiments: &[Listed]) -> Option<Link> {
    let one = experiments.iter().find(|one| one.name == name)?;
    Some(Link {
        file: one.page.clone()?,
        text: number(name).to_owned(),
    })
}

fn of_claims(claims: &[ClaimVerdict], experiments: &[Listed]) -> Table {
    let heads = [
        "claim",
        "mark",
        "share of draws",
        "says",
        "experiments",
        "findings",
    ];
    let caption = "Each claim with its mark, the least share of draws that agree, and our findings";
    let mut table = Table::words(caption, &heads);
    for claim in claims {
        let share = claim.share.map(|share| format!("{:.0} %", share * 100.0));
        let links: Option<Vec<Link>> = (claim.experiments.iter())
            .map(|name| link(name, experiments))
            .collect();
        let names = || claim.experiments.iter().map(|name| number(name));
        table.row([
            Cell::from(&claim.id[..]),
            of_mark(claim.mark),
            Cell::from(share.unwrap_or_else(|| "–".into())),
            Cell::lines([claim.says.clone(), format!("({})", claim.source)]),
            links.map_or_else(
                || Cell::from(names().collect::<Vec<_>>().join(" ")),
                Cell::links,
            ),
            Cell::lines(findings(claim)),
        ]);
    }
    table
}

/// Each finding in a line.
fn findings(claim: &ClaimVerdict) -> Vec<String> {
    let artefact = claim.artefact.iter();
    let artefact = artefact.map(|name| format!("Only with: {name}."));
    let failing = claim.failing.iter().map(|says| format!("Fails: {says}."));
    let remark = claim.remark.iter().map(|remark| sentence(remark));
    artefact.chain(failing).chain(remark).collect()
}

/// A remark as a sentence of its own.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase).into_iter().flatten();
    let text: String = first.chain(letters).collect();
    if text.ends_with('.') {
        text
    } else {
        text + "."
    }
}

fn of_mark(mark: ClaimMark) -> Cell {
    let (tone, sign) = match mark {
        ClaimMark::Holds => (Tone::Good, "✓"),
        ClaimMark::Artefact => (Tone::Partly, "◐"),
        ClaimMark::Fails => (Tone::Bad, "✗"),
        ClaimMark::Untestable => (Tone::Neutral, "–"),
        ClaimMark::Open => (Tone::Neutral, "?"),
    };
    Cell::mark(tone, &format!("{sign} {}", word(mark)))
}

fn of_experiments(experiments: &[Listed]) -> Table {
    let heads = [
        "experiment",
        "subject",
        "results",
        "cells",
        "assertions that hold",
        "run time",
        "simulated time",
    ];
    let caption = "The experiments in this folder; each name leads to the page of its results";
    let mut table = Table::words(caption, &heads);
    for one in experiments {
        let name = match &one.page {
            Some(page) => Cell::links([Link {
                file: page.clone(),
                text: one.name.clone(),
            }]),
            None => Cell::from(&one.name[..]),
        };
        let cells = match one.failed {
            0 => one.cells.to_string(),
            failed => format!("{}, {failed} failed", one.cells),
        };
        let run_time = one.run_time.map(duration);
        table.row([
            name,
            Cell::from(&one.title[..]),
            Cell::from(one.scale.word()),
            Cell::from(cells),
            of_assertions(&one.assertions),
            Cell::from(run_time.unwrap_or_else(|| "–".into())),
            Cell::from(duration(one.virtual_time)),
        ]);
    }
    table
}

/// `3 of 4`, with a colour.
fn of_assertions(assertions: &[AssertionVerdict]) -> Cell {
    let held = assertions.iter().filter(|one| one.mark == Mark::Holds);
    let (held, all) = (held.count(), assertions.len());
    let tone = match held {
        _ if all == 0 => Tone::Neutral,
        held if held == all => Tone::Good,
        0 => Tone::Bad,
        _ => Tone::Partly,
    };
    Cell::mark(tone, &format!("{held} of {all}"))
}

fn marks(section: &mut Section) {
    let mut table = Table::words("What the marks mean", &["mark", "meaning"]);
    let meanings = [
        (
            ClaimMark::Holds,
            "Each assertion about the claim holds in enough draws, mostly 80 %, and for the means over all.",
        ),
        (
            ClaimMark::Artefact,
            "The claim holds only with hosts of its time, such as Linux 2.4's reaction to a full interface.",
        ),
        (
            ClaimMark::Fails,
            "Some assertion does not hold. The findings name it.",
        ),
        (ClaimMark::Untestable, "No run can decide the claim."),
        (
            ClaimMark::Open,
            "No experiment in this folder tests the claim, or some of its cells are missing.",
        ),
    ];
    for (mark, meaning) in meanings {
        table.row([of_mark(mark), Cell::from(meaning)]);
    }
    section.table(&table).text(
        "The share of draws is that of the assertion with the least agreement. Run time is that of this machine; \
         cells that were kept from an earlier run add theirs.",
    );
}

/// A time in words that suit its length.
fn duration(time: Duration) -> String {
    let s = time.as_secs();
    match (s / 3600, s / 60 % 60, s % 60) {
        (0, 0, 0) => "< 1 s".to_owned(),
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(mark: ClaimMark) -> ClaimVerdict {
        ClaimVerdict {
            id: "C01".into(),
            says: "Reno is slow".into(),
            source: "a paper".into(),
            mark,
            artefact: None,
            share: Some(0.4),
            experiments: vec!["e01-throughput".into()],
            remark: Some("the queue is long".into()),
            failing: vec!["Reno is slowest".into()],
        }
    }

    fn listed(page: Option<&str>) -> Listed {
        Listed {
            name: "e01-throughput".into(),
            title: "E01: throughput".into(),
            page: page.map(str::to_owned),
            scale: Scale::Quick,
            cells: 96,
            failed: 2,
            virtual_time: Duration::from_mins(192),
            run_time: Some(Duration::from_secs(75)),
            assertions: Vec::new(),
        }
    }

    #[test]
    fn index_has_marks_links_and_findings() {
        let html = index(
            &[listed(Some("e01-throughput.html"))],
            &[claim(ClaimMark::Fails)],
            "d",
        );
        for wanted in [
            "<span class=\"mark bad\">✗ fails</span>",
            "<a href=\"./e01-throughput.html\">e01</a>",
            "<a href=\"./e01-throughput.html\">e01-throughput</a>",
            "Fails: Reno is slowest.<br/>The queue is long.",
            "<td>96, 2 failed</td>",
            "<td>1 min 15 s</td><td>3 h 12 min</td>",
            "quick results of 1 experiment in d",
        ] {
            assert!(html.contains(wanted), "no {wanted}");
        }
    }

    #[test]
    fn experiment_without_a_page_has_no_link() {
        let html = index(&[listed(None)], &[claim(ClaimMark::Holds)], "d");
        assert!(!html.contains(".html\""), "{html}");
        assert!(html.contains("<td>e01</td>"));
    }

    #[test]
    fn times_have_words() {
        let words = [0, 42, 61, 3_600 * 5 + 60 * 7].map(|s| duration(Duration::from_secs(s)));
        assert_eq!(words, ["< 1 s", "42 s", "1 min 1 s", "5 h 7 min"]);
    }
}
