//! The pages of `dccplab reproduce`.

use crate::parts::{named, parse, section, words};
use crate::{dccplab, reproduction, text};
use std::fs;

#[test]
fn reproduction_has_an_index_and_a_page_for_each_experiment() {
    let folder = reproduction();
    let index = fs::read_to_string(folder.join("index.html")).expect("the index");
    let document = parse(&index);
    assert!(named(&document, "script").is_empty());
    let summary = section(&document, "Summary");
    assert!(
        summary.contains("34 claims: 1 hold, 0 only with an artefact, 1 fail"),
        "{summary}"
    );
    let claims = section(&document, "Claims");
    for wanted in [
        "✓ holds",
        "90 %",
        "✗ fails",
        "Fails: single Reno is the least stable.",
    ] {
        assert!(claims.contains(wanted), "no {wanted}: {claims}");
    }
    let experiments = section(&document, "Experiments");
    for wanted in [
        "1 of 2",
        "2 of 2",
        "10 min 0 s",
        "E25: after a second no data reaches",
    ] {
        assert!(experiments.contains(wanted), "no {wanted}: {experiments}");
    }
    let links = named(&document, "a").into_iter();
    let links: Vec<_> = links
        .filter(|link| words(*link) == "e25-no-data-arrives")
        .collect();
    // Of the other experiment there is only a result.
    assert_eq!(links.len(), 1);
    assert_eq!(
        links[0].attribute("href"),
        Some("./e25-no-data-arrives.html")
    );
    let page = fs::read_to_string(folder.join("e25-no-data-arrives.html")).expect("a page");
    let page = parse(&page);
    let links = named(&page, "a").into_iter();
    let mut home = links.filter(|link| link.attribute("href") == Some("./index.html"));
    assert_eq!(home.next().map(words).as_deref(), Some("All experiments"));
    assert!(section(&page, "Record").contains("--quick"));
}

#[test]
fn report_of_a_folder_writes_its_pages_again() {
    let folder = reproduction().with_file_name("again");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let name = "e25-no-data-arrives";
    let from = reproduction().join(format!("{name}.json"));
    fs::copy(from, folder.join(format!("{name}.json"))).expect("a result");
    let output = dccplab(&["report", text(&folder)]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    for page in ["index.html".to_owned(), format!("{name}.html")] {
        assert!(folder.join(&page).is_file(), "no {page}");
    }
    let output = dccplab(&["report", text(&folder), "--html", "x.html"]);
    assert_eq!(output.status.code(), Some(2));
}
