//! What an end of a transfer has seen.

use anyhow::Result;
use dccp::{Instant, clock};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::Serialize;
use std::time::Duration;

/// The sum of a run at one end.
#[derive(Serialize, Debug)]
pub(crate) struct Report {
    packets: u64,
    /// Of payload.
    bytes: u64,
    /// From the first to the last packet.
    seconds: f64,
    /// User and system time of the whole process.
    cpu_seconds: f64,
}

/// Counts packets, and when the first and the last of them came.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    packets: u64,
    bytes: u64,
    first: Option<Instant>,
    last: Option<Instant>,
}

impl Meter {
    /// Some packets, with so many bytes of payload together, came or left just now.
    pub(crate) fn add(&mut self, packets: u64, bytes: u64) {
        let now = clock::now();
        self.packets += packets;
        self.bytes += bytes;
        self.first.get_or_insert(now);
        self.last = Some(now);
    }

    /// Whether there was anything yet.
    pub(crate) fn has_begun(&self) -> bool {
        self.first.is_some()
    }

    pub(crate) fn report(&self) -> Result<Report> {
        let time = match (self.first, self.last) {
            (Some(first), Some(last)) => last - first,
            _ => Duration::ZERO,
        };
        let usage = getrusage(UsageWho::RUSAGE_SELF)?;
        let cpu = usage.user_time() + usage.system_time();
        #[expect(clippy::cast_precision_loss, reason = "a few seconds in microseconds")]
        let cpu_seconds = cpu.num_microseconds() as f64 * 1e-6;
        Ok(Report {
            packets: self.packets,
            bytes: self.bytes,
            seconds: time.as_secs_f64(),
            cpu_seconds,
        })
    }
}

/// Tells who started a sink that it listens.
pub(crate) fn say_ready() {
    println!("ready");
}
