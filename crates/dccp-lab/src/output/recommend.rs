//! Rankings of stacks as text: a table and two sentences for each path.

use super::table::aligned;
use crate::quartiles::Quartiles;
use crate::recommend::{Advice, Criterion, PathAdvice, Ranked, bare, draws, heading};

/// All paths, then the experiments that are missing.
pub fn of_advice(advice: &Advice) -> String {
    let paths: Vec<String> = advice.paths.iter().map(of_path).collect();
    let mut text = paths.join("\n");
    if !advice.missing.is_empty() {
        text.push_str("\nWithout results:\n");
    }
    for missing in &advice.missing {
        let problem = missing
            .problem
            .iter()
            .map(|problem| format!(" ({problem})"));
        text.extend([&missing.experiment[..], &problem.collect::<String>(), ": "]);
        text.extend([&missing.paths.join("; "), "\n next: ", &missing.next, "\n"]);
    }
    text
}

fn of_path(advice: &PathAdvice) -> String {
    let path = &advice.path;
    let head = format!(
        "{}\n  round trip {}, window {}, {}; {} results of {}, {}\n",
        path.name,
        path.round_trip,
        path.window,
        path.traffic,
        advice.scale.word(),
        path.experiment,
        draws(advice.ranking.draws)
    );
    let table = aligned(&rows(advice));
    format!(
        "{head}{table}  {}\n  {}\n",
        advice.recommendation, advice.not_tested
    )
}

/// The table of a path: the headings, then a row for each stack.
pub(super) fn rows(advice: &PathAdvice) -> Vec<Vec<String>> {
    let stacks = &advice.ranking.stacks;
    let criteria = Criterion::ALL.into_iter();
    let is_measured = |c: &Criterion| stacks.iter().any(|ranked| ranked.of(*c).is_some());
    let measured: Vec<Criterion> = criteria.filter(is_measured).collect();
    let has_own = stacks.iter().any(|ranked| ranked.own.is_some());
    let mut heads = vec!["stack".to_owned()];
    heads.extend(measured.iter().map(|c| heading(&advice.path, *c)));
    heads.extend(has_own.then(|| "own part".to_owned()));
    heads.extend(["fast and fair".to_owned(), "first in".to_owned()]);
    let row = |ranked: &Ranked| {
        let mut row = vec![ranked.stack.clone()];
        row.extend(measured.iter().map(|c| spread(*c, ranked.of(*c))));
        row.extend(has_own.then(|| spread(Criterion::Share, ranked.own)));
        row.push(if ranked.meets_limits { "yes" } else { "no" }.to_owned());
        row.push(format!("{} of {}", ranked.first_in, advice.ranking.draws));
        row
    };
    core::iter::once(heads)
        .chain(stacks.iter().map(row))
        .collect()
}

/// A mean with the quartiles of the draws.
fn spread(criterion: Criterion, numbers: Option<Quartiles>) -> String {
    let Some(numbers) = numbers else {
        return "–".to_owned();
    };
    let of = |value| bare(criterion, value);
    if numbers.count < 2 {
        return of(numbers.mean);
    }
    format!(
        "{} ({} to {})",
        of(numbers.mean),
        of(numbers.lower),
        of(numbers.upper)
    )
}
