//! Campaigns: a run that is killed and resumed, and the tables of its results.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// A scenario of 40 cells, whose costs differ by a factor of eight.
const CELLS: usize = 40;
const SCENARIO: &str = r#"
schema = "dccplab/1"
name = "campaign"
seed = 3
[topology]
nodes = ["a", "b"]
[[link]]
from = "a"
to = "b"
rate = "${rate}"
delay = "${delay}"
queue = "bdp*1"
loss = "0.1%"
[matrix]
law = ["reno", "cubic", "bic", "fast", "htcp"]
rate = ["2Mbit", "4Mbit", "8Mbit", "16Mbit"]
delay = ["5ms", "20ms"]
[[flow]]
id = "load"
from = "a"
to = "b"
cc = "${law}"
[[flow]]
id = "ping"
kind = "ping"
from = "a"
to = "b"
[measure]
duration = "12s"
discard = "1s"
"#;

/// A folder of this test alone, with the scenario.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("campaign.toml"), SCENARIO).expect("a scenario");
    folder
}

fn dccplab(folder: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dccplab"));
    command.current_dir(folder);
    command.args(["run", "campaign.toml"]).args(options);
    command
}

fn run(folder: &Path, options: &[&str]) -> Output {
    let output = dccplab(folder, options).output();
    let output = output.expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    output
}

/// The keys of the finished cells in a companion file, whose last line may be incomplete.
fn keys(partial: &Path) -> Vec<String> {
    let bytes = fs::read(partial).unwrap_or_default();
    let text = String::from_utf8(bytes).expect("text");
    let lines = text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'));
    let key = |line: &str| {
        let line: Value = serde_json::from_str(line).expect("a whole line is JSON");
        line["cell"]["key"].as_str().expect("a key").to_owned()
    };
    lines.map(key).collect()
}

/// Runs the campaign until it has this number of finished cells, and kills it.
fn kill_after(folder: &Path, options: &[&str], cells: usize) -> Vec<String> {
    let partial = folder.join("results.json.partial");
    let mut command = dccplab(folder, options);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the program starts");
    while keys(&partial).len() < cells {
        assert!(child.try_wait().expect("a child").is_none(), "it runs");
        sleep(Duration::from_millis(2));
    }
    // SIGKILL.
    child.kill().expect("it can be killed");
    child.wait().expect("an end");
    let keys = keys(&partial);
    assert!(keys.len() < CELLS, "killed in the middle");
    keys
}

// goal 67: a run is resumed.
#[test]
fn killed_campaign_loses_no_cell_and_plays_none_twice() {
    let folder = folder("killed");
    let expected = fs::read({
        run(&folder, &["--json", "whole.json"]);
        folder.join("whole.json")
    })
    .expect("results");

    let options = ["--json", "results.json"];
    let resume = ["--json", "results.json", "--resume"];
    let first = kill_after(&folder, &options, 4);
    // A program that is killed while it writes leaves an incomplete line.
    let partial = folder.join("results.json.partial");
    let file = File::options().append(true).open(&partial);
    let torn = file.and_then(|mut file| file.write_all(b"{\"cell\":{\"key\":\"12"));
    torn.expect("an incomplete line");
    let second = kill_after(&folder, &resume, first.len() + 4);

    let distinct: BTreeSet<&String> = second.iter().collect();
    assert_eq!(distinct.len(), second.len(), "each line is another cell");
    assert_eq!(second[..first.len()], first, "finished cells are kept");
    let output = run(&folder, &resume);
    let said = String::from_utf8(output.stderr).expect("text");
    let known = format!("{} of {CELLS} cells were finished before\n", second.len());
    assert_eq!(said, known);
    let resumed = fs::read(folder.join("results.json")).expect("results");
    assert!(resumed == expected, "same bytes as without a kill");
    assert!(!partial.exists(), "its cells are in the document");
    // Everything is there: nothing is played.
    let output = run(&folder, &resume);
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(
        said,
        format!("{CELLS} of {CELLS} cells were finished before\n")
    );
    let again = fs::read(folder.join("results.json")).expect("results");
    assert!(again == expected, "same bytes");
}

#[test]
fn tables_have_a_row_for_each_flow_of_each_cell() {
    let folder = folder("tables");
    let options = ["--cell", "law=reno,delay=5ms", "--json", "r.json"];
    let tables = [
        "--csv",
        "t.csv",
        "--parquet",
        "t.parquet",
        "--cells",
        "cells",
    ];
    run(&folder, &[&options[..], &tables].concat());
    let text = fs::read_to_string(folder.join("r.json")).expect("results");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let cells = document["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 4);

    let mut reader = csv::Reader::from_path(folder.join("t.csv")).expect("a table");
    let head = reader.headers().expect("names").clone();
    let place = |name: &str| {
        let place = head.iter().position(|column| column == name);
        place.unwrap_or_else(|| panic!("{name}: {head:?}"))
    };
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
    assert_eq!(rows.len(), 8);
    for (n, row) in rows.iter().enumerate() {
        let (cell, flow) = (&cells[n / 2], n % 2);
        let summary = &cell["summary"];
        let number = |name: &str| row[place(name)].parse::<f64>().ok();
        assert_eq!(row[place("key")], *cell["key"].as_str().expect("a key"));
        assert_eq!(&row[place("law")], "reno");
        assert_eq!(&row[place("flow.id")], ["load", "ping"][flow]);
        let flow = &summary["flows"][flow];
        for key in [
            "throughput_bps",
            "loss",
            "cwnd_packets_mean",
            "sent_packets",
        ] {
            assert_eq!(number(&format!("flow.{key}")), flow[key].as_f64(), "{key}");
        }
        let trip = number("flow.rtt_ping_ns.p99");
        assert_eq!(trip, flow["rtt_ping_ns"]["p99"].as_f64());
        assert_eq!(number("summary.rtt_ratio"), summary["rtt_ratio"].as_f64());
        let link = &summary["links"][0];
        assert_eq!(number("link.utilisation"), link["utilisation"].as_f64());
    }

    let parquet = fs::read(folder.join("t.parquet")).expect("a table");
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
    for cell in cells {
        let key = cell["key"].as_str().expect("a key");
        let path = folder.join("cells").join(format!("{}.json", &key[..12]));
        let text = fs::read_to_string(path).expect("a file for each cell");
        let alone: Value = serde_json::from_str(&text).expect("JSON");
        assert!(alone == *cell, "{key}");
    }
    let files = fs::read_dir(folder.join("cells"))
        .expect("a folder")
        .count();
    assert_eq!(files, cells.len());
}

#[test]
fn table_in_a_missing_folder_is_refused_before_the_run() {
    let folder = folder("no_folder");
    let output = dccplab(&folder, &["--csv", "none/t.csv"]).output();
    let output = output.expect("the program starts");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).expect("text");
    let expected =
        "error: none/t.csv: there is no folder none\n next: create it, or name another file\n";
    assert_eq!(said, expected);
}
