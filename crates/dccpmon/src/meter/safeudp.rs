//! The history of a sender with CCID 248: states, advice, attribution, trips and conclusions, from looks at it.

use super::obedience::Obedience;
use crate::schema::{Conclusion, Ended, SafeUdp, SafeUdpInterval, StateChange, Trip};
use crate::transport::safeudp::SafeUdpSample;
use core::time::Duration;
use dccp::proto::number::to_f64;
use dccp::proto::time::nanos;
use dccp::safeudp::{Cause, SendCode};
use dccp::{Instant, clock};

/// The history of one sender.
pub(super) struct History {
    /// The newest look and its time.
    now: SafeUdpSample,
    now_at: Duration,
    /// The sender at the begin of the test, and at that of the interval.
    begin: SafeUdpSample,
    interval: SafeUdpSample,
    /// Datagrams dropped by the CCID and packets lost, until the interval began.
    counted: Counted,
    /// Whether sending has ended: the time in states counts no further.
    has_stopped: bool,
    /// Whether a conclusion was left out: later ones do not follow on the last one that is kept.
    has_cut: bool,
    obedience: Option<Obedience>,
    total: SafeUdp,
}

/// Totals of a connection that the fates of its datagrams give.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Counted {
    /// Datagrams with the fate `limited`.
    pub(super) limited: u64,
    /// Datagrams that left and are missing.
    pub(super) lost: u64,
}

impl History {
    /// A history that begins with this look. `obedience` makes the sender follow the advice.
    pub(super) fn new(
        first: SafeUdpSample,
        counted: Counted,
        obedience: Option<Obedience>,
    ) -> Self {
        let mut total = SafeUdp::default();
        total.states.push(StateChange {
            at_ns: 0,
            state: first.state.into(),
        });
        Self {
            now: first,
            now_at: Duration::ZERO,
            begin: first,
            interval: first,
            counted,
            has_stopped: false,
            has_cut: false,
            obedience,
            total,
        }
    }

    /// Adds a look at the sender, at `elapsed` since the begin of the test, with the conclusions since the last one.
    /// Returns the rate to which an obedient sender slows down, in bits per second.
    pub(super) fn look(
        &mut self,
        elapsed: Duration,
        seen: SafeUdpSample,
        codes: &[SendCode],
    ) -> Option<f64> {
        let now = clock::now();
        for code in codes {
            self.conclude(elapsed, now, code);
        }
        self.note_trips(elapsed, &seen);
        if !self.has_stopped {
            let time = nanos(elapsed.saturating_sub(self.now_at));
            *self.total.time_ns.entry(self.now.state.into()).or_default() += time;
        }
        if seen.state != self.now.state {
            let change = StateChange {
                at_ns: nanos(elapsed),
                state: seen.state.into(),
            };
            let total = &mut self.total;
            keep(
                &mut total.states,
                SafeUdp::STATES_MAX,
                change,
                &mut total.left_out_n,
            );
        }
        least(&mut self.total.cap_min_bps, seen.cap_bps);
        (self.now, self.now_at) = (seen, elapsed);
        let obedience = self.obedience.as_mut()?;
        let allowed = obedience.look(elapsed, &seen, codes);
        least(&mut self.total.obeyed_min_bps, allowed);
        allowed
    }

    fn conclude(&mut self, elapsed: Duration, now: Instant, code: &SendCode) {
        let conclusion = conclusion(nanos(elapsed), code);
        if let SendCode::Congestion { .. } = code {
            least(&mut self.total.advised_min_bps, conclusion.rate_bps);
        }
        if let Some(ended) = ended(now, code) {
            self.total.ended.get_or_insert(ended);
        }
        let total = &mut self.total;
        match total.conclusions.last_mut() {
            Some(last) if last.code == conclusion.code && !self.has_cut => {
                *last = Conclusion {
                    at_ns: last.at_ns,
                    times_n: last.times_n + 1,
                    ..conclusion
                };
            }
            _ => {
                self.has_cut |= total.conclusions.len() == SafeUdp::CONCLUSIONS_MAX;
                keep(
                    &mut total.conclusions,
                    SafeUdp::CONCLUSIONS_MAX,
                    conclusion,
                    &mut total.left_out_n,
                );
            }
        }
    }

    fn note_trips(&mut self, elapsed: Duration, seen: &SafeUdpSample) {
        let news = seen.trips.iter().zip(self.now.trips).zip(Cause::ALL);
        for ((new, old), cause) in news {
            for _ in old..*new {
                let trip = Trip {
                    at_ns: nanos(elapsed),
                    cause: cause.name().into(),
                };
                let total = &mut self.total;
                keep(
                    &mut total.trips,
                    SafeUdp::TRIPS_MAX,
                    trip,
                    &mut total.left_out_n,
                );
            }
        }
    }

    /// Sending has ended. Packets that are still in flight can go missing after it.
    pub(super) const fn stop(&mut self) {
        self.has_stopped = true;
    }

    /// Ends the interval.
    pub(super) fn interval(&mut self, counted: Counted) -> SafeUdpInterval {
        let before = core::mem::replace(&mut self.interval, self.now);
        let counted_before = core::mem::replace(&mut self.counted, counted);
        let is_advised = self.now.state == ADVISORY;
        let trips = |of: &SafeUdpSample| of.trips.iter().sum::<u64>();
        SafeUdpInterval {
            state: self.now.state.into(),
            advised_bps: self.now.advised_bps.filter(|_| is_advised),
            cap_bps: self.now.cap_bps,
            tfrc_bps: self.now.tfrc_bps,
            dropped_packets: counted.limited.saturating_sub(counted_before.limited),
            lost_packets: counted.lost.saturating_sub(counted_before.lost),
            missing: self.now.missing.since(before.missing),
            trips_n: trips(&self.now).saturating_sub(trips(&before)),
        }
    }

    /// The figures of the whole test. The CCID dropped `dropped` datagrams.
    pub(super) fn total(&self, dropped: u64) -> SafeUdp {
        SafeUdp {
            dropped_packets: dropped,
            missing: self.now.missing.since(self.begin.missing),
            ..self.total.clone()
        }
    }
}

/// The state with advice.
const ADVISORY: &str = "advisory";

/// Appends an entry if there is room, and counts it otherwise.
fn keep<T>(list: &mut Vec<T>, most: usize, entry: T, left_out: &mut u64) {
    if list.len() < most {
        list.push(entry);
    } else {
        *left_out += 1;
    }
}

/// Lowers the least value.
fn least(least: &mut Option<f64>, value: Option<f64>) {
    *least = match (*least, value) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, other) => one.or(other),
    };
}

/// The end of a connection by a circuit breaker; `None` for other conclusions.
pub(crate) fn ended(now: Instant, code: &SendCode) -> Option<Ended> {
    let SendCode::Refused { cause, not_before } = code else {
        return None;
    };
    Some(Ended {
        cause: cause.name().into(),
        hold_ns: nanos(*not_before - now),
    })
}

/// A conclusion in the form of the result, `at_ns` after the begin.
pub(crate) fn conclusion(at_ns: u64, code: &SendCode) -> Conclusion {
    let mut conclusion = Conclusion {
        at_ns,
        last_ns: at_ns,
        times_n: 1,
        code: code.name().into(),
        ..Conclusion::default()
    };
    match *code {
        SendCode::HostWarning { bits_per_s, .. }
        | SendCode::Limited { bits_per_s }
        | SendCode::Dropped { bits_per_s, .. } => {
            conclusion.rate_bps = Some(to_f64(bits_per_s));
        }
        SendCode::Congestion {
            advised_bits_per_s,
            tfrc_bits_per_s,
            loss_per_billion,
            ..
        } => {
            conclusion.rate_bps = Some(to_f64(advised_bits_per_s));
            conclusion.tfrc_bps = Some(to_f64(tfrc_bits_per_s));
            conclusion.loss_ratio = Some(f64::from(loss_per_billion) / 1e9);
        }
        _ => {}
    }
    conclusion
}

#[cfg(test)]
mod tests;
