//! Clients that hold a server without testing anything.
#![cfg(target_os = "linux")]

use crate::acker::{Acker, STEP, address, options, part};
use crate::support::{Server, assert_exact, client, read, scrape};
use core::time::Duration;
use dccp::{Socket, clock};
use dccp_dev::openmetrics::value;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

fn threads(server: &Server) -> usize {
    let status = format!("/proc/{}/status", server.child.id());
    let status = std::fs::read_to_string(status).unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("Threads:"));
    line.unwrap().trim().parse().unwrap()
}

#[test]
fn silent_clients_hold_no_threads_and_no_service() {
    let server = Server::start("udp");
    // Each begins a control message and does not end it. The server may drop the connection.
    let silent: Vec<Socket> = (0..120)
        .filter_map(|_| {
            let socket = Socket::connect(address(&server), &options(2)).ok()?;
            let _ = socket.send(&part(0, 1, 0, b"{"));
            Some(socket)
        })
        .collect();
    assert!(silent.len() >= 60, "{} connections", silent.len());
    thread::sleep(STEP);
    let threads = threads(&server);
    assert!(threads <= 40, "{threads} threads");
    let output = server.test(&["-t", "0.5", "-b", "1M"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn clients_that_only_acknowledge_hold_seats_no_longer_than_their_tests() {
    let server = Server::start_with("udp", &["--tests", "4"]);
    let time = Duration::from_secs(1);
    let is_over = Arc::new(AtomicBool::new(false));
    // Three of one address and one of another: the last seat is for the latter only.
    let ackers: Vec<_> = [2, 2, 2, 3]
        .into_iter()
        .map(|host| {
            let (mut acker, data) = Acker::begin(&server, host, time);
            let is_over = is_over.clone();
            thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) && acker.take().is_ok() {}
                drop(data);
            })
        })
        .collect();
    let begin = clock::now();
    let limit = time + Duration::from_secs(10);
    loop {
        let mut fifth = client(&server.port, &["-t", "0.5", "-b", "1M"]);
        let code = fifth.stdout(Stdio::null()).stderr(Stdio::null()).status();
        let passed = clock::now() - begin;
        match code.unwrap().code() {
            Some(0) => break,
            Some(4) if passed < limit => thread::sleep(STEP),
            other => panic!("{other:?} after {passed:?}"),
        }
    }
    is_over.store(true, Ordering::Relaxed);
    for acker in ackers {
        acker.join().unwrap();
    }
}

// goal 55: twenty clients at once.
// goal 57: the places of killed clients are free again, and the others lose nothing by it.
#[test]
fn killed_clients_free_their_seats_and_disturb_no_other() {
    // One address leaves the last seat to others.
    let mut server = Server::start_with("udp", &["--tests", "21", "--metrics", "127.0.0.1:0"]);
    let at = server.metrics();
    let start = |time| -> Child {
        let mut client = client(&server.port, &["-t", time, "-b", "400K", "-J"]);
        client.stdout(Stdio::piped()).spawn().unwrap()
    };
    let mut killed: Vec<Child> = (0..3).map(|_| start("60")).collect();
    let others: Vec<Child> = (0..17).map(|_| start("3")).collect();
    thread::sleep(Duration::from_secs(2));
    for client in &mut killed {
        client.kill().unwrap();
        client.wait().unwrap();
    }
    for other in others {
        let output = other.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_exact(&read(&output));
    }
    let running = || value(&scrape(at), "dccpmon_server_tests_running", &[]);
    let until = clock::now() + Duration::from_secs(20);
    while running() != Some(0.0) {
        assert!(clock::now() < until, "{:?} tests run", running());
        thread::sleep(STEP);
    }
}
