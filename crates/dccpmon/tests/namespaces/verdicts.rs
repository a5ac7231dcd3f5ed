//! Scenarios with a known limit of a host: the verdict names it, and its remedy lifts it.

use crate::hosts::{Hosts, whole};
use core::time::Duration;
use dccp::Rate;
use dccp_emu::tun::Tunnel;
use dccp_sim::LinkConfig;
use dccp_sim::queue::{Limit, QueueConfig};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::process::{Child, Stdio};
use std::thread;

/// The limit of a test, which has evidence.
fn limit(document: &Value) -> &Value {
    let limit = &document["summary"]["limited_by"];
    let evidence = limit["evidence"].as_array().unwrap();
    assert!(!evidence.is_empty(), "{limit:#}");
    limit
}

/// Stops a program from 0.8 s to 1.4 s from now on.
fn pause(child: &Child) {
    let process = Pid::from_child(child);
    thread::sleep(Duration::from_millis(800));
    kill_process(process, Signal::STOP).unwrap();
    thread::sleep(Duration::from_millis(600));
    kill_process(process, Signal::CONT).unwrap();
}

// goal 34: a sender that sleeps leaves packets out.
#[test]
fn verdict_of_a_sleeping_sender_is_a_pacing_error() {
    let Some(hosts) = Hosts::new("verdict_of_a_sleeping_sender_is_a_pacing_error") else {
        return;
    };
    hosts.connect();
    let _server = hosts.serve(&[]);
    let mut test = hosts.test(&["-u", "-t", "2", "-b", "20M"]);
    let child = test.stdout(Stdio::piped()).spawn().unwrap();
    pause(&child);
    let document = whole(&child.wait_with_output().unwrap());
    let limit = limit(&document);
    assert_eq!(limit["verdict"], "pacing_error", "{limit:#}");
}

// goal 34: a core with too much work is the limit.
#[test]
fn verdict_of_two_ends_on_one_core_is_the_cpu() {
    let Some(mut hosts) = Hosts::new("verdict_of_two_ends_on_one_core_is_the_cpu") else {
        return;
    };
    hosts.runner = &["taskset", "-c", "0"];
    hosts.connect();
    let _server = hosts.serve(&[]);
    let document = hosts.document(&["-u", "-t", "2", "-b", "100G"]);
    let limit = limit(&document);
    assert_eq!(limit["verdict"], "cpu", "{limit:#}");
}

// goal 34: packets that arrive while the receiving program does not read are lost because of it.
#[test]
fn verdict_of_a_receiver_that_does_not_read_is_the_receiver() {
    let Some(hosts) = Hosts::new("verdict_of_a_receiver_that_does_not_read_is_the_receiver") else {
        return;
    };
    hosts.connect();
    let server = hosts.serve(&[]);
    let mut test = hosts.test(&["-u", "-t", "2", "-b", "20M", "-w", "64K"]);
    let child = test.stdout(Stdio::piped()).spawn().unwrap();
    pause(&server.child);
    let document = whole(&child.wait_with_output().unwrap());
    let limit = limit(&document);
    assert_eq!(limit["verdict"], "receiver", "{limit:#}");
}

// goal 34: losses by a small receive buffer are those of the receiving host, and a larger buffer ends them.
#[test]
fn verdict_of_bursts_into_a_small_buffer_is_the_socket_buffer() {
    let Some(hosts) = Hosts::new("verdict_of_bursts_into_a_small_buffer_is_the_socket_buffer")
    else {
        return;
    };
    hosts.connect();
    let _server = hosts.serve(&[]);
    let bursts = ["-u", "-t", "1", "--burst", "100/20ms", "-l", "1000"];
    let document = hosts.document(&[&bursts[..], &["-w", "4K"]].concat());
    let limit = limit(&document);
    assert_eq!(limit["verdict"], "socket_buffer", "{limit:#}");
    let ledger = &document["summary"]["flows"][0]["ledger"];
    assert!(
        ledger["lost_receiver_socket"].as_u64() > Some(100),
        "{ledger:#}"
    );
    assert_eq!(ledger["lost_network"], 0, "{ledger:#}");
    // A lower limit of the system is that of the whole machine. It suffices here, so the test leaves it as it is.
    let command = limit["command"].as_str().unwrap();
    let (_, larger) = command.rsplit_once("-w ").unwrap();
    let document = hosts.document(&[&bursts[..], &["-w", larger]].concat());
    let flow = &document["summary"]["flows"][0];
    assert_ne!(flow["limited_by"]["verdict"], "socket_buffer", "{flow:#}");
    assert_eq!(flow["ledger"]["lost_receiver_socket"], 0, "{flow:#}");
}

/// A link of 50 Mbit/s and 20 ms there and back together, between two hosts.
fn long_link(hosts: &Hosts) -> Tunnel {
    hosts.emulate(&LinkConfig {
        rate: Some(Rate::from_bytes_per_s(6.25e6)),
        delay: Duration::from_millis(10),
        queue: QueueConfig::drop_tail(Limit::Packets(200)),
        ..LinkConfig::default()
    })
}

// goal 34: a window that does not hold the data of a round trip is the limit, and a larger one lifts it.
#[test]
fn verdict_of_a_small_window_is_the_window() {
    let Some(hosts) = Hosts::new("verdict_of_a_small_window_is_the_window") else {
        return;
    };
    let tunnel = long_link(&hosts);
    let server = hosts.serve(&[]);
    let test = ["--tcp", "-t", "2", "-l", "1400"];
    let small = hosts.document(&[&test[..], &["-w", "16K"]].concat());
    let limit = limit(&small);
    assert_eq!(limit["verdict"], "window", "{limit:#}");
    assert_eq!(limit["command"], "leave -w out");
    let large = hosts.document(&test);
    drop(server);
    tunnel.stop().unwrap();
    assert_ne!(large["summary"]["limited_by"]["verdict"], "window");
    let [small, large] = [small, large].map(|d| d["summary"]["goodput_bps"].as_f64().unwrap());
    assert!(large > 2.0 * small, "{small} and {large} bit/s");
}
