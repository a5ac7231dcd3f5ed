//! `libdccp`: the sockets of the crate `dccp` for C and C++.
//!
//! Each module is a section of `include/dccp.h`, which cbindgen makes from it: the comments of public items are the
//! documentation for C programmers. `docs/c-api.md` is the tour. The other modules are not public: `failure` turns errors
//! of Rust into numbers, `last` keeps the last one of each thread, and `memory` checks pointers of the program.
//!
//! No panic leaves a function: [`failure::value`] catches it and returns `DCCP_ERR_INTERNAL`.

#![cfg(unix)]
#![expect(
    clippy::missing_safety_doc,
    reason = "the head of the header states once which pointers are valid"
)]
#![expect(
    clippy::doc_markdown,
    reason = "the comments go into a C header and manual pages, which have no Markdown"
)]

pub mod version;

pub mod clock;

pub mod errors;

pub mod options;

pub mod address;

pub mod service;

pub mod socket;

pub mod listener;

pub mod send;

pub mod source;

pub mod receive;

pub mod fates;

pub mod events;

pub mod stats;

pub mod safeudp;

pub mod message;

pub mod engine;

#[cfg(target_os = "linux")]
pub mod ring;

#[cfg(target_os = "linux")]
pub mod ring_listener;

#[cfg(target_os = "linux")]
pub mod ring_send;

#[cfg(target_os = "linux")]
pub mod ring_memory;

mod cstring;
mod failure;
mod last;
mod memory;
mod text;

#[cfg(test)]
mod tests;
