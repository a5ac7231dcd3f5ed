//! Important packets and others.

use crate::link::over_link;
use crate::support::{PROGRAM, Server, number, read};
use core::time::Duration;
use dccp::Rate;
use dccp_sim::LinkConfig;
use dccp_sim::queue::{Limit, QueueConfig};
use serde_json::Value;
use std::process::{Command, Output};

fn media(port: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(["media", "127.0.0.1", "-p", port]);
    command.args(arguments).output().unwrap()
}

fn delivered(class: &Value) -> u64 {
    number(&class["delivered_packets"])
}

// goal 13: when the path carries a third of the packets, the important ones arrive.
#[test]
fn important_packets_arrive_over_a_slow_link() {
    let link = LinkConfig {
        rate: Some(Rate::from_bytes_per_s(50_000.0)),
        delay: Duration::from_millis(10),
        queue: QueueConfig::drop_tail(Limit::Packets(10)),
        ..LinkConfig::default()
    };
    let words = ["-t", "2", "-b", "1.2M", "--ring", "8", "-J"];
    let document = read(&over_link(&link, |port| media(port, &words)));
    assert_eq!(document["status"], "complete", "{document:#}");
    let [important, other] = ["important", "other"].map(|class| &document["media"][class]);
    let offered = number(&important["offered_packets"]);
    assert!((28..=31).contains(&offered), "{important:#}");
    assert!(delivered(important) * 10 >= offered * 8, "{document:#}");
    let made = number(&other["offered_packets"]);
    assert!(delivered(other) * 10 < made * 6, "{document:#}");
    assert!(number(&other["sent_packets"]) >= delivered(other));
    // It waits for the packets in flight and in the queue, and for the link.
    let age = &important["age"];
    assert!(number(&age["ns"]["p50"]) > 10_000_000, "{age:#}");
    assert!(number(&age["error_ns"]) < 100_000_000, "{age:#}");
}

#[test]
fn all_packets_arrive_over_a_fast_path() {
    let server = Server::start("udp");
    for transport in ["dccp", "udp"] {
        let words = [
            "-t",
            "1",
            "--transport",
            transport,
            "--important",
            "4",
            "-J",
        ];
        let document = read(&media(&server.port, &words));
        assert_eq!(document["kind"], "media");
        assert_eq!(document["status"], "complete", "{document:#}");
        for class in ["important", "other"] {
            let class = &document["media"][class];
            assert!(number(&class["offered_packets"]) > 20, "{class:#}");
            for place in ["sent_packets", "delivered_packets"] {
                assert_eq!(class[place], class["offered_packets"], "{class:#}");
            }
        }
    }
}

#[test]
fn table_has_a_line_for_each_class_and_the_shares() {
    let server = Server::start("udp");
    let output = media(&server.port, &["-t", "0.5"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    for line in [
        "media  127.0.0.1, one packet in 10 is important\n",
        "\nimportant  ",
        "\nother  ",
        "\nshare  ",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn server_lowers_the_rate_of_the_source() {
    let server = Server::start_with("udp", &["--rate-limit", "0.4M"]);
    let document = read(&media(&server.port, &["-t", "1", "-b", "4M", "-J"]));
    assert_eq!(document["status"], "complete", "{document:#}");
    assert_eq!(document["granted"]["rate_bps"], 400_000);
    let offered = |class: &str| number(&document["media"][class]["offered_packets"]);
    let made = offered("important") + offered("other");
    // 50 packets of 1,000 bytes.
    assert!((40..=55).contains(&made), "{document:#}");
}

// A source that cannot make its packets in time still sees the end of the test.
#[test]
fn impossible_rate_ends_in_time() {
    let server = Server::start("udp");
    let words = ["-t", "0.5", "-b", "10T", "--transport", "udp", "-J"];
    let document = read(&media(&server.port, &words));
    assert_eq!(document["status"], "complete", "{document:#}");
    let offered = |class: &str| number(&document["media"][class]["offered_packets"]);
    // In 0.5 s, 10 Tbit/s are 625 million packets of 1,000 bytes.
    let made = offered("important") + offered("other");
    assert!((1..100_000_000).contains(&made), "{document:#}");
}
