//! Calls of the socket interface: each part of `client.c` against `server.c`, and those of `listening.c`.

use crate::support::{
    Running, Server, client, dccprun, free_port, listening, run_client, server, slow, word,
};
use std::net::UdpSocket;

/// Runs a part against a server that accepts `connections`.
fn check_at(address: &str, part: &str, connections: u32) {
    let server = Server::start(address, connections);
    let output = run_client(&server.udp_port, &[word(client()), address, "5001", part]);
    assert!(output.status.success(), "{part}");
    assert_eq!(server.running.end(), Some(0), "the server of {part}");
}

fn check(part: &str) {
    check_at("127.0.0.1", part, 1);
}

/// Defines a test for each part.
macro_rules! parts {
    ($($name:ident: $part:literal;)*) => {$(
        #[test]
        fn $name() {
            check($part);
        }
    )*};
}

parts! {
    datagrams_keep_their_boundaries: "echo";
    both_ends_have_addresses_and_ports: "names";
    protocol_0_is_dccp: "protocol-0";
    nonblocking_connect_is_writable_once_open: "nonblocking";
    select_waits_for_the_handshake_and_for_data: "select";
    level_triggered_epoll_reports_data: "level";
    edge_triggered_epoll_reports_all_data: "edge";
    duplicates_are_the_same_socket: "dup";
    exec_keeps_the_descriptor: "exec";
    messages_of_several_buffers_are_one_datagram: "sendmsg";
    over_long_datagrams_are_refused: "emsgsize";
    shutdown_ends_one_direction: "shutdown";
    end_of_the_peer_is_read_as_eof_and_written_as_epipe: "closed";
    reset_of_the_peer_is_reported_once: "aborted";
    data_before_the_end_is_read: "drain";
    options_have_the_kernels_values_and_errors: "options";
    connection_uses_the_first_service_code: "services";
    program_that_does_not_receive_learns_the_end: "deaf";
}

#[test]
fn child_uses_the_sockets_of_its_parent_and_its_own() {
    check_at("127.0.0.1", "fork", 2);
}

#[test]
fn ipv6_works_like_ipv4() {
    for part in ["echo", "names", "emsgsize"] {
        check_at("::1", part, 1);
    }
}

#[test]
fn listeners_of_both_families_share_a_port() {
    let words = [word(listening()), "::", "families"];
    let port = free_port();
    let all = [&["--udp-port", &port][..], &words].concat();
    let output = dccprun(&all).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn wrong_service_code_is_refused_with_ebadrqc() {
    let server = Server::start("127.0.0.1", 1);
    let words = [word(client()), "127.0.0.1", "5001", "service"];
    assert!(run_client(&server.udp_port, &words).status.success());
}

#[test]
fn dccp_port_without_a_listener_is_refused() {
    let server = Server::start("127.0.0.1", 1);
    for part in ["refused", "nonblocking-refused"] {
        let words = [word(client()), "127.0.0.1", "5002", part];
        assert!(
            run_client(&server.udp_port, &words).status.success(),
            "{part}"
        );
    }
}

#[test]
fn host_without_listeners_refuses_by_icmp() {
    let words = [word(client()), "127.0.0.1", "5001", "refused"];
    assert!(run_client(&free_port(), &words).status.success());
}

#[test]
fn silent_peer_ends_the_handshake_with_etimedout() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port().to_string();
    for part in ["timeout", "nonblocking-silent", "interrupted"] {
        let program = [word(client()), "127.0.0.1", "5001", part];
        let words = [&["--connect-timeout", "2s"][..], &program].concat();
        assert!(run_client(&port, &words).status.success(), "{part}");
    }
}

#[test]
fn first_connection_to_a_listener_that_begins_is_kept() {
    // The client calls before the listener, whose program is slow in the midst of its call.
    let port = free_port();
    let words = [word(client()), "127.0.0.1", "5001", "early"];
    let caller = dccprun(&[&["--remote-udp-port", &port][..], &words].concat());
    let caller = Running::start(caller);
    caller.wait_for("calling");
    let words = [word(server()), "127.0.0.1", "5001", "1", "-"];
    let mut listener = dccprun(&[&["--udp-port", &port][..], &words].concat());
    listener.env("LD_PRELOAD", slow());
    let listener = Running::start(listener);
    assert_eq!(caller.end(), Some(0));
    assert_eq!(listener.end(), Some(0));
}

#[test]
fn listen_works_again_after_a_failure() {
    let taken = UdpSocket::bind("0.0.0.0:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let words = [word(listening()), "127.0.0.1", "again"];
    let listener = dccprun(&[&["--udp-port", &port][..], &words].concat());
    let listener = Running::start(listener);
    listener.wait_for("taken");
    drop(taken);
    listener.wait_for("ready");
    let words = [word(listening()), "127.0.0.1", "greeted"];
    assert!(run_client(&port, &words).status.success());
    assert_eq!(listener.end(), Some(0));
}

#[test]
fn connection_waits_for_free_descriptors_to_be_accepted() {
    let server = Server::start_in_mode("limit", "127.0.0.1", 1);
    let words = [word(client()), "127.0.0.1", "5001", "echo"];
    assert!(run_client(&server.udp_port, &words).status.success());
    assert_eq!(server.running.end(), Some(0));
}
