//! The next deadline of a connection, and what happens when one expires. `timers.rs` stores them.

use super::{App, Connection, State, Timer};
use crate::cc::AckDue;
use crate::time::Instant;

impl Connection {
    /// When the next deadline is, and why.
    pub fn poll_timeout(&self) -> Option<(Instant, Timer)> {
        if !self.state.is_alive() {
            return None;
        }
        let mut next = self.timers.next();
        let mut or = |at: Option<Instant>, timer| {
            if let Some(at) = at
                && next.is_none_or(|next| (at, timer) < next)
            {
                next = Some((at, timer));
            }
        };
        or(self.tx.cc.poll_timeout(), Timer::HcSender);
        if self.may_send_acks() {
            if let AckDue::At(at) = self.rx.cc.ack_due(self.last_valid) {
                or(Some(at), Timer::Ack);
            }
            or(self.features.poll_timeout(), Timer::Feature);
        }
        // Probes leave in OPEN only, but a deadline must not be first seen when it has passed.
        or(self.pmtu.poll_timeout(), Timer::Pmtu);
        next
    }

    /// The time of the last [`handle_timeout`](Self::handle_timeout): what was due then has been done.
    pub(crate) fn timed(&self) -> Instant {
        self.timed
    }

    /// Does what is due by `now`. Calling early is harmless.
    pub(crate) fn handle_timeout(&mut self, now: Instant, app: &mut App<'_>) {
        self.timed = now;
        while let Some((at, timer)) = self.timers.expire(now) {
            self.stats.timers.count(timer);
            match timer {
                Timer::GiveUp => self.on_give_up(now, app),
                Timer::Request => self.on_request_timeout(now),
                Timer::PartOpen => self.on_partopen_timeout(now),
                Timer::Listen => self.on_listen_timeout(now),
                Timer::Close => self.on_close_timeout(now),
                Timer::Resync => self.on_resync_timeout(),
                Timer::Keepalive => self.on_keepalive_timeout(now),
                Timer::Silence => self.on_silence_timeout(now, app),
                // Deadlines only: the next poll_transmit does what is due.
                Timer::Pace => self.scheduled = Some(at),
                Timer::Expiry | Timer::Ack | Timer::Feature | Timer::HcSender | Timer::Pmtu => {}
            }
        }
        if !self.state.is_alive() {
            return;
        }
        self.count_deadlines_of_parts(now);
        if self.tx.cc.poll_timeout().is_some_and(|at| at <= now) {
            self.on_sender_timeout(now, app);
        }
        self.pmtu.on_timeout(now);
        self.after_input(now, app);
    }

    /// Counts the deadlines that parts of the connection keep and that have come.
    fn count_deadlines_of_parts(&mut self, now: Instant) {
        let ack_at = match self.rx.cc.ack_due(self.last_valid) {
            AckDue::At(at) if self.may_send_acks() => Some(at),
            _ => None,
        };
        let deadlines = [
            (Timer::Feature, self.features.poll_timeout()),
            (Timer::HcSender, self.tx.cc.poll_timeout()),
            (Timer::Ack, ack_at),
            (Timer::Pmtu, self.pmtu.poll_timeout()),
        ];
        for (timer, at) in deadlines {
            if at.is_some_and(|at| at <= now) {
                self.stats.timers.count(timer);
            }
        }
    }

    /// The controller's RTO or nofeedback timer (4341-5-7, 5348-4.4-1).
    fn on_sender_timeout(&mut self, now: Instant, app: &mut App<'_>) {
        if self.tx.cc.is_overdue(now) {
            let stats = &mut self.stats;
            stats.mib.timeouts += 1;
            stats.counters.cc_timeouts += 1;
            self.pmtu.on_silence(now, self.in_flight.large_in_flight());
        }
        if self.tx.cc.on_timeout(now) {
            self.in_flight.on_timeout();
        }
        self.follow_controllers();
        self.sample_rate(now, app);
    }

    /// 6773-L-1: while the connection is open; what closes it is repeated until it is over.
    fn on_keepalive_timeout(&mut self, now: Instant) {
        let Some(interval) = self.config.keepalive.filter(|_| self.state == State::Open) else {
            return;
        };
        if now - self.last_sent >= interval {
            self.due.sync = Some(self.seqs.gsr);
            self.last_sent = now;
        }
        self.timers.set(Timer::Keepalive, self.last_sent + interval);
    }
}

#[cfg(test)]
mod tests {
    use super::super::NoApp;
    use super::super::pmtu::Quote;
    use super::super::tests::{START, TestReceiver, TestSender, config, open};
    use super::*;
    use core::time::Duration;

    #[test]
    fn an_acknowledgement_wakes_a_connection_only_in_states_that_have_acks() {
        // 4340-8.1.5: the first Ack of a client is that of PARTOPEN; a server in RESPOND sends none.
        let at = START + Duration::from_millis(1);
        for (state, has_acks) in [
            (State::Request, false),
            (State::Respond, false),
            (State::PartOpen, true),
            (State::Open, true),
        ] {
            let mut conn = open(config());
            conn.rx.cc = Box::new(TestReceiver(AckDue::At(at)));
            conn.state = state;
            let is_next = conn.poll_timeout() == Some((at, Timer::Ack));
            assert_eq!(is_next, has_acks, "{state:?}");
        }
    }

    #[test]
    fn pmtu_deadline_that_passes_before_open_is_not_due_then() {
        let mut conn = open(config());
        let quote = Quote {
            seq: conn.seqs.gss,
            len: Some(1400),
        };
        assert!(conn.pmtu.on_too_big(START, 1280, Some(quote)));
        let raise_at = conn.pmtu.poll_timeout().expect("time to try more");
        conn.state = State::PartOpen;
        conn.timers.clear_all();
        assert_eq!(conn.poll_timeout(), Some((raise_at, Timer::Pmtu)));
        let mut app = App {
            outbox: &mut NoApp,
            inbox: &mut NoApp,
        };
        conn.handle_timeout(raise_at, &mut app);
        conn.state = State::Open;
        assert_eq!(conn.pmtu.poll_timeout(), None);
        assert!(conn.pmtu.has_probe_due());
    }

    #[test]
    fn every_timeout_of_the_sender_is_counted() {
        let mut conn = open(config());
        conn.tx.cc = Box::new(TestSender {
            timeout: Some(START),
            ..TestSender::default()
        });
        for count in [1, 2] {
            let mut app = App {
                outbox: &mut NoApp,
                inbox: &mut NoApp,
            };
            conn.handle_timeout(START, &mut app);
            let stats = conn.stats();
            assert_eq!(
                (stats.mib.timeouts, stats.counters.cc_timeouts),
                (count, count)
            );
            assert_eq!(stats.timers.of(Timer::HcSender), count);
        }
    }
}
