//! Says hello over DCCP: `hello serve` on one host, `hello HOST` on another.

use dccp::{Listener, Options, Socket};

const PORT: u16 = 4242;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::new().service_code(*b"HELO");
    match std::env::args().nth(1).as_deref() {
        None => Err("say `serve`, or the host where that runs".into()),
        Some("serve") => {
            let listener = Listener::bind((("0.0.0.0", dccp::DEFAULT_UDP_PORT), PORT), &options)?;
            loop {
                let socket = listener.accept()?;
                println!("{} says: {}", socket.peer_addr(), recv(&socket)?);
                socket.send(b"hello yourself")?;
                socket.close()?;
            }
        }
        Some(host) => {
            let socket = Socket::connect(((host, dccp::DEFAULT_UDP_PORT), PORT), &options)?;
            socket.send(b"hello")?;
            println!("{host} answers: {}", recv(&socket)?);
            socket.close()?;
            Ok(())
        }
    }
}

/// The next datagram as text that cannot confuse a terminal.
fn recv(socket: &Socket) -> Result<String, dccp::RecvError> {
    let mut buf = [0; 1500];
    let len = socket.recv(&mut buf)?;
    Ok(buf[..len].escape_ascii().to_string())
}
