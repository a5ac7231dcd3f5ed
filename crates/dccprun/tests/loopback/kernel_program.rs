//! The test program that runs in the guest with the kernel's DCCP, unchanged, at both ends.

use crate::support::{Running, dccp_peer, dccprun, free_port, run_client, word};

/// Runs a client with `words` against a server, both with `common`; checks that all echoes come back.
fn check(address: &str, common: &[&str], words: &[&str]) {
    let udp_port = free_port();
    let head = ["--udp-port", &udp_port, word(dccp_peer()), "listen", "5001"];
    let tail = [
        "--bind",
        address,
        "--echo",
        "--conns",
        "1",
        "--timeout",
        "60",
    ];
    let listen = [&head[..], &tail, common].concat();
    let server = Running::start(dccprun(&listen));
    server.wait_for("listening");
    let head = [
        word(dccp_peer()),
        "connect",
        address,
        "5001",
        "--echo",
        "--count",
        "500",
    ];
    let output = run_client(&udp_port, &[&head[..], common, words].concat());
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let summary = text.lines().find(|line| line.contains("summary")).unwrap();
    for part in [
        "\"sent\":500",
        "\"received\":500",
        "\"lost\":0",
        "\"reordered\":0",
    ] {
        assert!(summary.contains(part), "{summary}");
    }
    let there = server.wait_for("summary");
    assert!(there.contains("\"end\":\"peer\""), "{there}");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn echoes_come_back() {
    check("127.0.0.1", &["--service", "SC:VIDE"], &["--rate", "2000"]);
}

#[test]
fn echoes_come_back_over_ipv6_and_ccid_3() {
    check(
        "::1",
        &["--ccid", "3"],
        &["--rate", "500", "--size", "1000"],
    );
}

#[test]
fn options_of_the_kernel_are_set() {
    let options = ["--cscov", "2", "--min-cscov", "1", "--txqlen", "20"];
    check(
        "127.0.0.1",
        &options,
        &["--rate", "2000", "--sport", "4321"],
    );
}

#[test]
fn reset_at_the_end_is_the_peers_end() {
    check("127.0.0.1", &[], &["--rate", "2000", "--abort"]);
}
