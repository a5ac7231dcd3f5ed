//! The real program measures this machine: the document, the tables and the page have the figures. No test depends on
//! their values.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SCENARIO: &str = "tests/scenarios/bench.toml";

fn dccplab(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dccplab"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(words)
        .output()
        .expect("the program starts")
}

fn file(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_file(&path);
    path
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

#[test]
fn measurement_becomes_document_table_and_page() {
    let [json, csv, html] = ["bench.json", "bench.csv", "bench.html"].map(file);
    let out = file("bench-pictures");
    let run = dccplab(&[
        "run",
        SCENARIO,
        "--json",
        text(&json),
        "--csv",
        text(&csv),
        "--out",
        text(&out),
    ]);
    assert_eq!(run.status.code(), Some(0), "{run:?}");
    let shown = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(
        shown.contains("per second") && shown.contains("mean of 2"),
        "{shown}"
    );

    let document = fs::read_to_string(&json).expect("results");
    let document: Value = serde_json::from_str(&document).expect("JSON");
    let schema = include_str!("../../schema/dccplab-result-1.json");
    let schema = serde_json::from_str(schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors = validator.iter_errors(&document);
    let errors: Vec<String> = errors.map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(document["record"]["backend"], "machine");
    let cells = document["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 4);
    for cell in cells {
        assert_eq!(cell["duration_ns"], 5_000_000);
        let figures = &cell["summary"]["bench"];
        assert!(figures["operations"].as_u64() > Some(0), "{figures}");
        assert!(figures["cost_ns"].as_f64() > Some(0.0), "{figures}");
    }

    let table = fs::read_to_string(&csv).expect("a table");
    assert_eq!(table.lines().count(), 5, "{table}");
    let heads = table.lines().next().unwrap_or_default();
    assert!(heads.contains("summary.bench.cost_ns"), "{heads}");

    let report = dccplab(&["report", text(&json), "--html", text(&html)]);
    assert_eq!(report.status.code(), Some(0), "{report:?}");
    let page = fs::read_to_string(&html).expect("a page");
    assert!(page.contains("The scenario measures this machine: it has no network."));
    assert!(page.contains("of real time"));
}

#[test]
fn measurement_refuses_what_needs_a_network_or_threads() {
    let pcap = file("bench.pcap");
    let network = "without a network";
    let cases: [(&[&str], &str, &str); 5] = [
        (&["--backend", "live"], "--backend", network),
        (
            &["--backend", "hosts", "--host", "a=b"],
            "--backend",
            network,
        ),
        (&["--host", "a=b"], "--host", network),
        (
            &["--cell", "window=50", "--pcap", text(&pcap)],
            "--pcap",
            network,
        ),
        (&["--jobs", "2"], "--jobs", "one cell after another"),
    ];
    for (words, option, how) in cases {
        let run = dccplab(&[&["run", SCENARIO], words].concat());
        assert_eq!(run.status.code(), Some(2), "{run:?}");
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        let expected = format!(
            "error: {option}: a scenario with [bench] measures this machine, {how}\n next: leave {option} out\n"
        );
        assert_eq!(said, expected);
    }
    assert!(!pcap.exists());
}

#[test]
fn measurement_has_nothing_to_compare_with_a_live_run() {
    let run = dccplab(&["agree", SCENARIO]);
    assert_eq!(run.status.code(), Some(2), "{run:?}");
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(
        said,
        "error: moment: the scenario measures this machine, so there is nothing to compare\n next: leave it out\n"
    );
}

#[test]
fn check_lists_cells_and_real_time() {
    let check = dccplab(&["check", SCENARIO]);
    let shown = String::from_utf8_lossy(&check.stdout).into_owned();
    assert!(
        shown.starts_with("moment: 4 cells, 0.02 s of real time\n"),
        "{shown}"
    );
}
