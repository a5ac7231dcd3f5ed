//! Asking the application for a datagram at the moment when it may leave.

use crate::send_buffer::DatagramId;
use core::fmt;
use dccp_proto::Instant;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A datagram may leave now: what the closure of [`Socket::set_datagram_source`](crate::Socket::set_datagram_source) is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceRequest {
    /// The datagram's name, if there is one; so its fate will be told.
    pub id: DatagramId,
    /// The moment.
    pub now: Instant,
    /// The most bytes that it can hold; of a longer one the fate is
    /// [`TooBig`](dccp_proto::queue::Fate::TooBig).
    pub max_len: usize,
}

/// What the closure of [`Socket::set_datagram_source`](crate::Socket::set_datagram_source) answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SourceReply {
    /// This datagram is to leave.
    Datagram,
    /// There is nothing to send now; [`Socket::data_ready`](crate::Socket::data_ready) will tell when there is.
    Nothing,
}

type Ask = dyn FnMut(&SourceRequest, &mut Vec<u8>) -> SourceReply + Send;

/// Whom to ask, and where the answer goes.
pub(crate) struct DatagramSource {
    ask: Box<Ask>,
    data: Vec<u8>,
}

impl DatagramSource {
    pub(crate) fn new(
        ask: impl FnMut(&SourceRequest, &mut Vec<u8>) -> SourceReply + Send + 'static,
    ) -> Self {
        Self {
            ask: Box::new(ask),
            data: Vec::new(),
        }
    }

    /// Asks for a datagram. `Err`: the application panicked, and will not be asked again. Its panic ends here: the
    /// thread is the engine's, and other sockets need it.
    pub(crate) fn ask(&mut self, request: &SourceRequest) -> Result<SourceReply, Panicked> {
        self.data.clear();
        let Self { ask, data } = self;
        catch_unwind(AssertUnwindSafe(|| ask(request, data))).map_err(|_| Panicked)
    }

    /// Drops the application's closure, and with it what that owns. A panic ends here, too.
    pub(crate) fn dismiss(self) {
        let _ = catch_unwind(AssertUnwindSafe(|| drop(self)));
    }

    /// The datagram that it gave last.
    pub(crate) fn data(&self) -> &[u8] {
        &self.data
    }
}

/// The application panicked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Panicked;

impl fmt::Debug for DatagramSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DatagramSource")
    }
}
