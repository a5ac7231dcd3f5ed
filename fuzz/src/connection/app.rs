//! Applications that count: each datagram has one fate, and is claimed only while it waits.

use super::end::Seen;
use dccp_proto::conn::App;
use dccp_proto::queue::{Accepted, Delivery, Fate, Inbox, Offer, Outbox, SendQueue, Slot};
use dccp_proto::wire::{self, Payload};
use dccp_proto::{ConnId, Instant, Queues};

/// Datagrams that one application may have waiting.
const CAPACITY: usize = 64;

/// Where a datagram is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Waiting,
    Claimed,
    Gone,
}

/// The application of one connection, and what was seen of the connection's packets.
pub(super) struct OneApp {
    out: Out,
    taker: Taker,
    pub(super) seen: Seen,
    /// True if the endpoint used the connection since the last check.
    is_touched: bool,
}

struct Out {
    queue: SendQueue,
    places: Vec<Place>,
    /// True if the next datagram is taken back between `peek` and `claim_into`.
    is_taken_back: bool,
}

struct Taker {
    answer: Accepted,
    got: u64,
}

impl Default for OneApp {
    fn default() -> Self {
        Self {
            out: Out {
                queue: SendQueue::new(CAPACITY, 8),
                places: Vec::new(),
                is_taken_back: false,
            },
            taker: Taker {
                answer: Accepted::Yes,
                got: 0,
            },
            seen: Seen::default(),
            is_touched: false,
        }
    }
}

impl OneApp {
    /// Sends a datagram, if there is room.
    pub(super) fn push(&mut self, len: usize, is_zeros: bool) {
        let slot = Slot(u32::try_from(self.out.places.len()).expect("few datagrams"));
        let offer = Offer {
            slot,
            len,
            is_zeros,
        };
        if self.out.queue.push(offer).is_ok() {
            self.out.places.push(Place::Waiting);
        }
    }

    pub(super) fn take_back_next(&mut self) {
        self.out.is_taken_back = true;
    }

    pub(super) fn answer(&mut self, answer: Accepted) {
        self.taker.answer = answer;
    }

    /// Datagrams that have left and have no fate yet.
    pub(super) fn open(&self) -> u64 {
        self.out.queue.open()
    }

    /// Datagrams that arrived and were taken.
    pub(super) fn got(&self) -> u64 {
        self.taker.got
    }
}

impl Out {
    fn move_to(&mut self, slot: Slot, from: Place, to: Place) {
        let place = &mut self.places[slot.0 as usize];
        assert_eq!(*place, from, "{slot:?} -> {to:?}");
        *place = to;
    }
}

impl Outbox for Out {
    fn peek(&mut self, _now: Instant) -> Option<Offer> {
        self.queue.peek()
    }

    fn claim_into(&mut self, now: Instant, slot: Slot, place: &mut wire::Place<'_>) -> bool {
        let offer = self.queue.peek().expect("something was offered");
        assert_eq!(offer.slot, slot, "what was offered is claimed");
        assert_eq!(place.len(), if offer.is_zeros { 0 } else { offer.len });
        if std::mem::take(&mut self.is_taken_back) {
            self.refuse(now, slot, Fate::Withdrawn);
            return false;
        }
        assert!(self.queue.claim(slot));
        self.move_to(slot, Place::Waiting, Place::Claimed);
        place.bytes_mut().fill(slot.0.to_le_bytes()[0]);
        true
    }

    fn refuse(&mut self, now: Instant, slot: Slot, fate: Fate) {
        assert_eq!(self.queue.peek().map(|offer| offer.slot), Some(slot));
        self.queue.refuse(now, slot, fate);
        self.move_to(slot, Place::Waiting, Place::Gone);
    }

    fn on_fate(&mut self, now: Instant, slot: Slot, fate: Fate) {
        self.queue.on_fate(now, slot, fate);
        self.move_to(slot, Place::Claimed, Place::Gone);
    }
}

impl Inbox for Taker {
    fn deliver(&mut self, _datagram: Payload<'_>, _meta: Delivery) -> Accepted {
        self.got += u64::from(self.answer == Accepted::Yes);
        self.answer
    }
}

/// The applications of one endpoint, in the order of their first use.
#[derive(Default)]
pub(super) struct Apps(Vec<(ConnId, OneApp)>);

impl Apps {
    pub(super) fn of(&mut self, id: ConnId) -> &mut OneApp {
        // The newest connections are used most.
        let at = self.0.iter().rposition(|(of, _)| *of == id);
        let at = at.unwrap_or_else(|| {
            self.0.push((id, OneApp::default()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    pub(super) fn seen(&self, id: ConnId) -> Seen {
        let app = self.0.iter().rfind(|(of, _)| *of == id);
        app.map(|(_, app)| app.seen).unwrap_or_default()
    }

    /// Datagrams that wait to leave.
    pub(super) fn waiting(&self) -> usize {
        self.0.iter().map(|(_, app)| app.out.queue.len()).sum()
    }

    /// Calls `check` with the connections that the endpoint used since the last call.
    pub(super) fn check_touched(&mut self, mut check: impl FnMut(ConnId, &mut OneApp)) {
        for (id, app) in &mut self.0 {
            if std::mem::take(&mut app.is_touched) {
                app.out.queue.check();
                check(*id, app);
            }
        }
    }
}

impl Queues for Apps {
    fn with_app(&mut self, id: ConnId, run: &mut dyn FnMut(&mut App<'_>)) {
        let app = self.of(id);
        app.is_touched = true;
        run(&mut App {
            outbox: &mut app.out,
            inbox: &mut app.taker,
        });
    }
}
