//! The counters that a server offers to Prometheus.

use crate::acker::Acker;
use crate::support::{PROGRAM, Server, scrape};
use dccp_dev::openmetrics::{Family, value};
use serde_json::json;
use std::net::TcpListener;
use std::process::Command;

// goal 47: the server counts tests, bytes and refusals.
#[test]
fn server_counts_tests_bytes_and_refusals() {
    let mut server = Server::start_with("udp", &["--tests", "7", "--metrics", "127.0.0.1:0"]);
    let at = server.metrics();
    let before = scrape(at);
    let of = |families: &[Family], name: &str, labels: &[(&str, &str)]| {
        value(families, &format!("dccpmon_server_{name}"), labels)
    };
    assert_eq!(of(&before, "seats", &[]), Some(7.0));
    assert_eq!(of(&before, "tests_running", &[]), Some(0.0));
    let lost = [("outcome", "lost")];
    assert_eq!(of(&before, "tests_total", &lost), Some(0.0));

    let output = server.test(&["-t", "0.4", "-b", "1M"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let mut newer = Acker::connect(&server, 2);
    newer.say(&json!({
        "message": "hello", "protocol": {"min": 8, "max": 9}, "program": "9", "nonce": "0".repeat(32),
    }));
    newer.hear("refused");
    let after = scrape(at);
    let complete = [("outcome", "complete")];
    assert_eq!(of(&after, "tests_total", &complete), Some(1.0));
    let refused = [("code", "version")];
    assert_eq!(of(&after, "refused_total", &refused), Some(1.0));
    let received = of(&after, "bytes_total", &[("direction", "received")]).unwrap();
    assert!(
        received >= 10.0 * 1400.0 && received % 1400.0 == 0.0,
        "{received}"
    );
    let sent = [("direction", "sent")];
    assert_eq!(of(&after, "bytes_total", &sent), Some(0.0));
}

#[test]
fn taken_place_of_the_metrics_yields_two_lines() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    let mut serve = Command::new(PROGRAM);
    let output = serve.args(["serve", "--metrics", &at]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.starts_with(&format!("error: --metrics {at}: cannot be opened: ")),
        "{text}"
    );
    assert!(
        text.ends_with("\n next: choose another port, or an address of this host\n"),
        "{text}"
    );
}
