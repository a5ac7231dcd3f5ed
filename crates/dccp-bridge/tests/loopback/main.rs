//! Both sides of a bridge on loopback, run as programs, with applications that know UDP only.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod carry;
mod errors;
mod publish;
mod queue;
mod resume;
mod support;
#[cfg(target_os = "linux")]
mod units;
