//! `dccpctl`.

use crate::support::{Daemon, OPEN, eventually, exchange, is_inside};
use dccp::clock;
use dccp::packet_ring::Label;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn connections_listeners_and_counters_are_shown() {
    if !is_inside("control::connections_listeners_and_counters_are_shown") {
        return;
    }
    let daemon = Daemon::start("shown", OPEN);
    let _listener = daemon.listen("127.0.0.1:0/5005").unwrap();
    let (mut client, mut server) = daemon.pair();
    for _ in 0..10 {
        exchange(&mut client, &mut server);
    }
    let shown = daemon.show(&["connections"]);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("Id  State"), "{shown}");
    assert_eq!(lines.len(), 5, "{shown}");
    let id = std::process::id();
    assert!(
        lines[1].contains("OPEN") && lines[1].contains("127.0.0.1:6511/5001"),
        "{shown}"
    );
    assert!(lines[1].ends_with(&format!("(process {id})")), "{shown}");
    assert!(
        lines[2].contains("ccid:2/2 cwnd:") && lines[2].contains(" rtt:"),
        "{shown}"
    );
    let shown = daemon.show(&["listeners"]);
    assert!(shown.contains("127.0.0.1:6511/5005"), "{shown}");

    let connections = daemon.connections();
    let first = connections[0]["id"].to_string();
    let one = daemon.show(&["counters", "--id", &first, "--json"]);
    let one: serde_json::Value = serde_json::from_str(&one).unwrap();
    assert!(one["counters"].as_object().unwrap().len() > 50);
    let all = daemon.show(&["counters"]);
    assert!(all.lines().count() > 5, "{all}");
    let zeros = daemon.show(&["counters", "-z"]);
    assert!(zeros.lines().count() > all.lines().count());

    assert_eq!(
        daemon.show(&["abort", &first]),
        format!("connection {first} ends\n")
    );
    eventually(|| daemon.connections().is_empty().then_some(()));
    let output = daemon.control(&["abort", &first]);
    assert_eq!(output.status.code(), Some(4));
    let error = String::from_utf8(output.stderr).unwrap();
    let expected =
        format!("error: there is no connection {first}\n next: `dccpctl connections` lists them\n");
    assert_eq!(error, expected);
}

/// The types of the blocks of a pcapng file, whose bytes are little-endian.
fn blocks(file: &[u8]) -> Vec<u32> {
    let number = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    let mut at = 0;
    let mut types = Vec::new();
    while at < file.len() {
        types.push(number(at));
        at += usize::try_from(number(at + 4)).unwrap();
    }
    assert_eq!(at, file.len());
    types
}

#[test]
fn trace_has_the_packets_of_one_connection() {
    const PACKETS: usize = 12;
    if !is_inside("control::trace_has_the_packets_of_one_connection") {
        return;
    }
    let daemon = Daemon::start("trace", OPEN);
    let (mut client, mut server) = daemon.pair();
    let id = daemon.connections()[0]["id"].to_string();
    let file = daemon.folder.join("one.pcapng");
    let mut trace = Command::new(env!("CARGO_BIN_EXE_dccpctl"));
    trace
        .arg("--admin-socket")
        .arg(daemon.admin())
        .args(["trace", &id, "-w"]);
    let mut trace = trace.arg(&file).args(["-c", "12"]).spawn().unwrap();
    let mut status = None;
    eventually(|| {
        exchange(&mut client, &mut server);
        status = trace.try_wait().unwrap();
        status
    });
    assert!(status.unwrap().success());
    let types = blocks(&std::fs::read(&file).unwrap());
    // Section, interface, packets, statistics.
    assert_eq!(types[..2], [0x0a0d_0d0a, 1]);
    assert_eq!(types[2..types.len() - 1], [6; PACKETS]);
    assert_eq!(types.last(), Some(&5));
    let output = daemon.control(&["trace", "999"]);
    assert_eq!(output.status.code(), Some(4));
}

#[test]
fn trace_waits_for_a_slow_reader() {
    if !is_inside("control::trace_waits_for_a_slow_reader") {
        return;
    }
    let daemon = Daemon::start("slow-reader", OPEN);
    let (mut client, mut server) = daemon.pair();
    let id = daemon.connections()[0]["id"].to_string();
    let mut trace = Command::new(env!("CARGO_BIN_EXE_dccpctl"));
    trace.arg("--admin-socket").arg(daemon.admin());
    trace.args(["trace", &id, "--snap", "1400"]);
    let trace = trace.stdout(Stdio::piped()).spawn().unwrap();
    // The pipe and the socket have less room than this, and the daemon waits for longer than for an answer.
    let begin = clock::now();
    while clock::now() - begin < Duration::from_secs(6) {
        for _ in 0..10 {
            client.sender().push(&[7; 1400], Label::default()).unwrap();
            assert_eq!(server.recv(&mut [0; 1400]), Ok(1400));
        }
        client.recv_fates(&mut Vec::new(), 1000).unwrap();
        std::thread::sleep(Duration::from_millis(50));
    }
    drop((client, server));
    let output = trace.wait_with_output().unwrap();
    assert!(output.status.success());
    let types = blocks(&output.stdout);
    assert!(types.len() > 1000, "{}", types.len());
    assert_eq!(types.last(), Some(&5), "the statistics");
}

#[test]
fn only_administrators_are_answered() {
    if !is_inside("control::only_administrators_are_answered") {
        return;
    }
    if !dccp_dev::shell::is_root() {
        println!("SKIP: needs root to become another user");
        return;
    }
    // Other users cannot reach the build folder, so the sockets and the program are elsewhere.
    let folder = std::env::temp_dir().join(format!("dccpd-users-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join("dccpctl");
    std::fs::copy(env!("CARGO_BIN_EXE_dccpctl"), &program).unwrap();
    let admin = folder.join("admin");
    let keys = |more: &str| {
        let socket = folder.join("socket");
        format!("socket = {socket:?}\nadmin-socket = {admin:?}\n{more}")
    };
    let policy = folder.join("policy.toml");
    std::fs::write(&policy, keys("")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_dccpd"));
    command.arg("--policy").arg(&policy);
    let _daemon = dccp_dev::shell::Background::start(command, "lends DCCP").unwrap();
    let ask = |user: &str, words: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", user, "--regid", user, "--clear-groups"]);
        command.arg(&program).arg("--admin-socket").arg(&admin);
        command.args(words).output().unwrap()
    };
    let output = ask("65534", &["connections"]);
    assert_eq!(output.status.code(), Some(4));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.starts_with("error: only administrators may do this\n next: "),
        "{error}"
    );
    std::fs::write(&policy, keys("admins = [\"65534\"]")).unwrap();
    assert!(ask("0", &["reload"]).status.success());
    assert!(ask("65534", &["connections"]).status.success());
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn selftest_makes_a_transfer_or_shows_the_refusal() {
    if !is_inside("control::selftest_makes_a_transfer_or_shows_the_refusal") {
        return;
    }
    let daemon = Daemon::start("selftest", OPEN);
    let socket = daemon.socket();
    let words = ["selftest", "--socket", socket.to_str().unwrap()];
    let shown = daemon.show(&words);
    assert!(
        shown.starts_with("10 datagrams go both ways at 127.0.0.1:6511/"),
        "{shown}"
    );
    daemon.write_policy("");
    daemon.show(&["reload"]);
    let output = daemon.control(&words);
    assert_eq!(output.status.code(), Some(4));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.contains("no rule of the host's policy names the user"),
        "{error}"
    );
}

#[test]
fn missing_daemon_and_wrong_words_have_two_lines() {
    let control = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dccpctl"));
        let output = command.args(words).output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, error) = control(&["--admin-socket", "/no/such/path", "connections"]);
    assert_eq!(code, Some(1));
    assert!(
        error.starts_with("error: /no/such/path: no daemon answers: "),
        "{error}"
    );
    assert!(error.contains("\n next: start dccpd"), "{error}");
    let (code, error) = control(&["relod"]);
    assert_eq!(code, Some(2));
    assert_eq!(
        error,
        "error: relod: there is no such subcommand\n next: did you mean reload?\n"
    );
    let (code, error) = control(&["abort", "x"]);
    assert_eq!(code, Some(2));
    assert_eq!(error.lines().count(), 2, "{error}");
}
