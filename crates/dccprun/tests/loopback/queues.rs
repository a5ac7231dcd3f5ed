//! Sockets whose datagrams go through queues in shared memory: each part of `queues.c` against `server.c`.

use crate::support::{Running, Server, dccprun, queues, run_client, word};
use dccp_dev::rerun::is_inside;
use std::process::Command;

fn check(part: &str, connections: u32) {
    let server = Server::start("127.0.0.1", connections);
    let words = [word(queues()), "127.0.0.1", "5001", part];
    let output = run_client(&server.udp_port, &words);
    assert!(output.status.success(), "{part}");
    assert_eq!(server.running.end(), Some(0), "the server of {part}");
}

#[test]
fn all_calls_find_the_datagrams_of_a_queue() {
    check("kinds", 1);
}

#[test]
fn socket_is_writable_while_the_queue_has_room() {
    let server = Server::start("127.0.0.1", 1);
    let words = [word(queues()), "127.0.0.1", "5001", "room"];
    // The server still echoes when the client closes, so that its last call may fail.
    assert!(run_client(&server.udp_port, &words).status.success());
}

#[test]
fn threads_that_receive_share_the_datagrams() {
    check("threads", 1);
}

#[test]
fn exec_keeps_the_datagrams_of_a_queue() {
    check("exec", 1);
}

#[test]
fn processes_share_a_socket() {
    check("processes", 1);
}

#[test]
fn reused_descriptor_does_not_reach_the_old_queue() {
    check("reuse", 5);
}

#[test]
fn end_is_found_without_the_queue() {
    check("end", 2);
}

#[test]
fn thread_that_receives_during_the_handshake_finds_the_queue() {
    let server = Server::start("127.0.0.1", 1);
    let host = server.running.id().to_string();
    let signal = |name| Command::new("kill").args(["-s", name, &host]).status();
    // The handshake does not end before the thread waits.
    assert!(signal("STOP").unwrap().success());
    let words = [word(queues()), "127.0.0.1", "5001", "handshake"];
    let head = ["--remote-udp-port", &server.udp_port];
    let client = Running::start(dccprun(&[&head[..], &words].concat()));
    client.wait_for("receiving");
    assert!(signal("CONT").unwrap().success());
    assert_eq!(client.end(), Some(0));
    assert_eq!(server.running.end(), Some(0));
}

#[test]
fn datagrams_above_a_lower_path_mtu_are_refused() {
    if is_inside("queues::datagrams_above_a_lower_path_mtu_are_refused", "") {
        check("narrow", 1);
    }
}
