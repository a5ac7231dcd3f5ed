//! How frames enter links.

use super::{Net, Wire};
use crate::frame::{FrameId, IcmpError};
use crate::ids::{LinkId, NodeId};
use crate::link::{LinkConfig, Packet, TooBig};
use crate::loss::Loss;
use crate::parcel::Parcel;
use crate::queue::QueueConfig;
use crate::rule::Verdict;
use core::time::Duration;

/// The time to live of packets (RFC 1700): the router that counts this many hops drops them.
const MAX_HOPS: u8 = 64;

impl Net {
    /// Sends a frame from the host that made it.
    #[inline]
    pub(super) fn leave(&mut self, host: NodeId, id: FrameId) {
        let to = self.frames.note(id).to;
        match self.routes.next_link(host, to) {
            Some(link) => self.enter(link, id),
            None => self.lose(id, Loss::NoRoute),
        }
    }

    /// Forwards a frame from a router.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as `enter`")]
    pub(super) fn pass_on(&mut self, node: NodeId, id: FrameId) {
        let hops = self.frames.count_hop(id);
        let to = self.frames.note(id).to;
        match self.routes.next_link(node, to) {
            Some(link) if hops < MAX_HOPS => self.enter(link, id),
            Some(_) => self.lose(id, Loss::Ttl),
            None => self.lose(id, Loss::NoRoute),
        }
    }

    /// Puts a frame into a link, through its rules.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "each packet comes here once for each link; a call costs a fifth of it"
    )]
    fn enter(&mut self, link: LinkId, id: FrameId) {
        let note = self.frames.note(id);
        let wire = &mut self.wires[link.index()];
        if !wire.rules.is_empty() {
            return self.enter_by_rules(link, id);
        }
        if !wire.link.is_plain_for(note.len, note.may_fragment) {
            return self.offer(link, id, Duration::ZERO);
        }
        let packet = Packet {
            token: id,
            len: note.len,
            ecn: note.ecn,
        };
        let taken = wire.link.offer_plainly(self.now, packet);
        if taken.is_err() || !wire.is_expected() {
            self.entered(link, id, taken);
        }
    }

    #[inline(never)]
    fn enter_by_rules(&mut self, link: LinkId, id: FrameId) {
        let wire = &mut self.wires[link.index()];
        let mut verdict = Verdict::default();
        for rule in &mut wire.rules {
            rule.apply(self.frames.get_mut(id), &mut verdict);
        }
        self.frames.note_again(id);
        if verdict.is_lost {
            wire.lost_by_rule += 1;
            self.lose(id, Loss::Rule);
            return;
        }
        if verdict.is_duplicated {
            let copy = self.duplicate(id);
            self.offer(link, copy, verdict.hold);
        }
        self.offer(link, id, verdict.hold);
    }

    /// Offers a link a frame that may travel longer than others by `hold`.
    #[inline(never)]
    fn offer(&mut self, link: LinkId, id: FrameId, hold: Duration) {
        let Self { frames, wires, .. } = self;
        let note = frames.note(id);
        let wire = &mut wires[link.index()];
        // Only this discipline looks at it.
        let needs_flow = matches!(wire.link.config().queue, QueueConfig::FqCoDel(_));
        let parcel = Parcel {
            token: id,
            len: note.len as usize,
            ecn: note.ecn,
            hold,
            may_fragment: note.may_fragment,
            flow: if needs_flow {
                frames.get(id).flow_hash()
            } else {
                0
            },
        };
        let taken = wire.link.offer(self.now, parcel);
        self.entered(link, id, taken);
    }

    /// Loses a frame that a link refused, and schedules the next arrival over the link.
    #[inline(never)]
    fn entered(&mut self, link: LinkId, id: FrameId, taken: Result<(), Loss>) {
        let wire = &self.wires[link.index()];
        let (is_expected, announces) = (wire.is_expected(), wire.announces);
        if let Err(reason) = taken {
            self.refuse(link, id, reason);
        }
        if is_expected {
            return;
        }
        if announces {
            self.announce(link);
        } else {
            self.schedule_link(link);
        }
    }

    /// A link did not take a frame.
    #[cold]
    fn refuse(&mut self, link: LinkId, id: FrameId, reason: Loss) {
        let wire = &self.wires[link.index()];
        let LinkConfig { mtu, too_big, .. } = *wire.link.config();
        let at = wire.from;
        if let (Loss::TooBig, TooBig::Icmp { quoted }) = (reason, too_big) {
            self.complain(id, IcmpError::TooBig { mtu }, quoted, at);
        }
        self.lose(id, reason);
    }
}

impl Wire {
    /// Whether the next arrival is scheduled or announced.
    #[inline]
    fn is_expected(&self) -> bool {
        if self.announces {
            self.is_announced
        } else {
            self.link.next_at() == self.scheduled
        }
    }
}
