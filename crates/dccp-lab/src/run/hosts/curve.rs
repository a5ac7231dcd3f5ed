//! Documents of `dccpmon` (schema `dccpmon/1`) become the recorded values of a run.

use super::process::Measured;
use crate::metrics::BIN;
use crate::run::agenda::{every, marks};
use crate::run::outcome::{FlowInterval, FlowOutcome, Marks, Outcome, RoundTrip, Totals};
use crate::run::stage::add_known;
use crate::scenario::plan::{Flow, Run, Transport};
use core::time::Duration;
use dccp_proto::Rate;
use serde_json::Value;

/// The limits beside the network, by their names in documents of `dccpmon`.
const LIMITS: [&str; 4] = ["cpu", "receiver", "socket_buffer", "pacing_error"];

/// The recorded values of all flows. Those of links and hosts are unknown.
pub(super) fn outcome(run: &Run, measured: &[Measured]) -> Outcome {
    let of_flow = |(number, flow): (usize, &Flow)| {
        let streams = measured
            .iter()
            .filter(|measured| measured.test.flow == number);
        let streams: Vec<Curve> = streams.map(|stream| Curve::new(stream, flow)).collect();
        flow_outcome(run, flow, &streams)
    };
    Outcome {
        ticks: every(run.measure.interval, Duration::ZERO, run.end).collect(),
        flows: run.flows.iter().enumerate().map(of_flow).collect(),
        warnings: measured.iter().filter_map(limit).collect(),
        ..Outcome::default()
    }
}

/// A warning if something beside the network limited a stream.
fn limit(measured: &Measured) -> Option<String> {
    let limit = &measured.document["summary"]["flows"][0]["limited_by"];
    let verdict = limit["verdict"].as_str()?;
    let sentence = limit["sentence"].as_str()?;
    let text = format!("flow {}: {sentence}", measured.test.id);
    LIMITS.contains(&verdict).then_some(text)
}

/// Counters of a stream at a time of the run.
#[derive(Clone, Copy, Debug, Default)]
struct Point {
    at: Duration,
    bytes: f64,
    packets: f64,
    lost: f64,
    marked: f64,
}

/// A stream over time.
struct Curve {
    /// Its counters when it begins and at the end of each interval.
    points: Vec<Point>,
    /// Its intervals: when each ends, with its values.
    intervals: Vec<(Duration, Value)>,
    totals: Totals,
    broken: Option<String>,
}

impl Curve {
    fn new(measured: &Measured, flow: &Flow) -> Self {
        let (begin, document) = (measured.test.begin, &measured.document);
        let mss = match &flow.transport {
            Transport::Tcp(config) => Some(f64::from(config.mss)),
            _ => None,
        };
        let mut last = Point {
            at: begin,
            ..Point::default()
        };
        let (mut points, mut intervals) = (vec![last], Vec::new());
        for interval in document["intervals"].as_array().into_iter().flatten() {
            let flow = &interval["flows"][0];
            let number = |key: &str| flow[key].as_f64().unwrap_or(0.0);
            let at = begin + Duration::from_nanos(interval["t1_ns"].as_u64().unwrap_or(0));
            let bytes = number("received_bytes");
            let missing = number("lost_packets") - number("recovered_packets");
            last = Point {
                at,
                bytes: last.bytes + bytes,
                // TCP has segments of one size.
                packets: last.packets + mss.map_or(number("received_packets"), |mss| bytes / mss),
                lost: last.lost + mss.map_or(missing, |_| number("retransmitted_segments")),
                marked: last.marked + number("marked_packets"),
            };
            points.push(last);
            intervals.push((at, flow.clone()));
        }
        let row = &document["summary"]["flows"][0];
        let broken = document["error"]["what"].as_str();
        Self {
            points,
            intervals,
            totals: totals(row, &last),
            broken: row["broken"].as_str().or(broken).map(str::to_owned),
        }
    }

    /// The counters at a time; between two known times they grow evenly.
    fn at(&self, time: Duration) -> Point {
        let next = self.points.partition_point(|point| point.at <= time);
        let before = next.checked_sub(1).and_then(|n| self.points.get(n));
        match (before, self.points.get(next)) {
            (Some(a), Some(b)) => {
                let share = time.saturating_sub(a.at).as_secs_f64()
                    / b.at.saturating_sub(a.at).as_secs_f64();
                let between = |of: fn(&Point) -> f64| of(a) + (of(b) - of(a)) * share;
                Point {
                    at: time,
                    bytes: between(|point| point.bytes),
                    packets: between(|point| point.packets),
                    lost: between(|point| point.lost),
                    marked: between(|point| point.marked),
                }
            }
            (Some(point), None) => *point,
            (None, _) => Point::default(),
        }
    }

    /// The values of the interval that a time lies in.
    fn during(&self, time: Duration) -> Option<&Value> {
        let begin = self.points.first().map(|point| point.at)?;
        let mut later = self.intervals.iter().filter(|(end, _)| time <= *end);
        let (_, values) = later.next().filter(|_| begin < time)?;
        Some(values)
    }
}

/// The sums of a stream. The document has those after the last interval too.
fn totals(row: &Value, end: &Point) -> Totals {
    let ledger = &row["ledger"];
    let number = |value: &Value| value.as_u64();
    let lost: Option<u64> = ledger.as_object().map(|places| {
        let places = places
            .iter()
            .filter(|(place, _)| place.starts_with("lost_"));
        places.filter_map(|(_, packets)| number(packets)).sum()
    });
    let retransmitted = number(&row["tcp"]["retransmitted_segments"]);
    let dropped = ["dropped_app", "dropped_ring", "dropped_ccid"];
    let dropped = dropped.iter().filter_map(|place| number(&ledger[place]));
    let delivered = whole(end.packets);
    Totals {
        sent_packets: number(&ledger["sent"]).unwrap_or(delivered),
        delivered_packets: number(&ledger["delivered"]).unwrap_or(0).max(delivered),
        delivered_bytes: number(&row["received_bytes"])
            .unwrap_or(0)
            .max(whole(end.bytes)),
        lost_packets: lost.or(retransmitted).or(Some(whole(end.lost))),
        marked_packets: number(&row["marked_packets"]),
        retransmitted_packets: retransmitted.unwrap_or(0),
        dropped_by_sender_packets: dropped.sum(),
        ..Totals::default()
    }
}

/// The recorded values of a flow: of all its streams together.
fn flow_outcome(run: &Run, flow: &Flow, streams: &[Curve]) -> FlowOutcome {
    let bytes = |at: Duration| {
        let bytes = streams.iter().map(move |stream| whole(stream.at(at).bytes));
        bytes.collect::<Vec<u64>>()
    };
    let sum = |at: Duration| bytes(at).iter().sum::<u64>();
    let rate = |from, to, time| Rate::over(sum(to) - sum(from), time).bits_per_s();
    let first = flow.begin();
    let stop = flow.stop.filter(|stop| *stop < run.end);
    let marks = marks(run);
    let interval = run.measure.interval;
    let ticks = every(interval, Duration::ZERO, run.end);
    let bins = every(BIN, first, stop.unwrap_or(run.end));
    FlowOutcome {
        intervals: ticks
            .map(|at| FlowInterval {
                goodput_bps: rate(at.saturating_sub(interval), at, interval),
                ..state(streams, at.saturating_sub(interval), at)
            })
            .collect(),
        bins: bins
            .map(|at| rate(at.saturating_sub(BIN), at, BIN))
            .collect(),
        marks: Marks {
            discarded: sum(marks.discarded),
            all_active: sum(marks.all_active),
            first_stops: sum(marks.first_stops),
        },
        stream_marks: Marks {
            discarded: bytes(marks.discarded),
            all_active: bytes(marks.all_active),
            first_stops: bytes(marks.first_stops),
        },
        stopped_bytes: stop.map(&sum),
        rtt_transport: streams.iter().flat_map(round_trips).collect(),
        discarded: discarded(streams, marks.discarded),
        totals: added(streams),
        broken: streams.iter().find_map(|stream| stream.broken.clone()),
        ..FlowOutcome::default()
    }
}

/// The window, the rate and the round trip at the end of an interval of the run, and its losses and marks.
fn state(streams: &[Curve], from: Duration, to: Duration) -> FlowInterval {
    let sum = |key: &str| {
        let values = streams
            .iter()
            .filter_map(|stream| stream.during(to)?[key].as_f64());
        values.fold(None, |sum, value| Some(sum.unwrap_or(0.0) + value))
    };
    let grown = |of: fn(&Point) -> f64| {
        let grown = streams
            .iter()
            .map(|stream| of(&stream.at(to)) - of(&stream.at(from)));
        Some(whole(grown.sum()))
    };
    let rtt = |stream: &Curve| stream.during(to)?["rtt_ns"]["p50"].as_u64();
    FlowInterval {
        cwnd_packets: sum("cwnd_packets"),
        ssthresh_packets: sum("ssthresh_packets"),
        rate_bps: sum("cc_rate_bps"),
        rtt_ns: streams.iter().find_map(rtt),
        lost_packets: grown(|point| point.lost),
        marked_packets: grown(|point| point.marked),
        ..FlowInterval::default()
    }
}

/// The median round trip of each interval.
fn round_trips(stream: &Curve) -> impl Iterator<Item = RoundTrip> {
    let medians = stream.intervals.iter().map(|(at, values)| {
        let rtt_ns = values["rtt_ns"]["p50"].as_u64()?;
        Some(RoundTrip { at: *at, rtt_ns })
    });
    medians.flatten()
}

/// The sums at a time.
fn discarded(streams: &[Curve], at: Duration) -> Totals {
    let sum = |of: fn(&Point) -> f64| {
        let values = streams.iter().map(|stream| whole(of(&stream.at(at))));
        values.sum::<u64>()
    };
    Totals {
        delivered_packets: sum(|point| point.packets),
        delivered_bytes: sum(|point| point.bytes),
        lost_packets: Some(sum(|point| point.lost)),
        marked_packets: Some(sum(|point| point.marked)),
        ..Totals::default()
    }
}

fn added(streams: &[Curve]) -> Totals {
    let mut all = Totals {
        lost_packets: Some(0),
        marked_packets: Some(0),
        ..Totals::default()
    };
    for Curve { totals, .. } in streams {
        all.sent_packets += totals.sent_packets;
        all.delivered_packets += totals.delivered_packets;
        all.delivered_bytes += totals.delivered_bytes;
        all.retransmitted_packets += totals.retransmitted_packets;
        all.dropped_by_sender_packets += totals.dropped_by_sender_packets;
        add_known(&mut all.lost_packets, totals.lost_packets);
        add_known(&mut all.marked_packets, totals.marked_packets);
    }
    all
}

/// A count that is not negative.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "negative values become 0, and too large ones saturate"
)]
fn whole(count: f64) -> u64 {
    count.round() as u64
}

#[cfg(test)]
mod tests {
    use super::super::words::Test;
    use super::*;
    use crate::scenario::{Scale, Scenario};
    use serde_json::json;

    const S: fn(u64) -> Duration = Duration::from_secs;

    /// A run of 4 s whose flow has two streams from the first second on.
    fn run(keys: &str) -> Run {
        let text = format!(
            "schema = \"dccplab/1\"\nname = \"n\"\nseed = 7\n[topology]\nnodes = [\"a\", \"b\"]\n\
            [[link]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1Mbit\"\n\
            [[flow]]\nid = \"f\"\nfrom = \"a\"\nto = \"b\"\nstart = \"1s\"\n{keys}\n\
            [measure]\nduration = \"4s\"\ndiscard = \"2s\"\ninterval = \"1s\"\n"
        );
        let scenario = Scenario::parse(&text, "f", Scale::Full).unwrap();
        scenario.runs[0].clone()
    }

    /// A stream that delivers 10,000 bytes in its first two seconds, then 30,000 in one.
    fn measured(verdict: &str) -> Measured {
        let interval = |t1_s: u64, bytes: u64, lost: u64| {
            json!({ "t1_ns": t1_s * 1_000_000_000, "flows": [{ "received_bytes": bytes,
                "received_packets": bytes / 1000, "lost_packets": lost, "recovered_packets": 0,
                "cwnd_packets": t1_s, "rtt_ns": { "p50": 1000 * t1_s } }] })
        };
        let ledger = json!({ "sent": 44, "delivered": 41, "lost_network": 3, "lost_sender_queue": 0,
            "dropped_app": 2, "dropped_ring": 0, "dropped_ccid": 1 });
        let flow = json!({ "received_bytes": 41_000, "ledger": ledger, "marked_packets": 0, "broken": null,
            "limited_by": { "verdict": verdict, "sentence": "It was slow." } });
        Measured {
            test: Test {
                flow: 0,
                id: "f".into(),
                begin: S(1),
                words: Vec::new(),
                greeting: Vec::new(),
            },
            document: json!({ "status": "complete", "error": null,
                "intervals": [interval(2, 10_000, 2), interval(3, 30_000, 1)],
                "summary": { "flows": [flow] } }),
        }
    }

    #[test]
    fn counters_grow_evenly_between_reports() {
        let outcome = outcome(&run(""), &[measured("network_queue"), measured("cpu")]);
        let flow = &outcome.flows[0];
        let goodputs: Vec<f64> = flow
            .intervals
            .iter()
            .map(|i| i.goodput_bps / 16e3)
            .collect();
        // Both streams: nothing, 5,000 bytes twice, 30,000 bytes.
        assert_eq!(goodputs, [0.0, 5.0, 5.0, 30.0]);
        let windows: Vec<_> = flow.intervals.iter().map(|i| i.cwnd_packets).collect();
        assert_eq!(windows, [None, Some(4.0), Some(4.0), Some(6.0)]);
        assert_eq!(flow.marks.discarded, 10_000);
        assert_eq!(flow.stream_marks.first_stops, [40_000, 40_000]);
        assert_eq!(flow.discarded.lost_packets, Some(2));
        assert_eq!(flow.rtt_transport.len(), 4);
        let totals = &flow.totals;
        assert_eq!((totals.sent_packets, totals.delivered_packets), (88, 82));
        assert_eq!(
            (totals.delivered_bytes, totals.lost_packets),
            (82_000, Some(6))
        );
        assert_eq!(totals.dropped_by_sender_packets, 6);
        assert_eq!(outcome.warnings, ["flow f: It was slow."]);
        assert!(outcome.links.is_empty() && outcome.events.is_none());
    }

    #[test]
    fn segments_of_tcp_follow_from_its_bytes() {
        let mut tcp = measured("network_queue");
        let row = &mut tcp.document["summary"]["flows"][0];
        row["ledger"] = Value::Null;
        row["tcp"] = json!({ "retransmitted_segments": 5 });
        let run = run("transport = \"tcp\"\nsize = \"1000B\"");
        let totals = outcome(&run, &[tcp]).flows[0].totals;
        assert_eq!(
            (totals.delivered_packets, totals.lost_packets),
            (40, Some(5))
        );
    }
}
