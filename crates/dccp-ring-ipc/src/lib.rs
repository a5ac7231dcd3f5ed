//! Rings between processes: one process runs DCCP connections and lends them, others use them. (Linux)
//!
//! A [`RingServer`] lends connections to other processes. Each gets a packet ring in memory that both share, and uses it
//! as a [`RingClient`]: pushing, changing and receiving datagrams are reads and writes of memory. The server also listens
//! for them, each with a [`RingListener`]. Its [`RingPolicy`] decides who gets what.
//!
//! ```text
//! server process                                      client process
//! RingServer ── Session ── message channel ────────── RingClient, RingListener
//!     │            └── Socket, Listener (crate dccp)
//!     └── engine ── ring in shared memory ─────────── Sender, Receiver (crate dccp-ring)
//! ```
//!
//! The server trusts no client: one that breaks the rules of its ring or of its messages loses its connection, and no
//! other client notices.

#![cfg(target_os = "linux")]

mod arrivals;
mod caller;
mod channel;
mod client;
mod error;
mod inventory;
mod lent;
mod listener;
mod listening;
#[doc(hidden)]
pub mod message;
mod request;
mod server;
mod session;
#[cfg(test)]
mod tests;
mod wait;
mod watch;

pub use caller::RingCaller;
pub use client::RingClient;
pub use error::{RingAcceptError, RingConnectError, RingError, RingServerError};
pub use inventory::{LentConnection, LentListener};
pub use listener::RingListener;
pub use request::{RingLimits, RingListenRequest, RingPolicy, RingRequest};
pub use server::RingServer;
