//! The receiving half: when to acknowledge, and what acknowledgements report (SafeUDP §2).

use super::options::{ACK_LEN, AckOptions, read_declared_rate};
use crate::cc::config::{CcConfig, DEFAULT_RTT};
use crate::cc::one_way::Newest;
use crate::cc::{AckDue, Arrival, HcReceiver, OutgoingAck, Snapshot};
use crate::number::to_f64;
use crate::seq::Seq;
use crate::time::{Instant, Rate};
use crate::wire::Ecn;
use crate::wire::features::Feature;
use core::time::Duration;

/// A single packet waits for its acknowledgement at most this part of a round trip …
const DELAY_PART: u32 = 4;
/// … or this time.
const DELAY_LEAST: Duration = Duration::from_millis(1);
/// The receive rate is measured over a round trip, but no shorter.
const RATE_TIME_LEAST: Duration = Duration::from_millis(1);

/// The state of the receiving half.
#[derive(Debug)]
pub(crate) struct Receiver {
    /// Data packets per acknowledgement.
    ratio: u32,
    delayed_ack: Duration,
    rtt: Duration,
    newest: Newest,
    /// Data packets since the last acknowledgement, and when the first of them arrived.
    pending: u32,
    pending_since: Instant,
    is_urgent: bool,
    /// The packet after a gap that last caused an acknowledgement.
    gap_told: Option<Seq>,
    /// When a mark last caused one.
    marked_at: Option<Instant>,
    /// Bytes since then, and the last rate.
    bytes: u64,
    since: Instant,
    rate: Option<f64>,
    /// Bytes per second that the peer's application intends to send.
    declared: Option<u32>,
    /// Packets that this host dropped below DCCP since the connection began, and the host's last total.
    host_losses: u64,
    last_total: Option<u64>,
}

impl Receiver {
    pub(crate) fn new(config: &CcConfig) -> Self {
        Self {
            ratio: 2,
            delayed_ack: config.delayed_ack,
            rtt: config.rtt.unwrap_or(DEFAULT_RTT),
            newest: Newest::default(),
            pending: 0,
            pending_since: config.now,
            is_urgent: false,
            gap_told: None,
            marked_at: None,
            bytes: 0,
            since: config.now,
            rate: None,
            declared: None,
            host_losses: 0,
            last_total: None,
        }
    }

    fn measure_rate(&mut self, now: Instant, bytes: usize) {
        self.bytes += bytes as u64;
        let time = now - self.since;
        if time >= self.rtt.max(RATE_TIME_LEAST) {
            self.rate = Some(to_f64(self.bytes) / time.as_secs_f64());
            self.bytes = 0;
            self.since = now;
        }
    }

    /// Whether a gap is reported at once. Scattered losses would be answered one by one otherwise.
    fn is_news(&self, seq: Seq) -> bool {
        self.gap_told.is_none_or(|told| {
            !seq.is_after(told) || seq.steps_from(told) >= u64::from(self.ratio / 2)
        })
    }

    /// The longest time that a packet waits for its acknowledgement.
    fn delay(&self) -> Duration {
        (self.rtt / DELAY_PART).clamp(DELAY_LEAST.min(self.delayed_ack), self.delayed_ack)
    }
}

impl HcReceiver for Receiver {
    fn on_packet(&mut self, p: &Arrival<'_>) {
        self.rtt = p.rtt.unwrap_or(self.rtt);
        let before = self.newest.on_packet(p.seq, p.now);
        if before.is_some_and(|newest| p.seq != newest.next()) && self.is_news(p.seq) {
            self.is_urgent = true;
            self.gap_told = Some(p.seq);
        }
        if !p.is_data {
            return;
        }
        if !p.options.0.is_empty() {
            self.declared = read_declared_rate(p.options).or(self.declared);
        }
        self.measure_rate(p.now, p.payload_len);
        if p.ecn == Ecn::Ce && self.marked_at.is_none_or(|at| p.now >= at + self.rtt) {
            // A queue that marks everything must not make us answer everything.
            self.marked_at = Some(p.now);
            self.is_urgent = true;
        }
        if self.pending == 0 {
            self.pending_since = p.now;
        }
        self.pending += 1;
    }

    fn ack_due(&self, now: Instant) -> AckDue {
        // AMB-4: without an Ack Ratio, one per two packets.
        let ratio = if self.ratio == 0 { 2 } else { self.ratio };
        if self.is_urgent || self.pending >= ratio {
            AckDue::Now
        } else if self.pending > 0 {
            AckDue::at(self.pending_since + self.delay(), now)
        } else {
            AckDue::No
        }
    }

    fn ack_options_len(&self, _now: Instant) -> usize {
        ACK_LEN
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the count is modulo 2^24, and a cast of the rate saturates"
    )]
    fn on_ack(&mut self, ack: &mut OutgoingAck<'_>) -> bool {
        let arrived = self.newest.arrival(ack.ack);
        AckOptions {
            receive_rate: self.rate.map(|rate| rate as u32),
            arrival_time: arrived.map(Instant::timestamp),
            host_loss_count: (self.host_losses > 0).then_some(self.host_losses as u32),
        }
        .write(ack.options);
        self.pending = 0;
        self.is_urgent = false;
        true
    }

    fn on_rollback(&mut self, _newest: Seq) {
        self.newest = Newest::default();
        self.gap_told = None;
    }

    fn on_host_losses(&mut self, total: u64) {
        // A counter that was reset begins again.
        let last = self.last_total.replace(total).unwrap_or(total);
        self.host_losses += total.saturating_sub(last);
    }

    fn on_feature(&mut self, feature: u8, value: u64) {
        if feature == Feature::AckRatio.number() {
            self.ratio = u32::try_from(value).unwrap_or(u32::MAX);
        }
    }

    fn snapshot(&self) -> Snapshot {
        let mut inner = vec![
            ("ack_ratio", f64::from(self.ratio)),
            ("host_losses", to_f64(self.host_losses)),
        ];
        inner.extend(
            self.declared
                .map(|rate| ("declared_bytes_per_s", f64::from(rate))),
        );
        Snapshot {
            rtt: Some(self.rtt),
            receive_rate: self.rate.map(Rate::from_bytes_per_s),
            inner,
            ..Snapshot::default()
        }
    }
}

#[cfg(test)]
mod tests;
