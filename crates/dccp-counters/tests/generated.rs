//! The files that are made from the tables. `UPDATE=1 cargo test -p dccp-counters --test generated` writes them.

use dccp_counters::gauges::{GAUGES, Gauge};
use dccp_counters::host_gauges::{HOST_GAUGES, HostGauge};
use dccp_counters::snmp::mib;
use dccp_counters::table::{Counter, GROUPS, counters};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const HINT: &str = "stale: UPDATE=1 cargo test -p dccp-counters --test generated";

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name)
}

fn is_update() -> bool {
    std::env::var_os("UPDATE").is_some()
}

/// The objects of a MIB with the nodes and numbers that they are assigned.
fn places(mib: &str) -> BTreeMap<String, String> {
    let mut places = BTreeMap::new();
    let mut object = "";
    for line in mib.lines() {
        if let Some(name) = line.strip_suffix(" OBJECT-TYPE") {
            object = name;
        } else if let Some(place) = line.trim().strip_prefix("::= ") {
            places.insert(object.to_owned(), place.to_owned());
        }
    }
    places
}

#[test]
fn stored_mib_is_that_of_the_tables() {
    let path = file("contrib/snmp/USRDCCP-MIB.txt");
    let mib = mib();
    if let Ok(stored) = fs::read_to_string(&path) {
        let new = places(&mib);
        for (object, place) in places(&stored) {
            let moved = new.get(&object).filter(|new| **new != place);
            assert_eq!(moved, None, "{object}: an object keeps its place {place}");
        }
    }
    if is_update() {
        fs::write(&path, &mib).expect("the MIB is written");
    }
    assert!(fs::read_to_string(path).expect("the MIB") == mib, "{HINT}");
}

fn labels(row: &Counter) -> String {
    let labels = row
        .labels
        .iter()
        .map(|(name, value)| format!("{name}=\"{value}\""));
    let labels: Vec<_> = labels.collect();
    if labels.is_empty() {
        String::new()
    } else {
        format!("{{{}}}", labels.join(","))
    }
}

/// A table with these column titles.
fn table(title: &str, columns: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let titles: Vec<String> = columns.iter().map(|&column| column.into()).collect();
    let rows: Vec<String> = rows.map(|cells| line(&cells)).collect();
    let rule = "|---".repeat(columns.len());
    format!("### {title}\n\n{}{rule}|\n{}", line(&titles), rows.concat())
}

fn tables() -> String {
    let mut tables = Vec::new();
    for (arc, _, title) in GROUPS {
        let rows = counters().iter().filter(|row| row.arcs[0] == *arc);
        let rows = rows.map(|row| {
            let metric = format!("`{}{}`", row.family(), labels(row));
            let object = format!("`{}` `{}`", row.object, row.key());
            vec![object, metric, row.help.clone(), row.unit.words().into()]
        });
        let columns = ["MIB, JSON", "Prometheus", "meaning", "unit"];
        tables.push(table(title, &columns, rows));
    }
    let rows = HOST_GAUGES.iter().map(|row| {
        let (object, metric) = (format!("`{}`", row.object), format!("`{}`", row.family()));
        vec![object, metric, row.help.into(), row.unit.words().into()]
    });
    let columns = ["MIB", "Prometheus", "meaning", "unit"];
    tables.push(table("Gauges of the host", &columns, rows));
    let rows = GAUGES.iter().map(|row| {
        let object = format!("`{}`, {}", row.object, row.scaled_unit);
        let (key, metric) = (format!("`{}`", row.key()), format!("`{}`", row.family()));
        vec![
            object,
            key,
            metric,
            row.help.into(),
            row.unit.words().into(),
        ]
    });
    let columns = ["MIB, its unit", "JSON", "Prometheus", "meaning", "unit"];
    tables.push(table("Gauges of a connection", &columns, rows));
    tables.join("\n")
}

#[test]
fn tables_of_the_page_are_current() {
    const BEGIN: &str = "<!-- tables -->\n\n";
    let path = file("docs/counters.md");
    let page = fs::read_to_string(&path).expect("the page");
    let begin = page.find(BEGIN).expect("the mark before the tables") + BEGIN.len();
    if is_update() {
        fs::write(&path, format!("{}{}", &page[..begin], tables())).expect("the page is written");
    } else {
        assert!(page[begin..] == tables(), "{HINT}");
    }
}

/// The names of metrics in a text.
fn metrics(text: &str) -> BTreeSet<&str> {
    let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    let words = text.split(is_end);
    words.filter(|word| word.starts_with("dccp_")).collect()
}

#[test]
fn page_and_dashboard_name_metrics_that_exist() {
    let mut known: BTreeSet<String> = counters().iter().map(Counter::family).collect();
    known.extend(HOST_GAUGES.iter().map(HostGauge::family));
    known.extend(GAUGES.iter().map(Gauge::family));
    let others = [
        "dccp_up",
        "dccp_connection_info",
        "dccp_counters",
        "dccp_connection_",
    ];
    known.extend(others.map(str::to_owned));
    for (name, least) in [
        ("contrib/grafana/dccp-host.json", 15),
        ("docs/counters.md", 90),
    ] {
        let text = fs::read_to_string(file(name)).expect("the file");
        let used = metrics(&text);
        let unknown: Vec<_> = used
            .iter()
            .filter(|metric| !known.contains(**metric))
            .collect();
        assert!(unknown.is_empty(), "{name}: {unknown:?}");
        assert!(used.len() >= least, "{name}: {}", used.len());
    }
    let dashboard = fs::read_to_string(file("contrib/grafana/dccp-host.json")).expect("the file");
    serde_json::from_str::<serde_json::Value>(&dashboard).expect("JSON");
}
