//! An endpoint and its application, without any network: what examples and tests that count share.

use core::time::Duration;
use dccp_proto::batch::Batch;
use dccp_proto::conn::App;
use dccp_proto::path::{Encap, Flow, Path};
use dccp_proto::queue::{Accepted, Delivery, Fate, Inbox, Offer, Outbox, Slot};
use dccp_proto::wire::{Payload, Place, ServiceCode};
use dccp_proto::{Config, ConnId, Endpoint, Instant, KeyedHash, Queues};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// Bytes of application data in each packet.
const LENGTH: usize = 1400;
/// Packets of each turn: about as many as fit one GSO batch.
pub(crate) const PACKETS_PER_TURN: u64 = 40;
/// Time from turn to turn: 100,000 packets/s.
pub(crate) const TURN: Duration = Duration::from_micros(400);
pub(crate) const BEGIN: Instant = Instant::from_nanos(1_000_000_000);
const PORT: u16 = 5001;
const SERVICE: ServiceCode = ServiceCode::from_ascii(*b"BULK");

/// An endpoint and its application.
pub(crate) struct End {
    pub(crate) endpoint: Endpoint,
    path: Path,
    pub(crate) outbox: Source,
    pub(crate) inbox: Sink,
    /// Batches to be used again.
    pub(crate) spare: Vec<Batch>,
}

impl End {
    pub(crate) fn new(local: u8, remote: u8) -> Self {
        let ip = |n| IpAddr::V4(Ipv4Addr::new(192, 0, 2, n));
        let encap = Encap::Udp {
            local_port: 6511,
            remote_port: 6511,
        };
        let path = Path {
            local: ip(local),
            remote: ip(remote),
            encap,
        };
        Self {
            endpoint: Endpoint::new(Box::new(Sum)),
            path,
            outbox: Source::default(),
            inbox: Sink::default(),
            spare: Vec::new(),
        }
    }

    /// Takes over the batches that the other end can spare.
    pub(crate) fn reuse_batches_of(&mut self, other: &mut Self) {
        // It will need one for its own packets.
        let spared = other.spare.len().saturating_sub(1);
        self.spare.extend(other.spare.drain(..spared));
    }

    /// CCID 2 in both directions.
    pub(crate) fn config() -> Config {
        Config {
            service_code: SERVICE,
            tx_ccids: vec![2],
            rx_ccids: vec![2],
            ..Config::default()
        }
    }

    /// # Panics
    /// When the settings are not accepted.
    pub(crate) fn listen(&mut self, config: Config) {
        let listens = self.endpoint.listen(PORT, &[SERVICE], config);
        listens.expect("the settings are accepted");
    }

    /// Opens a connection from this port.
    ///
    /// # Panics
    /// When the settings are not accepted.
    pub(crate) fn connect(
        &mut self,
        now: Instant,
        local_port: u16,
        config: impl Into<Arc<Config>>,
    ) {
        let flow = Flow {
            path: self.path,
            local_port,
            remote_port: PORT,
        };
        let connects = self.endpoint.connect(now, flow, config);
        connects.expect("the settings are accepted");
    }

    /// Takes those packets of `batches` that arrive, and puts there what leaves.
    pub(crate) fn turn(
        &mut self,
        now: Instant,
        batches: &mut Vec<Batch>,
        arrives: &mut dyn FnMut() -> bool,
    ) {
        let Self {
            endpoint,
            path,
            outbox,
            inbox,
            spare,
        } = self;
        let queues = &mut Both { outbox, inbox };
        for mut batch in batches.drain(..) {
            let ecn = batch.destination().map(|(_, ecn)| ecn).unwrap_or_default();
            {
                let mut train = batch.datagrams().filter(|_| arrives());
                endpoint.handle_train(now, path, ecn, &mut train, queues);
            }
            batch.clear();
            spare.push(batch);
        }
        if endpoint.poll_timeout().is_some_and(|due| due <= now) {
            endpoint.handle_timeout(now, queues);
        }
        loop {
            let mut batch = spare.pop().unwrap_or_else(|| Batch::new(64));
            if !endpoint.poll_transmit(now, queues, &mut batch) {
                spare.push(batch);
                break;
            }
            batches.push(batch);
        }
        while endpoint.poll_event().is_some() {}
    }
}

struct Both<'a> {
    outbox: &'a mut Source,
    inbox: &'a mut Sink,
}

impl Queues for Both<'_> {
    fn with_app(&mut self, _: ConnId, run: &mut dyn FnMut(&mut App<'_>)) {
        run(&mut App {
            outbox: self.outbox,
            inbox: self.inbox,
        });
    }
}

/// Datagrams up to a limit, which moves on with their fates.
#[derive(Default)]
pub(crate) struct Source {
    pub(crate) limit: u64,
    claimed: u64,
    pub(crate) told: u64,
}

impl Outbox for Source {
    fn peek(&mut self, _: Instant) -> Option<Offer> {
        (self.claimed < self.limit).then_some(Offer {
            slot: Slot(0),
            len: LENGTH,
            is_zeros: false,
        })
    }

    fn claim_into(&mut self, _: Instant, _: Slot, place: &mut Place<'_>) -> bool {
        place.bytes_mut().fill(1);
        self.claimed += 1;
        true
    }

    fn refuse(&mut self, _: Instant, _: Slot, _: Fate) {
        self.claimed += 1;
        self.told += 1;
    }

    fn on_fate(&mut self, _: Instant, _: Slot, _: Fate) {
        self.told += 1;
    }
}

/// Counts what arrives.
#[derive(Default)]
pub(crate) struct Sink {
    pub(crate) received: u64,
}

impl Inbox for Sink {
    fn deliver(&mut self, _: Payload<'_>, _: Delivery) -> Accepted {
        self.received += 1;
        Accepted::Yes
    }
}

/// A weak hash, because this example faces no attacker.
struct Sum;

impl KeyedHash for Sum {
    fn hash(&self, data: &[u8]) -> u128 {
        data.iter().map(|&byte| u128::from(byte)).sum()
    }
}
