//! The connections that may have packets to send, and the next deadline.

use super::ConnId;
use crate::time::Instant;
use std::collections::{BTreeSet, VecDeque};

/// A ready list, and at most one deadline of each connection.
///
/// A stored deadline is never later than the true one. If it is earlier, the connection wakes, finds
/// nothing due, and is armed again. So a timer that only moves back costs nothing; an RTO does so with
/// every acknowledgement.
///
/// Indices of connections are used again, so each entry stores the id that it belongs to.
#[derive(Default)]
pub(super) struct Schedule {
    ready: VecDeque<ConnId>,
    deadlines: BTreeSet<(Instant, ConnId)>,
    states: Vec<ConnSchedule>,
}

#[derive(Clone, Default)]
struct ConnSchedule {
    /// The id that is in the ready list, if any.
    ready: Option<ConnId>,
    /// The entry in `deadlines`.
    armed: Option<(Instant, ConnId)>,
}

impl Schedule {
    fn entry(&mut self, id: ConnId) -> &mut ConnSchedule {
        if self.states.len() <= id.index() {
            self.states
                .resize_with(id.index() + 1, ConnSchedule::default);
        }
        &mut self.states[id.index()]
    }

    pub(super) fn wake(&mut self, id: ConnId) {
        let entry = self.entry(id);
        if entry.ready != Some(id) {
            entry.ready = Some(id);
            self.ready.push_back(id);
        }
    }

    pub(super) fn next_ready(&self) -> Option<ConnId> {
        self.ready.front().copied()
    }

    /// Moves the first of the ready list to its end: it has sent a batch and may have more packets.
    pub(super) fn rotate(&mut self) {
        self.ready.rotate_left(1);
    }

    /// Removes the first of the ready list: it has no more packets.
    pub(super) fn sleep(&mut self, id: ConnId) {
        debug_assert_eq!(self.ready.front(), Some(&id));
        self.ready.pop_front();
        let entry = self.entry(id);
        entry.ready = entry.ready.filter(|ready| *ready != id);
    }

    pub(super) fn arm(&mut self, id: ConnId, at: Instant) {
        let entry = self.entry(id);
        if entry.armed.is_none_or(|(armed, _)| at < armed) {
            let old = entry.armed.replace((at, id));
            if let Some(old) = old {
                self.deadlines.remove(&old);
            }
            self.deadlines.insert((at, id));
        }
    }

    pub(super) fn disarm(&mut self, id: ConnId) {
        if let Some(old) = self.entry(id).armed.take() {
            self.deadlines.remove(&old);
        }
    }

    /// The next connection whose deadline has come.
    pub(super) fn expire(&mut self, now: Instant) -> Option<ConnId> {
        let (_, id) = *self.deadlines.first().filter(|(at, _)| *at <= now)?;
        self.disarm(id);
        Some(id)
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::id;
    use super::*;

    const fn at(n: u64) -> Instant {
        Instant::from_nanos(n)
    }

    #[test]
    fn connection_armed_often_has_one_deadline() {
        let mut schedule = Schedule::default();
        let (a, b) = (id(0, 0), id(1, 0));
        schedule.arm(b, at(1000));
        for n in 0..500 {
            // The far one is armed again after each near one has expired.
            schedule.arm(a, at(1000));
            schedule.arm(a, at(n));
            assert_eq!(schedule.next_deadline(), Some(at(n)));
            assert_eq!(schedule.expire(at(n)), Some(a));
            assert_eq!(schedule.expire(at(n)), None);
            assert_eq!(schedule.deadlines.len(), 1);
        }
        schedule.disarm(b);
        assert_eq!(schedule.next_deadline(), None);
    }

    #[test]
    fn deadline_that_moves_back_keeps_its_entry() {
        let mut schedule = Schedule::default();
        schedule.arm(id(0, 0), at(5));
        schedule.arm(id(0, 0), at(9));
        assert_eq!(schedule.expire(at(4)), None);
        assert_eq!(schedule.expire(at(5)), Some(id(0, 0)));
        assert_eq!(schedule.next_deadline(), None);
    }

    #[test]
    fn connection_that_sent_comes_after_the_others() {
        let mut schedule = Schedule::default();
        for index in [0, 1, 2, 1, 0] {
            schedule.wake(id(index, 0));
        }
        let mut turns = Vec::new();
        for _ in 0..5 {
            turns.extend(schedule.next_ready().map(ConnId::index));
            schedule.rotate();
        }
        assert_eq!(turns, [0, 1, 2, 0, 1]);
    }

    #[test]
    fn old_id_in_the_ready_list_does_not_hide_the_new_one() {
        let mut schedule = Schedule::default();
        let (old, new) = (id(0, 0), id(0, 1));
        schedule.wake(old);
        schedule.wake(new);
        schedule.wake(new);
        assert_eq!(schedule.ready, [old, new]);
        schedule.sleep(old);
        schedule.wake(new);
        assert_eq!(schedule.ready, [new]);
        schedule.sleep(new);
        assert_eq!(schedule.next_ready(), None);
        schedule.wake(new);
        assert_eq!(schedule.next_ready(), Some(new));
    }
}
