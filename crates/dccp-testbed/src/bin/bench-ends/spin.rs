//! The precision limit of a timer: a loop that only reads the clock.

use crate::report::{LatenessReport, quantile};
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
pub(crate) fn measure(args: &SpinArgs) -> LatenessReport {
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
    let us = |percent| quantile(&late, percent).as_secs_f64() * 1e6;
    LatenessReport {
        samples: late.len() as u64,
        p50_us: us(50),
        p99_us: us(99),
    }
}
