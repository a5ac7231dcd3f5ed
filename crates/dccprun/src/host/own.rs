//! Connections and listeners of an engine in this process.

use super::errors;
use super::link::{Accept, Ended, LINGER, Link, Received};
use core::time::Duration;
use dccp::{
    AcceptError, ConnSnapshot, DccpAddr, Listener, Options, RecvError, SendItem, ServiceCode,
    Socket, unstable,
};
use std::net::Shutdown;
use std::sync::Arc;

/// Begins a handshake.
///
/// # Errors
/// The error number of a handshake that cannot begin.
pub(super) fn connect(remote: DccpAddr, options: &Options) -> Result<Arc<dyn Link>, i32> {
    let options = options.clone().nonblocking(true);
    let socket = Socket::connect(remote, &options).map_err(errors::of_connect)?;
    socket.set_nonblocking(false);
    Ok(Arc::new(socket))
}

impl Link for Socket {
    fn wait_opened(&self, at_most: Duration) -> Option<Result<(), i32>> {
        let opened = unstable::wait_opened(self, at_most)?;
        Some(opened.map_err(|reason| errors::of_handshake(&reason)))
    }

    fn local_addr(&self) -> Option<DccpAddr> {
        Some(self.local_addr())
    }

    fn peer_addr(&self) -> DccpAddr {
        self.peer_addr()
    }

    fn service_code(&self) -> Option<ServiceCode> {
        Some(self.service_code())
    }

    fn mps(&self) -> Option<usize> {
        self.max_packet_size()
    }

    fn snapshot(&self) -> Option<ConnSnapshot> {
        self.snapshot().ok()
    }

    fn send(&self, datagrams: &mut dyn Iterator<Item = &[u8]>) -> Result<Option<usize>, Ended> {
        let mut items: Vec<SendItem<'_>> = datagrams.map(SendItem::new).collect();
        // A datagram can be too long for the path although it was not when the program sent it: it is lost.
        let _ = self.send_batch(&mut items);
        match self.close_reason() {
            None => Ok(self.max_packet_size()),
            Some(_) => Err(Ended),
        }
    }

    fn recv(&self, received: &mut Received) -> Result<(), i32> {
        match self.recv_batch(&mut received.batch) {
            Ok(_) => Ok(()),
            Err(RecvError::Closed(reason)) => Err(errors::of_end(&reason)),
            // This end has closed.
            Err(_) => Err(0),
        }
    }

    fn close(&self) {
        self.shutdown(Shutdown::Write);
        if self.wait_closed(LINGER).is_err() {
            self.abort();
        }
    }

    fn abort(&self) {
        self.abort();
    }
}

impl Accept for Listener {
    fn accept(&mut self, at_most: Duration) -> Result<Option<Arc<dyn Link>>, Ended> {
        match self.accept_timeout(at_most) {
            Ok(socket) => Ok(Some(Arc::new(socket))),
            Err(AcceptError::TimedOut) => Ok(None),
            Err(_) => Err(Ended),
        }
    }
}
