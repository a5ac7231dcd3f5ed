//! The real program against itself.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod acker;
mod crowd;
mod delays;
mod ends;
mod metrics;
mod network;
mod one_connection;
mod runs;
mod safeudp;
mod server;
mod shapes;
#[cfg(target_os = "linux")]
mod stamps;
mod support;
mod terms;
mod third;
mod transports;
mod truth;
mod truth_udp;
mod verdicts;
