//! The receiving half: when to acknowledge, and what acknowledgements report (SafeUDP §2).

mod host_losses;
mod shortfall;

use super::codes::Shortfall;
use super::options::{ACK_LEN, AckOptions, read_declared_rate};
use crate::cc::ack_timing::AckTiming;
use crate::cc::config::CcConfig;
use crate::cc::{AckDue, Arrival, HcReceiver, HostDrops, HostLossWish, OutgoingAck, Snapshot};
use crate::number::to_f64;
use crate::seq::Seq;
use crate::time::{Instant, Rate};
use crate::wire::features::Feature;
use core::time::Duration;
use host_losses::HostLosses;
use shortfall::ShortfallWatch;

/// A single packet waits for its acknowledgement at most this part of a round trip …
const DELAY_PART: u32 = 4;
/// … or this time.
const DELAY_LEAST: Duration = Duration::from_millis(1);
/// The receive rate is measured over a round trip, but no shorter.
const RATE_TIME_LEAST: Duration = Duration::from_millis(1);

/// The state of the receiving half.
#[derive(Debug)]
pub(crate) struct Receiver {
    timing: AckTiming,
    delayed_ack: Duration,
    /// Bytes that arrived since a time, and the last rate.
    bytes: u64,
    since: Instant,
    rate: Option<f64>,
    /// Bytes per second that the peer's application intends to send.
    declared: Option<u32>,
    shortfall: ShortfallWatch,
    host_losses: HostLosses,
    /// Packets since the host's last total, which comes with each buffer.
    in_buffer: u64,
    has_acked: bool,
}

impl Receiver {
    pub(crate) fn new(config: &CcConfig) -> Self {
        Self {
            timing: AckTiming::new(config, false),
            delayed_ack: config.delayed_ack,
            bytes: 0,
            since: config.now,
            rate: None,
            declared: None,
            shortfall: ShortfallWatch::default(),
            host_losses: HostLosses::default(),
            in_buffer: 0,
            has_acked: false,
        }
    }

    fn rtt(&self) -> Duration {
        self.timing.rtt().duration()
    }

    fn measure_rate(&mut self, now: Instant, bytes: usize) {
        self.bytes += bytes as u64;
        let time = now - self.since;
        if time >= self.rtt().max(RATE_TIME_LEAST) {
            self.rate = Some(to_f64(self.bytes) / time.as_secs_f64());
            self.bytes = 0;
            self.since = now;
        }
    }

    /// The longest time that a packet waits for its acknowledgement.
    fn delay(&self) -> Duration {
        (self.rtt() / DELAY_PART).clamp(DELAY_LEAST.min(self.delayed_ack), self.delayed_ack)
    }
}

impl HcReceiver for Receiver {
    fn on_packet(&mut self, p: &Arrival<'_>) {
        let newest = self.timing.newest().seq();
        if let Some(newest) = newest.filter(|newest| p.seq.is_after(*newest)) {
            self.host_losses.on_gap(p.seq.steps_from(newest) - 1);
        }
        self.in_buffer += 1;
        self.timing.on_packet(p);
        if p.is_data {
            if !p.options.0.is_empty() {
                self.declared = read_declared_rate(p.options).or(self.declared);
            }
            self.measure_rate(p.now, p.payload_len);
            if let Some(declared) = self.declared {
                self.shortfall
                    .on_data(p.now, p.payload_len, declared.into());
            }
        }
    }

    fn ack_due(&self, now: Instant) -> AckDue {
        self.timing.due(now, self.delay().into())
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
        let arrived = self.timing.newest().arrival(ack.ack);
        let losses = self.host_losses.on_ack(ack.now);
        AckOptions {
            receive_rate: self.rate.map(|rate| rate as u32),
            arrival_time: arrived.map(Instant::timestamp),
            host_loss_count: (losses > 0).then_some(losses as u32),
        }
        .write(ack.options);
        self.timing.on_ack();
        self.has_acked = true;
        true
    }

    fn on_rollback(&mut self, _newest: Seq) {
        self.timing.on_rollback();
    }

    fn on_host_losses(&mut self, total: HostDrops) {
        self.host_losses
            .on_buffer(core::mem::take(&mut self.in_buffer));
        self.host_losses.on_total(total);
    }

    fn poll_shortfall(&mut self) -> Option<Shortfall> {
        self.shortfall.poll()
    }

    fn host_loss_wish(&self) -> HostLossWish {
        // The first total is that of the beginning.
        if !self.has_acked || self.timing.is_urgent() {
            HostLossWish::Now
        } else {
            HostLossWish::Regular
        }
    }

    fn on_feature(&mut self, feature: u8, value: u64) {
        if feature == Feature::AckRatio.number() {
            self.timing.on_ratio(value);
        }
    }

    fn snapshot(&self) -> Snapshot {
        let mut inner = vec![
            ("ack_ratio", f64::from(self.timing.ratio())),
            ("host_losses", to_f64(self.host_losses.count())),
        ];
        inner.extend(
            self.declared
                .map(|rate| ("declared_bytes_per_s", f64::from(rate))),
        );
        Snapshot {
            rtt: Some(self.rtt()),
            receive_rate: self.rate.map(Rate::from_bytes_per_s),
            inner,
            ..Snapshot::default()
        }
    }
}

#[cfg(test)]
mod tests;
