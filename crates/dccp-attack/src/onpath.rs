//! An attacker on the path, who records, repeats, delays and changes packets.
//!
//! Over IP each changed packet fails DCCP's checksum. Over UDP DCCP has no checksum of its own (RFC 6773 §3.2), so
//! there the attacker can change everything; the tests over UDP only ask that both ends survive.

use crate::pair::{Pair, Tamper, config};
use crate::random::Random;
use crate::report::{Attack, Outcome};
use core::cell::Cell;
use core::time::Duration;
use dccp_proto::Config;
use dccp_proto::wire::PacketType;
use std::rc::Rc;

/// Packets in one millisecond: 20,000 a second.
const PER_STEP: u64 = 20;
/// The part of the packets that attacks send which work on the ends' own packets: each costs ten times as much.
const SHARE: u64 = 10;
/// Longer than TIMEWAIT, 4 minutes, and RESPOND, 8 minutes.
const ALL_TIMERS: Duration = Duration::from_secs(500);

pub(crate) fn attacks() -> Vec<Attack> {
    let closed = "the connection stays closed; nothing is delivered again";
    let once = "the connection stays open; every datagram arrives once";
    let attack = Attack::in_process;
    vec![
        attack("replay within a connection", once, replay),
        attack("replay of a closed connection", closed, |n| {
            replay_closed(n, Config::default().cookie_threshold)
        }),
        attack("replay of a connection with a cookie", closed, |n| {
            replay_closed(n, 0)
        }),
        attack(
            "replay into a new connection of the same ports",
            once,
            replay_into_new,
        ),
        attack(
            "packets delayed by up to 50 ms",
            "the connection stays open; every datagram arrives once, at the rate that congestion control allows",
            reorder,
        ),
        attack("each packet ten times", once, multiply),
        attack(
            "Close and Reset a thousand times",
            "both ends close once; at most one Reset in answer to each packet",
            repeat_close,
        ),
        attack(
            "flipped bits, over IP",
            "the connection stays open; only a flip in Checksum Coverage can pass, once in 65,536",
            |n| {
                // Half of the packets are changed, and 4 of 160 bits or more are Checksum Coverage. A packet that passes
                // has its data refused, and then the honest one is a repetition.
                change(n, n / SHARE / 2 / 40 / 65_536 + 8, |random, bytes| {
                    let bit = random.below(bytes.len() * 8);
                    bytes[bit / 8] ^= 1 << (bit % 8);
                })
            },
        ),
        attack(
            "truncated packets, over IP",
            "the connection stays open; the checksum misses one in 65,536",
            |n| {
                // Half of the packets are changed: twice the mean, and some more for small numbers.
                change(n, n / SHARE / 65_536 + 3, |random, bytes| {
                    bytes.truncate(random.below(bytes.len()));
                })
            },
        ),
        attack(
            "changed bytes over UDP without checksum",
            "no end panics; a connection that ends can be opened again",
            scramble,
        ),
    ]
}

/// Repeats the newest packets.
fn replay(packets: u64) -> Outcome {
    let mut outcome = Outcome::new(packets);
    let mut random = Random::new(4);
    let mut pair = Pair::open();
    for n in 0..packets {
        give_recorded(&mut pair, usize::from(random.next_u16()));
        if n % PER_STEP == 0 {
            pair.step();
        }
    }
    finish(pair, &mut outcome);
    outcome
}

/// Repeats all packets of a connection after its end.
fn replay_closed(packets: u64, cookie_threshold: usize) -> Outcome {
    let mut outcome = Outcome::new(packets);
    let mut pair = Pair::with(Config {
        cookie_threshold,
        ..config()
    });
    pair.settle(100);
    outcome.expect(pair.close(), "it does not close");
    let recorded = pair.recorded.clone();
    let is_stateless = cookie_threshold == 0;
    let packets = usize::try_from(packets).unwrap_or(usize::MAX);
    for n in 0..packets {
        give_recorded(&mut pair, n);
        if n % recorded.len() == 0 {
            pair.settle(1);
            pair.recorded.clone_from(&recorded);
        }
        outcome.expect(!pair.is_open(), "the connection is open again");
        let connections = pair.server.endpoint.connections();
        outcome.expect(!is_stateless || connections == 0, "a connection is kept");
        if !outcome.holds() {
            break;
        }
    }
    // A repeated Request opens half of a connection, which the client's Reset or the timer ends.
    pair.wait(ALL_TIMERS);
    let connections = pair.server.endpoint.connections() as u64;
    outcome.expect_at_most("connections left", connections, 0);
    pair.damage().report(&mut outcome);
    outcome
}

/// Repeats the packets of a connection in the next one between the same ports.
fn replay_into_new(packets: u64) -> Outcome {
    let mut outcome = Outcome::new(packets);
    let mut pair = Pair::open();
    outcome.expect(pair.close(), "it does not close");
    let recorded = pair.recorded.clone();
    pair.wait(ALL_TIMERS);
    pair.connect();
    let mut number = 0;
    for n in 0..packets {
        if n % PER_STEP == 0 {
            pair.step();
            pair.recorded.clone_from(&recorded);
        }
        give_recorded(&mut pair, number);
        number = (number + 1) % recorded.len();
    }
    finish(pair, &mut outcome);
    outcome
}

/// Delays each packet by its own random time.
fn reorder(packets: u64) -> Outcome {
    let mut random = Random::new(5);
    tamper(
        packets,
        Pair::open(),
        Box::new(move |bytes, out| {
            let delay = Duration::from_micros(u64::from(random.next_u16()) * 50_000 / 65_536);
            out.push((delay, bytes.to_vec()));
        }),
    )
}

/// Repeats each packet at once and later.
fn multiply(packets: u64) -> Outcome {
    tamper(
        packets,
        Pair::open(),
        Box::new(|bytes, out| {
            out.extend((0..10).map(|n| (Duration::from_millis(7 * n), bytes.to_vec())));
        }),
    )
}

/// Adds a changed copy of each packet.
fn change(packets: u64, odds: u64, change: fn(&mut Random, &mut Vec<u8>)) -> Outcome {
    let mut random = Random::new(6);
    tamper_within(
        packets,
        odds,
        Pair::over_ip(),
        Box::new(move |bytes, out| {
            let mut changed = bytes.to_vec();
            change(&mut random, &mut changed);
            out.push((Duration::ZERO, changed));
            out.push((Duration::ZERO, bytes.to_vec()));
        }),
    )
}

/// Lets `attacker` handle all packets until `packets` have arrived.
fn tamper(packets: u64, pair: Pair, attacker: Box<Tamper>) -> Outcome {
    tamper_within(packets, 0, pair, attacker)
}

/// The same, and `odds` datagrams may be replaced.
fn tamper_within(packets: u64, odds: u64, mut pair: Pair, mut attacker: Box<Tamper>) -> Outcome {
    let packets = packets / SHARE;
    let mut outcome = Outcome::new(packets);
    let sent = Rc::new(Cell::new(0));
    let counter = sent.clone();
    pair.tamper = Some(Box::new(move |bytes, out| {
        attacker(bytes, out);
        counter.set(counter.get() + out.len() as u64);
    }));
    while sent.get() < packets {
        pair.step();
        if !pair.is_open() {
            break;
        }
    }
    // Congestion control may have kept datagrams back.
    pair.settle(20_000);
    finish_within(pair, &mut outcome, odds);
    outcome
}

/// Repeats the Close and the Reset that end a connection, within a second.
fn repeat_close(packets: u64) -> Outcome {
    const TIMES: u64 = 1000;
    let packets = packets / SHARE;
    let mut outcome = Outcome::new(packets);
    let ending = [PacketType::CloseReq, PacketType::Close, PacketType::Reset];
    let mut most = 0;
    for _ in 0..packets.div_ceil(2 * TIMES) {
        let mut pair = Pair::open();
        let mut repeated = 0;
        pair.tamper = Some(Box::new(move |bytes, out| {
            let number = bytes.get(8).map_or(0, |byte| (byte >> 1) & 15);
            let is_ending = ending.iter().any(|t| *t as u8 == number) && repeated < 2;
            repeated += u8::from(is_ending);
            let times = if is_ending { TIMES } else { 1 };
            out.extend((0..times).map(|n| (Duration::from_millis(n), bytes.to_vec())));
        }));
        let before = pair.packets_out();
        outcome.expect(pair.close(), "it does not close");
        pair.settle(2000);
        most = most.max(pair.packets_out() - before);
        pair.damage().report_quietly(&mut outcome);
        if !outcome.holds() {
            break;
        }
    }
    // One Reset for each repeated Close, and the connection's own packets.
    outcome.expect_at_most("packets in answer to one thousand", most, TIMES + 50);
    outcome
}

/// Changes a random byte of each hundredth packet, where no checksum notices it.
fn scramble(packets: u64) -> Outcome {
    // Each connection that ends costs as much as hundreds of packets.
    let packets = packets / SHARE / 10;
    let mut outcome = Outcome::new(packets);
    let sent = Rc::new(Cell::new(0));
    let mut ended = 0;
    let mut random = Random::new(7);
    while sent.get() < packets {
        let mut pair = Pair::open();
        let (counter, mut own) = (sent.clone(), Random::new(random.next()));
        pair.tamper = Some(Box::new(move |bytes, out| {
            let mut bytes = bytes.to_vec();
            if own.below(100) == 0 {
                let at = own.below(bytes.len());
                bytes[at] = own.next().to_le_bytes()[0];
            }
            out.push((Duration::ZERO, bytes));
            counter.set(counter.get() + 1);
        }));
        while pair.is_open() && sent.get() < packets {
            pair.step();
        }
        ended += u64::from(!pair.is_open());
    }
    outcome.note(format!("{ended} connections ended"));
    outcome
}

/// Expects that the connection is open, has carried all datagrams and closes.
fn finish(pair: Pair, outcome: &mut Outcome) {
    finish_within(pair, outcome, 0);
}

/// The same, and `odds` datagrams may be replaced.
fn finish_within(mut pair: Pair, outcome: &mut Outcome, odds: u64) {
    pair.settle(2000);
    outcome.expect(pair.is_open(), "the connection is not open");
    pair.damage().report_within(outcome, odds);
    outcome.expect(pair.close(), "it does not close");
}

/// Delivers a recorded packet again.
fn give_recorded(pair: &mut Pair, n: usize) {
    let (to_server, bytes) = &pair.recorded[n % pair.recorded.len()];
    let end = if *to_server {
        &mut pair.server
    } else {
        &mut pair.client
    };
    let path = end.flow.path;
    end.receive(pair.now, &path, bytes);
}
