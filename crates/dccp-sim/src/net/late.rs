//! Routers that forward late: many packets in one event.
//!
//! What a router passes on arrives nowhere before the least delay of its links is over. So if all of them are
//! orderly ([`Link::lookahead`](crate::link::Link)), nobody can tell whether it forwards a packet when that
//! arrives, or a little less than this delay later. Such a router keeps a line of arrivals that links have
//! foreseen, is called when the first of them cannot wait any longer, and then does all that has come by then,
//! each at its own time and in the order of its [`Turn`]:
//!
//! ```text
//!   arrivals      a   b c     d            e    f
//!   router        |<--- delay - 1 ns ----->| now: forwards a, b, c, d, e as of their times
//!   next node       |<------- delay -------->| b at the earliest
//! ```
//! All else that happens waits for nothing: an event finds everything that came before it done
//! ([`Net::settle_all`]), or cannot tell. So the results are the same to the bit as without.
//!
//! Routers do not forward late while somebody looks at every event ([`Net::look_ahead`]).

use super::{Net, Who};
use crate::check;
use crate::frame::FrameId;
use crate::ids::{LinkId, NodeId};
use crate::schedule::{Actor, Schedule, Turn};
use core::cmp::Reverse;
use core::time::Duration;
use dccp_proto::Instant;
use std::collections::BinaryHeap;

/// A router.
pub(crate) struct Late {
    node: NodeId,
    actor: Actor,
    /// How long it may keep a packet waiting; `None`: not at all.
    patience: Option<Duration>,
    /// The next arrival over each link that leads here and has one.
    heads: BinaryHeap<Reverse<Turn>>,
}

/// Names a router among those that may forward late.
pub(crate) type LateId = u32;

impl Net {
    /// Says that a node is a mere router.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "memory ends before 2^32 routers"
    )]
    pub(crate) fn add_router(&mut self, node: NodeId) {
        let actor = self.cast(Who::Late(self.lates.len() as LateId));
        self.lates.push(Late {
            node,
            actor,
            patience: None,
            heads: BinaryHeap::new(),
        });
    }

    /// Whether routers forward late from now on: not while somebody looks at the world after each event.
    pub(crate) fn look_ahead(&mut self, is_wanted: bool) {
        // A trace tells in which order packets left.
        let is_ahead = is_wanted && self.trace.is_none();
        if is_ahead != self.is_ahead || self.is_plan_old {
            self.is_ahead = is_ahead;
            self.plan();
        }
    }

    /// Decides who forwards late, and which links tell of what will arrive, after a change of the network. All
    /// that has arrived until now must have been forwarded.
    pub(crate) fn plan(&mut self) {
        self.is_plan_old = false;
        let patience = self.patience_of_nodes();
        let mut late_at = vec![None; patience.len()];
        for (number, late) in (0..).zip(&mut self.lates) {
            late.heads.clear();
            late.patience = patience[late.node.index()];
            late_at[late.node.index()] = late.patience.map(|_| number);
            self.schedule.set(late.actor, None, self.now);
        }
        for id in (0..self.wires.len()).map(LinkId::of) {
            let wire = &mut self.wires[id.index()];
            wire.is_in_line = false;
            wire.begins_late = late_at[wire.from.index()].is_some();
            wire.ends_late = late_at[wire.to.index()];
            wire.is_foreseen = wire.ends_late.is_some() && wire.lookahead().is_some();
            if wire.is_foreseen {
                wire.scheduled = None;
                self.schedule.set(wire.actor, None, self.now);
                self.foresee(id);
            } else {
                self.schedule_link(id);
            }
        }
    }

    /// For each node how long it may keep a packet waiting, if at all: a router that takes no time, all of
    /// whose links are orderly, less than the least time that they take.
    fn patience_of_nodes(&self) -> Vec<Option<Duration>> {
        let mut least = vec![None; self.names.len()];
        if self.is_ahead {
            for late in &self.lates {
                let is_quick = self.machine(late.node).is_none();
                least[late.node.index()] = is_quick.then_some(u64::MAX);
            }
        }
        for wire in &self.wires {
            let node = &mut least[wire.from.index()];
            *node = node.zip(wire.lookahead()).map(|(a, b)| a.min(b));
        }
        let patience = |least: Option<u64>| {
            let ns = least.filter(|ns| *ns < u64::MAX)?;
            Some(Duration::from_nanos(ns - 1))
        };
        least.into_iter().map(patience).collect()
    }

    /// Lets the router at the end of a link that had nothing in flight know what will arrive next.
    #[inline]
    pub(super) fn foresee(&mut self, id: LinkId) {
        let wire = &mut self.wires[id.index()];
        if let Some(number) = wire.ends_late
            && let Some((at, since)) = wire.link.head()
        {
            let head = wire.turn(at, since);
            wire.is_in_line = true;
            let late = &mut self.lates[number as usize];
            late.heads.push(Reverse(head));
            late.arrange(&mut self.schedule, self.now);
        }
    }

    /// Whether a node forwards late now.
    #[cfg(test)]
    pub(crate) fn is_late(&self, node: NodeId) -> bool {
        let late = self.lates.iter().find(|late| late.node == node);
        late.is_some_and(|late| late.patience.is_some())
    }

    /// Lets all routers forward what has arrived before this turn.
    pub(crate) fn settle_all(&mut self, before: Turn) {
        if self.lates.iter().all(|late| late.patience.is_none()) {
            return;
        }
        for number in (0..).take(self.lates.len()) {
            self.settle(number, before);
        }
        for wire in &mut self.wires {
            wire.link.catch_up();
        }
    }

    /// Lets the router at the end of a link, if it is a late one, forward what has arrived before this turn.
    #[inline]
    pub(crate) fn settle_end(&mut self, id: LinkId, before: Turn) {
        if let Some(number) = self.wires[id.index()].ends_late {
            self.settle(number, before);
        }
    }

    /// Lets a router forward what has arrived before this turn: each packet at its time.
    pub(crate) fn settle(&mut self, number: LateId, before: Turn) {
        let now = self.now;
        while let Some(head) = self.lates[number as usize].head(before) {
            self.settle_link(number, head, before);
        }
        self.now = now;
        self.lates[number as usize].arrange(&mut self.schedule, now);
    }

    /// The same of one link, whose first packet arrives in the turn `head`, as long as it is its turn.
    fn settle_link(&mut self, number: LateId, head: Turn, before: Turn) {
        let Who::Link(id) = self.actors[head.actor() as usize] else {
            return;
        };
        let late = &self.lates[number as usize];
        let router = late.node;
        let until = late.second().map_or(before, |next| next.min(before));
        self.now = head.moment();
        self.begin_event();
        loop {
            if let Some(arrival) = self.wires[id.index()].link.take() {
                self.frames.set_ecn(arrival.token, arrival.ecn);
                self.forward(router, arrival.token);
            }
            if self.is_checked {
                self.promise(check::link(&self.wires[id.index()]));
                self.promise(check::conservation(&self.totals()));
            }
            // What was forwarded may have entered this very link.
            match self.wires[id.index()].head() {
                None => {
                    self.wires[id.index()].is_in_line = false;
                    self.lates[number as usize].heads.pop();
                    return;
                }
                Some(next) if next >= until => {
                    self.lates[number as usize].replace_head(next);
                    return;
                }
                Some(next) if next.moment() > self.now => {
                    // What a link brings at once is one event.
                    self.now = next.moment();
                    self.begin_event();
                }
                Some(_) => {}
            }
        }
    }

    /// A router passes a frame on, and errors that it sends about that.
    #[inline]
    fn forward(&mut self, router: NodeId, frame: FrameId) {
        let own = self.arrived.len();
        self.pass_on(router, frame);
        if self.arrived.len() > own {
            self.forward_errors(router, own);
        }
    }

    #[cold]
    fn forward_errors(&mut self, router: NodeId, own: usize) {
        while self.arrived.len() > own {
            if let Some((_, error)) = self.arrived.pop_back() {
                self.pass_on(router, error);
            }
        }
    }
}

impl Late {
    /// Asks to be called when the first in line cannot wait any longer.
    fn arrange(&mut self, schedule: &mut Schedule, now: Instant) {
        let patience = self.patience.unwrap_or_default();
        let first = self.heads.peek();
        let at = first.map(|first| first.0.moment() + patience);
        schedule.set(self.actor, at, now);
    }

    /// The first arrival, if it comes before this turn.
    fn head(&self, before: Turn) -> Option<Turn> {
        let first = self.heads.peek().map(|first| first.0);
        first.filter(|first| *first < before)
    }

    /// The one after it: in a heap, one of two places.
    fn second(&self) -> Option<Turn> {
        let next = self.heads.as_slice().iter().skip(1).take(2);
        next.map(|next| next.0).min()
    }

    /// Over the link of the first arrival this one comes next.
    fn replace_head(&mut self, next: Turn) {
        if let Some(mut first) = self.heads.peek_mut() {
            *first = Reverse(next);
        }
    }
}
