//! The window sender: everything that window-based congestion controls share (RFC 4341 §5).
//!
//! It compares the packets in flight (`pipe`) with the congestion window and runs slow start and the
//! transmit timeout. It separates congestion events, spreads packets over the round trip, and
//! notices when the application, not the window, is the limit. A [`Law`] defines how the window
//! answers congestion.
//!
//! It knows packets by number and no header, so the simulator's TCP uses it as CCID 2 does.

use super::config::CcConfig;
use super::law::{Ack, Cause, Congestion, Law, Wants, Window};
use super::one_way::{OneWay, Times};
use super::pacer::{Pacer, commit_horizon, seconds};
use super::rtt::RttEstimator;
use super::slow_start::SlowStart;
use super::window_rules::{Ccid2Rules, WindowRules};
use super::{Feedback, Permit, Snapshot};
use crate::seq::Seq;
use crate::time::{Instant, Nanos, Rate};
use core::time::Duration;

/// How much faster than one window per round trip packets may leave in slow start (`docs/design.md`, decision 8b).
const PACING_SLOW_START: f64 = 2.0;
/// The same in congestion avoidance: so much that the window, not the pacer, is the limit.
const PACING_AVOID: f64 = 1.2;

/// A law's rate counts as this at least, in packets per second: an interval is never endless.
const PACING_RATE_MIN: f64 = 0.01;

/// The initial window in packets for packets of this many bytes of application data
/// (4341-5-9; the packet-size classes of RFC 5681 §3.1).
pub const fn initial_window(packet_size: usize) -> u32 {
    match packet_size {
        0..=1095 => 4,
        1096..=2190 => 3,
        _ => 2,
    }
}

/// Data packets that left together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// When.
    pub now: Instant,
    /// The greatest number sent so far. A retransmission has a smaller one.
    pub seq: Seq,
    /// How many packets left, at least 1.
    pub packets: u32,
    /// Data packets in flight before them.
    pub pipe: u32,
}

/// A sender that keeps at most a window of packets in flight; `R` are the rules of its transport protocol.
pub struct WindowSender<R = Ccid2Rules> {
    law: Box<dyn Law>,
    rules: R,
    wants: Wants,
    window: Window,
    max_window: u32,
    initial_window: u32,
    slow_start: SlowStart,
    rtt: RttEstimator,
    one_way: OneWay,
    /// The one-way delay that the current acknowledgement reports.
    one_way_now: Option<Nanos>,
    /// The round of the last sample that the timeout took.
    sampled_round: Option<u64>,
    timeout: Option<Instant>,
    delayed_ack: Nanos,
    pacer: Pacer,
    is_paced: bool,
    /// The rate that the law sets, as it stands: asked for with every packet.
    rate: Option<f64>,
    last_sent: Option<(Instant, Seq)>,
    /// Losses and marks of packets up to this one belong to an event that was answered.
    answered: Option<Seq>,
    /// How many events were answered.
    events: u64,
    /// `answered` until it is acknowledged or a timeout expires.
    recovering: Option<Seq>,
    /// The last packet before the timeout expired.
    expired_at: Option<Seq>,
    /// The largest flight since the window last shrank (`maxFS`); 0 until one is measured.
    flight_max: u32,
    /// No growth before this moment: the peer's application is slow.
    hold_until: Instant,
    mean_size: usize,
}

impl<R: WindowRules> WindowSender<R> {
    /// A sender at its initial window, governed by `law`.
    pub fn new(config: &CcConfig, mut law: Box<dyn Law>, rules: R) -> Self {
        let mut rtt = RttEstimator::new(config.rto_min, config.granularity);
        if let Some(sample) = config.rtt {
            rtt.sample(sample);
        }
        let initial_window = config
            .initial_window
            .unwrap_or_else(|| initial_window(config.mps))
            .clamp(1, config.max_window.max(1));
        let mut window = Window::new(initial_window);
        let slow_start = SlowStart::new(config.law.slow_start, config.is_paced);
        config.law.slow_start.begin(&mut window);
        law.on_start(&mut window);
        Self {
            wants: law.wants(),
            rate: law.pacing_rate(),
            law,
            rules,
            window,
            max_window: config.max_window,
            initial_window,
            slow_start,
            rtt,
            one_way: OneWay::default(),
            one_way_now: None,
            sampled_round: None,
            timeout: None,
            delayed_ack: config.delayed_ack.into(),
            pacer: Pacer::new(config.granularity),
            is_paced: config.is_paced,
            last_sent: None,
            answered: None,
            events: 0,
            recovering: None,
            expired_at: None,
            flight_max: initial_window,
            hold_until: config.now,
            mean_size: config.mps,
        }
    }

    /// Returns which inputs the law needs.
    pub const fn wants(&self) -> Wants {
        self.wants
    }

    /// The window as it stands.
    pub const fn window(&self) -> Window {
        self.window
    }

    /// The rules of the transport protocol.
    pub const fn rules(&mut self) -> &mut R {
        &mut self.rules
    }

    /// Limits the window to `packets`; slow start brings it back to its threshold.
    pub fn shrink_to(&mut self, packets: u32) {
        let before = self.window.cwnd;
        self.window.cwnd = before.min(f64::from(packets.max(1)));
        self.note_reduction(before);
    }

    /// A first estimate of the round-trip time, if there is none yet.
    pub fn on_rtt_hint(&mut self, rtt: Duration) {
        if self.rtt.smoothed().is_none() {
            self.rtt.sample(rtt);
        }
    }

    /// Returns whether packets may leave now, with `pipe` in flight, and how many.
    pub fn permit(&self, now: Instant, pipe: u32) -> Permit {
        let window = self.window_for(now, pipe);
        let room = self.room_in(&window, pipe);
        if room == 0 {
            return Permit::OnFeedback;
        }
        let mut packets = room.min((window.packets() / 4).max(1));
        if let Some(interval) = self.interval(&window) {
            if self.is_paced() {
                match self
                    .pacer
                    .permit(now, interval, self.pacer_rtt(), Nanos::ZERO)
                {
                    Ok(paced) => packets = packets.min(paced),
                    Err(next) => return Permit::At(next),
                }
            }
            packets = packets.min(commit_horizon(interval, Nanos::MAX));
        }
        Permit::Now { packets }
    }

    /// Whether packets are spread over time: a law that sets a rate wants it in any case.
    #[inline]
    pub fn is_paced(&self) -> bool {
        self.is_paced || self.rate.is_some()
    }

    /// How many packets may leave now with `pipe` in flight, if nothing spreads them.
    #[inline]
    pub fn room(&self, now: Instant, pipe: u32) -> u32 {
        self.room_in(&self.window_for(now, pipe), pipe)
    }

    /// 4341-5-1
    fn room_in(&self, window: &Window, pipe: u32) -> u32 {
        window.packets().min(self.max_window).saturating_sub(pipe)
    }

    /// Stores when a packet left and arrived, as reported by the acknowledgement that
    /// [`on_feedback`](Self::on_feedback) processes next.
    pub fn on_times(&mut self, times: Times) {
        self.one_way_now = Some(self.one_way.sample(times).into());
    }

    /// Data packets leave; the peer acknowledges once per `ack_ratio`.
    #[inline]
    pub fn on_sent(&mut self, sent: Sent, ack_ratio: u32) {
        let Sent {
            now,
            seq,
            packets,
            pipe,
        } = sent;
        if pipe == 0 {
            self.end_idle(now);
        }
        if self.is_paced()
            && let Some(interval) = self.interval(&self.window)
        {
            // 4341-5-10: the next packet has to wait.
            self.pacer.on_sent(now, interval, self.pacer_rtt());
            self.pacer.on_more_sent(packets - 1, interval);
        }
        self.last_sent = Some((now, seq));
        if self.timeout.is_none() {
            self.restart_timeout(now, pipe + 1, ack_ratio);
        }
    }

    /// The round-trip time that bounds what the pacer catches up.
    fn pacer_rtt(&self) -> Nanos {
        self.rtt.smoothed().unwrap_or(Nanos::ZERO)
    }

    /// A packet leaves while nothing is in flight.
    fn end_idle(&mut self, now: Instant) {
        let window = self.window_after_idle(now);
        if window != self.window
            && let Some((at, _)) = self.last_sent
        {
            let before = self.window.cwnd;
            self.window = window;
            self.note_reduction(before);
            self.slow_start.reset();
            self.law.on_idle(now, now - at);
            self.rate = self.law.pacing_rate();
        }
    }

    /// An acknowledgement arrived.
    #[inline]
    pub fn on_feedback(&mut self, now: Instant, fb: &Feedback<'_>, ack_ratio: u32) {
        self.mean_size = fb.mean_size;
        self.sample_rtt(fb);
        // ratelimited-3-1: the largest flight is updated with each acknowledgement.
        self.flight_max = self.flight_max.max(fb.pipe_max);
        let before = self.window;
        let was_full = flight_before(fb) >= before.packets();
        self.rules.on_ack(&mut self.window);
        self.answer_congestion(now, fb);
        self.answer_host(now, fb, before);
        self.grow(now, fb, ack_ratio);
        self.note_reduction(before.cwnd);
        if was_full
            && self.is_paced()
            && let Some(interval) = self.interval(&self.window)
        {
            self.pacer.was_held_until(now, interval);
        }
        if fb.pipe == 0 {
            self.timeout = None;
        } else if self.rules.restarts_timeout(fb) {
            self.restart_timeout(now, fb.pipe, ack_ratio);
        }
    }

    /// When nothing in flight will have been acknowledged for too long.
    pub const fn poll_timeout(&self) -> Option<Instant> {
        self.timeout
    }

    /// The transmit timeout, if it is over: whether everything in flight is lost.
    pub fn on_timeout(&mut self, now: Instant) -> bool {
        if self.timeout.is_none_or(|at| now < at) {
            return false;
        }
        self.timeout = None;
        self.flight_max = 0;
        self.rules.on_timeout();
        self.law.on_timeout(&mut self.window, now);
        self.bound_window();
        self.rate = self.law.pacing_rate();
        self.slow_start.reset();
        self.rtt.back_off();
        self.recovering = None;
        self.answered = self.last_sent.map(|(_, seq)| seq);
        self.expired_at = self.answered;
        true
    }

    /// Asks the law how it would answer a congestion event that no packet shows, while `pipe` are in flight.
    /// Returns the window that it wants, and counts the event. `None` while a congestion event is being recovered
    /// from.
    pub fn answer_host_congestion(&mut self, now: Instant, pipe: u32) -> Option<Window> {
        if self.recovering.is_some() {
            return None;
        }
        let mut wanted = self.window;
        let event = Congestion {
            now,
            cause: Cause::Loss,
            packets: 0,
            flight: pipe,
            pipe,
        };
        self.law.on_congestion(&mut wanted, &event);
        self.rate = self.law.pacing_rate();
        self.slow_start.reset();
        self.events += 1;
        self.window.ssthresh = wanted.ssthresh;
        Some(wanted)
    }

    /// How many congestion events were answered.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// Returns the state for display.
    pub fn snapshot(&self) -> Snapshot {
        let w = self.window;
        let mut inner = Vec::new();
        self.law.inner(&mut inner);
        Snapshot {
            law: Some(self.law.name()),
            cwnd_packets: Some(w.cwnd),
            ssthresh_packets: w.ssthresh.is_finite().then_some(w.ssthresh),
            rate: self
                .interval(&w)
                .map(|interval| Rate::over(self.mean_size as u64, interval.duration())),
            rtt: self.rtt.smoothed().map(Nanos::duration),
            rto: Some(self.rtt.rto().duration()),
            loss_events: Some(self.events),
            phase: Some(if w.is_slow_start() {
                "slow_start"
            } else {
                "avoid"
            }),
            inner,
            ..Snapshot::default()
        }
    }

    /// Time between packets: as the law has it, else of the window, once a round trip is known.
    fn interval(&self, window: &Window) -> Option<Nanos> {
        if let Some(rate) = self.rate {
            return Some(seconds(1.0 / rate.max(PACING_RATE_MIN)));
        }
        let gain = if window.is_slow_start() {
            PACING_SLOW_START
        } else {
            PACING_AVOID
        };
        Some(seconds(
            self.rtt.smoothed()?.as_secs_f64() / (gain * window.cwnd),
        ))
    }

    /// The window that a packet meets: with something in flight there was no idle time.
    fn window_for(&self, now: Instant, pipe: u32) -> Window {
        if pipe > 0 {
            self.window
        } else {
            self.window_after_idle(now)
        }
    }

    /// The window that is left after the time without data: half for each timeout that passed, not
    /// below the initial window (4341-5.1-1, RFC 2861 §3.1).
    fn window_after_idle(&self, now: Instant) -> Window {
        let mut window = self.window;
        let Some((at, _)) = self.last_sent else {
            return window;
        };
        let rto = self.rtt.rto().duration();
        let floor = self.initial_window;
        let mut idle = now - at;
        while idle > rto && window.packets() > floor {
            idle -= rto;
            window.ssthresh = window.ssthresh.max(0.75 * window.cwnd);
            window.cwnd = f64::from((window.packets() / 2).max(floor));
        }
        window
    }

    /// One sample per round trip moves the timeout (4341-5-5), and the first after it expired.
    #[inline]
    fn sample_rtt(&mut self, fb: &Feedback<'_>) {
        let Some(rtt) = fb.rtt else { return };
        let is_first = self.sampled_round != Some(fb.round) || self.rtt.is_backed_off();
        if is_first {
            self.sampled_round = Some(fb.round);
        }
        let is_old = is_before(fb, self.expired_at);
        self.rules.sample(&mut self.rtt, rtt, is_first, is_old);
    }

    /// Losses, marks (4341-7-1) and what counts like them (4340-11.7-5): one event per round trip
    /// (4341-5-6, 4341-5-7).
    #[inline]
    fn answer_congestion(&mut self, now: Instant, fb: &Feedback<'_>) {
        let Some(seq) = fb.congestion else { return };
        if self
            .answered
            .is_some_and(|answered| !seq.is_after(answered))
        {
            return;
        }
        self.answered = self.last_sent.map(|(_, seq)| seq);
        self.recovering = self.answered;
        if self.rules.absorbs_congestion(&mut self.window) {
            return;
        }
        self.events += 1;
        let marked = fb.marked.packets + fb.drops.corrupt;
        let (cause, packets) = if fb.lost.packets > 0 {
            (Cause::Loss, fb.lost.packets + marked)
        } else {
            (Cause::Mark, marked)
        };
        self.slow_start.reset();
        self.law.on_congestion(
            &mut self.window,
            &Congestion {
                now,
                cause,
                packets,
                flight: flight_before(fb),
                pipe: fb.pipe,
            },
        );
    }

    /// Data Dropped and Slow Receiver (4341-5.2-1).
    #[inline]
    fn answer_host(&mut self, now: Instant, fb: &Feedback<'_>, before: Window) {
        if fb.drops.receive_buffer > 0 {
            // 4340-11.7.1-1: the smaller of the two windows.
            let mut window = before;
            self.law.on_host_drop(&mut window, fb.drops.receive_buffer);
            self.window.cwnd = self.window.cwnd.min(window.cwnd);
        }
        if fb.slow_receiver {
            // 4340-11.6-1
            self.hold_until = now + self.rtt.smoothed().unwrap_or(self.rtt.rto());
        }
        if fb.slow_receiver || fb.drops != super::Drops::default() {
            self.window.leave_slow_start();
        }
    }

    /// Growth, as far as the largest flight allows (4341-5.1-1, ratelimited-3-3).
    #[inline]
    fn grow(&mut self, now: Instant, fb: &Feedback<'_>, ack_ratio: u32) {
        if let Some(rtt) = fb.rtt {
            self.slow_start.on_rtt(&mut self.window, fb.round, rtt);
        }
        let is_clean = fb.congestion.is_none() && fb.lost.packets == 0;
        let is_recovering = is_before(fb, self.recovering);
        let may_grow = self.is_below_limit()
            && is_clean
            && self.rules.may_grow(is_recovering)
            && fb.drops.receive_buffer == 0
            && now >= self.hold_until;
        let before = self.window;
        let mut growth = 0;
        if may_grow && !self.law.is_holding(&self.window, now) {
            growth = self
                .slow_start
                .grow(&mut self.window, fb.acked.packets, ack_ratio);
            if before.is_slow_start() {
                self.cap(before.cwnd, 2.0 * f64::from(self.flight_max));
            }
        }
        let before = self.window.cwnd;
        self.law.on_ack(
            &mut self.window,
            &Ack {
                now,
                acked: fb.acked.packets,
                growth,
                marked: fb.marked.packets + fb.drops.corrupt,
                lost: fb.lost.packets,
                is_clean,
                is_recovering: is_before(fb, self.answered),
                rtt: fb.rtt,
                smoothed_rtt: self.rtt.smoothed().map(Nanos::duration),
                one_way: self.one_way_now.take().map(Nanos::duration),
                delivered_rate: fb.delivered_rate.map(|rate| in_packets(rate, fb.mean_size)),
                is_app_limited: fb.is_app_limited,
                flight: flight_before(fb),
                pipe: fb.pipe,
                round: fb.round,
            },
        );
        if growth > 0 {
            // The limit is one step of growth, at least one packet, above the largest flight.
            let per_packet = (self.window.cwnd - before) / f64::from(growth);
            let flight = f64::from(self.flight_max);
            self.cap(before, flight + (per_packet * flight).max(1.0));
        }
        self.rate = self.law.pacing_rate();
        self.bound_window();
    }

    /// Bounds the law's window, because a law of another crate may return anything.
    fn bound_window(&mut self) {
        let most = f64::from(self.max_window).max(1.0);
        let cwnd = self.window.cwnd.max(1.0);
        self.window.cwnd = cwnd.min(most);
    }

    /// Whether the window may grow: a rate-limited sender grows to twice its largest flight in slow start,
    /// and to one step of growth beyond it later (ratelimited-3-3).
    fn is_below_limit(&self) -> bool {
        if self.window.is_slow_start() {
            self.window.cwnd < 2.0 * f64::from(self.flight_max)
        } else {
            self.window.packets() <= self.flight_max
        }
    }

    /// ratelimited-3-4: cuts growth from `before` at `limit`, but not the window that was there before.
    fn cap(&mut self, before: f64, limit: f64) {
        self.window.cwnd = self.window.cwnd.min(limit.max(before));
    }

    /// ratelimited-3-2: after any reduction of the window the largest flight is measured again.
    fn note_reduction(&mut self, before: f64) {
        if self.window.cwnd < before {
            self.flight_max = 0;
        }
    }

    /// Restarts the transmit timeout with `pipe` packets in flight. Fewer packets than the Ack Ratio may
    /// have to wait for the peer's delayed-ack timer.
    pub fn restart_timeout(&mut self, now: Instant, pipe: u32, ack_ratio: u32) {
        let wait = if pipe < ack_ratio {
            self.delayed_ack
        } else {
            Nanos::ZERO
        };
        self.timeout = Some(now + self.rtt.rto() + wait);
    }
}

/// Whether an acknowledgement names this packet or one before it.
fn is_before(fb: &Feedback<'_>, seq: Option<Seq>) -> bool {
    seq.is_some_and(|seq| !fb.ack.is_after(seq))
}

/// A rate in packets per second.
#[expect(
    clippy::cast_precision_loss,
    reason = "packets are far below 2^53 bytes"
)]
fn in_packets(rate: Rate, mean_size: usize) -> f64 {
    rate.bytes_per_s() / mean_size.max(1) as f64
}

/// Data packets in flight before an acknowledgement was counted.
fn flight_before(fb: &Feedback<'_>) -> u32 {
    fb.pipe + fb.acked.packets + fb.marked.packets + fb.lost.packets
}

#[cfg(test)]
mod tests;
