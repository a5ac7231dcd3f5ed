//! Every operation of the application against a claim, in every order that the memory model allows
//! (as far as loom models it): the modules of the crate, over loom's atomics.
//!
//! In these models data are one byte, so that a datagram is old, new or torn, and entries are not
//! atomic: loom finds every access that the indexes do not order (see `mem.rs`).
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
