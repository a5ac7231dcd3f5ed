//! Captures of the simulator, read by `tshark`: no malformed packet, no bad checksum, no expert error.

use core::time::Duration;
use dccp_sim::link::TooBig;
use dccp_sim::loss::Loss;
use dccp_sim::pair::{End, Pair, Profile, Setup};
use dccp_sim::source::{App, Closing, Message, Source};
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::process::Command;

/// Plays a conversation with some loss and an MTU that makes routers complain, and captures it.
fn capture(name: &str, setup: Setup) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcapng"));
    let setup = setup.links(|link| {
        link.faults.loss = 0.02;
        link.mtu = 1400;
        link.too_big = TooBig::Icmp { quoted: 40 };
    });
    let mut pair = Pair::new(setup);
    let file = File::create(&path).expect("a file in the target folder");
    pair.world
        .capture(pair.node(End::Client), BufWriter::new(file));
    pair.listen(App::echo());
    // Some are larger than the path takes.
    let sizes = (0..300).map(|n| if (100..105).contains(&n) { 1390 } else { 1000 });
    let pause = Duration::from_millis(10);
    let messages = (0..).map(|n| pause * n).zip(sizes.map(Message::Zeros));
    pair.connect(App {
        source: Source::Script(messages.collect()),
        closing: Closing::WhenSent,
        ..App::default()
    });
    pair.run_for(Duration::from_mins(1));
    pair.world.finish_captures().expect("written");
    let lost = pair.world.totals().lost;
    assert!(
        lost.of(Loss::TooBig) > 0,
        "an ICMP message is in the capture"
    );
    path
}

/// What tshark says of each packet: its DCCP type, and whatever could be wrong with it.
const FIELDS: [&str; 8] = [
    "dccp.type",
    "_ws.malformed",
    "ip.checksum.status",
    "icmp.checksum.status",
    "icmpv6.checksum.status",
    "dccp.checksum.status",
    "udp.checksum.status",
    "_ws.expert.severity",
];
/// Severity of an expert's "Warning"; an "Error" is above.
const WARNING: u32 = 6_291_456;

/// Whether a line with these fields tells of something wrong. Status 0 of a checksum is "bad".
fn is_wrong(line: &str) -> bool {
    let fields: Vec<&str> = line.split('\t').collect();
    let is_bad = |field: &&str| field.split(',').any(|status| status == "0");
    let severity = |s: &str| s.parse::<u32>().unwrap_or(0);
    let is_odd = fields[7].split(',').any(|s| severity(s) >= WARNING);
    // The datagram that an ICMP message quotes is cut short, so its checksum must seem bad.
    let is_icmp = !fields[3].is_empty() || !fields[4].is_empty();
    let is_own_fault = fields[5..7].iter().any(is_bad) || is_odd;
    !fields[1].is_empty() || fields[2..5].iter().any(is_bad) || !is_icmp && is_own_fault
}

/// Packets of DCCP that tshark recognizes, and what it finds wrong, one line a packet.
fn verdict(path: &PathBuf) -> (usize, Vec<String>) {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(path).args(["-T", "fields"]);
    for protocol in ["dccp", "udp", "ip"] {
        tshark.args(["-o", &format!("{protocol}.check_checksum:TRUE")]);
    }
    for field in FIELDS {
        tshark.args(["-e", field]);
    }
    let out = tshark.output().expect("tshark (Debian package tshark)");
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{errors}");
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let packets = text.lines().filter(|l| !l.starts_with('\t')).count();
    let wrong = text
        .lines()
        .filter(|l| is_wrong(l))
        .map(str::to_owned)
        .collect();
    (packets, wrong)
}

#[test]
fn tshark_has_nothing_to_complain_about() {
    for (is_v6, over_udp) in [(false, false), (true, false), (false, true), (true, true)] {
        for (ccid, server) in [
            (2, Profile::ours()),
            (3, Profile::ours()),
            (2, Profile::linux()),
        ] {
            let setup = Setup {
                is_v6,
                over_udp,
                client: Profile::ours().with_ccid(ccid),
                ..Setup::with_server(server.with_ccid(ccid))
            };
            let peer = if matches!(setup.server, Profile::Ours(_)) {
                "ours"
            } else {
                "linux"
            };
            let name = format!("{peer}-ccid{ccid}-ipv6-{is_v6}-udp-{over_udp}");
            let path = capture(&name, setup);
            let (packets, wrong) = verdict(&path);
            assert_eq!(wrong, Vec::<String>::new(), "{name}");
            // This tshark does not look for DCCP in UDP: there it judges IP and UDP.
            assert_eq!(
                packets > 300,
                !over_udp,
                "{name}: {packets} packets of DCCP"
            );
        }
    }
}
