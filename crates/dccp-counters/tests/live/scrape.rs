//! Prometheus reads the metrics of a host under load.

use crate::path::Talk;
use core::time::Duration;
use dccp_counters::prometheus::{Exporter, text};
use dccp_dev::openmetrics::{self, value};
use dccp_dev::shell::{command, find_program};
use dccp_metrics::Server;
use prometheus_client::registry::Registry;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::thread;

/// The classic text format: it lacks units and the end, and describes a counter by its whole name.
fn classic(text: &str) -> String {
    let mut counter = String::new();
    let mut lines = Vec::new();
    let all: Vec<&str> = text.lines().collect();
    for line in &all {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        match words[..] {
            ["#", "EOF"] | ["#", "UNIT", ..] => {}
            ["#", word, name, rest] => {
                let kind = format!("# TYPE {name} counter");
                if all.contains(&kind.as_str()) {
                    counter = format!("{name}_total");
                    lines.push(format!("# {word} {counter} {rest}"));
                } else {
                    lines.push((*line).into());
                }
            }
            _ => lines.push((*line).into()),
        }
    }
    assert!(!counter.is_empty());
    lines.join("\n") + "\n"
}

#[test]
fn promtool_finds_nothing_in_metrics_under_load() {
    if find_program("promtool").is_none() {
        println!("SKIP promtool_finds_nothing_in_metrics_under_load: needs promtool");
        return;
    }
    let talk = Talk::start(50);
    let metrics = thread::scope(|scope| {
        scope.spawn(|| talk.load(1000));
        thread::sleep(Duration::from_millis(50));
        text(&talk.hosts[0].snapshot(), 10).unwrap()
    });
    let lint = |text: &str| {
        let mut promtool = command(&["promtool", "check", "metrics"]);
        promtool
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = promtool.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(text.as_bytes()).unwrap();
        drop(stdin);
        let done = child.wait_with_output().unwrap();
        let said = String::from_utf8([done.stdout, done.stderr].concat()).unwrap();
        (done.status.success(), said)
    };
    assert_eq!(lint(&classic(&metrics)), (true, String::new()));
    // It does find mistakes.
    assert!(!lint("# TYPE wrong counter\nwrong 1\n").0);
    talk.path.end();
}

#[test]
fn endpoint_serves_the_counters_of_a_live_host() {
    let talk = Talk::start(50);
    let host = talk.hosts[0].clone();
    let mut registry = Registry::default();
    registry.register_collector(Box::new(
        Exporter::new(move || Ok(host.snapshot())).connections(1),
    ));
    let server = Server::start(([127, 0, 0, 1], 0).into(), registry).unwrap();
    talk.load(200);
    let mut stream = TcpStream::connect(server.local_addr()).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let (_, body) = response.split_once("\r\n\r\n").unwrap();
    let families = openmetrics::parse(body).unwrap();
    assert_eq!(
        value(&families, "dccp_datagrams_sent_total", &[]),
        Some(200.0)
    );
    let labels = [("connection", "1")];
    assert_eq!(
        value(&families, "dccp_connection_datagrams_sent_total", &labels),
        Some(200.0)
    );
    assert_eq!(
        value(&families, "dccp_connections_established", &[]),
        Some(1.0)
    );
    talk.path.end();
}
