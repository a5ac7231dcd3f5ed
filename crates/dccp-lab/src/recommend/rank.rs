//! The order of stacks on a path.
//!
//! Stacks that are fast and fair enough come first. Within both groups, the least sum of places wins.

use super::measure::{Criterion, Stack};
use crate::quartiles::Quartiles;
use serde::Serialize;

/// The least part of the best goodput that is fast enough.
pub(super) const FAST: f64 = 0.9;
/// The least share that is fair enough.
pub(super) const FAIR: f64 = 0.8;

/// The stacks of a path.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct Ranking {
    /// The draws that were run.
    pub draws: usize,
    /// The stacks, the best first.
    #[serde(rename = "ranking")]
    pub stacks: Vec<Ranked>,
}

/// A stack with its numbers: `None` if they were not measured.
#[derive(Serialize, Clone, PartialEq, Debug)]
pub struct Ranked {
    /// Its name.
    pub stack: String,
    /// True if it is fast and fair enough.
    pub meets_limits: bool,
    /// The number of draws that have it first, if each is ranked alone.
    pub first_in: usize,
    /// In bits per second.
    pub goodput_bps: Option<Quartiles>,
    /// The stack's own part of the goodput.
    pub own: Option<Quartiles>,
    /// Deviation by mean.
    pub stability: Option<Quartiles>,
    /// In seconds.
    pub delay_s: Option<Quartiles>,
    /// Fairness or another share.
    pub share: Option<Quartiles>,
}

impl Ranked {
    /// The numbers of a criterion.
    pub fn of(&self, criterion: Criterion) -> Option<Quartiles> {
        match criterion {
            Criterion::Goodput => self.goodput_bps,
            Criterion::Stability => self.stability,
            Criterion::Delay => self.delay_s,
            Criterion::Share => self.share,
        }
    }
}

/// Ranks stacks by their means, and in each draw alone.
pub(super) fn ranking(stacks: &[Stack]) -> Ranking {
    let draws = stacks
        .iter()
        .map(|stack| stack.draws.len())
        .max()
        .unwrap_or(0);
    let mut first_in = vec![0; stacks.len()];
    for n in 0..draws {
        let values: Vec<Row> = stacks.iter().map(|stack| stack.draws[n].criteria).collect();
        let order = order(&values);
        let is_first = |one: &&Standing| order[0].equals(one);
        for one in order.iter().take_while(is_first) {
            // A cell that failed is no first.
            first_in[one.index] += usize::from(values[one.index][GOODPUT].is_some());
        }
    }
    let ranked = |stack: &Stack| {
        let of = |criterion: Criterion| {
            let index = criterion.index();
            quartiles(stack.draws.iter().map(|draw| draw.criteria[index]))
        };
        Ranked {
            stack: stack.name.clone(),
            meets_limits: false,
            first_in: 0,
            goodput_bps: of(Criterion::Goodput),
            own: quartiles(stack.draws.iter().map(|draw| draw.own)),
            stability: of(Criterion::Stability),
            delay_s: of(Criterion::Delay),
            share: of(Criterion::Share),
        }
    };
    let all: Vec<Ranked> = stacks.iter().map(ranked).collect();
    let mean = |ranked: &Ranked| Criterion::ALL.map(|c| ranked.of(c).map(|q| q.mean));
    let means: Vec<Row> = all.iter().map(mean).collect();
    let in_order = order(&means).into_iter();
    Ranking {
        draws,
        stacks: in_order
            .map(|one| Ranked {
                meets_limits: one.meets_limits,
                first_in: first_in[one.index],
                ..all[one.index].clone()
            })
            .collect(),
    }
}

fn quartiles(values: impl Iterator<Item = Option<f64>>) -> Option<Quartiles> {
    Quartiles::of(&values.flatten().collect::<Vec<_>>())
}

/// The numbers of a stack, in the order of [`Criterion::ALL`].
type Row = [Option<f64>; 4];

const GOODPUT: usize = Criterion::Goodput.index();
const SHARE: usize = Criterion::Share.index();

/// The standing of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Standing {
    index: usize,
    /// True if it is fast and fair enough.
    meets_limits: bool,
    /// The sum of its places.
    sum: usize,
}

impl Standing {
    /// True if only the goodput decides between two stacks, and by a negligible difference.
    fn equals(&self, other: &Self) -> bool {
        (self.meets_limits, self.sum) == (other.meets_limits, other.sum)
    }
}

/// The stacks, the best first.
fn order(rows: &[Row]) -> Vec<Standing> {
    let best = rows
        .iter()
        .filter_map(|row| row[GOODPUT])
        .fold(0.0, f64::max);
    let has_share = rows.iter().any(|row| row[SHARE].is_some());
    let meets = |row: &Row| {
        let is_fast = row[GOODPUT].is_some_and(|goodput| goodput >= FAST * best);
        is_fast && (!has_share || row[SHARE].is_some_and(|share| share >= FAIR))
    };
    let sum = |row: &Row| -> usize {
        let places = Criterion::ALL.map(|criterion| place(rows, row, criterion));
        places.iter().sum()
    };
    let standing = |(index, row): (usize, &Row)| Standing {
        index,
        meets_limits: meets(row),
        sum: sum(row),
    };
    let mut order: Vec<Standing> = rows.iter().enumerate().map(standing).collect();
    let goodput = |one: &Standing| rows[one.index][GOODPUT].unwrap_or(0.0);
    order.sort_by(|a, b| {
        let by_group = b.meets_limits.cmp(&a.meets_limits);
        let by_goodput = goodput(b).total_cmp(&goodput(a));
        by_group.then(a.sum.cmp(&b.sum)).then(by_goodput)
    });
    order
}

/// The place of a stack by one criterion: one more than the number of stacks that are noticeably better.
fn place(rows: &[Row], row: &Row, criterion: Criterion) -> usize {
    let index = criterion.index();
    let better = |other: &&Row| match (other[index], row[index]) {
        (Some(other), Some(own)) => is_better(criterion, other, own),
        (Some(_), None) => true,
        (None, _) => false,
    };
    1 + rows.iter().filter(better).count()
}

/// Whether a number is better by more than what is negligible.
fn is_better(criterion: Criterion, a: f64, b: f64) -> bool {
    match criterion {
        Criterion::Goodput => a > b * 1.02,
        Criterion::Stability => a < b - 0.02,
        Criterion::Delay => a < b - 1e-3,
        Criterion::Share => a > b + 0.01,
    }
}

#[cfg(test)]
mod tests {
    use super::super::measure::Values;
    use super::*;

    fn stack(name: &str, draws: &[Row]) -> Stack {
        let values = |criteria: &Row| Values {
            criteria: *criteria,
            own: None,
        };
        Stack {
            name: name.into(),
            draws: draws.iter().map(values).collect(),
        }
    }

    fn names(stacks: &[Stack]) -> Vec<(String, bool)> {
        let ranked = ranking(stacks).stacks.into_iter();
        ranked
            .map(|ranked| (ranked.stack, ranked.meets_limits))
            .collect()
    }

    fn owned(names: &[(&str, bool)]) -> Vec<(String, bool)> {
        let names = names.iter();
        names
            .map(|(name, meets)| ((*name).to_owned(), *meets))
            .collect()
    }

    const NONE: Option<f64> = None;

    #[test]
    fn fast_and_fair_stacks_come_first() {
        let stacks = [
            stack(
                "greedy",
                &[[Some(99e6), Some(0.01), Some(0.001), Some(0.6)]],
            ),
            stack("slow", &[[Some(50e6), Some(0.01), Some(0.001), Some(0.99)]]),
            stack("good", &[[Some(95e6), Some(0.2), Some(0.05), Some(0.9)]]),
        ];
        let wanted = owned(&[("good", true), ("greedy", false), ("slow", false)]);
        assert_eq!(names(&stacks), wanted);
    }

    #[test]
    fn sum_of_places_decides_and_small_differences_do_not_count() {
        let stacks = [
            stack("steady", &[[Some(90e6), Some(0.1), Some(0.02), NONE]]),
            stack("faster", &[[Some(91e6), Some(0.3), Some(0.02), NONE]]),
            stack("unsteady", &[[Some(96e6), Some(0.5), Some(0.06), NONE]]),
        ];
        // The first two are within 2 % of goodput, so stability decides between them.
        let order = names(&stacks).into_iter().map(|(name, _)| name);
        assert_eq!(order.collect::<Vec<_>>(), ["steady", "faster", "unsteady"]);
    }

    #[test]
    fn equal_stacks_are_first_together() {
        let row = |mbps: f64| [Some(mbps * 1e6), Some(0.1), NONE, NONE];
        let stacks = [
            stack("a", &[row(90.0), row(90.1)]),
            stack("b", &[row(90.1), row(90.0)]),
            stack("c", &[row(80.0), row(80.0)]),
        ];
        let ranking = ranking(&stacks);
        let first: Vec<usize> = ranking
            .stacks
            .iter()
            .map(|ranked| ranked.first_in)
            .collect();
        assert_eq!(first, [2, 2, 0]);
    }

    #[test]
    fn draws_are_ranked_alone() {
        let row = |mbps: f64| [Some(mbps * 1e6), NONE, NONE, NONE];
        let stacks = [
            stack("a", &[row(90.0), row(90.0), row(50.0), [NONE; 4]]),
            stack("b", &[row(50.0), row(50.0), row(120.0), [NONE; 4]]),
        ];
        let ranking = ranking(&stacks);
        let first: Vec<_> = ranking
            .stacks
            .iter()
            .map(|r| (&r.stack[..], r.first_in))
            .collect();
        assert_eq!(first, [("a", 2), ("b", 1)]);
        let goodput = ranking.stacks[0].goodput_bps.expect("goodput");
        assert_eq!((ranking.draws, goodput.count, goodput.median), (4, 3, 90e6));
        assert_eq!(ranking.stacks[0].stability, None);
    }
}
