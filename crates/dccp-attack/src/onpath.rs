//! An attacker who records packets and sends them again.

use crate::pair::{Pair, config};
use crate::random::Random;
use crate::report::{Attack, Outcome};
use dccp_proto::Config;

/// Packets in one millisecond: 20,000 a second.
const PER_STEP: u64 = 20;

pub(crate) fn attacks() -> Vec<Attack> {
    vec![
        Attack {
            name: "replay within a connection",
            claim: "the connection stays open; every datagram arrives once",
            run: |_, packets| replay(packets),
        },
        Attack {
            name: "replay of a connection with a cookie",
            claim: "the connection stays closed; nothing is delivered again",
            run: |_, packets| replay_cookie(packets),
        },
    ]
}

/// Repeats packets of the last moments.
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
    pair.settle(2000);
    outcome.expect(pair.is_open(), "the connection is not open");
    pair.damage().report(&mut outcome);
    outcome.expect(pair.close(), "it does not close");
    outcome
}

/// Repeats all packets of a connection after its end.
fn replay_cookie(packets: u64) -> Outcome {
    let mut outcome = Outcome::new(packets);
    let mut pair = Pair::with(Config {
        cookie_threshold: 0,
        ..config()
    });
    pair.settle(100);
    let recorded = pair.recorded.clone();
    outcome.expect(pair.close(), "it does not close");
    pair.recorded = recorded;
    let packets = usize::try_from(packets).unwrap_or(usize::MAX);
    for n in 0..packets {
        give_recorded(&mut pair, n);
        if n % pair.recorded.len() == 0 {
            let recorded = pair.recorded.clone();
            pair.settle(1);
            pair.recorded = recorded;
        }
        let connections = pair.server.endpoint.connections() as u64;
        outcome.expect(connections == 0, "the connection is open again");
        if !outcome.holds() {
            break;
        }
    }
    pair.damage().report(&mut outcome);
    outcome
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
