//! Two endpoints and a wire between them.

use super::{Application, Pkt, SERVICE, START, WeakHash};
use dccp_proto::batch::Batch;
use dccp_proto::conn::State;
use dccp_proto::path::{Encap, Flow, Path};
use dccp_proto::queue::{Fate, Slot};
use dccp_proto::wire::{self, Datagram, Ecn, Payload};
use dccp_proto::{Config, ConnId, Endpoint, Event, Instant};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

pub(crate) const CLIENT: usize = 0;
pub(crate) const SERVER: usize = 1;

/// One end.
pub(crate) struct End {
    pub(crate) endpoint: Endpoint,
    pub(crate) app: Application,
    pub(crate) events: Vec<Event>,
    pub(crate) id: Option<ConnId>,
}

impl End {
    pub(crate) fn new(key: u64) -> Self {
        Self {
            endpoint: Endpoint::new(Box::new(WeakHash { key, iss: None })),
            app: Application::default(),
            events: Vec::new(),
            id: None,
        }
    }

    pub(crate) fn state(&self) -> State {
        let conn = self.id.and_then(|id| self.endpoint.connection(id));
        conn.map_or(State::Closed, dccp_proto::Connection::state)
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> Slot {
        let slot = self.app.outbox.push(bytes);
        self.endpoint.on_data_ready(self.id.unwrap());
        slot
    }

    pub(crate) fn got(&self) -> Vec<&[u8]> {
        let got = &self.app.inbox.got;
        got.iter().map(|(bytes, _)| bytes.as_slice()).collect()
    }

    pub(crate) fn fates(&self) -> &[(Slot, Fate)] {
        &self.app.outbox.fates
    }
}

/// The network's treatment of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Net {
    Deliver,
    Lose,
    Mark,
    Duplicate,
}

/// Says what happens to a packet of one end.
type Network = dyn FnMut(usize, &Pkt) -> Net;

/// A packet under way.
struct UnderWay {
    at: Instant,
    to: usize,
    ecn: Ecn,
    bytes: Vec<u8>,
}

/// Changes the bytes of a packet in flight.
type Damage = Box<dyn FnMut(usize, &mut [u8])>;

pub(crate) struct Pair {
    pub(crate) now: Instant,
    pub(crate) delay: Duration,
    pub(crate) ends: [End; 2],
    pub(crate) net: Box<Network>,
    /// Damage to packets of one end.
    pub(crate) damage: Damage,
    /// All packets sent, with time and sender.
    pub(crate) log: Vec<(Duration, usize, Pkt)>,
    wire: VecDeque<UnderWay>,
}

impl Pair {
    pub(crate) fn new(delay: Duration) -> Self {
        Self {
            now: START,
            delay,
            ends: [End::new(1), End::new(2)],
            net: Box::new(|_, _| Net::Deliver),
            damage: Box::new(|_, _| {}),
            log: Vec::new(),
            wire: VecDeque::new(),
        }
    }

    /// A pair whose client has begun to connect to its server.
    pub(crate) fn connecting(delay: Duration, client: Config, server: Config) -> Self {
        let mut pair = Self::new(delay);
        let listener = &mut pair.ends[SERVER].endpoint;
        listener
            .listen(Self::flow(SERVER).local_port, &[SERVICE], server)
            .unwrap();
        pair.connect(client);
        pair
    }

    pub(crate) fn connect(&mut self, config: Config) {
        let client = &mut self.ends[CLIENT];
        let id = client
            .endpoint
            .connect(self.now, Self::flow(CLIENT), config);
        client.id = Some(id.unwrap());
    }

    /// The flow as one end sees it.
    pub(crate) fn flow(end: usize) -> Flow {
        let ip = |n| IpAddr::V4(Ipv4Addr::new(192, 0, 2, n));
        let (addresses, ports) = ([ip(1), ip(2)], [40_000, 5001]);
        Flow {
            path: Path {
                local: addresses[end],
                remote: addresses[1 - end],
                encap: Encap::Ip,
            },
            local_port: ports[end],
            remote_port: ports[1 - end],
        }
    }

    /// Time passes.
    pub(crate) fn run(&mut self, time: Duration) {
        let until = self.now + time;
        self.drain();
        loop {
            let arrival = self.wire.front().map(|w| w.at);
            let deadlines = self.ends.iter().filter_map(|e| e.endpoint.poll_timeout());
            let next = arrival.into_iter().chain(deadlines).min();
            let Some(next) = next.filter(|next| *next <= until) else {
                break;
            };
            self.now = self.now.max(next);
            if arrival == Some(next) {
                self.arrive();
            } else {
                for end in &mut self.ends {
                    end.endpoint.handle_timeout(self.now, &mut end.app);
                }
            }
            self.drain();
        }
        self.now = until;
    }

    /// A forged packet arrives at one end.
    pub(crate) fn inject(&mut self, to: usize, packet: &Pkt) {
        let flow = Self::flow(to);
        let bytes = super::Bench::encode(&flow, packet);
        let end = &mut self.ends[to];
        let datagram = Datagram::new(&bytes);
        end.endpoint
            .handle_datagram(self.now, &flow.path, packet.ecn, &datagram, &mut end.app);
    }

    fn arrive(&mut self) {
        let Some(packet) = self.wire.pop_front() else {
            return;
        };
        let end = &mut self.ends[packet.to];
        end.endpoint.handle_datagram(
            self.now,
            &Self::flow(packet.to).path,
            packet.ecn,
            &Datagram::new(&packet.bytes),
            &mut end.app,
        );
    }

    fn drain(&mut self) {
        for from in [CLIENT, SERVER] {
            let mut batch = Batch::new(64);
            let rule = Self::flow(from).path.checksum_rule();
            let end = &mut self.ends[from];
            let mut sent = Vec::new();
            while end
                .endpoint
                .poll_transmit(self.now, &mut end.app, &mut batch)
            {
                let ecn = batch.destination().unwrap().1;
                sent.extend(batch.datagrams().map(|d| (ecn, d.bytes.to_vec())));
                batch.clear();
            }
            while let Some((id, event)) = end.endpoint.poll_event() {
                if matches!(event, Event::Accepted { .. }) {
                    end.id = Some(id);
                }
                end.events.push(event);
            }
            for (ecn, mut bytes) in sent {
                let p =
                    wire::parse(&Datagram::new(&bytes), rule).expect("what is sent can be parsed");
                let Payload::Bytes(payload) = p.payload else {
                    panic!("zeros on a socket")
                };
                let pkt = Pkt {
                    kind: p.kind,
                    seq: p.seq,
                    options: p.options.0.to_vec(),
                    payload: payload.to_vec(),
                    ccval: p.ccval,
                    cscov: p.cscov,
                    is_short: p.is_short,
                    ecn,
                };
                let fate = (self.net)(from, &pkt);
                self.log.push((self.now - START, from, pkt));
                (self.damage)(from, &mut bytes);
                let (copies, ecn) = match fate {
                    Net::Lose => (0, ecn),
                    Net::Deliver => (1, ecn),
                    Net::Mark => (1, Ecn::Ce),
                    Net::Duplicate => (2, ecn),
                };
                for _ in 0..copies {
                    self.wire.push_back(UnderWay {
                        at: self.now + self.delay,
                        to: 1 - from,
                        ecn,
                        bytes: bytes.clone(),
                    });
                }
            }
        }
    }

    /// The types that one end sent, in order.
    pub(crate) fn types(&self, from: usize) -> Vec<wire::PacketType> {
        self.sent(from).map(|(_, p)| p.packet_type()).collect()
    }

    /// The packets that one end sent, in order.
    pub(crate) fn sent(&self, end: usize) -> impl Iterator<Item = (Duration, &Pkt)> {
        let mine = self.log.iter().filter(move |(_, from, _)| *from == end);
        mine.map(|(at, _, p)| (*at, p))
    }
}
