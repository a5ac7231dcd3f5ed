//! Programs that know UDP only, between two hosts: network namespaces with a link of 50 Mbit/s. They need root.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod encoder;
mod hosts;
mod iperf;
mod over_ip;
#[path = "../loopback/support.rs"]
#[allow(dead_code, reason = "each test program uses a part of it")]
mod support;
mod video;
