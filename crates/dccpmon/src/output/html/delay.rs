//! Distributions of delays, and the schedule.

use crate::output::full::stamps;
use crate::output::html::dash;
use crate::output::text;
use crate::schema::{Document, Summary};
use dccp::proto::number::to_f64;
use dccp_plot::{Cdf, Distribution, Scale};
use dccp_report::{Section, Table};
use dccp_stats::{Histogram, Spread};

/// More curves would have the same colours.
const CURVES_MAX: usize = 7;

pub(super) fn fill(section: &mut Section, document: &Document, summary: &Summary) {
    let spreads = spreads(document, summary);
    if spreads.is_empty() {
        section.absent("No delay was measured.");
        return;
    }
    let mut table = Table::numbers(
        "",
        &[
            "delay, ms",
            "min",
            "p50",
            "p90",
            "p99",
            "p99.9",
            "max",
            "samples",
        ],
    );
    for (name, spread) in &spreads {
        table.row([
            name.clone(),
            text::millis(Some(spread.min)),
            text::millis(spread.p50),
            text::millis(spread.p90),
            text::millis(spread.p99),
            text::millis(spread.p999),
            text::millis(Some(spread.max)),
            spread.n.to_string(),
        ]);
    }
    if spreads.len() > CURVES_MAX {
        section.text(&format!(
            "The picture shows the first {CURVES_MAX} of {} distributions, and the table all.",
            spreads.len()
        ));
    }
    let series: Vec<Distribution> = spreads
        .iter()
        .take(CURVES_MAX)
        .map(|(name, spread)| Distribution {
            name: name.clone(),
            points: points(spread),
        })
        .collect();
    let cdf = Cdf {
        title: String::new(),
        x_label: "delay, ms".into(),
        x_scale: Scale::Linear,
        series,
        marks: vec![0.5, 0.99, 0.999],
        reach: 0.0,
    };
    section.figure("Distribution of delays", &cdf.to_svg(), &table);
    section.list(sentences(document, summary));
}

/// Each delay with its name.
fn spreads<'a>(document: &'a Document, summary: &'a Summary) -> Vec<(String, &'a Spread)> {
    let mut spreads = Vec::new();
    if let Some(idle) = &document.idle {
        spreads.push(("RTT, idle".to_owned(), &idle.idle_ns));
        spreads.extend((idle.loaded_ns.iter()).map(|spread| ("RTT, loaded".to_owned(), spread)));
    }
    for flow in &summary.flows {
        let suffix = if summary.flows.len() > 1 {
            // The legend has room for few letters.
            format!(" {}", flow.id)
        } else {
            String::new()
        };
        if let Some(rtt) = &flow.rtt {
            for (name, part) in [
                ("RTT", &rtt.user_ns),
                ("RTT, network", &rtt.network_ns),
                ("send queue", &rtt.send_queue_ns),
                ("receiver", &rtt.receiver_ns),
            ] {
                spreads.extend((part.iter()).map(|spread| (format!("{name}{suffix}"), spread)));
            }
        }
        if let Some(one_way) = &flow.one_way {
            let error = text::millis(Some(one_way.error_ns));
            spreads.push((format!("one way ± {error}{suffix}"), &one_way.ns));
        }
    }
    spreads
}

/// The distribution by all buckets if they are known, else by the percentiles.
fn points(spread: &Spread) -> Vec<(f64, f64)> {
    let histogram = spread.hdr.as_deref().map(Histogram::from_text);
    if let Some(Ok(histogram)) = histogram {
        let (all, mut below) = (to_f64(histogram.len()), 0);
        return histogram
            .buckets()
            .map(|bucket| {
                below += bucket.count;
                (to_f64(bucket.high) / 1e6, to_f64(below) / all)
            })
            .collect();
    }
    let known = [
        (Some(spread.min), 0.0),
        (spread.p50, 0.5),
        (spread.p90, 0.9),
        (spread.p99, 0.99),
        (spread.p999, 0.999),
        (Some(spread.max), 1.0),
    ];
    let known = known.into_iter();
    known
        .filter_map(|(ns, share)| Some((to_f64(ns?) / 1e6, share)))
        .collect()
}

fn sentences(document: &Document, summary: &Summary) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(rpm) = document.idle.as_ref().and_then(|idle| idle.rpm) {
        sentences.push(format!(
            "Responsiveness under load: {rpm:.0} round trips per minute."
        ));
    }
    for flow in &summary.flows {
        sentences.push(format!(
            "Arrival times of flow {}: {}.",
            flow.id,
            stamps(flow.stamps)
        ));
        if let Some(jitter) = &flow.jitter {
            let ipdv = jitter.ipdv_ns.as_ref().and_then(|ipdv| ipdv.p50);
            sentences.push(format!(
                "Jitter of flow {}: {} ms by RFC 3550, {} ms median change between packets, {} ms from p50 to p95.",
                flow.id,
                text::millis(jitter.rfc3550_ns),
                text::millis(ipdv),
                text::millis(jitter.p95_minus_p50_ns)
            ));
        }
    }
    if let Some(clock) = &document.clock {
        sentences.push(format!(
            "The server's clock is {:.3} ms {}, within {:.3} ms, and drifts by {:.1} ppm.",
            to_f64(clock.offset_ns.unsigned_abs()) / 1e6,
            if clock.offset_ns < 0 {
                "behind"
            } else {
                "ahead"
            },
            to_f64(clock.error_ns) / 1e6,
            clock.skew_ppb / 1e3
        ));
    }
    sentences
}

/// The schedule that was asked for beside the one that was achieved.
pub(super) fn schedule(section: &mut Section, summary: &Summary) {
    let mut table = Table::numbers(
        "",
        &[
            "flow",
            "asked gap, µs",
            "mean gap, µs",
            "late p50, ms",
            "late p99, ms",
            "late max, ms",
            "skipped packets",
        ],
    );
    let mut has_rows = false;
    for flow in &summary.flows {
        let Some(schedule) = &flow.schedule else {
            continue;
        };
        has_rows = true;
        let micros = |ns: f64| format!("{:.1}", ns / 1e3);
        let late = schedule.late_ns.as_ref();
        table.row([
            flow.id.to_string(),
            dash(schedule.asked_gap_ns.map(micros)),
            dash(schedule.mean_gap_ns.map(micros)),
            text::millis(late.and_then(|late| late.p50)),
            text::millis(late.and_then(|late| late.p99)),
            text::millis(late.map(|late| late.max)),
            schedule.skipped_packets.to_string(),
        ]);
    }
    if has_rows {
        section.table(&table);
    } else {
        section.absent("No packet had a due time: the sender sent as fast as it could.");
    }
}
