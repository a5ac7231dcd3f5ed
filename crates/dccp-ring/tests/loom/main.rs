//! Every operation of the application against a claim, in every order that loom's memory model allows. The
//! crate's modules are compiled over loom's atomics.
//!
//! Data are one byte in these models, so a datagram is either old or new. Entries are not atomic: loom
//! detects every access that the indexes do not order (see `mem.rs`).
#![cfg(target_pointer_width = "64")]

#[path = "../../src/app/mod.rs"]
pub mod app;
#[path = "../../src/bell.rs"]
pub mod bell;
#[path = "../../src/error.rs"]
pub mod error;
#[path = "../../src/index.rs"]
pub mod index;
#[path = "../../src/lane.rs"]
pub mod lane;
#[path = "../../src/layout.rs"]
pub mod layout;
mod mem;
mod models;
#[path = "../../src/recv.rs"]
pub mod recv;
#[path = "../../src/slot.rs"]
pub mod slot;
#[path = "../../src/transport.rs"]
pub mod transport;

pub use layout::Shape;
