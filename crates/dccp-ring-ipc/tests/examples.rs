//! The examples work.

#![cfg(target_os = "linux")]

use std::error::Error;

#[path = "../examples/ring_listener.rs"]
mod ring_listener;
#[path = "../examples/ring_server.rs"]
mod ring_server;

#[test]
fn connections_are_lent_to_another_process() -> Result<(), Box<dyn Error>> {
    ring_server::main()
}

#[test]
fn connections_are_accepted_for_another_process() -> Result<(), Box<dyn Error>> {
    ring_listener::main()
}
