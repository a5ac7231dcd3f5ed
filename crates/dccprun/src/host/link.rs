//! The seam to DCCP: connections and listeners, as the rest of the host uses them. [`own`](super::own) has those of an engine
//! in this process, [`daemon`](super::daemon) those of the host's daemon.

use super::copies::Copies;
use core::net::SocketAddr;
use core::time::Duration;
use dccp::{ConnSnapshot, DccpAddr, Received as Datagram, RecvBatch, ServiceCode};
use dccprun_message::Family;
use std::sync::Arc;

/// Datagrams of one receive.
const BATCH: usize = 64;
/// How long a connection may take to end after the program has closed it.
pub(super) const LINGER: Duration = Duration::from_secs(30);

/// A DCCP connection. One thread sends and closes, another one receives.
pub(super) trait Link: Send + Sync {
    /// Waits until the handshake has ended, at most for `at_most`; `None`: it still goes on. The error is never 0.
    fn wait_opened(&self, at_most: Duration) -> Option<Result<(), i32>>;

    /// The address of this end; `None`: it is not known before the end of the handshake.
    fn local_addr(&self) -> Option<DccpAddr>;

    /// The address of the other end.
    fn peer_addr(&self) -> DccpAddr;

    /// The Service Code of an open connection.
    fn service_code(&self) -> Option<ServiceCode>;

    /// The greatest length of a datagram; `None` before the connection is open.
    fn mps(&self) -> Option<usize>;

    /// The state of the connection; `None`: there is none any more, or it is not known here.
    fn snapshot(&self) -> Option<ConnSnapshot>;

    /// Sends datagrams, and waits for room. Returns the greatest length of a datagram at that moment, if it is
    /// known.
    ///
    /// # Errors
    /// When the connection has ended. The datagrams are lost, as in the kernel.
    fn send(&self, datagrams: &mut dyn Iterator<Item = &[u8]>) -> Result<Option<usize>, Ended>;

    /// Waits for datagrams, and receives those that are there.
    ///
    /// # Errors
    /// The error number of the connection's end; 0: an ordinary end.
    fn recv(&self, received: &mut Received) -> Result<(), i32>;

    /// Sends what is queued, closes, and waits for the end. A connection that does not end in time is aborted.
    fn close(&self);

    /// Ends the connection by a Reset.
    fn abort(&self);
}

/// A DCCP listener.
pub(super) trait Accept: Send {
    /// The next connection; `None`: there was none for `at_most`.
    ///
    /// # Errors
    /// When there will be no more.
    fn accept(&mut self, at_most: Duration) -> Result<Option<Arc<dyn Link>>, Ended>;
}

/// A connection or a listener has ended.
pub(super) struct Ended;

/// Memory for received datagrams. A connection fills one of the two.
pub(super) struct Received {
    pub(super) batch: RecvBatch,
    pub(super) copies: Copies,
}

impl Received {
    pub(super) fn new() -> Self {
        Self {
            batch: RecvBatch::new(BATCH),
            copies: Copies::default(),
        }
    }

    /// The datagrams of the last receive.
    pub(super) fn datagrams(&self) -> Vec<&[u8]> {
        let batch = self.batch.iter().map(Datagram::bytes);
        batch.chain(self.copies.iter()).collect()
    }
}

/// An address as a socket of this family returns it.
pub(super) fn in_family(family: Family, addr: DccpAddr) -> SocketAddr {
    let mut place = addr.udp_addr();
    place.set_port(addr.dccp_port);
    match (family, place) {
        (Family::V6, SocketAddr::V4(v4)) => {
            SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port())
        }
        (_, place) => place,
    }
}
