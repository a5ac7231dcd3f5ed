//! `cargo xtask instructions`: fails if a packet costs more instructions than stored, and names the functions.

use std::collections::BTreeMap;
use std::thread;

use anyhow::{Context, Result, anyhow};
use serde::{Deserialize, Serialize};

use dccp_dev::instructions::{Case, Cost, checksum, prepare};

const STORED: &str = "xtask/instructions.toml";
/// The largest permitted growth.
const GROWTH_MAX: f64 = 0.05;
/// A packet of CCID 248 costs at most this multiple of one of CCID 2, at both ends together.
const SAFE_UDP_MAX: f64 = 1.3;
/// The losses of the runs with CCID 248.
const SAFE_UDP: &str = "safeudp";
/// Functions with a smaller part of the whole are not stored, and not named.
const SMALL: f64 = 0.005;
/// Functions that are named.
const NAMED: usize = 10;
/// Bytes under a checksum.
const SHORT: u64 = 96;
const LONG: u64 = 1400;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Store what is counted now
    #[arg(long)]
    update: bool,
}

impl Args {
    /// Compare only.
    pub(crate) fn comparing() -> Self {
        Self { update: false }
    }
}

/// The stored costs, by name.
type Stored = BTreeMap<String, Entry>;

#[derive(Serialize, Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Entry {
    total: f64,
    functions: BTreeMap<String, f64>,
}

pub(crate) fn run(args: &Args) -> Result<bool> {
    prepare()?;
    let counted = count()?;
    let mut is_well = compare_ccids(&counted);
    if args.update {
        std::fs::write(STORED, text(&counted)?).context(STORED)?;
        return Ok(is_well);
    }
    let stored = std::fs::read_to_string(STORED).context(STORED)?;
    let stored: Stored = toml::from_str(&stored).context(STORED)?;
    for (name, cost) in &counted {
        let Some(before) = stored.get(name) else {
            println!("{name}: {:.2} instructions, and nothing stored", cost.total);
            is_well = false;
            continue;
        };
        let growth = cost.total / before.total - 1.0;
        let percent = 100.0 * growth;
        println!("{name}: {:.2} instructions, {percent:+.1} %", cost.total);
        if growth > GROWTH_MAX {
            is_well = false;
            for (function, more) in grown(before, cost) {
                println!("  {more:+.2} in {function}");
            }
        }
    }
    if !is_well {
        println!("If it must cost that: cargo xtask instructions --update");
    }
    Ok(is_well)
}

/// Compares a packet of CCID 248 with one of CCID 2.
fn compare_ccids(counted: &BTreeMap<String, Cost>) -> bool {
    let ratios = [100, 10_000].map(|window| {
        let both_ends = |losses| -> f64 {
            let cases = ["sender", "receiver"].map(|end| Case {
                end,
                window,
                losses,
            });
            cases.iter().map(|c| counted[&c.to_string()].total).sum()
        };
        let ratio = both_ends(Some(SAFE_UDP)) / both_ends(None);
        println!("{window} in flight: CCID 248 costs {ratio:.2} times CCID 2");
        ratio
    });
    ratios.iter().all(|ratio| *ratio <= SAFE_UDP_MAX)
}

/// A packet at both ends, in small windows, in large ones, and where a slow start overshoots; a byte of the
/// header checksum.
fn count() -> Result<BTreeMap<String, Cost>> {
    let mut counted = thread::scope(|scope| {
        let sender = scope.spawn(|| at_end("sender"));
        let mut counted = at_end("receiver")?;
        counted.extend(sender.join().map_err(|_| anyhow!("a thread panicked"))??);
        anyhow::Ok(counted)
    })?;
    counted.insert(format!("checksum, a byte of {SHORT}"), checksum(SHORT)?);
    // Wide registers are not asked for short packets; other processors sum long ones in the same way.
    if std::arch::is_x86_feature_detected!("avx2") {
        let name = format!("checksum, a byte of {LONG}, AVX2");
        counted.insert(name, checksum(LONG)?);
    }
    Ok(counted)
}

/// A packet at one end.
fn at_end(end: &'static str) -> Result<BTreeMap<String, Cost>> {
    let cases = [
        (100, None),
        (100, Some(SAFE_UDP)),
        (10_000, None),
        (10_000, Some(SAFE_UDP)),
        (10_000, Some("overshoot")),
    ];
    let cases = cases.map(|(window, losses)| Case {
        end,
        window,
        losses,
    });
    cases
        .iter()
        .map(|case| Ok((case.to_string(), case.cost()?)))
        .collect()
}

/// The functions that cost more than they did, the worst first.
fn grown<'a>(before: &Entry, cost: &'a Cost) -> Vec<(&'a str, f64)> {
    let more = |(name, instructions): (&'a String, &f64)| {
        let before = before.functions.get(name).unwrap_or(&0.0);
        (name.as_str(), instructions - before)
    };
    let mut grown: Vec<_> = cost.functions.iter().map(more).collect();
    grown.retain(|(_, more)| *more > SMALL * cost.total);
    grown.sort_by(|a, b| b.1.total_cmp(&a.1));
    grown.truncate(NAMED);
    grown
}

fn text(counted: &BTreeMap<String, Cost>) -> Result<String> {
    let entry = |cost: &Cost| {
        let rounded = |value: f64| (value * 1000.0).round() / 1000.0;
        let large = cost.functions.iter();
        let large = large.filter(|(_, instructions)| **instructions > SMALL * cost.total);
        Entry {
            total: rounded(cost.total),
            functions: large.map(|(name, n)| (name.clone(), rounded(*n))).collect(),
        }
    };
    let stored: Stored = counted
        .iter()
        .map(|(name, cost)| (name.clone(), entry(cost)))
        .collect();
    let head = "# Instructions of the core, by `cargo xtask instructions --update`.\n\n";
    Ok(head.to_owned() + &toml::to_string(&stored)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(total: f64, functions: &[(&str, f64)]) -> Cost {
        let functions = functions.iter().map(|(name, n)| ((*name).to_owned(), *n));
        Cost {
            total,
            functions: functions.collect(),
        }
    }

    #[test]
    fn what_grew_is_named_the_worst_first() {
        let before = cost(100.0, &[("a", 50.0), ("b", 30.0), ("c", 20.0)]);
        let stored = text(&BTreeMap::from([("x".to_owned(), before)])).unwrap();
        let stored: Stored = toml::from_str(&stored).unwrap();
        let now = cost(
            130.0,
            &[("a", 55.0), ("b", 30.1), ("c", 10.0), ("new", 35.0)],
        );
        assert_eq!(grown(&stored["x"], &now), [("new", 35.0), ("a", 5.0)]);
    }
}
