//! Rate, round trip, window and losses over time.

use crate::output::html::{dash, name_of};
use crate::output::text;
use crate::schema::{Document, Interval, IntervalFlow};
use dccp::proto::number::to_f64;
use dccp_plot::{Band, Figure, Level, Mark, Panel, Series};
use dccp_report::{Section, Table};

/// Curves of more flows are hard to tell apart.
const FLOWS_MAX: usize = 8;

pub(super) fn fill(section: &mut Section, document: &Document) {
    let intervals = &document.intervals;
    if intervals.is_empty() {
        section.absent("The intervals were not kept.");
        return;
    }
    let mut ids: Vec<u32> = intervals
        .iter()
        .flat_map(|interval| interval.flows.iter().map(|flow| flow.id))
        .collect();
    ids.sort_unstable();
    ids.dedup();
    let all = ids.len();
    ids.truncate(FLOWS_MAX);
    if all > FLOWS_MAX {
        section.text(&format!(
            "The picture shows the first {FLOWS_MAX} of {all} flows."
        ));
    }
    let marks = document.marks.iter();
    let figure = Figure {
        title: String::new(),
        x_label: "time, s".into(),
        panels: panels(document, &ids),
        marks: marks
            .map(|mark| Mark::At(to_f64(mark.at_ns) / 1e9))
            .collect(),
    };
    section.figure(
        "Goodput, round trip, window and losses in each interval",
        &figure.to_svg(),
        &table(intervals),
    );
    section.list(
        (document.marks.iter())
            .map(|mark| format!("Mark at {:.1} s: {}", to_f64(mark.at_ns) / 1e9, mark.text)),
    );
}

fn panels(document: &Document, ids: &[u32]) -> Vec<Panel> {
    let intervals = &document.intervals;
    let panel = |label: &str, value: fn(&IntervalFlow) -> Option<f64>| Panel {
        y_label: label.into(),
        series: ids
            .iter()
            .map(|id| curve(intervals, *id, &name_of(*id), value))
            .filter(has_values)
            .collect(),
        ..Panel::default()
    };
    let mut rtt = panel("RTT p50, ms", |flow| {
        Some(to_f64(flow.rtt_ns.as_ref()?.p50?) / 1e6)
    });
    if let [id] = ids {
        rtt.bands = bands(intervals, *id);
    }
    if let Some(idle) = document.idle.as_ref().and_then(|idle| idle.idle_ns.p50) {
        rtt.levels = vec![Level {
            name: "idle".into(),
            value: to_f64(idle) / 1e6,
        }];
    }
    let mut window = panel("window, packets", |flow| flow.cwnd_packets);
    if let [id] = ids {
        let threshold = curve(intervals, *id, "ssthresh", |flow| flow.ssthresh_packets);
        window.series.extend(Some(threshold).filter(has_values));
    }
    let advised = panel("advised or cap, Mbit/s", |flow| {
        let of = flow.safe_udp.as_ref()?;
        Some(of.advised_bps.or(of.cap_bps)? / 1e6)
    });
    let dropped = panel("dropped by the CCID", |flow| {
        Some(to_f64(flow.safe_udp.as_ref()?.dropped_packets))
    });
    // The window says more than the rate that follows from it.
    let limit = if window.series.is_empty() {
        panel("allowed, Mbit/s", |flow| Some(flow.cc_rate_bps? / 1e6))
    } else {
        window
    };
    let panels = [
        panel("goodput, Mbit/s", |flow| Some(flow.goodput_bps? / 1e6)),
        rtt,
        // CCID 248 allows all but what exceeds its cap.
        if advised.series.is_empty() {
            limit
        } else {
            advised
        },
        dropped,
        panel("lost packets", |flow| flow.lost_packets.map(to_f64)),
        panel("sent again", |flow| flow.retransmitted_segments.map(to_f64)),
    ];
    let has_curves = |panel: &Panel| !panel.series.is_empty();
    panels.into_iter().filter(has_curves).collect()
}

fn has_values(series: &Series) -> bool {
    series.points.iter().any(|point| point.1.is_finite())
}

/// The value of one flow at the middle of each interval. A value that is not known makes a gap.
fn curve(
    intervals: &[Interval],
    id: u32,
    name: &str,
    value: fn(&IntervalFlow) -> Option<f64>,
) -> Series {
    let point = |interval: &Interval| {
        let flow = interval.flows.iter().find(|flow| flow.id == id);
        (middle_s(interval), flow.and_then(value).unwrap_or(f64::NAN))
    };
    Series {
        name: name.into(),
        points: intervals.iter().map(point).collect(),
    }
}

/// The round trips from the least to the 99th percentile.
fn bands(intervals: &[Interval], id: u32) -> Vec<Band> {
    let point = |interval: &Interval| {
        let flow = interval.flows.iter().find(|flow| flow.id == id)?;
        let rtt = flow.rtt_ns.as_ref()?;
        let upper = rtt.p99.unwrap_or(rtt.max);
        Some((
            middle_s(interval),
            to_f64(rtt.min) / 1e6,
            to_f64(upper) / 1e6,
        ))
    };
    let points: Vec<_> = intervals.iter().filter_map(point).collect();
    if points.len() < 2 {
        return Vec::new();
    }
    vec![Band {
        name: "min to p99".into(),
        points,
    }]
}

fn middle_s(interval: &Interval) -> f64 {
    (to_f64(interval.t0_ns) + to_f64(interval.t1_ns)) / 2e9
}

fn table(intervals: &[Interval]) -> Table {
    let mut table = Table::numbers(
        "",
        &[
            "from, s",
            "to, s",
            "flow",
            "goodput, Mbit/s",
            "RTT p50, ms",
            "RTT p99, ms",
            "window, packets",
            "lost packets",
        ],
    );
    for interval in intervals {
        for flow in &interval.flows {
            let rtt = flow.rtt_ns.as_ref();
            table.row([
                format!("{:.1}", to_f64(interval.t0_ns) / 1e9),
                format!("{:.1}", to_f64(interval.t1_ns) / 1e9),
                flow.id.to_string(),
                dash(flow.goodput_bps.map(|bps| format!("{:.1}", bps / 1e6))),
                text::millis(rtt.and_then(|rtt| rtt.p50)),
                text::millis(rtt.and_then(|rtt| rtt.p99)),
                dash(flow.cwnd_packets.map(f64::round)),
                dash(flow.lost_packets),
            ]);
        }
    }
    table
}
