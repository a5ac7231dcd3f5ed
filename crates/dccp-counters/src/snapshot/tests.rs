use super::*;
use crate::table::counters;

/// Each counter and each gauge has a value of its own.
fn connection(id: u32) -> ConnectionCounters {
    let values = counters().iter().zip(1..);
    ConnectionCounters {
        id,
        local: "192.0.2.1:6511/5001".into(),
        state: "OPEN".into(),
        age_s: 1.5,
        counters: values
            .map(|(row, n)| if row.is_of_connections() { n } else { 0 })
            .collect(),
        gauges: GAUGES
            .iter()
            .zip(1_u32..)
            .map(|(_, n)| Some(f64::from(n) / 7.0))
            .collect(),
        ..ConnectionCounters::default()
    }
}

fn listener(refused_backlog: u64) -> ListenerCounters {
    ListenerCounters {
        refused_backlog,
        ..ListenerCounters::default()
    }
}

#[test]
fn json_reads_back_what_was_written() {
    let snapshot = Snapshot {
        uptime_s: 12.25,
        open: 2,
        established: 1,
        totals: (1..).take(counters().len()).collect(),
        listeners: vec![listener(3)],
        ..Snapshot::default()
    };
    let text = serde_json::to_string(&snapshot).expect("JSON");
    assert_eq!(
        serde_json::from_str::<Snapshot>(&text).expect("a snapshot"),
        snapshot
    );

    let written = connection(7);
    let text = serde_json::to_string(&written).expect("JSON");
    let read: ConnectionCounters = serde_json::from_str(&text).expect("a connection");
    assert_eq!(read, written);
}

#[test]
fn json_of_another_version_is_read() {
    let text = r#"{"totals": {"packets_in_data": 5, "packets_in_news": 6}, "news": [1]}"#;
    let snapshot: Snapshot = serde_json::from_str(text).expect("a snapshot");
    assert_eq!(snapshot.totals.get("packets_in_data"), Some(5));
    assert_eq!(snapshot.totals.get("packets_in_ack"), Some(0));
    assert_eq!(snapshot.totals.get("packets_in_news"), None);
}

#[test]
fn what_has_ended_stays_in_the_totals() {
    let mut ended = Totals::default();
    let of = |ended: &Totals, connections, listeners| {
        let engines = [EngineStats::default()];
        Snapshot::new(Duration::ZERO, ended, &engines, connections, listeners).totals
    };
    let key = "datagrams_pushed";
    let pushed = connection(1).counters.get(key).expect("a counter");
    let before = of(
        &ended,
        vec![connection(1), connection(2)],
        vec![listener(4), listener(5)],
    );
    assert_eq!(before.get(key), Some(2 * pushed));
    assert_eq!(before.get("connections_refused_backlog"), Some(9));
    // The engine counts packets, also of connections that are not listed.
    assert_eq!(before.get("packets_in_data"), Some(0));
    ended.ended(&connection(1));
    ended.listener_ended(&listener(5));
    assert_eq!(of(&ended, vec![connection(2)], vec![listener(4)]), before);
}
