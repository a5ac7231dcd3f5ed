//! The sending half: measures intervals, runs the state machine, and enforces its cap.

mod acks;
mod host_limit;
mod meter;

use super::attribution::Matcher;
use super::bucket::{Bucket, Limit};
use super::codes::{Cause, SendCode, Side, bits_per_s, per_billion};
use super::machine::{Machine, Measured, Reports, State, Verdict};
use super::options::{AckOptions, DECLARED_RATE_LEN, write_declared_rate};
use super::path::Rtt;
use super::reference::LossEvents;
use super::start_up::StartUp;
use super::time_scales::{TimeScales, longest_interval, nominal_interval};
use super::{Profile, SafeUdpConfig};
use crate::cc::config::{CcConfig, DEFAULT_RTT};
use crate::cc::{Admission, Feedback, HcSender, Permit, Run, Signal, Snapshot};
use crate::number::to_f64;
use crate::time::{Instant, Rate};
use crate::wire::OptionWriter;
use crate::wire::features::Feature;
use acks::Acks;
use core::time::Duration;
use host_limit::HostLimit;
use meter::{Meter, bytes};
use std::collections::VecDeque;

/// An interval is extended until this many packets are judged.
const JUDGED_LEAST: u64 = 50;
/// The start-up counts smaller first datagrams as this: its window is at least the initial one of RFC 5348 §4.2, 4380 bytes.
const START_SIZE_MIN: f64 = 438.0;
/// Packets of a batch. Nothing is held back, so a batch holds what the application sent together.
const BATCH: u32 = 64;
/// Datagrams dropped at one time. An application that always has more must not keep the engine busy.
const DROPS_AT_ONCE: u32 = 1024;
/// The part of the bucket that marked datagrams have for themselves, while they come …
const RESERVE: f64 = 0.5;
/// … which means: within this time.
const IMPORTANT_MEMORY: Duration = Duration::from_secs(1);
/// Notices that wait for the application.
const NOTICES: usize = 16;
/// The weight of a new packet size is one part of this.
const SIZE_GAIN: f64 = 16.0;
/// The Sequence Window has room for this multiple of the rate.
const RATE_HEADROOM: f64 = 2.0;

/// The state of the sending half.
#[derive(Debug)]
pub(crate) struct Sender {
    config: SafeUdpConfig,
    machine: Machine,
    scales: TimeScales,
    rtt: Rtt,
    /// Mean bytes of a datagram; 0 before the first.
    size: f64,
    start_up: Option<StartUp>,
    host_limit: HostLimit,
    bucket: Bucket,
    meter: Meter,
    matcher: Matcher,
    events: LossEvents,
    /// When the interval ends, unless nothing happens.
    ends: Option<Instant>,
    /// The last rates of an interval: offered, sent, and received according to the peer, in bytes per second.
    input: f64,
    sent: f64,
    receive_rate: Option<f64>,
    /// Datagrams dropped so far, and those dropped at the last time.
    dropped: u64,
    dropped_at: (Instant, u32),
    /// When the application last offered a marked datagram.
    important_at: Option<Instant>,
    was_dropped: bool,
    /// Totals of missing packets: network, sending host, receiving host, `host?`.
    attributed: [u64; 4],
    /// Intervals with signs of congestion in the network, and with signs of a limit in a host alone.
    network_intervals: u64,
    host_intervals: u64,
    /// Trips of each breaker since the begin, in the order of [`Cause::ALL`].
    trips: [u32; Cause::ALL.len()],
    /// The breaker that ended the connection, and the time before which no new one may begin.
    tripped: Option<(Cause, Instant)>,
    /// The end of the hold after a first trip. A new connection would escape it.
    throttled_until: Option<Instant>,
    /// When the grace of an advisory ends.
    deadline: Option<Instant>,
    notices: VecDeque<SendCode>,
    /// The next notice of Drop Code 0 comes after this.
    blocked_until: Option<Instant>,
    reset: Option<u8>,
    is_declaration_due: bool,
    acks: Acks,
}

impl Sender {
    pub(crate) fn new(config: &CcConfig) -> Self {
        let rtt = config.rtt.unwrap_or(DEFAULT_RTT);
        let safe_udp = config.safe_udp;
        let loss_limit = safe_udp.loss_limit.map(|ppm| f64::from(ppm) / 1e6);
        let is_shared = safe_udp.profile == Profile::Shared;
        let mut sender = Self {
            config: safe_udp,
            machine: Machine::new(safe_udp.profile, loss_limit),
            scales: TimeScales::new(rtt, nominal_interval(rtt)),
            rtt: Rtt::new(config.now, rtt),
            size: 0.0,
            start_up: is_shared.then(|| StartUp::new(0.0)),
            host_limit: HostLimit::default(),
            bucket: Bucket::default(),
            meter: Meter::new(config.now),
            matcher: Matcher::default(),
            events: LossEvents::default(),
            ends: None,
            input: 0.0,
            sent: 0.0,
            receive_rate: None,
            dropped: 0,
            dropped_at: (config.now, 0),
            important_at: None,
            was_dropped: false,
            attributed: [0; 4],
            network_intervals: 0,
            host_intervals: 0,
            trips: [0; Cause::ALL.len()],
            tripped: None,
            throttled_until: None,
            deadline: None,
            notices: VecDeque::new(),
            blocked_until: None,
            reset: None,
            is_declaration_due: safe_udp.declared_rate.is_some(),
            acks: Acks::new(config),
        };
        if let Some(rtt) = config.rtt {
            sender.rtt.sample(config.now, rtt);
        }
        sender
    }

    /// Bytes per second that the application declared; 0 if it did not.
    fn declared(&self) -> f64 {
        self.config.declared_rate.map_or(0.0, to_f64) / 8.0
    }

    /// The limit that is enforced now, if any.
    fn limit(&self, now: Instant) -> Option<Limit> {
        let cap = self.machine.cap().map(|cap| Limit::new(cap, self.size));
        let start = self.start_up.map(|start| start.limit(self.rtt.seconds()));
        let host = self.host_limit.rate(now);
        let host = host.map(|rate| Limit::new(rate, self.size));
        [cap, start, host].into_iter().flatten().reduce(Limit::min)
    }

    /// Bytes that a datagram without a mark must leave in the bucket, because marked ones have come lately.
    fn reserve(&self, now: Instant, limit: Limit, is_important: bool) -> f64 {
        let is_recent = self
            .important_at
            .is_some_and(|at| now - at < IMPORTANT_MEMORY);
        if is_recent && !is_important {
            RESERVE * limit.depth
        } else {
            0.0
        }
    }

    /// The application offers a datagram of `len` bytes.
    fn on_input(&mut self, now: Instant, len: f64) {
        self.size += (len.max(1.0) - self.size) / SIZE_GAIN;
        if let Some(start) = &mut self.start_up {
            start.on_input(len);
        }
        self.begin_interval(now);
    }

    fn begin_interval(&mut self, now: Instant) {
        if self.ends.is_none() {
            self.meter.restart(now);
            self.ends = Some(now + nominal_interval(self.rtt.smoothed()));
        }
    }

    /// Packets per round trip.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast from float saturates, and rates are not negative"
    )]
    fn window(&self) -> u32 {
        let packets = self.sent * self.rtt.seconds() / self.size.max(1.0);
        (packets as u32).max(1)
    }

    /// The interval has ended: measures it and takes a step.
    fn end_interval(&mut self, now: Instant, reports: Reports) {
        let rtt = self.rtt.smoothed();
        self.meter.claim_late(&mut self.matcher);
        let measured = Measured {
            interval: self.meter.interval(now, &self.rtt),
            reports,
            input: self.meter.input_rate(now),
            sent: self.meter.sent_rate(now),
            p_event: Some(self.events.rate()),
            rtt: self.rtt.seconds(),
            size: self.size.max(1.0),
            scales: TimeScales::new(rtt, self.meter.elapsed(now)),
        };
        self.scales = measured.scales;
        (self.input, self.sent) = (measured.input, measured.sent);
        let a = measured.interval.attribution();
        let places = [
            a.network - a.unknown_host,
            a.sending_host,
            a.receiving_host,
            a.unknown_host,
        ];
        for (total, n) in self.attributed.iter_mut().zip(places) {
            *total += n;
        }
        if a.network > 0 {
            self.network_intervals += 1;
        } else if measured.interval.is_host_tx() || measured.interval.is_host_rx() {
            self.host_intervals += 1;
        }
        let drops = self.meter.dropped();
        if self.machine.state() != State::Advisory {
            self.deadline = None;
        }
        for verdict in self.machine.step(&measured) {
            self.report(now, verdict, &measured);
        }
        if drops > 0
            && self.tripped.is_none()
            && let Some(limit) = self.limit(now)
        {
            let bits_per_s = bits_per_s(limit.rate);
            let dropped = self.dropped;
            self.notify(SendCode::Dropped {
                bits_per_s,
                dropped,
            });
        }
        if self.machine.is_calm(&self.scales) {
            self.events.forget();
        }
        self.matcher.end_interval();
        self.meter.restart(now);
        self.is_declaration_due = self.config.declared_rate.is_some();
    }

    /// Tells the application about a conclusion.
    fn report(&mut self, now: Instant, verdict: Verdict, m: &Measured) {
        if let Verdict::Throttle(cause) | Verdict::Trip(cause) = verdict {
            for (trips, of) in self.trips.iter_mut().zip(Cause::ALL) {
                *trips += u32::from(of == cause);
            }
        }
        match verdict {
            Verdict::Host(host) => {
                let rate = match host {
                    Side::Receiver => self.host_limit.last().or(self.receive_rate),
                    Side::Sender => None,
                };
                self.notify(SendCode::HostWarning {
                    host,
                    bits_per_s: bits_per_s(rate.unwrap_or(m.sent)),
                });
            }
            Verdict::Info(info) => self.notify(SendCode::Info(info)),
            Verdict::Advise => {
                let grace = self.machine.grace_left(&m.scales);
                self.deadline.get_or_insert(now + grace);
                self.notify(self.congestion(now));
            }
            Verdict::NoFeedback | Verdict::Enforce | Verdict::Throttle(_) => {
                if matches!(verdict, Verdict::Throttle(_)) {
                    self.throttled_until = Some(self.end_of_hold(now));
                }
                if let Some(cap) = self.machine.cap() {
                    self.notify(SendCode::Limited {
                        bits_per_s: bits_per_s(cap),
                    });
                }
            }
            Verdict::Raise | Verdict::Lower => {}
            Verdict::Trip(cause) => {
                let not_before = self.end_of_hold(now);
                self.tripped = Some((cause, not_before));
                self.reset = Some(cause.reset_code().0);
                self.notify(SendCode::Refused { cause, not_before });
            }
            Verdict::NotListening => self.notify(SendCode::NotListening),
        }
    }

    /// The end of a hold that begins now: one breaker window.
    fn end_of_hold(&self, now: Instant) -> Instant {
        now + self.scales.hold
    }

    fn congestion(&self, now: Instant) -> SendCode {
        SendCode::Congestion {
            advised_bits_per_s: bits_per_s(self.machine.advised()),
            tfrc_bits_per_s: bits_per_s(self.machine.tfrc()),
            loss_per_billion: per_billion(self.machine.loss()),
            deadline: self.deadline.unwrap_or(now),
        }
    }

    /// Adds a notice, unless the same one waits last.
    fn notify(&mut self, code: SendCode) {
        if self.notices.back() == Some(&code) {
            return;
        }
        if self.notices.len() == NOTICES {
            self.notices.pop_front();
        }
        self.notices.push_back(code);
    }
}

impl HcSender for Sender {
    fn permit(&self, now: Instant, _pipe: u32) -> Permit {
        match self.machine.state() {
            State::Open | State::PeerGone => Permit::OnFeedback,
            _ if self.limit(now).is_some() || self.size <= 0.0 => Permit::Now { packets: 1 },
            _ => Permit::Now { packets: BATCH },
        }
    }

    fn admits(&mut self, now: Instant, len: usize, is_important: bool) -> Admission {
        let len = bytes(len);
        if is_important {
            self.important_at = Some(now);
        }
        if self.size <= 0.0 {
            self.size = len.max(1.0);
            let size = self.size.max(START_SIZE_MIN);
            self.start_up = self.start_up.map(|_| StartUp::new(size));
        }
        let Some(limit) = self.limit(now) else {
            self.was_dropped = false;
            return Admission::Send;
        };
        let needed = len + self.reserve(now, limit, is_important);
        if self.bucket.has(now, needed, limit) {
            self.was_dropped = false;
            return Admission::Send;
        }
        let (at, drops) = &mut self.dropped_at;
        if *at != now {
            (*at, *drops) = (now, 0);
        }
        if *drops == DROPS_AT_ONCE {
            return Admission::At(self.bucket.next(now, needed, limit));
        }
        *drops += 1;
        self.on_input(now, len);
        self.meter.on_dropped(len);
        self.dropped += 1;
        self.was_dropped = true;
        Admission::Drop
    }

    fn on_blocked(&mut self, now: Instant) {
        self.meter.on_blocked(now);
    }

    fn on_send_failed(&mut self, packets: u32) {
        self.matcher.on_send_failed(packets);
    }

    fn data_options_len(&self) -> usize {
        if self.is_declaration_due {
            DECLARED_RATE_LEN
        } else {
            0
        }
    }

    fn packets_per_rtt(&self) -> Option<f64> {
        let start = self.start_up.map_or(0.0, |start| start.window());
        let rate = self.sent.max(self.declared());
        let bytes = RATE_HEADROOM * start.max(rate * self.rtt.seconds());
        (bytes > 0.0).then_some(bytes / self.size.max(1.0))
    }

    fn prepare(&mut self, _now: Instant, options: &mut OptionWriter) -> u8 {
        if self.is_declaration_due
            && let Some(rate) = self.config.declared_rate
        {
            write_declared_rate(u32::try_from(rate / 8).unwrap_or(u32::MAX), options);
        }
        0
    }

    fn on_sent(&mut self, run: &Run) {
        let len = bytes(run.payload_len);
        let sent = len * f64::from(run.packets);
        // The limit is that which admitted the run.
        if let Some(limit) = self.limit(run.now) {
            self.bucket.take(run.now, sent, limit);
        }
        for _ in 0..run.packets {
            self.on_input(run.now, len);
        }
        self.meter.on_sent(run, sent);
        self.host_limit.on_sent(run.now, sent);
        self.is_declaration_due = false;
        self.acks.on_sent(run.packets, self.window());
    }

    fn on_feedback(&mut self, now: Instant, fb: &Feedback<'_>) {
        if let Some(rtt) = fb.rtt {
            self.rtt.sample(now, rtt);
        }
        let options = AckOptions::read(fb.options);
        if let Some(count) = options.host_loss_count {
            self.matcher.on_host_loss_count(count);
        }
        self.receive_rate = options.receive_rate.map(f64::from).or(self.receive_rate);
        let matched = self.matcher.claim(fb.lost.packets.into());
        let judged = u64::from(fb.acked.packets) + u64::from(fb.marked.packets);
        let judged = judged + u64::from(fb.lost.packets);
        self.meter.on_feedback(fb, judged, matched);
        let in_network = u64::from(fb.lost.packets) - matched.failed - matched.host_losses
            + u64::from(fb.marked.packets)
            + u64::from(fb.drops.corrupt);
        let congestion = fb.congestion.filter(|_| in_network > 0);
        self.events.on_judged(judged, congestion, fb.gss);
        if fb.drops.protocol > 0 && self.blocked_until.is_none_or(|until| now >= until) {
            self.blocked_until = Some(now + self.rtt.smoothed());
            self.notify(SendCode::Blocked);
        }
        // RFC 4340 §11.7.2: a packet per round trip less for each that found no buffer.
        let no_buffer = u64::from(fb.drops.receive_buffer) + matched.host_losses;
        self.host_limit.on_feedback(
            now,
            fb.round,
            no_buffer,
            self.size.max(1.0),
            self.rtt.smoothed(),
        );
        let declared = self.declared() * self.rtt.seconds();
        if let Some(start) = &mut self.start_up {
            if in_network > 0 || no_buffer > 0 || fb.slow_receiver {
                start.object();
            }
            let may_double = matches!(
                self.machine.state(),
                State::Clear | State::Host | State::Eval
            );
            if may_double && start.on_round(fb.round, declared) {
                self.start_up = None;
            }
        }
        self.acks.on_feedback(fb, self.window());
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.ends
    }

    fn on_timeout(&mut self, now: Instant) -> bool {
        let rtt = self.rtt.smoothed();
        let elapsed = self.meter.elapsed(now);
        let next = nominal_interval(rtt);
        if matches!(self.machine.state(), State::Open | State::PeerGone) {
            self.ends = None;
            return false;
        }
        if let Some(silence) = self.meter.silence(now, next) {
            self.end_interval(now, Reports::Silent(silence));
        } else if self.meter.is_idle() {
            // The packets in flight left an interval ago or earlier, and no later packet shows that they are lost.
            self.machine.idle(elapsed);
            self.matcher.end_interval();
            self.meter.pause(now);
            let goes_on = self.machine.state() == State::Throttled;
            self.ends = goes_on.then_some(now + next);
            return true;
        } else if self.meter.judged() >= JUDGED_LEAST || elapsed >= longest_interval(rtt) {
            let reports = if self.meter.is_stalled() {
                Reports::Stalled
            } else {
                Reports::News
            };
            self.end_interval(now, reports);
        }
        self.ends = Some(now + next);
        false
    }

    fn poll_signal(&mut self) -> Option<Signal> {
        if let Some(code) = self.reset.take() {
            return Some(Signal::Reset(code));
        }
        self.acks.poll(self.window())
    }

    fn poll_notice(&mut self) -> Option<SendCode> {
        self.notices.pop_front()
    }

    fn send_code(&self, now: Instant) -> Option<SendCode> {
        if let Some((cause, not_before)) = self.tripped {
            return Some(SendCode::Refused { cause, not_before });
        }
        let limit = self.limit(now).filter(|_| self.size > 0.0);
        Some(match (self.machine.state(), limit) {
            (State::PeerGone, _) => SendCode::NotListening,
            // The start-up may drop datagrams meanwhile; that is no enforcement.
            (State::Advisory, _) => self.congestion(now),
            (_, Some(limit)) if self.was_dropped => SendCode::Dropped {
                bits_per_s: bits_per_s(limit.rate),
                dropped: self.dropped,
            },
            (_, Some(limit)) => SendCode::Limited {
                bits_per_s: bits_per_s(limit.rate),
            },
            _ => SendCode::Sent,
        })
    }

    fn hold_off(&self) -> Option<Instant> {
        let tripped = self.tripped.map(|(_, not_before)| not_before);
        tripped.or(self.throttled_until)
    }

    fn is_overdue(&self, now: Instant) -> bool {
        let least = nominal_interval(self.rtt.smoothed());
        self.meter.silence(now, least).is_some()
    }

    fn on_rtt_hint(&mut self, now: Instant, rtt: Duration) {
        self.rtt.sample(now, rtt);
    }

    fn on_mps(&mut self, _mps: usize) {}

    fn on_feature(&mut self, feature: u8, value: u64) {
        if feature == Feature::AckRatio.number() {
            self.acks.on_confirm(value);
        }
    }

    fn snapshot(&self) -> Snapshot {
        let [network, sending, receiving, unknown] = self.attributed.map(to_f64);
        let finite = |rate: f64| rate.is_finite().then_some(rate);
        let mut inner = vec![
            ("input_bytes_per_s", self.input),
            ("sent_bytes_per_s", self.sent),
            ("lost_network", network),
            ("lost_sending_host", sending),
            ("lost_receiving_host", receiving),
            ("lost_host?", unknown),
            ("intervals_network", to_f64(self.network_intervals)),
            ("intervals_host", to_f64(self.host_intervals)),
            ("dropped", to_f64(self.dropped)),
            ("trips", self.machine.trips().into()),
            ("loss", self.machine.loss()),
            ("ack_ratio", self.acks.ratio().into()),
        ];
        let trips = Cause::ALL.into_iter().zip(self.trips);
        inner.extend(trips.map(|(cause, trips)| (cause.trips_name(), trips.into())));
        inner.extend(finite(self.machine.tfrc()).map(|rate| ("tfrc_bytes_per_s", rate)));
        inner.extend(finite(self.machine.advised()).map(|rate| ("advised_bytes_per_s", rate)));
        let rate = self.machine.cap().or_else(|| {
            let start = self.start_up.filter(|start| start.window() > 0.0);
            start.map(|start| start.window() / self.rtt.seconds())
        });
        let is_starting = self.start_up.is_some() && self.machine.state() == State::Clear;
        Snapshot {
            rate: rate.map(Rate::from_bytes_per_s),
            rtt: Some(self.rtt.smoothed()),
            loss_event_rate: Some(self.events.rate()),
            loss_events: Some(self.events.events()),
            receive_rate: self.receive_rate.map(Rate::from_bytes_per_s),
            phase: Some(if is_starting {
                "start_up"
            } else {
                self.machine.state().name()
            }),
            inner,
            ..Snapshot::default()
        }
    }
}

#[cfg(test)]
mod tests;
