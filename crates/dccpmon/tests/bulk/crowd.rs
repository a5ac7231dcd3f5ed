//! Clients that hold a server without testing anything.
#![cfg(target_os = "linux")]

use crate::support::{Server, client};
use core::time::Duration;
use dccp::{DccpAddr, Options, RecvError, Socket, clock};
use serde_json::{Value, json};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const STEP: Duration = Duration::from_millis(200);

fn options(host: u8) -> Options {
    Options::new()
        .service_code(*b"DMON")
        .recv_timeout(STEP)
        .send_timeout(STEP)
        .bind(([127, 0, 0, host], 0).into())
}

fn address(server: &Server) -> DccpAddr {
    let port = server.port.parse().unwrap();
    DccpAddr::new([127, 0, 0, 1].into(), port, 5001)
}

/// A part of a control message.
fn part(flags: u8, number: u32, ack: u32, text: &[u8]) -> Vec<u8> {
    let mut bytes = vec![b'D', b'C', 1, flags];
    bytes.extend(number.to_be_bytes());
    bytes.extend(ack.to_be_bytes());
    bytes.extend(text);
    bytes
}

/// A client that follows the protocol of the control connection, and sends no data.
struct Acker {
    control: Socket,
    said: u32,
    heard: u32,
}

impl Acker {
    /// Begins a test of `time` from 127.0.0.`host`.
    fn begin(server: &Server, host: u8, time: Duration) -> (Self, Socket) {
        let (to, options) = (address(server), options(host));
        let control = Socket::connect(to, &options).unwrap();
        let mut acker = Self {
            control,
            said: 0,
            heard: 0,
        };
        let setup = json!({
            "message": "setup", "version": "0", "flows": 1, "is_reverse": false, "length_bytes": 100,
            "duration_ns": time.as_secs() * 1_000_000_000, "interval_ns": 1_000_000_000, "rate_bps": null,
        });
        acker.say(&setup);
        let ready = acker.hear("ready");
        let token = ready["token"].as_u64().unwrap();
        let data = Socket::connect(to, &options).unwrap();
        let mut join = vec![b'D', b'M', 1, 1];
        join.extend(token.to_be_bytes());
        join.extend([0; 12]);
        data.send(&join).unwrap();
        acker.hear("joined");
        acker.say(&json!({"message": "start"}));
        (acker, data)
    }

    fn say(&mut self, message: &Value) {
        self.said += 1;
        let text = message.to_string();
        let datagram = part(1, self.said, self.heard, text.as_bytes());
        self.control.send(&datagram).unwrap();
    }

    /// Waits for a message of this name.
    fn hear(&mut self, name: &str) -> Value {
        let until = clock::now() + Duration::from_secs(10);
        while clock::now() < until {
            if let Ok(Some(message)) = self.take() {
                assert_eq!(message["message"], name);
                return message;
            }
        }
        panic!("no {name}");
    }

    /// Receives a datagram and acknowledges it. Messages of one part are returned.
    fn take(&mut self) -> Result<Option<Value>, RecvError> {
        let mut datagram = [0; 1000];
        let len = match self.control.recv(&mut datagram) {
            Ok(len) => len,
            Err(RecvError::TimedOut) => 0,
            Err(e) => return Err(e),
        };
        let number = datagram[..len].get(4..8).unwrap_or(&[0; 4]);
        let number = u32::from_be_bytes(number.try_into().unwrap());
        let is_next = number == self.heard + 1;
        self.heard += u32::from(is_next);
        let _ = self.control.send(&part(0, 0, self.heard, &[]));
        let text = datagram[..len].get(12..).filter(|_| is_next);
        Ok(text.and_then(|text| serde_json::from_slice(text).ok()))
    }
}

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
    let server = Server::start("udp");
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
