//! A test program on this crate's sockets, the twin of `interop/linux/guest/dccp-peer.c` on the
//! Linux kernel's: the same options, the same messages, the same JSON lines. The interoperability
//! tests run one of each.
//!
//! ```sh
//! cargo run -p dccp-testbed --bin dccp-peer -- listen 5001 --bind 192.0.2.1 --over ip --echo
//! cargo run -p dccp-testbed --bin dccp-peer -- connect 192.0.2.1 5001 --over ip --count 100 --echo
//! ```

mod args;
mod message;
mod session;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::thread;

use clap::Parser;
use dccp::{ConnectError, Listener, Socket};

use crate::args::{Args, Command, Settings};
use crate::session::{Role, session};

fn main() -> ExitCode {
    let all_well = match Args::parse().command {
        Command::Listen { port, settings } => listen(port, &settings),
        Command::Connect {
            host,
            port,
            settings,
        } => connect(SocketAddr::new(host, settings.udp_port), port, &settings),
    };
    if all_well {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Serves one connection after the other in threads; whether all went well.
fn listen(port: u16, settings: &Settings) -> bool {
    let at = SocketAddr::new(settings.bind_or_any(), settings.udp_port);
    let listener = match Listener::bind((at, port), &settings.options()) {
        Ok(listener) => listener,
        Err(error) => return failed("bind", &error.to_string()),
    };
    println!(
        r#"{{"type":"listening","port":{port},"service":{}}}"#,
        settings.service.0
    );
    thread::scope(|scope| {
        let mut sessions = Vec::new();
        for number in (1..).take(settings.conns.unwrap_or(usize::MAX)) {
            let socket = match accept(&listener, settings) {
                Ok(socket) => socket,
                Err(error) => return failed("accept", &error),
            };
            sessions.push(scope.spawn(move || session(&socket, Role::Listen, number, settings)));
        }
        sessions
            .into_iter()
            .all(|session| session.join().unwrap_or(false))
    })
}

fn accept(listener: &Listener, settings: &Settings) -> Result<Socket, String> {
    let accepted = match settings.timeout() {
        Some(timeout) => listener.accept_timeout(timeout),
        None => listener.accept(),
    };
    accepted.map_err(|error| error.to_string())
}

/// Makes one connection; whether all went well.
fn connect(to: SocketAddr, port: u16, settings: &Settings) -> bool {
    match Socket::connect((to, port), &settings.options()) {
        Ok(socket) => session(&socket, Role::Connect, 1, settings),
        Err(error) => failed("connect", errno(&error)),
    }
}

/// The name that the kernel gives to this error.
fn errno(error: &ConnectError) -> &'static str {
    match error {
        ConnectError::Refused { .. } => "ECONNREFUSED",
        ConnectError::BadServiceCode { .. } => "EBADRQC",
        ConnectError::TooBusy { .. } => "EUSERS",
        ConnectError::NoAnswer { .. } => "ETIMEDOUT",
        ConnectError::Unreachable { .. } => "EHOSTUNREACH",
        _ => "EIO",
    }
}

fn failed(call: &str, error: &str) -> bool {
    println!(r#"{{"type":"error","call":"{call}","error":"{error}"}}"#);
    false
}
