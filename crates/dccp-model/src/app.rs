//! The applications of one end: they number their datagrams, and record what arrives.

use crate::property::{Property, Violation};
use dccp_proto::conn::App;
use dccp_proto::queue::{Accepted, Delivery, Fate, Inbox, Offer, Outbox, Slot};
use dccp_proto::wire::{Payload, Place, ServiceCode};
use dccp_proto::{ConnId, Instant, Queues};
use std::collections::{BTreeSet, VecDeque};

/// The Service Code of all connections.
pub(crate) const SERVICE: ServiceCode = ServiceCode::from_ascii(*b"MODL");
/// The content of a forged datagram. A genuine one is the sending end and its number.
pub(crate) const FORGED: &[u8] = b"forged";
/// Length of a genuine datagram.
const LEN: usize = 2;

/// The application of one end. An end has at most one connection with data at a time.
#[derive(Default)]
pub(crate) struct Application {
    pub(crate) sending: Sending,
    pub(crate) receiving: Receiving,
}

impl Application {
    pub(crate) fn new(end: u8, is_fate_doubled: bool) -> Self {
        Self {
            sending: Sending {
                end,
                is_fate_doubled,
                ..Sending::default()
            },
            receiving: Receiving {
                peer: 1 - end,
                ..Receiving::default()
            },
        }
    }
}

/// The datagrams that the application sends.
#[derive(Default)]
pub(crate) struct Sending {
    end: u8,
    pub(crate) waiting: VecDeque<u8>,
    /// The fate of each datagram, once it has one.
    pub(crate) fates: Vec<Option<Fate>>,
    pub(crate) violations: Vec<Violation>,
    /// Sabotage: reports each fate twice.
    is_fate_doubled: bool,
}

impl Sending {
    pub(crate) fn push(&mut self) {
        let number = u8::try_from(self.fates.len()).expect("few datagrams");
        self.fates.push(None);
        self.waiting.push_back(number);
    }

    fn settle(&mut self, slot: Slot, fate: Fate) {
        for _ in 0..=u8::from(self.is_fate_doubled) {
            let settled = &mut self.fates[slot.0 as usize];
            if let Some(old) = settled.replace(fate) {
                let detail = format!("datagram {} became {old:?}, then {fate:?}", slot.0);
                let property = Property::OneFate;
                self.violations.push(Violation { property, detail });
            }
        }
    }
}

impl Outbox for Sending {
    fn peek(&mut self, _now: Instant) -> Option<Offer> {
        let number = *self.waiting.front()?;
        Some(Offer {
            slot: Slot(number.into()),
            len: LEN,
            is_zeros: false,
        })
    }

    fn claim_into(&mut self, _now: Instant, slot: Slot, place: &mut Place<'_>) -> bool {
        let number = self.waiting.pop_front().expect("a datagram was offered");
        assert_eq!(slot, Slot(number.into()), "the offered datagram is claimed");
        place.fill(&[self.end, number]);
        true
    }

    fn refuse(&mut self, _now: Instant, slot: Slot, fate: Fate) {
        self.waiting.retain(|&number| Slot(number.into()) != slot);
        self.settle(slot, fate);
    }

    fn on_fate(&mut self, _now: Instant, slot: Slot, fate: Fate) {
        self.settle(slot, fate);
    }
}

/// The datagrams that arrived.
#[derive(Default)]
pub(crate) struct Receiving {
    peer: u8,
    /// Numbers of genuine datagrams, in the order of arrival.
    pub(crate) delivered: Vec<u8>,
    /// The connection that gets the datagrams now.
    connection: Option<ConnId>,
    /// The connection and the number of each genuine datagram.
    seen: BTreeSet<(Option<ConnId>, u8)>,
    /// A datagram that one connection delivered twice.
    pub(crate) repeated: Option<u8>,
    /// Datagrams with the content of a forged packet.
    pub(crate) forged: u32,
    /// Datagrams with any other content.
    pub(crate) garbled: u32,
    /// Sabotage: panics on a delivery.
    pub(crate) panics: bool,
}

impl Inbox for Receiving {
    fn deliver(&mut self, datagram: Payload<'_>, _meta: Delivery) -> Accepted {
        assert!(!self.panics, "sabotage: the application panics");
        match datagram {
            Payload::Bytes(&[end, number]) if end == self.peer => {
                self.delivered.push(number);
                if !self.seen.insert((self.connection, number)) {
                    self.repeated = Some(number);
                }
            }
            Payload::Bytes(FORGED) => self.forged += 1,
            _ => self.garbled += 1,
        }
        Accepted::Yes
    }
}

impl Queues for Application {
    fn with_app(&mut self, id: ConnId, run: &mut dyn FnMut(&mut App<'_>)) {
        self.receiving.connection = Some(id);
        run(&mut App {
            outbox: &mut self.sending,
            inbox: &mut self.receiving,
        });
    }
}
