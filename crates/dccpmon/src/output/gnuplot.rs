//! Columns for gnuplot in the order of thrulay: times in seconds, the rate in Mbit/s, delays in milliseconds.
//!
//! An unknown value is `?`, which gnuplot leaves out with `set datafile missing "?"`.

use crate::schema::{Document, Interval, IntervalFlow};
use dccp::proto::number::to_f64;
use dccp_stats::Spread;

pub(crate) fn head() -> String {
    "# set datafile missing \"?\"\n\
     # flow begin end Mb/s rtt_min rtt_avg rtt_max queue_avg lost"
        .into()
}

pub(crate) fn interval(interval: &Interval) -> Vec<String> {
    let flows = interval.flows.iter();
    flows.map(|flow| row(interval, flow)).collect()
}

fn row(interval: &Interval, flow: &IntervalFlow) -> String {
    let rtt = flow.rtt_ns.as_ref();
    format!(
        "{:>3} {:>9.3} {:>9.3} {:>9} {:>9} {:>9} {:>9} {:>9} {:>6}",
        flow.id,
        to_f64(interval.t0_ns) / 1e9,
        to_f64(interval.t1_ns) / 1e9,
        number(flow.goodput_bps.map(|bps| bps / 1e6)),
        number(rtt.map(|rtt| to_f64(rtt.min) / 1e6)),
        number(rtt.map(mean)),
        number(rtt.map(|rtt| to_f64(rtt.max) / 1e6)),
        number(flow.queue_ns.as_ref().map(mean)),
        flow.lost_packets
            .map_or("?".into(), |lost| lost.to_string())
    )
}

fn mean(of: &Spread) -> f64 {
    of.mean / 1e6
}

fn number(value: Option<f64>) -> String {
    value.map_or("?".into(), |value| format!("{value:.3}"))
}

/// The totals as comments.
pub(crate) fn totals(document: &Document) -> Vec<String> {
    let lines = super::summary::lines(document);
    lines.into_iter().map(|line| format!("#{line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;

    #[test]
    fn row_has_thrulays_columns() {
        let mut interval_of = sample::document().intervals[0].clone();
        let row = interval(&interval_of).remove(0);
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(
            words,
            [
                "1", "0.000", "1.000", "95.200", "20.100", "20.400", "25.000", "0.100", "2"
            ]
        );
        interval_of.flows[0].rtt_ns = None;
        let row = interval(&interval_of).remove(0);
        assert_eq!(row.matches('?').count(), 3, "{row}");
        assert!(
            totals(&sample::document())
                .iter()
                .all(|line| line.starts_with('#'))
        );
    }
}
