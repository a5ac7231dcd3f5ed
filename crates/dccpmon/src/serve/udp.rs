//! Flows over UDP: each begins with a datagram that has the token of its test.

use super::log::complain;
use super::seats::{Join, Seats};
use crate::schema::Transport;
use crate::transport::udp::{UdpFlow, bind};
use crate::wire::packet::{Head, Kind, LEN_MAX};
use core::net::SocketAddr;
use core::time::Duration;
use dccp_cli::interrupt;
use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::sync::Arc;
use std::thread;

/// The longest wait for the next datagram, and the time between two checks whether the program ends.
const LOOK: Duration = Duration::from_millis(200);

/// A UDP port that takes the first datagrams of flows. It answers none of them.
pub(super) struct UdpListener {
    socket: UdpSocket,
    seats: Arc<Seats>,
    is_one_off: bool,
}

impl UdpListener {
    pub(super) fn new(local: SocketAddr, seats: Arc<Seats>, is_one_off: bool) -> io::Result<Self> {
        // A second program must not share the port.
        drop(bind(local, false)?);
        let socket = bind(local, true)?;
        socket.set_read_timeout(Some(LOOK))?;
        Ok(Self {
            socket,
            seats,
            is_one_off,
        })
    }

    /// Serves until the program is to end.
    pub(super) fn run(&self) {
        let mut memory = vec![0; LEN_MAX];
        while !(interrupt::is_pressed() || self.is_one_off && self.seats.has_served()) {
            let (length, peer) = match self.socket.recv_from(&mut memory) {
                Ok(received) => received,
                Err(e) => {
                    thread::sleep(pause_after(e.kind()));
                    continue;
                }
            };
            let head = memory.get(..length).and_then(Head::read);
            if let Some(head) = head.filter(|h| h.kind == Kind::Join) {
                self.join(&head, peer);
            }
        }
    }

    fn join(&self, head: &Head, peer: SocketAddr) {
        let join = Join {
            token: head.token,
            flow: head.flow,
            transport: Transport::Udp,
            client: peer.ip(),
        };
        let Some(local) = self.seats.expects(&join) else {
            return;
        };
        match UdpFlow::accept(&self.socket, local, peer) {
            Ok(flow) => self.seats.join(&join, Arc::new(flow)),
            Err(e) => complain(&format!("no socket for a flow over UDP: {e}")),
        }
    }
}

/// The pause after an error of receiving. There is none if nothing arrived in time, or if the error is that of an
/// earlier datagram, because the next call waits then. Other errors may stay.
fn pause_after(error: ErrorKind) -> Duration {
    match error {
        ErrorKind::WouldBlock
        | ErrorKind::TimedOut
        | ErrorKind::Interrupted
        | ErrorKind::ConnectionRefused
        | ErrorKind::ConnectionReset => Duration::ZERO,
        _ => LOOK,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_that_stays_does_not_take_a_core() {
        assert_eq!(pause_after(ErrorKind::NetworkDown), LOOK);
        // A descriptor that is no more: the standard library has no name for it.
        let gone = io::Error::from_raw_os_error(9);
        assert_eq!(pause_after(gone.kind()), LOOK);
        for of_a_datagram in [ErrorKind::WouldBlock, ErrorKind::ConnectionRefused] {
            assert_eq!(pause_after(of_a_datagram), Duration::ZERO);
        }
    }
}
