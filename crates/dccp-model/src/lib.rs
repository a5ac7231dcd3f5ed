//! Model checks: explores every behaviour of two real ends on a bad network, up to a bound, and checks properties in
//! each state.
//!
//! - [`world`]: two [`Endpoint`](dccp_proto::Endpoint)s, the packets between them, and an attacker. No protocol logic is
//!   copied: the code that runs here is the code that runs on the Internet.
//! - [`action`]: what can happen next: calls of applications, deliveries, losses, duplicates, timers, forged packets
//! - [`checks`]: properties of a state that need a look into its future
//! - [`search`]: breadth-first search over the states
//! - [`models`]: the models, each with its settings and bounds
//!
//! A state is the list of actions that led to it, with a fingerprint of 128 bits. A connection cannot be copied, so a
//! step plays the list again on two fresh endpoints, which takes some microseconds. Each state has a shortest trace,
//! and a trace repeats exactly.
//!
//! The search is our own and not the crate `stateright`. That crate would save about 100 lines, but:
//!
//! - It always compiles an HTTP server for its explorer: 12 crates that this project does not use otherwise, and no
//!   feature leaves them out.
//! - Its properties look at one state. Ours compare two states (with and without a forged packet) and continue a state
//!   with a fair network or without a peer. Its own `eventually` is documented to miss counterexamples.
//! - It keeps each waiting state whole, so a trace for each. Ours is one step, because the parent has the others.
//!
//! Each end has a clock of its own, which only its own events move. So timers and packets of the two ends mix in every
//! order. Within one end, timers expire in the order of their deadlines.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test fails by a panic"))]

pub mod action;
mod app;
pub mod checks;
pub mod end;
pub mod forge;
pub mod models;
pub mod property;
pub mod search;
pub mod world;

pub use action::Action;
pub use end::End;
pub use property::{Property, Violation};
pub use world::{Scenario, World};
