//! Two endpoints that exchange packets in memory, in virtual time: one sends bulk data, the other receives.

use core::net::{IpAddr, Ipv4Addr};
use core::time::Duration;
use dccp_proto::batch::Batch;
use dccp_proto::conn::App;
use dccp_proto::path::{Encap, Flow, Path};
use dccp_proto::queue::{Accepted, Delivery, Fate, Inbox, Offer, Outbox, Slot};
use dccp_proto::wire::{Payload, Place, ServiceCode};
use dccp_proto::{Config, ConnId, Endpoint, Instant, KeyedHash, Queues};
use dccp_sim::random::Stream;
use std::collections::VecDeque;

/// The most packets that leave in a turn.
const PER_TURN: u64 = 50;
/// The virtual time of a turn.
const TURN: Duration = Duration::from_micros(50);
const BEGIN: Instant = Instant::from_nanos(1_000_000_000);
const PORTS: (u16, u16) = (40_000, 5001);
const SERVICE: ServiceCode = ServiceCode::from_ascii(*b"BULK");

/// The exchange.
pub(super) struct Exchange {
    /// Bytes of data of each packet.
    pub(super) size: usize,
    /// Packets in flight.
    pub(super) window: u64,
    /// The share of packets that are lost, with the random numbers that choose them.
    pub(super) loss: Option<(f64, Stream)>,
    pub(super) encap: Encap,
    pub(super) config: Config,
}

/// UDP, over which the DCCP checksum is not computed.
pub(super) const UDP: Encap = Encap::Udp {
    local_port: 6511,
    remote_port: 6511,
};

/// Both ends, and the packets between them.
pub(super) struct Pair {
    window: u64,
    loss: Option<(f64, Stream)>,
    sender: End,
    receiver: End,
    now: Instant,
    /// Packets on the path, an entry for each turn.
    path: VecDeque<Vec<Batch>>,
    acks: Vec<Batch>,
    /// Batches without packets, to be used again.
    spare: Vec<Batch>,
}

impl Pair {
    /// Opens a connection.
    ///
    /// # Errors
    /// The settings are not possible.
    pub(super) fn new(exchange: Exchange) -> Result<Self, String> {
        let Exchange {
            size,
            window,
            loss,
            encap,
            config,
        } = exchange;
        let config = Config {
            service_code: SERVICE,
            tx_ccids: vec![2],
            rx_ccids: vec![2],
            mtu: (size + 500).max(1500),
            probe_pmtu: false,
            pacing: false,
            ..config
        };
        let [local, remote] = [1, 2].map(|n| IpAddr::V4(Ipv4Addr::new(192, 0, 2, n)));
        let path = Path {
            local,
            remote,
            encap,
        };
        let mut sender = End::new(path, size);
        let mut receiver = End::new(path.reversed(), size);
        let listens = receiver
            .endpoint
            .listen(PORTS.1, &[SERVICE], config.clone());
        listens.map_err(|error| error.to_string())?;
        let flow = Flow {
            path,
            local_port: PORTS.0,
            remote_port: PORTS.1,
        };
        let connects = sender.endpoint.connect(BEGIN, flow, config);
        connects.map_err(|error| error.to_string())?;
        let turns = usize::try_from(window.div_ceil(PER_TURN)).unwrap_or(usize::MAX);
        Ok(Self {
            window,
            loss,
            sender,
            receiver,
            now: BEGIN,
            path: vec![Vec::new(); turns].into(),
            acks: Vec::new(),
            spare: Vec::new(),
        })
    }

    /// The sender takes the acknowledgements that have arrived. Returns how many these are.
    pub(super) fn take_acks(&mut self) -> u64 {
        let Self {
            sender,
            acks,
            spare,
            now,
            ..
        } = self;
        let count = acks.iter().map(|batch| batch.len() as u64).sum();
        sender.take(*now, acks, spare, &mut || true);
        count
    }

    /// The sender sends as much as a turn and the window permit. Returns how many packets of data these are.
    pub(super) fn send(&mut self) -> u64 {
        let source = &mut self.sender.app.outbox;
        let before = source.claimed;
        source.limit = (source.limit + PER_TURN).min(source.decided + self.window);
        let batches = self.sender.transmit(self.now, &mut self.spare);
        self.path.push_back(batches);
        self.sender.app.outbox.claimed - before
    }

    /// The receiver takes what arrives, and answers. The turn ends.
    pub(super) fn receive(&mut self) {
        let Self {
            receiver,
            loss,
            spare,
            now,
            ..
        } = self;
        let mut batches = self.path.pop_front().unwrap_or_default();
        let mut arrives = || {
            let lost = loss.as_mut();
            !lost.is_some_and(|(share, random)| random.chance(*share))
        };
        receiver.take(*now, &mut batches, spare, &mut arrives);
        self.acks = receiver.transmit(*now, spare);
        self.now += TURN;
    }

    /// Plays a turn of both ends. Returns how many packets of data were sent.
    pub(super) fn turn(&mut self) -> u64 {
        self.take_acks();
        let sent = self.send();
        self.receive();
        sent
    }

    /// Plays turns until the fates of `packets` are known.
    ///
    /// # Errors
    /// That takes a virtual minute longer than it should.
    pub(super) fn warm_up(&mut self, packets: u64) -> Result<(), String> {
        let turns = self.path.len() as u64 + packets / PER_TURN;
        let patience = Duration::from_mins(1).as_micros() / TURN.as_micros();
        let most = 3 * u128::from(turns) + patience;
        for _ in 0..most {
            self.turn();
            if self.decided() >= packets {
                return Ok(());
            }
        }
        Err(format!(
            "only {} of {packets} packets have a fate",
            self.decided()
        ))
    }

    /// Packets of data whose fate is known.
    pub(super) fn decided(&self) -> u64 {
        self.sender.app.outbox.decided
    }

    /// Packets of data that the receiving application got.
    pub(super) fn received(&self) -> u64 {
        self.receiver.app.inbox.received
    }
}

/// An endpoint and its application.
struct End {
    endpoint: Endpoint,
    path: Path,
    app: Application,
}

impl End {
    fn new(path: Path, size: usize) -> Self {
        Self {
            endpoint: Endpoint::new(Box::new(Sum)),
            path,
            app: Application {
                outbox: Source {
                    data: vec![7; size],
                    limit: 0,
                    claimed: 0,
                    decided: 0,
                },
                inbox: Sink {
                    buffer: vec![0; size],
                    received: 0,
                },
            },
        }
    }

    /// Takes the packets of `batches` that arrive, and puts the batches to `spare`.
    fn take(
        &mut self,
        now: Instant,
        batches: &mut Vec<Batch>,
        spare: &mut Vec<Batch>,
        arrives: &mut dyn FnMut() -> bool,
    ) {
        for mut batch in batches.drain(..) {
            let ecn = batch.destination().map(|(_, ecn)| ecn).unwrap_or_default();
            {
                let mut train = batch.datagrams().filter(|_| arrives());
                self.endpoint
                    .handle_train(now, &self.path, ecn, &mut train, &mut self.app);
            }
            batch.clear();
            spare.push(batch);
        }
    }

    /// Sends what may leave.
    fn transmit(&mut self, now: Instant, spare: &mut Vec<Batch>) -> Vec<Batch> {
        if self.endpoint.poll_timeout().is_some_and(|due| due <= now) {
            self.endpoint.handle_timeout(now, &mut self.app);
        }
        let mut batches = Vec::new();
        loop {
            let mut batch = spare.pop().unwrap_or_else(|| Batch::new(64));
            if !self.endpoint.poll_transmit(now, &mut self.app, &mut batch) {
                spare.push(batch);
                break;
            }
            batches.push(batch);
        }
        while self.endpoint.poll_event().is_some() {}
        batches
    }
}

struct Application {
    outbox: Source,
    inbox: Sink,
}

impl Queues for Application {
    fn with_app(&mut self, _: ConnId, run: &mut dyn FnMut(&mut App<'_>)) {
        run(&mut App {
            outbox: &mut self.outbox,
            inbox: &mut self.inbox,
        });
    }
}

/// Datagrams up to a limit.
struct Source {
    data: Vec<u8>,
    limit: u64,
    claimed: u64,
    /// Those whose fate is known.
    decided: u64,
}

impl Outbox for Source {
    fn peek(&mut self, _: Instant) -> Option<Offer> {
        (self.claimed < self.limit).then_some(Offer {
            slot: Slot(0),
            len: self.data.len(),
            is_zeros: false,
        })
    }

    fn claim_into(&mut self, _: Instant, _: Slot, place: &mut Place<'_>) -> bool {
        place.fill(&self.data);
        self.claimed += 1;
        true
    }

    fn refuse(&mut self, _: Instant, _: Slot, _: Fate) {
        self.claimed += 1;
        self.decided += 1;
    }

    fn on_fate(&mut self, _: Instant, _: Slot, _: Fate) {
        self.decided += 1;
    }
}

/// Copies what arrives.
struct Sink {
    buffer: Vec<u8>,
    received: u64,
}

impl Inbox for Sink {
    fn deliver(&mut self, datagram: Payload<'_>, _: Delivery) -> Accepted {
        if let Payload::Bytes(bytes) = datagram
            && let Some(place) = self.buffer.get_mut(..bytes.len())
        {
            place.copy_from_slice(bytes);
        }
        self.received += 1;
        Accepted::Yes
    }
}

/// A weak hash, because no attacker takes part.
struct Sum;

impl KeyedHash for Sum {
    fn hash(&self, data: &[u8]) -> u128 {
        data.iter().map(|&byte| u128::from(byte)).sum()
    }
}
