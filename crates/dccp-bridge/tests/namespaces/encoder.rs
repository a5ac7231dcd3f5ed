//! An encoder that sends too much, and then follows the published rate.

use crate::hosts::{Hosts, allowed_bps, path};
use crate::support::app;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use dccp::clock;
use std::net::UdpSocket;
use std::sync::Arc;
use std::thread;

/// Bytes of a datagram: seven packets of MPEG-TS.
const LEN: usize = 1316;

/// An encoder whose rate the test sets. It sends until it is dropped.
struct Encoder {
    bits_per_s: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
}

impl Encoder {
    fn start(socket: UdpSocket, to: SocketAddr) -> Self {
        let encoder = Self {
            bits_per_s: Arc::new(AtomicU64::new(0)),
            is_over: Arc::new(AtomicBool::new(false)),
        };
        let (rate, is_over) = (encoder.bits_per_s.clone(), encoder.is_over.clone());
        thread::spawn(move || {
            // Bits that may be sent, as time and rate give them.
            let (mut credit, mut last) = (0, clock::now());
            while !is_over.load(Ordering::Relaxed) {
                let now = clock::now();
                let us = u64::try_from((now - last).as_micros()).unwrap();
                last = now;
                credit += rate.load(Ordering::Relaxed) * us / 1_000_000;
                while credit >= 8 * LEN as u64 {
                    socket.send_to(&[7; LEN], to).unwrap();
                    credit -= 8 * LEN as u64;
                }
                thread::sleep(Duration::from_millis(1));
            }
        });
        encoder
    }

    fn set(&self, bits_per_s: u64) {
        self.bits_per_s.store(bits_per_s, Ordering::Relaxed);
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

#[test]
fn encoder_gets_advisory_and_enforcement_and_recovers_when_it_follows_the_published_rate() {
    let test = "encoder_gets_advisory_and_enforcement_and_recovers";
    let Some(hosts) = Hosts::new(test, &[]) else {
        return;
    };
    let file = path("encoder.json");
    let _listen = hosts.listen(5006);
    let connect = hosts.connect(5006, &["--rate-file", file.to_str().unwrap()]);
    let socket = dccp_netns::inside(hosts.sender.name(), || app("127.0.0.1")).unwrap();
    let encoder = Encoder::start(socket, connect.udp());

    // The window grows first, so that the queue does not fill at once.
    encoder.set(30_000_000);
    thread::sleep(Duration::from_secs(3));
    encoder.set(54_000_000);
    connect.wait_for(" advisory: ");
    connect.wait_for(" enforcement: ");
    // The rate of the path is known after the queue was full for a second.
    thread::sleep(Duration::from_secs(2));
    let follow = || {
        let allowed = allowed_bps(&file)?;
        // A tenth stays unused, so that the queue empties.
        encoder.set(allowed / 10 * 9);
        Some(allowed)
    };
    let mut allowed = Vec::new();
    let recovery = (0..150).find_map(|_| {
        allowed.extend(follow());
        thread::sleep(Duration::from_millis(200));
        let lines = connect.lines();
        lines.into_iter().find(|line| line.contains(" recovery: "))
    });
    assert!(recovery.is_some(), "{allowed:?}");
    // It recovered because it sends what the path takes, not because it has ended.
    let last = allowed.last().unwrap();
    assert!((20_000_000..50_000_000).contains(last), "{allowed:?}");
}
