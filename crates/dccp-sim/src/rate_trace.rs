//! Rates that change as they were recorded: traces in mahimahi's format. [`model`] draws such traces at random.
//!
//! A trace is a text of whole milliseconds, one a line, that never decrease. Each is an opportunity
//! to send 1504 bytes. After the last one it starts over, at the time of the last one.

pub mod model;

use core::fmt;
use core::time::Duration;
use dccp_proto::Instant;
use std::sync::Arc;

/// Moments at which packets may leave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RateTrace {
    /// Milliseconds, never decreasing; the last is above zero.
    opportunities: Arc<[u32]>,
}

/// An error in a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RateTraceError {
    /// The line number, counted from 1.
    pub line: usize,
    what: String,
    next_step: &'static str,
}

impl fmt::Display for RateTraceError {
    /// Names the error, and on a second line the remedy.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "line {} of the rate trace: {}", self.line, self.what)?;
        f.write_str(self.next_step)
    }
}

impl core::error::Error for RateTraceError {}

impl RateTrace {
    /// Bytes that may leave in one opportunity: the largest packet of mahimahi's devices.
    pub const OPPORTUNITY_BYTES: usize = 1504;

    /// The most opportunities that a trace may have: 10 minutes at 200 Mbit/s.
    pub const LONGEST: usize = 10_000_000;

    /// Reads a trace.
    ///
    /// # Errors
    /// The first line that is none, and what to do about it.
    pub fn parse(text: &str) -> Result<Self, RateTraceError> {
        let mut opportunities: Vec<u32> = Vec::new();
        let mut number = 0;
        for line in text.lines() {
            number += 1;
            let error = |what, next_step| {
                Err(RateTraceError {
                    line: number,
                    what,
                    next_step,
                })
            };
            let Ok(ms) = line.trim().parse() else {
                let shown: String = line.chars().take(40).collect();
                let what = format!("`{shown}` is no number of milliseconds");
                return error(what, "write one whole number a line, below 4294967296");
            };
            if opportunities.last().is_some_and(|&last| ms < last) {
                let what = format!("{ms} ms comes after a later moment");
                return error(what, "sort the lines by time");
            }
            if opportunities.len() == Self::LONGEST {
                let what = format!("more than {} opportunities", Self::LONGEST);
                return error(what, "shorten the trace: it is repeated");
            }
            opportunities.push(ms);
        }
        if opportunities.last().is_none_or(|&last| last == 0) {
            return Err(RateTraceError {
                line: number.max(1),
                what: "a trace that takes no time".to_owned(),
                next_step: "end it with a moment above 0: that is when it is repeated",
            });
        }
        Ok(Self::new(opportunities))
    }

    /// A trace with these opportunities in ms. The last is above 0.
    fn new(opportunities: Vec<u32>) -> Self {
        debug_assert!(opportunities.is_sorted() && opportunities.last() > Some(&0));
        Self {
            opportunities: opportunities.into(),
        }
    }

    /// The trace in mahimahi's format.
    pub fn to_text(&self) -> String {
        let lines = self.opportunities.iter().map(|ms| format!("{ms}\n"));
        lines.collect()
    }

    /// The rates of consecutive intervals in bytes per second, until the trace is repeated. The last interval can be
    /// incomplete.
    pub fn rates(&self, interval: Duration) -> Vec<f64> {
        let interval_ms = interval.as_millis().max(1);
        let mut counts: Vec<u32> = Vec::new();
        for &ms in &*self.opportunities {
            // An opportunity at the end of an interval belongs to it.
            let n = u128::from(ms.saturating_sub(1)) / interval_ms;
            let n = usize::try_from(n).unwrap_or(usize::MAX);
            if counts.len() <= n {
                counts.resize(n + 1, 0);
            }
            counts[n] += 1;
        }
        #[expect(clippy::cast_precision_loss, reason = "1504 and milliseconds")]
        let unit = Self::OPPORTUNITY_BYTES as f64 / (interval_ms as f64 / 1e3);
        counts.into_iter().map(|n| f64::from(n) * unit).collect()
    }

    /// The mean rate in bytes per second.
    #[expect(clippy::cast_precision_loss, reason = "ten million opportunities")]
    pub fn bytes_per_s(&self) -> f64 {
        let bytes = self.opportunities.len() * Self::OPPORTUNITY_BYTES;
        bytes as f64 / (self.period_ms() as f64 / 1e3)
    }

    /// When opportunity number `n` is, counted from 0.
    pub(crate) fn at(&self, n: u64) -> Instant {
        let len = self.opportunities.len() as u64;
        let place = usize::try_from(n % len).unwrap_or(0);
        let ms = n / len * self.period_ms() + u64::from(self.opportunities[place]);
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// The number of the first opportunity after `now`.
    pub(crate) fn first_after(&self, now: Instant) -> u64 {
        let ms = now.as_nanos() / 1_000_000;
        let (round, within) = (ms / self.period_ms(), ms % self.period_ms());
        let earlier = self
            .opportunities
            .partition_point(|&o| u64::from(o) <= within);
        round * self.opportunities.len() as u64 + earlier as u64
    }

    fn period_ms(&self) -> u64 {
        self.opportunities.last().map_or(1, |&ms| u64::from(ms))
    }
}

#[cfg(test)]
mod tests;
