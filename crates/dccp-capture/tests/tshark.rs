//! Captures of live datagrams, read by `tshark`: comments, directions, lengths, checksums.

use core::net::IpAddr;
use dccp_capture::pcapng::{self, Section, Statistics, Writer};
use dccp_capture::{Direction, header, ip};
use dccp_proto::Seq;
use dccp_proto::path::{Encap, Path};
use dccp_proto::wire::{Kind, Opt, OptionWriter, Packet, Payload, build};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path as FilePath, PathBuf};
use std::process::Command;

const SCRIPT: &str = concat!(
    "lua_script:",
    env!("CARGO_MANIFEST_DIR"),
    "/../../contrib/wireshark/dccp-udp.lua"
);
/// 14 November 2023, 22:13:20 UTC.
const START_NS: u64 = 1_700_000_000_000_000_000;
/// The comments of the packets. tshark's experts repeat them; all else that they say is a complaint.
const COMMENTS: [&str; 4] = [
    "seq 1000 ccval 3 fate acked",
    "seq 1001 ccval 3 fate acked",
    "seq 1002 ccval 3 fate acked",
    "seq 1003 ccval 3 fate acked",
];
const PAYLOAD: [u8; 1_000] = [0x55; 1_000];

fn paths(remote_port: u16) -> [Path; 4] {
    let v4 = [[192, 0, 2, 1], [192, 0, 2, 2]].map(IpAddr::from);
    let v6 = [1, 2].map(|n| IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, n]));
    let udp = Encap::Udp {
        local_port: 50_000,
        remote_port,
    };
    let path = |[local, remote]: [IpAddr; 2], encap| Path {
        local,
        remote,
        encap,
    };
    [
        path(v4, Encap::Ip),
        path(v6, Encap::Ip),
        path(v4, udp),
        path(v6, udp),
    ]
}

/// A data packet with an NDP Count of `n`.
fn datagram(path: &Path, n: u64) -> Vec<u8> {
    let mut options = OptionWriter::new(100);
    options.push(&Opt::ndp_count(n)).expect("room");
    let packet = Packet {
        source_port: 5001,
        dest_port: 6001,
        ccval: 3,
        cscov: 0,
        is_short: false,
        seq: Seq::new(1_000 + n),
        kind: Kind::DataAck {
            ack: Seq::new(2_000),
        },
        options: options.options(),
        payload: Payload::Bytes(&PAYLOAD),
    };
    let mut bytes = Vec::new();
    build(&mut bytes, &packet, path.checksum_rule()).expect("a valid packet");
    bytes
}

/// Captures one packet per path, of each datagram the first `snap` bytes.
fn capture(name: &str, remote_port: u16, snap: usize) -> PathBuf {
    let file_name = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcapng"));
    let out = BufWriter::new(File::create(&file_name).expect("a file in the target folder"));
    let section = Section {
        application: Some("dccpmon 1.0.0"),
        interface: Some("udp 50000"),
        snap: None,
    };
    let mut file = Writer::new(out, &section).expect("written");
    let mut bytes = Vec::new();
    for ((n, path), comment) in (0..).zip(paths(remote_port)).zip(COMMENTS) {
        let datagram = datagram(&path, n);
        let captured = &datagram[..header::capture_len(&datagram, snap)];
        let packet = header::read(captured, datagram.len()).expect("a whole header");
        assert_eq!((packet.seq, packet.ccval), (Seq::new(1_000 + n), 3));
        bytes.clear();
        let len = ip::Datagram {
            path,
            tos: 0xba,
            may_fragment: false,
            bytes: captured,
            zeros: 0,
            missing: datagram.len() - captured.len(),
        }
        .write(&mut bytes);
        file.packet(&pcapng::Packet {
            time_ns: START_NS + n,
            bytes: &bytes,
            len,
            direction: Some(if n % 2 == 0 {
                Direction::Out
            } else {
                Direction::In
            }),
            comment: Some(comment),
        })
        .expect("written");
    }
    let statistics = Statistics {
        received: 11,
        dropped: 7,
    };
    file.statistics(START_NS + 1_000, statistics)
        .expect("written");
    file.finish().expect("written");
    file_name
}

fn run(program: &mut Command) -> String {
    let out = program.output().expect("a program of Debian's tshark");
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{errors}");
    String::from_utf8(out.stdout).expect("text")
}

/// Values of `fields` for each packet.
fn fields(file: &FilePath, arguments: &[&str], fields: &[&str]) -> Vec<Vec<String>> {
    let mut tshark = Command::new("tshark");
    tshark.args(["-X", SCRIPT, "-r"]).arg(file);
    tshark.args(["-T", "fields"]).args(arguments);
    for protocol in ["dccp", "udp", "ip"] {
        tshark.args(["-o", &format!("{protocol}.check_checksum:TRUE")]);
    }
    for field in fields {
        tshark.args(["-e", field]);
    }
    let text = run(&mut tshark);
    let line = |line: &str| line.split('\t').map(str::to_owned).collect();
    text.lines().map(line).collect()
}

#[test]
fn tshark_shows_comments_directions_and_times() {
    let file = capture("comments", 14_233, usize::MAX);
    let shown = fields(
        &file,
        &[],
        &[
            "frame.comment",
            "frame.packet_flags_direction",
            "frame.time_epoch",
            "frame.interface_name",
        ],
    );
    for (n, line) in shown.iter().enumerate() {
        let direction = ["0x00000002", "0x00000001"][n % 2];
        let time = format!("1700000000.{n:09}");
        assert_eq!(line[..], [COMMENTS[n], direction, &time, "udp 50000"]);
    }
    assert_eq!(shown.len(), 4);
    let filter = ["-Y", "frame.comment contains \"seq 1002\""];
    assert_eq!(fields(&file, &filter, &["dccp.seq_raw"]), [["1002"]]);
}

#[test]
fn tshark_finds_whole_packets_correct() {
    let file = capture("whole", 14_233, usize::MAX);
    let shown = fields(
        &file,
        &[],
        &[
            "dccp.seq_raw",
            "dccp.ndp_count",
            "dccp.checksum.status",
            "udp.checksum.status",
            "ip.checksum.status",
            "ip.dsfield",
            "ipv6.tclass",
            "_ws.expert.message",
            "_ws.malformed",
        ],
    );
    // The status of a checksum is 1 if it is good, 2 if it is not verified. IPv6 has none.
    let expected = [
        ["1000", "0", "1", "", "1", "0xba", "", COMMENTS[0], ""],
        ["1001", "1", "1", "", "", "", "0x000000ba", COMMENTS[1], ""],
        ["1002", "2", "2", "1", "1", "0xba", "", COMMENTS[2], ""],
        ["1003", "3", "2", "1", "", "", "0x000000ba", COMMENTS[3], ""],
    ];
    assert_eq!(shown, expected);
}

#[test]
fn tshark_reads_cut_packets_without_complaint() {
    let file = capture("cut", 14_233, 0);
    let shown = fields(
        &file,
        &[],
        &[
            "dccp.seq_raw",
            "dccp.ndp_count",
            "frame.len",
            "frame.cap_len",
            "_ws.expert.message",
            "_ws.malformed",
        ],
    );
    let expected = [
        ["1000", "0", "1048", "48", COMMENTS[0], ""],
        ["1001", "1", "1068", "68", COMMENTS[1], ""],
        ["1002", "2", "1056", "56", COMMENTS[2], ""],
        ["1003", "3", "1076", "76", COMMENTS[3], ""],
    ];
    assert_eq!(shown, expected);
}

#[test]
fn script_decodes_other_ports_on_request() {
    let file = capture("port", 50_001, usize::MAX);
    let seq = |arguments: &[&str]| -> Vec<String> {
        fields(&file, arguments, &["dccp.seq_raw"]).concat()
    };
    assert_eq!(seq(&[]), ["1000", "1001", "", ""], "protocol 33 only");
    let all = ["1000", "1001", "1002", "1003"];
    assert_eq!(seq(&["-o", "dccp_udp.ports:50001"]), all);
    assert_eq!(seq(&["-d", "udp.port==50001,dccp_udp"]), all);
}

#[test]
fn capinfos_shows_program_interface_and_statistics() {
    let file = capture("statistics", 14_233, 128);
    let shown = run(Command::new("capinfos").arg(&file));
    assert!(shown.contains("dccpmon 1.0.0"), "{shown}");
    assert!(shown.contains("Name = udp 50000"), "{shown}");
    assert!(shown.contains("Number of stat entries = 1"), "{shown}");
    let text = fields(&file, &[], &["frame.number"]);
    assert_eq!(text.len(), 4, "the statistics are no packet");
}
