//! Rings between processes: one runs the connections and lends them, the other one uses them.

pub(crate) mod bells;
pub(crate) mod channel;
mod client;
mod error;
mod lent;
mod listener;
mod listening;
pub(crate) mod message;
mod request;
mod server;
mod session;
#[cfg(test)]
mod tests;

pub use client::RingClient;
pub use error::{RingAcceptError, RingConnectError, RingError, RingServerError};
pub use listener::RingListener;
pub use request::{RingCaller, RingLimits, RingListenRequest, RingPolicy, RingRequest};
pub use server::RingServer;
