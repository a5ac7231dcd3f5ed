//! CCID 3, TFRC congestion control (RFC 4342, RFC 5348; RFC 6323 for the receiver's round-trip
//! time).
//!
//! The sender computes the rate that a TCP would have at the loss event rate which the receiver
//! reports about once per round trip. Symbols are those of RFC 5348:
//!
//! - `s`: mean packet size in bytes of application data.
//! - `r`: round-trip time in seconds.
//! - `p`: loss event rate, in loss events per data packet.
//! - `x`: allowed sending rate in bytes/s.
//! - `x_bps`: rate by the throughput equation in bytes/s.
//! - `x_recv`: receive rate in bytes/s.
//! - `x_inst`: `x` corrected for short-term queueing, in bytes/s.
//! - `t_ipi`: time between two packets, `s / x_inst`, in seconds.
//! - `t_mbi`: longest time between two packets, 64 s.
//! - `tld`: time when `x` was last doubled.

mod data_limited;
mod equation;
mod host_limits;
mod loss_history;
pub(crate) mod loss_intervals;
mod receive_rate;
mod receiver;
mod receiver_rtt;
mod report;
mod round_trip;
mod sender;
mod sent_rate;
mod variant;
mod window_counter;
mod x_recv_set;

pub use equation::Path;
pub use loss_intervals::Weighed;
pub use variant::{Counted, Meter, SlowStart, Tfrc, Variant};

use super::config::CcConfig;
use super::{Ccid, Dependency, HcReceiver, HcSender};
use crate::wire::features::Feature;
use core::time::Duration;

/// CCID 3.
#[derive(Clone, Copy, Debug)]
pub struct Ccid3;

impl Ccid for Ccid3 {
    fn number(&self) -> u8 {
        3
    }

    fn name(&self) -> &'static str {
        "tfrc"
    }

    fn sender(&self, config: &CcConfig) -> Box<dyn HcSender> {
        sender::<Tfrc>(config)
    }

    fn receiver(&self, config: &CcConfig) -> Box<dyn HcReceiver> {
        receiver::<Tfrc>(config)
    }

    fn needs(&self) -> &[Dependency] {
        NEEDS
    }

    fn features(&self) -> &[u8] {
        FEATURES
    }

    fn options(&self) -> &[u8] {
        &[128, 192, 193, 194]
    }
}

/// The features that CCID 3 and its variants need. RFC 4342 requires neither of a peer, so none is mandatory.
const NEEDS: &[Dependency] = &[
    // Its 32 bits go on where the 24 of Loss Intervals end (4342-8.4-1).
    Dependency {
        feature: Feature::SendLossEventRate,
        at_sender: false,
        value: 1,
        is_mandatory: false,
    },
    // Else the receiver takes lost acknowledgements for lost data (4342-6.1-2).
    Dependency {
        feature: Feature::SendNdpCount,
        at_sender: true,
        value: 1,
        is_mandatory: false,
    },
];

/// The features of CCID 3 and its variants.
const FEATURES: &[u8] = &[
    Feature::SendRttEstimate.number(),
    Feature::SendLossEventRate.number(),
];

/// The sending half of a variant.
pub fn sender<V: Variant + 'static>(config: &CcConfig) -> Box<dyn HcSender> {
    Box::new(sender::Sender::<V>::new(config))
}

/// The receiving half of a variant.
pub fn receiver<V: Variant + 'static>(config: &CcConfig) -> Box<dyn HcReceiver> {
    Box::new(receiver::Receiver::<V>::new(config))
}

/// The whole number at or above `x`, at most `u32::MAX`.
fn whole(x: f64) -> u32 {
    u32::try_from(packets(x)).unwrap_or(u32::MAX)
}

/// The same up to `u64::MAX`: packets of an interval, which are more than 2^32 at 10 Gbit/s and 200 ms.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from float saturates, and rates and intervals are not negative"
)]
fn packets(x: f64) -> u64 {
    libm::ceil(x) as u64
}

/// A time in seconds as a duration; a day where it is longer or no number.
fn seconds(s: f64) -> Duration {
    const DAY: Duration = Duration::from_hours(24);
    Duration::try_from_secs_f64(s).unwrap_or(DAY).min(DAY)
}
