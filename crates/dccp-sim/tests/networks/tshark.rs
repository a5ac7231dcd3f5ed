//! Captures of the simulator, read by `tshark`: no malformed packet, no bad checksum, no expert error.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;
use dccp_sim::link::TooBig;
use dccp_sim::loss::Loss;
use dccp_sim::pair::{End, Pair, Profile, Setup};
use dccp_sim::source::{App, Closing, Message, Source};
use dccp_sim::{Host, LinkConfig, Seed, SimHash, World, tcp};
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

/// Reads DCCP in UDP, too.
const DCCP_IN_UDP: &str = concat!(
    "lua_script:",
    env!("CARGO_MANIFEST_DIR"),
    "/../../contrib/wireshark/dccp-udp.lua"
);
/// The fields that tshark prints of each packet: its DCCP type and all errors.
const FIELDS: [&str; 9] = [
    "dccp.type",
    "_ws.malformed",
    "ip.checksum.status",
    "icmp.checksum.status",
    "icmpv6.checksum.status",
    "dccp.checksum.status",
    "udp.checksum.status",
    "tcp.checksum.status",
    "_ws.expert.severity",
];
/// Severity of an expert's "Warning"; an "Error" is above.
const WARNING: u32 = 6_291_456;

/// Whether a line with these fields reports an error. Status 0 of a checksum is "bad".
fn is_wrong(line: &str) -> bool {
    let fields: Vec<&str> = line.split('\t').collect();
    let is_bad = |field: &&str| field.split(',').any(|status| status == "0");
    let severity = |s: &str| s.parse::<u32>().unwrap_or(0);
    let is_odd = fields[8].split(',').any(|s| severity(s) >= WARNING);
    // The datagram that an ICMP message quotes is cut short, so its checksum must seem bad.
    let is_icmp = !fields[3].is_empty() || !fields[4].is_empty();
    let is_own_fault = fields[5..8].iter().any(is_bad) || is_odd;
    !fields[1].is_empty() || fields[2..5].iter().any(is_bad) || !is_icmp && is_own_fault
}

/// Packets of DCCP that tshark recognizes, and what it finds wrong, one line a packet.
fn verdict(path: &PathBuf) -> (usize, Vec<String>) {
    let mut tshark = Command::new("tshark");
    tshark.args(["-X", DCCP_IN_UDP]);
    tshark.arg("-r").arg(path).args(["-T", "fields"]);
    // It guesses "out of order" where a segment is retransmitted soon after a new one: no fault.
    tshark.args(["-Y", "not tcp.analysis.out_of_order"]);
    for protocol in ["dccp", "udp", "tcp", "ip"] {
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
            assert!(packets > 300, "{name}: {packets} packets of DCCP");
        }
    }
}

/// TCP in both directions with loss, and UDP that is echoed, seen from one end.
fn capture_tcp_and_udp(timestamps: bool) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("tcp-{timestamps}.pcapng"));
    let seed = Seed(1);
    let mut world = World::new(seed);
    let addresses = [1, 2].map(|n| IpAddr::from(Ipv4Addr::new(10, 0, 0, n)));
    let hosts = [("a", addresses[0]), ("b", addresses[1])]
        .map(|(name, a)| world.add(name, &[a], Host::new(SimHash::new(seed, name))));
    let mut link = LinkConfig {
        delay: Duration::from_millis(10),
        ..LinkConfig::default()
    };
    link.faults.loss = 0.02;
    world.connect(hosts[0].id(), hosts[1].id(), link.clone(), link);
    let file = File::create(&path).expect("a file in the target folder");
    world.capture(hosts[0].id(), BufWriter::new(file));
    let config = tcp::Config {
        timestamps,
        ecn: timestamps,
        ..tcp::Config::default()
    };
    world.call(hosts[1], |host, _| {
        host.tcp_listen(80, config.clone(), App::default());
        host.udp_listen(9, App::echo());
    });
    world.call(hosts[0], |host, context| {
        let at = |n: usize, port| SocketAddr::new(addresses[n], port);
        host.tcp_connect(
            context,
            at(0, 5000),
            at(1, 80),
            config,
            App::bulk(1448, 500),
        );
        let app = App {
            source: Source::Cbr {
                len: 64,
                interval: Duration::from_millis(100),
                count: 50,
            },
            ..App::default()
        };
        host.udp_open(context, at(0, 5000), at(1, 9), app);
    });
    world.run_for(Duration::from_mins(1));
    world.finish_captures().expect("written");
    path
}

#[test]
fn tshark_has_nothing_to_complain_about_in_tcp_and_udp() {
    for timestamps in [true, false] {
        let path = capture_tcp_and_udp(timestamps);
        let (_, wrong) = verdict(&path);
        assert_eq!(wrong, Vec::<String>::new());
        let count = |filter: &str| {
            let mut tshark = Command::new("tshark");
            tshark.arg("-r").arg(&path).args(["-Y", filter]);
            let out = tshark.output().expect("tshark");
            String::from_utf8_lossy(&out.stdout).lines().count()
        };
        assert!(count("tcp.len == 1448") >= 500);
        assert!(count("tcp.analysis.retransmission") > 0);
        assert!(count("tcp.options.sack.count > 0") > 0);
        assert_eq!(count("tcp.options.timestamp.tsval") > 0, timestamps);
        assert!(count("udp.length == 72") > 50);
    }
}
