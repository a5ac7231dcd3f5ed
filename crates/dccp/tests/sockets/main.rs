//! Sockets of one process over the loopback interface, and over IP in a namespace of their own.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

#[cfg(target_os = "linux")]
mod attribution;
mod choice;
mod close;
mod connect;
mod data;
mod engine;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(target_os = "linux")]
mod given;
mod late;
#[cfg(target_os = "linux")]
mod namespace;
mod readiness;
mod ring;
mod safeudp;
#[cfg(target_os = "linux")]
mod threads;
mod timely;

use core::time::Duration;
use dccp::{Event, Listener, Options, Socket};
use std::net::SocketAddr;

const PORT: u16 = 5001;
const PATIENCE: Duration = Duration::from_secs(10);

fn options() -> Options {
    patient_options().service_code(*b"TEST")
}

/// Options without a Service Code. Calls that wait fail after `PATIENCE`.
fn patient_options() -> Options {
    Options::new().recv_timeout(PATIENCE).send_timeout(PATIENCE)
}

fn listen(options: &Options) -> (Listener, SocketAddr) {
    let listener = Listener::bind(("127.0.0.1:0", PORT), options).unwrap();
    let address = listener.local_addrs()[0].udp_addr();
    (listener, address)
}

/// A connected pair: client, server.
fn pair(client: &Options, server: &Options) -> (Socket, Socket) {
    let (listener, address) = listen(server);
    let client = Socket::connect((address, PORT), client).unwrap();
    let server = listener.accept_timeout(PATIENCE).unwrap();
    (client, server)
}

/// Waits until something is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if is_so() {
            return;
        }
        std::thread::sleep(PATIENCE / 1000);
    }
    panic!("it never came to this: {what}");
}

/// Waits for an event, passing over others.
fn await_event(socket: &Socket, wanted: &Event) {
    until(&format!("{wanted:?}"), || {
        core::iter::from_fn(|| socket.poll_event()).any(|event| event == *wanted)
    });
}
