//! The Grafana dashboard: every query names metrics and labels that the programs offer.

use crate::monitor::Monitor;
use crate::support::{Server, scrape};
use dccp_dev::openmetrics::Sample;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Labels that Prometheus itself adds to each sample.
const ADDED: [&str; 2] = ["instance", "job"];
/// A metric of tests with an idle phase, with its labels.
const ABSENT: (&str, [&str; 2]) = ("dccpmon_idle_rtt_seconds", ["test", "peer"]);

/// The names of all samples of a server and a monitor after a test, each with its labels.
fn offered(name: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut server = Server::start_with("udp", &["--metrics", "127.0.0.1:0"]);
    let mut monitor = Monitor::start(name, &server);
    let (of_server, of_monitor) = (server.metrics(), monitor.metrics());
    monitor.wait();
    let mut offered: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for family in scrape(of_server).into_iter().chain(scrape(of_monitor)) {
        for Sample { name, labels, .. } in family.samples {
            let known = offered.entry(name).or_default();
            known.extend(labels.into_keys());
            known.extend(ADDED.map(String::from));
        }
    }
    offered.insert(ABSENT.0.to_owned(), ABSENT.1.map(String::from).into());
    offered
}

fn dashboard() -> Value {
    serde_json::from_str(include_str!("../../../../contrib/grafana/dccpmon.json")).unwrap()
}

/// A query, and the labels that its legend shows.
struct Query {
    text: String,
    legend: Vec<String>,
}

/// The queries of all panels and variables.
fn queries() -> Vec<Query> {
    let dashboard = dashboard();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().map(String::from);
    let mut queries = Vec::new();
    for panel in list(&dashboard["panels"]) {
        for target in list(&panel["targets"]) {
            let legend = text(&target["legendFormat"]).unwrap();
            let shown = legend
                .split("{{")
                .skip(1)
                .filter_map(|rest| rest.split_once("}}"));
            queries.push(Query {
                text: text(&target["expr"]).unwrap(),
                legend: shown.map(|(label, _)| label.to_owned()).collect(),
            });
        }
    }
    for variable in list(&dashboard["templating"]["list"]) {
        let query = text(&variable["query"]["query"]);
        queries.extend(query.map(|text| Query {
            text,
            legend: Vec::new(),
        }));
    }
    queries
}

/// The words of a query outside its quoted texts and its durations in brackets.
fn words(query: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for (n, part) in query.split('"').enumerate() {
        let is_quoted = n % 2 == 1;
        if !is_quoted {
            let ends = |c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$';
            words.extend(part.split(ends).filter(|word| !word.is_empty()));
        }
    }
    words
}

#[test]
fn each_query_names_metrics_and_labels_of_the_program() {
    let offered = offered("monitor-queries");
    let queries = queries();
    assert!(queries.len() > 10);
    for Query { text, legend } in &queries {
        let words = words(text);
        let metrics: Vec<_> = words
            .iter()
            .filter(|word| word.starts_with("dccpmon_"))
            .collect();
        assert_eq!(metrics.len(), 1, "one metric in each query: {text}");
        let labels = offered
            .get(*metrics[0])
            .unwrap_or_else(|| panic!("{} is not offered: {text}", metrics[0]));
        for label in labels_of(text).iter().chain(legend) {
            assert!(
                labels.contains(label),
                "{} has no label {label}: {text}",
                metrics[0]
            );
        }
    }
}

/// The labels that a query selects, groups by or lists.
fn labels_of(query: &str) -> Vec<String> {
    let between = |from: &str, to: char| {
        let rest = query.split_once(from).map(|(_, rest)| rest);
        let inside = rest.and_then(|rest| rest.split_once(to));
        inside.map_or("", |(inside, _)| inside)
    };
    let selected = between("{", '}')
        .split(',')
        .filter_map(|matcher| matcher.split_once('='));
    let grouped = between(" by (", ')').split(',');
    let listed = match query.strip_prefix("label_values(") {
        Some(rest) => rest.trim_end_matches(')').rsplit(", ").next(),
        None => None,
    };
    selected
        .map(|(label, _)| label)
        .chain(grouped)
        .chain(listed)
        .map(|label| label.trim().to_owned())
        .filter(|label| !label.is_empty())
        .collect()
}

#[test]
fn labels_of_queries_are_found() {
    let found = labels_of(r#"sum by (le, place) (rate(a{test=~"x", peer="y"}[1h]))"#);
    assert_eq!(found, ["test", "peer", "le", "place"]);
    assert_eq!(labels_of("label_values(a, peer)"), ["peer"]);
    assert!(labels_of("8 * rate(a[1h])").is_empty());
}

/// A metric that no panel shows is forgotten, or has lost its use.
#[test]
fn each_metric_is_shown() {
    let queries = queries();
    let shown: BTreeSet<_> = queries
        .iter()
        .flat_map(|query| words(&query.text))
        .collect();
    let forgotten: Vec<_> = offered("monitor-shown")
        .into_keys()
        // The panels use the buckets of a histogram.
        .filter(|name| !name.ends_with("_sum") && !name.ends_with("_count"))
        .filter(|name| !shown.contains(name.as_str()))
        .collect();
    assert!(forgotten.is_empty(), "{forgotten:?}");
}

#[test]
fn panels_have_places_of_their_own_and_the_chosen_data_source() {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<_> = panels
        .iter()
        .map(|panel| panel["id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids.len(), panels.len());
    let mut taken = BTreeSet::new();
    for panel in panels {
        let place = |key: &str| panel["gridPos"][key].as_u64().unwrap();
        assert!(place("x") + place("w") <= 24, "{}", panel["title"]);
        for x in place("x")..place("x") + place("w") {
            for y in place("y")..place("y") + place("h") {
                assert!(taken.insert((x, y)), "{} covers another", panel["title"]);
            }
        }
        for target in panel["targets"].as_array().into_iter().flatten() {
            assert_eq!(target["datasource"]["uid"], "${datasource}");
        }
    }
}
