//! The metrics that `dccpmon serve --metrics` offers to Prometheus.
//!
//! Labels have few values, those of the enums here. Nothing that a peer sends becomes a label, so peers cannot make
//! the memory of Prometheus grow.

use crate::wire::message::RefusalCode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

/// The name and the value of a label.
type Label = [(&'static str, &'static str); 1];

/// How a test ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// As the client wanted.
    Complete,
    /// It used more than the server allows, or carried no data.
    Limited,
    /// The server ended.
    Stopped,
    /// The client vanished.
    Lost,
}

impl Outcome {
    const ALL: [Self; 4] = [Self::Complete, Self::Limited, Self::Stopped, Self::Lost];

    fn label(self) -> Label {
        let text = match self {
            Self::Complete => "complete",
            Self::Limited => "limited",
            Self::Stopped => "stopped",
            Self::Lost => "lost",
        };
        [("outcome", text)]
    }
}

/// The direction of data, as the server sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Direction {
    /// From clients.
    Received,
    /// To clients.
    Sent,
}

impl Direction {
    const ALL: [Self; 2] = [Self::Received, Self::Sent];

    fn label(self) -> Label {
        let text = match self {
            Self::Received => "received",
            Self::Sent => "sent",
        };
        [("direction", text)]
    }
}

const REFUSALS: [RefusalCode; 6] = [
    RefusalCode::Busy,
    RefusalCode::Key,
    RefusalCode::Version,
    RefusalCode::Limit,
    RefusalCode::Stopping,
    RefusalCode::Destination,
];

fn refusal_label(code: RefusalCode) -> Label {
    let text = match code {
        RefusalCode::Busy => "busy",
        RefusalCode::Key => "key",
        RefusalCode::Version => "version",
        RefusalCode::Limit => "limit",
        RefusalCode::Stopping => "stopping",
        RefusalCode::Destination => "destination",
    };
    [("code", text)]
}

/// Counters of a server. Clones share their values.
#[derive(Clone, Debug, Default)]
pub(super) struct Metrics {
    running: Gauge,
    tests: Family<Label, Counter>,
    bytes: Family<Label, Counter>,
    refused: Family<Label, Counter>,
}

impl Metrics {
    /// A registry with the metrics of a server that runs at most `seats` tests at once.
    pub(super) fn registry(&self, seats: u32) -> Registry {
        // A counter that exists from the start shows its first increase.
        for outcome in Outcome::ALL {
            self.tests.get_or_create(&outcome.label()).inc_by(0);
        }
        for direction in Direction::ALL {
            self.bytes.get_or_create(&direction.label()).inc_by(0);
        }
        for code in REFUSALS {
            self.refused.get_or_create(&refusal_label(code)).inc_by(0);
        }
        let at_once = Gauge::<i64>::default();
        at_once.set(seats.into());
        let mut registry = Registry::with_prefix("dccpmon");
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "Version of the program", version);
        let server = registry.sub_registry_with_prefix("server");
        server.register("seats", "Tests that may run at once", at_once);
        server.register("tests_running", "Tests that run now", self.running.clone());
        server.register("tests", "Tests that ended", self.tests.clone());
        server.register("bytes", "Payload of data packets", self.bytes.clone());
        server.register(
            "refused",
            "Requests that were refused",
            self.refused.clone(),
        );
        registry
    }

    /// Notes how many tests run.
    pub(super) fn set_running(&self, tests: usize) {
        self.running.set(i64::try_from(tests).unwrap_or(i64::MAX));
    }

    /// Counts a test that has ended.
    pub(super) fn test_ended(&self, outcome: Outcome) {
        self.tests.get_or_create(&outcome.label()).inc();
    }

    /// Counts payload.
    pub(super) fn moved(&self, direction: Direction, bytes: u64) {
        self.bytes.get_or_create(&direction.label()).inc_by(bytes);
    }

    /// Counts a request that was refused.
    pub(super) fn refused(&self, code: RefusalCode) {
        self.refused.get_or_create(&refusal_label(code)).inc();
    }
}
