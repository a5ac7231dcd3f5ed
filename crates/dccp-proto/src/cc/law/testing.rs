//! Helpers for tests of laws: acknowledgements and losses by hand. Feature `testing`.

use super::{Ack, Cause, Congestion, Law, Window};
use crate::time::Instant;
use core::time::Duration;

/// The start time of tests.
pub const START: Instant = Instant::from_nanos(10_000_000_000);

/// A duration of `ms` milliseconds.
pub const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// `ms` milliseconds after the start.
pub fn at(ms: u64) -> Instant {
    START + Duration::from_millis(ms)
}

/// A window of `cwnd` packets in congestion avoidance.
pub const fn avoiding(cwnd: f64) -> Window {
    Window {
        cwnd,
        ssthresh: 2.0,
    }
}

/// An acknowledgement of `n` packets. All of them may make the window grow.
pub fn acked(n: u32) -> Ack {
    Ack {
        now: START,
        acked: n,
        growth: n,
        is_clean: true,
        ..Ack::default()
    }
}

/// A loss, when `flight` packets were in flight.
pub const fn loss(flight: u32) -> Congestion {
    Congestion {
        now: START,
        cause: Cause::Loss,
        packets: 1,
        flight,
        pipe: flight.saturating_sub(1),
    }
}

/// Returns the inner value that a law reports under this name.
///
/// # Panics
/// If the law reports no such value.
#[track_caller]
pub fn inner(law: &dyn Law, name: &str) -> f64 {
    let mut values = Vec::new();
    law.inner(&mut values);
    let found = values.iter().find(|(n, _)| *n == name);
    assert!(found.is_some(), "{name} is not among {values:?}");
    found.map_or(f64::NAN, |(_, value)| *value)
}

/// Fails unless the two numbers agree to five digits.
///
/// # Panics
/// If they differ by more.
#[track_caller]
pub fn assert_near(value: f64, expected: f64) {
    assert!(
        (value - expected).abs() <= 1e-5 * expected.abs(),
        "{value} is not {expected}"
    );
}
