//! DCCP sockets in user space: congestion-controlled datagrams.
//!
//! ```no_run
//! use dccp::{Options, Socket};
//!
//! let options = Options::new().ccid(2).service_code(*b"DMON");
//! let socket = Socket::connect("192.0.2.10:14233", 5001, &options)?;
//! socket.send(b"hello")?;
//! let mut answer = [0; 1500];
//! let len = socket.recv(&mut answer)?;
//! println!("{} bytes came back", len);
//! socket.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Socket`] is a connection, a [`Listener`] accepts them; [`Options`] are the settings of both.
//! One thread inside the program, the [`Engine`], runs the connections; it starts with the first
//! socket, and no daemon is needed. Many connections can have an engine of several threads
//! ([`EngineOptions::threads`]).
//!
//! - Datagrams are not repeated when they are lost. [`Socket::recv_fates`] tells what became of
//!   each, [`Socket::stats`] tells it in sum, exactly.
//! - A datagram waits in the send buffer until the congestion control lets it leave. A small buffer
//!   ([`Options::send_buffer`]) keeps data fresh, a larger one keeps a fast path busy.
//! - What waits can be chosen from: [`Socket::send_with`] gives datagrams priorities, deadlines and keys, and says which makes
//!   room when the buffer is full (example `choice`). Or nothing waits: [`Socket::set_datagram_source`] asks for a datagram at the
//!   moment when it may leave (example `pull`).
//! - [`Options::rate_hints`] tells an encoder how much the network takes ([`Event::Rate`], example `rate_hint`).
//! - A [`RingSocket`] lets the application change its mind until the last moment: what waits can be
//!   revised, withdrawn and put into another order (examples `push`, `revise`, `withdraw`, `deadline`,
//!   `key`).
//! - A [`RingServer`] lends connections to other processes, each a [`RingClient`] with such a ring in memory that
//!   the two share; it also listens for them, each with a [`RingListener`] (Linux).
//! - Calls wait, as long as the options allow; non-blocking sockets return `WouldBlock`, and
//!   `ready_fd` gives a descriptor for `poll` and its relatives.
//! - With the feature `tokio` tasks wait, not threads (module `tokio`).
//! - Over UDP (the default) a connection needs no privilege; over IP it speaks with the DCCP of
//!   kernels.

pub mod clock;
mod driver;
mod engine;
mod error;
mod group;
mod hash;
mod lateness;
mod links;
mod listener;
mod options;
mod patience;
mod port;
mod recv_buffer;
mod ring;
mod send_buffer;
mod sending;
mod shared;
mod signal;
mod sleepers;
mod socket;
mod source;
mod stats;
#[cfg(feature = "tokio")]
pub mod tokio;

pub use engine::{Engine, EngineOptions};
pub use error::{
    AcceptError, BindError, CloseError, ConnectError, Fault, OptionError, RecvError, SendError,
    reason_text,
};
pub use lateness::PacingError;
pub use listener::Listener;
pub use options::{DEFAULT_UDP_PORT, Options};
pub use recv_buffer::{Received, RecvBatch, RecvCounts};
#[cfg(target_os = "linux")]
#[doc(hidden)]
pub use ring::lend::message::told_again as ring_message_told_again;
#[cfg(target_os = "linux")]
pub use ring::lend::{
    RingAcceptError, RingCaller, RingClient, RingConnectError, RingError, RingLimits,
    RingListenRequest, RingListener, RingPolicy, RingRequest, RingServer, RingServerError,
};
pub use ring::{RingFate, RingSocket};
pub use send_buffer::{DatagramId, FateReport, SendCounts};
pub use sending::{SendItem, SendOptions};
pub use shared::Ready;
#[cfg(unix)]
pub use signal::ReadyFd;
pub use socket::Socket;
pub use source::{SourceReply, SourceRequest};
pub use stats::Stats;

pub use dccp_io::Encapsulation;
pub use dccp_proto as proto;
pub use dccp_proto::queue::WhenFull;
pub use dccp_proto::{CloseReason, Event, Instant, Rate, RateHint};
pub use dccp_ring as packet_ring;
