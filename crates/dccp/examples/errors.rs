//! Provokes the errors that programs meet most, and prints for each the next step and the reaction of a program.
//!
//! `Display` says what happened, `next_step` says what to do, and `fault` says who can do it. Errors without a fault,
//! such as a full buffer, are part of normal work.

use dccp::{
    CloseReason, ConnectError, Fault, Listener, Options, RecvError, SendError, SendOptions, Socket,
    WhenFull,
};
use std::error::Error;
use std::fmt::Display;
use std::net::UdpSocket;
use std::time::Duration;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::new().service_code(*b"ECHO");
    let listener = Listener::bind("127.0.0.1:0/0", &options)?;
    connecting(&listener, &options)?;
    let socket = Socket::connect(listener.local_addrs(), &options)?;
    let server = listener.accept()?;
    sending(&socket)?;
    receiving(&socket, &server)
}

/// `connect` does not try again by itself: the program decides by the kind of the error.
fn connecting(listener: &Listener, options: &Options) -> Result<(), Box<dyn Error>> {
    let address = listener.local_addrs()[0];

    let wrong_option = Socket::connect(address, &options.clone().mtu(100));
    let error = wrong_option.err().ok_or("100 bytes are no MTU")?;
    print(&error, error.next_step(), "ends: only its author can help");
    assert_eq!(error.fault(), Fault::Caller);

    let wrong_service = Socket::connect(address, &Options::new().service_code(*b"CHAT"));
    let error = wrong_service.err().ok_or("nothing serves CHAT")?;
    print(&error, error.next_step(), "tells the user");
    assert!(matches!(error, ConnectError::BadServiceCode { .. }));

    let mut wrong_port = address;
    wrong_port.dccp_port = address.dccp_port.checked_add(1).unwrap_or(1);
    let nothing_listens = Socket::connect(wrong_port, options);
    let error = nothing_listens.err().ok_or("nothing listens there")?;
    print(&error, error.next_step(), "tries again in a minute");
    assert!(matches!(error, ConnectError::Refused { .. }));

    // A UDP socket that nothing reads: the packets arrive, but no DCCP answers.
    let silent = UdpSocket::bind("127.0.0.1:0")?;
    let hasty = options.clone().connect_timeout(Duration::from_millis(200));
    let no_answer = Socket::connect((silent.local_addr()?, 5001), &hasty);
    let error = no_answer.err().ok_or("nothing answers there")?;
    print(&error, error.next_step(), "tries another server");
    assert!(matches!(error, ConnectError::NoAnswer { .. }));
    Ok(())
}

fn sending(socket: &Socket) -> Result<(), Box<dyn Error>> {
    let error = socket
        .send(&vec![0; 60_000])
        .err()
        .ok_or("60,000 bytes fit")?;
    print(&error, error.next_step(), "sends smaller datagrams");
    assert!(matches!(error, SendError::TooBig { .. }));

    // By default `send` waits for room. Here each datagram says that it does not.
    let at_once = SendOptions::new().when_full(WhenFull::Error);
    let error = loop {
        if let Err(error) = socket.send_with(&[0; 1000], at_once) {
            break error;
        }
    };
    print(&error, error.next_step(), "skips this datagram");
    assert_eq!((&error, error.fault()), (&SendError::WouldBlock, None));
    Ok(())
}

fn receiving(socket: &Socket, server: &Socket) -> Result<(), Box<dyn Error>> {
    let mut buf = [0; 100];
    socket.set_recv_timeout(Some(Duration::from_millis(50)));
    let error = socket.recv(&mut buf).err().ok_or("nothing was sent")?;
    print(&error, error.next_step(), "does other work");
    assert_eq!((&error, error.fault()), (&RecvError::TimedOut, None));

    server.close()?;
    let error = socket.recv(&mut buf).err().ok_or("nothing was sent")?;
    print(&error, error.next_step(), "ends, because all has been said");
    assert_eq!(error, RecvError::Closed(CloseReason::Peer));
    Ok(())
}

fn print(error: &dyn Display, next_step: &str, reaction: &str) {
    println!("error: {error}");
    println!("next:  {next_step}");
    println!("       (a program {reaction})\n");
}
