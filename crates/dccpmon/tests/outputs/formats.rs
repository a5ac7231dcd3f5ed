//! One short run in each format, and saved results in other formats.

use crate::folder;
use crate::support::{PROGRAM, Server, read};
use dccpmon::schema::{Document, Interval};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// A run of half a second.
const SHORT: [&str; 6] = ["-t", "0.6", "-i", "0.2", "-b", "5M"];

fn text(output: Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{error}");
    String::from_utf8(output.stdout).unwrap()
}

fn run(server: &Server, more: &[&str]) -> String {
    text(server.test(&[&SHORT, more].concat()))
}

fn export(file: &Path, format: &str) -> String {
    let mut command = Command::new(PROGRAM);
    command.arg("export").arg(file).args(["--to", format]);
    text(command.output().unwrap())
}

// goal 35: no line of the plan, the table and the summary is longer than 80 columns.
#[test]
fn table_fits_into_eighty_columns() {
    let server = Server::start("udp");
    for more in [&[][..], &["-P", "2"], &["--ccid", "3", "-R"]] {
        let text = run(&server, more);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(text.lines().count() > 10, "{text}");
    }
}

// goal 37: the lines of a stream together are the document.
#[test]
fn stream_rebuilds_the_saved_document() {
    let server = Server::start("udp");
    let scratch = folder("stream");
    let file = scratch.join("run.json");
    let stream = run(
        &server,
        &["--json-stream", "--save", file.to_str().unwrap()],
    );
    let mut intervals: Vec<Interval> = Vec::new();
    let mut events = Vec::new();
    let mut last = None;
    for line in stream.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let event = line["event"].as_str().unwrap().to_owned();
        match event.as_str() {
            "interval" => intervals.push(serde_json::from_value(line["data"].clone()).unwrap()),
            _ => last = Some(line["data"].clone()),
        }
        events.push(event);
    }
    assert_eq!(
        events,
        ["start", "interval", "interval", "interval", "summary"]
    );
    let mut rebuilt: Document = serde_json::from_value(last.unwrap()).unwrap();
    rebuilt.intervals = intervals;
    let saved: Document = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(rebuilt, saved);
    // Each `export` reads both forms.
    let lines = scratch.join("run.ndjson");
    std::fs::write(&lines, stream).unwrap();
    assert_eq!(export(&lines, "csv"), export(&file, "csv"));
}

// goal 38: CSV, columns of gnuplot and lines of UDPmon.
#[test]
fn rows_of_other_programs_have_their_columns() {
    let server = Server::start("udp");
    let csv = run(&server, &["--format", "csv"]);
    let rows: Vec<&str> = csv.lines().collect();
    let columns = rows[0].split(',').count();
    assert_eq!(rows.len(), 1 + 3 + 1, "{csv}");
    assert!(
        rows.iter().all(|row| row.split(',').count() == columns),
        "{csv}"
    );
    let gnuplot = run(&server, &["--format", "gnuplot"]);
    let rows: Vec<&str> = gnuplot
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    assert_eq!(rows.len(), 3, "{gnuplot}");
    assert!(
        rows.iter().all(|row| row.split_whitespace().count() == 9),
        "{gnuplot}"
    );
    let udpmon = run(&server, &["--format", "udpmon"]);
    let rows: Vec<&str> = udpmon.lines().collect();
    assert_eq!(rows.len(), 2, "{udpmon}");
    assert!(
        rows.iter().all(|row| row.matches(';').count() == 12),
        "{udpmon}"
    );
}

#[test]
fn page_is_well_formed_and_loads_nothing() {
    let server = Server::start("udp");
    let scratch = folder("page");
    let [page, saved] = ["run.html", "run.json"].map(|name| scratch.join(name));
    let more = [
        "--html",
        page.to_str().unwrap(),
        "--save",
        saved.to_str().unwrap(),
    ];
    run(&server, &more);
    let html = std::fs::read_to_string(&page).unwrap();
    let options = roxmltree::ParsingOptions {
        allow_dtd: true,
        ..roxmltree::ParsingOptions::default()
    };
    roxmltree::Document::parse_with_options(&html, options).unwrap();
    let without_namespace = html.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for text in ["http:", "https:", "<script", "<link", "url("] {
        assert!(!without_namespace.contains(text), "contains {text}");
    }
    assert!(html.matches("<svg ").count() >= 2);
    assert_eq!(export(&saved, "html"), html);
    // No part of a file is left.
    assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 2);
}

/// Paths of fields that only some transports have.
const OF_SOME_TRANSPORTS: [&str; 9] = [
    "/negotiated/0/ccid",
    "/negotiated/0/ack_ratio",
    "/negotiated/0/encap",
    "/negotiated/0/csum_cover",
    "/intervals/0/flows/0/cwnd_packets",
    "/summary/flows/0/acknowledged",
    "/summary/flows/0/sender_samples",
    "/summary/flows/0/tcp",
    "/negotiated/0/mss_bytes",
];

// goal 3: all transports have one schema, and a field that a transport lacks is null.
#[test]
fn fields_that_a_transport_lacks_are_null() {
    let server = Server::start("udp");
    // The last two are those of TCP.
    for (transport, known) in [("dccp", 7), ("udp", 0)] {
        let document = server.json(&[&SHORT[..], &["--transport", transport]].concat());
        assert_eq!(document["requested"]["transport"], transport);
        for (n, path) in OF_SOME_TRANSPORTS.iter().enumerate() {
            let value = document.pointer(path);
            let value = value.unwrap_or_else(|| panic!("no {path}: {document:#}"));
            assert_eq!(value.is_null(), n >= known, "{transport}: {path}");
        }
        for path in [
            "/summary/flows/0/ledger",
            "/intervals/0/flows/0/lost_packets",
        ] {
            assert!(
                !document.pointer(path).unwrap().is_null(),
                "{transport}: {path}"
            );
        }
    }
}

#[test]
fn schema_is_that_of_the_repository() {
    let output = Command::new(PROGRAM)
        .args(["export", "--schema"])
        .output()
        .unwrap();
    assert_eq!(text(output), include_str!("../../schema/dccpmon-1.json"));
}

// goal 36: a failure has a document too, whatever the format.
#[test]
fn failure_ends_a_stream_with_an_error() {
    let mut command = Command::new(PROGRAM);
    let output = command
        .args(["nobody.invalid", "--json-stream"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let lines = String::from_utf8(output.stdout.clone()).unwrap();
    let line: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(line["event"], "error");
    let stdout = serde_json::to_vec(&line["data"]).unwrap();
    let document = read(&Output { stdout, ..output });
    assert_eq!(document["status"], "failed");
}

// goal 61: without a terminal, no output has colours or moves the cursor.
#[test]
fn no_escape_sequence_without_a_terminal() {
    let server = Server::start("udp");
    let output = server.test(&SHORT);
    assert!(!output.stdout.contains(&0x1b) && output.stderr.is_empty());
}
