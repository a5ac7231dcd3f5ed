//! The network's rate, for applications that can adapt to it: encoders, sensors.

use super::{App, Connection, State};
use crate::cc::{Feedback, Permit, Snapshot};
use crate::event::{Event, RateHint};
use crate::number::to_f64;
use crate::time::{Instant, Rate};
use core::time::Duration;

/// The rates are sampled no more often: an encoder needs some frames to follow.
const INTERVAL: Duration = Duration::from_millis(100);
/// The time constant of the smoothed rates.
const SMOOTHING: Duration = Duration::from_millis(500);
/// An event needs a change of at least this part of the last reported rate.
const NOTABLE: u64 = 8;

/// Smoothed rates in bytes per second, and the rate of the last event.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RateMeter {
    sampled: Option<Instant>,
    /// The rate that congestion control allows.
    allowed: Option<f64>,
    /// The rate that arrives at the peer.
    delivered: Option<f64>,
    /// Bytes reported as received since `sampled`.
    acked_bytes: u64,
    is_app_limited: bool,
    /// The rate of the last [`Event::Rate`].
    reported_bits_per_s: u64,
}

impl RateMeter {
    fn is_sample_due(&self, now: Instant) -> bool {
        self.sampled.is_none_or(|at| now >= at + INTERVAL)
    }

    /// The smoothed rates, with samples in bytes per second that cover the time since the last one. `received`: the rate
    /// of the last feedback, where the peer reports one. CCIDs 3 and 4 do so, and need not report each packet.
    fn updated(&self, now: Instant, allowed: Option<f64>, received: Option<f64>) -> Self {
        let Some(sampled) = self.sampled else {
            return Self {
                sampled: Some(now),
                allowed,
                acked_bytes: 0,
                ..*self
            };
        };
        let elapsed = (now - sampled).as_secs_f64();
        let weight = elapsed / (elapsed + SMOOTHING.as_secs_f64());
        let smooth = |old: Option<f64>, new: f64| old.map_or(new, |old| old + (new - old) * weight);
        let delivered = received.unwrap_or_else(|| to_f64(self.acked_bytes) / elapsed);
        Self {
            sampled: Some(now),
            allowed: allowed.map(|allowed| smooth(self.allowed, allowed)),
            delivered: Some(smooth(self.delivered, delivered)),
            acked_bytes: 0,
            ..*self
        }
    }

    fn is_notable(&self, bits_per_s: u64) -> bool {
        bits_per_s.abs_diff(self.reported_bits_per_s) >= (self.reported_bits_per_s / NOTABLE).max(1)
    }
}

impl Connection {
    /// The network's rate now, and the time that a datagram waits behind `backlog` bytes. `None` without a round-trip
    /// time, and after the end of the connection.
    pub fn rate_hint(&self, now: Instant, backlog: u64) -> Option<RateHint> {
        if !matches!(self.state, State::PartOpen | State::Open) {
            return None;
        }
        let cc = self.tx.cc.snapshot();
        let allowed = self.allowed_rate(&cc)?;
        let meter = if self.rate_meter.is_sample_due(now) {
            self.rate_meter
                .updated(now, Some(allowed.bytes_per_s()), received(&cc))
        } else {
            self.rate_meter
        };
        let rate = meter.allowed.map_or(allowed, Rate::from_bytes_per_s);
        Some(RateHint {
            bits_per_s: whole(rate.bits_per_s()),
            delivered_bits_per_s: meter.delivered.map(|bytes| whole(8.0 * bytes)),
            is_app_limited: meter.is_app_limited,
            wait: self.blocked_for(now, rate) + rate.time_for(backlog),
        })
    }

    /// The time until the next datagram may leave.
    fn blocked_for(&self, now: Instant, rate: Rate) -> Duration {
        let held = self.data_hold.map_or(Duration::ZERO, |until| until - now);
        let blocked = match self.tx.cc.permit(now, self.in_flight.pipe()) {
            Permit::Now { .. } => Duration::ZERO,
            Permit::At(at) => at - now,
            Permit::OnFeedback => self.feedback_in(now, rate),
        };
        held.max(blocked)
    }

    /// The time until feedback opens a full window. Acknowledgements come at the rate of the packets. Once an
    /// answer is overdue, only the controller's timer lets a packet leave.
    fn feedback_in(&self, now: Instant, rate: Rate) -> Duration {
        let answer_due = self
            .silence
            .unanswered_since
            .map(|since| since + 2 * self.rtt_or_default());
        let timer = self.tx.cc.poll_timeout();
        match (answer_due, timer) {
            (Some(due), Some(timer)) if due < now => timer - now,
            _ => rate.time_for(self.usual_len()),
        }
    }

    /// An acknowledgement arrived.
    pub(super) fn meter_rate(&mut self, now: Instant, fb: &Feedback<'_>, app: &mut App<'_>) {
        self.rate_meter.acked_bytes += fb.acked.bytes + fb.marked.bytes;
        self.rate_meter.is_app_limited = fb.is_app_limited;
        self.sample_rate(now, app);
    }

    /// Samples the rates if a sample is due, and reports a notable change if the application wants events.
    pub(super) fn sample_rate(&mut self, now: Instant, app: &mut App<'_>) {
        if !self.rate_meter.is_sample_due(now) {
            return;
        }
        let cc = self.tx.cc.snapshot();
        let allowed = self.allowed_rate(&cc).map(Rate::bytes_per_s);
        self.rate_meter = self.rate_meter.updated(now, allowed, received(&cc));
        if !self.config.rate_hints {
            return;
        }
        if let Some(hint) = self.rate_hint(now, app.outbox.backlog())
            && self.rate_meter.is_notable(hint.bits_per_s)
        {
            self.rate_meter.reported_bits_per_s = hint.bits_per_s;
            self.tell(Event::Rate(hint));
        }
    }

    /// The window per round trip or the controller's rate, whichever is less, because a paced window's rate exceeds its
    /// share. Application data only.
    fn allowed_rate(&self, cc: &Snapshot) -> Option<Rate> {
        let rtt = self.rtt?.as_secs_f64();
        let by_window = cc
            .cwnd_packets
            .map(|packets| packets * to_f64(self.usual_len()) / rtt);
        let by_rate = cc.rate.map(Rate::bytes_per_s);
        let least = by_window.into_iter().chain(by_rate).reduce(f64::min);
        least.filter(|rate| *rate > 0.0).map(Rate::from_bytes_per_s)
    }

    /// The mean size of the application's recent datagrams; before the first, the maximum packet size.
    fn usual_len(&self) -> u64 {
        match self.in_flight.mean_size() {
            0 => self.mps() as u64,
            mean => mean as u64,
        }
    }
}

fn received(cc: &Snapshot) -> Option<f64> {
    cc.receive_rate.map(Rate::bytes_per_s)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is not negative, and 2^64 stands for all above it"
)]
fn whole(bits_per_s: f64) -> u64 {
    bits_per_s as u64
}

#[cfg(test)]
mod tests;
