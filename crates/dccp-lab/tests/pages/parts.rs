//! The parts of pages.

use crate::{document, file, judged, page, result, text};
use roxmltree::{Document, Node, ParsingOptions};
use serde_json::json;
use std::fs;

pub(crate) fn parse(page: &str) -> Document<'_> {
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(page, options).expect("a well-formed page")
}

pub(crate) fn named<'a>(document: &'a Document<'_>, name: &str) -> Vec<Node<'a, 'a>> {
    let nodes = document.descendants();
    nodes.filter(|node| node.has_tag_name(name)).collect()
}

pub(crate) fn words(node: Node<'_, '_>) -> String {
    let texts = node.descendants().filter(Node::is_text);
    texts.filter_map(|node| node.text()).collect()
}

/// The text of the section with a heading.
pub(crate) fn section(document: &Document<'_>, heading: &str) -> String {
    let sections = named(document, "section");
    let is_it = |node: &&Node<'_, '_>| {
        let first = node.first_element_child();
        first.is_some_and(|h2| h2.text() == Some(heading))
    };
    words(
        *sections
            .iter()
            .find(is_it)
            .unwrap_or_else(|| panic!("no section {heading}")),
    )
}

#[test]
fn page_has_every_section_in_order() {
    let (_, html) = page("judged.html", &[text(&judged())]);
    let document = parse(&html);
    let headings: Vec<String> = named(&document, "h2").into_iter().map(words).collect();
    assert_eq!(
        headings,
        [
            "Summary",
            "Topology",
            "Tables",
            "Heat maps",
            "Stability",
            "Cells over time",
            "Distributions",
            "Loss ledger",
            "Schedule",
            "Assertions",
            "Record"
        ]
    );
    let summary = section(&document, "Summary");
    assert!(
        summary.contains("1 of 2 assertions hold; 1 of 1 published table agree."),
        "{summary}"
    );
    assert!(
        summary.contains("12 cells, up to 2 repetitions of each"),
        "{summary}"
    );
    let assertions = section(&document, "Assertions");
    for wanted in ["✓ holds", "✗ fails", "C01", "txqueuelen", "major = reno"] {
        assert!(assertions.contains(wanted), "no {wanted}");
    }
    let tables = section(&document, "Tables");
    for wanted in [
        "The rank correlation of both is 0.81.",
        "-0.100 (-50 %)",
        "difference",
    ] {
        assert!(tables.contains(wanted), "no {wanted}");
    }
    let record = section(&document, "Record");
    assert!(
        record.contains("dccplab run tests/scenarios/pairs.toml"),
        "{record}"
    );
    assert!(
        record.contains("pairs = \"unordered\""),
        "the scenario's text"
    );
}

#[test]
fn each_kind_of_picture_is_drawn() {
    let (_, html) = page("pictures.html", &[text(result())]);
    let document = parse(&html);
    let figures = named(&document, "figure");
    let captions: Vec<String> = named(&document, "figcaption")
        .into_iter()
        .map(words)
        .collect();
    for wanted in [
        "the slowest link is thick",
        "fairness (each pair was run in one order",
        "asymmetry (each pair",
        "Stability",
        "reno, cubic over time",
        "Round trips of the transport",
        "Round trips of the application",
        "Where datagrams were lost",
        "Who sends when",
    ] {
        assert!(
            captions.iter().any(|caption| caption.contains(wanted)),
            "no {wanted}: {captions:#?}"
        );
    }
    for figure in &figures {
        let has = |name: &str| {
            figure
                .descendants()
                .any(|node| node.tag_name().name() == name)
        };
        assert!(
            has("svg") && has("table"),
            "{:?}",
            figure.first_element_child().map(words)
        );
    }
    // Six pairs, of each the first repetition.
    assert_eq!(html.matches("<figure class=\"series\">").count(), 6);
    assert!(!html.contains("class=\"absent\">cannot draw"));
}

#[test]
fn page_without_scenario_says_what_is_missing() {
    let mut document = document();
    let record = document["record"].as_object_mut().expect("an object");
    record.remove("scenario");
    let path = file("no-scenario.json");
    fs::write(&path, document.to_string()).expect("a file");
    let (_, html) = page("no-scenario.html", &[text(&path)]);
    let page = parse(&html);
    for heading in ["Summary", "Topology", "Schedule", "Record"] {
        let text = section(&page, heading);
        assert!(
            text.contains("version that did not keep the scenario"),
            "{heading}: {text}"
        );
    }
}

#[test]
fn failed_cells_and_warnings_are_in_the_summary() {
    let mut document = document();
    document["cells"][0]["error"] = json!("out of memory");
    document["cells"][0]["summary"] = json!(null);
    document["cells"][0]["series"] = json!(null);
    document["cells"][1]["warnings"] = json!(["limited by the processor"]);
    document["cells"][2]["summary"]["flows"][0]["broken"] = json!("reset");
    document["status"] = json!("interrupted");
    let path = file("failed.json");
    fs::write(&path, document.to_string()).expect("a file");
    let (_, html) = page("failed.html", &[text(&path)]);
    let summary = section(&parse(&html), "Summary");
    for wanted in [
        "reno, reno: the cell failed: out of memory.",
        "limited by the processor",
        "the flow major broke off: reset.",
        "The run was interrupted",
    ] {
        assert!(summary.contains(wanted), "no {wanted}: {summary}");
    }
}

#[test]
fn several_results_follow_each_other() {
    let path = text(result());
    let (_, html) = page("two.html", &[path, path]);
    let page = parse(&html);
    assert_eq!(named(&page, "h2").len(), 22);
    let ids: Vec<_> = named(&page, "section")
        .iter()
        .filter_map(|s| s.attribute("id").map(str::to_owned))
        .collect();
    let mut distinct = ids.clone();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), 22, "each has an id of its own");
}

#[test]
fn comparison_shows_differences_with_their_spread() {
    let mut other = document();
    for cell in other["cells"].as_array_mut().expect("cells") {
        let goodput = &mut cell["summary"]["flows"][0]["throughput_after_discard_bps"];
        *goodput = json!(goodput.as_f64().expect("a goodput") + 5e6);
    }
    let path = file("compared.json");
    fs::write(&path, other.to_string()).expect("a file");
    let (_, html) = page("compared.html", &["--compare", text(result()), text(&path)]);
    let page = parse(&html);
    let differences = section(&page, "Differences");
    assert!(differences.contains("goodput, Mbit/s"), "{differences}");
    // All repetitions differ by as much.
    assert!(
        differences.contains("+5.000") && differences.contains("0.000"),
        "{differences}"
    );
    let summary = section(&page, "Summary");
    assert!(
        summary.contains("6 of 6 cells of A and 6 of B are in both."),
        "{summary}"
    );
    assert!(
        html.contains("A: major") && html.contains("B: major"),
        "curves of both"
    );
}

#[test]
fn scenario_chooses_its_heat_maps() {
    let mut document = document();
    let scenario = document["record"]["scenario"].as_str().expect("a scenario");
    let figure = "\n[[figure]]\nkind = \"heat\"\ntitle = \"Fairness of pairs\"\nvalue = \"fairness\"\n\
        rows = \"major\"\ncolumns = \"cross\"\nbest = \"least\"\n";
    document["record"]["scenario"] = json!(format!("{scenario}{figure}"));
    let path = file("figure.json");
    fs::write(&path, document.to_string()).expect("a file");
    let (_, html) = page("figure.html", &[text(&path)]);
    let page = parse(&html);
    let maps = section(&page, "Heat maps");
    assert!(maps.contains("Fairness of pairs"), "{maps}");
    assert!(
        maps.contains("The star marks the least value of each map."),
        "{maps}"
    );
    // In the picture one of its cells, the legend, and the cell of the table.
    assert_eq!(maps.matches('★').count(), 3, "{maps}");
    assert!(!maps.contains("asymmetry"), "{maps}");
}

#[test]
fn third_variable_makes_maps_beside_each_other() {
    let mut document = document();
    let record = document["record"].as_object_mut().expect("an object");
    record.remove("scenario");
    let values = [
        ("20Mbit", "1"),
        ("20Mbit", "4"),
        ("100Mbit", "1"),
        ("100Mbit", "4"),
    ];
    for (n, cell) in document["cells"]
        .as_array_mut()
        .expect("cells")
        .iter_mut()
        .enumerate()
    {
        let (rate, streams) = values[n % 4];
        let law = ["bic", "cubic", "reno"][n / 4];
        cell["variables"] = json!({ "law": law, "rate": rate, "streams": streams });
    }
    let path = file("multiples.json");
    fs::write(&path, document.to_string()).expect("a file");
    let (_, html) = page("multiples.html", &[text(&path)]);
    let page = parse(&html);
    let maps = section(&page, "Heat maps");
    assert!(maps.contains("columns: streams, rows: rate"), "{maps}");
    assert_eq!(maps.matches('★').count(), 3 + 1 + 3, "{maps}");
    assert_eq!(maps.matches("cubic").count(), 1 + 2, "{maps}");
}
