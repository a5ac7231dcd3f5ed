//! ECN: marks that come and go, and ends that cannot read them (RFC 4340 §12, RFC 8311).

use crate::bench::{Bench, Pkt, RECEIVED, SERVICE, confirms_for};
use dccp_proto::conn::State;
use dccp_proto::conn::stats::DropReason;
use dccp_proto::queue::Fate;
use dccp_proto::wire::{
    AckCell, AckState, DropBlock, DropCode, Ecn, FeatureOpt, Kind, Opt, PacketType,
};
use dccp_proto::{Config, Event};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn incapable(value: &[u8]) -> FeatureOpt<'_> {
    FeatureOpt {
        feature: 4,
        values: value,
    }
}

fn blind() -> Config {
    Config {
        ecn: false,
        ..Bench::config()
    }
}

/// Option type and cells of a packet's Ack Vector.
fn vector(packet: &Pkt) -> (u8, Vec<(AckState, u8)>) {
    let opts = packet.opts();
    let find = |o: &Opt<'_>| match o {
        Opt::AckVector { nonce, cells } => {
            let cells = cells.iter().map(|c| AckCell::from_byte(*c));
            Some((
                38 + u8::from(*nonce),
                cells.map(|c| (c.state, c.len)).collect(),
            ))
        }
        _ => None,
    };
    opts.iter().find_map(find).expect("an Ack Vector")
}

fn drops(packet: &Pkt) -> Vec<DropBlock> {
    let opts = packet.opts();
    let blocks = opts.iter().filter_map(|o| match o {
        Opt::DataDropped(blocks) => Some(*blocks),
        _ => None,
    });
    blocks.flatten().map(|b| DropBlock::from_byte(*b)).collect()
}

#[test]
fn data_and_acknowledgements_are_sent_with_ect_0() {
    // 4340-12-1, 8311-6-1, 8311-3-1, AMB-16
    for mut bench in Bench::open_both(&Bench::config()) {
        for n in 0..20 {
            bench.send(&[n]);
            bench.give_next(Kind::Data);
            bench.give_next(Kind::Sync { ack: bench.gss });
            for p in bench.take() {
                assert_eq!(p.ecn, Ecn::Ect0, "{p:?}");
                let ack = bench.next(Kind::Ack { ack: p.seq }).with(&[RECEIVED]);
                bench.give(&ack);
            }
            bench.now += SECOND;
        }
        assert!(bench.snapshot().is_ecn);
    }
}

#[test]
fn packets_that_open_or_end_a_connection_are_not_ect() {
    // 4340-12-1
    let (_, request) = Bench::requesting(Bench::config());
    let (_, response) = Bench::responding(Bench::config());
    assert_eq!((request.ecn, response.ecn), (Ecn::NotEct, Ecn::NotEct));
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.close();
        assert_eq!(bench.take_one().ecn, Ecn::NotEct);
        bench.abort();
        assert_eq!(bench.take_one().ecn, Ecn::NotEct);
    }
}

#[test]
fn to_a_peer_that_cannot_read_ecn_nothing_is_sent_with_ect() {
    // 4340-12.1-2, LINUX-C2, AMB-14: from the Confirm on.
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.now += SECOND;
        let change = bench.next(Kind::Ack { ack: bench.gss });
        let change = change.with(&[Opt::Mandatory, Opt::ChangeL(incapable(&[1]))]);
        let confirm = bench.first_answer(&change);
        let expected = Opt::ConfirmR(incapable(&[1, 0, 1]));
        assert!(confirm.opts().contains(&expected), "{:?}", confirm.opts());
        for n in 0..5 {
            bench.send(&[n]);
            bench.give_next(Kind::Data);
            bench.give_next(Kind::Data);
            bench.give_next(Kind::Sync { ack: bench.gss });
            for p in bench.take() {
                assert_eq!(p.ecn, Ecn::NotEct, "{p:?}");
                let ack = bench.next(Kind::Ack { ack: p.seq }).with(&[RECEIVED]);
                bench.give(&ack);
            }
            bench.now += SECOND;
        }
        assert!(!bench.snapshot().is_ecn);
        assert_eq!(bench.state(), State::Open);
    }
}

#[test]
fn a_client_that_cannot_read_ecn_says_so_until_it_is_confirmed() {
    // 4340-12.1-3, 4340-12.1-1, 6773-3.5-1
    let (mut bench, request) = Bench::requesting(blind());
    let demand = [Opt::Mandatory, Opt::ChangeL(incapable(&[1]))];
    let has_demand = |p: &Pkt| p.opts().windows(2).any(|w| w == demand);
    assert!(has_demand(&request), "{:?}", request.opts());
    for (_, p) in bench.advance(SECOND) {
        assert!(has_demand(&p));
    }
    let response = bench.next(Kind::Response {
        ack: bench.gss,
        service: SERVICE,
    });
    bench.answers(&response);
    bench.give_next(Kind::Ack { ack: bench.gss });
    let later = bench.advance(5 * SECOND);
    assert!(later.iter().filter(|(_, p)| has_demand(p)).count() >= 2);
    let (_, last) = later.last().unwrap();
    let confirms = confirms_for(last);
    let ack = bench
        .next(Kind::Ack { ack: last.seq })
        .with_raw_options(&confirms);
    bench.answers(&ack);
    let later = bench.advance(Duration::from_mins(3));
    assert!(!later.iter().any(|(_, p)| has_demand(p)));
}

#[test]
fn no_data_are_taken_before_the_peer_knows_that_we_cannot_read_ecn() {
    // 4340-12.1-3, 4340-8.2-3
    let (mut bench, response) = Bench::responding(blind());
    assert!(response.opts().contains(&Opt::ChangeL(incapable(&[1]))));
    let early = bench
        .next(Kind::DataAck { ack: response.seq })
        .with_payload(b"early");
    bench.give(&early);
    let more = bench.next(Kind::Data).with_payload(b"more");
    bench.give(&more);
    assert!(bench.got().is_empty());
    assert_eq!(bench.dropped(DropReason::NotReady), 2);
    let ack = bench
        .take()
        .into_iter()
        .find(|p| p.packet_type() == PacketType::Ack);
    let code = Some(DropCode::PROTOCOL_CONSTRAINTS);
    assert_eq!(drops(&ack.unwrap()), [DropBlock { code, len: 2 }]);
    let confirm = bench.next(Kind::DataAck { ack: response.seq });
    let confirm = confirm.with_raw_options(&confirms_for(&response));
    bench.give(&confirm.with_payload(b"now"));
    assert_eq!(bench.got(), [b"now"]);
}

#[test]
fn the_data_of_a_request_wait_for_that_too() {
    // 4340-12.1-3: the Confirm cannot have come.
    let mut bench = Bench::listening(blind());
    let request = bench
        .next(Kind::Request { service: SERVICE })
        .with_payload(b"query");
    let response = bench.answer(&request);
    assert!(bench.got().is_empty());
    let code = Some(DropCode::PROTOCOL_CONSTRAINTS);
    assert_eq!(drops(&response), [DropBlock { code, len: 1 }]);
}

#[test]
fn a_receiver_that_cannot_read_ecn_reports_neither_marks_nor_nonces() {
    // 4340-12.2-1: whatever the caller passes in.
    for mut bench in Bench::open_both(&blind()) {
        for ecn in [Ecn::Ect1, Ecn::Ce] {
            let data = bench.next(Kind::Data).with_ecn(ecn);
            bench.give(&data);
        }
        let ack = bench
            .take()
            .into_iter()
            .find(|p| p.packet_type() == PacketType::Ack);
        let (kind, cells) = vector(&ack.unwrap());
        assert_eq!(kind, 38);
        assert!(
            cells.iter().all(|(state, _)| *state == AckState::Received),
            "{cells:?}"
        );
    }
}

#[test]
fn a_mark_is_reported_at_once_and_once_per_round_trip() {
    // 4340-11.4-1, 4340-11.3-4
    for mut bench in Bench::open_both(&Bench::config()) {
        let data = bench.next(Kind::Data).with_ecn(Ecn::Ce);
        let ack = bench.answer(&data);
        let (kind, cells) = vector(&ack);
        assert_eq!((kind, cells[0]), (38, (AckState::Marked, 1)));
        // Within the round trip of 200 ms a second mark waits for its partner.
        bench.now += Duration::from_millis(199);
        let data = bench.next(Kind::Data).with_ecn(Ecn::Ce);
        assert_eq!(bench.answers(&data), []);
        let data = bench.next(Kind::Data);
        let (_, cells) = vector(&bench.answer(&data));
        assert_eq!(cells[..2], [(AckState::Received, 1), (AckState::Marked, 2)]);
        bench.now += Duration::from_millis(1);
        let data = bench.next(Kind::Data).with_ecn(Ecn::Ce);
        assert_eq!(vector(&bench.answer(&data)).1[0], (AckState::Marked, 1));
    }
}

#[test]
fn the_nonce_echo_is_the_sum_of_the_nonces_of_what_is_unmarked() {
    // 4340-12.2-1, AMB-10
    for (marks, kind) in [
        ([Ecn::Ect0, Ecn::Ect0], 38),
        ([Ecn::Ect1, Ecn::Ect0], 39),
        ([Ecn::Ect0, Ecn::Ect1], 39),
        ([Ecn::Ect1, Ecn::Ect1], 38),
        ([Ecn::Ect1, Ecn::Ce], 39),
        ([Ecn::NotEct, Ecn::Ect1], 39),
    ] {
        for mut bench in Bench::open_both(&Bench::config()) {
            for ecn in marks {
                let data = bench.next(Kind::Data).with_ecn(ecn);
                bench.give(&data);
            }
            let ack = bench.take().pop().unwrap();
            assert_eq!(vector(&ack).0, kind, "{marks:?}");
        }
    }
}

#[test]
fn nonce_echoes_are_counted_and_never_punished() {
    // 4340-12.2-2, AMB-16, 4340-12.3-1: we send ECT(0) only, so an echo of 1 is a lie.
    for mut bench in Bench::open_both(&Bench::config()) {
        for n in 0..30 {
            bench.send(&[n]);
            let data = bench.take_one();
            let vector = Opt::AckVector {
                nonce: n % 3 == 0,
                cells: &[0],
            };
            let ack = bench.next(Kind::Ack { ack: data.seq }).with(&[vector]);
            let sent = bench.answers(&ack);
            assert!(sent.iter().all(|p| p.packet_type() != PacketType::Reset));
            bench.now += SECOND;
        }
        assert_eq!(bench.state(), State::Open);
        let counters = bench.stats().counters;
        assert_eq!(counters.nonce_echoes_1, 10);
        assert!(counters.nonce_echoes_0 >= 20);
        assert_eq!(counters.data_acked, 30);
    }
}

#[test]
fn a_reported_mark_is_the_fate_of_the_datagram_and_halves_the_window() {
    // 4341-5-7, 4340-12-1
    for mut bench in Bench::open_both(&Bench::config()) {
        let slot = bench.send(b"marked");
        let data = bench.take_one();
        let cwnd = bench.snapshot().tx.cwnd_packets.unwrap();
        let marked = Opt::AckVector {
            nonce: false,
            cells: &[0x40],
        };
        let ack = bench.next(Kind::Ack { ack: data.seq }).with(&[marked]);
        bench.answers(&ack);
        assert_eq!(bench.fates(), [(slot, Fate::AckedCe)]);
        let halved = bench.snapshot().tx.cwnd_packets.unwrap();
        assert!((halved - cwnd / 2.0).abs() < 1e-9, "{halved}");
        assert_eq!(bench.stats().counters.data_marked, 1);
        assert!(!bench.events.contains(&Event::PeerClosed));
    }
}
