//! The measured values that expressions name, and where they stand in a cell of the results.

use serde_json::Value;

/// The owner of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Owner {
    /// `goodput(flow)`
    Flow,
    /// `queue(link)`; `queue('link back')` is the way back.
    Link,
    /// `processor(host)`
    Host,
    /// `fairness`: the cell has one.
    Cell,
}

impl Owner {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Flow => "flow",
            Self::Link => "link",
            Self::Host => "host",
            Self::Cell => "cell",
        }
    }
}

/// A measured value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Known {
    /// The name in expressions.
    pub(crate) name: &'static str,
    pub(crate) owner: Owner,
    /// The keys in the summary of the owner. The first that is not null counts.
    paths: &'static [&'static str],
    /// The column of the owner's series, for parts of a run.
    series: Option<(&'static str, OfSeries)>,
    /// Turns the JSON's unit into seconds, bits per second, packets, bytes or shares.
    factor: f64,
    /// The unit.
    pub(crate) unit: &'static str,
}

/// The number that stands for a part of a series.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OfSeries {
    Mean,
    Sum,
    /// Standard deviation by mean.
    Stability,
}

const NS: f64 = 1e-9;

/// A value of the summary.
const fn of(
    owner: Owner,
    name: &'static str,
    unit: &'static str,
    paths: &'static [&'static str],
) -> Known {
    Known {
        name,
        owner,
        paths,
        series: None,
        factor: 1.0,
        unit,
    }
}

/// A time, which the JSON has in nanoseconds.
const fn time(owner: Owner, name: &'static str, paths: &'static [&'static str]) -> Known {
    Known {
        factor: NS,
        ..of(owner, name, "s", paths)
    }
}

/// A value that the series have too.
const fn with(known: Known, column: &'static str, number: OfSeries) -> Known {
    Known {
        series: Some((column, number)),
        ..known
    }
}

/// All values, in the order of the documentation.
pub(crate) const METRICS: &[Known] = &{
    use OfSeries::{Mean, Stability, Sum};
    use Owner::{Cell, Flow, Host, Link};
    [
        with(
            of(
                Flow,
                "goodput",
                "bit/s",
                &["throughput_after_discard_bps", "throughput_bps"],
            ),
            "goodput_bps",
            Mean,
        ),
        of(Flow, "share", "bit/s", &["share_bps"]),
        with(
            of(Flow, "stability", "1", &["stability"]),
            "goodput_bps",
            Stability,
        ),
        of(Flow, "loss", "1", &["loss"]),
        with(
            of(Flow, "cwnd", "packets", &["cwnd_packets_mean"]),
            "cwnd_packets",
            Mean,
        ),
        with(time(Flow, "rtt", &["rtt_transport_ns.avg"]), "rtt_ns", Mean),
        time(Flow, "rtt_min", &["rtt_transport_ns.min"]),
        time(Flow, "rtt_p50", &["rtt_transport_ns.p50"]),
        time(Flow, "rtt_p99", &["rtt_transport_ns.p99"]),
        time(Flow, "rtt_max", &["rtt_transport_ns.max"]),
        time(Flow, "ping", &["rtt_ping_ns.avg"]),
        time(Flow, "ping_min", &["rtt_ping_ns.min"]),
        time(Flow, "ping_p99", &["rtt_ping_ns.p99"]),
        time(Flow, "ping_max", &["rtt_ping_ns.max"]),
        time(Flow, "age", &["age_ns.avg"]),
        time(Flow, "age_p50", &["age_ns.p50"]),
        time(Flow, "age_p95", &["age_ns.p95"]),
        time(Flow, "age_p99", &["age_ns.p99"]),
        of(Flow, "important", "1", &["important_fraction"]),
        of(
            Flow,
            "important_delivered",
            "1",
            &["datagrams.important_delivered_fraction"],
        ),
        of(
            Flow,
            "undelivered",
            "1",
            &["datagrams.undelivered_fraction"],
        ),
        time(
            Flow,
            "age_important_p50",
            &["datagrams.age_important_ns.p50"],
        ),
        time(
            Flow,
            "age_important_p95",
            &["datagrams.age_important_ns.p95"],
        ),
        of(Flow, "usable", "1", &["frames.usable_fraction"]),
        of(Flow, "usable_per_s", "1/s", &["frames.usable_per_s"]),
        of(Flow, "stalls", "stalls", &["frames.stalls"]),
        of(Flow, "stalled", "1", &["frames.stalled_fraction"]),
        time(Flow, "frame_age_p95", &["frames.age_ns.p95"]),
        of(Flow, "sent", "packets", &["sent_packets"]),
        of(Flow, "delivered", "packets", &["delivered_packets"]),
        with(
            of(Flow, "lost", "packets", &["lost_packets"]),
            "lost_packets",
            Sum,
        ),
        of(Flow, "marked", "packets", &["marked_packets"]),
        of(Flow, "loss_events", "events", &["loss_events"]),
        of(
            Flow,
            "dropped_by_receiver",
            "packets",
            &["dropped_by_receiver_packets"],
        ),
        of(
            Flow,
            "dropped_by_sender",
            "packets",
            &["dropped_by_sender_packets"],
        ),
        of(
            Flow,
            "delivered_corrupt",
            "packets",
            &["delivered_corrupt_packets"],
        ),
        of(
            Flow,
            "reported_corrupt",
            "packets",
            &["reported_corrupt_packets"],
        ),
        of(Flow, "slow_receiver", "packets", &["slow_receiver_packets"]),
        with(
            of(Link, "utilisation", "1", &["utilisation"]),
            "utilisation",
            Mean,
        ),
        with(
            of(Link, "queue", "packets", &["queue_packets_mean"]),
            "queue_packets_mean",
            Mean,
        ),
        of(Link, "queue_max", "packets", &["queue_packets_max"]),
        with(
            of(Link, "dropped", "packets", &["lost_packets"]),
            "lost_packets",
            Sum,
        ),
        time(Host, "processor", &["processor_ns"]),
        of(Host, "host_dropped", "packets", &["lost_packets"]),
        of(Cell, "fairness", "1", &["fairness"]),
        of(Cell, "asymmetry", "1", &["asymmetry"]),
        time(Cell, "convergence", &["convergence_ns"]),
        of(Cell, "constancy", "1", &["constancy"]),
        time(Cell, "ping_of_all", &["rtt_ping_ns.avg"]),
        time(Cell, "rtt_increase", &["rtt_increase_ns"]),
        of(Cell, "rtt_ratio", "1", &["rtt_ratio"]),
        time(Cell, "duration", &["duration_ns"]),
        of(Cell, "operations", "1/s", &["bench.operations_per_s"]),
        time(Cell, "cost", &["bench.cost_ns"]),
        of(Cell, "cost_share", "1", &["bench.cost_share"]),
        time(Cell, "packet_cost", &["bench.packet_cost_ns"]),
    ]
};

/// The value with this name.
pub(crate) fn find(name: &str) -> Option<&'static Known> {
    METRICS.iter().find(|known| known.name == name)
}

impl Known {
    /// True if a part of a run has this value.
    pub(crate) const fn has_spans(&self) -> bool {
        self.series.is_some()
    }

    /// The value in a cell, of an owner, over the whole run or a part. NaN: it is unknown. `None`: the cell has no such
    /// owner.
    pub(crate) fn value(
        &self,
        cell: &Value,
        owner: Option<&str>,
        span: Option<(f64, f64)>,
    ) -> Option<f64> {
        let value = match span {
            None => self.of_summary(cell, owner),
            Some(span) => self.of_series(cell, owner, span),
        };
        value.map(|value| value * self.factor)
    }

    fn of_summary(&self, cell: &Value, owner: Option<&str>) -> Option<f64> {
        let summary = &cell["summary"];
        let object = match self.owner {
            Owner::Cell if self.name == "duration" => cell,
            Owner::Cell => summary,
            Owner::Flow => row(&summary["flows"], owner?)?,
            Owner::Link => row(&summary["links"], owner?)?,
            Owner::Host => row(&summary["hosts"], owner?)?,
        };
        let at = |path: &&str| {
            let value = path.split('.').fold(object, |value, key| &value[key]);
            match value {
                // Losses of a link are a number for each reason.
                Value::Object(reasons) => Some(reasons.values().filter_map(Value::as_f64).sum()),
                value => value.as_f64(),
            }
        };
        Some(self.paths.iter().find_map(at).unwrap_or(f64::NAN))
    }

    fn of_series(
        &self,
        cell: &Value,
        owner: Option<&str>,
        (from, until): (f64, f64),
    ) -> Option<f64> {
        let (column, number) = self.series?;
        let series = &cell["series"];
        let rows = match self.owner {
            Owner::Flow => &series["flows"],
            _ => &series["links"],
        };
        let ends = series["t_ns"].as_array()?;
        let interval = series["interval_ns"].as_f64()? * NS;
        let values = row(rows, owner?)?[column].as_array()?;
        let in_span = |end: &Value| {
            let end = end.as_f64().unwrap_or(f64::NAN) * NS;
            // Half an interval absorbs what decimal fractions lose.
            end - interval > from - interval / 2.0 && end < until + interval / 2.0
        };
        let values: Vec<f64> = (ends.iter().zip(values))
            .filter(|(end, _)| in_span(end))
            .filter_map(|(_, value)| value.as_f64())
            .collect();
        let value = match number {
            OfSeries::Mean => dccp_stats::mean(&values),
            OfSeries::Sum => (!values.is_empty()).then(|| values.iter().sum()),
            OfSeries::Stability => dccp_stats::stability(&values),
        };
        Some(value.unwrap_or(f64::NAN))
    }
}

/// The row of a list whose `id` is `owner`. Links: `id`, or `id back` for the way back.
fn row<'a>(rows: &'a Value, owner: &str) -> Option<&'a Value> {
    let (id, direction) = match owner.strip_suffix(" back") {
        Some(id) => (id, "back"),
        None => (owner, "there"),
    };
    let is_it =
        |row: &&Value| row["id"] == id && row["direction"].as_str().is_none_or(|d| d == direction);
    rows.as_array()?.iter().find(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cell() -> Value {
        json!({
            "summary": {
                "flows": [{ "id": "a", "throughput_bps": 8.0, "throughput_after_discard_bps": null,
                    "rtt_transport_ns": { "avg": 5e6 } }],
                "links": [
                    { "id": "neck", "direction": "there", "lost_packets": { "queue": 3, "random": 2 } },
                    { "id": "neck", "direction": "back", "lost_packets": {} },
                ],
                "fairness": 0.5,
                "bench": { "operations": 9, "operations_per_s": 3e6, "cost_ns": 250.0, "cost_share": -0.01,
                    "packet_cost_ns": null },
            },
            "series": { "interval_ns": 100_000_000, "t_ns": [100_000_000, 200_000_000, 300_000_000, 400_000_000],
                "flows": [{ "id": "a", "goodput_bps": [1.0, 2.0, 4.0, null], "lost_packets": [1, 2, 3, 4] }] },
        })
    }

    fn value(name: &str, owner: Option<&str>, span: Option<(f64, f64)>) -> Option<f64> {
        find(name).expect(name).value(&cell(), owner, span)
    }

    #[test]
    fn summary_has_values_of_flows_links_and_the_cell() {
        assert_eq!(value("goodput", Some("a"), None), Some(8.0));
        assert_eq!(value("rtt", Some("a"), None), Some(0.005));
        assert!(value("rtt_p99", Some("a"), None).is_some_and(f64::is_nan));
        assert_eq!(value("goodput", Some("b"), None), None);
        assert_eq!(value("dropped", Some("neck"), None), Some(5.0));
        assert_eq!(value("dropped", Some("neck back"), None), Some(0.0));
        assert_eq!(value("fairness", None, None), Some(0.5));
    }

    #[test]
    fn figures_of_a_measurement_belong_to_the_cell() {
        assert_eq!(value("operations", None, None), Some(3e6));
        assert_eq!(value("cost", None, None), Some(250.0 * NS));
        assert_eq!(value("cost_share", None, None), Some(-0.01));
        assert!(value("packet_cost", None, None).is_some_and(f64::is_nan));
    }

    #[test]
    fn parts_of_a_run_are_whole_intervals() {
        let of = |name, from, until| value(name, Some("a"), Some((from, until)));
        assert_eq!(of("goodput", 0.1, 0.3), Some(3.0));
        assert_eq!(of("lost", 0.1, 0.4), Some(9.0));
        assert!(of("goodput", 0.3, 0.4).is_some_and(f64::is_nan));
        assert!(of("stability", 0.0, 0.2).is_some_and(|s| (s - 1.0 / 3.0).abs() < 1e-12));
    }

    #[test]
    fn names_are_unique() {
        for (n, known) in METRICS.iter().enumerate() {
            assert!(
                METRICS[..n].iter().all(|k| k.name != known.name),
                "{}",
                known.name
            );
        }
    }
}
