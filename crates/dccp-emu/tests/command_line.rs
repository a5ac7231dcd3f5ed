//! The program as its users meet it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use dccp_emu::clock;
use std::io::{BufRead as _, BufReader};
use std::net::UdpSocket;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn emu(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dccp-emu"))
        .args(args)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_wrong_command_line_gets_two_lines_and_exit_code_2() {
    let base = ["relay", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:9"];
    for (more, says) in [
        (&["--rate", "5x"][..], "'x' is not a unit"),
        (&["--delay", "20"], "20"),
        (&["--queue", "4q"], "4q"),
        (&["--loss", "120%"], "120%"),
        (&["--mtu", "67"], "write 68 to 65535 bytes"),
        (&["--frobnicate", "1"], "frobnicate"),
        (&["--rate", "1M", "--aqm", "blue"], "blue"),
        // A link without a rate has no queue; marks are the discipline's; and it needs room for a packet.
        (&["--aqm", "pie"], "--rate <RATE>"),
        (&["--burst", "10KB"], "--rate <RATE>"),
        (&["--rate", "1M", "--burst", "0KB"], "token_bucket.burst"),
        (
            &["--rate", "1M", "--aqm", "pie", "--mark-at", "5p"],
            "--mark-at",
        ),
        (
            &["--rate", "1M", "--aqm", "pie", "--queue", "0p"],
            "pie.limit",
        ),
    ] {
        let out = emu(&[&base[..], more].concat());
        let told = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{told}");
        assert_eq!(told.lines().count(), 2, "{told}");
        assert!(told.starts_with("error: ") && told.contains(says), "{told}");
        assert!(
            told.lines().nth(1).unwrap().starts_with(" next: "),
            "{told}"
        );
    }
}

#[test]
fn what_is_missing_is_named() {
    for (args, text) in [
        (
            &[][..],
            "error: what is to be emulated?\n next: write `dccp-emu relay` or `dccp-emu tun`, and their options\n",
        ),
        (
            &["relay", "--to", "127.0.0.1:9"],
            "error: the following required arguments were not provided: --listen <ADDRESS:PORT>\n next: see `dccp-emu --help`\n",
        ),
    ] {
        let out = emu(args);
        assert_eq!(out.status.code(), Some(2));
        assert_eq!(self::text(&out.stderr), text);
    }
}

/// The counters of the way forward, of a second and a half of datagrams at twice the rate of the link.
fn overload(aqm: &str) -> serde_json::Value {
    let sink = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = sink.local_addr().unwrap().to_string();
    let args = ["relay", "--listen", "127.0.0.1:0", "--to", &to];
    let more = ["--rate", "1M", "--aqm", aqm, "--duration", "2s"];
    let mut emu = Command::new(env!("CARGO_BIN_EXE_dccp-emu"))
        .args([&args[..], &more[..]].concat())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = BufReader::new(emu.stdout.take().unwrap()).lines();
    let ready = told.next().unwrap().unwrap();
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.connect(ready.trim_start_matches("ready ")).unwrap();
    let begin = clock::now();
    for n in 0..300 {
        // A busy machine sends late, perhaps to a relay that has ended.
        if client.send(&[0; 1200]).is_err() {
            break;
        }
        let next = n * Duration::from_millis(5);
        std::thread::sleep(next.saturating_sub(clock::now() - begin));
    }
    let report = told.next().unwrap().unwrap();
    assert!(emu.wait().unwrap().success());
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    report["forward"].clone()
}

#[test]
fn every_discipline_carries_packets_and_drops_early() {
    std::thread::scope(|scope| {
        for aqm in ["red", "codel", "fq_codel", "pie", "dualpi2"] {
            scope.spawn(move || {
                let forward = overload(aqm);
                let early = forward["lost_packets"]["early drop"].as_u64();
                assert!(early > Some(10), "{aqm}: {forward}");
                let delivered = forward["delivered_packets"].as_u64();
                assert!(delivered > Some(80), "{aqm}: {forward}");
            });
        }
    });
}

#[test]
fn a_relay_says_where_it_listens_and_ends_with_its_counters() {
    let args = [
        "relay",
        "--listen",
        "127.0.0.1:0",
        "--to",
        "127.0.0.1:9",
        "--duration",
        "200ms",
        "--rate",
        "1M",
    ];
    let out = emu(&args);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let told = text(&out.stdout);
    let mut lines = told.lines();
    assert!(
        lines.next().unwrap().starts_with("ready 127.0.0.1:"),
        "{told}"
    );
    let report: serde_json::Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert_eq!(report["forward"]["offered_packets"], 0);
    assert_eq!(report["back"]["overflow_packets"], 0);
}
