//! The transmitter sends packets one after the other: at a rate, or at the times of a trace.

use crate::rate_trace::RateTrace;
use core::time::Duration;
use dccp_proto::{Instant, Rate};

/// Units of [`per_byte`] in a nanosecond.
pub(crate) const FRACTIONS: u128 = 1 << 32;

/// Time per byte in units of 2^-32 ns; 0: no time at all.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate below one byte per second saturates at one packet in hours"
)]
pub(crate) fn per_byte(rate: Option<Rate>) -> u64 {
    const NS_PER_S: f64 = 1e9 * 4_294_967_296.0;
    rate.map_or(0, |r| (NS_PER_S / r.bytes_per_s()).round() as u64)
}

/// A transmitter, which works on one packet at a time.
#[derive(Debug)]
pub(crate) struct Transmitter {
    pace: Pace,
    free_at: Instant,
}

#[derive(Debug)]
enum Pace {
    /// Turns bytes into time without losing fractions of a nanosecond between packets.
    Steady {
        per_byte: u64,
        /// How far beyond `free_at` the last transmission really ended, in units of 2^-32 ns.
        fraction: u64,
    },
    /// Sends in the opportunities of a trace.
    Trace {
        trace: RateTrace,
        /// The opportunity at `free_at`, and how many of its bytes are left.
        opportunity: u64,
        left: usize,
    },
}

impl Transmitter {
    pub(crate) fn new(rate: Option<Rate>, trace: Option<RateTrace>) -> Self {
        let steady = Pace::Steady {
            per_byte: per_byte(rate),
            fraction: 0,
        };
        let (pace, free_at) = match trace {
            None => (steady, Instant::ZERO),
            Some(trace) => {
                let first = trace.at(0);
                let left = RateTrace::OPPORTUNITY_BYTES;
                let opportunity = 0;
                (
                    Pace::Trace {
                        trace,
                        opportunity,
                        left,
                    },
                    first,
                )
            }
        };
        Self { pace, free_at }
    }

    /// Whether it works at a rate, not by a trace.
    pub(crate) const fn is_steady(&self) -> bool {
        matches!(self.pace, Pace::Steady { .. })
    }

    /// When it can start the next waiting packet.
    pub(crate) const fn free_at(&self) -> Instant {
        self.free_at
    }

    /// Whether it can start a packet now.
    pub(crate) fn is_free(&self, now: Instant) -> bool {
        self.free_at <= now && self.is_steady()
    }

    /// It has been idle until now. The rest of an opportunity of a trace is lost.
    pub(crate) fn rest(&mut self, now: Instant) {
        match &mut self.pace {
            Pace::Steady { fraction, .. } if self.free_at < now => {
                *fraction = 0;
                self.free_at = now;
            }
            Pace::Trace {
                trace,
                opportunity,
                left,
            } if self.free_at <= now => {
                *opportunity = trace.first_after(now);
                *left = RateTrace::OPPORTUNITY_BYTES;
                self.free_at = trace.at(*opportunity);
            }
            _ => {}
        }
    }

    /// Sends `len` bytes from `start` on, and returns when that ends.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the low 32 bits; centuries saturate"
    )]
    #[inline]
    pub(crate) fn send(&mut self, start: Instant, len: usize) -> Instant {
        match &mut self.pace {
            Pace::Steady { per_byte, fraction } => {
                let carried = if start == self.free_at { *fraction } else { 0 };
                let time = u128::from(*per_byte) * len as u128 + u128::from(carried);
                *fraction = time as u64 & u64::from(u32::MAX);
                let ns = (time >> 32).min(u128::from(u64::MAX)) as u64;
                self.free_at = Instant::from_nanos(start.as_nanos().saturating_add(ns));
                self.free_at
            }
            Pace::Trace { .. } => self.send_by_trace(len),
        }
    }

    #[inline(never)]
    fn send_by_trace(&mut self, len: usize) -> Instant {
        match &mut self.pace {
            Pace::Steady { .. } => self.free_at,
            Pace::Trace {
                trace,
                opportunity,
                left,
            } => {
                // From `left` of this opportunity, and whole ones after it.
                let missing = len.saturating_sub(*left);
                let more = missing.div_ceil(RateTrace::OPPORTUNITY_BYTES);
                *opportunity += more as u64;
                *left = *left + more * RateTrace::OPPORTUNITY_BYTES - len;
                let end = trace.at(*opportunity);
                if *left == 0 {
                    *opportunity += 1;
                    *left = RateTrace::OPPORTUNITY_BYTES;
                }
                self.free_at = trace.at(*opportunity);
                end
            }
        }
    }

    /// Changes the rate; a trace ends. Of a packet in transmission the remaining bits go at the new
    /// rate.
    #[expect(clippy::cast_possible_truncation, reason = "centuries saturate")]
    pub(crate) fn set_rate(&mut self, now: Instant, rate: Option<Rate>) {
        let new = per_byte(rate);
        let remaining = u128::from((self.free_at - now).as_nanos() as u64);
        if let Pace::Steady { per_byte: old, .. } = self.pace
            && remaining > 0
        {
            let ns = remaining * u128::from(new) / u128::from(old.max(1));
            self.free_at = now + Duration::from_nanos(ns.min(u128::from(u64::MAX)) as u64);
        }
        self.pace = Pace::Steady {
            per_byte: new,
            fraction: 0,
        };
    }
}

#[cfg(test)]
mod tests;
