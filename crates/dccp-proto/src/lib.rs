//! DCCP (RFC 4340) without I/O, clock, threads or global state.
//!
//! Time, randomness, configuration and buffers are arguments. The contract of the caller: **after every batch of inputs (one receive batch, one expired timer), drain the outputs until
//! they are empty; then wait for the next packet or deadline.** Calling early is harmless; late is
//! only late.

pub mod batch;
pub mod cc;
pub mod config;
pub mod conn;
pub mod endpoint;
pub mod error;
pub mod event;
mod limiter;
pub mod message;
pub mod number;
pub mod path;
pub mod queue;
pub mod rate_cap;
pub mod seq;
pub mod time;
pub mod wire;

pub use config::Config;
pub use conn::Connection;
pub use endpoint::{ConnId, Endpoint, IcmpError, IcmpKind, KeyedHash, Queues};
pub use error::{ConnectError, ListenError};
pub use event::{CloseReason, Event, RateHint};
pub use seq::Seq;
pub use time::{Instant, Rate};
