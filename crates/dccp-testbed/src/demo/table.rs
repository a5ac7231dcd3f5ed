//! The two flows beside each other, second by second, then in sum.

use super::result::{Document, Interval, Total};
use super::{APART_S, CCIDS};

/// Prints both tables. A row of the first one adds up `intervals_per_row` intervals.
pub(super) fn print(documents: &[(String, Document)], intervals_per_row: usize) {
    print!("\n  time ");
    for ccid in CCIDS {
        print!(" | CCID {ccid}: Mbit/s  RTT ms  lost");
    }
    println!();
    let rows = documents.iter().enumerate().map(|(n, (_, document))| {
        let before = std::iter::repeat_n(None, n * APART_S as usize);
        before.chain(document.intervals.chunks(intervals_per_row).map(Some))
    });
    let mut rows: Vec<_> = rows.collect();
    let mut second = 0;
    loop {
        let row: Vec<_> = rows.iter_mut().map(|rows| rows.next().flatten()).collect();
        if row.iter().all(Option::is_none) {
            break;
        }
        print!("{second:>4} s ");
        second += 1;
        for intervals in row {
            print!(" | {:>29}", intervals.map(cells).unwrap_or_default());
        }
        println!();
    }
    println!("\n           goodput Mbit/s   lost packets     RTT p50 / p99 ms");
    for (ccid, (_, document)) in CCIDS.iter().zip(documents) {
        for total in &document.summary.flows {
            println!("  CCID {ccid} {}", sum(total));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn cells(intervals: &[Interval]) -> String {
    let mean = |of: fn(&Interval) -> f64| {
        let known: Vec<f64> = intervals
            .iter()
            .map(of)
            .filter(|value| value.is_finite())
            .collect();
        known.iter().sum::<f64>() / known.len() as f64
    };
    let lost: u64 = intervals.iter().map(Interval::lost).sum();
    format!(
        "{:>6.1}  {:>6.1} {lost:>5}",
        mean(Interval::rate_mbit_per_s),
        mean(Interval::rtt_ms)
    )
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn sum(total: &Total) -> String {
    let rtt = total.rtt.as_ref().and_then(|rtt| rtt.network_ns.as_ref());
    let rtt = rtt.and_then(|rtt| Some((rtt.p50?, rtt.p99?)));
    let rtt = rtt.map_or("-".to_owned(), |(p50, p99)| {
        format!("{:.1} / {:.1}", p50 as f64 / 1e6, p99 as f64 / 1e6)
    });
    let (lost, sent) = (total.ledger.lost_network, total.ledger.sent);
    format!(
        "{:>17.1} {lost:>8} of {sent} {rtt:>16}",
        total.goodput_bps / 1e6
    )
}
