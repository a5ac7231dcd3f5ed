//! Requests from forged addresses to a listener.

use crate::pair::{Pair, SERVER_PORT, SERVICE, config};
use crate::random::Random;
use crate::report::{Attack, Outcome};
use core::net::IpAddr;
use dccp_proto::Seq;
use dccp_proto::path::{Encap, Path};
use dccp_proto::wire::{self, Kind, Options, Packet, Payload};

/// Requests in one millisecond: 200,000 a second.
const PER_STEP: u64 = 200;

pub(crate) fn attacks() -> Vec<Attack> {
    let claim = "few connections are kept, the others get cookies; the open connection goes on";
    vec![Attack::in_process(
        "Requests from forged addresses",
        claim,
        run,
    )]
}

fn run(packets: u64) -> Outcome {
    let mut outcome = Outcome::new(packets);
    let mut random = Random::new(3);
    let mut pair = Pair::open();
    let before = pair.server.bytes_out;
    let (mut bytes, mut received, mut most) = (Vec::new(), 0, 0);
    let mut own = 0;
    for n in 0..packets {
        let path = Path {
            local: pair.server.flow.path.local,
            remote: IpAddr::V4(random.next_address()),
            encap: Encap::Udp {
                local_port: 14_233,
                remote_port: random.next_u16() | 1,
            },
        };
        let request = Packet {
            source_port: random.next_u16() | 1,
            dest_port: SERVER_PORT,
            ccval: 0,
            cscov: 0,
            is_short: false,
            seq: Seq::new(random.next() >> 16),
            kind: Kind::Request { service: SERVICE },
            options: Options(&[]),
            payload: Payload::Bytes(&[]),
        };
        bytes.clear();
        let rule = path.reversed().checksum_rule();
        wire::build(&mut bytes, &request, rule).expect("the packet is valid");
        received += (path.overhead() + bytes.len()) as u64;
        pair.server.receive(pair.now, &path, &bytes);
        if n % PER_STEP == 0 {
            own += 1;
            pair.step();
            most = most.max(pair.server.endpoint.connections() as u64);
        }
    }
    pair.settle(2000);
    outcome.expect(pair.is_open(), "the connection is not open");
    let half_open = config().cookie_threshold as u64;
    outcome.expect_at_most("connections at once", most, half_open + 1);
    pair.damage().report(&mut outcome);
    // The open connection's packets are less than 100 bytes each, with their acknowledgements.
    let answered = (pair.server.bytes_out - before).saturating_sub(own * 200);
    let factor = answered * 100 / received.max(1);
    outcome.note(format!(
        "at least {}.{:02} times the bytes in answer",
        factor / 100,
        factor % 100
    ));
    outcome.expect(pair.close(), "it does not close");
    outcome
}
