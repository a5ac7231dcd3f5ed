//! The application of the endpoint under test.

use dccp_proto::conn::App;
use dccp_proto::queue::{Accepted, Delivery, Fate, Inbox, Offer, Outbox, Slot};
use dccp_proto::wire::{Payload, Place};
use dccp_proto::{ConnId, Instant, Queues};
use std::collections::VecDeque;

/// The application: what it has to send, what it got, what became of what it sent.
#[derive(Default)]
pub(crate) struct Application {
    pub(super) outbox: OutboxOf,
    pub(super) inbox: InboxOf,
}

#[derive(Default)]
pub(super) struct OutboxOf {
    queue: VecDeque<(Slot, Vec<u8>)>,
    pushed: u32,
    /// The next datagram is taken back between `peek` and `claim_into`.
    pub(super) is_taken_back: bool,
    pub(super) fates: Vec<(Slot, Fate)>,
}

pub(super) struct InboxOf {
    pub(super) got: Vec<(Vec<u8>, Delivery)>,
    pub(super) answer: Accepted,
}

impl Default for InboxOf {
    fn default() -> Self {
        Self {
            got: Vec::new(),
            answer: Accepted::Yes,
        }
    }
}

impl OutboxOf {
    pub(super) fn push(&mut self, bytes: &[u8]) -> Slot {
        let slot = Slot(self.pushed);
        self.pushed += 1;
        self.queue.push_back((slot, bytes.to_vec()));
        slot
    }
}

impl Outbox for OutboxOf {
    fn peek(&mut self, _now: Instant) -> Option<Offer> {
        self.queue.front().map(|(slot, bytes)| Offer {
            slot: *slot,
            len: bytes.len(),
            is_zeros: false,
        })
    }

    fn claim_into(&mut self, _now: Instant, slot: Slot, place: &mut Place<'_>) -> bool {
        let (first, bytes) = self.queue.pop_front().unwrap();
        assert_eq!(first, slot);
        if std::mem::take(&mut self.is_taken_back) {
            return false;
        }
        place.fill(&bytes);
        true
    }

    fn refuse(&mut self, _now: Instant, slot: Slot, fate: Fate) {
        assert_eq!(self.queue.pop_front().unwrap().0, slot);
        self.fates.push((slot, fate));
    }

    fn on_fate(&mut self, _now: Instant, slot: Slot, fate: Fate) {
        self.fates.push((slot, fate));
    }
}

impl Inbox for InboxOf {
    fn deliver(&mut self, datagram: Payload<'_>, meta: Delivery) -> Accepted {
        let bytes = match datagram {
            Payload::Bytes(bytes) => bytes.to_vec(),
            Payload::Zeros(n) => vec![0; n],
        };
        if self.answer == Accepted::Yes {
            self.got.push((bytes, meta));
        }
        self.answer
    }
}

impl Queues for Application {
    fn with_app(&mut self, _id: ConnId, run: &mut dyn FnMut(&mut App<'_>)) {
        run(&mut App {
            outbox: &mut self.outbox,
            inbox: &mut self.inbox,
        });
    }
}
