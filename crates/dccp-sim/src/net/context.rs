//! The interface of a node to the network.

use super::Net;
use crate::frame::{Content, Frame, FrameId, Header, IcmpError};
use crate::ids::NodeId;
use crate::loss::Loss;
use crate::machine::{AckCost, LocalCongestion, Machine};
use crate::random::Stream;
use core::time::Duration;
use dccp_proto::Instant;
use dccp_proto::cc::HostDrops;
use dccp_proto::path::Path;
use dccp_proto::wire::{Datagram, Ecn};

/// The network as a node sees it during a call.
pub struct Context<'a> {
    pub(super) net: &'a mut Net,
    pub(super) me: NodeId,
    /// The time by the node's clock.
    pub(super) now: Instant,
}

/// A datagram that a host sends, with what belongs into its IP header.
#[derive(Clone, Copy, Debug)]
pub struct Departure<'a> {
    /// From where (`local`) to where (`remote`).
    pub path: Path,
    /// The ECN field.
    pub ecn: Ecn,
    /// Whether routers may fragment it.
    pub may_fragment: bool,
    /// The DCCP datagram.
    pub datagram: Datagram<'a>,
}

impl Net {
    /// A node's view of the network, by its own clock.
    #[inline]
    pub(crate) fn context(&mut self, me: NodeId) -> Context<'_> {
        let now = self
            .machine(me)
            .map_or(self.now, |m| m.config().clock.at(self.now));
        Context { net: self, me, now }
    }
}

impl Context<'_> {
    /// The time by the node's clock.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Whether [`Node::check`](crate::node::Node::check) is called after this event.
    pub(crate) fn is_checked(&self) -> bool {
        self.net.is_checked
    }

    /// Whether the node has a machine that takes time; see [`may_send`](Self::may_send).
    pub(crate) fn has_machine(&self) -> bool {
        self.net.machine(self.me).is_some()
    }

    /// How many packets the node's transports may send now. If none, because its processor is busy or
    /// its interface is full, the node is woken when they may.
    pub fn may_send(&mut self) -> usize {
        self.permission(|reaction| reaction != LocalCongestion::Drop)
    }

    /// The same for DCCP, which does not wait for room with [`LocalCongestion::Event`].
    pub(crate) fn may_send_dccp(&mut self) -> usize {
        self.permission(|reaction| reaction == LocalCongestion::Wait)
    }

    fn permission(&mut self, waits_for_room: impl Fn(LocalCongestion) -> bool) -> usize {
        let now = self.net.now;
        let Some(config) = self.net.machine(self.me).map(|m| *m.config()) else {
            return usize::MAX;
        };
        let room = if waits_for_room(config.local_congestion) {
            self.net.room(self.me)
        } else {
            Ok(usize::MAX)
        };
        let may = self.net.machine_mut(self.me);
        let may = may.map_or(usize::MAX, |m| m.may_send(now, room));
        self.net.schedule_machine(self.me);
        may
    }

    /// Whether the interface of the node's machine is full, so that it drops the next packet of DCCP.
    pub(crate) fn drops_at_interface(&mut self) -> bool {
        let waits = |m: &Machine<FrameId>| m.config().local_congestion == LocalCongestion::Wait;
        let drops = self.net.machine(self.me).is_some_and(|m| !waits(m));
        drops && self.net.room(self.me).is_err()
    }

    /// The received packets that the node's machine has dropped.
    pub(crate) fn host_losses(&self) -> HostDrops {
        let losses = self.net.machine(self.me).map(Machine::losses);
        HostDrops {
            in_socket: 0,
            below: losses.map_or(0, |losses| losses.backlog + losses.no_buffer),
        }
    }

    /// The processor time of acknowledgements, if this node's take any.
    #[inline]
    pub(crate) fn ack_cost(&self) -> Option<AckCost> {
        let cost = self.net.machine(self.me)?.config().ack_cost;
        (cost != AckCost::default()).then_some(cost)
    }

    /// Accounts processor time of this node. Later packets wait for the processor.
    pub(crate) fn work(&mut self, time: Duration) {
        if time.is_zero() {
            return;
        }
        let now = self.net.now;
        if let Some(machine) = self.net.machine_mut(self.me) {
            machine.work(now, time);
            self.net.schedule_machine(self.me);
        }
    }

    /// Whether the node's interface is full and its machine treats that as congestion.
    pub fn is_locally_congested(&mut self) -> bool {
        let machine = self.net.machine(self.me);
        machine.is_some_and(|m| m.config().local_congestion == LocalCongestion::Event)
            && self.net.room(self.me).is_err()
    }

    /// The node that is called.
    pub fn me(&self) -> NodeId {
        self.me
    }

    /// The random stream with this name, of this node alone.
    pub fn stream(&self, name: &str) -> Stream {
        let node = &self.net.names[self.me.index()];
        self.net.seed.stream(&format!("node {node} {name}"))
    }

    /// A frame that this node holds.
    pub fn frame(&self, id: FrameId) -> &Frame {
        self.net.frames.get(id)
    }

    /// Whether this node has the address that this frame goes to.
    #[inline]
    pub fn is_here(&self, frame: FrameId) -> bool {
        self.net.frames.note(frame).to == Some(self.me)
    }

    /// Sends a datagram of this node.
    pub fn send(&mut self, departure: &Departure<'_>) {
        self.send_frame(&Header {
            path: departure.path,
            content: Content::Dccp,
            ecn: departure.ecn,
            may_fragment: departure.may_fragment,
            bytes: departure.datagram.bytes,
            zeros: departure.datagram.zeros,
        });
    }

    /// Sends a TCP segment or a datagram of UDP of this node.
    pub fn send_value(&mut self, path: Path, ecn: Ecn, content: Content) {
        self.send_frame(&Header {
            path,
            content,
            ecn,
            may_fragment: false,
            bytes: &[],
            zeros: 0,
        });
    }

    #[inline]
    fn send_frame(&mut self, header: &Header<'_>) {
        let id = self.net.originate(header, self.me);
        let now = self.net.now;
        if let Some(machine) = self.net.machine_mut(self.me) {
            machine.on_send(now);
        }
        self.net.leave(self.me, id);
    }

    /// Sends an ICMP error about a frame that this node holds and keeps. `quoted` is how many bytes of its DCCP
    /// part the error quotes.
    pub fn complain(&mut self, about: FrameId, error: IcmpError, quoted: usize) {
        self.net.complain(about, error, quoted, self.me);
    }

    /// Forwards a frame to its destination, by the fewest hops. A frame without a route, or beyond the hop limit,
    /// is lost.
    #[inline]
    pub fn pass_on(&mut self, frame: FrameId) {
        self.net.pass_on(self.me, frame);
    }

    /// Ends a frame that this node has received.
    pub fn deliver(&mut self, frame: FrameId) {
        let net = &mut *self.net;
        net.capture(self.me, frame);
        net.totals.delivered += 1;
        if let Some(trace) = &mut net.trace {
            trace.delivered(net.now, net.frames.get(frame));
        }
        net.frames.remove(frame);
    }

    /// Ends a frame that this node has no use for.
    pub fn lose(&mut self, frame: FrameId, reason: Loss) {
        self.net.lose(frame, reason);
    }

    /// Schedules the node's wake-up at this time of its clock, or now if that has passed. It replaces the wake-up
    /// scheduled before.
    pub fn wake_at(&mut self, at: Option<Instant>) {
        let at = match self.net.machine(self.me) {
            Some(machine) => at.map(|at| machine.config().clock.when(at)),
            None => at,
        };
        let at = at.map(|at| at.max(self.net.now));
        let actor = self.net.node_actors[self.me.index()];
        self.net.schedule.set(actor, at, self.net.now);
    }
}
