//! Mistakes in command lines and files are explained in two lines.

use crate::{dccplab, document, file, result, text};
use serde_json::json;
use std::fs;
use std::path::Path;

/// The two lines and the exit code of a failure.
fn said(words: &[&str]) -> (String, String, Option<i32>) {
    let output = dccplab(words);
    assert!(output.stdout.is_empty(), "{output:?}");
    let said = String::from_utf8(output.stderr).expect("text");
    let [what, next] = said.lines().collect::<Vec<_>>()[..] else {
        panic!("two lines: {said}");
    };
    let what = what.strip_prefix("error: ").expect("an error");
    let next = next.strip_prefix(" next: ").expect("a hint");
    (what.to_owned(), next.to_owned(), output.status.code())
}

fn written(name: &str, contents: &str) -> String {
    let path = file(name);
    fs::write(&path, contents).expect("a file");
    text(&path).to_owned()
}

#[test]
fn file_that_is_no_result_is_refused() {
    let cases = [
        ("plain.txt", "hello", "but is no JSON"),
        ("empty.json", "{}", "but its schema is missing"),
        (
            "mon.json",
            r#"{"schema":"dccpmon/1"}"#,
            "but its schema is dccpmon/1",
        ),
    ];
    for (name, contents, wanted) in cases {
        let path = written(name, contents);
        let (what, next, code) = said(&["report", &path]);
        assert!(what.starts_with(&path) && what.contains(wanted), "{what}");
        assert!(next.contains("--json"), "{next}");
        assert_eq!(code, Some(2));
    }
}

#[test]
fn missing_result_is_reported() {
    let (what, _, code) = said(&["report", "none.json"]);
    assert!(what.starts_with("none.json: cannot be read: "), "{what}");
    assert_eq!(code, Some(1));
}

#[test]
fn result_without_cells_is_refused() {
    let mut document = document();
    document["cells"] = json!([]);
    let path = written("no-cells.json", &document.to_string());
    let (what, next, code) = said(&["report", &path]);
    assert!(what.ends_with("must have a cell, but has none"), "{what}");
    assert!(next.contains("--resume"), "{next}");
    assert_eq!(code, Some(2));
}

#[test]
fn different_scenarios_are_not_compared() {
    let mut document = document();
    document["record"]["name"] = json!("other");
    let other = written("other.json", &document.to_string());
    let (what, next, code) = said(&["report", "--compare", text(result()), &other]);
    assert!(what.ends_with("but are of pairs and other"), "{what}");
    assert!(next.contains("leave --compare out"), "{next}");
    assert_eq!(code, Some(2));
}

#[test]
fn results_without_a_common_cell_are_not_compared() {
    let mut document = document();
    for cell in document["cells"].as_array_mut().expect("cells") {
        cell["phase"] = json!("alone");
    }
    let other = written("no-common.json", &document.to_string());
    let (what, _, code) = said(&["report", "--compare", text(result()), &other]);
    assert!(
        what.contains("must have a cell with the same variables"),
        "{what}"
    );
    assert_eq!(code, Some(2));
}

#[test]
fn comparison_has_two_results() {
    let (what, next, code) = said(&["report", "--compare", text(result())]);
    assert_eq!(what, "--compare: must have two results, not 1");
    assert_eq!(next, "write `dccplab report --compare A B`");
    assert_eq!(code, Some(2));
}

#[test]
fn page_that_cannot_be_written_is_reported() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for place in [folder.to_owned(), folder.join("none/page.html")] {
        let (what, _, code) = said(&["report", text(result()), "--html", text(&place)]);
        assert!(
            what.starts_with(&format!("{} cannot be written: ", place.display())),
            "{what}"
        );
        assert_eq!(code, Some(1));
    }
}
