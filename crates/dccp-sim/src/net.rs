//! The network between the nodes: links, frames in flight, the clock. A node uses it through a [`Context`].

mod context;
mod enter;
mod lookahead;

pub use crate::ids::LinkId;
pub use context::{Context, Departure};
pub(crate) use lookahead::RouterId;

use crate::check::{self, Checks};
use crate::frame::{About, Content, FrameId, Frames, Header, IcmpError};
use crate::ids::NodeId;
use crate::link::{Link, LinkConfig};
use crate::loss::{Fate, Loss};
use crate::machine::{Machine, MachineConfig};
use crate::pcap::PcapWriter;
use crate::random::Seed;
use crate::routes::Routes;
use crate::rule::Rule;
use crate::schedule::{Actor, EventKey, Schedule};
use crate::timeline::{Change, Timeline};
use crate::totals::Totals;
use crate::trace::Trace;
use dccp_proto::Instant;
use dccp_proto::wire::Ecn;
use lookahead::BatchRouter;
use std::collections::VecDeque;
use std::io::Write;

/// The number of the timeline in the schedule.
const TIMELINE: Actor = 0;

/// Everything between the nodes.
pub(crate) struct Net {
    pub(crate) seed: Seed,
    pub(crate) now: Instant,
    pub(crate) schedule: Schedule,
    /// The kind of each actor. The timeline is the first.
    pub(crate) actors: Vec<ActorKind>,
    /// The actors of the nodes.
    node_actors: Vec<Actor>,
    pub(crate) frames: Frames,
    pub(crate) wires: Vec<Wire>,
    pub(crate) routes: Routes,
    /// Routers, and whether lookahead is on.
    routers: Vec<BatchRouter>,
    uses_lookahead: bool,
    /// The network has changed since the lookahead was planned.
    pub(crate) is_plan_stale: bool,
    /// Machines by node; `None` for a machine that takes no time.
    hardware: Vec<Option<Box<Hardware>>>,
    pub(crate) timeline: Timeline,
    /// Frames that are at a node without having crossed a link: second copies, and ICMP errors.
    pub(crate) arrived: VecDeque<(NodeId, FrameId)>,
    pub(crate) totals: Totals,
    /// How many events have been played.
    pub(crate) events: u64,
    checks: Checks,
    /// Whether invariants are checked after this event, and after how many events they are checked next.
    pub(crate) is_checked: bool,
    until_check: u64,
    pub(crate) names: Vec<String>,
    pub(crate) trace: Option<Trace>,
    pub(crate) captures: Vec<Capture>,
}

/// One direction of a link in its place.
pub(crate) struct Wire {
    pub(crate) link: Link<FrameId>,
    pub(crate) name: String,
    pub(crate) from: NodeId,
    to: NodeId,
    actor: Actor,
    /// When its event is scheduled: read with every packet, changed by few.
    scheduled: Option<Instant>,
    /// It starts at a batching router; it ends at this one.
    leaves_batch_router: bool,
    batch_router: Option<RouterId>,
    announces: bool,
    /// The router at its end knows the next arrival.
    is_announced: bool,
    pub(crate) rules: Vec<Rule>,
    pub(crate) lost_by_rule: u64,
}

pub(crate) struct Capture {
    pub(crate) node: NodeId,
    pub(crate) writer: PcapWriter<Box<dyn Write>>,
}

impl Wire {
    /// The least time in ns from entrance to arrival, if packets only wait in line here.
    fn lookahead(&self) -> Option<u64> {
        self.link.lookahead().filter(|_| self.rules.is_empty())
    }

    /// The event key of the next arrival.
    #[inline]
    fn head(&self) -> Option<EventKey> {
        let (at, since) = self.link.head()?;
        Some(self.turn(at, since))
    }

    /// The event key of an arrival that has been the next since `since`.
    #[inline]
    const fn turn(&self, at: Instant, since: Instant) -> EventKey {
        EventKey::of(at, since, self.actor)
    }
}

/// The kinds of actors that have events.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ActorKind {
    Timeline,
    Node(NodeId),
    Link(LinkId),
    /// The machine of a node.
    Machine(NodeId),
    /// A router that batches arrivals.
    Router(RouterId),
}

/// A machine and its actor.
struct Hardware {
    machine: Machine<FrameId>,
    actor: Actor,
}

impl Net {
    pub(crate) fn new(seed: Seed) -> Self {
        Self {
            seed,
            now: Instant::ZERO,
            schedule: Schedule::default(),
            actors: vec![ActorKind::Timeline],
            node_actors: Vec::new(),
            frames: Frames::default(),
            wires: Vec::new(),
            routes: Routes::default(),
            routers: Vec::new(),
            uses_lookahead: false,
            is_plan_stale: false,
            hardware: Vec::new(),
            timeline: Timeline::default(),
            arrived: VecDeque::new(),
            totals: Totals::default(),
            events: 0,
            checks: Checks::EveryEvent,
            is_checked: true,
            until_check: 1,
            names: Vec::new(),
            trace: None,
            captures: Vec::new(),
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "memory ends before 2^31 links"
    )]
    pub(crate) fn add_wire(&mut self, from: NodeId, to: NodeId, config: LinkConfig) -> LinkId {
        let ends = format!("{}>{}", self.names[from.index()], self.names[to.index()]);
        let parallel = self.wires.iter().filter(|w| (w.from, w.to) == (from, to));
        let name = match parallel.count() {
            0 => ends,
            n => format!("{ends}#{}", n + 1),
        };
        let id = LinkId(self.wires.len() as u32);
        let actor = self.cast(ActorKind::Link(id));
        self.wires.push(Wire {
            link: Link::new(config, self.seed, &name),
            name,
            from,
            to,
            actor,
            scheduled: None,
            leaves_batch_router: false,
            batch_router: None,
            announces: false,
            is_announced: false,
            rules: Vec::new(),
            lost_by_rule: 0,
        });
        self.routes.add_link(id, from, to);
        self.is_plan_stale = true;
        id
    }

    pub(crate) fn set_machine(&mut self, node: NodeId, config: MachineConfig) {
        let count = self.hardware.len().max(node.index() + 1);
        self.hardware.resize_with(count, || None);
        let known = self.hardware[node.index()].take().map(|h| h.actor);
        self.hardware[node.index()] = Some(Box::new(Hardware {
            machine: Machine::new(config),
            actor: known.unwrap_or_else(|| self.cast(ActorKind::Machine(node))),
        }));
        self.is_plan_stale = true;
    }

    pub(crate) fn add_node(&mut self, node: NodeId, name: &str) {
        self.names.push(name.to_owned());
        self.routes.add_node();
        let actor = self.cast(ActorKind::Node(node));
        self.node_actors.push(actor);
    }

    /// Adds an actor to the schedule.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "memory ends before 2^32 actors"
    )]
    fn cast(&mut self, who: ActorKind) -> Actor {
        self.actors.push(who);
        self.actors.len() as Actor - 1
    }

    pub(crate) fn machine(&self, node: NodeId) -> Option<&Machine<FrameId>> {
        Some(&self.hardware.get(node.index())?.as_ref()?.machine)
    }

    fn machine_mut(&mut self, node: NodeId) -> Option<&mut Machine<FrameId>> {
        Some(&mut self.hardware.get_mut(node.index())?.as_mut()?.machine)
    }

    /// A frame is at a node. Returns whether the node gets it at once.
    #[inline]
    pub(crate) fn receive(&mut self, node: NodeId, frame: FrameId) -> bool {
        let now = self.now;
        let Some(machine) = self.machine_mut(node) else {
            return true;
        };
        let result = machine.receive(now, frame);
        self.schedule_machine(node);
        if let Err((frame, reason)) = result {
            self.lose(frame, reason);
        }
        false
    }

    /// The next frame that a node's machine hands over.
    pub(crate) fn poll_machine(&mut self, node: NodeId) -> Option<FrameId> {
        let now = self.now;
        self.machine_mut(node)?.poll(now)
    }

    /// How many packets the links of a node have room for, or when the first full link will have room.
    fn room(&mut self, node: NodeId) -> Result<usize, Instant> {
        let now = self.now;
        let own = self.wires.iter_mut().filter(|w| w.from == node);
        own.map(|w| w.link.room(now))
            .reduce(|a, b| Ok(a?.min(b?)))
            .unwrap_or(Ok(usize::MAX))
    }

    /// Whether a node has something to send that it may send now.
    pub(crate) fn takes_sender(&mut self, node: NodeId) -> bool {
        let now = self.now;
        self.machine_mut(node).is_some_and(|m| m.takes_sender(now))
    }

    pub(crate) fn schedule_machine(&mut self, node: NodeId) {
        if let Some(Some(hardware)) = self.hardware.get(node.index()) {
            self.schedule
                .set(hardware.actor, hardware.machine.next_at(), self.now);
        }
    }

    pub(crate) fn totals(&self) -> Totals {
        Totals {
            in_flight: self.frames.live(),
            ..self.totals
        }
    }

    /// Whether [`totals`](Self::totals) add up.
    pub(crate) fn adds_up(&self) -> bool {
        let t = &self.totals;
        t.sent + t.duplicated == t.delivered + t.lost.total() + self.frames.live()
    }

    pub(crate) fn lose(&mut self, id: FrameId, reason: Loss) {
        self.totals.lost.add(reason);
        if let Some(trace) = &mut self.trace {
            trace.lost(self.frames.get(id), reason);
        }
        self.frames.remove(id);
    }

    /// The next frame that has arrived over a link, with the node that it is at now.
    #[inline]
    pub(crate) fn poll_link(&mut self, id: LinkId) -> Option<(NodeId, FrameId)> {
        loop {
            let wire = &mut self.wires[id.index()];
            let to = wire.to;
            let arrival = if wire.leaves_batch_router {
                wire.link.head().filter(|(at, _)| *at <= self.now)?;
                wire.link.take()?
            } else {
                wire.link.poll(self.now)?
            };
            let frame = arrival.token;
            self.frames.set_ecn(frame, arrival.ecn);
            match arrival.fate {
                Fate::Delivered => {}
                Fate::Duplicated => {
                    let copy = self.duplicate(frame);
                    self.arrived.push_back((to, copy));
                }
                Fate::Corrupted { bit } => {
                    if !self.frames.get_mut(frame).flip(bit) {
                        self.lose(frame, Loss::Corrupt);
                        continue;
                    }
                }
                Fate::Lost(reason) => {
                    self.lose(frame, reason);
                    continue;
                }
            }
            return Some((to, frame));
        }
    }

    /// Schedules the next event of a link, unless another packet has arrived by now. Returns whether one has.
    #[inline]
    pub(crate) fn has_more(&mut self, id: LinkId) -> bool {
        let wire = &mut self.wires[id.index()];
        let next = wire.link.next_at();
        if next.is_some_and(|at| at <= self.now) {
            return true;
        }
        wire.scheduled = next;
        let since = wire.link.next_since().unwrap_or(self.now);
        self.schedule.set(wire.actor, next, since);
        false
    }

    /// Makes a change of the network.
    pub(crate) fn change(&mut self, change: Change) {
        self.is_plan_stale = true;
        let now = self.now;
        let changed = match change {
            Change::Rate(id, rate) => {
                self.link_mut(id).set_rate(now, rate);
                id
            }
            Change::Delay(id, delay) => {
                self.link_mut(id).set_delay(now, delay);
                id
            }
            Change::Faults(id, faults) => {
                self.link_mut(id).set_faults(now, faults);
                id
            }
            Change::QueueLimit(id, limit) => {
                self.link_mut(id).set_queue_limit(now, limit);
                id
            }
            Change::Up(id, is_up) => {
                self.link_mut(id).set_up(now, is_up);
                self.routes.set_up(id, is_up);
                id
            }
            Change::Route { at, to, link } => return self.routes.fix(at, to, link),
        };
        self.schedule_link(changed);
    }

    /// Counts an event and decides whether invariants are checked after it.
    #[inline]
    pub(crate) fn begin_event(&mut self) {
        self.events += 1;
        self.until_check -= 1;
        self.is_checked = self.until_check == 0;
        if self.is_checked {
            self.until_check = self.checks.period();
        }
    }

    pub(crate) fn set_checks(&mut self, checks: Checks) {
        let period = checks.period();
        self.checks = checks;
        self.is_checked = checks == Checks::EveryEvent;
        self.until_check = period - self.events % period;
    }

    /// # Errors
    /// The broken invariant of this link.
    pub(crate) fn check_link(&self, id: LinkId) -> Result<(), String> {
        let wire = &self.wires[id.index()];
        check::link(&wire.name, &wire.link)
    }

    /// # Panics
    /// If an invariant is broken.
    pub(crate) fn promise(&self, result: Result<(), String>) {
        if let Err(what) = result {
            let now = self.now.as_nanos();
            panic!("{what}\n  at {now} ns, event {}", self.events);
        }
    }

    fn link_mut(&mut self, id: LinkId) -> &mut Link<FrameId> {
        &mut self.wires[id.index()].link
    }

    pub(crate) fn schedule_timeline(&mut self) {
        let at = self.timeline.next_at();
        self.schedule.set(TIMELINE, at, self.now);
    }

    /// Schedules the next event of a link; now if it is overdue.
    #[inline]
    pub(crate) fn schedule_link(&mut self, id: LinkId) {
        let wire = &mut self.wires[id.index()];
        let at = wire.link.next_at().map(|at| at.max(self.now));
        wire.scheduled = at;
        let since = wire.link.next_since().unwrap_or(self.now);
        self.schedule.set(wire.actor, at, since);
    }

    fn duplicate(&mut self, id: FrameId) -> FrameId {
        self.totals.duplicated += 1;
        let copy = self.frames.duplicate(id);
        if let Some(trace) = &mut self.trace {
            trace.duplicated(self.frames.get_mut(copy));
        }
        copy
    }

    fn originate(&mut self, header: &Header<'_>, node: NodeId) -> FrameId {
        self.totals.sent += 1;
        let to = self.routes.node_of_next(node, header.destination());
        let id = self.frames.insert(header, self.now, to);
        if let Some(trace) = &mut self.trace {
            let name = |n: NodeId| self.names[n.index()].as_str();
            trace.sent(self.frames.get_mut(id), name(node), to.map_or("?", name));
        }
        self.capture(node, id);
        id
    }

    #[inline]
    fn capture(&mut self, node: NodeId, id: FrameId) {
        if !self.captures.is_empty() {
            self.write_captures(node, id);
        }
    }

    #[cold]
    fn write_captures(&mut self, node: NodeId, id: FrameId) {
        for capture in &mut self.captures {
            if capture.node == node {
                capture.writer.frame(self.now, self.frames.get(id));
            }
        }
    }

    /// Sends an ICMP error about a frame from this node. No error is sent about an error
    /// (RFC 1122 §3.2.2).
    fn complain(&mut self, about: FrameId, error: IcmpError, quoted: usize, at: NodeId) {
        let frame = self.frames.get(about);
        if frame.content != Content::Dccp {
            return;
        }
        let quote = frame.bytes[..quoted.min(frame.bytes.len())].to_vec();
        let header = Header {
            path: frame.path,
            content: Content::Icmp {
                error,
                about: About {
                    len: frame.datagram().len(),
                    ecn: frame.ecn,
                },
            },
            ecn: Ecn::NotEct,
            may_fragment: frame.may_fragment,
            bytes: &quote,
            zeros: 0,
        };
        let id = self.originate(&header, at);
        self.arrived.push_back((at, id));
    }
}
