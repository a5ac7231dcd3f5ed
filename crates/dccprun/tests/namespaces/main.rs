//! Programs for the kernel's DCCP over IP protocol 33, in network namespaces.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a panic fails the test")]

#[path = "../loopback/support.rs"]
#[allow(dead_code, reason = "each test program uses a part of it")]
mod support;

use dccp_dev::shell;
use dccp_netns::{Namespace, veth};
use std::path::Path;
use std::process::Command;
use support::{Running, dccp_peer, library, word};

/// `dccprun --raw dccp-peer WORDS` in a namespace.
fn peer(namespace: &Namespace, words: &[&str]) -> Command {
    let head = [
        Path::new(env!("CARGO_BIN_EXE_dccprun")),
        Path::new("--library"),
        library(),
        Path::new("--raw"),
        dccp_peer(),
    ];
    let head: Vec<&str> = head.into_iter().map(word).collect();
    namespace.command(&[&head[..], words].concat())
}

#[test]
fn programs_speak_dccp_over_ip() {
    if !shell::is_root() {
        println!("SKIP programs_speak_dccp_over_ip: needs root");
        return;
    }
    let [client, server] = ["client", "server"].map(|role| Namespace::new(role).unwrap());
    veth(&client, &server, "eth0").unwrap();
    for (namespace, number) in [(&client, 1), (&server, 2)] {
        for address in [format!("10.0.0.{number}/24"), format!("fd00::{number}/64")] {
            namespace.add_address("eth0", &address).unwrap();
        }
    }
    for (address, ccid) in [("10.0.0.2", "2"), ("fd00::2", "3")] {
        let common = [
            "--ccid",
            ccid,
            "--service",
            "42",
            "--echo",
            "--timeout",
            "60",
        ];
        let listen = ["listen", "5001", "--bind", address, "--conns", "1"];
        let listener = Running::start(peer(&server, &[&listen[..], &common].concat()));
        listener.wait_for("listening");
        let connect = [
            "connect", address, "5001", "--count", "200", "--rate", "500",
        ];
        let connector = Running::start(peer(&client, &[&connect[..], &common].concat()));
        let summary = connector.wait_for("summary");
        assert!(summary.contains("\"received\":200,\"lost\":0"), "{summary}");
        assert_eq!(connector.end(), Some(0));
        assert_eq!(listener.end(), Some(0));
    }
}
