//! Helpers of the tests of laws: acknowledgements by hand, and tables of expected values.

use core::time::Duration;
use dccp_proto::Instant;
use dccp_proto::cc::law::{Ack, Cause, Congestion, Law, Window};

/// The start time of tests.
pub(crate) const START: Instant = Instant::from_nanos(10_000_000_000);

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// `ms` milliseconds after the start.
pub(crate) fn at(ms: u64) -> Instant {
    START + Duration::from_millis(ms)
}

/// Builds the law with this name.
pub(crate) fn law(name: &str) -> Box<dyn Law> {
    crate::law(name).expect("a name in the list").build()
}

/// A window in congestion avoidance.
pub(crate) fn avoiding(cwnd: f64) -> Window {
    Window {
        cwnd,
        ssthresh: 2.0,
    }
}

/// An acknowledgement of `n` packets. All of them may make the window grow.
pub(crate) fn acked(n: u32) -> Ack {
    Ack {
        now: START,
        acked: n,
        growth: n,
        is_clean: true,
        ..Ack::default()
    }
}

/// A loss, when `flight` packets were in flight.
pub(crate) fn loss(flight: u32) -> Congestion {
    Congestion {
        now: START,
        cause: Cause::Loss,
        packets: 1,
        flight,
        pipe: flight.saturating_sub(1),
    }
}

/// Returns the inner value that a law reports under this name.
pub(crate) fn inner(law: &dyn Law, name: &str) -> f64 {
    let mut values = Vec::new();
    law.inner(&mut values);
    let found = values.iter().find(|(n, _)| *n == name);
    found.expect("a value with this name").1
}

/// Fails unless the two numbers agree to five digits.
#[track_caller]
pub(crate) fn assert_near(value: f64, expected: f64) {
    assert!(
        (value - expected).abs() <= 1e-5 * expected.abs(),
        "{value} is not {expected}"
    );
}
