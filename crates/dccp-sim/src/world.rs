//! The simulated world: nodes, the links between them, and the loop that plays events.

pub use crate::check::Checks;

use crate::check::{self, Repeat};
use crate::frame::FrameId;
use crate::ids::{LinkId, NodeId};
use crate::link::{Link, LinkConfig, LinkStats};
use crate::machine::{HostLosses, Machine, MachineConfig};
use crate::net::{ActorKind, Capture, Context, Net};
use crate::node::{Node, Router};
use crate::pcap::PcapWriter;
use crate::random::Seed;
use crate::rule::Rule;
use crate::schedule::EventKey;
use crate::timeline::Change;
use crate::totals::Totals;
use crate::trace::Trace;
use core::any::{Any, TypeId};
use core::marker::PhantomData;
use core::net::IpAddr;
use core::time::Duration;
use dccp_proto::Instant;
use dccp_proto::wire::PacketType;
use std::io::{self, Write};

/// A network in virtual time. Everything that happens in it follows from its construction and its
/// seed: to the bit, on every machine.
pub struct World {
    net: Net,
    nodes: Vec<Box<dyn Node>>,
    repeat: Repeat,
}

/// A node of a world whose type is known.
pub struct Handle<N> {
    id: NodeId,
    kind: PhantomData<fn() -> N>,
}

impl<N> Handle<N> {
    /// The node's name in the world.
    pub const fn id(self) -> NodeId {
        self.id
    }
}

impl<N> Clone for Handle<N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N> Copy for Handle<N> {}

impl World {
    /// An empty world at time zero.
    pub fn new(seed: Seed) -> Self {
        Self {
            net: Net::new(seed),
            nodes: Vec::new(),
            repeat: Repeat::of_this_test(seed),
        }
    }

    /// Sets the command that the message of a failure gives to repeat this run. The default names the running
    /// test.
    pub fn set_repeat_command(&mut self, command: String) {
        self.repeat.command = command;
    }

    /// Adds a node. Its name names its random streams and those of its links, so it must be its own.
    ///
    /// # Panics
    /// If the name or an address is taken.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "memory ends before 2^31 nodes"
    )]
    pub fn add<N: Node>(&mut self, name: &str, addresses: &[IpAddr], node: N) -> Handle<N> {
        assert!(
            !self.net.names.iter().any(|n| n == name),
            "two nodes are called {name}"
        );
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(Box::new(node));
        self.net.add_node(id, name);
        if TypeId::of::<N>() == TypeId::of::<Router>() {
            self.net.add_router(id);
        }
        for &address in addresses {
            assert!(
                self.net.routes.add_address(address, id),
                "two nodes have the address {address}"
            );
        }
        Handle {
            id,
            kind: PhantomData,
        }
    }

    /// Gives a node a machine that takes time, and a clock of its own. Do so before anything happens
    /// there.
    pub fn set_machine(&mut self, node: NodeId, config: MachineConfig) {
        self.net.set_machine(node, config);
    }

    /// How long the processor of a node has worked.
    pub fn processor_time(&self, node: NodeId) -> Duration {
        self.net.machine(node).map_or(Duration::ZERO, Machine::busy)
    }

    /// The received packets that a node's machine lost.
    pub fn host_losses(&self, node: NodeId) -> HostLosses {
        let machine = self.net.machine(node);
        machine.map_or_else(HostLosses::default, Machine::losses)
    }

    /// Links two nodes with one direction each way, and returns the names of `there` and `back`.
    pub fn connect(
        &mut self,
        a: NodeId,
        b: NodeId,
        there: LinkConfig,
        back: LinkConfig,
    ) -> (LinkId, LinkId) {
        (
            self.net.add_wire(a, b, there),
            self.net.add_wire(b, a, back),
        )
    }

    /// Adds a scripted fault at the entrance of a link, after those that it has.
    pub fn add_rule(&mut self, link: LinkId, rule: Rule) {
        self.net.wires[link.index()].rules.push(rule);
        self.net.is_plan_stale = true;
    }

    /// Removes all scripted faults of a link.
    pub fn clear_rules(&mut self, link: LinkId) {
        self.net.wires[link.index()].rules.clear();
        self.net.is_plan_stale = true;
    }

    /// Sets how often invariants are checked; by default after every event.
    pub fn set_checks(&mut self, checks: Checks) {
        self.net.set_checks(checks);
    }

    /// Changes the network at this moment; now if it has passed. Changes of one moment are made in the
    /// order of the calls.
    ///
    /// # Panics
    /// If a route is to lead over a link that does not begin at its node.
    pub fn at(&mut self, at: Instant, change: Change) {
        if let Change::Route {
            at: node,
            link: Some(link),
            ..
        } = change
        {
            let wire = &self.net.wires[link.index()];
            assert!(wire.from == node, "{} begins elsewhere", wire.name);
        }
        self.net.timeline.add(at.max(self.net.now), change);
        self.net.schedule_timeline();
    }

    /// Leads frames at one node for another one over this link, from now on. While the link is down
    /// they take another way if there is one.
    ///
    /// # Panics
    /// If the link does not begin at the node.
    pub fn set_route(&mut self, at: NodeId, to: NodeId, link: LinkId) {
        let wire = &self.net.wires[link.index()];
        assert!(wire.from == at, "{} begins elsewhere", wire.name);
        let link = Some(link);
        self.net.change(Change::Route { at, to, link });
    }

    /// Records all packets from now on, for [`trace`](Self::trace).
    pub fn start_trace(&mut self) {
        self.net.trace = Some(Trace::default());
        self.net.is_plan_stale = true;
    }

    /// Records the packets of one type from now on, for [`trace`](Self::trace): a run of millions of packets then needs
    /// little memory.
    pub fn start_trace_of(&mut self, packet_type: PacketType) {
        self.net.trace = Some(Trace::only(packet_type));
        self.net.is_plan_stale = true;
    }

    /// All packets since [`start_trace`](Self::start_trace), one a line.
    pub fn trace(&self) -> String {
        self.net
            .trace
            .as_ref()
            .map_or_else(String::new, Trace::text)
    }

    /// Writes all packets that a node sends and receives from now on to a capture file.
    pub fn capture(&mut self, node: NodeId, out: impl Write + 'static) {
        self.capture_up_to(node, out, usize::MAX);
    }

    /// Like [`capture`](Self::capture), but of each packet only the first `snap` bytes.
    pub fn capture_up_to(&mut self, node: NodeId, out: impl Write + 'static, snap: usize) {
        let out: Box<dyn Write> = Box::new(out);
        self.net.captures.push(Capture {
            node,
            writer: PcapWriter::with_snap(out, snap),
        });
    }

    /// Ends all capture files.
    ///
    /// # Errors
    /// The first error of writing one of them.
    pub fn finish_captures(&mut self) -> io::Result<()> {
        for capture in self.net.captures.drain(..) {
            capture.writer.finish()?;
        }
        Ok(())
    }

    /// The time.
    pub fn now(&self) -> Instant {
        self.net.now
    }

    /// The seed.
    pub fn seed(&self) -> Seed {
        self.net.seed
    }

    /// How many events have been played.
    pub fn events(&self) -> u64 {
        self.net.events
    }

    /// All frames by what became of them.
    pub fn totals(&self) -> Totals {
        self.net.totals()
    }

    /// A link with its settings and counters.
    pub fn link(&self, id: LinkId) -> &Link<FrameId> {
        &self.net.wires[id.index()].link
    }

    /// A link's counters until now.
    pub fn link_stats(&mut self, id: LinkId) -> LinkStats {
        self.net.wires[id.index()].link.stats_at(self.net.now)
    }

    /// A link's name: `from>to`.
    pub fn link_name(&self, id: LinkId) -> &str {
        &self.net.wires[id.index()].name
    }

    /// Frames that rules of a link have lost.
    pub fn lost_by_rule(&self, id: LinkId) -> u64 {
        self.net.wires[id.index()].lost_by_rule
    }

    /// A node.
    ///
    /// # Panics
    /// If the handle is of another world.
    pub fn node<N: Node>(&self, handle: Handle<N>) -> &N {
        let node: &dyn Any = &*self.nodes[handle.id.index()];
        node.downcast_ref().expect("a handle of this world")
    }

    /// Calls a node from outside, as its application would, with access to the network.
    ///
    /// # Panics
    /// If the handle is of another world, or if the node breaks an invariant.
    pub fn call<N: Node, R>(
        &mut self,
        handle: Handle<N>,
        f: impl FnOnce(&mut N, &mut Context<'_>) -> R,
    ) -> R {
        let node: &mut dyn Any = &mut *self.nodes[handle.id.index()];
        let node = node.downcast_mut().expect("a handle of this world");
        let result = f(node, &mut self.net.context(handle.id));
        self.hand_over_arrived();
        self.check_node(handle.id);
        result
    }

    /// Runs the next event. Returns `false` if none is left.
    ///
    /// # Panics
    /// If an invariant is broken; the message says which and how to repeat the run.
    pub fn step(&mut self) -> bool {
        self.net.set_lookahead(false);
        let next = self.net.schedule.pop_until(Instant::FAR_FUTURE);
        if let Some(key) = next {
            self.play(key);
        }
        next.is_some()
    }

    fn play(&mut self, key: EventKey) {
        let at = key.time();
        if at < self.net.now {
            self.net.promise(check::time(self.net.now, at));
        }
        self.net.now = at;
        let who = self.net.actors[key.actor() as usize];
        match who {
            // It counts an event for each arrival that it forwards.
            ActorKind::Router(id) => return self.net.forward_until(id, key),
            ActorKind::Link(id) => self.net.forward_at_end(id, key),
            ActorKind::Timeline => self.net.forward_all(key),
            ActorKind::Node(_) | ActorKind::Machine(_) => {}
        }
        self.net.begin_event();
        match who {
            // Nearly all of them.
            ActorKind::Link(id) => self.play_link(id),
            ActorKind::Node(id) => self.wake(id),
            ActorKind::Router(_) => {}
            ActorKind::Machine(id) => {
                while let Some(frame) = self.net.poll_machine(id) {
                    self.hand_over(id, frame);
                }
                if self.net.takes_sender(id) {
                    self.wake(id);
                }
                self.net.schedule_machine(id);
            }
            ActorKind::Timeline => {
                while let Some(change) = self.net.timeline.take(at) {
                    self.net.change(change);
                }
                self.net.schedule_timeline();
                self.net.plan();
            }
        }
        self.hand_over_arrived();
        if self.net.is_checked && !self.net.adds_up() {
            self.net.promise(check::conservation(&self.net.totals()));
        }
    }

    /// Runs all events up to and including `end`, and sets the time to `end`.
    pub fn run_until(&mut self, end: Instant) {
        self.net.set_lookahead(true);
        let mut is_current = self.net.now >= end;
        while let Some(key) = self.net.schedule.pop_until(end) {
            self.play(key);
            is_current = false;
        }
        self.net.now = self.net.now.max(end);
        // A second call for the same time, as for each of many flows that are inspected, has nothing to do.
        if !is_current {
            self.net.forward_all(EventKey::first_after(end));
        }
    }

    /// Runs all events of the next `time`.
    pub fn run_for(&mut self, time: Duration) {
        self.run_until(self.net.now + time);
    }

    /// Runs until `done` returns true, which is called after each event, or until `limit` has passed. Returns
    /// whether it holds.
    pub fn run_while_not(&mut self, limit: Duration, mut done: impl FnMut(&Self) -> bool) -> bool {
        self.net.set_lookahead(false);
        let end = self.net.now + limit;
        loop {
            if done(self) {
                return true;
            }
            if self.net.schedule.next_at().is_none_or(|at| at > end) {
                self.net.now = end;
                return false;
            }
            self.step();
        }
    }

    /// Checks every link, node and total. [`step`](Self::step) checks only those that the event touched.
    ///
    /// # Panics
    /// If an invariant is broken.
    pub fn check(&self) {
        self.net.promise(check::conservation(&self.net.totals()));
        for wire in &self.net.wires {
            self.net.promise(check::link(&wire.name, &wire.link));
        }
        for id in 0..self.nodes.len() {
            self.net.promise(self.nodes[id].check());
        }
    }

    /// Takes the packets that have arrived from a link.
    fn play_link(&mut self, id: LinkId) {
        loop {
            let Some((node, frame)) = self.net.poll_link(id) else {
                self.net.schedule_link(id);
                break;
            };
            self.arrive(node, frame);
            if !self.net.has_more(id) {
                break;
            }
        }
        if self.net.is_checked {
            self.net.promise(self.net.check_link(id));
        }
    }

    #[inline]
    fn hand_over(&mut self, node: NodeId, frame: FrameId) {
        let mut context = self.net.context(node);
        self.nodes[node.index()].on_frame(&mut context, frame);
        self.check_node(node);
    }

    #[inline]
    fn hand_over_arrived(&mut self) {
        while let Some((node, frame)) = self.net.arrived.pop_front() {
            self.arrive(node, frame);
        }
    }

    /// A frame arrived at a node; its machine may take time to deliver it.
    #[inline]
    fn arrive(&mut self, node: NodeId, frame: FrameId) {
        if self.net.receive(node, frame) {
            self.hand_over(node, frame);
        }
    }

    fn wake(&mut self, node: NodeId) {
        let mut context = self.net.context(node);
        self.nodes[node.index()].on_wake(&mut context);
        self.check_node(node);
    }

    #[inline]
    fn check_node(&self, id: NodeId) {
        if !self.net.is_checked {
            return;
        }
        if let Err(what) = self.nodes[id.index()].check() {
            let name = &self.net.names[id.index()];
            self.net.promise(Err(format!("{name}: {what}")));
        }
    }
}

impl Drop for World {
    /// Prints how to repeat a failed run, wherever it failed.
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.repeat);
        }
    }
}

#[cfg(test)]
mod tests;
