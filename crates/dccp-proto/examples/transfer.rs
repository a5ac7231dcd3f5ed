//! One bulk transfer over CCID 2 in virtual time, without any network, for counting instructions:
//!
//! ```sh
//! valgrind --tool=callgrind --toggle-collect='*sender_turn*' target/release/examples/transfer 40000 100
//! ```
//!
//! counts those of the sending end, `*receiver_turn*` those of the receiving end. The second number
//! says how many packets are in flight at 100,000 packets/s; 1400 bytes a packet, over UDP, received
//! in batches.

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
    let mut numbers = std::env::args().skip(1).map(|word| word.parse().ok());
    let (Some(Some(packets)), Some(Some(window)), None) =
        (numbers.next(), numbers.next(), numbers.next())
    else {
        eprintln!("usage: transfer PACKETS WINDOW");
        return ExitCode::from(2);
    };
    let Some(received) = transfer(packets, window) else {
        eprintln!("the settings are not accepted");
        return ExitCode::FAILURE;
    };
    println!("{received} of {packets} packets arrived");
    ExitCode::from(u8::from(received < packets))
}

/// Sends until all has left and arrived, at most for a virtual hour; how many packets arrived.
fn transfer(packets: u64, window: u64) -> Option<u64> {
    let turns_of_a_window = usize::try_from(window.div_ceil(PACKETS_PER_TURN)).ok()?;
    let (mut sender, mut receiver) = (End::new(1, 2), End::new(2, 1));
    let now = Instant::from_nanos(1_000_000_000);
    let config = Config {
        service_code: SERVICE,
        tx_ccids: vec![2],
        rx_ccids: vec![2],
        ..Config::default()
    };
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
    let mut back = Vec::new();
    let turns = (Duration::from_hours(1).as_micros() / TURN.as_micros()).try_into();
    for turn in 0..turns.unwrap_or(u32::MAX) {
        let now = now + TURN * turn;
        sender.outbox.limit = packets.min(sender.outbox.told + window);
        let mut batches = core::mem::take(&mut back);
        sender_turn(&mut sender, now, &mut batches);
        link.push_back(batches);
        let mut batches = link.pop_front()?;
        let arrived = receiver_turn(&mut receiver, now, &mut batches);
        back = batches;
        sender.spare.append(&mut receiver.spare);
        if arrived == packets {
            break;
        }
    }
    Some(receiver.inbox.received)
}

/// Takes what arrived out of `batches`, and puts there what leaves.
#[inline(never)]
fn sender_turn(end: &mut End, now: Instant, batches: &mut Vec<Batch>) {
    end.turn(now, batches);
}

/// As [`sender_turn`]; how many packets have come. (Were they alike, the compiler would make one
/// function of the two.)
#[inline(never)]
fn receiver_turn(end: &mut End, now: Instant, batches: &mut Vec<Batch>) -> u64 {
    end.turn(now, batches);
    end.inbox.received
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

    fn turn(&mut self, now: Instant, batches: &mut Vec<Batch>) {
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
                let ecn = batch.destination().map(|(_, ecn)| ecn).unwrap_or_default();
                endpoint.handle_datagram(now, path, ecn, datagram, queues);
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
