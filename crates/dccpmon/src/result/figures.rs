//! The figures of a document that have names: for `--assert`, `--baseline` and `compare`.

use crate::schema::{Document, Flow, Interval, Ledger, RttSplit};
use dccp::proto::number::to_f64;
use dccp_cli::quantity::show as units;
use dccp_cli::quantity::{self, QuantityError};
use dccp_host::Delta;
use dccp_stats::Spread;

/// A figure of a document.
#[derive(Clone, Copy)]
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// Which change makes a path better.
    pub(crate) better: Better,
    /// Its definition in a few words.
    pub(crate) meaning: &'static str,
    value: Value,
}

/// How a figure is found.
#[derive(Clone, Copy)]
enum Value {
    Document(fn(&Document) -> Option<f64>),
    /// In the ledger of all flows.
    Ledger(fn(&Ledger) -> u64),
}

/// The unit of a figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Bits per second.
    Rate,
    /// Nanoseconds.
    Time,
    /// A share, 0 to 1.
    Share,
    /// A number of packets.
    Packets,
    /// A number without a unit.
    Number,
}

/// Which of two values of a figure is better.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Better {
    Greater,
    Less,
    /// Neither.
    Open,
}

impl Figure {
    /// Its value; `None` if the document does not know it.
    pub(crate) fn of(&self, document: &Document) -> Option<f64> {
        let value = match self.value {
            Value::Document(value) => value(document),
            Value::Ledger(packets) => ledger(document).map(|ledger| to_f64(packets(&ledger))),
        };
        value.filter(|value| value.is_finite())
    }
}

impl Kind {
    /// Reads a value.
    pub(crate) fn parse(self, text: &str) -> Result<f64, QuantityError> {
        match self {
            Self::Rate => quantity::rate_bits_per_s(text).map(to_f64),
            Self::Time => quantity::time(text).map(|time| time.as_secs_f64() * 1e9),
            Self::Share => quantity::share(text),
            Self::Packets => quantity::packets(text).map(to_f64),
            Self::Number => text
                .parse()
                .ok()
                .filter(|n: &f64| n.is_finite())
                .map_or_else(|| quantity::packets(text).map(to_f64), Ok),
        }
    }

    /// Formats a value with its unit.
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Self::Rate => units::rate(value),
            Self::Time => format!("{:.3} ms", value / 1e6),
            Self::Share => format!("{:.3} %", value * 100.0),
            Self::Packets => format!("{value:.0}"),
            Self::Number => format!("{value:.3}"),
        }
    }

    /// A valid value, for hints.
    pub(crate) fn example(self) -> &'static str {
        match self {
            Self::Rate => "900M",
            Self::Time => "30ms",
            Self::Share => "0.1%",
            Self::Packets => "10",
            Self::Number => "0.9",
        }
    }
}

/// The figures of all flows together. `compare` prints them in this order.
pub(crate) const FIGURES: &[Figure] = &[
    figure(
        "goodput",
        Kind::Rate,
        Better::Greater,
        "application data that arrived, all flows",
        |d| d.summary.as_ref()?.goodput_bps,
    ),
    figure(
        "goodput.p5",
        Kind::Rate,
        Better::Greater,
        "goodput that 95 % of the intervals reach",
        low_goodput,
    ),
    figure(
        "wire",
        Kind::Rate,
        Better::Open,
        "IP packets that were sent",
        |d| flows(d)?.iter().map(|flow| flow.wire_bps).sum(),
    ),
    figure(
        "loss",
        Kind::Share,
        Better::Less,
        "packets that were sent and did not arrive",
        |d| {
            let ledger = ledger(d)?;
            (ledger.sent > 0).then(|| to_f64(ledger.lost()) / to_f64(ledger.sent))
        },
    ),
    figure(
        "rtt.min",
        Kind::Time,
        Better::Less,
        "least round trip of all flows",
        |d| least(d, |rtt| Some(whole(rtt)?.min)),
    ),
    figure(
        "rtt.p50",
        Kind::Time,
        Better::Less,
        "round trip of the slowest flow, median",
        |d| most(d, |rtt| whole(rtt)?.p50),
    ),
    figure(
        "rtt.p90",
        Kind::Time,
        Better::Less,
        "round trip of the slowest flow",
        |d| most(d, |rtt| whole(rtt)?.p90),
    ),
    figure(
        "rtt.p99",
        Kind::Time,
        Better::Less,
        "round trip of the slowest flow",
        |d| most(d, |rtt| whole(rtt)?.p99),
    ),
    figure(
        "rtt.max",
        Kind::Time,
        Better::Less,
        "greatest round trip",
        |d| most(d, |rtt| Some(whole(rtt)?.max)),
    ),
    figure(
        "queue.p50",
        Kind::Time,
        Better::Less,
        "time in the send queue, median",
        |d| most(d, |rtt| rtt.send_queue_ns.as_ref()?.p50),
    ),
    figure(
        "queue.p99",
        Kind::Time,
        Better::Less,
        "time in the send queue",
        |d| most(d, |rtt| rtt.send_queue_ns.as_ref()?.p99),
    ),
    figure(
        "idle.p50",
        Kind::Time,
        Better::Less,
        "round trip before the load, median",
        |d| d.idle.as_ref()?.idle_ns.p50.map(to_f64),
    ),
    figure(
        "loaded.p50",
        Kind::Time,
        Better::Less,
        "round trip beside the load, median",
        |d| d.idle.as_ref()?.loaded_ns.as_ref()?.p50.map(to_f64),
    ),
    figure(
        "loaded.p99",
        Kind::Time,
        Better::Less,
        "round trip beside the load",
        |d| d.idle.as_ref()?.loaded_ns.as_ref()?.p99.map(to_f64),
    ),
    figure(
        "rpm",
        Kind::Number,
        Better::Greater,
        "round trips per minute under load",
        |d| d.idle.as_ref()?.rpm,
    ),
    figure(
        "owd.p50",
        Kind::Time,
        Better::Less,
        "one-way delay, median",
        |d| worst(d, |flow| flow.one_way.as_ref()?.ns.p50),
    ),
    figure("owd.p99", Kind::Time, Better::Less, "one-way delay", |d| {
        worst(d, |flow| flow.one_way.as_ref()?.ns.p99)
    }),
    figure(
        "jitter",
        Kind::Time,
        Better::Less,
        "jitter by RFC 3550",
        |d| worst(d, |flow| flow.jitter.as_ref()?.rfc3550_ns),
    ),
    figure(
        "reordered",
        Kind::Packets,
        Better::Less,
        "packets behind one with a higher number",
        |d| total(d, |flow| flow.reordered_packets),
    ),
    figure(
        "duplicates",
        Kind::Packets,
        Better::Less,
        "packets that came again",
        |d| total(d, |flow| flow.duplicate_packets),
    ),
    figure(
        "marks",
        Kind::Packets,
        Better::Less,
        "packets with a congestion mark",
        |d| total(d, |flow| flow.marked_packets),
    ),
    figure(
        "retransmits",
        Kind::Packets,
        Better::Less,
        "segments that TCP sent again",
        |d| total(d, |flow| Some(flow.tcp?.retransmitted_segments)),
    ),
    figure(
        "stability",
        Kind::Number,
        Better::Less,
        "deviation of the goodputs over their mean",
        |d| {
            let values = flows(d)?.iter().map(|flow| flow.stability);
            values
                .collect::<Option<Vec<f64>>>()?
                .into_iter()
                .reduce(f64::max)
        },
    ),
    figure(
        "fairness",
        Kind::Number,
        Better::Greater,
        "Jain's index of the flows' goodputs",
        |d| d.summary.as_ref()?.fairness_jain,
    ),
    figure(
        "late.p50",
        Kind::Time,
        Better::Less,
        "lateness against the schedule, median",
        |d| worst(d, |flow| flow.schedule.as_ref()?.late_ns.as_ref()?.p50),
    ),
    figure(
        "late.p99",
        Kind::Time,
        Better::Less,
        "lateness against the schedule",
        |d| worst(d, |flow| flow.schedule.as_ref()?.late_ns.as_ref()?.p99),
    ),
    figure(
        "cpu.client",
        Kind::Share,
        Better::Less,
        "processor time of the client, in cores",
        |d| cpu(&d.hosts.as_ref()?.client),
    ),
    figure(
        "cpu.server",
        Kind::Share,
        Better::Less,
        "processor time of the server, in cores",
        |d| cpu(d.hosts.as_ref()?.server.as_ref()?),
    ),
    place(
        "ledger.offered",
        Better::Open,
        "packets that the schedule asked for",
        |l| l.offered,
    ),
    place(
        "ledger.dropped_app",
        Better::Less,
        "refused by the socket or skipped",
        |l| l.dropped_app,
    ),
    place(
        "ledger.dropped_ring",
        Better::Less,
        "dropped in the send buffer",
        |l| l.dropped_ring,
    ),
    place(
        "ledger.dropped_ccid",
        Better::Less,
        "dropped by the congestion control",
        |l| l.dropped_ccid,
    ),
    place("ledger.sent", Better::Open, "packets that left", |l| l.sent),
    place(
        "ledger.lost_sender_queue",
        Better::Less,
        "lost in the sending host's queue",
        |l| l.lost_sender_queue,
    ),
    place(
        "ledger.lost_sender_interface",
        Better::Less,
        "lost in the sending host's interface",
        |l| l.lost_sender_interface,
    ),
    place(
        "ledger.lost_network",
        Better::Less,
        "lost between the hosts",
        |l| l.lost_network,
    ),
    place(
        "ledger.lost_receiver_interface",
        Better::Less,
        "lost in the receiving host's interface",
        |l| l.lost_receiver_interface,
    ),
    place(
        "ledger.lost_receiver_softnet",
        Better::Less,
        "lost in the receiving host's backlog",
        |l| l.lost_receiver_softnet,
    ),
    place(
        "ledger.lost_receiver_socket",
        Better::Less,
        "lost because the socket was full",
        |l| l.lost_receiver_socket,
    ),
    place(
        "ledger.lost_receiver_app",
        Better::Less,
        "reached the socket and were not read",
        |l| l.lost_receiver_app,
    ),
    place(
        "ledger.delivered",
        Better::Open,
        "packets that the program got",
        |l| l.delivered,
    ),
    place(
        "ledger.in_flight",
        Better::Open,
        "fate unknown at the end",
        |l| l.in_flight,
    ),
    place(
        "ledger.unknown",
        Better::Less,
        "lost at a place that no counter shows",
        |l| l.unknown,
    ),
];

const fn figure(
    name: &'static str,
    kind: Kind,
    better: Better,
    meaning: &'static str,
    value: fn(&Document) -> Option<f64>,
) -> Figure {
    Figure {
        name,
        kind,
        better,
        meaning,
        value: Value::Document(value),
    }
}

const fn place(
    name: &'static str,
    better: Better,
    meaning: &'static str,
    packets: fn(&Ledger) -> u64,
) -> Figure {
    Figure {
        name,
        kind: Kind::Packets,
        better,
        meaning,
        value: Value::Ledger(packets),
    }
}

/// The figure with this name.
pub(crate) fn find(name: &str) -> Option<&'static Figure> {
    FIGURES.iter().find(|figure| figure.name == name)
}

/// Usual words for figures.
const WORDS: [(&str, &str); 7] = [
    ("latency", "rtt.p50"),
    ("delay", "rtt.p50"),
    ("ping", "rtt.p50"),
    ("throughput", "goodput"),
    ("bandwidth", "goodput"),
    ("bitrate", "goodput"),
    ("lost", "loss"),
];

/// The figure that a wrong name most likely stands for.
pub(crate) fn similar(name: &str) -> &'static str {
    let parts = |figure: &'static Figure| {
        let last = figure.name.rsplit('.').next().unwrap_or(figure.name);
        [(figure.name, figure.name), (last, figure.name)]
    };
    let known = FIGURES.iter().flat_map(parts).chain(WORDS);
    known
        .min_by_key(|(word, _)| strsim::osa_distance(name, word))
        .map_or("rtt.p50", |(_, figure)| figure)
}

/// The flows, if the test ran.
fn flows(document: &Document) -> Option<&[Flow]> {
    let flows = document.summary.as_ref()?.flows.as_slice();
    (!flows.is_empty()).then_some(flows)
}

/// The ledger of all flows; `None` if one has none.
fn ledger(document: &Document) -> Option<Ledger> {
    let ledgers = flows(document)?.iter().map(|flow| flow.ledger);
    let ledgers: Vec<Ledger> = ledgers.collect::<Option<_>>()?;
    Some(Ledger::sum(ledgers.iter()))
}

/// The round trip of the program if it was measured, else that in the network.
fn whole(rtt: &RttSplit) -> Option<&Spread> {
    rtt.user_ns.as_ref().or(rtt.network_ns.as_ref())
}

fn least(document: &Document, of: fn(&RttSplit) -> Option<u64>) -> Option<f64> {
    let flows = flows(document)?.iter();
    flows
        .filter_map(|flow| of(flow.rtt.as_ref()?))
        .min()
        .map(to_f64)
}

fn most(document: &Document, of: fn(&RttSplit) -> Option<u64>) -> Option<f64> {
    let flows = flows(document)?.iter();
    flows
        .filter_map(|flow| of(flow.rtt.as_ref()?))
        .max()
        .map(to_f64)
}

/// The greatest value of all flows.
fn worst(document: &Document, of: fn(&Flow) -> Option<u64>) -> Option<f64> {
    let flows = flows(document)?.iter();
    flows.filter_map(of).max().map(to_f64)
}

/// The sum over all flows; `None` if one does not know it.
fn total(document: &Document, of: fn(&Flow) -> Option<u64>) -> Option<f64> {
    let sum: Option<u64> = flows(document)?.iter().map(of).sum();
    sum.map(to_f64)
}

/// The goodput that 95 % of the intervals reach, of all flows together.
fn low_goodput(document: &Document) -> Option<f64> {
    let sum = |interval: &Interval| -> Option<f64> {
        let flows = interval.flows.iter();
        flows.map(|flow| flow.goodput_bps).sum()
    };
    let mut goodputs: Vec<f64> = document.intervals.iter().filter_map(sum).collect();
    // Fewer intervals do not have one below the fifth percentile.
    if goodputs.len() < 20 {
        return None;
    }
    goodputs.sort_by(f64::total_cmp);
    goodputs.get(goodputs.len() / 20).copied()
}

/// The processor time of the program, as a share of one core.
fn cpu(host: &Delta) -> Option<f64> {
    let cpu_ns = host.process_cpu_ns?;
    (host.wall_ns > 0).then(|| to_f64(cpu_ns) / to_f64(host.wall_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;

    #[test]
    fn names_differ_and_figures_are_those_of_the_document() {
        let document = sample::two_flows();
        let value = |name| find(name).unwrap().of(&document);
        assert_eq!(value("goodput"), Some(98.5e6));
        assert_eq!(value("loss"), Some(21.0 / 42_164.0));
        assert_eq!(value("rtt.p99"), Some(42.9e6));
        assert_eq!(value("ledger.lost_network"), Some(36.0));
        assert_eq!(value("rpm"), Some(1_935.0));
        assert_eq!(value("cpu.client"), Some(0.11));
        assert_eq!(value("retransmits"), None);
        assert_eq!(value("goodput.p5"), None);
        let mut names: Vec<_> = FIGURES.iter().map(|figure| figure.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FIGURES.len());
    }

    #[test]
    fn fifth_percentile_of_goodput_needs_twenty_intervals() {
        let mut document = sample::document();
        let one = document.intervals[0].clone();
        document.intervals = vec![one; 20];
        document.intervals[7].flows[0].goodput_bps = Some(1e6);
        document.intervals[9].flows[0].goodput_bps = Some(2e6);
        assert_eq!(find("goodput.p5").unwrap().of(&document), Some(2e6));
    }

    #[test]
    fn wrong_name_has_a_suggestion() {
        for (wrong, right) in [
            ("latncy", "rtt.p50"),
            ("rtt99", "rtt.p99"),
            ("goodputs", "goodput"),
            ("lost_network", "ledger.lost_network"),
            ("losses", "loss"),
            ("jiter", "jitter"),
        ] {
            assert_eq!(similar(wrong), right, "{wrong}");
        }
    }
}
