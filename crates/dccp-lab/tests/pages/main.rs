//! Pages of the real program: their parts, their size, their mistakes, and how a browser shows them.

mod browser;
mod large;
mod mistakes;
mod parts;
mod reproduced;

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Runs the program in the crate's folder.
fn dccplab(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dccplab"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(words);
    command.output().expect("the program starts")
}

/// A file of these tests.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("pages-{name}"))
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// The result of a small scenario, as `dccplab run` writes it.
fn result() -> &'static Path {
    static RESULT: OnceLock<PathBuf> = OnceLock::new();
    RESULT.get_or_init(|| {
        let path = file("result.json");
        let words = ["run", "tests/scenarios/pairs.toml", "--json", text(&path)];
        let output = dccplab(&words);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        path
    })
}

fn document() -> Value {
    let json = fs::read(result()).expect("a result");
    serde_json::from_slice(&json).expect("JSON")
}

/// The same result with what a paper's scenario adds: assertions and a published table.
fn judged() -> PathBuf {
    let mut document = document();
    document["assertions"] = json!([
        { "claim": "C01", "kind": "order", "says": "reno is fair to itself", "that": "fairness[reno,reno] > 0.9",
          "artefact": null, "mark": "holds", "share": 1.0, "repetitions": 2, "holds_for_means": true, "problem": null,
          "groups": [{ "where": { "major": "reno" }, "held": 2, "left": 0.99, "right": 0.9 }] },
        { "claim": null, "kind": "value", "says": "fast gets half", "that": "share(fast) in 0.4..0.6",
          "artefact": "txqueuelen", "mark": "fails", "share": 0.0, "repetitions": 2, "holds_for_means": false,
          "problem": null, "groups": [] },
    ]);
    let names = ["reno", "cubic", "fast"];
    document["published"] = json!([{
        "title": "Asymmetry of the paper", "value": "asymmetry", "unit": "1", "rows": names, "columns": names,
        "published": [[0.0, 0.2, -0.3], [-0.2, 0.0, null], [0.3, 0.1, 0.0]],
        "ours": [[0.01, 0.1, -0.4], [-0.1, 0.0, 0.2], [0.4, -0.2, 0.02]],
        "rank_correlation": 0.81, "expected_correlation": 0.6, "claim": null, "mark": "holds",
    }]);
    // The program could write this document.
    let schema = include_str!("../../schema/dccplab-result-1.json");
    let schema = serde_json::from_str(schema).expect("JSON");
    jsonschema::validate(&schema, &document).expect("a result");
    let path = file("judged.json");
    fs::write(&path, document.to_string()).expect("a file");
    path
}

/// The folder of a small reproduction: one experiment that was run, and the stored result of another.
fn reproduction() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = file("reproduction");
        let _ = fs::remove_dir_all(&folder);
        let quick = folder.join("quick");
        fs::create_dir_all(&quick).expect("a folder");
        let assertion = |claim: &str, says: &str, mark: &str, share: f64| {
            json!({ "claim": claim, "kind": "order", "says": says, "that": "1 < 2", "artefact": null, "mark": mark,
                "share": share, "repetitions": 2, "holds_for_means": true, "groups": [], "problem": null })
        };
        let stored = json!({
            "record": { "name": "e01-throughput", "scale": "quick" },
            "cells": [{ "duration_ns": 120_000_000_000_u64, "error": null }],
            "assertions": [
                assertion("C01", "single Reno is slowest", "holds", 0.9),
                assertion("C02", "single Reno is the least stable", "fails", 0.5),
            ],
        });
        fs::write(quick.join("e01-throughput.json"), stored.to_string()).expect("a result");
        let output = dccplab(&["reproduce", "e25", "--quick", "--out", text(&folder)]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        quick
    })
}

/// Writes a page and returns its text.
fn page(name: &str, words: &[&str]) -> (PathBuf, String) {
    let path = file(name);
    let output = dccplab(&[&["report", "--html", text(&path)], words].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let html = fs::read_to_string(&path).expect("a page");
    (path, html)
}
