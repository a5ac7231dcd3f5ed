//! The seam between TFRC (CCID 3) and its variant for small packets (CCID 4): all in which they differ.

use super::equation::Path;
use crate::seq::Seq;
use crate::time::Instant;
use core::fmt::Debug;
use core::time::Duration;

/// A loss interval as it may count for the loss event rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::cc) struct Counted {
    /// Data packets in it.
    pub(in crate::cc) data: f64,
    /// How many packets of it were lost or marked.
    pub(in crate::cc) drops: f64,
    /// It begins with a loss, and lasted two round trips at most.
    pub(in crate::cc) is_short: bool,
    /// It is the newest one, which no loss event has ended yet.
    pub(in crate::cc) is_open: bool,
}

/// A variant of TFRC. Sizes are in bytes of application data, `r` in seconds.
pub(in crate::cc) trait Variant: Debug + Default + Send {
    /// Its CCID.
    const CCID: u8;
    /// The least time between two packets.
    const SPACING: Duration;
    /// Whether Dropped Packets accompanies Loss Intervals.
    const TELLS_DROPS: bool;

    /// The rate in bytes of application data per second at loss event rate `p`, for packets of `s`
    /// bytes.
    fn rate(&self, s: f64, r: f64, p: f64) -> f64;

    /// The loss event rate at which [`rate`](Self::rate) is `x`.
    fn loss_event_rate(&self, s: f64, r: f64, x: f64) -> f64;

    /// How many packets an interval counts for.
    fn length(interval: &Counted) -> f64;

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

/// TFRC as CCID 3 has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::cc) struct Tfrc;

impl Variant for Tfrc {
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
