//! Runs a server and its clients on one thread: an event loop around `poll` and `ready_fd`. (Unix)
//!
//! The descriptor of a socket is readable while a datagram, an event or a fate waits. Each turn of the loop therefore
//! takes all that wait: otherwise `poll` returns at once again.

use dccp::{AcceptError, Event, Listener, Options, ReadyFd, RecvError, Socket};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::error::Error;
use std::net::Shutdown;

const CLIENTS: u32 = 3;
/// Questions of each client.
const QUESTIONS: u32 = 10;
/// `poll` returns after this time if nothing happens.
const PATIENCE: Timespec = Timespec {
    tv_sec: 10,
    tv_nsec: 0,
};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::new().nonblocking(true);
    let listener = Listener::bind("127.0.0.1:0/0", &options)?;
    let arrivals = listener.ready_fd()?;
    let mut connections = Vec::new();
    for _ in 0..CLIENTS {
        // The handshake goes on in the background: `Event::Connected` reports its end.
        let socket = Socket::connect(listener.local_addrs(), &options)?;
        connections.push(Connection::new(socket, Role::Client)?);
    }

    let mut answers = 0;
    while !connections.is_empty() {
        let mut readable = wait(&arrivals, &connections)?.into_iter();
        let has_arrival = readable.next().unwrap_or(false);
        for (connection, _) in connections.iter_mut().zip(readable).filter(|(_, r)| *r) {
            connection.on_readable()?;
        }
        let ended = connections.extract_if(.., |connection| connection.is_ended);
        answers += ended.map(|connection| connection.answers).sum::<u32>();
        if has_arrival {
            accept_all(&listener, &mut connections)?;
        }
    }
    println!("{CLIENTS} clients got {answers} answers");
    assert_eq!(answers, CLIENTS * QUESTIONS);
    Ok(())
}

/// Waits until a descriptor is readable. Returns for the listener, then for each connection, whether its own is.
fn wait(arrivals: &ReadyFd, connections: &[Connection]) -> Result<Vec<bool>, Box<dyn Error>> {
    let watched = core::iter::once(arrivals).chain(connections.iter().map(|c| &c.ready_fd));
    let mut fds: Vec<_> = watched.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    if poll(&mut fds, Some(&PATIENCE))? == 0 {
        return Err("nothing happened for 10 s".into());
    }
    Ok(fds.iter().map(|fd| !fd.revents().is_empty()).collect())
}

/// Accepts all connections that wait.
fn accept_all(
    listener: &Listener,
    connections: &mut Vec<Connection>,
) -> Result<(), Box<dyn Error>> {
    loop {
        match listener.accept() {
            Ok(socket) => connections.push(Connection::new(socket, Role::Server)?),
            Err(AcceptError::WouldBlock) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Asks questions, one after the other, and closes.
    Client,
    /// Sends each question back.
    Server,
}

struct Connection {
    socket: Socket,
    ready_fd: ReadyFd,
    role: Role,
    answers: u32,
    is_ended: bool,
}

impl Connection {
    fn new(socket: Socket, role: Role) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            ready_fd: socket.ready_fd()?,
            socket,
            role,
            answers: 0,
            is_ended: false,
        })
    }

    /// Takes all events and datagrams that wait.
    fn on_readable(&mut self) -> Result<(), Box<dyn Error>> {
        while let Some(event) = self.socket.poll_event() {
            if event == Event::Connected && self.role == Role::Client {
                self.socket.send(b"question 0")?;
            }
        }
        let mut buf = [0; 100];
        loop {
            match self.socket.recv(&mut buf) {
                Ok(len) => self.on_datagram(&buf[..len])?,
                Err(RecvError::WouldBlock) => return Ok(()),
                Err(RecvError::Closed(_)) => {
                    self.is_ended = true;
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn on_datagram(&mut self, datagram: &[u8]) -> Result<(), Box<dyn Error>> {
        if self.role == Role::Server {
            self.socket.send(datagram)?;
            return Ok(());
        }
        self.answers += 1;
        if self.answers < QUESTIONS {
            let question = format!("question {}", self.answers);
            self.socket.send(question.as_bytes())?;
        } else {
            // `close` would wait, and with it all other connections.
            self.socket.shutdown(Shutdown::Write);
        }
        Ok(())
    }
}
