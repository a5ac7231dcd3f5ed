//! One bulk transfer over CCID 2 in virtual time, without any network, for counting instructions:
//!
//! ```sh
//! valgrind --tool=callgrind --toggle-collect='*sender_turn*' target/release/examples/transfer 40000 100
//! ```
//!
//! counts those of the sending end, `*receiver_turn*` those of the receiving end. The second number
//! says how many packets are in flight at 100,000 packets/s; 1400 bytes a packet, over UDP, received
//! in batches. The third says what is lost: 1 of so many, at random (then BBR is in charge, whose window
//! does not follow single losses); or, with `overshoot`, all that is more than those in flight.

use core::time::Duration;
use dccp_proto::batch::Batch;
use dccp_proto::conn::App;
use dccp_proto::path::{Encap, Flow, Path};
use dccp_proto::queue::{Accepted, Delivery, Fate, Inbox, Offer, Outbox, Slot};
use dccp_proto::wire::{Payload, ServiceCode};
use dccp_proto::{Config, ConnId, Endpoint, Instant, KeyedHash, Queues};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};
use std::process::ExitCode;

/// Bytes of application data in each packet.
const LENGTH: usize = 1400;
/// Packets of each turn: about as many as fit one GSO batch.
const PACKETS_PER_TURN: u64 = 40;
/// Time from turn to turn: 100,000 packets/s.
const TURN: Duration = Duration::from_micros(400);
const PORT: u16 = 5001;
const SERVICE: ServiceCode = ServiceCode::from_ascii(*b"BULK");

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (packets, window, losses) = match words[..] {
        [packets, window] => (packets, window, Some(Losses::None)),
        [packets, window, "overshoot"] => (packets, window, Some(Losses::Overshoot)),
        [packets, window, one_of] => (packets, window, one_of.parse().ok().map(Losses::OneOf)),
        _ => ("", "", None),
    };
    let (Ok(packets), Ok(window), Some(losses)) = (packets.parse(), window.parse(), losses) else {
        eprintln!("usage: transfer PACKETS WINDOW [overshoot | ONE_OF_SO_MANY_IS_LOST]");
        return ExitCode::from(2);
    };
    let Some((told, received)) = transfer(packets, window, losses) else {
        eprintln!("the settings are not accepted");
        return ExitCode::FAILURE;
    };
    println!("{told} of {packets} packets have a fate, {received} arrived");
    ExitCode::from(u8::from(told < packets))
}

/// Which packets do not arrive.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Losses {
    None,
    /// One of so many, at random.
    OneOf(u64),
    /// What is more than a window in flight.
    Overshoot,
}

/// Sends until all packets have a fate, at most for a virtual hour; how many have, and how many arrived.
fn transfer(packets: u64, window: u64, losses: Losses) -> Option<(u64, u64)> {
    let turns_of_a_window = usize::try_from(window.div_ceil(PACKETS_PER_TURN)).ok()?;
    let (mut sender, mut receiver) = (End::new(1, 2), End::new(2, 1));
    let now = Instant::from_nanos(1_000_000_000);
    let mut config = Config {
        service_code: SERVICE,
        tx_ccids: vec![2],
        rx_ccids: vec![2],
        ..Config::default()
    };
    if let Losses::OneOf(_) = losses {
        config.law = "bbr".parse().ok()?;
    }
    receiver
        .endpoint
        .listen(PORT, &[SERVICE], config.clone())
        .ok()?;
    let flow = Flow {
        path: sender.path,
        local_port: 40_000,
        remote_port: PORT,
    };
    sender.endpoint.connect(now, flow, config).ok()?;
    let mut link: VecDeque<Vec<Batch>> = vec![Vec::new(); turns_of_a_window].into();
    let mut loss = Loss::new(losses, window);
    let mut back = Vec::new();
    let turns = (Duration::from_hours(1).as_micros() / TURN.as_micros()).try_into();
    for turn in 0..turns.unwrap_or(u32::MAX) {
        let now = now + TURN * turn;
        sender.outbox.limit = match losses {
            Losses::Overshoot => packets,
            _ => packets.min(sender.outbox.told + window),
        };
        let mut batches = core::mem::take(&mut back);
        sender_turn(&mut sender, now, &mut batches);
        loss.decide(&batches);
        link.push_back(batches);
        let mut batches = link.pop_front()?;
        receiver_turn(&mut receiver, now, &mut batches, &mut loss);
        back = batches;
        sender.spare.append(&mut receiver.spare);
        if sender.outbox.told == packets {
            break;
        }
    }
    Some((sender.outbox.told, receiver.inbox.received))
}

/// Decides at a packet's departure whether it will arrive.
struct Loss {
    losses: Losses,
    window: usize,
    random: u64,
    /// Of the packets on their way, in order.
    arrives: VecDeque<bool>,
}

impl Loss {
    fn new(losses: Losses, window: u64) -> Self {
        Self {
            losses,
            window: usize::try_from(window).unwrap_or(usize::MAX),
            random: 1,
            arrives: VecDeque::new(),
        }
    }

    fn decide(&mut self, batches: &[Batch]) {
        let packets: usize = batches.iter().map(Batch::len).sum();
        for _ in 0..packets {
            let arrives = match self.losses {
                Losses::None => true,
                Losses::OneOf(many) => !self.random().is_multiple_of(many),
                Losses::Overshoot => self.arrives.len() < self.window,
            };
            self.arrives.push_back(arrives);
        }
    }

    fn random(&mut self) -> u64 {
        // A congruential generator with Knuth's factor; its high bits are good enough.
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005);
        self.random = self.random.wrapping_add(1_442_695_040_888_963_407);
        self.random >> 33
    }
}

/// Takes what arrived out of `batches`, and puts there what leaves.
#[inline(never)]
fn sender_turn(end: &mut End, now: Instant, batches: &mut Vec<Batch>) {
    end.turn(now, batches, &mut || true);
}

/// As [`sender_turn`], of those packets that arrive.
#[inline(never)]
fn receiver_turn(end: &mut End, now: Instant, batches: &mut Vec<Batch>, loss: &mut Loss) {
    end.turn(now, batches, &mut || {
        loss.arrives.pop_front().unwrap_or(true)
    });
}

/// An endpoint and its application.
struct End {
    endpoint: Endpoint,
    path: Path,
    outbox: Source,
    inbox: Sink,
    /// Batches to be used again.
    spare: Vec<Batch>,
}

impl End {
    fn new(local: u8, remote: u8) -> Self {
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

    fn turn(&mut self, now: Instant, batches: &mut Vec<Batch>, arrives: &mut dyn FnMut() -> bool) {
        let Self {
            endpoint,
            path,
            outbox,
            inbox,
            spare,
        } = self;
        let queues = &mut Both { outbox, inbox };
        for mut batch in batches.drain(..) {
            for datagram in batch.datagrams() {
                if !arrives() {
                    continue;
                }
                let ecn = batch.destination().map(|(_, ecn)| ecn).unwrap_or_default();
                endpoint.handle_datagram(now, path, ecn, &datagram, queues);
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
struct Source {
    limit: u64,
    claimed: u64,
    told: u64,
}

impl Outbox for Source {
    fn peek(&mut self, _: Instant) -> Option<Offer> {
        (self.claimed < self.limit).then_some(Offer {
            slot: Slot(0),
            len: LENGTH,
            is_zeros: false,
        })
    }

    fn claim_into(&mut self, _: Instant, _: Slot, buf: &mut [u8]) -> bool {
        buf.fill(1);
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
struct Sink {
    received: u64,
}

impl Inbox for Sink {
    fn deliver(&mut self, _: Payload<'_>, _: Delivery) -> Accepted {
        self.received += 1;
        Accepted::Yes
    }
}

/// Nobody attacks here.
struct Sum;

impl KeyedHash for Sum {
    fn hash(&self, data: &[u8]) -> u128 {
        data.iter().map(|&byte| u128::from(byte)).sum()
    }
}
