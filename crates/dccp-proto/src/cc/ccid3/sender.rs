//! The sending half of CCID 3 (RFC 5348 §4, §8; RFC 4342 §5, §8.1).

use super::data_limited::NotLimited;
use super::equation::{T_MBI, initial_window};
use super::host_limits::HostLimits;
use super::report::{Report, Reports};
use super::round_trip::RoundTrip;
use super::seconds;
use super::sent_rate::SentRate;
use super::variant::{SlowStart, Tfrc, Variant};
use super::window_counter::WindowCounter;
use super::x_recv_set::XRecvSet;
use crate::cc::config::CcConfig;
use crate::cc::pacer::{Pacer, commit_horizon};
use crate::cc::{Feedback, HcSender, Permit, Run, Signal, Snapshot};
use crate::number::to_f64;
use crate::time::{Instant, Rate};
use crate::wire::ccid_options::{CcidOpt, RttEstimate};
use crate::wire::features::Feature;
use crate::wire::{Opt, OptionWriter};
use core::time::Duration;

/// The nofeedback timer before the first feedback (5348-4.2-1).
const FIRST_NOFEEDBACK: Duration = Duration::from_secs(2);
/// A data-limited sender's share of the receive rate after a loss (5348-4.3-3).
const LIMITED_LOSS: f64 = 0.85;

/// How far the exchange has come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Stage {
    /// No data was sent.
    New,
    /// Data was sent, but there was no feedback.
    Sent,
    /// There was feedback.
    Answered,
}

/// The sending half of CCID 3, or of its variant.
#[derive(Debug)]
pub(in crate::cc) struct Sender<V = Tfrc> {
    variant: V,
    s: f64,
    /// Size of the last packet.
    last_len: f64,
    granularity: Duration,
    x: f64,
    p: f64,
    round_trip: Option<RoundTrip>,
    tld: Instant,
    reports: Reports,
    x_recv_set: XRecvSet,
    not_limited: NotLimited,
    stage: Stage,
    nofeedback: Option<Instant>,
    /// Data was sent since the nofeedback timer was set.
    is_active: bool,
    counter: WindowCounter,
    pacer: Pacer,
    /// No packet leaves before.
    earliest: Instant,
    host_limits: HostLimits,
    sent_rate: SentRate,
    /// The most bytes per second before the peer has reported a loss event; infinite after it (4340-12.3-3).
    unproven_max: f64,
    sends_rtt: bool,
    acks: AcksOfAcks,
}

/// Acknowledges the peer's Ack Vectors and Data Dropped once per round trip (4342-6.3-1).
#[derive(Debug)]
struct AcksOfAcks {
    /// The peer sent what it must keep until it is acknowledged.
    is_needed: bool,
    last: Instant,
    is_due: bool,
}

impl AcksOfAcks {
    fn on_feedback(&mut self, fb: &Feedback<'_>) {
        self.is_needed |= fb
            .options
            .iter()
            .any(|o| matches!(o, Opt::AckVector { .. } | Opt::DataDropped(_)));
    }

    fn on_sent(&mut self, now: Instant, rtt: Duration) {
        if self.is_needed && now - self.last >= rtt {
            self.is_needed = false;
            self.last = now;
            self.is_due = true;
        }
    }
}

impl<V: Variant> Sender<V> {
    pub(in crate::cc) fn new(config: &CcConfig) -> Self {
        let mut variant = V::default();
        variant.on_mps(config.mps);
        let mut sender = Self {
            variant,
            s: to_f64(config.mps as u64).max(1.0),
            last_len: 0.0,
            granularity: config.granularity,
            x: 0.0,
            p: 0.0,
            round_trip: None,
            tld: config.now,
            reports: Reports::default(),
            x_recv_set: XRecvSet::new(config.now),
            not_limited: NotLimited::default(),
            stage: Stage::New,
            nofeedback: None,
            is_active: false,
            counter: WindowCounter::default(),
            pacer: Pacer::new(config.granularity),
            earliest: config.now,
            host_limits: HostLimits::default(),
            sent_rate: SentRate::new(config.now),
            unproven_max: config.max_rate.map_or(f64::INFINITY, Rate::bytes_per_s),
            sends_rtt: false,
            acks: AcksOfAcks {
                is_needed: false,
                last: config.now,
                is_due: false,
            },
        };
        // 5348-4.2-1: one packet per second until there is a round-trip time.
        sender.x = sender.s;
        if let Some(rtt) = config.rtt {
            sender.on_rtt_hint(config.now, rtt);
        }
        sender
    }

    fn rtt(&self) -> Option<Duration> {
        self.round_trip.map(|t| seconds(t.r))
    }

    /// The rate of 2 to 4 packets per round trip to start with, and to return to after idling
    /// (4342-5-1).
    fn initial_rate(&self) -> f64 {
        let window = if V::SLOW_START == SlowStart::Rfc3448 {
            self.s
        } else {
            initial_window(self.s)
        };
        self.round_trip.map_or(self.s, |t| window / t.r)
    }

    /// One packet per 64 s.
    fn x_min(&self) -> f64 {
        self.s / T_MBI
    }

    fn x_inst(&self) -> f64 {
        let is_undamped = V::SLOW_START == SlowStart::Rfc3448 && self.p <= 0.0;
        let round_trip = self.round_trip.filter(|_| !is_undamped);
        let damping = round_trip.map_or(1.0, |t| t.damping());
        (self.x * damping).max(self.x_min())
    }

    /// Time between packets, `t_ipi` (5348-4.6-1). A packet that is much larger than the mean takes its
    /// own time: at `s / x` it would exceed the rate, a hundredfold in one simulation, until the mean
    /// has followed.
    fn interval(&self) -> Duration {
        let is_large = self.last_len > 2.0 * self.s;
        let size = if is_large { self.last_len } else { self.s };
        seconds(size / self.x_inst()).max(V::SPACING)
    }

    /// Returns the allowed bytes per second: the rate, or less where the spacing limits it.
    fn allowed(&self) -> f64 {
        self.x.min(self.s / V::SPACING.as_secs_f64())
    }

    /// How early a packet may leave (5348-8.3-1).
    fn t_delta(&self, interval: Duration) -> Duration {
        let rtt = self.rtt().unwrap_or(interval);
        interval.min(self.granularity).min(rtt) / 2
    }

    fn on_rtt_sample(&mut self, now: Instant, sample: Duration) {
        let sample = sample.max(Duration::from_micros(1)).as_secs_f64();
        if let Some(t) = &mut self.round_trip {
            t.update(sample);
        } else {
            self.round_trip = Some(RoundTrip::first(sample));
            // 5348-4.2-1
            self.tld = now;
            self.x = self.initial_rate();
        }
    }

    /// The rate that the throughput equation gives: infinite without loss, as without a round trip.
    fn x_bps(&self) -> f64 {
        self.round_trip
            .map_or(f64::INFINITY, |t| self.variant.rate(self.s, t.r, self.p))
    }

    /// Puts the receive rate into its set and returns `recv_limit` (5348-4.3-2, 5348-4.3-3).
    fn recv_limit(&mut self, now: Instant, fb: &Feedback<'_>, report: &Report) -> f64 {
        let rtt = self.rtt().unwrap_or_default();
        let sent = fb.ack_sent_at.unwrap_or(now - rtt);
        let was_limited = self.not_limited.was_data_limited(sent, rtt);
        if report.x_recv <= 0.0 {
            // The peer has not measured yet: its first feedback says 0 (5348-6.3-1). If that is also
            // the first to come and tells of a loss, a limit of 0 would silence the flow for a minute.
            return 2.0 * self.x_recv_set.max();
        }
        let packet_rate = self.round_trip.map_or(0.0, |t| self.s / t.r);
        // 4340-12.3-4: the peer received no more than it was sent.
        let x_inrecv = report.x_recv.min(self.sent_rate.max(rtt));
        let x_recv = self.host_limits.limit(x_inrecv, packet_rate);
        // 4342-5.2-1: what the peer's host asks for holds at once. The rates of earlier round trips would undo it.
        let is_host_limited = x_recv < x_inrecv;
        if is_host_limited || V::SLOW_START == SlowStart::Rfc3448 {
            self.x_recv_set.replace(now, x_recv);
            2.0 * x_recv
        } else if !was_limited {
            self.x_recv_set.add(now, x_recv, 2 * rtt);
            2.0 * self.x_recv_set.max()
        } else if report.is_worse {
            self.x_recv_set.halve();
            self.x_recv_set.maximize(now, LIMITED_LOSS * x_recv);
            self.x_recv_set.max()
        } else {
            self.x_recv_set.maximize(now, x_recv);
            2.0 * self.x_recv_set.max()
        }
    }

    /// A new rate within `recv_limit` (5348-4.3-4).
    fn update_x(&mut self, now: Instant, recv_limit: f64) {
        if self.round_trip.is_none() {
            // 5348-4.2-1: whatever a peer tells that gave no sample, which would be the only limit.
        } else if self.p > 0.0 {
            self.x = self.x_bps().min(recv_limit).max(self.x_min());
        } else if now - self.tld >= self.rtt().unwrap_or(Duration::MAX) {
            self.x = (2.0 * self.x).min(recv_limit).max(self.initial_rate());
            self.tld = now;
        }
        // 4340-12.3-3: a receiver that hides loss events from the start gets no more.
        self.x = self.x.min(self.unproven_max.max(self.x_min()));
    }

    fn restart_nofeedback(&mut self, now: Instant) {
        self.nofeedback = Some(now + self.nofeedback_interval());
        self.is_active = false;
    }

    /// `max(4 r, 2 s / x)` (5348-4.3-1).
    fn nofeedback_interval(&self) -> Duration {
        let r = self.round_trip.map_or(0.0, |t| t.r);
        seconds((4.0 * r).max(2.0 * self.s / self.x))
    }

    /// A feedback packet arrived.
    fn on_report(&mut self, now: Instant, fb: &Feedback<'_>, report: &Report) {
        self.p = report.p;
        if self.p > 0.0 {
            self.unproven_max = f64::INFINITY;
        }
        let recv_limit = self.recv_limit(now, fb, report);
        self.update_x(now, recv_limit);
        self.stage = Stage::Answered;
        self.restart_nofeedback(now);
    }

    /// No feedback for four round trips (5348-4.4-1).
    fn halve(&mut self, now: Instant) {
        let x_recv = self.x_recv_set.max();
        let x_bps = self.x_bps();
        if self.p <= 0.0 || self.round_trip.is_none() {
            self.x = (self.x / 2.0).max(self.x_min());
        } else if x_bps > 2.0 * x_recv {
            self.update_limits(now, x_recv);
        } else {
            self.update_limits(now, x_bps / 2.0);
        }
    }

    /// 5348-4.4-2
    fn update_limits(&mut self, now: Instant, limit: f64) {
        let limit = limit.max(self.x_min());
        self.x_recv_set.replace(now, limit / 2.0);
        self.update_x(now, limit);
    }

    /// An idle sender keeps the rate that it may start with again.
    fn is_idle_enough(&self) -> bool {
        let recover_rate = self.initial_rate();
        let is_slow = if self.p > 0.0 {
            self.x_recv_set.max() < recover_rate
        } else {
            self.x < 2.0 * recover_rate
        };
        !self.is_active && (is_slow || self.round_trip.is_none())
    }

    /// 6323-3.3-1
    fn push_rtt_estimate(&self, options: &mut OptionWriter) {
        if self.sends_rtt {
            // Where even five bytes do not fit, the next packet will do.
            let _ = CcidOpt::RttEstimate(RttEstimate::new(self.rtt())).push(options);
        }
    }
}

impl<V: Variant> HcSender for Sender<V> {
    fn permit(&self, now: Instant, _pipe: u32) -> Permit {
        let interval = self.interval();
        let (rtt, early) = (self.rtt(), self.t_delta(interval));
        let pacer_rtt = rtt.unwrap_or_default().into();
        let paced = self
            .pacer
            .permit(now, interval.into(), pacer_rtt, early.into());
        match paced {
            Err(next) => Permit::At(next.max(self.earliest)),
            Ok(_) if now < self.earliest => Permit::At(self.earliest),
            Ok(packets) => Permit::Now {
                packets: packets.min(commit_horizon(interval, rtt.unwrap_or(interval) / 4)),
            },
        }
    }

    fn packets_per_rtt(&self) -> Option<f64> {
        self.round_trip.map(|t| self.allowed() * t.r / self.s)
    }

    fn data_options_len(&self) -> usize {
        if self.sends_rtt {
            RttEstimate::new(self.rtt()).wire_len()
        } else {
            0
        }
    }

    fn prepare(&mut self, now: Instant, options: &mut OptionWriter) -> u8 {
        self.push_rtt_estimate(options);
        self.counter.on_send(now, self.rtt())
    }

    fn on_sent(&mut self, run: &Run) {
        let now = run.now;
        let len = to_f64(run.payload_len as u64);
        if self.stage == Stage::New {
            self.stage = Stage::Sent;
            self.s = len.max(1.0);
            self.x = self.initial_rate();
        }
        self.variant.on_header(run.is_short);
        self.variant.on_sent(run.last, now);
        let rtt = self.rtt().unwrap_or_default();
        self.sent_rate
            .on_sent(now, self.rtt().unwrap_or(Duration::MAX), run);
        self.pacer.on_sent(now, self.interval().into(), rtt.into());
        self.last_len = len;
        self.pacer
            .on_more_sent(run.packets - 1, self.interval().into());
        self.earliest = now + V::SPACING;
        if run.packets > 1 {
            // Behind the first packet of the run more data waited.
            self.not_limited.on_sent(now, true);
        }
        self.not_limited.on_sent(now, run.has_more);
        if self.nofeedback.is_none() {
            let interval = match self.stage {
                Stage::Answered => self.nofeedback_interval(),
                _ => self.nofeedback_interval().max(FIRST_NOFEEDBACK),
            };
            self.nofeedback = Some(now + interval);
        }
        self.is_active = true;
        self.acks.on_sent(now, rtt);
    }

    fn on_feedback(&mut self, now: Instant, fb: &Feedback<'_>) {
        if let Some(ccval) = fb.ack_ccval {
            self.counter.on_ack(now, ccval);
        }
        self.host_limits.on_feedback(fb);
        self.acks.on_feedback(fb);
        let rtt = self.rtt().or(fb.rtt).unwrap_or_default();
        let Some(report) = self.reports.read(fb, &self.variant, rtt) else {
            return;
        };
        // Not to the letter of 5348-4.1-1: the mean of the latest packets, not of four loss
        // intervals. Where nothing is lost those never end, and an application that turns to smaller
        // packets would see its receive rate, and with it its limit, collapse.
        self.s = to_f64(fb.mean_size as u64).max(1.0);
        if let Some(sample) = fb.rtt {
            self.on_rtt_sample(now, sample);
        }
        self.on_report(now, fb, &report);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.nofeedback
    }

    fn on_timeout(&mut self, now: Instant) -> bool {
        if self.nofeedback.is_none_or(|at| now < at) {
            return false;
        }
        if self.is_idle_enough() {
            // Nothing will change before data is sent again; the timer starts with that.
            self.nofeedback = None;
        } else {
            self.halve(now);
            self.restart_nofeedback(now);
        }
        false
    }

    fn poll_signal(&mut self) -> Option<Signal> {
        core::mem::take(&mut self.acks.is_due).then_some(Signal::SendAck)
    }

    fn on_rtt_hint(&mut self, now: Instant, rtt: Duration) {
        if self.round_trip.is_none() && V::SLOW_START == SlowStart::Rfc5348 {
            self.on_rtt_sample(now, rtt);
        }
    }

    fn on_mps(&mut self, mps: usize) {
        self.variant.on_mps(mps);
    }

    fn on_send_sync(&mut self, options: &mut OptionWriter) {
        self.push_rtt_estimate(options);
    }

    fn on_feature(&mut self, feature: u8, value: u64) {
        if feature == Feature::SendRttEstimate.number() {
            self.sends_rtt = value == 1;
        }
    }

    fn snapshot(&self) -> Snapshot {
        let phase = match self.round_trip {
            None => "initial",
            Some(_) if self.p > 0.0 => "equation",
            Some(_) => "slow_start",
        };
        let x_recv = Some(self.x_recv_set.max()).filter(|x| x.is_finite());
        Snapshot {
            rate: Some(Rate::from_bytes_per_s(self.allowed())),
            rtt: self.rtt(),
            rto: Some(self.nofeedback_interval()),
            loss_event_rate: Some(self.p),
            loss_events: self.reports.events(),
            receive_rate: x_recv.map(Rate::from_bytes_per_s),
            phase: Some(phase),
            inner: vec![("s", self.s), ("x_inst", self.x_inst())],
            ..Snapshot::default()
        }
    }
}

#[cfg(test)]
mod tests;
