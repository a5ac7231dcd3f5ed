//! The state machine of the control (SafeUDP §6). It has no clock: the sender calls [`Machine::step`] at the end of
//! each measurement interval.

use super::Profile;
use super::breakers::{Breakers, Entry, LOSS_LEAST, Yardstick};
use super::codes::{Cause, Info, Side};
use super::interval::Interval;
use super::time_scales::{TRANSIENT, TimeScales};
use crate::cc::ccid3::Path;
use crate::number::to_f64;
use core::time::Duration;
use std::collections::VecDeque;

/// Congestion is persistent if this many of the last [`TRANSIENT`] intervals are marked.
const PERSISTENT: usize = 3;
/// In the provisioned profile, loss below this part of the packets needs no advice.
const PROVISIONED_LOSS: f64 = 1e-2;
/// Input up to this multiple of the advised rate complies.
const TOLERANCE: f64 = 1.05;
/// The advised rate is at least this part of the delivered rate.
const ADVISED_PART: f64 = 0.5;
/// Clean intervals that end an advisory or raise the cap, and the period of its reductions.
const QUIET: u32 = 3;
/// After clean intervals the cap is multiplied by this …
const RAISE: f64 = 1.25;
/// … and by this while congestion lasts. The coefficient of variation of such a cycle is below 0.2.
const LOWER: f64 = 0.7;
/// The lowest cap is one packet in this many seconds, or in a longer round trip.
const PACKET_TIME_MIN: f64 = 0.1;
/// The part of the rate that a breaker leaves at its first trip.
const THROTTLE: f64 = 0.1;
/// Acknowledgements that report nothing new for this many intervals open the breaker (RFC 8083 §4.2).
const STALLED: u32 = 5;

/// The states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// No sign of congestion.
    Clear,
    /// Signs of congestion: are they transient?
    Eval,
    /// The bottleneck is in an end host, and the network is clean.
    Host,
    /// The application has been advised, and the grace runs.
    Advisory,
    /// Input above the cap is dropped.
    Enforce,
    /// A breaker has tripped: the cap is a tenth of the rate for a breaker window.
    Throttled,
    /// A breaker has tripped again: the connection ends.
    Open,
    /// No application listens at the peer.
    PeerGone,
}

impl State {
    /// Its name in reports.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Clear => "clear",
            Self::Eval => "eval",
            Self::Host => "host",
            Self::Advisory => "advisory",
            Self::Enforce => "enforce",
            Self::Throttled => "throttled",
            Self::Open => "open",
            Self::PeerGone => "peer_gone",
        }
    }
}

/// A conclusion of one step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// A host is a bottleneck.
    Host(Side),
    /// A conclusion for the application.
    Info(Info),
    /// Congestion persists: the advised rate is in [`Machine::advised`].
    Advise,
    /// No feedback arrived in the interval.
    NoFeedback,
    /// Enforcement begins.
    Enforce,
    /// The cap was raised.
    Raise,
    /// The cap was lowered.
    Lower,
    /// A breaker tripped for the first time.
    Throttle(Cause),
    /// A breaker tripped for good.
    Trip(Cause),
    /// No application listens at the peer.
    NotListening,
}

/// The reports of the peer in an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reports {
    /// News about data.
    News,
    /// Acknowledgements arrived, but none with news, although data was sent.
    Stalled,
    /// None, although data was sent; the silence has lasted for this time.
    Silent(Duration),
}

/// The measurements of one interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Measured {
    pub(crate) interval: Interval,
    pub(crate) reports: Reports,
    /// Bytes per second that the application offered.
    pub(crate) input: f64,
    /// Bytes per second that left.
    pub(crate) sent: f64,
    /// The loss event rate; `None`: the part of packets lost or marked over the last five intervals.
    pub(crate) p_event: Option<f64>,
    /// Smoothed round-trip time in seconds.
    pub(crate) rtt: f64,
    /// Bytes of a packet.
    pub(crate) size: f64,
    pub(crate) scales: TimeScales,
}

/// The state of one half-connection.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Machine {
    profile: Profile,
    /// The part of packets that the application can miss.
    loss_limit: Option<f64>,
    state: State,
    /// Bytes per second that are enforced.
    cap: Option<f64>,
    /// Bytes per second that were advised last.
    advised: f64,
    /// TCP's rate at the last step, in bytes per second; infinite without loss.
    tfrc: f64,
    /// Judged packets and those lost or marked in the network, of at most [`TRANSIENT`] intervals.
    recent: VecDeque<(u64, u64)>,
    was_inflated: bool,
    breakers: Breakers,
    /// Intervals in the state, or since the last conclusion in it.
    age: u32,
    /// Successive clean intervals since the last raise.
    quiet: u32,
    /// The time of successive clean intervals, a hold apart.
    calm: Duration,
    /// Bytes per second that left in the last interval with reports.
    answered: f64,
    stalled: u32,
    trips: u32,
    /// The grace that the application has used up since the network was calm.
    grace_spent: Duration,
    /// The application has followed the last advice.
    has_complied: bool,
    /// The time until a throttled sender is enforced as others are.
    hold: Duration,
}

impl Machine {
    /// A half-connection without signs of congestion.
    pub(crate) fn new(profile: Profile, loss_limit: Option<f64>) -> Self {
        Self {
            profile,
            loss_limit,
            state: State::Clear,
            cap: None,
            advised: f64::INFINITY,
            tfrc: f64::INFINITY,
            recent: VecDeque::new(),
            was_inflated: false,
            breakers: Breakers::default(),
            age: 0,
            quiet: 0,
            calm: Duration::ZERO,
            answered: 0.0,
            stalled: 0,
            trips: 0,
            grace_spent: Duration::ZERO,
            has_complied: false,
            hold: Duration::ZERO,
        }
    }

    /// The state.
    pub(crate) const fn state(&self) -> State {
        self.state
    }

    /// The enforced rate in bytes per second.
    pub(crate) const fn cap(&self) -> Option<f64> {
        self.cap
    }

    /// The rate that was advised last, in bytes per second; infinite before.
    pub(crate) const fn advised(&self) -> f64 {
        self.advised
    }

    /// TCP's rate at the last step in bytes per second; infinite without loss.
    pub(crate) const fn tfrc(&self) -> f64 {
        self.tfrc
    }

    /// Returns the rest of the application's grace.
    pub(crate) fn grace_left(&self, scales: &TimeScales) -> Duration {
        scales.grace.saturating_sub(self.grace_spent)
    }

    /// Trips that are not forgiven.
    pub(crate) const fn trips(&self) -> u32 {
        self.trips
    }

    /// The part of packets lost or marked in the network, over the last five intervals.
    pub(crate) fn loss(&self) -> f64 {
        let sum = |of: fn(&(u64, u64)) -> u64| self.recent.iter().map(of).sum();
        let (judged, network) = (sum(|r| r.0), sum(|r| r.1));
        if judged == 0 {
            0.0
        } else {
            to_f64(network) / to_f64(judged)
        }
    }

    /// Whether the network has been clean for a breaker window. Old loss says nothing about it then.
    pub(crate) fn is_calm(&self, scales: &TimeScales) -> bool {
        self.calm >= scales.hold
    }

    /// Ends an interval of this length without packets and without reports. Only a hold goes on.
    pub(crate) fn idle(&mut self, interval: Duration) {
        self.hold = self.hold.saturating_sub(interval);
        self.end_hold();
    }

    /// An interval ends.
    pub(crate) fn step(&mut self, m: &Measured) -> Vec<Verdict> {
        let mut verdicts = Vec::new();
        if matches!(self.state, State::Open | State::PeerGone) {
            return verdicts;
        }
        if m.interval.not_listening > 0 {
            self.state = State::PeerGone;
            verdicts.push(Verdict::NotListening);
            return verdicts;
        }
        match m.reports {
            Reports::Silent(time) => verdicts.extend(self.on_silence(m, time)),
            Reports::Stalled if self.stalled + 1 >= STALLED => {
                verdicts.push(self.open(Cause::Stalled));
            }
            reports => {
                self.stalled = match reports {
                    Reports::Stalled => self.stalled + 1,
                    _ => 0,
                };
                self.judge(m, &mut verdicts);
            }
        }
        verdicts
    }

    /// RFC 8083 §4.1: no report arrived. Each such interval with data halves the rate, from that of the last reports on.
    fn on_silence(&mut self, m: &Measured, time: Duration) -> Option<Verdict> {
        if time >= m.scales.silence {
            return Some(self.open(Cause::Feedback));
        }
        // A hold after a trip goes on.
        if self.state != State::Throttled {
            self.enter(State::Enforce);
        }
        self.quiet = 0;
        self.calm = Duration::ZERO;
        // All data can wait for acknowledgements: then a lower rate would change nothing.
        if m.sent <= 0.0 && self.cap.is_some() {
            return None;
        }
        let rate = self.cap.unwrap_or_else(|| self.answered.max(m.sent));
        self.set_cap(m, rate / 2.0);
        Some(Verdict::NoFeedback)
    }

    fn judge(&mut self, m: &Measured, verdicts: &mut Vec<Verdict>) {
        let attribution = m.interval.attribution();
        let is_marked = attribution.network > 0;
        let is_judged = m.interval.judged > 0 || is_marked;
        if is_judged {
            self.recent
                .push_back((m.interval.judged, attribution.network));
            self.recent
                .drain(..self.recent.len().saturating_sub(TRANSIENT));
        }
        self.answered = m.sent;
        if is_marked {
            self.quiet = 0;
            self.calm = Duration::ZERO;
        } else if is_judged {
            // An interval without a judged packet is no clean one.
            self.quiet += 1;
            self.calm = self.calm.saturating_add(m.scales.interval);
        }
        if !self.hold.is_zero() {
            // A throttled sender proves nothing.
            self.calm = Duration::ZERO;
        }
        if self.is_calm(&m.scales) {
            self.grace_spent = Duration::ZERO;
            self.trips = 0;
        }
        let p_event = m.p_event.unwrap_or_else(|| self.loss());
        self.tfrc = Path::new(m.size, m.rtt).rate(p_event);
        let entry = Entry {
            judged: m.interval.judged,
            network: attribution.network,
            missing: m.interval.lost + m.interval.receive_buffer,
            sent: m.sent,
            p_event,
        };
        self.breakers.push(entry, &m.scales);
        if let Some(verdict) = self.watch_breakers(m) {
            verdicts.push(verdict);
            return;
        }
        self.note_hosts(&m.interval, is_marked, verdicts);
        match self.state {
            State::Clear | State::Host => {
                if is_marked {
                    self.enter(State::Eval);
                    self.age = 1;
                    self.recent.drain(..self.recent.len() - 1);
                }
            }
            State::Eval | State::Enforce if !is_judged => {}
            State::Eval => self.evaluate(m, verdicts),
            State::Advisory => self.advise(m, verdicts),
            State::Enforce => self.enforce(m, verdicts),
            State::Throttled => self.end_hold(),
            State::Open | State::PeerGone => {}
        }
        self.was_inflated = m.interval.is_inflated;
    }

    /// A trip throttles for the hold, and these breakers rest meanwhile. The next one ends the connection, unless the first is
    /// forgiven.
    fn watch_breakers(&mut self, m: &Measured) -> Option<Verdict> {
        if !self.hold.is_zero() {
            self.hold = self.hold.saturating_sub(m.scales.interval);
            return None;
        }
        let yardstick = Yardstick {
            profile: self.profile,
            size: m.size,
            rtt: m.rtt,
            loss_limit: self.loss_limit,
        };
        let cause = self.breakers.tripped(&m.scales, &yardstick)?;
        if self.trips > 0 || cause == Cause::Unusable {
            return Some(self.open(cause));
        }
        self.trips += 1;
        self.set_cap(m, m.sent * THROTTLE);
        self.enter(State::Throttled);
        self.hold = m.scales.hold;
        self.recent.clear();
        self.breakers.clear();
        Some(Verdict::Throttle(cause))
    }

    fn note_hosts(&mut self, interval: &Interval, is_marked: bool, verdicts: &mut Vec<Verdict>) {
        let host = if interval.is_host_rx() {
            Some(Side::Receiver)
        } else if interval.is_host_tx() {
            Some(Side::Sender)
        } else {
            None
        };
        verdicts.extend(host.map(Verdict::Host));
        match (self.state, host) {
            (State::Clear, Some(_)) if !is_marked => self.state = State::Host,
            (State::Host, None) => self.state = State::Clear,
            _ => {}
        }
    }

    fn evaluate(&mut self, m: &Measured, verdicts: &mut Vec<Verdict>) {
        self.age += 1;
        let is_queued = m.interval.is_inflated && self.was_inflated;
        let marked = self.marked(TRANSIENT) + usize::from(is_queued && self.marked(TRANSIENT) > 0);
        let loss = self.loss();
        let is_too_fast = match self.profile {
            Profile::Shared => loss >= LOSS_LEAST && m.sent > self.tfrc,
            Profile::Provisioned => loss >= PROVISIONED_LOSS,
        };
        let window = u32::try_from(TRANSIENT).unwrap_or(u32::MAX);
        if is_too_fast && self.breaks_promise(m) {
            self.has_complied = false;
            self.grace_spent += m.scales.interval;
            self.continue_grace(m, verdicts);
        } else if marked >= PERSISTENT && is_too_fast {
            let delivered = ADVISED_PART * m.sent * (1.0 - loss);
            self.advised = match self.profile {
                Profile::Shared => delivered.max(self.tfrc),
                Profile::Provisioned => delivered,
            };
            if core::mem::take(&mut self.has_complied) {
                self.grace_spent = Duration::ZERO;
            }
            self.enter(State::Advisory);
            verdicts.push(Verdict::Advise);
        } else if self.age >= window && marked < PERSISTENT {
            self.clear();
            verdicts.push(Verdict::Info(Info::Transient));
        } else if self.age.is_multiple_of(window) {
            verdicts.push(Verdict::Info(Info::WithinShare));
        }
    }

    /// Whether the application complied, and now exceeds the advised rate again although the network is congested. Its grace
    /// goes on where it ended. A rate that dips now and then would evade enforcement otherwise.
    fn breaks_promise(&self, m: &Measured) -> bool {
        self.has_complied && self.quiet == 0 && self.exceeds_advice(m)
    }

    fn exceeds_advice(&self, m: &Measured) -> bool {
        m.input > TOLERANCE * self.advised
    }

    fn advise(&mut self, m: &Measured, verdicts: &mut Vec<Verdict>) {
        self.grace_spent += m.scales.interval;
        if self.quiet >= QUIET {
            self.clear();
            verdicts.push(Verdict::Info(Info::Cleared));
        } else if !self.exceeds_advice(m) {
            self.enter(State::Eval);
            self.recent.clear();
            self.has_complied = true;
            verdicts.push(Verdict::Info(Info::Complied));
        } else {
            self.continue_grace(m, verdicts);
        }
    }

    /// The application exceeds the advised rate: it is advised until the grace is over, and enforced then.
    fn continue_grace(&mut self, m: &Measured, verdicts: &mut Vec<Verdict>) {
        if self.grace_spent >= m.scales.grace {
            self.set_cap(m, self.advised);
            self.enter(State::Enforce);
            verdicts.push(Verdict::Enforce);
        } else {
            if self.state != State::Advisory {
                self.enter(State::Advisory);
            }
            verdicts.push(Verdict::Advise);
        }
    }

    fn enforce(&mut self, m: &Measured, verdicts: &mut Vec<Verdict>) {
        self.age += 1;
        let cap = self.cap.unwrap_or(m.input);
        let raised = self.raised(m, cap);
        // The shared profile leaves a flow what TCP would have at this loss.
        let fair = match self.profile {
            Profile::Shared => self.tfrc,
            Profile::Provisioned => 0.0,
        };
        let is_quiet = self.quiet >= QUIET;
        let is_congested =
            self.age.is_multiple_of(QUIET) && self.marked(QUIET as usize) >= 2 && !is_quiet;
        if raised > cap && (is_quiet || is_congested && cap < fair) {
            self.set_cap(m, raised);
            self.quiet = 0;
            verdicts.push(Verdict::Raise);
        } else if is_congested && cap >= fair {
            self.set_cap(m, (cap * LOWER).max(fair));
            verdicts.push(Verdict::Lower);
        }
        if is_quiet && raised >= m.input {
            self.clear();
            verdicts.push(Verdict::Info(Info::Cleared));
        }
    }

    /// The cap after clean intervals. In the shared profile it does not rise above TCP's rate, so the cap itself does not
    /// cause the next congestion.
    fn raised(&self, m: &Measured, cap: f64) -> f64 {
        if m.interval.has_slow_receiver {
            return cap;
        }
        match self.profile {
            Profile::Shared => (cap * RAISE).min(self.tfrc).max(cap),
            Profile::Provisioned => cap * RAISE,
        }
    }

    /// How many of the last `n` intervals are marked.
    fn marked(&self, n: usize) -> usize {
        let newest = self.recent.iter().rev().take(n);
        newest.filter(|(_, network)| *network > 0).count()
    }

    /// Sets the cap, at least one packet per 100 ms, or per round trip where that is longer.
    fn set_cap(&mut self, m: &Measured, cap: f64) {
        self.cap = Some(cap.max(m.size / m.rtt.max(PACKET_TIME_MIN)));
    }

    fn clear(&mut self) {
        self.enter(State::Clear);
        self.cap = None;
        self.has_complied = false;
        self.recent.clear();
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.age = 0;
    }

    fn open(&mut self, cause: Cause) -> Verdict {
        self.enter(State::Open);
        Verdict::Trip(cause)
    }

    fn end_hold(&mut self) {
        if self.hold.is_zero() && self.state == State::Throttled {
            self.enter(State::Enforce);
        }
    }
}

#[cfg(test)]
mod tests;
