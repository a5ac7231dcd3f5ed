//! Laws: how a congestion window answers to acknowledgements and congestion.
//!
//! A [`Law`] knows windows, rates and delays, and nothing of DCCP, so that the simulator's TCP can
//! use the same ones. Whoever calls it detects losses, measures round trips, tells one congestion
//! event from another, and runs slow start; see `cc/window.rs`. To add a law, write one file here
//! and name it in `choice.rs`. Transcendental functions come from `libm`: the same bits everywhere.

pub mod bbr;
#[cfg(test)]
pub(crate) mod bench;
pub mod bic;
mod config;
pub mod cubic;
mod delay;
pub mod fast;
pub mod highspeed;
pub mod htcp;
pub mod ledbat;
pub mod lp;
pub mod reno;
pub mod scalable;
pub mod vegas;
pub mod westwood;

pub use config::{LawConfig, LawSettings, SettingError, all};

use crate::time::Instant;
use core::time::Duration;

/// What a law governs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Window {
    /// Congestion window in packets, at least 1.
    pub cwnd: f64,
    /// Slow-start threshold in packets; infinite until the first event.
    pub ssthresh: f64,
}

impl Window {
    /// A window of `packets` whose threshold is still unlimited.
    pub fn new(packets: u32) -> Self {
        Self {
            cwnd: f64::from(packets),
            ssthresh: f64::INFINITY,
        }
    }

    /// How many packets may be in flight: the whole part of the window, at least 1.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast from float saturates, and a window is positive"
    )]
    pub const fn packets(&self) -> u32 {
        self.cwnd.max(1.0) as u32
    }

    /// Whether the window still grows by slow start.
    pub fn is_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Ends slow start where it stands.
    pub fn leave_slow_start(&mut self) {
        self.ssthresh = self.ssthresh.min(self.cwnd);
    }

    /// Answers a congestion event: the window becomes `packets`, and slow start is over.
    pub fn reduce_to(&mut self, packets: f64) {
        self.cwnd = packets.max(1.0);
        self.ssthresh = self.cwnd.max(2.0);
    }

    /// Answers a timeout: one packet, and slow start up to `ssthresh`.
    pub fn collapse(&mut self, ssthresh: f64) {
        self.ssthresh = ssthresh.max(2.0);
        self.cwnd = 1.0;
    }
}

/// An acknowledgement, as a law sees it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Ack {
    /// When it arrived.
    pub now: Instant,
    /// Newly acknowledged unmarked data packets.
    pub acked: u32,
    /// How many of those may make the window grow: none in slow start, none unless the window was
    /// the limit.
    pub growth: u32,
    /// Newly acknowledged data packets that were marked.
    pub marked: u32,
    /// Data packets newly found lost.
    pub lost: u32,
    /// Whether the acknowledgement reports neither loss nor mark.
    pub is_clean: bool,
    /// Packets that were sent before the last congestion event was detected are still in flight.
    pub is_recovering: bool,
    /// A round-trip sample.
    pub rtt: Option<Duration>,
    /// The smoothed round-trip time, once there was a sample.
    pub smoothed_rtt: Option<Duration>,
    /// How long the newest packet was under way, plus a constant that nobody knows: only
    /// differences between samples mean something.
    pub one_way: Option<Duration>,
    /// How fast data was delivered in packets per second, if this acknowledgement gives a sample.
    pub delivered_rate: Option<f64>,
    /// The application was the limit while `delivered_rate` was measured.
    pub is_app_limited: bool,
    /// Data packets in flight before this acknowledgement.
    pub flight: u32,
    /// Data packets still in flight.
    pub pipe: u32,
    /// Round trips since the start.
    pub round: u64,
}

/// What shows that the network is congested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// Packets were lost.
    Loss,
    /// Packets were marked by ECN, or dropped as corrupt (4340-11.7.2-4).
    Mark,
}

/// A congestion event; there is at most one per round trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Congestion {
    /// When it was detected.
    pub now: Instant,
    /// What showed it.
    pub cause: Cause,
    /// How many packets were lost or marked at once.
    pub packets: u32,
    /// Data packets in flight before these were counted out.
    pub flight: u32,
    /// Data packets in flight after that.
    pub pipe: u32,
}

/// What a law looks at beside windows, losses and round trips. What nobody looks at need not be measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wants {
    /// [`Ack::delivered_rate`] and [`Ack::is_app_limited`].
    pub delivered_rate: bool,
    /// [`Ack::one_way`].
    pub one_way: bool,
}

/// A rule by which a window grows and shrinks.
pub trait Law: Send {
    /// The law's name in reports.
    fn name(&self) -> &'static str;

    /// What it has to be told, which never changes.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// Sending begins: for laws that want another window than the initial one, or no slow start.
    fn on_start(&mut self, _window: &mut Window) {}

    /// An acknowledgement arrived. Laws that count only growth use [`Ack::growth`].
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// A congestion event began.
    fn on_congestion(&mut self, window: &mut Window, event: &Congestion);

    /// Nothing in flight was acknowledged for a whole timeout.
    fn on_timeout(&mut self, window: &mut Window, now: Instant);

    /// The peer's host dropped this many packets for lack of buffers: one packet less for each, and
    /// no slow start (4341-5.2-1). Other laws want no other answer, since no network is congested.
    fn on_host_drop(&mut self, window: &mut Window, packets: u32) {
        window.cwnd = (window.cwnd - f64::from(packets)).max(1.0);
        window.leave_slow_start();
    }

    /// Sending begins again after `idle` without data; the window was already reduced for it.
    fn on_idle(&mut self, _now: Instant, _idle: Duration) {}

    /// Whether the window must not grow now, not even by slow start.
    fn is_holding(&self, _window: &Window, _now: Instant) -> bool {
        false
    }

    /// Packets per second at most, of a law that sets a rate beside the window: both then hold, and
    /// packets are paced even by a sender that does not pace those of other laws.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// Inner values by name: times in seconds, rates in packets per second.
    fn inner(&self, _out: &mut Vec<(&'static str, f64)>) {}
}
