//! Confirms of the handshake, which a client repeats while it does not know that the server has them.

use crate::bench::{Bench, Pkt};
use dccp_proto::Config;
use dccp_proto::conn::State;
use dccp_proto::wire::{FeatureOpt, Kind, Opt, PacketType};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// The Confirm options of a packet.
fn confirms(packet: &Pkt) -> Vec<Opt<'_>> {
    let is_confirm = |o: &Opt<'_>| matches!(o, Opt::ConfirmL(_) | Opt::ConfirmR(_));
    packet.opts().into_iter().filter(is_confirm).collect()
}

/// Changes of a server.
const CHANGES: [Opt<'_>; 2] = [
    Opt::ChangeL(FeatureOpt {
        feature: 4,
        values: &[1],
    }),
    Opt::ChangeL(FeatureOpt {
        feature: 3,
        values: &[0, 0, 0, 0, 1, 0],
    }),
];

#[test]
fn client_repeats_its_confirms_until_the_server_answers() {
    // LINUX-22
    let (mut bench, request) = Bench::requesting(Bench::config());
    let response = bench.response_to(&request).with(&CHANGES);
    let first = bench.answer(&response);
    assert_eq!(confirms(&first).len(), 2);
    let sent = bench.advance(Duration::from_millis(600));
    assert_eq!(sent.len(), 2);
    assert!(sent.iter().all(|(_, p)| confirms(p) == confirms(&first)));
    bench.send(b"data");
    let data = bench.take_one();
    assert_eq!(data.packet_type(), PacketType::DataAck);
    assert_eq!(confirms(&data), confirms(&first));
    // A second Response with another value: its Confirm takes the other's place.
    let change = FeatureOpt {
        feature: 3,
        values: &[0, 0, 0, 0, 2, 0],
    };
    let again = bench.next(response.kind).with(&[Opt::ChangeL(change)]);
    let new = bench.first_answer(&again);
    for packet in [new, bench.advance(SECOND).remove(0).1] {
        let mut all = confirms(&packet);
        all.sort_by_key(|o| matches!(o, Opt::ConfirmR(f) if f.feature == 3));
        assert_eq!(all, [confirms(&first)[0], Opt::ConfirmR(change)]);
    }
    let ack = bench.next(Kind::Ack { ack: bench.gss });
    bench.answers(&ack);
    assert_eq!(bench.state(), State::Open);
    bench.give_next(Kind::Data);
    let sent = bench.advance(SECOND);
    assert!(!sent.is_empty() && sent.iter().all(|(_, p)| confirms(p).is_empty()));
}

#[test]
fn strictly_a_confirm_leaves_once() {
    // 4340-6.6.1-1
    let config = Config {
        strict: true,
        ..Bench::config()
    };
    let (mut bench, request) = Bench::requesting(config);
    let response = bench.response_to(&request).with(&CHANGES);
    assert_eq!(confirms(&bench.answer(&response)).len(), 2);
    let sent = bench.advance(SECOND);
    assert!(!sent.is_empty() && sent.iter().all(|(_, p)| confirms(p).is_empty()));
}

#[test]
fn confirms_without_room_beside_data_go_once_more_before_it() {
    // LINUX-22: the data leave room for some Confirms only.
    let types = |spare: usize| {
        let (mut bench, request) = Bench::requesting(Bench::config());
        let response = bench.response_to(&request).with(&CHANGES);
        let first = bench.answer(&response);
        let data = vec![7; bench.snapshot().mps - spare];
        bench.send(&data);
        bench.send(&data);
        let sent = bench.take();
        assert_eq!(confirms(&sent[0]), confirms(&first));
        sent.iter().map(Pkt::packet_type).collect::<Vec<_>>()
    };
    let data = PacketType::DataAck;
    assert_eq!(types(0), [PacketType::Ack, data, data]);
    assert_eq!(types(200), [data, data]);
}
