//! Says hello over DCCP: `hello serve` on one host, `hello HOST` on another.

use core::time::Duration;
use dccp::{DEFAULT_UDP_PORT, Listener, Options, RecvError, Socket};
use std::error::Error;
use std::process::ExitCode;

const PORT: u16 = 4242;
/// A peer that sends nothing for this time gets no more attention.
const PATIENCE: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let options = Options::new().service_code(*b"HELO");
    let result = match std::env::args().nth(1).as_deref() {
        None => Err("write `hello serve`, or `hello HOST` with the host where that runs".into()),
        Some("serve") => serve(&options),
        Some(host) => greet(host, &options),
    };
    if let Err(error) = result {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn serve(options: &Options) -> Result<(), Box<dyn Error>> {
    let listener = Listener::bind((("0.0.0.0", DEFAULT_UDP_PORT), PORT), options)?;
    loop {
        let socket = listener.accept()?;
        // An error concerns this client only: the next one is served all the same.
        if let Err(error) = answer(&socket) {
            eprintln!("{}: {error}", socket.peer_addr());
        }
    }
}

/// Answers one client.
pub(crate) fn answer(socket: &Socket) -> Result<(), Box<dyn Error>> {
    let hello = recv(socket);
    let sent = socket.send(b"hello yourself");
    // The connection closes in order, also after an error.
    socket.close()?;
    sent?;
    println!("{} says: {}", socket.peer_addr(), hello?);
    Ok(())
}

fn greet(host: &str, options: &Options) -> Result<(), Box<dyn Error>> {
    let socket = Socket::connect(((host, DEFAULT_UDP_PORT), PORT), options)
        .map_err(|error| format!("{error}\nnext: {}", error.next_step()))?;
    println!("{host} answers: {}", ask(&socket)?);
    Ok(())
}

/// Sends a greeting and returns the answer.
pub(crate) fn ask(socket: &Socket) -> Result<String, Box<dyn Error>> {
    let sent = socket.send(b"hello");
    let answer = recv(socket);
    // The connection closes in order, also after an error.
    socket.close()?;
    sent?;
    Ok(answer?)
}

/// The next datagram as text that cannot confuse a terminal.
fn recv(socket: &Socket) -> Result<String, RecvError> {
    socket.set_recv_timeout(Some(PATIENCE));
    let mut buf = [0; 1500];
    let len = socket.recv(&mut buf)?;
    Ok(buf[..len].escape_ascii().to_string())
}
