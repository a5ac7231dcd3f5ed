//! BBR, version 3 (draft-ietf-ccwg-bbr, working copy of August 2026; experimental). It models the path,
//! sends at the bandwidth of the path, and keeps as many packets in flight as fill it.
//!
//! ```text
//!   Startup → Drain → Down → Cruise → Refill → Up ─┐        ProbeRtt: from any but Startup,
//!                      ↑                           │         after 5 s without a shorter round trip
//!                      └───────────────────────────┘
//! ```
//!
//! BBR has its own slow start. It differs from the draft, or completes it, in three rules:
//! - Losses are counted per round trip, not per packet, because the input of a law is acknowledgements.
//! - A mark counts as a loss, because the draft does not define it.
//! - The wait until the next probe comes from a hash of the current time. The core has no random numbers.

mod model;
mod rounds;

use super::{Ack, Congestion, Law, LawSettings, SettingError, Wants, Window, hash};
use crate::time::Instant;
use core::time::Duration;
use model::{Model, WINDOW_MIN, inflight_at_loss};
use rounds::{Plateau, Probe, Round};

/// Settings of BBR.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// The greatest share of packets in a round trip that may be lost.
    pub loss_threshold: f64,
    /// The share of a bound that remains after losses.
    pub beta: f64,
    /// The share of the bound that is left for other flows.
    pub headroom: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            loss_threshold: 0.02,
            beta: 0.7,
            headroom: 0.15,
        }
    }
}

impl LawSettings for Config {
    fn name(&self) -> &'static str {
        "bbr"
    }

    fn build(&self) -> Box<dyn Law> {
        Box::new(Bbr::new(*self))
    }

    fn check(&self) -> Result<(), SettingError> {
        SettingError::unless_within("loss_threshold", self.loss_threshold, 0.001..=0.5)?;
        SettingError::unless_within("beta", self.beta, 0.1..=0.95)?;
        SettingError::unless_within("headroom", self.headroom, 0.0..=0.5)
    }
}

/// The share of the modelled bandwidth that pacing does not use.
const PACING_MARGIN: f64 = 0.01;
/// Slow start also ends after too many losses, if at least this many acknowledgements of a round trip
/// report them.
const STARTUP_GAPS: u32 = 6;
/// Draining takes at most this many round trips.
const DRAIN_ROUNDS: u64 = 3;
/// The next probe starts 2 to 3 s after the last one. It starts earlier after as many round trips as Reno
/// needs from one loss to the next, but at most `PROBE_ROUNDS_MAX`.
const PROBE_WAIT: Duration = Duration::from_secs(2);
const PROBE_ROUNDS_MAX: f64 = 62.0;
/// The time with an empty queue for the measurement of the round trip.
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl Phase {
    const fn pacing_gain(self) -> f64 {
        match self {
            Self::Startup => 2.77,
            Self::Drain => 0.5,
            Self::Down => 0.9,
            Self::Up => 1.25,
            Self::Cruise | Self::Refill | Self::ProbeRtt => 1.0,
        }
    }

    const fn window_gain(self) -> f64 {
        match self {
            Self::Up => 2.25,
            Self::ProbeRtt => 0.5,
            _ => 2.0,
        }
    }

    /// Returns true in phases with losses that only show that the probe found the limit.
    const fn is_probing(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }

    const fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// Returns the number of the phase in snapshots.
    const fn number(self) -> f64 {
        self as u8 as f64
    }
}

/// BBR.
#[derive(Clone, Copy, PartialEq, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "the draft's own variables")]
pub struct Bbr {
    config: Config,
    model: Model,
    phase: Phase,
    round: Round,
    /// The path has been full once, therefore slow start is over.
    is_filled: bool,
    plateau: Plateau,
    /// The start of the phase: round and time.
    since: (u64, Instant),
    /// Packets that were in flight at the start of the phase and are neither acknowledged nor lost yet. It is
    /// 0 after a full round trip.
    left_of_round_trip: u32,
    /// The same for the end of the last probe.
    left_of_samples: u32,
    /// The end of the last probe, and the wait for the next one.
    probed: (u64, Instant),
    wait: Duration,
    probe: Probe,
    /// The last probe put too much in flight, so the next one stops at the bound.
    was_too_much: bool,
    /// The last probe stopped at the bound. If that cost no losses, the next one follows at once.
    was_precautionary: bool,
    /// The end of `ProbeRtt`; `None` until few enough packets are in flight.
    probe_rtt_end: Option<Instant>,
    /// The window before `ProbeRtt` or a timeout, and the round that restores it.
    saved: Option<f64>,
    timeout_round: Option<u64>,
    after_idle: bool,
    /// Packets per second.
    rate: Option<f64>,
}

impl Bbr {
    /// BBR with these options.
    pub const fn new(config: Config) -> Self {
        Self {
            config,
            model: Model::new(config),
            phase: Phase::Startup,
            round: Round {
                number: 0,
                lost: 0,
                gaps: 0,
                flight: 0,
                flight_before: 0,
                began_recovering: false,
            },
            is_filled: false,
            plateau: Plateau {
                bw: 0.0,
                rounds: 0,
                is_reached: false,
            },
            since: (0, Instant::ZERO),
            left_of_round_trip: 0,
            left_of_samples: 0,
            probed: (0, Instant::ZERO),
            wait: PROBE_WAIT,
            probe: Probe {
                rounds: 0,
                per_packet: f64::INFINITY,
                acked: 0.0,
                is_sampled: false,
            },
            was_too_much: false,
            was_precautionary: false,
            probe_rtt_end: None,
            saved: None,
            timeout_round: None,
            after_idle: false,
            rate: None,
        }
    }

    fn enter(&mut self, phase: Phase, ack: &Ack) {
        self.phase = phase;
        self.since = (ack.round, ack.now);
        self.left_of_round_trip = ack.pipe;
    }

    /// Ends the current round trip.
    fn end_round(&mut self, w: &Window, ack: &Ack) {
        let round = self.round;
        if round.lost > 0 && !self.phase.is_probing() {
            self.model.lower(w.cwnd);
        }
        let is_long_recovery = round.began_recovering && ack.is_recovering;
        let is_lossy = round.gaps >= STARTUP_GAPS && round.is_lossy(self.config.loss_threshold);
        if self.phase == Phase::Startup && is_long_recovery && is_lossy {
            self.is_filled = true;
            self.model.on_lossy_startup();
        }
        self.round = Round {
            number: ack.round,
            flight_before: round.flight,
            began_recovering: ack.is_recovering,
            ..Round::default()
        };
    }

    fn move_on(&mut self, w: &Window, ack: &Ack) {
        let accounted = ack.acked + ack.marked + ack.lost;
        self.left_of_round_trip = self.left_of_round_trip.saturating_sub(accounted);
        self.left_of_samples = self.left_of_samples.saturating_sub(accounted);
        if self.end_samples() {
            return self.refill(ack);
        }
        let pipe = f64::from(ack.pipe);
        let bdp = self.model.bdp(1.0).unwrap_or(f64::INFINITY);
        match self.phase {
            Phase::Startup => {
                self.is_filled |= self.plateau.is_reached;
                if self.is_filled {
                    self.enter(Phase::Drain, ack);
                }
            }
            Phase::Drain => {
                if pipe <= bdp || ack.round >= self.since.0 + DRAIN_ROUNDS {
                    self.go_down(ack);
                }
            }
            Phase::Down | Phase::Cruise if self.is_probe_due(w, ack) => self.refill(ack),
            Phase::Down => {
                if pipe <= bdp.min(self.model.inflight_with_headroom()) {
                    self.enter(Phase::Cruise, ack);
                }
            }
            Phase::Refill if self.left_of_round_trip == 0 => self.go_up(w, ack),
            Phase::Up => {
                if self.is_up_over(w, ack) {
                    self.was_too_much = false;
                    self.go_down(ack);
                }
            }
            Phase::Cruise | Phase::Refill | Phase::ProbeRtt => {}
        }
    }

    fn go_down(&mut self, ack: &Ack) {
        self.probed = (ack.round, ack.now);
        self.wait = PROBE_WAIT + Duration::from_micros(hash(ack.now) % 1_000_000);
        self.model.advance_cycle();
        self.left_of_samples = ack.pipe;
        self.enter(Phase::Down, ack);
    }

    fn refill(&mut self, ack: &Ack) {
        self.model.forget_short_term();
        self.probe = Probe::default();
        self.was_precautionary = false;
        self.enter(Phase::Refill, ack);
    }

    /// Ends the samples of a probe, one round trip after the probe. Then the packets that it sent are
    /// acknowledged or lost. Returns true if the next probe follows at once.
    fn end_samples(&mut self) -> bool {
        let is_over = !matches!(self.phase, Phase::Refill | Phase::Up);
        if !is_over || self.left_of_samples > 0 {
            return false;
        }
        self.probe.is_sampled = false;
        let is_safe = self.was_precautionary && !self.was_too_much;
        self.was_precautionary = false;
        is_safe && self.phase.is_probe_bw()
    }

    fn go_up(&mut self, w: &Window, ack: &Ack) {
        self.probe.is_sampled = true;
        // Packets that are lost from now on were sent in the Refill phase.
        self.round.lost = 0;
        self.round.flight_before = ack.flight;
        self.plateau = Plateau {
            bw: ack.delivered_rate.unwrap_or_default(),
            ..Plateau::default()
        };
        self.probe.begin_round(w.cwnd);
        self.enter(Phase::Up, ack);
    }

    /// Returns true after the wait, or after as many round trips as Reno needs from one loss to the next.
    fn is_probe_due(&self, w: &Window, ack: &Ack) -> bool {
        let (round, at) = self.probed;
        let rounds = self.model.target(w.cwnd).clamp(1.0, PROBE_ROUNDS_MAX);
        #[expect(clippy::cast_precision_loss, reason = "rounds are few")]
        let passed = (ack.round - round) as f64;
        ack.now > at + self.wait || passed >= rounds
    }

    fn is_up_over(&mut self, w: &Window, ack: &Ack) -> bool {
        let bound = self.model.inflight_longterm;
        if self.was_too_much && f64::from(ack.flight) >= bound {
            self.was_precautionary = true;
            return true;
        }
        if is_full(w, ack) && w.cwnd >= bound {
            // The bound limits the bandwidth here, not the path.
            self.plateau = Plateau {
                bw: ack.delivered_rate.unwrap_or(self.plateau.bw),
                ..Plateau::default()
            };
        }
        self.plateau.is_reached
    }

    /// Moves the bound on packets in flight: down if a probe lost too much, up while no probe does.
    fn bound(&mut self, w: &Window, ack: &Ack, begins_round: bool) {
        let lost = ack.lost + ack.marked;
        if lost > 0 && self.round.is_lossy(self.config.loss_threshold) {
            if self.probe.is_sampled && !ack.is_app_limited {
                self.probe.is_sampled = false;
                self.was_too_much = true;
                let sent = self.round.sent_flight();
                let before = f64::from(self.round.lost - lost);
                let inflight = (sent - f64::from(lost)).max(0.0);
                let inflight = inflight_at_loss(inflight, before, self.config.loss_threshold);
                self.model.on_too_much(inflight.min(sent), w.cwnd);
                if self.phase == Phase::Up {
                    self.go_down(ack);
                }
            }
            return;
        }
        let bound = &mut self.model.inflight_longterm;
        if bound.is_infinite() {
            return;
        }
        *bound = bound.max(f64::from(self.round.flight_before));
        if self.phase == Phase::Up && is_full(w, ack) && w.cwnd >= *bound {
            *bound += self.probe.on_ack(ack.acked);
            if begins_round {
                self.probe.begin_round(w.cwnd);
            }
        }
    }

    fn probe_rtt(&mut self, w: &mut Window, ack: &Ack) {
        if self.phase != Phase::ProbeRtt {
            let is_due = self.model.is_probe_rtt_due && !self.after_idle;
            if is_due && self.phase != Phase::Startup {
                self.saved = Some(w.cwnd);
                self.probe_rtt_end = None;
                self.enter(Phase::ProbeRtt, ack);
            }
            return;
        }
        let Some(end) = self.probe_rtt_end else {
            if f64::from(ack.pipe) <= self.probe_rtt_window() {
                self.probe_rtt_end = Some(ack.now + PROBE_RTT_TIME);
                self.since.0 = ack.round;
            }
            return;
        };
        if ack.now > end && ack.round > self.since.0 {
            self.model.on_probe_rtt(ack.now);
            self.restore(w);
            self.model.forget_short_term();
            self.go_down(ack);
            self.enter(Phase::Cruise, ack);
        }
    }

    fn probe_rtt_window(&self) -> f64 {
        let half = self.model.bdp(Phase::ProbeRtt.window_gain());
        half.unwrap_or(WINDOW_MIN).max(WINDOW_MIN)
    }

    fn restore(&mut self, w: &mut Window) {
        if let Some(saved) = self.saved.take() {
            w.cwnd = w.cwnd.max(saved);
        }
    }

    fn set_rate(&mut self, w: &Window, ack: &Ack, gain: f64) {
        let bw = self.model.bw();
        if bw > 0.0 {
            let rate = (1.0 - PACING_MARGIN) * gain * bw;
            // In slow start the rate never falls.
            let lowest = self.rate.filter(|_| !self.is_filled).unwrap_or(0.0);
            self.rate = Some(rate.max(lowest));
        } else if let (None, Some(rtt)) = (self.rate, ack.rtt) {
            self.rate = Some(gain * w.cwnd / rtt.as_secs_f64().max(1e-6));
        }
    }

    fn set_window(&self, w: &mut Window, ack: &Ack) {
        let acked = f64::from(ack.acked + ack.marked);
        let window = self.model.window(self.phase.window_gain());
        match window {
            Some(window) if self.is_filled => w.cwnd = (w.cwnd + acked).min(window),
            Some(window) if w.cwnd >= window => {}
            _ => w.cwnd += acked,
        }
        if self.phase == Phase::ProbeRtt {
            w.cwnd = w.cwnd.min(self.probe_rtt_window());
        }
        let longterm = match self.phase {
            Phase::Cruise | Phase::ProbeRtt => self.model.inflight_with_headroom(),
            _ => self.model.inflight_longterm,
        };
        let bound = longterm.min(self.model.inflight_shortterm);
        w.cwnd = w.cwnd.min(bound).max(WINDOW_MIN);
        // BBR has its own slow start.
        w.ssthresh = w.ssthresh.min(1.0);
    }
}

/// Returns true if the window was the limit when the acknowledged packets were sent.
fn is_full(w: &Window, ack: &Ack) -> bool {
    f64::from(ack.flight) + 1.0 >= w.cwnd.floor()
}

impl Law for Bbr {
    fn name(&self) -> &'static str {
        "bbr"
    }

    fn wants(&self) -> Wants {
        Wants {
            delivered_rate: true,
            ..Wants::default()
        }
    }

    fn on_start(&mut self, window: &mut Window) {
        window.ssthresh = 1.0;
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let begins_round = ack.round != self.round.number;
        if begins_round {
            self.end_round(window, ack);
        }
        self.round.on_ack(ack);
        self.model.on_ack(ack, window.cwnd, begins_round);
        self.plateau.on_ack(ack, begins_round);
        if self
            .timeout_round
            .is_some_and(|round| ack.round > round + 1)
        {
            self.timeout_round = None;
            self.restore(window);
        }
        if self.is_filled {
            self.bound(window, ack, begins_round);
        }
        self.move_on(window, ack);
        self.probe_rtt(window, ack);
        self.after_idle &= ack.acked == 0;
        self.set_rate(window, ack, self.phase.pacing_gain());
        self.set_window(window, ack);
    }

    /// Does nothing: `on_ack` reacts to the share of losses and marks.
    fn on_congestion(&mut self, _window: &mut Window, _event: &Congestion) {}

    fn on_timeout(&mut self, window: &mut Window, _now: Instant) {
        self.saved = Some(self.saved.unwrap_or(0.0).max(window.cwnd));
        self.timeout_round = Some(self.round.number);
        (self.left_of_round_trip, self.left_of_samples) = (0, 0);
        window.cwnd = 1.0;
        window.ssthresh = 1.0;
    }

    fn on_idle(&mut self, _now: Instant, _idle: Duration) {
        self.after_idle = true;
        if self.phase.is_probe_bw() && self.model.bw() > 0.0 {
            self.rate = Some((1.0 - PACING_MARGIN) * self.model.bw());
        }
    }

    /// Returns true: only this law's own slow start may grow the window.
    fn is_holding(&self, _window: &Window, _now: Instant) -> bool {
        true
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.rate
    }

    fn inner(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("phase", self.phase.number()));
        out.push(("max_bw", self.model.max_bw()));
        out.push(("bw", self.model.bw()));
        for (name, value) in [
            ("min_rtt_s", self.model.min_rtt()),
            ("inflight_longterm", self.model.inflight_longterm),
            ("inflight_shortterm", self.model.inflight_shortterm),
        ] {
            if value.is_finite() {
                out.push((name, value));
            }
        }
    }
}

#[cfg(test)]
mod tests;
