//! In what variants of TFRC differ: CCID 3, CCID 4 for small packets, and those of other crates.

use super::equation::Path;
use super::loss_intervals::Weighed;
use crate::seq::Seq;
use crate::time::Instant;
use core::fmt::Debug;
use core::time::Duration;

/// A loss interval as it may count for the loss event rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Counted {
    /// Data packets in it.
    pub data: f64,
    /// How many packets of it were lost or marked.
    pub drops: f64,
    /// It begins with a loss, and lasted two round trips at most.
    pub is_short: bool,
    /// It is the newest one, which no loss event has ended yet.
    pub is_open: bool,
}

/// A variant of TFRC. Sizes are in bytes of application data, `r` in seconds.
pub trait Variant: Debug + Default + Send {
    /// The receiver's measurements beside the receive rate of RFC 5348; `()`: none.
    type Meter: Meter;
    /// Its CCID.
    const CCID: u8;
    /// The least time between two packets.
    const SPACING: Duration;
    /// Whether Dropped Packets accompanies Loss Intervals.
    const TELLS_DROPS: bool;

    /// How its slow start goes.
    const SLOW_START: SlowStart = SlowStart::Rfc5348;

    /// The rate in bytes of application data per second at loss event rate `p`, for packets of `s`
    /// bytes.
    fn rate(&self, s: f64, r: f64, p: f64) -> f64;

    /// The loss event rate at which [`rate`](Self::rate) is `x`.
    fn loss_event_rate(&self, s: f64, r: f64, x: f64) -> f64;

    /// How many packets an interval counts for.
    fn length(interval: &Counted) -> f64;

    /// The loss event rate of these intervals, newest first, the open one at the front; `None`: by RFC 5348 §5.4.
    fn mean_rate(_intervals: impl Iterator<Item = Weighed> + Clone) -> Option<f64> {
        None
    }

    /// The maximum packet size, and when it changes.
    fn on_mps(&mut self, _mps: usize) {}

    /// A data packet that leaves or arrives has a short sequence number, or a long one.
    fn on_header(&mut self, _is_short: bool) {}

    /// A run of data packets left; `_last` is the number of its last packet.
    fn on_sent(&mut self, _last: Seq, _now: Instant) {}

    /// Whether less than or just two round trips passed between the departures of these packets, if it is
    /// known and of interest.
    fn is_short(&self, _from: Seq, _to: Seq, _rtt: Duration) -> Option<bool> {
        None
    }
}

/// How slow start goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlowStart {
    /// As RFC 5348 §4.2 and §4.3 have it.
    Rfc5348,
    /// As RFC 3448 has it: the round trip is unknown before the first feedback, and then the rate is one packet per
    /// round trip. It is at most twice the last receive rate, and nothing damps it.
    Rfc3448,
}

/// A receiver's measurements beside the receive rate of RFC 5348.
pub trait Meter: Debug + Send {
    /// A meter for data that arrive from now on; `rtt`: what is known of the round trip.
    fn new(now: Instant, rtt: Duration) -> Self;

    /// A data packet arrives; `counter`: the window counter, continued beyond 15.
    fn on_data(&mut self, _now: Instant, _counter: u64, _bytes: u64) {}

    /// Feedback leaves.
    fn on_feedback(&mut self, _now: Instant) {}

    /// The receive rate that feedback reports now, in bytes per second; `None`: by RFC 5348 §6.2.
    fn rate(&self, _now: Instant) -> Option<f64> {
        None
    }

    /// The length of the interval that the first loss event ends, in packets of `s` bytes; `None`: by RFC 5348 §6.3.1.
    fn first_interval(&self, _now: Instant, _s: f64) -> Option<u64> {
        None
    }
}

impl Meter for () {
    fn new(_now: Instant, _rtt: Duration) -> Self {}
}

/// TFRC as CCID 3 has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tfrc;

impl Variant for Tfrc {
    type Meter = ();
    const CCID: u8 = 3;
    const SPACING: Duration = Duration::ZERO;
    const TELLS_DROPS: bool = false;

    fn rate(&self, s: f64, r: f64, p: f64) -> f64 {
        Path::new(s, r).rate(p)
    }

    fn loss_event_rate(&self, s: f64, r: f64, x: f64) -> f64 {
        Path::new(s, r).loss_event_rate(x)
    }

    fn length(interval: &Counted) -> f64 {
        interval.data
    }
}
