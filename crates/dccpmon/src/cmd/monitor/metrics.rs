//! The results that `dccpmon monitor` offers to Prometheus.
//!
//! Labels are the names of tests and hosts of the monitor's own file, and the words here. Nothing that a peer sends
//! becomes a label, so peers cannot make the memory of Prometheus grow.

use crate::schema::{Document, Ledger, Status};
use core::sync::atomic::AtomicU64;
use dccp::proto::number::to_f64;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

/// A label whose value this program writes.
type Word = [(&'static str, &'static str); 1];
/// The names of a test and its host.
type Test = [(&'static str, String); 2];
type Decimal = Gauge<f64, AtomicU64>;

const STATUSES: [Status; 5] = [
    Status::Complete,
    Status::Interrupted,
    Status::Incomplete,
    Status::Failed,
    Status::Refused,
];

/// The label of a test's end.
pub(super) fn status_text(status: Status) -> &'static str {
    match status {
        Status::Complete => "complete",
        Status::Interrupted => "interrupted",
        Status::Incomplete => "incomplete",
        Status::Refused => "refused",
        // A run that has ended is neither of the last two.
        Status::Failed | Status::Running | Status::Planned => "failed",
    }
}

/// The losses of a ledger with the labels of their places.
fn losses(ledger: &Ledger) -> [(&'static str, u64); 8] {
    [
        ("sender_queue", ledger.lost_sender_queue),
        ("sender_interface", ledger.lost_sender_interface),
        ("network", ledger.lost_network),
        ("receiver_interface", ledger.lost_receiver_interface),
        ("receiver_softnet", ledger.lost_receiver_softnet),
        ("receiver_socket", ledger.lost_receiver_socket),
        ("receiver_app", ledger.lost_receiver_app),
        ("unknown", ledger.unknown),
    ]
}

/// Results of all tests. Clones share their values.
#[derive(Clone, Debug)]
pub(super) struct MonitorMetrics {
    tests: Family<(Test, Word), Counter>,
    lost: Family<(Test, Word), Counter>,
    last: Family<Test, Decimal>,
    goodput: Family<Test, Decimal>,
    loss: Family<Test, Decimal>,
    idle_rtt: Family<Test, Decimal>,
    rtt: Family<Test, Histogram>,
}

impl MonitorMetrics {
    pub(super) fn new() -> Self {
        Self {
            tests: Family::default(),
            lost: Family::default(),
            last: Family::default(),
            goodput: Family::default(),
            loss: Family::default(),
            idle_rtt: Family::default(),
            rtt: Family::new_with_constructor(rtt_histogram),
        }
    }

    /// A registry with all metrics.
    pub(super) fn registry(&self) -> Registry {
        let mut of = Registry::with_prefix("dccpmon");
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        of.register("build", "Version of the program", version);
        of.register("tests", "Tests that ended", self.tests.clone());
        of.register("lost_packets", "Lost packets by place", self.lost.clone());
        of.register(
            "last_test_timestamp_seconds",
            "End of the last test, in Unix time",
            self.last.clone(),
        );
        of.register(
            "goodput_bits_per_second",
            "Payload that arrived in the last test; absent if it gave no result",
            self.goodput.clone(),
        );
        of.register(
            "loss_ratio",
            "Lost packets divided by sent packets in the last test",
            self.loss.clone(),
        );
        of.register(
            "idle_rtt_seconds",
            "Median round trip before the load of the last test",
            self.idle_rtt.clone(),
        );
        of.register(
            "rtt_seconds",
            "Median round trips of all intervals under load",
            self.rtt.clone(),
        );
        of
    }

    /// Adds a test of the file, so that its counters exist before it first runs.
    pub(super) fn add(&self, test: &str, host: &str) -> TestMetrics {
        let of = TestMetrics {
            monitor: self.clone(),
            test: [("test", test.to_owned()), ("peer", host.to_owned())],
        };
        for status in STATUSES {
            let labels = of.with("status", status_text(status));
            self.tests.get_or_create(&labels).inc_by(0);
        }
        for (place, _) in losses(&Ledger::default()) {
            self.lost.get_or_create(&of.with("place", place)).inc_by(0);
        }
        of
    }
}

/// The metrics of one test.
#[derive(Clone, Debug)]
pub(super) struct TestMetrics {
    monitor: MonitorMetrics,
    test: Test,
}

impl TestMetrics {
    /// Counts a run that left no document.
    pub(super) fn failed(&self, unix_s: u64) {
        self.ended(Status::Failed, unix_s);
        self.show(None);
    }

    /// Stores the result of a run.
    pub(super) fn add(&self, document: &Document) {
        self.ended(document.status, document.record.ended_unix_s);
        self.show(Some(document));
        let of = &self.monitor;
        let rounds = document.intervals.iter().flat_map(|i| &i.flows);
        for round in rounds.filter_map(|flow| flow.rtt_ns.as_ref()?.p50) {
            of.rtt.get_or_create(&self.test).observe(seconds(round));
        }
        for (place, packets) in ledger(document).iter().flat_map(losses) {
            let counter = of.lost.get_or_create(&self.with("place", place));
            counter.inc_by(packets);
        }
    }

    fn ended(&self, status: Status, unix_s: u64) {
        let labels = self.with("status", status_text(status));
        self.monitor.tests.get_or_create(&labels).inc();
        self.set(&self.monitor.last, Some(to_f64(unix_s)));
    }

    /// Shows the last result. Without one the values of the run before vanish, because a graph must not show them as
    /// if they were new.
    fn show(&self, document: Option<&Document>) {
        let of = &self.monitor;
        let summary = document.and_then(|d| d.summary.as_ref());
        let idle_ns = document.and_then(|d| d.idle.as_ref()?.idle_ns.p50);
        self.set(&of.goodput, summary.and_then(|s| s.goodput_bps));
        self.set(&of.loss, document.and_then(loss_ratio));
        self.set(&of.idle_rtt, idle_ns.map(seconds));
    }

    fn set(&self, family: &Family<Test, Decimal>, value: Option<f64>) {
        match value {
            Some(value) => {
                family.get_or_create(&self.test).set(value);
            }
            None => {
                family.remove(&self.test);
            }
        }
    }

    fn with(&self, label: &'static str, value: &'static str) -> (Test, Word) {
        (self.test.clone(), [(label, value)])
    }
}

/// The ledger of all flows; `None` without one.
fn ledger(document: &Document) -> Option<Ledger> {
    let flows = &document.summary.as_ref()?.flows;
    let ledgers: Vec<&Ledger> = flows.iter().filter_map(|f| f.ledger.as_ref()).collect();
    (!ledgers.is_empty()).then(|| Ledger::sum(ledgers.into_iter()))
}

/// Lost packets divided by sent packets.
pub(super) fn loss_ratio(document: &Document) -> Option<f64> {
    let ledger = ledger(document)?;
    let lost: u64 = losses(&ledger).iter().map(|(_, packets)| packets).sum();
    (ledger.sent > 0).then(|| to_f64(lost) / to_f64(ledger.sent))
}

fn seconds(ns: u64) -> f64 {
    to_f64(ns) / 1e9
}

/// Bounds from 0.1 ms to 3.3 s, each twice the one before.
fn rtt_histogram() -> Histogram {
    Histogram::new(exponential_buckets(0.000_1, 2.0, 16))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::sample;
    use dccp_dev::openmetrics::{self, value};
    use prometheus_client::encoding::text::encode;

    fn read(metrics: &MonitorMetrics) -> Vec<openmetrics::Family> {
        let mut text = String::new();
        encode(&mut text, &metrics.registry()).unwrap();
        openmetrics::parse(&text).unwrap()
    }

    // goal 47: metrics of a monitor show the last result and sums of all.
    #[test]
    fn monitor_shows_the_last_result_and_sums_of_all() {
        let metrics = MonitorMetrics::new();
        let test = metrics.add("office", "h1");
        let labels = [("test", "office"), ("peer", "h1")];
        let of = |name: &str, more: &[(&'static str, &'static str)]| {
            let all = [&labels[..], more].concat();
            value(&read(&metrics), &format!("dccpmon_{name}"), &all)
        };
        assert_eq!(of("tests_total", &[("status", "complete")]), Some(0.0));
        assert_eq!(of("lost_packets_total", &[("place", "network")]), Some(0.0));
        assert_eq!(of("goodput_bits_per_second", &[]), None);

        let document = sample::document();
        test.add(&document);
        test.add(&document);
        let summary = document.summary.as_ref().unwrap();
        assert_eq!(of("goodput_bits_per_second", &[]), summary.goodput_bps);
        assert_eq!(of("loss_ratio", &[]), loss_ratio(&document));
        assert_eq!(of("tests_total", &[("status", "complete")]), Some(2.0));
        let network = ledger(&document).unwrap().lost_network;
        let lost = of("lost_packets_total", &[("place", "network")]);
        assert_eq!(lost, Some(2.0 * to_f64(network)));
        let ended = to_f64(document.record.ended_unix_s);
        assert_eq!(of("last_test_timestamp_seconds", &[]), Some(ended));

        test.failed(5);
        assert_eq!(of("goodput_bits_per_second", &[]), None);
        assert_eq!(of("loss_ratio", &[]), None);
        assert_eq!(of("last_test_timestamp_seconds", &[]), Some(5.0));
        assert_eq!(of("tests_total", &[("status", "failed")]), Some(1.0));
        assert_eq!(of("tests_total", &[("status", "complete")]), Some(2.0));
    }
}
