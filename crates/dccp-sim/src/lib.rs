//! A network in virtual time that runs real DCCP endpoints.
//!
//! A [`World`] holds nodes and the links between them, and plays events in order of their time.
//! Everything follows from the construction and one seed: the same run gives the same bits on every
//! machine. Nothing sleeps, nothing reads a clock, so hours pass in seconds.
//!
//! | file | holds |
//! |---|---|
//! | [`world`], [`net`] | the event loop · links, frames and routes, and what nodes may do with them |
//! | [`node`], [`tap`] | what can be attached: routers, and a node for hand-made packets |
//! | [`tcp`], [`udp`], [`flow`] | what a host speaks besides DCCP · what all tell of their flows |
//! | [`link`], [`rate_trace`] | rate and delay · rates that change as they were recorded |
//! | [`queue`] | drop-tail and active queue management, a file each |
//! | [`loss`], [`rule`] | faults by chance · scripted faults |
//! | [`Change`] | what changes at moments known beforehand: rates, delays, outages, routes |
//! | [`random`] | named streams of random numbers from one seed |
//! | [`trace`](World::trace), [`pcap`] | packets as text · as a capture file |
//!
//! After every event promises are checked: frames add up (sent = delivered + lost + in flight),
//! no queue exceeds its limit, time goes forward, and whatever a node promises of itself
//! ([`Node::check`]). A failure prints the seed and the command that repeats it.

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
mod trace;
mod transmitter;
pub mod udp;
pub mod world;

pub use flow::{FlowId, FlowSample};
pub use frame::{Frame, FrameId};
pub use host::{Host, SimHash};
pub use ids::{LinkId, NodeId};
pub use link::LinkConfig;
pub use net::{Context, Departure, Totals};
pub use node::{Node, Router};
pub use random::{Seed, Stream};
pub use report::Report;
pub use tap::Tap;
pub use timeline::Change;
pub use world::{Checks, Handle, World};
