//! Conservative lookahead: a router handles a batch of arrivals in one event.
//!
//! A forwarded packet arrives nowhere before the least delay of the router's links has passed. If all of these
//! links are orderly ([`Link::lookahead`](crate::link::Link)), a router may therefore forward a packet up to that
//! delay after its arrival without any difference in the results. A batching router keeps a heap of the arrivals
//! that links announce. Its event comes when the first arrival cannot wait any longer. The event then forwards
//! all packets that have arrived by then, each at its own time and in the order of the [`EventKey`]s:
//!
//! ```text
//!   arrivals      a   b c     d            e    f
//!   router        |<--- delay - 1 ns ----->| event: forwards a, b, c, d, e as of their times
//!   next node       |<------- delay -------->| b at the earliest
//! ```
//! Any other event that could see a difference first forwards everything that arrived before it
//! ([`Net::forward_all`]). So the results are the same to the bit as without lookahead.
//!
//! Routers do not batch while a caller inspects every event ([`Net::set_lookahead`]).

use super::{ActorKind, Net};
use crate::check;
use crate::frame::FrameId;
use crate::ids::{LinkId, NodeId};
use crate::schedule::{Actor, EventKey, Schedule};
use core::cmp::Reverse;
use core::time::Duration;
use dccp_proto::Instant;
use std::collections::BinaryHeap;

/// A router that may batch.
pub(crate) struct BatchRouter {
    node: NodeId,
    actor: Actor,
    /// How long it may delay forwarding a packet; `None`: not at all.
    slack: Option<Duration>,
    /// The next arrival over each link that leads here and has one.
    heads: BinaryHeap<Reverse<EventKey>>,
}

/// The index of a router in [`Net::routers`].
pub(crate) type RouterId = u32;

impl Net {
    /// Registers a node that only routes.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "memory ends before 2^32 routers"
    )]
    pub(crate) fn add_router(&mut self, node: NodeId) {
        let actor = self.cast(ActorKind::Router(self.routers.len() as RouterId));
        self.routers.push(BatchRouter {
            node,
            actor,
            slack: None,
            heads: BinaryHeap::new(),
        });
    }

    /// Turns lookahead on or off. It is off while a caller inspects the world after each event.
    pub(crate) fn set_lookahead(&mut self, is_wanted: bool) {
        // A trace shows the order of departures.
        let uses_lookahead = is_wanted && self.trace.is_none();
        if uses_lookahead != self.uses_lookahead || self.is_plan_stale {
            self.uses_lookahead = uses_lookahead;
            self.plan();
        }
    }

    /// Decides, after a change of the network, which routers batch and which links announce arrivals. All packets
    /// that have arrived must have been forwarded.
    pub(crate) fn plan(&mut self) {
        self.is_plan_stale = false;
        let slack = self.slack_of_nodes();
        let mut router_of = vec![None; slack.len()];
        for (number, late) in (0..).zip(&mut self.routers) {
            late.heads.clear();
            late.slack = slack[late.node.index()];
            router_of[late.node.index()] = late.slack.map(|_| number);
            self.schedule.set(late.actor, None, self.now);
        }
        for id in (0..self.wires.len()).map(LinkId::of) {
            let wire = &mut self.wires[id.index()];
            wire.is_announced = false;
            wire.leaves_batch_router = router_of[wire.from.index()].is_some();
            wire.batch_router = router_of[wire.to.index()];
            wire.announces = wire.batch_router.is_some() && wire.lookahead().is_some();
            if wire.announces {
                wire.scheduled = None;
                self.schedule.set(wire.actor, None, self.now);
                self.announce(id);
            } else {
                self.schedule_link(id);
            }
        }
    }

    /// How long each node may delay forwarding, if at all: a router without processing time whose links are all
    /// orderly, 1 ns less than their least delay.
    fn slack_of_nodes(&self) -> Vec<Option<Duration>> {
        let mut least = vec![None; self.names.len()];
        if self.uses_lookahead {
            for late in &self.routers {
                let is_quick = self.machine(late.node).is_none();
                least[late.node.index()] = is_quick.then_some(u64::MAX);
            }
        }
        for wire in &self.wires {
            let node = &mut least[wire.from.index()];
            *node = node.zip(wire.lookahead()).map(|(a, b)| a.min(b));
        }
        let slack = |least: Option<u64>| {
            let ns = least.filter(|ns| *ns < u64::MAX)?;
            Some(Duration::from_nanos(ns - 1))
        };
        least.into_iter().map(slack).collect()
    }

    /// Announces the next arrival of a link to the router at its end.
    #[inline]
    pub(super) fn announce(&mut self, id: LinkId) {
        let wire = &mut self.wires[id.index()];
        if let Some(number) = wire.batch_router
            && let Some((at, since)) = wire.link.head()
        {
            let head = wire.turn(at, since);
            wire.is_announced = true;
            let late = &mut self.routers[number as usize];
            late.heads.push(Reverse(head));
            late.arrange(&mut self.schedule, self.now);
        }
    }

    /// Whether a node batches now.
    #[cfg(test)]
    pub(crate) fn is_batching(&self, node: NodeId) -> bool {
        let late = self.routers.iter().find(|late| late.node == node);
        late.is_some_and(|late| late.slack.is_some())
    }

    /// Lets all routers forward the arrivals before the event `before`.
    pub(crate) fn forward_all(&mut self, before: EventKey) {
        if self.routers.iter().all(|late| late.slack.is_none()) {
            return;
        }
        for number in (0..).take(self.routers.len()) {
            self.forward_until(number, before);
        }
        for wire in &mut self.wires {
            wire.link.catch_up();
        }
    }

    /// Lets a batching router at the end of a link forward the arrivals before the event `before`.
    #[inline]
    pub(crate) fn forward_at_end(&mut self, id: LinkId, before: EventKey) {
        if let Some(number) = self.wires[id.index()].batch_router {
            self.forward_until(number, before);
        }
    }

    /// Lets a router forward the arrivals before the event `before`, each at its own time.
    pub(crate) fn forward_until(&mut self, number: RouterId, before: EventKey) {
        let now = self.now;
        while let Some(head) = self.routers[number as usize].head(before) {
            self.forward_from_link(number, head, before);
        }
        self.now = now;
        self.routers[number as usize].arrange(&mut self.schedule, now);
    }

    /// The same for one link, whose first arrival is `head`, until another link has the next arrival.
    fn forward_from_link(&mut self, number: RouterId, head: EventKey, before: EventKey) {
        let ActorKind::Link(id) = self.actors[head.actor() as usize] else {
            return;
        };
        let late = &self.routers[number as usize];
        let router = late.node;
        let until = late.second().map_or(before, |next| next.min(before));
        self.now = head.time();
        self.begin_event();
        loop {
            if let Some(arrival) = self.wires[id.index()].link.take() {
                self.frames.set_ecn(arrival.token, arrival.ecn);
                self.forward(router, arrival.token);
            }
            if self.is_checked {
                self.promise(self.check_link(id));
                self.promise(check::conservation(&self.totals()));
            }
            // The forwarded packet may have entered this very link.
            match self.wires[id.index()].head() {
                None => {
                    self.wires[id.index()].is_announced = false;
                    self.routers[number as usize].heads.pop();
                    return;
                }
                Some(next) if next >= until => {
                    self.routers[number as usize].replace_head(next);
                    return;
                }
                Some(next) if next.time() > self.now => {
                    // Packets that arrive at one time over one link are one event.
                    self.now = next.time();
                    self.begin_event();
                }
                Some(_) => {}
            }
        }
    }

    /// A router forwards a frame, and the ICMP errors that it sends about it.
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

impl BatchRouter {
    /// Schedules its event for when the first arrival cannot wait any longer.
    fn arrange(&mut self, schedule: &mut Schedule, now: Instant) {
        let slack = self.slack.unwrap_or_default();
        let first = self.heads.peek();
        let at = first.map(|first| first.0.time() + slack);
        schedule.set(self.actor, at, now);
    }

    /// The first arrival, if it comes before the event `before`.
    fn head(&self, before: EventKey) -> Option<EventKey> {
        let first = self.heads.peek().map(|first| first.0);
        first.filter(|first| *first < before)
    }

    /// The second arrival: in a heap, one of two places.
    fn second(&self) -> Option<EventKey> {
        let next = self.heads.as_slice().iter().skip(1).take(2);
        next.map(|next| next.0).min()
    }

    /// Replaces the first arrival by the next one over the same link.
    fn replace_head(&mut self, next: EventKey) {
        if let Some(mut first) = self.heads.peek_mut() {
            *first = Reverse(next);
        }
    }
}
