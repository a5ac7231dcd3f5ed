//! Two endpoints that exchange packets in memory, in virtual time: one sends bulk data, the other receives.

use super::timer::{Stopwatch, repeat_for};
use core::net::{IpAddr, Ipv4Addr};
use core::time::Duration;
use dccp_proto::batch::Batch;
use dccp_proto::conn::App;
use dccp_proto::path::{Encap, Flow, Path};
use dccp_proto::queue::{Accepted, Delivery, Fate, Inbox, Offer, Outbox, Slot};
use dccp_proto::wire::{Datagram, Ecn, Payload, Place, ServiceCode};
use dccp_proto::{Config, ConnId, Endpoint, Instant, KeyedHash, Queues};
use dccp_sim::random::Stream;
use std::collections::VecDeque;

/// The most packets that leave in a turn.
const PER_TURN: u64 = 50;
/// The virtual time of a turn.
const TURN: Duration = Duration::from_micros(50);
/// Turns between two readings of the real time.
const TURNS: u64 = 20;
const BEGIN: Instant = Instant::from_nanos(1_000_000_000);
const PORTS: (u16, u16) = (40_000, 5001);
const SERVICE: ServiceCode = ServiceCode::from_ascii(*b"BULK");

/// The settings of a transfer.
pub(super) struct Exchange {
    /// Bytes of data of each packet.
    pub(super) size: usize,
    /// Packets in flight.
    pub(super) window: u64,
    /// The share of packets that are lost, with the random numbers that choose them.
    pub(super) loss: Option<(f64, Stream)>,
    /// Packets that reach the receiver at a time. It sends at most one acknowledgement for each such group.
    pub(super) group: usize,
    pub(super) encap: Encap,
    pub(super) config: Config,
}

/// UDP has a checksum of its own, so the DCCP checksum is not computed.
pub(super) const UDP: Encap = Encap::Udp {
    local_port: 6511,
    remote_port: 6511,
};

/// The sender's work, and the processor time that it took.
#[derive(Default)]
pub(super) struct Work {
    /// Acknowledgements taken.
    pub(super) acks: u64,
    /// Packets of data sent.
    pub(super) packets: u64,
    /// The time for the acknowledgements.
    pub(super) taking: Duration,
    /// The time for the packets of data.
    pub(super) sending: Duration,
}

/// Both ends, and the packets between them.
pub(super) struct Pair {
    window: u64,
    loss: Option<(f64, Stream)>,
    group: usize,
    sender: End,
    /// The sender's connection.
    connection: ConnId,
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
        let (size, encap) = (exchange.size, exchange.encap);
        let config = Config {
            service_code: SERVICE,
            tx_ccids: vec![2],
            rx_ccids: vec![2],
            mtu: (size + 500).max(1500),
            probe_pmtu: false,
            pacing: false,
            ..exchange.config
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
        let connection = sender.endpoint.connect(BEGIN, flow, config);
        let connection = connection.map_err(|error| error.to_string())?;
        let turns = exchange.window.div_ceil(PER_TURN);
        let turns = usize::try_from(turns).unwrap_or(usize::MAX);
        Ok(Self {
            window: exchange.window,
            loss: exchange.loss,
            group: exchange.group,
            sender,
            connection,
            receiver,
            now: BEGIN,
            path: vec![Vec::new(); turns].into(),
            acks: Vec::new(),
            spare: Vec::new(),
        })
    }

    /// Measures the sender's work.
    ///
    /// # Errors
    /// There was none.
    pub(super) fn measure(&mut self, time: Duration) -> Result<Work, String> {
        let mut work = Work::default();
        let mut watch = Stopwatch::new();
        repeat_for(time, || {
            for _ in 0..TURNS {
                watch.lap();
                work.acks += self.take_acks();
                work.taking += watch.lap();
                work.packets += self.send();
                work.sending += watch.lap();
                self.receive();
            }
            let has_stopped = work.acks == 0 || work.packets == 0;
            (!has_stopped)
                .then_some(())
                .ok_or("the transfer has stopped")
        })?;
        Ok(work)
    }

    /// The sender takes the acknowledgements that have arrived. Returns how many these are.
    fn take_acks(&mut self) -> u64 {
        let mut count = 0;
        for mut batch in self.acks.drain(..) {
            count += batch.len() as u64;
            (self.sender).take(self.now, ecn_of(&batch), &mut batch.datagrams());
            batch.clear();
            self.spare.push(batch);
        }
        count
    }

    /// The sender sends as much as a turn and the window permit. Returns how many packets of data these are.
    fn send(&mut self) -> u64 {
        let source = &mut self.sender.app.outbox;
        let before = source.claimed;
        source.limit = (source.claimed + PER_TURN).min(source.decided + self.window);
        self.sender.endpoint.on_data_ready(self.connection);
        let mut batches = Vec::new();
        (self.sender).transmit(self.now, &mut self.spare, &mut batches);
        self.path.push_back(batches);
        self.sender.app.outbox.claimed - before
    }

    /// The receiver takes what arrives, group by group, and answers. The turn ends.
    fn receive(&mut self) {
        let Self {
            receiver,
            loss,
            spare,
            now,
            acks,
            ..
        } = self;
        let mut arrives = || {
            let lost = loss.as_mut();
            !lost.is_some_and(|(share, random)| random.chance(*share))
        };
        for mut batch in self.path.pop_front().unwrap_or_default() {
            {
                let mut arriving = batch.datagrams().filter(|_| arrives()).peekable();
                while arriving.peek().is_some() {
                    let mut group = arriving.by_ref().take(self.group);
                    receiver.take(*now, ecn_of(&batch), &mut group);
                    receiver.transmit(*now, spare, acks);
                }
            }
            batch.clear();
            spare.push(batch);
        }
        // Also what nothing that arrived has caused, such as the end of a delay.
        receiver.transmit(*now, spare, acks);
        *now += TURN;
    }

    /// Plays a turn of both ends.
    fn turn(&mut self) {
        self.take_acks();
        self.send();
        self.receive();
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
    fn decided(&self) -> u64 {
        self.sender.app.outbox.decided
    }
}

fn ecn_of(batch: &Batch) -> Ecn {
    batch.destination().map(|(_, ecn)| ecn).unwrap_or_default()
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

    /// Takes packets that arrive together.
    fn take(&mut self, now: Instant, ecn: Ecn, train: &mut dyn Iterator<Item = Datagram<'_>>) {
        (self.endpoint).handle_train(now, &self.path, ecn, train, &mut self.app);
    }

    /// Sends what may leave.
    fn transmit(&mut self, now: Instant, spare: &mut Vec<Batch>, sent: &mut Vec<Batch>) {
        if self.endpoint.poll_timeout().is_some_and(|due| due <= now) {
            self.endpoint.handle_timeout(now, &mut self.app);
        }
        loop {
            let mut batch = spare.pop().unwrap_or_else(|| Batch::new(64));
            if !self.endpoint.poll_transmit(now, &mut self.app, &mut batch) {
                spare.push(batch);
                break;
            }
            sent.push(batch);
        }
        while self.endpoint.poll_event().is_some() {}
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

#[cfg(test)]
mod tests {
    use super::*;
    use dccp_proto::number::to_f64;
    use dccp_sim::Seed;

    /// A transfer that has `window` packets in flight and loses a share of all.
    fn pair(encap: Encap, window: u64, share: f64) -> Pair {
        let exchange = Exchange {
            size: 8960,
            window,
            loss: (share > 0.0).then(|| (share, Seed(1).stream("losses"))),
            group: 2,
            encap,
            config: Config {
                ack_ratio: Some(2),
                ..Config::default()
            },
        };
        Pair::new(exchange).expect("possible settings")
    }

    #[test]
    fn pair_delivers_all_packets_without_loss() {
        for encap in [UDP, Encap::Ip] {
            let mut pair = pair(encap, 100, 0.0);
            pair.warm_up(1000).expect("a transfer");
            assert!(
                pair.receiver.app.inbox.received >= pair.decided(),
                "{encap:?}"
            );
        }
    }

    #[test]
    fn pair_loses_the_share_that_it_should() {
        let mut pair = pair(UDP, 100, 0.2);
        pair.warm_up(1000).expect("a transfer");
        let (received, decided) = (pair.receiver.app.inbox.received, pair.decided());
        assert!(
            (700..900).contains(&(received * 1000 / decided)),
            "{received} of {decided}"
        );
    }

    // F18: the cost of an acknowledgement compares windows only if it brings equally much news in each.
    #[test]
    fn acknowledgement_reports_two_packets_in_every_window() {
        for window in [100, 1000] {
            let mut pair = pair(UDP, window, 0.0);
            pair.warm_up(3 * window).expect("a transfer");
            let work = pair.measure(Duration::from_millis(2)).expect("work");
            let per_ack = to_f64(work.packets) / to_f64(work.acks);
            assert!((1.9..2.5).contains(&per_ack), "{window}: {per_ack}");
        }
    }
}
