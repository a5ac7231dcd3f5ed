//! Blind packets of each type into an open connection: the attacker knows addresses and ports, and no number.
//!
//! RFC 4340 §7.5.3 gives the odds: a packet is valid with W / 2^48, where W is the Sequence Window.

use crate::pair::{FORGED, Pair, SERVICE};
use crate::random::Random;
use crate::report::{Attack, Outcome};
use dccp_proto::Seq;
use dccp_proto::config::bounds;
use dccp_proto::path::Flow;
use dccp_proto::wire::{self, Datagram, Kind, Options, Packet, PacketType, Payload, ResetCode};

const CLAIM: &str = "the connection stays open; every honest datagram arrives, no forged one";
/// Packets in one millisecond: 200,000 a second.
const PER_STEP: u64 = 200;

/// One attack for each packet type, and three with short sequence numbers.
pub(crate) fn attacks() -> Vec<Attack> {
    let long = |name, run| Attack::in_process(name, CLAIM, run);
    vec![
        long("blind Request", |n| run(n, PacketType::Request, false)),
        long("blind Response", |n| run(n, PacketType::Response, false)),
        long("blind Data", |n| run(n, PacketType::Data, false)),
        long("blind Ack", |n| run(n, PacketType::Ack, false)),
        long("blind DataAck", |n| run(n, PacketType::DataAck, false)),
        long("blind CloseReq", |n| run(n, PacketType::CloseReq, false)),
        long("blind Close", |n| run(n, PacketType::Close, false)),
        long("blind Reset", |n| run(n, PacketType::Reset, false)),
        long("blind Sync", |n| run(n, PacketType::Sync, false)),
        long("blind SyncAck", |n| run(n, PacketType::SyncAck, false)),
        long("blind Listen", |n| run(n, PacketType::Listen, false)),
        long("blind short Data", |n| run(n, PacketType::Data, true)),
        long("blind short Ack", |n| run(n, PacketType::Ack, true)),
        long("blind short DataAck", |n| run(n, PacketType::DataAck, true)),
    ]
}

/// The control of all others: its attacker sees the numbers, so the promise breaks.
pub(crate) fn control() -> Attack {
    Attack::in_process("control: Data with the right number", CLAIM, |_| {
        let mut outcome = Outcome::new(1);
        let mut pair = Pair::open();
        let newest = pair.recorded.iter().rfind(|(to_server, _)| *to_server);
        let (_, newest) = newest.expect("the client has sent packets");
        let flow = pair.server.flow;
        let rule = flow.path.reversed().checksum_rule();
        let newest = wire::parse(&Datagram::new(newest), rule).expect("the packet is valid");
        let seq = newest.seq.next();
        let mut bytes = Vec::new();
        build(&mut bytes, &flow, seq, Kind::Data, false);
        pair.server.receive(pair.now, &flow.path, &bytes);
        pair.settle(2000);
        pair.damage().report(&mut outcome);
        outcome
    })
}

/// Sends `packets` to both ends in turn.
fn run(packets: u64, packet_type: PacketType, is_short: bool) -> Outcome {
    let mut outcome = Outcome::new(packets);
    let mut random = Random::new(1);
    let mut pair = Pair::open();
    let mut bytes = Vec::new();
    for n in 0..packets {
        let end = if n % 2 == 0 {
            &mut pair.server
        } else {
            &mut pair.client
        };
        forge(&mut bytes, &end.flow, packet_type, is_short, &mut random);
        let path = end.flow.path;
        end.receive(pair.now, &path, &bytes);
        if n % PER_STEP == 0 {
            pair.step();
        }
    }
    pair.settle(2000);
    outcome.expect(pair.is_open(), "the connection is not open");
    pair.damage().report(&mut outcome);
    // 4340-7.5.4-6: answers to invalid packets are limited. Path MTU discovery sends a few more.
    let most = 2 * u64::from(bounds::SYNCS_PER_S) * pair.seconds() + 100;
    outcome.expect_at_most("Syncs in answer", pair.syncs(), most);
    outcome.expect(pair.close(), "it does not close");
    outcome
}

/// Builds a packet to the end of `flow` with random numbers.
fn forge(
    bytes: &mut Vec<u8>,
    flow: &Flow,
    packet_type: PacketType,
    is_short: bool,
    random: &mut Random,
) {
    let mask = if is_short {
        (1 << 24) - 1
    } else {
        (1 << 48) - 1
    };
    let seq = Seq::new(random.next() & mask);
    let ack = Seq::new(random.next() & mask);
    // Each code that is defined.
    let code = ResetCode(random.next().to_le_bytes()[0] % 13);
    build(
        bytes,
        flow,
        seq,
        Kind::new(packet_type, ack, SERVICE, code),
        is_short,
    );
}

/// Builds a packet to the end of `flow`.
fn build(bytes: &mut Vec<u8>, flow: &Flow, seq: Seq, kind: Kind, is_short: bool) {
    let packet = Packet {
        source_port: flow.remote_port,
        dest_port: flow.local_port,
        ccval: 0,
        cscov: 0,
        is_short,
        seq,
        kind,
        options: Options(&[]),
        payload: Payload::Bytes(FORGED),
    };
    bytes.clear();
    let rule = flow.path.reversed().checksum_rule();
    wire::build(bytes, &packet, rule).expect("the packet is valid");
}
