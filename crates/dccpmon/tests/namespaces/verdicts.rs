//! Scenarios with a known limit of a host: the verdict names it.

use crate::hosts::{Hosts, whole};
use core::time::Duration;
use rustix::process::{Pid, Signal, kill_process};
use std::process::Stdio;
use std::thread;

// goal 34
#[test]
fn verdict_of_a_sleeping_sender_is_a_pacing_error() {
    let Some(hosts) = Hosts::new("verdict_of_a_sleeping_sender_is_a_pacing_error") else {
        return;
    };
    hosts.connect();
    let _server = hosts.serve(&[]);
    let mut test = hosts.test(&["-u", "-t", "2", "-b", "20M"]);
    let child = test.stdout(Stdio::piped()).spawn().unwrap();
    let process = Pid::from_child(&child);
    thread::sleep(Duration::from_millis(800));
    kill_process(process, Signal::STOP).unwrap();
    thread::sleep(Duration::from_millis(600));
    kill_process(process, Signal::CONT).unwrap();
    let document = whole(&child.wait_with_output().unwrap());
    let limit = &document["summary"]["limited_by"];
    assert_eq!(limit["verdict"], "pacing_error", "{limit:#}");
    assert!(
        !limit["evidence"].as_array().unwrap().is_empty(),
        "{limit:#}"
    );
}

// goal 34
#[test]
fn verdict_of_two_ends_on_one_core_is_the_cpu() {
    let Some(mut hosts) = Hosts::new("verdict_of_two_ends_on_one_core_is_the_cpu") else {
        return;
    };
    hosts.runner = &["taskset", "-c", "0"];
    hosts.connect();
    let _server = hosts.serve(&[]);
    let document = hosts.document(&["-u", "-t", "2", "-b", "100G"]);
    let limit = &document["summary"]["limited_by"];
    assert_eq!(limit["verdict"], "cpu", "{limit:#}");
}
