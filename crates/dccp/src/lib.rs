//! DCCP sockets in user space: datagrams under congestion control, whose sender knows what became of each.
//!
//! ```
//! use dccp::{Event, Fate, Listener, Options, SendOptions, Socket};
//! use std::time::Duration;
//!
//! // Each end has an IP address, a UDP port and a DCCP port; 0 stands for any that is free.
//! let options = Options::new().service_code(*b"VIDE").fate_buffer(100).rate_hints(true);
//! let listener = Listener::bind("127.0.0.1:0/0", &options)?;
//! let client = Socket::connect(listener.local_addrs(), &options)?;
//! let server = listener.accept()?;
//!
//! // A frame that has not left within 40 ms does not leave at all; a key frame overtakes others.
//! let frame = SendOptions::new().lifetime(Duration::from_millis(40));
//! client.send_with(b"frame", frame)?;
//! client.send_with(b"key frame", frame.priority(1))?;
//! for _ in 0..2 {
//!     let datagram = server.recv_datagram()?;
//!     println!("{} bytes arrived", datagram.len());
//! }
//!
//! // How fast an encoder may go: as an event when it changes, or on demand.
//! while let Some(event) = client.poll_event() {
//!     if let Event::Rate(hint) = event {
//!         let wait_ms = hint.wait.as_millis();
//!         println!("{} bit/s, {wait_ms} ms in the send buffer", hint.bits_per_s);
//!     }
//! }
//! client.close()?;
//!
//! // What became of each datagram: acknowledged, lost, expired …
//! let mut fates = Vec::new();
//! client.recv_fates(&mut fates, 100);
//! assert!(fates.iter().all(|report| report.fate == Fate::Acked));
//! assert_eq!(fates.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`Socket`] is a connection, [`Listener`] waits for them, and [`DccpAddr`] is an address. With the feature `tokio` there
//!   is also `dccp::tokio::Socket`.
//! - [`Options`] are the settings of a socket, [`SendOptions`] those of a single datagram.
//! - A socket reports [`Event`], [`Fate`], [`RateHint`] and [`Stats`].
//! - [`RingSocket`] is a socket whose queued datagrams can be changed, withdrawn and reordered until they leave.
//! - [`message`] sends messages larger than a packet, each with one fate.
//! - The [`Engine`] runs the connections on threads inside the program. Most programs need only [`Engine::wait_idle`].
//! - Datagrams are not sent again when they are lost. The send buffer holds them until the congestion control lets them
//!   leave: a small one ([`Options::send_buffer`]) keeps data fresh, a larger one keeps a fast path busy.
//! - Calls wait as long as the options allow. Non-blocking sockets return `WouldBlock`, and [`Socket::ready_fd`] gives a
//!   descriptor for `poll` and `epoll`.
//! - Every error says whose [`Fault`] it is and what the `next_step` is, and converts to [`std::io::Error`].
//! - Over UDP, the default, a connection needs no privilege. [`Encapsulation::Ip`] reaches kernels that have DCCP.
//! - Examples for each of these are in `crates/dccp/examples`. `cargo run -p usrdccp --example choice` runs one; `game` and
//!   `tokio` need `--features tokio`. Their `main` is `pub(crate)` because the tests call it.
//!
//! The feature `unstable` shows the protocol core and the packet ring below this crate. Its items may change in any
//! release.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod addr;
mod budget;
pub mod clock;
mod command;
mod counts;
mod driver;
mod engine;
mod error;
mod fault;
mod filler;
mod group;
mod hash;
mod host_drops;
mod incoming;
mod inspection;
mod lateness;
pub mod limits;
mod links;
mod listener;
pub mod message;
mod names;
mod options;
mod patience;
mod port;
mod privilege;
mod recv_buffer;
mod request;
mod ring;
mod send_buffer;
mod sending;
mod settings;
mod shared;
mod signal;
mod sleepers;
mod socket;
mod source;
mod stats;
#[cfg(feature = "unstable")]
mod tap;
mod thread_mark;
#[cfg(feature = "tokio")]
pub mod tokio;
#[cfg(all(target_os = "linux", feature = "unstable"))]
mod wake_fds;
mod words;

pub use addr::{AddrError, DEFAULT_UDP_PORT, DccpAddr, ToDccpAddrs, service_port};
pub use counts::{RecvCounts, SendCounts};
pub use engine::{Engine, EngineOptions};
pub use error::{
    AcceptError, BindError, CloseError, ConnectError, EngineGone, OptionError, RecvError, SendError,
};
pub use fault::Fault;
pub use host_drops::HostDrops;
pub use incoming::{ListenerEvent, ListenerStats};
pub use lateness::PacingError;
pub use listener::Listener;
pub use options::Options;
pub use recv_buffer::{Received, RecvBatch, RecvMeta};
pub use ring::{RingFate, RingSocket};
pub use send_buffer::{DatagramId, FateReport, QueuedDatagram};
pub use sending::{SendItem, SendOptions};
pub use shared::Ready;
#[cfg(unix)]
pub use signal::ReadyFd;
pub use socket::Socket;
pub use source::{SourceReply, SourceRequest};
pub use stats::{EngineStats, Stats};
pub use words::{printable, reason_text};

#[doc(inline)]
pub use dccp_io::{Counters as TransportCounters, Encapsulation, OpenError};
#[doc(inline)]
pub use dccp_proto::cc::Snapshot as ControllerSnapshot;
#[doc(inline)]
pub use dccp_proto::cc::law::{self, LawConfig};
#[doc(inline)]
pub use dccp_proto::cc::safeudp;
#[doc(inline)]
pub use dccp_proto::conn::stats::Stats as ProtocolStats;
#[doc(inline)]
pub use dccp_proto::conn::{ConnSnapshot, State as ConnState};
#[doc(inline)]
pub use dccp_proto::queue::{Delivery, Fate, FateCounts, WhenFull};
#[doc(inline)]
pub use dccp_proto::rate_cap::RateCap;
#[doc(inline)]
pub use dccp_proto::wire::{Ecn, ResetCode, ServiceCode};
#[doc(inline)]
pub use dccp_proto::{CloseReason, Event, Instant, Rate, RateHint, Seq};

/// The sending side of a [`RingSocket`]: datagrams that can still be changed.
pub mod packet_ring {
    #[doc(inline)]
    pub use dccp_ring::{
        Batch, ChangeError, Held, Label, PushError, Pushed, Sender, Shape, ShapeError, Ticket,
        Violation,
    };
}

#[cfg(feature = "unstable")]
#[doc(hidden)]
pub use dccp_proto as proto;

/// The crates below this one. Their items may change in any release.
#[cfg(feature = "unstable")]
pub mod unstable {
    pub use dccp_io as io;
    pub use dccp_proto as proto;
    pub use dccp_ring as ring;

    #[cfg(target_os = "linux")]
    pub use crate::ring::{attach_ring, detach_ring};
    pub use crate::ring::{delivery, ring_fate};
    pub use crate::tap::{PacketTap, TappedPacket};

    /// Makes a descriptor that becomes readable by other means a [`ReadyFd`](crate::ReadyFd).
    #[cfg(unix)]
    pub fn ready_fd(fd: std::os::fd::OwnedFd) -> crate::ReadyFd {
        crate::ReadyFd { fd }
    }

    /// Permits CCIDs without a law beside [`Options::law`](crate::Options::law), because the CCIDs are chosen by others.
    pub fn permit_unused_law(options: crate::Options) -> crate::Options {
        options.permit_unused_law()
    }

    /// Lets clients use this DCCP port instead of one that is free.
    pub fn from_dccp_port(options: crate::Options, port: core::num::NonZeroU16) -> crate::Options {
        options.client_port(port)
    }

    /// Lets listeners use UDP port 6511, because this process serves the programs of a host (6773-3.8-1).
    pub fn permit_system_port(options: crate::Options) -> crate::Options {
        options.permit_system_port()
    }

    /// Waits until the handshake has ended, for at most `at_most`; `None`: it still goes on. Returns the reason if there is
    /// no connection.
    pub fn wait_opened(
        socket: &crate::Socket,
        at_most: core::time::Duration,
    ) -> Option<Result<(), crate::CloseReason>> {
        socket.wait_opened(at_most)
    }

    /// Adds an event to those that wait for the application.
    pub fn push_event(socket: &crate::Socket, event: crate::Event) {
        socket.shared().lock().push_event(event);
    }
}
