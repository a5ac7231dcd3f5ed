//! The table, and the last line.

use super::Outcome;
use super::figures::{Figures, disagreements};

/// How many of a hundred cells may differ.
const MAY_DIFFER: usize = 10;

pub(super) fn header() {
    println!(
        "{:<22} {:>15} {:>15} {:>17} {:>17} {:>7}",
        "cell (ours ns-2)", "share %", "events", "queue", "Mbit/s", "ns-2"
    );
}

pub(super) fn row(outcome: &Outcome<'_>) {
    let verdict = if outcome.agrees() {
        String::new()
    } else {
        let what = disagreements(&outcome.ours, &outcome.peer).join(", ");
        format!("  differs: {what}")
    };
    let name = outcome.cell.name();
    let crashes = match outcome.crashes {
        0 => String::new(),
        n => format!("  ({n} runs that crashed left out)"),
    };
    println!(
        "{name:<22} {} {:>7}{verdict}{crashes}",
        values(&outcome.ours, &outcome.peer),
        outcome.how
    );
    if let Some((difference, switched)) = &outcome.difference {
        let still = disagreements(switched, &outcome.peer);
        let verdict = if still.is_empty() {
            "agrees".to_owned()
        } else {
            format!("still differs: {}", still.join(", "))
        };
        println!(
            "  {:<20} {}  {verdict}",
            "with the switch",
            values(switched, &outcome.peer)
        );
        println!("  {} ({})", difference.rule, difference.switch.join(" "));
    }
}

fn values(ours: &Figures, peer: &Figures) -> String {
    let pair = |ours: Option<f64>, peer: Option<f64>, width: usize| match ours.zip(peer) {
        Some((ours, peer)) => format!("{ours:>width$.1} {peer:>width$.1}"),
        None => format!("{:>width$} {:>width$}", "-", "-"),
    };
    [
        pair(ours.share, peer.share, 7),
        pair(ours.events, peer.events, 7),
        pair(Some(ours.queue), Some(peer.queue), 8),
        pair(Some(ours.goodput), Some(peer.goodput), 8),
    ]
    .join(" ")
}

/// Prints what it all comes to; whether that is well.
pub(super) fn conclude(outcomes: &[Outcome<'_>]) -> bool {
    let differing: Vec<_> = outcomes.iter().filter(|o| !o.agrees()).collect();
    let unexplained: Vec<_> = differing.iter().filter(|o| !o.is_explained()).collect();
    for outcome in &unexplained {
        println!("without a rule and a switch: {}", outcome.cell.name());
    }
    let (agree, differ) = (outcomes.len() - differing.len(), differing.len());
    println!("{agree} cells agree, {differ} differ");
    unexplained.is_empty() && 100 * differ <= MAY_DIFFER * outcomes.len()
}
