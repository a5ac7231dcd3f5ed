//! `docs/scenario-keys.md` lists the keys that are known, all of them and no others.

use super::{changes, flow, host, link, measure, queue, topology};
use std::collections::BTreeMap;

const PAGE: &str = include_str!("../../../../docs/scenario-keys.md");

/// The known keys of each section, by its heading in the page.
fn known() -> BTreeMap<&'static str, Vec<&'static str>> {
    let sections = [
        ("The file", super::KNOWN),
        ("[topology]", topology::TOPOLOGY),
        ("[[link]]", link::KNOWN),
        ("aqm", queue::KNOWN),
        ("ge", link::BURSTS),
        ("changes", changes::KNOWN),
        ("[[route]]", topology::ROUTE),
        ("[[host]]", host::KNOWN),
        ("clock", host::CLOCK),
        ("[[flow]]", flow::KNOWN),
        ("[[phase]]", measure::PHASE),
        ("[measure]", measure::KNOWN),
        ("link_util", measure::LINK_UTIL),
    ];
    let sorted = |keys: &[&'static str]| {
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        keys
    };
    sections
        .map(|(heading, keys)| (heading, sorted(keys)))
        .into()
}

/// The keys in the first column of the page's tables.
fn documented() -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut sections = BTreeMap::new();
    for part in PAGE.split("\n## ").skip(1) {
        let (heading, rest) = part.split_once('\n').expect("a heading");
        let rows = rest.lines().filter(|line| line.starts_with("| `"));
        let mut keys: Vec<&str> = rows
            .filter_map(|row| row.split('|').nth(1))
            .flat_map(|cell| cell.split('`').skip(1).step_by(2))
            .collect();
        keys.sort_unstable();
        sections.insert(heading.trim_matches('`'), keys);
    }
    sections
}

#[test]
fn the_documented_keys_are_the_known_ones() {
    let mut documented = documented();
    // Its keys are the writer's variables, but for two.
    assert_eq!(
        documented.remove("[matrix]"),
        Some(vec!["only", "pairs"]),
        "the matrix"
    );
    assert_eq!(documented, known());
}
