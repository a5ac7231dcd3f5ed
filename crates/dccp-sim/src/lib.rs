//! A network in virtual time that runs real DCCP endpoints.
//!
//! A [`World`] holds nodes and the links between them, and runs events in the order of their time. Construction and
//! seed determine a run: it gives the same bits on every machine. The simulator never sleeps and reads no clock, so
//! hours pass in seconds.
//!
//! # Two hosts and a link
//! ```
//! use core::time::Duration;
//! use dccp_proto::Rate;
//! use dccp_sim::pair::{End, Pair, Setup};
//! use dccp_sim::queue::{Limit, QueueConfig};
//! use dccp_sim::source::App;
//!
//! // 10 Mbit/s, 20 ms and a queue of 50 packets in each direction.
//! let setup = Setup::default().links(|link| {
//!     link.rate = Some(Rate::from_bytes_per_s(1.25e6));
//!     link.delay = Duration::from_millis(20);
//!     link.queue = QueueConfig::drop_tail(Limit::Packets(50));
//! });
//! // The client sends 2000 datagrams of 1000 bytes and closes. The server reads them.
//! let mut pair = Pair::start(setup, App::bulk(1000, 2000), App::default());
//! assert!(pair.run_until_closed(Duration::from_secs(60)));
//!
//! let server = pair.report(End::Server);
//! let link = pair.world.link_stats(pair.there);
//! println!("received {} of 2000 datagrams", server.received);
//! println!("at most {} packets waited", link.queue_packets_max);
//! assert!(server.received > 1900);
//! assert_eq!(pair.world.totals().in_flight, 0);
//! ```
//! [`Pair`](pair::Pair) also records a trace of all packets, and can run a model of the Linux kernel at either end.
//! For other topologies add nodes ([`Host`], [`Router`], [`Tap`]) to a [`World`], connect them, and run it with
//! [`run_until`](World::run_until).
//!
//! # Modules
//! - [`world`] is the event loop. [`net`] holds links, frames and routes, and the nodes' access to them.
//! - [`node`] and [`tap`] are what links connect: routers, and a node for hand-made packets.
//! - [`host`], [`tcp`], [`udp`] and [`linux`] are hosts and their transports. [`flow`] holds their totals.
//! - [`source`] and [`machine`] are applications, and the processor, interface and clock of a host.
//! - [`link`] and [`rate_trace`] are rate and delay, fixed or recorded.
//! - [`queue`] holds drop-tail and active queue management, a file each.
//! - [`loss`] holds random faults, [`rule`] scripted ones. [`Change`]s alter a network at given times.
//! - [`random`] derives named streams of random numbers from one seed.
//! - [`World::trace`] gives packets as text, [`pcap`] writes capture files.
//!
//! # Invariants
//! After every event, or as [`Checks`] sets it, the simulator checks its invariants. Frames add up: sent = delivered +
//! lost + in flight. No queue exceeds its limit, and time goes forward. Each node checks itself ([`Node::check`]).
//! A failure prints the seed and the command that repeats the run.

mod check;
pub mod flow;
pub mod frame;
pub mod host;
mod ids;
pub mod link;
pub mod linux;
pub mod loss;
pub mod machine;
pub mod net;
pub mod node;
pub mod pair;
mod parcel;
pub mod pcap;
pub mod queue;
pub mod random;
pub mod rate_trace;
mod report;
mod routes;
pub mod rule;
mod schedule;
pub mod setting;
pub mod source;
pub mod tap;
pub mod tcp;
#[cfg(test)]
mod testing;
mod timeline;
mod totals;
mod trace;
mod transmitter;
pub mod udp;
pub mod world;

pub use flow::{FlowId, FlowSample};
pub use frame::{Frame, FrameId};
pub use host::{Host, SimHash};
pub use ids::{LinkId, NodeId};
pub use link::LinkConfig;
pub use net::{Context, Departure};
pub use node::{Node, Router};
pub use random::{Seed, Stream};
pub use report::Report;
pub use tap::Tap;
pub use timeline::Change;
pub use totals::Totals;
pub use world::{Checks, Handle, World};
