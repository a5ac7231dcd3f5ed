//! Recommendations as sentences, by rules that pages show.

use super::Path;
use super::measure::Criterion;
use super::rank::{Ranked, Ranking};
use dccp_proto::number::to_f64;

/// A recommended stack is first in at least this share of the draws.
const CLEAR: f64 = 0.8;
/// Fewer draws give only a hint.
const DRAWS: usize = 5;
/// A stack with less than this part of the best goodput is one to avoid.
const SLOW: f64 = 0.5;

/// The rules in words.
pub const RULES: [&str; 7] = [
    "A stack is fast enough if its mean goodput is at least 90 % of the best on the path.",
    "On a shared path, goodput is that of all flows together, and the stack must also be fair enough: its share is at least 0.8.",
    "Stacks that are fast and fair enough come first.",
    "Within both groups, each of goodput, stability, delay and share gives a place; the least sum of places wins.",
    "Places are equal within 2 % of goodput, 0.02 of stability, 1 ms of delay and 0.01 of share.",
    "A stack is recommended if it is fast and fair enough, and first in 80 % of the draws, each ranked alone. Equals share a place.",
    "With fewer than five draws, a recommendation is a hint.",
];

/// The stacks that the rules recommend: of several, each is as good as the others.
pub(super) fn recommended(ranking: &Ranking) -> Vec<&Ranked> {
    let draws = to_f64(ranking.draws as u64);
    let is_clear = |ranked: &&Ranked| to_f64(ranked.first_in as u64) >= CLEAR * draws;
    let stacks = ranking.stacks.iter();
    stacks
        .take_while(|ranked| ranked.meets_limits && is_clear(ranked))
        .collect()
}

/// True if there are too few draws for more than a hint.
pub(super) fn is_hint(ranking: &Ranking) -> bool {
    ranking.draws < DRAWS
}

/// The recommendation in words.
pub(super) fn recommendation(path: &Path, ranking: &Ranking) -> String {
    let [first, others @ ..] = &ranking.stacks[..] else {
        return "No stack has numbers on this path.".to_owned();
    };
    let numbers = numbers(path, first);
    let name = &first.stack;
    let in_draws = format!("{} of {}", first.first_in, draws(ranking.draws));
    let lead = match &recommended(ranking)[..] {
        [_] => format!("Use {name}: {numbers}. It is first in {in_draws}."),
        [_, equals @ ..] => {
            let equals: Vec<&str> = equals.iter().map(|ranked| &ranked.stack[..]).collect();
            format!(
                "Use {name}: {numbers}. Equally good: {}.",
                equals.join(", ")
            )
        }
        [] if first.meets_limits => {
            let second = others.first().filter(|second| second.meets_limits);
            let second = second.map(|second| format!(" {} follows.", second.stack));
            format!(
                "No clear choice: {name} leads with {numbers}, but is first in only {in_draws}.{}",
                second.unwrap_or_default()
            )
        }
        [] => format!("No stack is both fast and fair enough. {name} comes nearest: {numbers}."),
    };
    let hint = is_hint(ranking).then(|| format!("With {}, this is a hint.", draws(ranking.draws)));
    let parts = [Some(lead), avoid(ranking), hint];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The means of a stack, and the quartiles of its goodput.
fn numbers(path: &Path, ranked: &Ranked) -> String {
    let mut parts = Vec::new();
    for criterion in Criterion::ALL {
        let Some(numbers) = ranked.of(criterion) else {
            continue;
        };
        let value = shown(criterion, numbers.mean);
        parts.push(match criterion {
            Criterion::Goodput => format!(
                "{value} (quartiles {} to {})",
                bare(criterion, numbers.lower),
                bare(criterion, numbers.upper)
            ),
            criterion => format!("{} {value}", title(path, criterion)),
        });
    }
    parts.join(", ")
}

/// Stacks that are much slower than the best.
fn avoid(ranking: &Ranking) -> Option<String> {
    let mean = |ranked: &Ranked| ranked.goodput_bps.map(|goodput| goodput.mean);
    let best = ranking.stacks.iter().filter_map(mean).fold(0.0, f64::max);
    let slow = ranking.stacks.iter().filter_map(|ranked| {
        let part = mean(ranked)? / best;
        (part < SLOW).then(|| format!("{} ({:.0} %)", ranked.stack, part * 100.0))
    });
    let slow: Vec<String> = slow.collect();
    (!slow.is_empty()).then(|| format!("Below half of the best goodput: {}.", slow.join(", ")))
}

/// The sentence about tests that are missing, and one about numbers that are.
pub(super) fn not_tested(path: &Path, ranking: &Ranking) -> String {
    let is_missing = |c: &Criterion| ranking.stacks.iter().all(|ranked| ranked.of(*c).is_none());
    let missing = Criterion::ALL.into_iter().filter(is_missing);
    let missing: Vec<&str> = missing.map(|criterion| title(path, criterion)).collect();
    let tests = format!("Not tested: {}.", path.untested);
    match &missing[..] {
        [] => tests,
        missing => format!("{tests} Not measured: {}.", missing.join(", ")),
    }
}

/// The name of a criterion on a path.
fn title(path: &Path, criterion: Criterion) -> &str {
    match criterion {
        Criterion::Goodput => "goodput",
        Criterion::Stability => "stability",
        Criterion::Delay => path.delay_of.as_deref().unwrap_or("added delay"),
        Criterion::Share => path.share_of.as_deref().unwrap_or("fairness to Reno"),
    }
}

/// The name of a criterion on a path, with the unit of its numbers.
pub fn heading(path: &Path, criterion: Criterion) -> String {
    let title = title(path, criterion);
    match unit(criterion) {
        "" => title.to_owned(),
        unit => format!("{title}, {unit}"),
    }
}

const fn unit(criterion: Criterion) -> &'static str {
    match criterion {
        Criterion::Goodput => "Mbit/s",
        Criterion::Delay => "ms",
        Criterion::Stability | Criterion::Share => "",
    }
}

/// A number of a criterion with its unit.
pub fn shown(criterion: Criterion, value: f64) -> String {
    let text = bare(criterion, value) + " " + unit(criterion);
    text.trim_end().to_owned()
}

/// A number of a criterion without its unit.
pub fn bare(criterion: Criterion, value: f64) -> String {
    match criterion {
        Criterion::Goodput if value < 1e7 => format!("{:.2}", value / 1e6),
        Criterion::Goodput => format!("{:.1}", value / 1e6),
        Criterion::Stability => format!("{value:.3}"),
        Criterion::Delay => format!("{:.1}", value * 1e3),
        Criterion::Share => format!("{value:.2}"),
    }
}

/// `1 draw`, `50 draws`.
pub fn draws(count: usize) -> String {
    format!("{count} draw{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::super::paths;
    use super::super::rank::{FAIR, FAST};
    use super::*;
    use crate::quartiles::Quartiles;

    fn ranked(stack: &str, mbps: f64, meets_limits: bool, first_in: usize) -> Ranked {
        Ranked {
            stack: stack.into(),
            meets_limits,
            first_in,
            goodput_bps: Quartiles::of(&[mbps * 1e6, mbps * 1e6]),
            own: None,
            stability: Quartiles::of(&[0.05]),
            delay_s: None,
            share: None,
        }
    }

    fn said(draws: usize, stacks: Vec<Ranked>) -> String {
        let path = paths().remove(0);
        recommendation(&path, &Ranking { draws, stacks })
    }

    #[test]
    fn clear_winner_is_recommended_and_slow_stacks_are_named() {
        let stacks = vec![
            ranked("bic", 90.0, true, 45),
            ranked("reno", 36.0, false, 5),
        ];
        assert_eq!(
            said(50, stacks),
            "Use bic: 90.0 Mbit/s (quartiles 90.0 to 90.0), stability 0.050. It is first in 45 of 50 \
             draws. Below half of the best goodput: reno (40 %)."
        );
    }

    #[test]
    fn close_race_and_missing_fairness_have_their_own_words() {
        let stacks = vec![
            ranked("bic", 90.0, true, 20),
            ranked("fast", 89.0, true, 30),
        ];
        let close = said(50, stacks);
        assert!(
            close.starts_with("No clear choice: bic leads with 90.0 Mbit/s"),
            "{close}"
        );
        assert!(
            close.ends_with("but is first in only 20 of 50 draws. fast follows."),
            "{close}"
        );
        let equal = vec![ranked("bic", 90.0, true, 5), ranked("fast", 89.9, true, 5)];
        assert!(said(5, equal).ends_with("stability 0.050. Equally good: fast."));
        let none = said(1, vec![ranked("bic", 90.0, false, 1)]);
        assert!(
            none.starts_with("No stack is both fast and fair enough. bic comes nearest"),
            "{none}"
        );
        assert!(none.ends_with("With 1 draw, this is a hint."), "{none}");
    }

    #[test]
    fn rules_name_the_limits() {
        let rules = RULES.join(" ");
        for limit in [FAST, CLEAR].map(|share| format!("{:.0} %", share * 100.0)) {
            assert!(rules.contains(&limit), "no {limit}");
        }
        assert!(rules.contains(&format!("at least {FAIR}")));
    }

    #[test]
    fn numbers_that_are_missing_are_named() {
        let path = paths().remove(0);
        let ranking = Ranking {
            draws: 2,
            stacks: vec![ranked("bic", 90.0, true, 2)],
        };
        let said = not_tested(&path, &ranking);
        assert!(
            said.starts_with("Not tested: queues shorter than 50 ms"),
            "{said}"
        );
        assert!(
            said.ends_with("Not measured: added delay, fairness to Reno."),
            "{said}"
        );
    }
}
