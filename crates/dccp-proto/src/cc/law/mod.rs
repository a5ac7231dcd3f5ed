//! Laws: rules for the growth and reduction of a congestion window.
//!
//! A [`Law`] works on windows, rates and delays, and does not depend on DCCP. Therefore the simulator's
//! TCP uses the same laws. The caller (`cc/window.rs`) detects losses, measures round trips, groups
//! losses into congestion events, and runs slow start.
//!
//! # How to write a law
//! A law is two types: its settings ([`LawSettings`]), and its state in one connection ([`Law`]). This law
//! adds `increase` packets per round trip, and takes a quarter of the window at each congestion event:
//!
//! ```
//! use dccp_proto::cc::law::{Ack, Congestion, Law, LawSettings, SettingError, Window};
//! use dccp_proto::{Config, Instant};
//!
//! #[derive(Clone, Copy, Debug)]
//! struct Gentle {
//!     increase: f64,
//! }
//!
//! impl LawSettings for Gentle {
//!     fn name(&self) -> &'static str {
//!         "gentle"
//!     }
//!
//!     fn build(&self) -> Box<dyn Law> {
//!         Box::new(GentleWindow { settings: *self, events: 0 })
//!     }
//!
//!     fn check(&self) -> Result<(), SettingError> {
//!         SettingError::unless_within("increase", self.increase, 0.01..=10.0)
//!     }
//! }
//!
//! struct GentleWindow {
//!     settings: Gentle,
//!     events: u32,
//! }
//!
//! impl Law for GentleWindow {
//!     fn name(&self) -> &'static str {
//!         "gentle"
//!     }
//!
//!     // In a round trip, as many packets are acknowledged as the window holds.
//!     fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
//!         window.cwnd += self.settings.increase * f64::from(ack.growth) / window.cwnd;
//!     }
//!
//!     fn on_congestion(&mut self, window: &mut Window, _event: &Congestion) {
//!         self.events += 1;
//!         window.reduce_to(0.75 * window.cwnd);
//!     }
//!
//!     fn on_timeout(&mut self, window: &mut Window, _now: Instant) {
//!         window.collapse(0.75 * window.cwnd);
//!     }
//!
//!     // Optional: values for reports.
//!     fn inner(&self, out: &mut Vec<(&'static str, f64)>) {
//!         out.push(("events", f64::from(self.events)));
//!     }
//! }
//!
//! let config = Config { law: Gentle { increase: 0.5 }.into(), ..Config::default() };
//! assert_eq!(config.law.check(), Ok(()));
//!
//! // Without a network: one round trip of a window of 40 packets, then a timeout.
//! let mut law = config.law.build();
//! let mut window = Window { cwnd: 40.0, ssthresh: 2.0 };
//! law.on_ack(&mut window, &Ack { growth: 40, ..Ack::default() });
//! assert_eq!(window.cwnd, 40.5);
//! law.on_timeout(&mut window, Instant::from_nanos(0));
//! assert_eq!((window.cwnd, window.ssthresh), (1.0, 30.375));
//! ```
//!
//! - Grow by [`Ack::growth`], not by [`Ack::acked`]: it is 0 in slow start, and while the window is not the limit.
//! - Count packets, not acknowledgements, because an Ack Ratio divides the number of acknowledgements.
//! - [`Law::wants`] requests delivery rates or one-way delays. [`Law::pacing_rate`] adds a rate to the window.
//! - Take transcendental functions from `libm`, which returns the same bits on every platform.
//!
//! The package `examples/own-control` runs such a law in the simulator and over sockets. A built-in law is one file
//! here, and an entry of [`all`].

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
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod udt;
pub mod vegas;
pub mod westwood;

pub use config::{LawConfig, LawSettings, SettingError, all};

use crate::time::Instant;
use core::time::Duration;

/// The state that a law controls: the congestion window and its threshold.
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

    /// Returns the number of packets that may be in flight: the whole part of the window, at least 1.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast from float saturates, and a window is positive"
    )]
    pub const fn packets(&self) -> u32 {
        self.cwnd.max(1.0) as u32
    }

    /// Returns true while the window grows by slow start.
    pub fn is_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Ends slow start at the current window.
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

/// An acknowledgement, as the input of a law.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Ack {
    /// When it arrived.
    pub now: Instant,
    /// Newly acknowledged unmarked data packets.
    pub acked: u32,
    /// The part of `acked` that may make the window grow: 0 in slow start, and 0 unless the window was
    /// the limit.
    pub growth: u32,
    /// Newly acknowledged data packets that were marked.
    pub marked: u32,
    /// Data packets newly found lost.
    pub lost: u32,
    /// The acknowledgement reports neither loss nor mark.
    pub is_clean: bool,
    /// Packets that were sent before the last congestion event was detected are still in flight.
    pub is_recovering: bool,
    /// A round-trip sample.
    pub rtt: Option<Duration>,
    /// The smoothed round-trip time; `None` before the first sample.
    pub smoothed_rtt: Option<Duration>,
    /// The one-way delay of the newest packet, plus an unknown constant. Only differences between samples
    /// have a meaning.
    pub one_way: Option<Duration>,
    /// The delivery rate in packets per second, if this acknowledgement gives a sample.
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

/// The sign of a congested network.
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
    /// The sign that started the event.
    pub cause: Cause,
    /// The number of packets that were lost or marked at once.
    pub packets: u32,
    /// Data packets in flight before these packets were subtracted.
    pub flight: u32,
    /// Data packets in flight after the subtraction.
    pub pipe: u32,
}

/// Optional inputs of a law. The caller does not measure an input that the law does not use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wants {
    /// [`Ack::delivered_rate`] and [`Ack::is_app_limited`].
    pub delivered_rate: bool,
    /// [`Ack::one_way`].
    pub one_way: bool,
}

/// A rule for the growth and the reduction of a window. The window that it sets is kept between one packet and the
/// configured maximum. It must not panic: a panic ends the engine with all its connections.
pub trait Law: Send {
    /// Returns the law's name in reports.
    fn name(&self) -> &'static str;

    /// Returns the optional inputs of the law. They never change.
    fn wants(&self) -> Wants {
        Wants::default()
    }

    /// Handles the start of sending. A law may set another initial window here, or skip slow start.
    fn on_start(&mut self, _window: &mut Window) {}

    /// Handles an acknowledgement. Laws that count only growth use [`Ack::growth`].
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// Handles the start of a congestion event.
    fn on_congestion(&mut self, window: &mut Window, event: &Congestion);

    /// Handles a timeout: no packet in flight was acknowledged for the whole timeout.
    fn on_timeout(&mut self, window: &mut Window, now: Instant);

    /// Handles `packets` that the peer's host dropped for lack of buffers. The window shrinks by one packet
    /// for each, and slow start ends (4341-5.2-1). All laws do the same, because no network is congested.
    fn on_host_drop(&mut self, window: &mut Window, packets: u32) {
        window.cwnd = (window.cwnd - f64::from(packets)).max(1.0);
        window.leave_slow_start();
    }

    /// Handles the restart of sending after `idle` without data. The window was already reduced for it.
    fn on_idle(&mut self, _now: Instant, _idle: Duration) {}

    /// Returns true while the window must not grow, not even by slow start.
    fn is_holding(&self, _window: &Window, _now: Instant) -> bool {
        false
    }

    /// Returns the greatest rate in packets per second, if the law sets a rate beside the window. Both limits
    /// then apply. The sender paces packets at this rate even if it does not pace those of other laws.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// Appends inner values by name: times in seconds, rates in packets per second.
    fn inner(&self, _out: &mut Vec<(&'static str, f64)>) {}
}

/// Hashes the current time (the last step of `SplitMix64`): a random number for laws, because the core has none.
const fn hash(now: Instant) -> u64 {
    let mut x = now.as_nanos();
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}
