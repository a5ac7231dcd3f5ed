//! Types that cannot come: step 7 of RFC 4340 §8.5.

use crate::bench::{Bench, Pkt, SERVICE};
use dccp_proto::conn::State;
use dccp_proto::conn::stats::DropReason;
use dccp_proto::wire::{AckCell, AckState, FeatureOpt, Kind, Opt, PacketType};
use std::time::Duration;

/// Asserts that the packet, whose sequence number is valid, is answered by a Sync and else ignored.
fn assert_unexpected(bench: &mut Bench, packet: &Pkt) {
    let state = bench.state();
    let window = Opt::ChangeL(FeatureOpt {
        feature: 3,
        values: &[0, 0, 0, 0, 2, 0],
    });
    let packet = packet.clone().with(&[Opt::Timestamp(9), window]);
    let count = bench.dropped(DropReason::UnexpectedType);
    let next = bench.gss.next();
    let sync = bench.answer(&packet);
    assert_eq!(
        (sync.kind, sync.seq),
        (Kind::Sync { ack: packet.seq }, next)
    );
    assert_eq!(bench.state(), state);
    assert_eq!(bench.dropped(DropReason::UnexpectedType), count + 1);
    assert_eq!(bench.snapshot().peer_sequence_window, 100);
}

/// Asserts that the next acknowledgement does not report the packet before the one that it names.
fn assert_hole_before_newest(bench: &mut Bench) {
    let data = bench.next(Kind::Data);
    bench.give(&data);
    let sent = bench.advance(Duration::from_secs(1));
    let ack = sent
        .iter()
        .find(|(_, p)| p.packet_type() == PacketType::Ack);
    let (_, ack) = ack.unwrap();
    assert_eq!(ack.ack(), Some(data.seq));
    let opts = ack.opts();
    let Some(Opt::AckVector { cells, .. }) = opts.last() else {
        panic!("{opts:?}")
    };
    let cells: Vec<_> = cells.iter().map(|c| AckCell::from_byte(*c)).collect();
    assert_eq!((cells[0].state, cells[0].len), (AckState::Received, 1));
    assert_eq!((cells[1].state, cells[1].len), (AckState::NotReceived, 1));
    assert!(
        !opts
            .iter()
            .any(|o| matches!(o, Opt::ConfirmR(_) | Opt::TimestampEcho { .. }))
    );
}

#[test]
fn a_server_challenges_a_close_req() {
    // 4340-8.5-7, 4340-8.3-4, 4340-5.5-1
    let mut bench = Bench::open_server(Bench::config());
    let packet = bench.next(Kind::CloseReq { ack: bench.gss });
    assert_unexpected(&mut bench, &packet);
    assert_hole_before_newest(&mut bench);
}

#[test]
fn a_server_challenges_a_response() {
    // 4340-8.5-7, 4340-7.4-1
    let mut bench = Bench::open_server(Bench::config());
    let packet = bench.next(Kind::Response {
        ack: bench.gss,
        service: SERVICE,
    });
    assert_unexpected(&mut bench, &packet);
    assert_hole_before_newest(&mut bench);
    let (mut bench, _) = Bench::responding(Bench::config());
    let packet = bench.next(Kind::Response {
        ack: bench.gss,
        service: SERVICE,
    });
    assert_unexpected(&mut bench, &packet);
    assert_eq!(bench.state(), State::Respond);
}

#[test]
fn a_client_challenges_a_request() {
    // 4340-8.5-7
    for mut bench in [
        Bench::partopen_client(Bench::config()),
        Bench::open_client(Bench::config()),
    ] {
        let packet = bench.next(Kind::Request { service: SERVICE });
        assert_unexpected(&mut bench, &packet);
    }
    let mut bench = Bench::open_client(Bench::config());
    let packet = bench.next(Kind::Request { service: SERVICE });
    assert_unexpected(&mut bench, &packet);
    assert_hole_before_newest(&mut bench);
}

#[test]
fn an_open_server_challenges_a_new_request_and_ignores_an_old_one() {
    // 4340-8.5-7: OSR is the Ack that opened the connection.
    let mut bench = Bench::open_server(Bench::config());
    let osr = bench.peer_gss;
    let request = Kind::Request { service: SERVICE };
    let packet = bench.next(request).with_payload(b"again");
    assert_unexpected(&mut bench, &packet);
    let packet = Pkt::new(request, osr);
    assert_unexpected(&mut bench, &packet);
    // Older than OSR: it was delayed. It counts as received, but changes nothing.
    let packet = Pkt::new(request, osr.minus(1));
    let sent = bench.answers(&packet);
    assert!(
        sent.iter().all(|p| p.packet_type() == PacketType::Ack),
        "{sent:#?}"
    );
    assert_eq!(bench.dropped(DropReason::UnexpectedType), 2);
    assert_eq!(bench.state(), State::Open);
    assert_hole_before_newest(&mut bench);
}

#[test]
fn an_open_client_challenges_a_new_response_and_ignores_an_old_one() {
    // 4340-8.5-7
    let mut bench = Bench::open_client(Bench::config());
    let osr = bench.peer_gss;
    let response = Kind::Response {
        ack: bench.gss,
        service: SERVICE,
    };
    let packet = bench.next(response).with_payload(b"again");
    assert_unexpected(&mut bench, &packet);
    let packet = Pkt::new(response, osr);
    assert_unexpected(&mut bench, &packet);
    let packet = Pkt::new(response, osr.minus(1));
    let sent = bench.answers(&packet);
    assert!(
        sent.iter().all(|p| p.packet_type() == PacketType::Ack),
        "{sent:#?}"
    );
    assert_eq!(bench.dropped(DropReason::UnexpectedType), 2);
    assert!(bench.got().is_empty());
    assert_hole_before_newest(&mut bench);
}

#[test]
fn a_server_in_respond_challenges_data() {
    // 4340-8.5-7
    let (mut bench, response) = Bench::responding(Bench::config());
    let packet = bench.next(Kind::Data).with_payload(b"early");
    assert_unexpected(&mut bench, &packet);
    assert_eq!(bench.state(), State::Respond);
    assert!(bench.got().is_empty());
    // With an Acknowledgement Number it is welcome.
    let packet = bench.next(Kind::DataAck { ack: response.seq });
    bench.give(&packet.with_payload(b"with ackno"));
    assert_eq!(bench.state(), State::Open);
    assert_eq!(bench.got(), [b"with ackno"]);
}

#[test]
fn requests_and_responses_are_challenged_while_closing() {
    // 4340-8.5-7: CLOSEREQ and CLOSING come after OPEN.
    let mut bench = Bench::open_server(Bench::config());
    bench.close();
    bench.take_one();
    assert_eq!(bench.state(), State::CloseReq);
    let packet = bench.next(Kind::Request { service: SERVICE });
    assert_unexpected(&mut bench, &packet);
    for mut bench in [
        Bench::partopen_client(Bench::config()),
        Bench::open_client(Bench::config()),
    ] {
        bench.close();
        bench.take_one();
        assert_eq!(bench.state(), State::Closing);
        let packet = bench.next(Kind::Response {
            ack: bench.gss,
            service: SERVICE,
        });
        assert_unexpected(&mut bench, &packet);
    }
}

#[test]
fn an_unexpected_packet_moves_gsr_all_the_same() {
    // 4340-8.5-7: step 6 comes first.
    let mut bench = Bench::open_server(Bench::config());
    let packet = Pkt::new(
        Kind::Response {
            ack: bench.gss,
            service: SERVICE,
        },
        bench.peer_gss.plus(75),
    );
    assert_unexpected(&mut bench, &packet);
    let data = Pkt::new(Kind::Data, packet.seq.plus(75)).with_payload(b"in the new window");
    bench.give(&data);
    assert_eq!(bench.got().len(), 1);
}

#[test]
fn challenges_of_unexpected_types_are_limited_too() {
    // 4340-7.5.4-6, 4340-18-2
    let mut bench = Bench::open_server(Bench::config());
    let mut syncs = 0;
    for _ in 0..100 {
        syncs += bench.answers_next(Kind::CloseReq { ack: bench.gss }).len();
        bench.now += Duration::from_millis(9);
    }
    assert_eq!(syncs, 8);
}

#[test]
fn acknowledgement_names_the_newest_acknowledgeable_packet_not_gsr() {
    // 4340-5.1-9, 4340-8.5-7: GSR is the unexpected packet's number, which no acknowledgement may name.
    let mut bench = Bench::open_server(Bench::config());
    let data = bench.next(Kind::Data);
    bench.give(&data);
    let unexpected = bench.next(Kind::CloseReq { ack: bench.gss });
    assert_unexpected(&mut bench, &unexpected);
    let sent = bench.advance(Duration::from_secs(1));
    let acks = sent
        .iter()
        .filter(|(_, p)| p.packet_type() == PacketType::Ack);
    let named: Vec<_> = acks.map(|(_, p)| p.ack()).collect();
    assert_eq!(named, [Some(data.seq)]);
}
