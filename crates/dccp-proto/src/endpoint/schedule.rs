//! Which connections want to be asked for packets, and when the next deadline is.

use super::ConnId;
use crate::time::Instant;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A ready list and a heap of deadlines.
///
/// A connection's deadline in the heap is never later than its true one; when it is earlier, the
/// connection is woken for nothing and armed again. So a timer that only moves back, as an RTO does
/// with every acknowledgement, costs nothing.
#[derive(Default)]
pub(super) struct Schedule {
    ready: VecDeque<ConnId>,
    deadlines: BinaryHeap<Reverse<(Instant, ConnId)>>,
    states: Vec<Entry>,
}

#[derive(Clone, Default)]
struct Entry {
    // Not only whether: another connection may have had this place before.
    ready: Option<ConnId>,
    armed: Option<(Instant, ConnId)>,
}

impl Schedule {
    fn entry(&mut self, id: ConnId) -> &mut Entry {
        if self.states.len() <= id.index() {
            self.states.resize_with(id.index() + 1, Entry::default);
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

    /// The first in the ready list has had its turn and may have more: the others come first.
    pub(super) fn rotate(&mut self) {
        self.ready.rotate_left(1);
    }

    /// The first in the ready list has nothing more.
    pub(super) fn sleep(&mut self, id: ConnId) {
        debug_assert_eq!(self.ready.front(), Some(&id));
        self.ready.pop_front();
        let entry = self.entry(id);
        entry.ready = entry.ready.filter(|ready| *ready != id);
    }

    pub(super) fn arm(&mut self, id: ConnId, at: Instant) {
        let entry = self.entry(id);
        if entry.armed.is_none_or(|(armed, _)| at < armed) {
            entry.armed = Some((at, id));
            self.deadlines.push(Reverse((at, id)));
        }
    }

    pub(super) fn disarm(&mut self, id: ConnId) {
        self.entry(id).armed = None;
    }

    /// The next connection whose deadline has come.
    pub(super) fn expire(&mut self, now: Instant) -> Option<ConnId> {
        while let Some(&Reverse((at, id))) = self.deadlines.peek() {
            if at > now {
                return None;
            }
            self.deadlines.pop();
            let entry = self.entry(id);
            if entry.armed == Some((at, id)) {
                entry.armed = None;
                return Some(id);
            }
        }
        None
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.peek().map(|Reverse((at, _))| *at)
    }
}
