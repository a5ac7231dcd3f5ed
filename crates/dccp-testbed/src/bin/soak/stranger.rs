//! A third host that sends hand-made packets: what only a hostile or broken peer does.

use core::net::IpAddr;
use dccp_proto::Seq;
use dccp_proto::path::Path;
use dccp_proto::wire::{Kind, Options, Packet, Payload, ServiceCode};
use dccp_sim::pair::{CLIENT_PORT, End, PORT, Pair, SERVICE, Setup};
use dccp_sim::{LinkConfig, Stream, Tap};

/// Attaches the stranger to both hosts and lets it send a few packets.
pub(crate) fn visit(pair: &mut Pair, setup: &Setup, draw: &mut Stream) {
    let flow = pair.flow(0);
    let (client, server) = (flow.path.local, flow.path.remote);
    let own: IpAddr = match client {
        IpAddr::V4(_) => "192.0.2.66".parse(),
        IpAddr::V6(_) => "2001:db8::66".parse(),
    }
    .unwrap_or(client);
    let tap = pair.world.add("stranger", &[own], Tap::default());
    for end in [End::Client, End::Server] {
        let node = pair.node(end);
        pair.world
            .connect(tap.id(), node, LinkConfig::default(), LinkConfig::default());
    }
    let encap = flow.path.encap;
    let to_server = Path {
        local: own,
        remote: server,
        encap,
    };
    // To the client it speaks in the server's name.
    let to_client = Path {
        local: server,
        remote: client,
        encap,
    };
    for _ in 0..=draw.below(6) {
        let (path, packet) = match draw.below(8) {
            0 => (to_client, packet(Kind::Data, PORT, CLIENT_PORT, draw, &[])),
            n => (to_server, for_server(n, draw)),
        };
        pair.world
            .call(tap, |tap, context| tap.send(context, path, &packet));
    }
    debug_assert_eq!(setup.is_v6, own.is_ipv6());
}

fn for_server(n: u64, draw: &mut Stream) -> Packet<'static> {
    const MANDATORY_UNKNOWN: &[u8] = &[1, 119, 3, 7];
    const MANDATORY_TWICE: &[u8] = &[1, 1, 0, 0];
    /// An Init Cookie that no server gave.
    const BAD_COOKIE: &[u8] = &[36, 6, 1, 2, 3, 4];
    /// More options than an Init Cookie can hold.
    const MANY: &[u8] = &[0; 400];
    let ack = Seq::new(draw.bits());
    let request = Kind::Request { service: SERVICE };
    let (kind, port, options) = match n {
        1 => (
            Kind::Request {
                service: ServiceCode(7),
            },
            PORT,
            &[][..],
        ),
        2 => (request, PORT + 1, &[][..]),
        3 => (request, PORT, MANDATORY_UNKNOWN),
        4 => (request, PORT, MANDATORY_TWICE),
        5 => (Kind::Ack { ack }, PORT, BAD_COOKIE),
        6 => (request, PORT, MANY),
        _ => (Kind::DataAck { ack }, PORT, &[][..]),
    };
    let from = [50_000, 51_234, 60_000, 65_535][draw.index_below(4)];
    packet(kind, from, port, draw, options)
}

fn packet(
    kind: Kind,
    from: u16,
    to: u16,
    draw: &mut Stream,
    options: &'static [u8],
) -> Packet<'static> {
    Packet {
        source_port: from,
        dest_port: to,
        ccval: 0,
        cscov: 0,
        is_short: false,
        seq: Seq::new(draw.bits()),
        kind,
        options: Options(options),
        payload: Payload::EMPTY,
    }
}
