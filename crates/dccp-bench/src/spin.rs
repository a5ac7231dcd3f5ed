//! The limit of what a timer can do: a loop that does nothing but look at the clock.

use crate::report::LatenessReport;
use anyhow::{Context, Result};
use clap::Args;
use dccp::clock;
use std::time::Duration;

#[derive(Args)]
pub(crate) struct SpinArgs {
    /// Microseconds from one moment to the next
    #[arg(long, default_value_t = 112)]
    every: u64,
    /// Seconds
    #[arg(long, default_value_t = 3.0)]
    time: f64,
}

/// Waits for one moment after the other, and says how late it sees them.
pub(crate) fn measure(args: &SpinArgs) -> Result<LatenessReport> {
    let every = Duration::from_micros(args.every.max(1));
    let mut due = clock::now();
    let end = due + Duration::from_secs_f64(args.time);
    let mut late = Vec::new();
    while due < end {
        due += every;
        let mut now = clock::now();
        while now < due {
            core::hint::spin_loop();
            now = clock::now();
        }
        late.push(now - due);
        // Moments that were missed meanwhile do not count: nor does what a pacer catches up.
        while due + every <= now {
            due += every;
        }
    }
    late.sort_unstable();
    let at = |percent: usize| {
        let rank = (late.len() * percent).div_ceil(100);
        late.get(rank.saturating_sub(1))
            .map(|late| late.as_secs_f64() * 1e6)
    };
    Ok(LatenessReport {
        samples: late.len() as u64,
        p50_us: at(50).context("no time at all")?,
        p99_us: at(99).context("no time at all")?,
    })
}
