//! Tests that need root, or at least a network namespace of their own: raw sockets, interfaces with
//! small MTUs, neighbours that do not answer, forged ICMP.
//!
//! Each test runs itself again in a process inside a new namespace, which vanishes with it.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod icmp;
mod limits;
mod raw;
mod sharing;
mod support;
mod udp;
