//! Forged ICMP errors about an open connection, by an attacker who knows addresses and ports only.

use crate::pair::Pair;
use crate::random::Random;
use crate::report::{Attack, Outcome};
use dccp_proto::{IcmpError, IcmpKind};

/// Errors in one millisecond: 200,000 a second.
const PER_STEP: u64 = 200;

pub(crate) fn attacks() -> Vec<Attack> {
    let open = "the connection stays open, and every datagram arrives";
    let large = "the path MTU stays, and every datagram arrives";
    let attack = Attack::in_process;
    vec![
        attack("ICMP unreachable, blind number", open, |n| {
            run(n, true, unreachable)
        }),
        attack("ICMP unreachable, empty quote", open, |n| {
            run(n, false, unreachable)
        }),
        attack("ICMP Too Big, blind number", large, |n| {
            run(n, true, too_big)
        }),
        attack("ICMP Too Big, empty quote", large, |n| {
            run(n, false, too_big)
        }),
    ]
}

fn unreachable(random: &mut Random) -> IcmpKind {
    IcmpKind::Unreachable {
        kind: 3,
        code: random.next().to_le_bytes()[0] % 16,
    }
}

fn too_big(random: &mut Random) -> IcmpKind {
    IcmpKind::TooBig {
        mtu: usize::from(random.next_u16() % 1500),
    }
}

fn run(errors: u64, has_number: bool, kind: fn(&mut Random) -> IcmpKind) -> Outcome {
    let mut outcome = Outcome::new(errors);
    let mut random = Random::new(2);
    let mut pair = Pair::open();
    let pmtu = pair.pmtu();
    for n in 0..errors {
        let end = if n % 2 == 0 {
            &mut pair.server
        } else {
            &mut pair.client
        };
        let mut header = [0; 16];
        header[..2].copy_from_slice(&end.flow.local_port.to_be_bytes());
        header[2..4].copy_from_slice(&end.flow.remote_port.to_be_bytes());
        // Data offset 4, a DCCP-Data packet with a long sequence number.
        header[4] = 4;
        header[8] = (2 << 1) | 1;
        header[10..].copy_from_slice(&random.next().to_be_bytes()[2..]);
        let quoted = if has_number { &header[..] } else { &[] };
        let error = IcmpError {
            path: end.flow.path,
            quoted,
            kind: kind(&mut random),
        };
        end.endpoint.handle_icmp(pair.now, &error, &mut end.app);
        if n % PER_STEP == 0 {
            pair.step();
        }
    }
    pair.settle(2000);
    outcome.expect(pair.is_open(), "the connection is not open");
    pair.damage().report(&mut outcome);
    let lost = pmtu.saturating_sub(pair.pmtu()) as u64;
    outcome.expect_at_most("bytes less of path MTU", lost, 0);
    outcome.expect(pair.close(), "it does not close");
    outcome
}
