//! Closures of the application that supply a datagram when one may leave.

use crate::send_buffer::DatagramId;
use core::fmt;
use dccp_proto::Instant;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The argument of a [datagram source](crate::Socket::set_datagram_source): a datagram may leave now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceRequest {
    /// The datagram's name in its fate report, if there is a datagram.
    pub id: DatagramId,
    /// The time.
    pub now: Instant,
    /// The most bytes that it can hold; a longer one gets the fate [`TooBig`](crate::Fate::TooBig).
    pub max_len: usize,
}

/// The reply of a [datagram source](crate::Socket::set_datagram_source).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SourceReply {
    /// This datagram is to leave.
    Datagram,
    /// There is nothing to send now; [`Socket::data_ready`](crate::Socket::data_ready) announces the next one.
    Nothing,
}

type Ask = dyn FnMut(&SourceRequest, &mut Vec<u8>) -> SourceReply + Send;

/// The application's closure, and memory for its datagrams.
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

    /// Calls the closure. `Err`: it panicked and is not called again. The panic ends here, because other sockets need the
    /// engine's thread.
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
