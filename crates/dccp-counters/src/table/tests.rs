use super::*;
use crate::gauges::GAUGES;
use std::collections::BTreeSet;

#[test]
fn names_and_places_are_unique() {
    let all = counters();
    let objects = all.iter().map(|row| row.object.as_str());
    let objects = objects.chain(GAUGES.iter().map(|row| row.object));
    let objects = objects.chain(GROUPS.iter().map(|(_, object, _)| *object));
    let count = all.len() + GAUGES.len() + GROUPS.len();
    assert_eq!(objects.collect::<BTreeSet<_>>().len(), count);
    let places: BTreeSet<_> = all.iter().map(|row| row.arcs).collect();
    assert_eq!(places.len(), all.len());
    let keys: BTreeSet<_> = all.iter().map(Counter::key).collect();
    assert_eq!(keys.len(), all.len());
    let columns = all.iter().filter_map(|row| row.column);
    let columns: Vec<u32> = columns.chain(GAUGES.iter().map(|row| row.column)).collect();
    assert_eq!(BTreeSet::from_iter(&columns).len(), columns.len());
}

#[test]
fn each_row_has_a_group_and_each_metric_a_meaning() {
    for row in counters() {
        let is_its = |(arc, ..): &&(u32, &str, &str)| *arc == row.arcs[0];
        assert_eq!(GROUPS.iter().filter(is_its).count(), 1, "{}", row.object);
        assert!(!row.help.ends_with('.'), "{}", row.object);
    }
    // Rows of one metric stand together, have the same labels, and share a meaning.
    let metrics: Vec<_> = counters().chunk_by(|a, b| a.metric == b.metric).collect();
    let names: BTreeSet<_> = metrics.iter().map(|rows| rows[0].metric).collect();
    assert_eq!(names.len(), metrics.len());
    for rows in metrics {
        let labels = |row: &Counter| row.labels.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        let is_same = |row: &Counter| labels(row) == labels(&rows[0]) && row.unit == rows[0].unit;
        assert!(rows.iter().all(is_same), "{}", rows[0].metric);
        let is_listed = FAMILIES.iter().any(|(metric, _)| *metric == rows[0].metric);
        assert_eq!(is_listed, rows.len() > 1, "{}", rows[0].metric);
    }
}

#[test]
fn words_change_their_case() {
    assert_eq!(snake("DataAck"), "data_ack");
    assert_eq!(snake("Bad Init Cookie"), "bad_init_cookie");
    assert_eq!(snake("CCID-specific"), "ccid_specific");
    assert_eq!(camel("bad_init_cookie"), "BadInitCookie");
}
