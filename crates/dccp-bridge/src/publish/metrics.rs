//! The metrics that `--metrics` offers to Prometheus.
//!
//! Flows are labelled by their place in the table, which has at most `--max-flows` places. Nothing that a peer sends
//! becomes a label, so peers cannot make the memory of Prometheus grow.

use super::FlowRate;
use crate::pressure::Change;
use core::sync::atomic::AtomicU64;
use dccp::proto::number::to_f64;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

/// The name and the value of a label.
type Word = [(&'static str, &'static str); 1];
/// The place of a flow.
type Place = [(&'static str, u64); 1];
type Decimal = Gauge<f64, AtomicU64>;

/// Counters of the bridge. Clones share their values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) flows: Gauge,
    /// Flows that had no place in the table.
    pub(crate) refused: Counter,
    /// Connections whose handshake was complete.
    pub(crate) connected: Counter,
    /// Attempts that failed.
    pub(crate) failed: Counter,
    pub(crate) to_peer: Counter,
    pub(crate) to_peer_bytes: Counter,
    pub(crate) to_app: Counter,
    pub(crate) to_app_bytes: Counter,
    /// Datagrams that the network lost, as the peer reports.
    pub(crate) lost: Counter,
    /// Datagrams that were dropped, by reason.
    pub(crate) expired: Counter,
    pub(crate) overflowed: Counter,
    pub(crate) limited: Counter,
    pub(crate) too_big: Counter,
    pub(crate) marked: Counter,
    pub(crate) no_connection: Counter,
    pub(crate) no_flow: Counter,
    pub(crate) not_taken: Counter,
    advisories: Counter,
    enforcements: Counter,
    recoveries: Counter,
    allowed: Family<Place, Decimal>,
    delivered: Family<Place, Decimal>,
    queue: Family<Place, Decimal>,
}

impl Metrics {
    /// A registry with all metrics.
    pub(crate) fn registry(&self) -> Registry {
        let mut of = Registry::with_prefix("dccp_bridge");
        let version = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        of.register("build", "Version of the program", version);
        of.register("flows", "Flows now", self.flows.clone());
        of.register(
            "refused_flows",
            "Flows that found the table full",
            self.refused.clone(),
        );
        let connections = family(
            "outcome",
            &[("opened", &self.connected), ("failed", &self.failed)],
        );
        of.register("connections", "Connections by outcome", connections);
        let datagrams = [("to_peer", &self.to_peer), ("to_app", &self.to_app)];
        of.register(
            "datagrams",
            "Datagrams carried",
            family("direction", &datagrams),
        );
        let bytes = [
            ("to_peer", &self.to_peer_bytes),
            ("to_app", &self.to_app_bytes),
        ];
        of.register("bytes", "Their payload", family("direction", &bytes));
        let dropped = [
            ("expired", &self.expired),
            ("overflowed", &self.overflowed),
            ("limited", &self.limited),
            ("too_big", &self.too_big),
            ("congestion_mark", &self.marked),
            ("no_connection", &self.no_connection),
            ("no_flow", &self.no_flow),
            ("not_taken", &self.not_taken),
        ];
        of.register(
            "dropped",
            "Datagrams that this bridge dropped",
            family("reason", &dropped),
        );
        of.register(
            "lost",
            "Datagrams that the network lost, as the peer reports",
            self.lost.clone(),
        );
        let changes = [
            ("advisory", &self.advisories),
            ("enforcement", &self.enforcements),
            ("recovery", &self.recoveries),
        ];
        of.register(
            "changes",
            "Advisories, enforcements and recoveries",
            family("change", &changes),
        );
        of.register(
            "allowed_bits_per_second",
            "Application data that may leave; absent without a connection",
            self.allowed.clone(),
        );
        of.register(
            "delivered_bits_per_second",
            "Application data that arrives at the peer",
            self.delivered.clone(),
        );
        of.register(
            "queue_seconds",
            "The time that a datagram waits if it is queued now",
            self.queue.clone(),
        );
        of
    }

    /// Shows the rates of a flow.
    pub(crate) fn show(&self, slot: usize, rate: &FlowRate) {
        let place = [("flow", slot as u64)];
        set(&self.allowed, &place, rate.allowed_bps.map(to_f64));
        set(&self.delivered, &place, rate.delivered_bps.map(to_f64));
        let queue = rate.allowed_bps.map(|_| to_f64(rate.queue_ms) / 1000.0);
        set(&self.queue, &place, queue);
    }

    /// Removes the rates of a flow that has ended.
    pub(crate) fn forget(&self, slot: usize) {
        let place = [("flow", slot as u64)];
        for family in [&self.allowed, &self.delivered, &self.queue] {
            family.remove(&place);
        }
    }

    /// Counts a change of pressure.
    pub(crate) fn changed(&self, change: Change) {
        match change {
            Change::Advisory => self.advisories.inc(),
            Change::Enforcement => self.enforcements.inc(),
            Change::Recovery(_) => self.recoveries.inc(),
        };
    }
}

fn set(family: &Family<Place, Decimal>, place: &Place, value: Option<f64>) {
    match value {
        Some(value) => {
            family.get_or_create(place).set(value);
        }
        None => {
            family.remove(place);
        }
    }
}

/// A family of counters that exist already.
fn family(label: &'static str, counters: &[(&'static str, &Counter)]) -> Counters {
    Counters(
        counters
            .iter()
            .map(|(value, counter)| ([(label, *value)], (*counter).clone()))
            .collect(),
    )
}

/// Counters by label.
#[derive(Debug)]
struct Counters(Vec<(Word, Counter)>);

mod encoding {
    use super::Counters;
    use core::fmt;
    use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
    use prometheus_client::metrics::MetricType;

    impl EncodeMetric for Counters {
        fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
            for (label, counter) in &self.0 {
                counter.encode(encoder.encode_family(label)?)?;
            }
            Ok(())
        }

        fn metric_type(&self) -> MetricType {
            MetricType::Counter
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp_dev::openmetrics::{self, value};
    use prometheus_client::encoding::text::encode;

    fn read(metrics: &Metrics) -> Vec<openmetrics::Family> {
        let mut text = String::new();
        encode(&mut text, &metrics.registry()).unwrap();
        openmetrics::parse(&text).unwrap()
    }

    #[test]
    fn rates_of_a_flow_vanish_with_it() {
        let metrics = Metrics::default();
        let rate = FlowRate {
            flow: 9,
            app: ([127, 0, 0, 1], 1).into(),
            allowed_bps: Some(5_000_000),
            delivered_bps: None,
            queue_ms: 40,
            level: "clear",
        };
        metrics.show(3, &rate);
        let labels = [("flow", "3")];
        let of = |name: &str| value(&read(&metrics), name, &labels);
        assert_eq!(of("dccp_bridge_allowed_bits_per_second"), Some(5e6));
        assert_eq!(of("dccp_bridge_delivered_bits_per_second"), None);
        assert_eq!(of("dccp_bridge_queue_seconds"), Some(0.04));
        metrics.forget(3);
        assert_eq!(of("dccp_bridge_allowed_bits_per_second"), None);
    }

    #[test]
    fn counters_exist_before_their_first_event() {
        let metrics = Metrics::default();
        metrics.too_big.inc_by(3);
        metrics.changed(Change::Enforcement);
        let families = read(&metrics);
        let of =
            |name: &str, label| value(&families, &format!("dccp_bridge_{name}_total"), &[label]);
        assert_eq!(of("dropped", ("reason", "expired")), Some(0.0));
        assert_eq!(of("dropped", ("reason", "too_big")), Some(3.0));
        assert_eq!(of("changes", ("change", "enforcement")), Some(1.0));
        assert_eq!(of("connections", ("outcome", "failed")), Some(0.0));
    }
}
