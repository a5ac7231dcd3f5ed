use super::*;
use crate::Counters;
use dccp_dev::openmetrics::{self, value};

fn snapshot() -> Snapshot {
    let connection = |id| ConnectionCounters {
        id,
        remote: "192.0.2.2:6511/5001\"\n".into(),
        counters: Counters::from_rows(|_| u64::from(id) * 10),
        gauges: GAUGES.iter().map(|_| Some(0.5)).collect(),
        age_s: 2.0,
        ..ConnectionCounters::default()
    };
    Snapshot {
        uptime_s: 1.5,
        open: 2,
        totals: (1..).take(counters().len()).collect(),
        connections: vec![connection(3), connection(4)],
        ..Snapshot::default()
    }
}

fn read(connections_max: usize) -> Vec<openmetrics::Family> {
    let text = text(&snapshot(), connections_max).expect("text");
    openmetrics::parse(&text).expect("OpenMetrics")
}

#[test]
fn each_counter_has_its_name_and_labels() {
    let families = read(0);
    for (row, expected) in snapshot().totals.rows() {
        let labels: Vec<_> = row
            .labels
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let expected = expected as f64;
        assert_eq!(
            value(&families, &row.family(), &labels),
            Some(expected),
            "{}",
            row.family()
        );
    }
    for row in HOST_GAUGES {
        assert_eq!(
            value(&families, &row.family(), &[]),
            Some(row.of(&snapshot()))
        );
    }
    assert_eq!(value(&families, "dccp_up", &[]), Some(1.0));
    assert_eq!(value(&families, "dccp_uptime_seconds", &[]), Some(1.5));
    let is_of_connection =
        |family: &openmetrics::Family| family.name.starts_with("dccp_connection_info");
    assert!(!families.iter().any(is_of_connection));
}

#[test]
fn series_of_connections_are_bounded() {
    let families = read(1);
    let labels = |id| [("connection", id)];
    let age = |families: &[_], id| value(families, "dccp_connection_age_seconds", &labels(id));
    assert_eq!(
        (age(&families, "3"), age(&families, "4")),
        (Some(2.0), None)
    );
    let families = read(9);
    assert_eq!(
        (age(&families, "3"), age(&families, "4")),
        (Some(2.0), Some(2.0))
    );
    for row in GAUGES {
        assert_eq!(
            value(&families, &row.family(), &labels("4")),
            Some(0.5),
            "{}",
            row.family()
        );
    }
    let packets = [("connection", "4"), ("direction", "in"), ("type", "data")];
    assert_eq!(
        value(&families, "dccp_connection_packets_total", &packets),
        Some(40.0)
    );
    let of_host =
        |family: &&openmetrics::Family| family.name.starts_with("dccp_connection_transport");
    assert!(families.iter().find(of_host).is_none());
}

#[test]
fn failure_to_read_is_a_metric() {
    let exporter = Exporter::new(|| Err(io::ErrorKind::ConnectionRefused.into()));
    let mut registry = Registry::default();
    registry.register_collector(Box::new(exporter));
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).expect("text");
    let families = openmetrics::parse(&text).expect("OpenMetrics");
    assert_eq!(value(&families, "dccp_up", &[]), Some(0.0));
    assert_eq!(families.len(), 1);
}
