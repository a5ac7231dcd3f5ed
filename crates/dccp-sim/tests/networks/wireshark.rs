//! DCCP in UDP as Wireshark shows it with `contrib/wireshark/dccp-udp.lua`: each packet has the type, the numbers and
//! the options that the stack says it sent.

use core::time::Duration;
use dccp_proto::wire::{AckCell, Feature};
use dccp_proto::{Config, Seq};
use dccp_sim::pair::{CLIENT_PORT, End, PORT, Pair, Profile, Setup};
use dccp_sim::source::{App, Closing, Message, Source};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;

const SCRIPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../contrib/wireshark/dccp-udp.lua"
);

/// Sequence numbers count from the first packet of each direction. Those of stateless Resets are far from it, and stay as they
/// are.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Row {
    kind: String,
    seq: i64,
    ack: Option<i64>,
    ccval: u8,
    /// The options without Padding. One of `tshark` that ends in "…" stands for any with this beginning.
    options: Vec<String>,
}

/// The stack's own account of its packets, and a capture of each end.
struct Conversation {
    trace: String,
    captures: [PathBuf; 2],
}

fn converse(name: &str, setup: Setup) -> Conversation {
    let mut pair = Pair::new(setup.links(|link| link.faults.loss = 0.02));
    pair.world.start_trace();
    let captures = [End::Client, End::Server].map(|end| {
        let path =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{end:?}.pcapng"));
        let file = File::create(&path).expect("a file in the target folder");
        pair.world.capture(pair.node(end), BufWriter::new(file));
        path
    });
    pair.listen(App::echo());
    let messages = (0..300).map(|n| (Duration::from_millis(10) * n, Message::Zeros(500)));
    pair.connect(App {
        source: Source::Script(messages.collect()),
        closing: Closing::WhenSent,
        ..App::default()
    });
    pair.run_for(Duration::from_mins(1));
    pair.world.finish_captures().expect("written");
    Conversation {
        trace: pair.world.trace(),
        captures,
    }
}

/// The packets of one direction in the simulator's trace.
fn said(trace: &str, way: &str) -> Vec<Row> {
    let lines = trace.lines().map(str::trim_start);
    lines
        .filter_map(|line| line.split_once(' ')?.1.strip_prefix(way)?.strip_prefix(' '))
        .map(|line| said_row(line.rsplit_once("  (").expect("an end").0))
        .collect()
}

fn said_row(what: &str) -> Row {
    let mut words = what.split(' ');
    let kind = words.next().expect("a type").to_owned();
    let mut seq = words.next().expect("a number");
    if seq == "short" {
        seq = words.next().expect("a number");
    }
    Row {
        kind,
        seq: seq.trim_start_matches('=').parse().expect("a number"),
        ack: said_number(what, " ack "),
        ccval: said_number(what, " ccval ").unwrap_or(0),
        options: said_options(what),
    }
}

fn said_number<T: core::str::FromStr>(what: &str, name: &str) -> Option<T> {
    let rest = what.split_once(name)?.1;
    let rest = rest.strip_prefix("short ").unwrap_or(rest);
    let rest = rest.trim_start_matches('=');
    rest.split(' ').next()?.parse().ok()
}

/// The list of options is in brackets, separated by commas; options can have brackets and commas inside.
fn said_options(what: &str) -> Vec<String> {
    let Some((_, list)) = what.split_once(" [") else {
        return Vec::new();
    };
    let mut options = vec![String::new()];
    let mut depth = 0;
    for c in list.chars() {
        match c {
            ']' if depth == 0 => break,
            ',' if depth == 0 => options.push(String::new()),
            _ => options.last_mut().expect("never empty").push(c),
        }
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    let options = options.iter().map(|option| option.trim().to_owned());
    // The data of a Reset look like a list of options.
    options.filter(|o| o.parse::<u8>().is_err()).collect()
}

const FIELDS: [&str; 16] = [
    "dccp.type",
    "dccp.x",
    "dccp.seq_raw",
    "dccp.ack_raw",
    "dccp.ccval",
    "dccp.option_type",
    "dccp.feature_number",
    "dccp.ndp_count",
    "dccp.ack_vector.nonce_0",
    "dccp.ack_vector.nonce_1",
    "dccp.elapsed_time",
    "dccp.ccid3_loss_event_rate",
    "dccp.ccid3_receive_rate",
    "_ws.malformed",
    "_ws.expert.message",
    // The sequence number of a short header has no raw form.
    "dccp.seq",
];

/// Returns a line of [`FIELDS`] for each packet that `tshark` finds from this DCCP port.
fn tshark(capture: &Path, source_port: u16, arguments: &[&str]) -> Vec<String> {
    let mut tshark = Command::new("tshark");
    tshark.args(["-X", &format!("lua_script:{SCRIPT}"), "-r"]);
    tshark.arg(capture).args(["-T", "fields", "-Y"]);
    tshark.arg(format!("dccp.srcport == {source_port}"));
    tshark
        .args(["-o", "dccp.check_checksum:TRUE"])
        .args(["-o", "dccp.relative_sequence_numbers:FALSE"])
        .args(arguments);
    for field in FIELDS {
        tshark.args(["-e", field]);
    }
    let out = tshark.output().expect("tshark (Debian package tshark)");
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{errors}");
    let text = String::from_utf8(out.stdout).expect("text");
    text.lines().map(str::to_owned).collect()
}

/// Values of a field of one packet, in order.
struct Values<'a>(std::str::Split<'a, char>);

impl<'a> Values<'a> {
    fn next(&mut self) -> &'a str {
        self.0
            .next()
            .filter(|v| !v.is_empty())
            .expect("a value for each option")
    }
}

/// The first numbers of the packets' direction and of the other one.
type Origins = (Option<Seq>, Option<Seq>);

fn shown_row(line: &str, (first, first_back): Origins) -> Row {
    let fields: Vec<&str> = line.split('\t').collect();
    let is_short = fields[1] == "0";
    let (seq, ack) = (fields[if is_short { 15 } else { 2 }], fields[3]);
    let count = |number: &str, first: Option<Seq>| {
        let raw = number.parse().expect("a number");
        let first = first.unwrap_or(Seq::new(raw));
        let seq = if is_short {
            Seq::extend_24(Seq::new(raw).low_24(), first)
        } else {
            Seq::new(raw)
        };
        match seq.distance(first) {
            near if near.unsigned_abs() < 1 << 32 => near,
            _ => seq.value().cast_signed(),
        }
    };
    assert_eq!(fields[13..15], ["", ""], "malformed, experts: {line}");
    let kinds = [
        "Request", "Response", "Data", "Ack", "DataAck", "CloseReq", "Close", "Reset", "Sync",
        "SyncAck",
    ];
    Row {
        kind: kinds[fields[0].parse::<usize>().expect("a type")].to_owned(),
        seq: count(seq, first),
        ack: (!ack.is_empty()).then(|| count(ack, first_back)),
        ccval: fields[4].parse().expect("a number"),
        options: shown_options(&fields),
    }
}

fn shown_options(fields: &[&str]) -> Vec<String> {
    let values = |n: usize| Values(fields[n].split(','));
    let (mut features, mut ndp) = (values(6), values(7));
    let (mut vectors, mut vectors_1) = (values(8), values(9));
    let (mut elapsed, mut loss, mut rate) = (values(10), values(11), values(12));
    let kinds = fields[5].split(',').filter(|kind| !kind.is_empty());
    kinds
        .filter_map(|kind| {
            Some(match kind.parse::<u8>().expect("a number") {
                0 => return None,
                1 => "Mandatory".to_owned(),
                32 => format!("Change L({}…", feature(features.next())),
                33 => format!("Confirm L({}…", feature(features.next())),
                34 => format!("Change R({}…", feature(features.next())),
                35 => format!("Confirm R({}…", feature(features.next())),
                37 => format!("NDP {}", ndp.next()),
                38 => format!("Ack Vector {}", runs(vectors.next())),
                39 => format!("Ack Vector 1 {}", runs(vectors_1.next())),
                40 => "Data Dropped…".to_owned(),
                43 => format!("Elapsed {}", elapsed.next()),
                44 => "Data Checksum".to_owned(),
                192 => format!("Loss Event Rate 1/{}", loss.next()),
                193 => "LossIntervals {…".to_owned(),
                194 => format!("Receive Rate {}", rate.next()),
                // The experimental option of CCID 2 that carries arrival times.
                248 => "Unknown".to_owned(),
                other => panic!("option {other}: this test does not know it"),
            })
        })
        .collect()
}

fn feature(number: &str) -> String {
    let known = Feature::from_number(number.parse().expect("a number"));
    match known {
        Some(Feature::OfCcid(_)) | None => number.to_owned(),
        Some(feature) => feature.name().to_owned(),
    }
}

/// The runs of an Ack Vector as the trace writes them, from hexadecimal bytes.
fn runs(cells: &str) -> String {
    let mut runs = String::new();
    for at in (0..cells.len()).step_by(2) {
        let byte = u8::from_str_radix(&cells[at..at + 2], 16).expect("hexadecimal digits");
        let sign = ['+', '*', '?', '-'][usize::from(byte >> 6)];
        runs.push(sign);
        runs += &AckCell::from_byte(byte).len.to_string();
    }
    runs
}

fn is_same(said: &Row, shown: &Row) -> bool {
    let mut options = said.options.iter().zip(&shown.options);
    let same_options = options.all(|(said, shown)| match shown.strip_suffix('…') {
        Some(beginning) => said.starts_with(beginning),
        None => said == shown,
    });
    let rest = Row {
        options: shown.options.clone(),
        ..said.clone()
    };
    same_options && said.options.len() == shown.options.len() && rest == *shown
}

/// Compares both directions of a conversation, and returns how many packets they have.
fn compare(name: &str, conversation: &Conversation) -> usize {
    let [client, server] = &conversation.captures;
    let lines = [tshark(client, CLIENT_PORT, &[]), tshark(server, PORT, &[])];
    let firsts = lines.each_ref().map(|lines| {
        let number = lines.first()?.split('\t').nth(2)?;
        Some(Seq::new(number.parse().ok()?))
    });
    let mut packets = 0;
    for (way, lines, origins) in [
        ("client>server", &lines[0], (firsts[0], firsts[1])),
        ("server>client", &lines[1], (firsts[1], firsts[0])),
    ] {
        let said = said(&conversation.trace, way);
        assert_eq!(said.len(), lines.len(), "{name}, packets {way}");
        packets += said.len();
        for (said, line) in said.iter().zip(lines) {
            let shown = shown_row(line, origins);
            assert!(
                is_same(said, &shown),
                "{name}, {way}: the stack sent\n{said:?}\ntshark shows\n{shown:?}"
            );
        }
    }
    packets
}

#[test]
fn tshark_reads_types_numbers_and_options() {
    let short = Profile::Ours(Config {
        short_seqnos: true,
        ..Config::default()
    });
    for (name, is_v6, profile) in [
        ("ccid2", false, Profile::ours().with_ccid(2)),
        ("ccid3", true, Profile::ours().with_ccid(3)),
        ("short", false, short),
    ] {
        let conversation = converse(
            name,
            Setup {
                over_udp: true,
                is_v6,
                client: profile.clone(),
                ..Setup::with_server(profile)
            },
        );
        let packets = compare(name, &conversation);
        assert!(packets > 600, "{name}: {packets} packets");
    }
}

#[test]
fn udp_ports_are_a_preference() {
    let setup = Setup {
        over_udp: true,
        ..Setup::default()
    };
    let conversation = converse("ports", setup);
    let [client, _] = &conversation.captures;
    let all = tshark(client, CLIENT_PORT, &[]).len();
    assert!(all > 300, "{all} packets");
    let count = |arguments: &[&str]| tshark(client, CLIENT_PORT, arguments).len();
    assert_eq!(count(&["-o", "dccp_udp.ports:7000"]), 0);
    assert_eq!(count(&["-o", "dccp_udp.ports:7000,6511"]), all);
}
