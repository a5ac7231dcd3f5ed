//! Delivers the events of connections, arms their timers, and frees their flows at the end.

use super::Endpoint;
use crate::ConnId;
use crate::conn::{Connection, State};
use crate::event::Event;
use crate::time::Instant;

impl Endpoint {
    /// Takes the events of a connection and arms its timer, after its timeout was handled. Its outputs may stay undrained for
    /// long while this host cannot send.
    pub(super) fn serve_busy(&mut self, now: Instant, id: ConnId) {
        let is_open = |conn: &Connection| conn.state() == State::Open;
        if !self.table.get(id).is_some_and(is_open) {
            return;
        }
        self.take_events(now, id);
        let due = self.table.get(id).and_then(Connection::poll_timeout);
        if let Some((at, _)) = due.filter(|(at, _)| *at > now) {
            self.schedule.arm(id, at);
        }
    }

    /// After its outputs are drained: takes a connection's events, arms its timer, or retires it.
    pub(super) fn settle(&mut self, now: Instant, id: ConnId) {
        self.take_events(now, id);
        let Some(conn) = self.table.get_mut(id) else {
            return;
        };
        if conn.is_finished() {
            self.retire(now, id);
        } else if let Some((at, timer)) = conn.poll_timeout() {
            // A deadline that stays in the past would cause a loop. One that passed after the last
            // `handle_timeout` is only late.
            let timed = conn.timed();
            debug_assert!(
                at > timed,
                "{timer:?} is still due at {at:?}, after {timed:?}"
            );
            self.schedule.arm(id, at);
        }
    }

    fn take_events(&mut self, now: Instant, id: ConnId) {
        let Some(conn) = self.table.get_mut(id) else {
            return;
        };
        while let Some(event) = conn.poll_event() {
            match &event {
                Event::Connected => self.listeners.on_settled(conn.flow().local_port, id),
                // A second connection would escape what limits this one.
                Event::SafeUdp(_) => {
                    if let Some(until) = conn.hold_off() {
                        self.hold_off.add(now, conn.flow().path.remote, until);
                    }
                }
                _ => {}
            }
            self.events.push_back((id, event));
        }
    }

    /// Frees the flow of a connection that is over. It can be looked at until its last event has
    /// been polled.
    pub(super) fn retire(&mut self, now: Instant, id: ConnId) {
        let Some(conn) = self.table.retire(id) else {
            return;
        };
        self.listeners.on_settled(conn.flow().local_port, id);
        if conn.state() == State::TimeWait {
            // 4340-8.3-2
            self.time_wait.sweep(now);
            self.time_wait.add(now + 2 * conn.msl(), *conn.flow());
        }
        self.stats += conn.stats();
        self.resets += conn.resets();
        self.schedule.disarm(id);
    }
}
