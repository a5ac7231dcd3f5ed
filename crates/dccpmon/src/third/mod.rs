//! Third-party tests: a client has one server measure to another.
//!
//! ```text
//! client ── control connection ── server A ── a test of its own ── server B
//! ```
//!
//! The client sends an [`errand::Errand`] in its request. Server A checks it, runs it in a process of its own
//! ([`process`]), and passes the lines of its JSON stream on, in
//! [pieces](crate::wire::pieces).

pub(crate) mod client;
pub(crate) mod destinations;
pub(crate) mod errand;
pub(crate) mod process;
