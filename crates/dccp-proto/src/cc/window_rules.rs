//! In what the sender of a window differs between CCID 2 and another transport protocol.

use super::Feedback;
use super::law::Window;
use super::rtt::RttEstimator;
use core::time::Duration;

/// Rules of a transport protocol. The defaults are CCID 2's.
///
/// They are for other users of [`WindowSender`](super::window::WindowSender), such as the simulator's TCP.
pub trait WindowRules: Send {
    /// An acknowledgement arrived; nothing else has been done for it.
    fn on_ack(&mut self, _window: &mut Window) {}

    /// Gives a round-trip sample to the timeout. `is_first`: it is the first of a round trip, or the first after the
    /// timeout expired. `is_old`: the acknowledged packet left before the timeout expired.
    ///
    /// 4341-5-5: one sample per round trip moves the timeout.
    fn sample(&self, rtt: &mut RttEstimator, sample: Duration, is_first: bool, _is_old: bool) {
        if is_first {
            rtt.sample(sample);
        }
    }

    /// A new congestion event was found. Returns true if it is answered already.
    fn absorbs_congestion(&mut self, _window: &mut Window) -> bool {
        false
    }

    /// Whether the window may grow. `is_recovering`: packets that left before the last congestion event are still in
    /// flight.
    fn may_grow(&self, _is_recovering: bool) -> bool {
        true
    }

    /// Whether an acknowledgement restarts the transmit timeout while packets are in flight.
    fn restarts_timeout(&self, fb: &Feedback<'_>) -> bool {
        fb.acked.packets + fb.marked.packets > 0
    }

    /// The transmit timeout expired.
    fn on_timeout(&mut self) {}
}

/// The rules of CCID 2.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ccid2Rules;

impl WindowRules for Ccid2Rules {}
