//! The page of `dccplab recommend`: which stack for which path.

use super::super::count;
use super::super::recommend::rows;
use crate::recommend::Criterion;
use crate::recommend::{Advice, PathAdvice, draws, shown};
use dccp_report::{Cell, Page, Section, Table, Tone};

/// The page. `folder` is the name of the results' folder for readers.
pub fn recommend(advice: &Advice, folder: &str) -> String {
    let mut page = Page::new("Which stack for which path")
        .subtitle(&format!("from the {} results in {folder}", advice.scale))
        .section("Summary", |section| summary(section, advice))
        .section("Rules", |section| {
            section.list(advice.rules);
        });
    for traffic in kinds(advice) {
        let own = |one: &&PathAdvice| one.path.traffic == traffic;
        let paths: Vec<&PathAdvice> = advice.paths.iter().filter(own).collect();
        page = page.section(&heading(traffic), |section| {
            for path in paths {
                of_path(section, path);
            }
        });
    }
    if !advice.missing.is_empty() {
        page = page.section("Without results", |section| missing(section, advice));
    }
    page.to_string()
}

/// The kinds of traffic, in the order of the paths.
fn kinds(advice: &Advice) -> Vec<&str> {
    let mut kinds: Vec<&str> = Vec::new();
    for path in &advice.paths {
        if !kinds.contains(&&path.path.traffic[..]) {
            kinds.push(&path.path.traffic);
        }
    }
    kinds
}

/// With a capital.
fn heading(traffic: &str) -> String {
    let mut letters = traffic.chars();
    let first = letters.next().map(char::to_uppercase).into_iter().flatten();
    first.chain(letters).collect()
}

fn summary(section: &mut Section, advice: &Advice) {
    let recommended = advice
        .paths
        .iter()
        .filter(|path| !path.recommended.is_empty());
    let (hints, clear): (Vec<_>, Vec<_>) = recommended.partition(|path| path.is_hint);
    section.lead(&format!(
        "{} of {} have a clear recommendation, and {} have a hint from few draws.",
        clear.len(),
        count(advice.paths.len(), "path"),
        hints.len()
    ));
    section.text(
        "All numbers are of our own simulations, most at 100 Mbit/s. The values that no paper gives were drawn, and the \
         quartiles show how much they matter.",
    );
    if advice.scale != "full" {
        section.text("Quick results have shorter runs and fewer draws, so take their recommendations as hints.");
    }
    let heads = [
        "path",
        "round trip",
        "window",
        "recommended",
        "goodput",
        "first in",
    ];
    let mut table = Table::words("The first stack of each path", &heads);
    for one in &advice.paths {
        let path = &one.path;
        let first = one.ranking.stacks.first();
        let goodput = first.and_then(|first| first.goodput_bps);
        let recommended = match (&one.recommended[..], first) {
            ([_, ..], _) => {
                let names = one.recommended.join(", ");
                if one.is_hint {
                    Cell::mark(Tone::Partly, &format!("◐ {names} (hint)"))
                } else {
                    Cell::mark(Tone::Good, &format!("✓ {names}"))
                }
            }
            ([], Some(first)) if first.meets_limits => {
                Cell::mark(Tone::Partly, &format!("◐ {} (not clear)", first.stack))
            }
            ([], _) => Cell::mark(Tone::Bad, "✗ none is fast and fair"),
        };
        table.row([
            Cell::from(&path.name[..]),
            Cell::from(&path.round_trip[..]),
            Cell::from(&path.window[..]),
            recommended,
            Cell::from(goodput.map_or_else(|| "–".into(), |g| shown(Criterion::Goodput, g.mean))),
            Cell::from(first.map_or_else(String::new, |first| {
                format!("{} of {}", first.first_in, draws(one.ranking.draws))
            })),
        ]);
    }
    section.table(&table);
}

fn of_path(section: &mut Section, advice: &PathAdvice) {
    let path = &advice.path;
    section.heading(&path.name).lead(&advice.recommendation);
    section.text(&format!(
        "Round trip {}; window {}; {}. From the {} results of {}, with {}.",
        path.round_trip,
        path.window,
        path.traffic,
        advice.scale.word(),
        path.experiment,
        draws(advice.ranking.draws)
    ));
    let mut rows = rows(advice).into_iter();
    let heads = rows.next().unwrap_or_default();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let caption = "Means, and in brackets the quartiles of the draws; the best stack first";
    let mut table = Table::numbers(caption, &heads);
    for row in rows {
        table.row(row);
    }
    section.table(&table).text(&advice.not_tested);
}

fn missing(section: &mut Section, advice: &Advice) {
    section.text("These commands make the results that are missing.");
    let mut table = Table::words("Paths without results", &["experiment", "paths", "command"]);
    for missing in &advice.missing {
        let problem = missing.problem.iter().map(|problem| format!("({problem})"));
        table.row([
            Cell::from(&missing.experiment[..]),
            Cell::lines(missing.paths.iter().cloned().chain(problem)),
            Cell::from(&missing.next[..]),
        ]);
    }
    section.table(&table);
}
