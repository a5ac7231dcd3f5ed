//! Flows over TCP: each begins with a block that has the token of its test.

use super::seats::{Join, Seats};
use crate::limits::{ANSWER_MAX, GUESTS_MAX};
use crate::schema::Transport;
use crate::transport::tcp::TcpFlow;
use crate::wire::packet::{Head, Kind, LEN_MAX, LEN_MIN};
use core::net::SocketAddr;
use core::time::Duration;
use dccp::limits::source_of;
use dccp::{Instant, clock};
use dccp_cli::interrupt;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// The pause between two looks at the port without connections that wait, and with some.
const LOOK: Duration = Duration::from_millis(50);
const LOOK_BUSY: Duration = Duration::from_millis(5);

/// A TCP port that takes connections, and those that have sent no head yet.
pub(super) struct TcpPort {
    listener: TcpListener,
    seats: Arc<Seats>,
    is_one_off: bool,
    guests: Vec<Guest>,
}

struct Guest {
    stream: TcpStream,
    peer: SocketAddr,
    until: Instant,
}

impl TcpPort {
    pub(super) fn new(local: SocketAddr, seats: Arc<Seats>, is_one_off: bool) -> io::Result<Self> {
        let listener = crate::transport::tcp::listen(local)?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            seats,
            is_one_off,
            guests: Vec::new(),
        })
    }

    /// Serves until the program is to end.
    pub(super) fn run(mut self) {
        while !(interrupt::is_pressed() || self.is_one_off && self.seats.has_served()) {
            self.look_at_all();
            std::thread::sleep(if self.guests.is_empty() {
                LOOK
            } else {
                LOOK_BUSY
            });
        }
    }

    /// Accepts new connections, and looks at those that wait.
    fn look_at_all(&mut self) {
        self.admit();
        let now = clock::now();
        let guests = core::mem::take(&mut self.guests);
        let waiting = guests.into_iter().filter_map(|guest| self.look(guest, now));
        self.guests = waiting.collect();
    }

    /// Accepts the connections that wait, but only of hosts with a running test. The oldest guest makes room for a
    /// new one.
    fn admit(&mut self) {
        for _ in 0..GUESTS_MAX {
            let Ok((stream, peer)) = self.listener.accept() else {
                return;
            };
            let is_known = self.seats.has_test_of(source_of(peer.ip()));
            if !is_known || stream.set_nonblocking(true).is_err() {
                continue;
            }
            if self.guests.len() >= GUESTS_MAX {
                self.guests.remove(0);
            }
            let until = clock::now() + ANSWER_MAX;
            self.guests.push(Guest {
                stream,
                peer,
                until,
            });
        }
    }

    /// Gives a connection whose head has arrived to its test. Returns one that has to wait.
    fn look(&self, guest: Guest, now: Instant) -> Option<Guest> {
        let mut head = [0; LEN_MIN];
        match guest.stream.peek(&mut head) {
            Ok(0) => return None,
            Ok(length) if length < LEN_MIN => return (guest.until > now).then_some(guest),
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                return (guest.until > now).then_some(guest);
            }
            Err(_) => return None,
        }
        let head = Head::read(&head).filter(|h| h.kind == Kind::Join)?;
        let length = usize::try_from(head.number).ok();
        let length = length.filter(|n| (LEN_MIN..=LEN_MAX).contains(n))?;
        let join = Join {
            token: head.token,
            flow: head.flow,
            transport: Transport::Tcp,
            client: guest.peer.ip(),
        };
        if self.seats.expects(&join).is_some()
            && let Ok(flow) = TcpFlow::new(guest.stream, length)
        {
            self.seats.join(&join, Arc::new(flow));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::seats::{Hosts, Seat};
    use super::*;
    use std::io::{Read as _, Write as _};

    /// A seat for a test over TCP of this host.
    fn seat(seats: &Arc<Seats>, at: SocketAddr) -> Seat {
        let hosts = Hosts::new(at.ip(), at.ip());
        seats.take(hosts, Transport::Tcp).ok().unwrap()
    }

    fn port() -> (Arc<Seats>, TcpPort, SocketAddr) {
        let seats = Arc::new(Seats::new(2));
        let port = TcpPort::new(([127, 0, 0, 1], 0).into(), seats.clone(), false).unwrap();
        let at = port.listener.local_addr().unwrap();
        (seats, port, at)
    }

    fn join(token: u64, length: u64) -> [u8; 100] {
        let head = Head {
            kind: Kind::Join,
            token,
            flow: 3,
            wants_echo: false,
            number: length,
            sent_ns: 0,
        };
        let mut block = [0; 100];
        head.write(&mut block);
        block
    }

    /// Looks at the port until no connection waits.
    fn finish(port: &mut TcpPort) {
        let until = clock::now() + ANSWER_MAX;
        while !port.guests.is_empty() {
            assert!(clock::now() < until, "a connection waits");
            port.look_at_all();
        }
    }

    #[test]
    fn connection_of_a_host_without_a_test_is_dropped() {
        let (_seats, mut port, at) = port();
        let mut stranger = TcpStream::connect(at).unwrap();
        port.look_at_all();
        assert!(port.guests.is_empty());
        stranger.set_read_timeout(Some(ANSWER_MAX)).unwrap();
        assert_eq!(stranger.read(&mut [0]).unwrap(), 0, "it is closed");
    }

    #[test]
    fn connection_with_the_token_joins_its_test() {
        let (seats, mut port, at) = port();
        let seat = seat(&seats, at);
        let mut client = TcpStream::connect(at).unwrap();
        port.look_at_all();
        assert_eq!(port.guests.len(), 1, "it has sent nothing");
        client.write_all(&join(seat.token, 100)).unwrap();
        finish(&mut port);
        let (flow, _) = seat.joined.try_recv().unwrap();
        assert_eq!(flow, 3);
    }

    #[test]
    fn connection_with_a_wrong_head_is_dropped() {
        let (seats, mut port, at) = port();
        let seat = seat(&seats, at);
        let token = seat.token;
        let longest = LEN_MAX as u64;
        for wrong in [
            join(token ^ 1, 100),
            join(token, 0),
            join(token, longest + 1),
            [7; 100],
        ] {
            let mut client = TcpStream::connect(at).unwrap();
            client.write_all(&wrong).unwrap();
            port.look_at_all();
            finish(&mut port);
            assert!(seat.joined.try_recv().is_err());
        }
    }
}
