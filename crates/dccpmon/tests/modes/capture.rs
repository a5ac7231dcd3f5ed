//! Captures of a test's own packets, read by `tshark` and as qlog.

use crate::link::over_links;
use crate::support::{Server, client, number, read};
use core::time::Duration;
use dccp_sim::LinkConfig;
use dccp_sim::loss::FaultConfig;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SCRIPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../contrib/wireshark/dccp-udp.lua"
);

/// The files of a capture, and the result of the test.
struct Captured {
    pcap: PathBuf,
    qlog: PathBuf,
    document: Value,
}

fn capture(name: &str, port: &str, arguments: &[&str]) -> Captured {
    let file = |extension: &str| {
        let name = format!("{name}.{extension}");
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
    };
    let (pcap, qlog) = (file("pcapng"), file("sqlog"));
    let mut client = client(port, arguments);
    client.arg("--pcap").arg(&pcap).arg("--qlog").arg(&qlog);
    let output = client.args(["-t", "0.5", "-b", "4M", "-J"]).output();
    let document = read(&output.unwrap());
    assert_eq!(document["status"], "complete", "{document:#}");
    for path in [&pcap, &qlog] {
        assert!(path.is_file(), "{}", path.display());
        let mut unfinished = path.clone().into_os_string();
        unfinished.push(".part");
        assert!(!Path::new(&unfinished).exists(), "the file is complete");
    }
    Captured {
        pcap,
        qlog,
        document,
    }
}

/// A packet as `tshark` shows it.
#[derive(Debug)]
struct Packet {
    kind: u8,
    seq: u64,
    options: Vec<u8>,
    is_sent: bool,
    comment: String,
}

impl Packet {
    /// The word behind `name` in the comment.
    fn noted(&self, name: &str) -> Option<&str> {
        let mut words = self.comment.split(' ');
        words.find(|word| *word == name)?;
        words.next()
    }
}

fn packets(pcap: &Path, port: &str) -> Vec<Packet> {
    let mut tshark = Command::new("tshark");
    tshark.args(["-X", &format!("lua_script:{SCRIPT}")]);
    tshark.args(["-o", &format!("dccp_udp.ports:{port}")]);
    tshark.arg("-r").arg(pcap).args(["-T", "fields"]);
    for field in [
        "dccp.type",
        "dccp.seq_raw",
        "dccp.option_type",
        "frame.packet_flags_direction",
        "frame.comment",
        "_ws.expert.message",
        "_ws.malformed",
    ] {
        tshark.args(["-e", field]);
    }
    let output = tshark.output().expect("tshark (Debian package tshark)");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let [kind, seq, options, direction, comment, experts, malformed] = fields[..] else {
                panic!("{line}");
            };
            // The experts repeat the comment.
            assert_eq!((experts, malformed), (comment, ""), "{line}");
            let options = options.split(',').filter(|option| !option.is_empty());
            Packet {
                kind: kind.parse().unwrap(),
                seq: seq.parse().unwrap(),
                options: options.map(|option| option.parse().unwrap()).collect(),
                is_sent: direction == "0x00000002",
                comment: comment.to_owned(),
            }
        })
        .collect()
}

const ACK_VECTOR: u8 = 38;
const REQUEST: u8 = 0;
const RESPONSE: u8 = 1;
const RESET: u8 = 7;

// goal 40: pcapng from our own stack, with comments.
#[test]
fn tshark_reads_types_numbers_and_options() {
    let server = Server::start("udp");
    let Captured { pcap, document, .. } = capture("own", &server.port, &[]);
    let packets = packets(&pcap, &server.port);
    let first = [&packets[0], &packets[1]].map(|p| (p.kind, p.is_sent));
    assert_eq!(first, [(REQUEST, true), (RESPONSE, false)]);
    assert_eq!(packets.last().unwrap().kind, RESET, "the end is captured");
    for packet in &packets {
        assert_eq!(packet.noted("seq"), Some(packet.seq.to_string().as_str()));
    }
    let acknowledgements = packets.iter().filter(|p| !p.is_sent);
    let vectors = acknowledgements.filter(|p| p.options.contains(&ACK_VECTOR));
    assert!(vectors.count() > 10, "{packets:#?}");

    let data = packets.iter().filter(|p| p.noted("number").is_some());
    let numbers: Vec<u64> = data
        .map(|packet| {
            assert_eq!(packet.noted("fate"), Some("acked"), "{packet:?}");
            packet.noted("number").unwrap().parse().unwrap()
        })
        .collect();
    let sent = number(&document["summary"]["flows"][0]["ledger"]["sent"]);
    assert_eq!(numbers, (0..sent).collect::<Vec<_>>());
}

#[test]
fn comments_tell_the_fates_that_the_stack_knows() {
    let clean = LinkConfig {
        delay: Duration::from_millis(2),
        ..LinkConfig::default()
    };
    let lossy = LinkConfig {
        faults: FaultConfig {
            loss: 0.05,
            ..FaultConfig::default()
        },
        ..clean.clone()
    };
    // Without a loss of reports: the sender of the first few packets would learn of none before the test ends.
    let (captured, packets) = over_links([lossy, clean], |port| {
        let captured = capture("lossy", port, &["-l", "500"]);
        let packets = packets(&captured.pcap, port);
        (captured, packets)
    });
    let data: Vec<&Packet> = packets
        .iter()
        .filter(|p| p.noted("number").is_some())
        .collect();
    let with = |fate: &str| {
        data.iter()
            .filter(|p| p.noted("fate") == Some(fate))
            .count()
    };
    let flow = &captured.document["summary"]["flows"][0];
    let known = &flow["acknowledged"];
    assert_eq!(with("acked") as u64, number(&known["received_packets"]));
    let lost = number(&known["lost_packets"]);
    assert!(lost > 0, "{flow:#}");
    // A loss at the end has no three later packets, and stays unknown. So does a packet without a report at the end.
    let (unknown, unreported) = (with("unknown") as u64, number(&known["unreported_packets"]));
    assert_eq!(
        with("lost") as u64 + unknown,
        lost + unreported,
        "{known:#}"
    );
    assert!(unknown <= 3 + unreported, "{known:#}");
}

/// Events of a qlog file, without its head.
fn events(qlog: &Path) -> Vec<Value> {
    let text = fs::read_to_string(qlog).unwrap();
    let records = text.split('\u{1e}').skip(2);
    records
        .map(|record| serde_json::from_str(record).unwrap())
        .collect()
}

// goal 41: qlog that qvis draws.
#[test]
fn qlog_shows_packets_acknowledgements_and_the_window() {
    let server = Server::start("udp");
    let Captured { qlog, document, .. } = capture("qlog", &server.port, &[]);
    let events = events(&qlog);
    let of = |name: &str| -> Vec<&Value> {
        let data = events.iter().filter(|event| event["name"] == name);
        data.map(|event| &event["data"]).collect()
    };
    let sent = of("transport:packet_sent");
    let data = sent
        .iter()
        .filter(|p| number(&p["raw"]["payload_length"]) == 1400);
    let ledger = &document["summary"]["flows"][0]["ledger"];
    // The datagrams that join the test are as long.
    assert!(data.count() as u64 >= number(&ledger["sent"]));
    let mut acked = BTreeSet::new();
    for packet in of("transport:packet_received") {
        for range in packet["frames"].as_array().into_iter().flatten() {
            for range in range["acked_ranges"].as_array().unwrap() {
                acked.extend(number(&range[0])..=number(&range[1]));
            }
        }
    }
    let numbers = sent.iter().map(|p| number(&p["header"]["packet_number"]));
    let missing = numbers.filter(|number| !acked.contains(number)).count();
    // The last packets are not acknowledged; on a slow machine they are more.
    let known = &document["summary"]["flows"][0]["acknowledged"];
    let unreported = number(&known["unreported_packets"]);
    assert!(
        missing as u64 <= 3 + unreported,
        "{missing} of {}, {known:#}",
        sent.len()
    );
    let windows = of("recovery:metrics_updated");
    assert!(windows.iter().any(|m| number(&m["congestion_window"]) > 0));
    assert!(windows.iter().any(|m| m["latest_rtt"].as_f64() > Some(0.0)));
}
