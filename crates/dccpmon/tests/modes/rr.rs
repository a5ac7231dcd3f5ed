//! Requests and responses.

use crate::link::over_link;
use crate::support::{PROGRAM, Server, number, read};
use core::time::Duration;
use dccp::Rate;
use dccp_sim::LinkConfig;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn rr(port: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(["rr", "127.0.0.1", "-p", port]);
    command.args(arguments).output().unwrap()
}

/// The points of a complete test.
fn points(document: &Value) -> &Vec<Value> {
    assert_eq!(document["kind"], "rr");
    assert_eq!(document["status"], "complete", "{document:#}");
    document["rr"]["points"].as_array().unwrap()
}

// goal 5: sizes of the messages both ways.
#[test]
fn each_size_of_requests_and_responses_is_measured() {
    let server = Server::start("udp");
    for (vary, more, sizes) in [
        ("response", "--transport=dccp", [(64, 100), (64, 5_100)]),
        ("response", "--transport=udp", [(64, 100), (64, 5_100)]),
        ("request", "--transport=dccp", [(100, 64), (1_100, 64)]),
        ("both", "--transport=udp", [(100, 100), (1_100, 1_100)]),
    ] {
        let size = match sizes {
            [_, (64, _)] => "100..5100/5000",
            _ => "100..1100/1000",
        };
        let words = ["--size", size, "--vary", vary, more, "--count", "10", "-J"];
        let document = read(&rr(&server.port, &words));
        let found: Vec<(u64, u64)> = points(&document)
            .iter()
            .map(|p| (number(&p["request_bytes"]), number(&p["response_bytes"])))
            .collect();
        assert_eq!(found, sizes, "{vary}");
        for point in points(&document) {
            assert_eq!(number(&point["lost_requests"]), 0, "{point:#}");
            assert_eq!(number(&point["latency_ns"]["n"]), 10);
            assert!(number(&point["latency_ns"]["min"]) > 0);
            assert!(point["latency_ns"]["hdr"].is_string());
        }
        assert!(document["hosts"]["server"].is_object());
    }
}

// goal 5: the line's slope is the time of a byte on the link, its intercept the time of an empty message.
#[test]
fn line_has_the_rate_and_the_delay_of_the_link() {
    // A byte takes 8,000 ns.
    let link = LinkConfig {
        rate: Some(Rate::from_bytes_per_s(125_000.0)),
        delay: Duration::from_millis(5),
        ..LinkConfig::default()
    };
    let words = ["--size", "100..1300/200", "--count", "20", "-J"];
    let document = read(&over_link(&link, |port| rr(port, &words)));
    assert_eq!(points(&document).len(), 7);
    let fit = &document["rr"]["line"];
    let value = |name: &str| fit[name].as_f64().unwrap();
    assert!((7_000.0..9_000.0).contains(&value("slope")), "{fit:#}");
    // Two times 5 ms, and 1 ms for the request and for the headers of the response.
    let intercept_ms = value("intercept") / 1e6;
    assert!((10.0..16.0).contains(&intercept_ms), "{fit:#}");
    assert!(value("slope_error") > 0.0 && value("slope_error") < 1_000.0);
}

#[test]
fn table_has_a_line_for_each_size_and_the_fit() {
    let server = Server::start("udp");
    let output = rr(&server.port, &["--size", "100..500/100", "--count", "5"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let begin = "rr  127.0.0.1, requests of 64 B, responses of 100 to 500 B, 5 of each size\n";
    assert!(text.starts_with(begin), "{text}");
    for size in [100, 200, 300, 400, 500] {
        assert!(text.contains(&format!("\n     64  {size:>8}  ")), "{text}");
    }
    assert!(text.contains("\nleast latency = "), "{text}");
}

#[test]
fn end_of_the_time_makes_the_test_incomplete() {
    let server = Server::start("udp");
    let words = ["--size", "100", "--count", "1000000", "-t", "0.5", "-J"];
    let output = rr(&server.port, &words);
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    let document = read(&output);
    assert_eq!(document["status"], "incomplete");
    assert!(number(&document["rr"]["points"][0]["latency_ns"]["n"]) > 0);
}

#[test]
fn wrong_values_yield_two_lines() {
    for (words, text) in [
        (
            &["--size", "100..50/10"][..],
            "error: --size 100..50/10: must rise\n next: write for example 64..4864/300\n",
        ),
        (
            &["--size", "9"],
            "error: --size 9: must be 36 to 1048576 bytes\n next: write for example 1400\n",
        ),
        (
            &["-u", "--ccid", "3"],
            "error: --ccid, --law: only DCCP has them\n next: leave them out, or choose --transport dccp\n",
        ),
        (
            &["--transport", "tcp"],
            "error: --transport tcp: TCP carries a stream of bytes, and this mode measures packets\n next: write --transport dccp or --transport udp\n",
        ),
        (
            &["--vary", "both", "--fixed", "100"],
            "error: --fixed: the size of both messages varies\n next: leave --fixed out, or choose --vary response\n",
        ),
        (
            &["--timeout", "5s"],
            "error: --timeout, --interval: must be at most 4s\n next: write for example --timeout 1s\n",
        ),
    ] {
        let output = rr("9", words);
        assert_eq!(String::from_utf8_lossy(&output.stderr), text);
        assert_eq!(output.status.code(), Some(2));
    }
}

#[test]
fn request_that_fits_into_no_packet_is_explained() {
    let server = Server::start("udp");
    let output = rr(&server.port, &["--vary", "request", "--size", "9000"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    let begin = "error: a request of 9000 bytes does not fit into a packet of ";
    assert!(text.starts_with(begin), "{text}");
}

// A result without flows has a table and documents, and no form says nothing.
#[test]
fn saved_latencies_are_shown_as_a_table() {
    let server = Server::start("udp");
    let output = rr(&server.port, &["--size", "64", "--count", "10", "-J"]);
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("latencies.json");
    std::fs::write(&file, &output.stdout).unwrap();
    let run = |words: &[&str]| {
        let mut command = Command::new(PROGRAM);
        let output = command.args(words).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let path = file.to_str().unwrap();
    let (code, table, _) = run(&["export", path]);
    assert_eq!(code, Some(0));
    assert!(table.starts_with("request  response "), "{table}");
    assert!(table.contains("\n     64        64 "), "{table}");
    let (_, stream, _) = run(&["export", path, "--to", "json-stream"]);
    assert!(stream.starts_with("{\"event\":\"summary\","), "{stream}");
    let (code, none, error) = run(&["export", path, "--to", "csv"]);
    assert_eq!((code, none.as_str()), (Some(2), ""));
    assert_eq!(
        error,
        format!(
            "error: {path}: a result of `rr` has no such form\n next: choose --to table or --to json\n"
        )
    );
    let (code, none, error) = run(&["compare", path, path]);
    assert_eq!((code, none.as_str()), (Some(2), ""));
    assert!(
        error.starts_with(&format!(
            "error: {path}: holds no figures to compare\n next: "
        )),
        "{error}"
    );
}
