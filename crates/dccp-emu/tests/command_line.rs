//! The program as its users meet it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::{Command, Output};

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
        (["--rate", "5x"], "'x' is not a unit"),
        (["--delay", "20"], "20"),
        (["--queue", "4q"], "4q"),
        (["--loss", "120%"], "120%"),
        (["--mtu", "67"], "write 68 to 65535 bytes"),
        (["--frobnicate", "1"], "frobnicate"),
    ] {
        let out = emu(&[&base[..], &more[..]].concat());
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
