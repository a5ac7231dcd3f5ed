//! Requests from forged addresses to a listener.

use crate::pair::{Pair, SERVER_PORT, SERVICE, config};
use crate::random::Random;
use crate::report::{Attack, Outcome};
use core::net::{IpAddr, Ipv4Addr};
use dccp_proto::Seq;
use dccp_proto::config::bounds;
use dccp_proto::path::{Encap, Path};
use dccp_proto::wire::{self, Kind, Options, Packet, Payload};

/// Requests in one millisecond: 200,000 a second.
const PER_STEP: u64 = 200;
/// The same for one network: 5,000 a second, so that the limit of all unredeemed cookies does not hide that of the network.
const NETWORK_PER_STEP: u64 = 5;
/// The most Requests of one network: 200 s of the attack.
const NETWORK_PACKETS_MAX: u64 = 1_000_000;

pub(crate) fn attacks() -> Vec<Attack> {
    vec![
        Attack::in_process(
            "Requests from forged addresses",
            "few connections are kept, the others get cookies; the open connection goes on",
            from_anywhere,
        ),
        Attack::in_process(
            "Requests from forged addresses of one network",
            "the network gets at most 1.5 bytes for each that it sent, and 20,000 a second",
            from_one_network,
        ),
    ]
}

fn from_anywhere(packets: u64) -> Outcome {
    let flood = flood(packets, PER_STEP, Random::next_address);
    let mut outcome = flood.outcome;
    let factor = flood.answered * 100 / flood.received.max(1);
    outcome.note(format!(
        "{}.{:02} times the bytes in answer",
        factor / 100,
        factor % 100
    ));
    outcome
}

/// 4340-18-5: the victim of a reflected flood is one network, a /24.
fn from_one_network(packets: u64) -> Outcome {
    let network = |random: &mut Random| {
        let [_, _, _, d] = random.next_address().octets();
        Ipv4Addr::new(198, 51, 100, d)
    };
    let flood = flood(packets.min(NETWORK_PACKETS_MAX), NETWORK_PER_STEP, network);
    let mut outcome = flood.outcome;
    let alone = u64::from(bounds::PREFIX_BYTES_PER_S) * flood.seconds;
    let saved = u64::from(bounds::PREFIX_BYTES_SAVED);
    let most = flood.received * 3 / 2 + alone + saved;
    outcome.note(format!("{} bytes of Requests", flood.received));
    outcome.expect_at_most("bytes in answer", flood.answered, most);
    outcome
}

/// A flood and what it has caused.
struct Flood {
    outcome: Outcome,
    /// Bytes of its Requests, with all headers.
    received: u64,
    /// Bytes of all answers, with all headers.
    answered: u64,
    seconds: u64,
}

/// Sends Requests from addresses that `draw` returns, `per_step` in one millisecond.
fn flood(packets: u64, per_step: u64, draw: fn(&mut Random) -> Ipv4Addr) -> Flood {
    let mut outcome = Outcome::new(packets);
    let mut random = Random::new(3);
    let mut pair = Pair::open();
    let (mut bytes, mut received, mut most) = (Vec::new(), 0, 0);
    for n in 0..packets {
        let path = Path {
            local: pair.server.flow.path.local,
            remote: IpAddr::V4(draw(&mut random)),
            encap: Encap::Udp {
                local_port: 14_233,
                remote_port: random.next_u16() | 1,
            },
        };
        let request = request(&mut random);
        bytes.clear();
        let rule = path.reversed().checksum_rule();
        wire::build(&mut bytes, &request, rule).expect("the packet is valid");
        received += (path.overhead() + bytes.len()) as u64;
        pair.server.receive(pair.now, &path, &bytes);
        if n % per_step == 0 {
            pair.step();
            most = most.max(pair.server.endpoint.connections() as u64);
        }
    }
    pair.settle(2000);
    outcome.expect(pair.is_open(), "the connection is not open");
    let half_open = config().cookie_threshold as u64;
    outcome.expect_at_most("connections at once", most, half_open + 1);
    pair.damage().report(&mut outcome);
    let answered = pair.server.stranger_bytes_out;
    let seconds = pair.seconds();
    outcome.expect(pair.close(), "it does not close");
    Flood {
        outcome,
        received,
        answered,
        seconds,
    }
}

/// A Request to the server from any port, with any number.
pub(crate) fn request(random: &mut Random) -> Packet<'static> {
    Packet {
        source_port: random.next_u16() | 1,
        dest_port: SERVER_PORT,
        ccval: 0,
        cscov: 0,
        is_short: false,
        seq: Seq::new(random.next() >> 16),
        kind: Kind::Request { service: SERVICE },
        options: Options::EMPTY,
        payload: Payload::EMPTY,
    }
}
