//! How programs are started, and how they end.

use crate::support::{
    Running, Server, client, counter, dccprun, free_port, run_client, static_client, word,
};
use std::process::Command;

/// The error of a run that fails before the program starts: its exit code and its lines.
fn refusal(words: &[&str]) -> (Option<i32>, String) {
    let output = dccprun(words).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(error.lines().count(), 2, "{error}");
    assert!(
        error.starts_with("error: ") && error.contains("\n next: "),
        "{error}"
    );
    (output.status.code(), error)
}

#[test]
fn exit_code_is_that_of_the_program() {
    let code = |script| dccprun(&["sh", "-c", script]).status().unwrap().code();
    assert_eq!(code("exit 0"), Some(0));
    assert_eq!(code("exit 7"), Some(7));
    assert_eq!(code("kill -TERM $$"), Some(128 + 15));
    assert_eq!(code("kill -KILL $$"), Some(128 + 9));
    // A real-time signal.
    assert_eq!(code("kill -40 $$"), Some(128 + 40));
}

#[test]
fn signals_go_on_to_the_program() {
    for (name, number) in [
        ("TERM", 15),
        ("INT", 2),
        ("HUP", 1),
        ("USR1", 10),
        ("USR2", 12),
    ] {
        let script =
            format!("trap 'exit {number}' {name}; echo ready; while :; do sleep 0.1; done");
        // A shell traps no signal that was ignored when it began, as SIGINT is in a background job.
        let mut command = Command::new("env");
        let ordinary = dccprun(&["sh", "-c", &script]);
        command.arg("--default-signal").arg(ordinary.get_program());
        command.args(ordinary.get_args());
        let running = Running::start(command);
        running.wait_for("ready");
        let id = running.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-s", name, &id])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(running.end(), Some(number), "{name}");
    }
}

#[test]
fn program_has_no_blocked_signals() {
    let output = dccprun(&["grep", "SigBlk", "/proc/self/status"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.trim(), "SigBlk:\t0000000000000000");
}

#[test]
fn missing_program_ends_with_127() {
    let (code, error) = refusal(&["no-such-program-of-dccprun"]);
    assert_eq!(code, Some(127));
    assert!(error.contains("there is no such program"));
}

#[test]
fn static_program_is_refused() {
    let (code, error) = refusal(&[word(static_client()), "127.0.0.1", "5001", "echo"]);
    assert_eq!(code, Some(126));
    assert!(error.contains("linked statically"), "{error}");
}

#[test]
fn missing_library_is_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_dccprun"))
        .args(["--library", "/no/such.so", "true"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("/no/such.so: there is no such library")
    );
}

#[test]
fn preloaded_libraries_of_the_caller_are_kept() {
    let server = Server::start("127.0.0.1", 1);
    let mut command = dccprun(&["--remote-udp-port", &server.udp_port]);
    command.args([word(client()), "127.0.0.1", "5001", "echo"]);
    let output = command.env("LD_PRELOAD", counter()).output().unwrap();
    assert!(output.status.success());
    // Sockets of DCCP do not reach the next library; calls that close do.
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("counted some 0"), "{text}");
}

#[test]
fn descendants_keep_their_sockets_after_the_program_has_ended() {
    let server = Server::start("127.0.0.1", 1);
    let script = format!("({} 127.0.0.1 5001 echo && echo done) &", word(client()));
    let output = run_client(&server.udp_port, &["sh", "-c", &script]);
    assert!(output.status.success());
    assert_eq!(server.running.end(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("done"));
}

#[test]
fn taken_udp_port_is_explained() {
    let taken = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let server = word(crate::support::server());
    let words = ["--udp-port", &port, server, "0.0.0.0", "5001", "1", "-"];
    let output = dccprun(&words).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.contains(&format!("UDP port {port} is taken")),
        "{error}"
    );
    assert!(
        error.contains("choose another one with --udp-port"),
        "{error}"
    );
}

#[test]
fn programs_without_dccp_run_as_they_are() {
    let output = dccprun(&["sh", "-c", "echo one | cat; ls / > /dev/null"])
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"one\n");
    // Without a host, the library changes nothing.
    let mut alone = Command::new(word(client()));
    alone
        .args(["127.0.0.1", &free_port(), "echo"])
        .env("LD_PRELOAD", crate::support::library());
    assert_eq!(alone.status().unwrap().code(), Some(1));
}

#[test]
fn manual_page_and_completions_are_written() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("man");
    let program = || Command::new(env!("CARGO_BIN_EXE_dccprun"));
    assert!(
        program()
            .arg("--man")
            .arg(&folder)
            .status()
            .unwrap()
            .success()
    );
    let page = std::fs::read_to_string(folder.join("dccprun.1")).unwrap();
    assert!(page.contains("remote\\-udp\\-port"));
    let output = program().args(["--completions", "bash"]).output().unwrap();
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("dccprun")
    );
}
