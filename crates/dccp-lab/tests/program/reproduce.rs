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

/// The output of the program, which must succeed.
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
fn results_of_another_scale_or_build_are_not_replaced() {
    let folder = folder("replaced");
    let path = folder.join(format!("{EXPERIMENT}.json"));
    for (scale, held) in [
        ("quick", "quick results"),
        ("full", "results of another build of dccplab"),
    ] {
        fs::write(&path, invented(scale)).expect("results");
        let said = refused(&folder, &["reproduce", "e25", "--out", "."]);
        let what = format!(
            "error: ./{EXPERIMENT}.json holds {held}, which this run would replace\n \
             next: name another place, or remove this file\n"
        );
        assert_eq!(said, what);
        assert_eq!(fs::read_to_string(&path).expect("it"), invented(scale));
    }
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

/// Small results of f20: three laws beside Reno, in each kind of queue, in two draws.
fn stored_f20() -> String {
    let laws = [
        ("cubic", 60.0, 0.2),
        ("bbr", 90.0, 0.9),
        ("reno", 47.0, 0.0),
    ];
    let flow =
        |id: &str, mbps: f64| json!({ "id": id, "throughput_bps": mbps * 1e6, "stability": 0.1 });
    let mut cells = Vec::new();
    for repeat in 0..2 {
        for aqm in ["droptail", "codel", "fq_codel"] {
            for (law, mbps, asymmetry) in laws {
                let summary = json!({
                    "flows": [flow("law", mbps), flow("reno", 95.0 - mbps)],
                    "asymmetry": asymmetry, "rtt_ping_ns": { "avg": 70e6 },
                });
                cells.push(json!({
                    "variables": { "aqm": aqm, "law": law }, "repeat": repeat, "error": null, "duration_ns": 1,
                    "summary": summary,
                }));
            }
        }
    }
    json!({
        "record": { "name": "f20-today", "scale": "quick" },
        "cells": cells,
        "assertions": [],
    })
    .to_string()
}

#[test]
fn stacks_are_ranked_by_stored_results() {
    let folder = folder("recommend");
    let quick = folder.join("reproduction/quick");
    fs::create_dir_all(&quick).expect("a folder");
    fs::write(quick.join("f20-today.json"), stored_f20()).expect("results");
    let said = printed(&folder, &["recommend", "--quick", "--html", "stacks.html"]);
    for wanted in [
        "long round trip, beside Reno, drop-tail\n  round trip 64 ms, window no limit, beside others; quick results of \
         f20-today, 2 draws\n",
        "fairness to Reno",
        "Use reno: 95.0 Mbit/s (quartiles 95.0 to 95.0), stability 0.100, added delay 6.0 ms, fairness \
         to Reno 1.00. It is first in 2 of 2 draws. With 2 draws, this is a hint.\n",
        "Not tested: queues other than rate × round trip, and more than two flows.\n",
        "\nWithout results:\n",
        "e07-pairs-ufl: long round trip, large window, beside another stack\n next: dccplab reproduce --quick e07\n",
    ] {
        assert!(said.contains(wanted), "no {wanted}: {said}");
    }
    // Reno is fair to Reno, and BBR is not.
    let row = |name: &str| {
        said.lines()
            .position(|line| line.trim_start().starts_with(name))
            .unwrap_or_else(|| panic!("no {name}: {said}"))
    };
    assert!(
        row("reno ") < row("cubic ") && row("cubic ") < row("bbr "),
        "{said}"
    );
    let html = fs::read_to_string(folder.join("stacks.html")).expect("a page");
    for wanted in [
        "◐ reno (hint)",
        "<h2 id=\"h3\">Beside others</h2>",
        "Queue management",
        "first in",
    ] {
        assert!(html.contains(wanted), "no {wanted}");
    }
    let said = printed(&folder, &["recommend", "reproduction/quick", "--json"]);
    let advice: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(advice["scale"], "quick");
    assert_eq!(advice["paths"][0]["recommended"], json!(["reno"]));
    let share = &advice["paths"][0]["ranking"][2]["share"]["median"];
    assert!(
        share
            .as_f64()
            .is_some_and(|share| (share - 1.0 / 1.81).abs() < 1e-9),
        "{share}"
    );
    assert_eq!(
        advice["missing"][0]["next"],
        "dccplab reproduce --quick e01"
    );
}

#[test]
fn folder_without_stacks_says_what_to_run() {
    let folder = folder("no-stacks");
    let said = refused(&folder, &["recommend"]);
    assert_eq!(
        said,
        "error: reproduction has no results that rank stacks\n next: run `dccplab reproduce --quick` first, or name its \
         folder\n"
    );
    fs::create_dir(folder.join("reproduction")).expect("a folder");
    fs::write(folder.join("reproduction/f20-today.json"), "{}").expect("a file");
    let said = refused(&folder, &["recommend"]);
    assert!(said.contains("f20-today.json holds no results: "), "{said}");
}

/// `UPDATE=1 cargo test -p dccp-lab --test program full_set` writes the table of claims.
#[test]
fn page_about_the_full_set_shows_the_stored_verdicts() {
    const BEGIN: &str = "```text\n";
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = docs.join("reproduction.md");
    let text = fs::read_to_string(&page).expect("the page");
    let table = printed(&docs, &["claims", "reproduction"]);
    let begin = text.find(BEGIN).expect("a table") + BEGIN.len();
    let end = begin + text[begin..].find("```\n").expect("its end");
    if std::env::var_os("UPDATE").is_some() {
        let updated = [&text[..begin], &table, &text[end..]].concat();
        fs::write(&page, updated).expect("the page is written");
    } else {
        let hint = "stale: UPDATE=1 cargo test -p dccp-lab --test program full_set";
        assert_eq!(text[begin..end], table, "{hint}");
    }
}
