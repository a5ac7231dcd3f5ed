//! Tests between hosts: network namespaces that a test makes and removes. They need root.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod hosts;
mod places;
mod safeudp;
#[path = "../bulk/support.rs"]
#[allow(dead_code, reason = "each test program uses a part of it")]
mod support;
mod truth;
mod verdicts;
