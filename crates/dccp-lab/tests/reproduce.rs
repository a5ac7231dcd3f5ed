//! `dccplab reproduce` and `dccplab claims`: folders of full and quick results.

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The experiment that takes the least time.
const EXPERIMENT: &str = "e25-no-data-arrives";

/// A new folder of this test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("reproduce-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn dccplab(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dccplab"));
    let output = command.current_dir(folder).args(words).output();
    output.expect("the program starts")
}

/// What the program prints when all is well.
fn printed(folder: &Path, words: &[&str]) -> String {
    let output = dccplab(folder, words);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// The two lines of a mistake.
fn refused(folder: &Path, words: &[&str]) -> String {
    let output = dccplab(folder, words);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8(output.stderr).expect("text")
}

/// An invented result of the experiment, with a cell that no program plays.
fn invented(scale: &str) -> String {
    json!({
        "schema": "dccplab-result/1",
        "record": { "name": EXPERIMENT, "scale": scale, "program_hash": "of another program" },
        "cells": [{ "key": "of a long campaign", "duration_ns": 1, "error": null }],
        "assertions": [],
    })
    .to_string()
}

fn scale_of(path: &Path) -> Value {
    let text = fs::read(path).expect("a result");
    let document: Value = serde_json::from_slice(&text).expect("JSON");
    document["record"]["scale"].clone()
}

#[test]
fn quick_run_leaves_full_results_as_they_were() {
    let folder = folder("quick");
    let full = folder
        .join("reproduction")
        .join(format!("{EXPERIMENT}.json"));
    fs::create_dir(folder.join("reproduction")).expect("a folder");
    fs::write(&full, invented("full")).expect("full results");

    let said = printed(&folder, &["reproduce", "e25", "--quick"]);
    assert!(
        said.contains("\nquick results of 1 experiment in reproduction/quick: "),
        "{said}"
    );
    assert_eq!(fs::read_to_string(&full).expect("it"), invented("full"));
    let quick = folder
        .join("reproduction/quick")
        .join(format!("{EXPERIMENT}.json"));
    assert_eq!(scale_of(&quick), "quick");

    let said = printed(&folder, &["claims"]);
    assert!(
        said.starts_with("full results of 1 experiment in reproduction\n"),
        "{said}"
    );
    let quick =
        "quick results of 1 experiment in reproduction/quick: shorter runs and fewer draws\n";
    for words in [
        &["claims", "--quick"][..],
        &["claims", "reproduction/quick"],
    ] {
        let said = printed(&folder, words);
        assert!(said.starts_with(quick), "{said}");
    }
    let said = printed(&folder, &["claims", "--quick", "--json"]);
    let document: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(document["scale"], "quick");
    assert_eq!(document["claims"][0]["id"], "C01");
}

#[test]
fn results_of_another_scale_are_not_replaced() {
    let folder = folder("scales");
    let path = folder.join(format!("{EXPERIMENT}.json"));
    fs::write(&path, invented("quick")).expect("quick results");
    let said = refused(&folder, &["reproduce", "e25", "--out", "."]);
    let what =
        format!("error: ./{EXPERIMENT}.json holds quick results, which full ones would replace\n");
    assert_eq!(
        said,
        what + " next: name another place, or remove this file\n"
    );
    assert_eq!(fs::read_to_string(&path).expect("it"), invented("quick"));
}

#[test]
fn folder_without_results_says_where_quick_ones_are() {
    let folder = folder("empty");
    let said = refused(&folder, &["claims"]);
    assert!(
        said.contains("reproduction has no results") && said.contains("run `dccplab reproduce"),
        "{said}"
    );
    fs::create_dir_all(folder.join("reproduction/quick")).expect("a folder");
    let quick = folder
        .join("reproduction/quick")
        .join(format!("{EXPERIMENT}.json"));
    fs::write(quick, invented("quick")).expect("quick results");
    let said = refused(&folder, &["claims"]);
    assert!(
        said.contains(" next: add --quick: reproduction/quick has quick results\n"),
        "{said}"
    );
}
