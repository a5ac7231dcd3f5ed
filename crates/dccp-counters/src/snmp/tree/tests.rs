use super::*;

fn parse(text: &str) -> Option<String> {
    Oid::parse(text).map(|oid| oid.to_string())
}

#[test]
fn numbers_of_objects_are_read_and_written() {
    assert_eq!(parse(".1.3.4294967295").as_deref(), Some(".1.3.4294967295"));
    for wrong in [
        "",
        "1.3",
        ".",
        ".1..3",
        ".1.4294967296",
        ".1.-3",
        ".a",
        ".1.",
    ] {
        assert_eq!(parse(wrong), None, "{wrong}");
    }
    assert!(parse(&".1".repeat(128)).is_some());
    assert_eq!(parse(&".1".repeat(129)), None);
}

#[test]
fn values_fit_the_types_of_smi() {
    assert_eq!(Value::gauge(2.5), Value::Gauge32(3));
    assert_eq!(Value::gauge(-1.0), Value::Gauge32(0));
    assert_eq!(Value::gauge(1e12), Value::Gauge32(u32::MAX));
    assert_eq!(Value::gauge(f64::NAN), Value::Gauge32(0));
    assert_eq!(Value::time(1.25), Value::TimeTicks(125));
    assert_eq!(Value::time(42_949_673.0), Value::TimeTicks(4));
    let text = Value::text(&format!("a\nb\0é{}", "c".repeat(300)));
    assert_eq!(text, Value::Text(format!("ab{}", "c".repeat(253))));
}

#[test]
fn connections_are_ordered_by_column_then_by_number() {
    let connection = |id| ConnectionCounters {
        id,
        ..ConnectionCounters::default()
    };
    let snapshot = Snapshot {
        connections: vec![connection(20), connection(0), connection(3)],
        ..Snapshot::default()
    };
    let tree = Tree::new(&snapshot);
    let mut oid = Oid::of(&[&ENTRY]);
    let mut seen = Vec::new();
    while let Some((next, _)) = tree.next(&oid) {
        seen.push(next.0[BASE.len() + ENTRY.len()..].to_vec());
        oid = next.clone();
    }
    assert_eq!(seen[..4], [[2, 3], [2, 20], [3, 3], [3, 20]]);
    assert!(tree.get(&oid).is_some() && tree.next(&oid).is_none());
}
