//! A ring between two processes, where one dies.
#![cfg(target_os = "linux")]

use dccp_ring::{Arrival, Delivered, Label, Look, Report, Shape, shared, silent};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::{Command, exit};
use std::thread;

const DATAGRAMS: u64 = 500;
/// The environment variable that passes the memory to the second process.
const MEMORY: &str = "RING_MEMORY";
/// The last datagram. After it the application takes back the waiting ones and exits.
const LAST: u64 = u64::MAX;

/// The test runs its own binary again as the application.
#[test]
fn ring_joins_two_processes_and_outlives_one() {
    if let Ok(memory) = std::env::var(MEMORY) {
        application(&memory);
        // The application dies while it holds datagrams.
        exit(0);
    }
    let (mut transport, fd) = shared::create(Shape::new(8, 100), silent()).expect("memory");
    let memory = format!("/proc/{}/fd/{}", std::process::id(), fd.as_raw_fd());
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "ring_joins_two_processes_and_outlives_one"])
        .env(MEMORY, memory)
        .spawn()
        .expect("a second process");
    let mut next = 0;
    loop {
        let mut buf = [0; 8];
        let Look::Offer { len: 8 } = transport.source.look(0).expect("honest") else {
            let ended = child.try_wait().expect("a child");
            assert_eq!(ended, None, "before its last datagram");
            thread::yield_now();
            continue;
        };
        let claimed = transport.source.claim_into(&mut buf).expect("honest");
        let Some(claimed) = claimed else {
            continue;
        };
        let tag = claimed.label.tag;
        assert_eq!(u64::from_le_bytes(buf), tag, "whole, and of this label");
        if tag == LAST {
            break;
        }
        assert!(tag >= next, "in order, less those that were withdrawn");
        next = tag + 1;
        let report = Report {
            tag,
            fate: tag + 1,
            at_ns: 0,
        };
        transport.source.report(report).expect("honest");
        transport.source.flush();
        let arrival = Arrival {
            at_ns: 0,
            info: tag,
        };
        while transport.sink.deliver(&buf, arrival) == Ok(Delivered::Full) {
            thread::yield_now();
        }
        transport.sink.flush();
    }
    assert!(child.wait().expect("it ended").success());
    assert_eq!(
        transport.source.look(0),
        Ok(Look::Nothing),
        "what was in its hands"
    );
    transport.source.flush();
}

/// Pushes, withdraws every third datagram if still possible, and reads the fates of the others.
fn application(memory: &str) {
    let memory = File::options().read(true).write(true).open(memory);
    let mut app = shared::attach(memory.expect("the memory"), silent()).expect("a ring");
    let (mut pushed, mut withdrawn, mut heard, mut received) = (0, 0, 0, 0);
    while pushed < DATAGRAMS || withdrawn + heard.min(received) < DATAGRAMS {
        let label = |tag| Label {
            tag,
            ..Label::default()
        };
        if pushed < DATAGRAMS
            && let Ok(one) = app.sender.push(&pushed.to_le_bytes(), label(pushed))
        {
            let is_out = pushed % 3 == 0 && app.sender.withdraw(one.ticket).is_ok();
            withdrawn += u64::from(is_out);
            pushed += 1;
        }
        let each = |report: Report| assert_eq!(report.fate, report.tag + 1);
        heard += app.sender.fates(99, each).expect("honest") as u64;
        assert_eq!(app.sender.fates_missed(), 0);
        let mut buf = [0; 8];
        while let Some((len, arrival)) = app.receiver.recv(&mut buf).expect("honest") {
            assert_eq!((len, u64::from_le_bytes(buf)), (8, arrival.info));
            received += 1;
        }
        thread::yield_now();
    }
    let last = Label {
        tag: LAST,
        ..Label::default()
    };
    app.sender.push(&LAST.to_le_bytes(), last).expect("room");
    while app.sender.waiting().expect("honest") > 0 {
        thread::yield_now();
    }
    app.sender.push(b"never leaves", last).expect("room");
    let held = app.sender.take_back(usize::MAX).expect("honest");
    core::mem::forget(held);
}
