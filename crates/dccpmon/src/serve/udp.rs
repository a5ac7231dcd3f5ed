//! Flows over UDP: each begins with a datagram that has the token of its test.

use super::seats::Seats;
use crate::transport::udp::{UdpFlow, bind};
use crate::wire::packet::{Head, Kind, LEN_MAX};
use core::net::SocketAddr;
use core::time::Duration;
use dccp::limits::source_of;
use dccp_cli::interrupt;
use std::io;
use std::net::UdpSocket;
use std::sync::Arc;

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
            // An error is that of an earlier datagram, or there is none.
            let Ok((length, peer)) = self.socket.recv_from(&mut memory) else {
                continue;
            };
            let head = memory.get(..length).and_then(Head::read);
            if let Some(head) = head.filter(|h| h.kind == Kind::Join) {
                self.join(&head, peer);
            }
        }
    }

    fn join(&self, head: &Head, peer: SocketAddr) {
        if !self.seats.expects(head.token, source_of(peer.ip())) {
            return;
        }
        match UdpFlow::accept(&self.socket, peer) {
            Ok(flow) => self.seats.join(head.token, head.flow, Arc::new(flow)),
            Err(e) => eprintln!("dccpmon: no socket for a flow over UDP: {e}"),
        }
    }
}
