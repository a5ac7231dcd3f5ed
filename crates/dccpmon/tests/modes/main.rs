//! Subcommands beside `bulk` and `serve`, run as programs.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

#[cfg(target_os = "linux")]
mod activation;
#[cfg(target_os = "linux")]
mod bare;
mod capture;
mod dashboard;
mod doctor;
mod dry_run;
#[cfg(target_os = "linux")]
mod first_minute;
mod link;
mod media;
mod monitor;
mod open;
mod pages;
mod ping;
mod queue;
mod rr;
#[path = "../bulk/support.rs"]
#[allow(dead_code, reason = "each test program uses a part of it")]
mod support;
mod sweep;
#[cfg(target_os = "linux")]
mod systemd;
#[cfg(unix)]
mod udpmon;
