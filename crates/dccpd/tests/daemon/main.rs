//! The daemon as a program, with programs that use it, each test in a network of its own.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod control;
mod counters;
mod crash;
mod docs;
mod hostile;
mod manager;
mod many;
mod policy;
mod support;
mod units;
