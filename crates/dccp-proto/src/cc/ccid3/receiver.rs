//! The receiving half of CCID 3: feedback about once per round trip (RFC 4342 §6, §8, §10.3;
//! RFC 5348 §6).

use super::loss_history::{Change, LossHistory, Packet};
use super::loss_intervals::{INTERVALS, Weighed, loss_event_rate};
use super::receive_rate::ReceiveRate;
use super::receiver_rtt::{Hint, ReceiverRtt};
use super::variant::{Counted, Meter, Tfrc, Variant};
use super::{packets, whole};
use crate::cc::config::CcConfig;
use crate::cc::{AckDue, Arrival, HcReceiver, OutgoingAck, Signal, Snapshot};
use crate::number::to_f64;
use crate::seq::Seq;
use crate::time::{Instant, Rate};
use crate::wire::ccid_options::{CcidOpt, LossInterval, push_dropped_packets, push_loss_intervals};
use crate::wire::features::Feature;
use crate::wire::{NoSpace, Opt, OptionWriter, PacketType};
use core::time::Duration;

/// The window counter's advance that makes feedback due: a round trip (4342-10.3-1).
const ROUND_TRIP: u64 = 4;
/// How many packets per round trip the first loss interval stands for at least (5348-6.3.1-1).
const FIRST_RATE_MIN: f64 = 0.5;
/// Receive Rate, Loss Event Rate and Loss Intervals with all intervals that count.
const FEEDBACK_LEN_MAX: usize = 6 + 6 + 3 + 9 * INTERVALS;
/// Dropped Packets with as many counts.
const DROPS_LEN_MAX: usize = 2 + 3 * INTERVALS;
/// The retry delay of feedback that found no room, because a round trip may be microseconds.
const NO_ROOM_PAUSE: Duration = Duration::from_millis(100);
/// Loss Event Rate while nothing was lost (RFC 4342 §8.5).
const NO_LOSS: u32 = u32::MAX;

/// The receiving half of CCID 3, or of its variant.
#[derive(Debug)]
pub(in crate::cc) struct Receiver<V: Variant = Tfrc> {
    variant: V,
    history: LossHistory,
    rtt: ReceiverRtt,
    /// From the first data packet on.
    rate: Option<ReceiveRate>,
    /// From the first data packet on.
    meter: Option<V::Meter>,
    sends_loss_event_rate: bool,
    is_due: bool,
    /// The window counter when feedback was last sent.
    counter: Option<u64>,
    /// When the first data packet since then arrived.
    pending_since: Option<Instant>,
    bad_option: Option<[u8; 3]>,
}

impl<V: Variant> Receiver<V> {
    pub(in crate::cc) fn new(config: &CcConfig) -> Self {
        let mut variant = V::default();
        // The peer's own is not known; paths are mostly as wide in both directions.
        variant.on_mps(config.mps);
        Self {
            variant,
            history: LossHistory::default(),
            rtt: ReceiverRtt::new(config.rtt),
            rate: None,
            meter: None,
            sends_loss_event_rate: false,
            is_due: false,
            counter: None,
            pending_since: None,
            bad_option: None,
        }
    }

    /// Counts a data packet. The first one is answered at once (5348-6.3-1).
    fn on_data(&mut self, p: &Arrival<'_>) {
        let bytes = p.payload_len as u64;
        if let Some(rate) = &mut self.rate {
            rate.on_data(p.now, bytes, self.rtt.rtt());
        } else {
            self.rate = Some(ReceiveRate::new(p.now, bytes));
            self.is_due = true;
            self.meter = Some(V::Meter::new(p.now, self.rtt.rtt()));
        }
        if let Some(meter) = &mut self.meter {
            meter.on_data(p.now, self.history.counter(), bytes);
        }
        self.pending_since.get_or_insert(p.now);
        // 4342-10.3-1
        self.is_due |= self
            .counter
            .is_some_and(|counter| self.history.counter() >= counter + ROUND_TRIP);
    }

    /// The first loss event: the interval before it is as long as the equation says for the rate
    /// that was reached without loss (5348-6.3.1-1).
    fn synthesize_first_interval(&mut self, now: Instant) {
        let rtt = self.rtt.rtt();
        let r = rtt.as_secs_f64();
        let (s, max) = self
            .rate
            .map_or((1.0, 0.0), |rate| (rate.mean_size(), rate.max(rtt)));
        if let Some(length) = self.meter.as_ref().and_then(|m| m.first_interval(now, s)) {
            self.history.set_first_length(length);
            return;
        }
        let least = FIRST_RATE_MIN * s / r;
        let target = if self.history.began_with_loss() {
            least
        } else {
            max.max(least)
        };
        let p = self.variant.loss_event_rate(s, r, target);
        self.history.set_first_length(packets(1.0 / p - 0.5).max(1));
    }

    /// The sender's estimate, if it is a number (6323-3.3-2).
    fn told_rtt(&mut self, p: &Arrival<'_>) -> Option<Duration> {
        let mut told = None;
        for option in p.options {
            let Opt::CcidSpecific { kind, data } = option else {
                continue;
            };
            match CcidOpt::decode(V::CCID, kind, data) {
                CcidOpt::RttEstimate(estimate) => told = estimate.rtt(),
                // Options of Data packets never reset (4340-7.5.5-2).
                CcidOpt::Malformed
                    if CcidOpt::is_from_hc_sender(kind) && p.packet_type != PacketType::Data =>
                {
                    let length = u8::try_from(data.len() + 2).unwrap_or(u8::MAX);
                    let first = data.first().copied().unwrap_or(0);
                    self.bad_option = Some([kind, length, first]);
                }
                _ => {}
            }
        }
        told
    }

    /// The loss event rate in the form of Loss Event Rate: data packets per event, rounded up.
    fn inverse_loss_event_rate(&self) -> u32 {
        let intervals = self.history.intervals().enumerate();
        let weighed = intervals.map(|(place, interval)| {
            Weighed::new(V::length(&Counted {
                data: to_f64(interval.data),
                drops: to_f64(interval.drops),
                is_short: interval.loss > 0 && interval.ticks <= 2 * ROUND_TRIP,
                is_open: place == 0,
            }))
        });
        let p = loss_event_rate(weighed, 1.0);
        if p > 0.0 {
            whole(1.0 / p).min(NO_LOSS - 1)
        } else {
            NO_LOSS
        }
    }

    /// The receive rate in bytes per second, as a feedback packet reports it. The first reports 0 (5348-6.3-1).
    fn told_rate(&self, now: Instant) -> Option<f64> {
        let rate = self.rate?;
        let own = self.meter.as_ref().and_then(|meter| meter.rate(now));
        Some(own.unwrap_or_else(|| rate.rate(self.rtt.rtt())))
    }

    /// Writes the options of a feedback packet: all that is known of losses and marks (4340-11-1).
    fn push_feedback(&self, rate: f64, options: &mut OptionWriter) -> Result<(), NoSpace> {
        // 4342-8.3-1
        CcidOpt::ReceiveRate(whole(rate)).push(options)?;
        // 4342-8.4-1
        if self.sends_loss_event_rate {
            CcidOpt::LossEventRate(self.inverse_loss_event_rate()).push(options)?;
        }
        // 4342-8.6-1
        let mut intervals = [LossInterval::default(); INTERVALS];
        let mut drops = [0; INTERVALS];
        let mut n = 0;
        let told = intervals.iter_mut().zip(&mut drops);
        for ((to, drops), interval) in told.zip(self.history.intervals()) {
            *to = interval.into();
            *drops = u32::try_from(interval.drops).unwrap_or(u32::MAX);
            n += 1;
        }
        let intervals = intervals.get(..n).unwrap_or_default();
        push_loss_intervals(options, self.history.skip(), intervals)?;
        if V::TELLS_DROPS {
            // 5622-8.7-1
            push_dropped_packets(options, drops.get(..n).unwrap_or_default())?;
        }
        Ok(())
    }
}

impl<V: Variant> HcReceiver for Receiver<V> {
    fn on_packet(&mut self, p: &Arrival<'_>) {
        let events = self.history.event_count();
        let change = self.history.on_packet(&Packet {
            seq: p.seq,
            ccval: p.is_data.then_some(p.ccval),
            ecn: p.ecn,
            ndp_count: p.ndp_count.unwrap_or(0),
        });
        if change == Change::Ignored {
            return;
        }
        let told = if self.rtt.is_promised() {
            self.told_rtt(p)
        } else {
            None
        };
        self.rtt.on_packet(&Hint {
            now: p.now,
            counter: self.history.counter(),
            own: p.rtt,
            told,
        });
        if p.is_data {
            self.variant.on_header(p.is_short);
            self.on_data(p);
        }
        // 5348-6-1: at once on a new loss event, and when one turns out to be none; 5348-6.2-1: but
        // never without new data.
        self.is_due |= change != Change::None && self.pending_since.is_some();
        if events == 0 && change == Change::Event {
            self.synthesize_first_interval(p.now);
        }
    }

    fn ack_due(&self, now: Instant) -> AckDue {
        match self.pending_since {
            _ if self.is_due => AckDue::Now,
            // The feedback timer of 4342-10.3-1 covers the last packets before a pause. No later
            // counter reports them.
            Some(since) => AckDue::at(since + 2 * self.rtt.rtt(), now),
            None => AckDue::No,
        }
    }

    fn ack_options_len(&self, now: Instant) -> usize {
        if self.ack_due(now) == AckDue::Now {
            FEEDBACK_LEN_MAX + if V::TELLS_DROPS { DROPS_LEN_MAX } else { 0 }
        } else {
            0
        }
    }

    fn on_ack(&mut self, ack: &mut OutgoingAck<'_>) -> bool {
        let is_due = self.ack_due(ack.now) == AckDue::Now;
        // 5348-6.2-1: without new data there is nothing to report.
        let (Some(rate), true) = (self.told_rate(ack.now), is_due) else {
            return true;
        };
        let start = ack.options.len();
        if self.push_feedback(rate, ack.options).is_err() {
            ack.options.truncate(start);
            // Other options take all room, perhaps for long: the feedback timer tries again.
            self.is_due = false;
            self.pending_since = Some(ack.now + NO_ROOM_PAUSE);
            return false;
        }
        if let Some(meter) = &mut self.rate {
            meter.on_feedback(self.rtt.rtt());
        }
        if let Some(meter) = &mut self.meter {
            meter.on_feedback(ack.now);
        }
        self.counter = Some(self.history.counter());
        self.pending_since = None;
        self.is_due = false;
        true
    }

    fn wants_elapsed_time(&self) -> bool {
        // 4342-8.2-1
        true
    }

    fn on_rollback(&mut self, newest: Seq) {
        self.history.roll_back(newest);
    }

    fn poll_signal(&mut self) -> Option<Signal> {
        self.bad_option.take().map(Signal::OptionError)
    }

    fn on_feature(&mut self, feature: u8, value: u64) {
        match Feature::from_number(feature) {
            Some(Feature::SendLossEventRate) => self.sends_loss_event_rate = value == 1,
            Some(Feature::SendRttEstimate) => self.rtt.on_promise(value == 1),
            _ => {}
        }
    }

    fn snapshot(&self) -> Snapshot {
        let rtt = self.rtt.rtt();
        let p = match self.inverse_loss_event_rate() {
            NO_LOSS => 0.0,
            inverse => 1.0 / f64::from(inverse),
        };
        Snapshot {
            rtt: Some(rtt),
            loss_event_rate: Some(p),
            receive_rate: self
                .rate
                .map(|meter| Rate::from_bytes_per_s(meter.rate(rtt))),
            loss_events: Some(self.history.event_count()),
            missing: Some(self.history.missing_data()),
            ..Snapshot::default()
        }
    }
}

#[cfg(test)]
mod tests;
