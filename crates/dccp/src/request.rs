//! Requests about one connection, and the way that they take to the engine.

use crate::inspection::Inspection;
use core::fmt;
use dccp_proto::RateHint;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

/// A socket's request to the engine about its connection.
pub(crate) enum Request {
    /// There is something to send.
    DataReady,
    /// Send what waits, then close.
    Close,
    /// Reset at once.
    Abort,
    /// The application has become slow to read, or no longer is.
    SlowReceiver(bool),
    /// Report the rate that the network takes.
    RateHint(SyncSender<Option<RateHint>>),
    /// Report state and counters.
    Inspect(SyncSender<Inspection>),
}

/// Takes a connection's requests to the engine.
#[derive(Clone)]
pub(crate) struct Calls(Arc<dyn Fn(Request) + Send + Sync>);

impl Calls {
    /// Hands requests to `taker`.
    pub(crate) fn to(taker: impl Fn(Request) + Send + Sync + 'static) -> Self {
        Self(Arc::new(taker))
    }

    pub(crate) fn call(&self, request: Request) {
        (self.0)(request);
    }
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Calls")
    }
}
