//! The report of one end of a transfer.

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
    /// Of payload that came the other way.
    pub(crate) back_bytes: u64,
    /// Lateness of paced packets; `None` without pacing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lateness: Option<LatenessReport>,
}

/// How late things were, in microseconds.
#[derive(Serialize, Debug)]
pub(crate) struct LatenessReport {
    pub(crate) samples: u64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
}

/// Counts packets and notes the times of the first and the last.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// Packets within this time after the first one do not count.
    skip: Duration,
    packets: u64,
    bytes: u64,
    first: Option<Instant>,
    last: Option<Instant>,
    /// When counting began, if not with the first packet, and the processor time until then.
    since: Option<(Instant, f64)>,
}

impl Meter {
    /// A meter that begins to count `skip` after the first packet.
    pub(crate) fn after(skip: Duration) -> Self {
        Self {
            skip,
            ..Self::default()
        }
    }

    /// Counts `packets` packets with `bytes` bytes of payload, received or sent now.
    pub(crate) fn add(&mut self, packets: u64, bytes: u64) {
        let now = clock::now();
        let first = *self.first.get_or_insert(now);
        if now - first < self.skip {
            return;
        }
        if self.since.is_none() && !self.skip.is_zero() {
            self.since = cpu_seconds().ok().map(|cpu| (now, cpu));
        }
        self.packets += packets;
        self.bytes += bytes;
        self.last = Some(now);
    }

    /// Bytes of payload that counted.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether there was anything yet.
    pub(crate) fn has_begun(&self) -> bool {
        self.first.is_some()
    }

    pub(crate) fn report(&self) -> Result<Report> {
        let begin = self.since.map(|(at, _)| at).or(self.first);
        let time = match (begin, self.last) {
            (Some(begin), Some(last)) => last - begin,
            _ => Duration::ZERO,
        };
        let before = self.since.map_or(0.0, |(_, cpu)| cpu);
        Ok(Report {
            packets: self.packets,
            bytes: self.bytes,
            seconds: time.as_secs_f64(),
            cpu_seconds: cpu_seconds()? - before,
            back_bytes: 0,
            lateness: None,
        })
    }
}

/// The time that `percent` percent of them do not exceed; zero without times.
pub(crate) fn quantile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(rank).copied().unwrap_or_default()
}

/// User and system time of this process.
fn cpu_seconds() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let cpu = usage.user_time() + usage.system_time();
    #[expect(clippy::cast_precision_loss, reason = "a few seconds in microseconds")]
    let seconds = cpu.num_microseconds() as f64 * 1e-6;
    Ok(seconds)
}

/// Reports to the parent process that the sink listens.
pub(crate) fn say_ready() {
    println!("ready");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_one_of_the_times() {
        let times = [1, 2, 4, 5].map(Duration::from_millis);
        assert_eq!(quantile(&times, 50), Duration::from_millis(2));
        assert_eq!(quantile(&times, 99), Duration::from_millis(5));
        assert_eq!(quantile(&[], 50), Duration::ZERO);
    }
}
