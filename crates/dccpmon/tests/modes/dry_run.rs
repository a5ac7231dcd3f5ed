//! `--dry-run` against a server on this host.

use crate::support::{Server, scrape};
use dccp_dev::openmetrics::value;

// goal 60: a dry run agrees on limits, starts no test and sends no data.
#[test]
fn dry_run_sends_no_data() {
    let more = ["--time-limit", "5s", "--metrics", "127.0.0.1:0"];
    let mut server = Server::start_with("udp", &more);
    let at = server.metrics();
    let output = server.test(&["--dry-run", "-t", "60", "-b", "10M", "-P", "2"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("plan  bulk, DCCP CCID 2 "), "{text}");
    assert!(
        text.contains("\nload  20.0 Mbit/s in all, 1786 packets/s, 5 s: "),
        "{text}"
    );
    assert!(
        text.contains("\nlimit 16 tests at once, 32 flows, 5 s, "),
        "{text}"
    );
    let last = "This was a dry run: no test was requested, and no data was sent.";
    assert_eq!(lines.last(), Some(&last));
    let notes = String::from_utf8(output.stderr).unwrap();
    assert_eq!(notes, "note: server allows 5 s (asked 60 s)\n");

    let document = server.json(&["--dry-run", "-t", "60"]);
    assert_eq!(document["status"], "planned");
    assert_eq!(document["granted"]["duration_ns"], 5_000_000_000_u64);
    assert!(document["summary"].is_null());

    let strict = server.test(&["--dry-run", "--strict", "-t", "60"]);
    assert_eq!(strict.status.code(), Some(4), "{strict:?}");

    let found = scrape(at);
    for outcome in ["complete", "limited", "stopped", "lost"] {
        let tests = value(
            &found,
            "dccpmon_server_tests_total",
            &[("outcome", outcome)],
        );
        assert_eq!(tests, Some(0.0), "{outcome}");
    }
    for direction in ["received", "sent"] {
        let labels = [("direction", direction)];
        let bytes = value(&found, "dccpmon_server_bytes_total", &labels);
        assert_eq!(bytes, Some(0.0), "{direction}");
    }
}
