//! Partial checksum coverage and Data Checksum, from end to end (RFC 4340 §9).

use crate::bench::pair::{CLIENT, Pair, SERVER};
use crate::bench::{Bench, Pkt, confirms_for};
use dccp_proto::Config;
use dccp_proto::conn::stats::DropReason;
use dccp_proto::queue::Fate;
use dccp_proto::wire::checksum::crc_32c;
use dccp_proto::wire::{self, DropBlock, DropCode, Ecn, FeatureOpt, Kind, Opt, PacketType};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn feature(number: u8, values: &[u8]) -> FeatureOpt<'_> {
    FeatureOpt {
        feature: number,
        values,
    }
}

fn drops(packet: &Pkt) -> Vec<(Option<DropCode>, u8)> {
    let opts = packet.opts();
    let blocks = opts.iter().filter_map(|o| match o {
        Opt::DataDropped(blocks) => Some(*blocks),
        _ => None,
    });
    let blocks = blocks.flatten().map(|b| DropBlock::from_byte(*b));
    blocks.map(|b| (b.code, b.len)).collect()
}

/// The next Ack of the endpoint: two data packets make it due.
fn next_ack(bench: &mut Bench) -> Pkt {
    let mut sent = bench.take();
    while !sent.iter().any(|p| p.packet_type() == PacketType::Ack) {
        sent = bench.answers_next(Kind::Data);
    }
    let is_ack = |p: &Pkt| p.packet_type() == PacketType::Ack;
    sent.into_iter().find(is_ack).unwrap()
}

/// A data packet with this coverage arrives: is its data taken?
fn is_taken(bench: &mut Bench, cscov: u8, len: usize) -> bool {
    let mut data = bench.next(Kind::Data).with_payload(&vec![9; len]);
    data.cscov = cscov;
    let (got, refused) = (bench.got().len(), bench.dropped(DropReason::BelowMinCscov));
    bench.give(&data);
    let is_taken = bench.got().len() > got;
    let is_refused = bench.dropped(DropReason::BelowMinCscov) > refused;
    assert_ne!(is_taken, is_refused);
    is_taken
}

#[test]
fn full_coverage_is_the_default_and_all_that_is_accepted() {
    // 4340-9.2-2, 4340-9.2.1-1, 4340-9.2.1-2
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.send(&[1; 100]);
        assert_eq!(bench.take_one().cscov, 0);
        assert!(is_taken(&mut bench, 0, 100));
        for cscov in 1..=15 {
            assert!(!is_taken(&mut bench, cscov, 100), "{cscov}");
        }
        let ack = next_ack(&mut bench);
        // All of them are acknowledged, and reported as refused.
        let blocks = drops(&ack);
        let refused: u8 = blocks
            .iter()
            .filter(|(code, _)| code.is_some())
            .map(|b| b.1)
            .sum();
        assert_eq!(refused, 15, "{blocks:?}");
        let codes = blocks.iter().filter_map(|(code, _)| *code);
        assert!(
            codes
                .into_iter()
                .all(|c| c == DropCode::PROTOCOL_CONSTRAINTS)
        );
    }
}

#[test]
fn from_the_minimum_on_coverage_is_accepted() {
    // 4340-9.2.1-1: Minimum Checksum Coverage 5.
    let config = Config {
        min_cscov: 5,
        ..Bench::config()
    };
    for mut bench in Bench::open_both(&config) {
        for cscov in 0..=15 {
            let is_acceptable = cscov == 0 || cscov >= 5;
            assert_eq!(is_taken(&mut bench, cscov, 100), is_acceptable, "{cscov}");
        }
    }
    // Until it is agreed on, the value is 0.
    let (mut bench, response) = Bench::responding(config);
    let ours: Vec<u8> = (5..=15).collect();
    assert!(response.opts().contains(&Opt::ChangeL(feature(8, &ours))));
    let mut data = bench
        .next(Kind::DataAck { ack: response.seq })
        .with_payload(&[1; 100]);
    data.cscov = 5;
    bench.give(&data);
    assert!(bench.got().is_empty());
}

#[test]
fn data_are_sent_with_the_coverage_that_the_peer_accepts() {
    // 4340-9.2-1, 4340-9.2-2, 4340-9.2.1-1
    let config = |send_cscov| Config {
        send_cscov,
        ..Bench::config()
    };
    for mut bench in Bench::open_both(&config(3)) {
        assert_eq!(bench.snapshot().cscov, 3);
        // (3 - 1) * 4 = 8 bytes: shorter datagrams cannot be covered so.
        for (len, cscov) in [(0, 0), (7, 0), (8, 3), (100, 3)] {
            bench.send(&vec![1; len]);
            let sent = bench.take();
            let data = sent.iter().find(|p| p.payload.len() == len).unwrap();
            assert_eq!(data.cscov, cscov, "{len}");
            let ack = bench.next(Kind::Ack { ack: data.seq });
            bench.answers(&ack.with(&[crate::bench::RECEIVED]));
            bench.now += SECOND;
        }
        // Other packets are always covered as a whole.
        let sync = bench.next(Kind::Sync { ack: bench.gss });
        assert_eq!(bench.first_answer(&sync).cscov, 0);
    }
    // The peer's minimum is above what we would like: nothing partial is sent.
    let (mut bench, request) = Bench::requesting(config(3));
    assert!(
        request
            .opts()
            .contains(&Opt::ChangeR(feature(8, &[3, 2, 1])))
    );
    let mut response = bench.response_to(&request);
    let at = response.options.windows(4).position(|w| w == [33, 7, 8, 3]);
    let at = at.unwrap();
    response.options.splice(at..at + 7, [33, 5, 8, 0, 0]);
    bench.answers(&response);
    bench.send(&[1; 100]);
    assert_eq!(bench.take_one().cscov, 0);
}

#[test]
fn damage_outside_of_the_coverage_is_not_seen_and_inside_it_is() {
    // 4340-9.2-1, 4340-9.1-3, 4340-9.3-4
    let config = Config {
        min_cscov: 1,
        ..Bench::config()
    };
    for cscov in 1..=4_u8 {
        let covered = usize::from(cscov - 1) * 4;
        for byte in 0..16 {
            let mut bench = Bench::open_server(config.clone());
            let mut data = bench.next(Kind::Data).with_payload(b"0123456789abcdef");
            data.cscov = cscov;
            let mut bytes = Bench::encode(&Bench::flow(), &data);
            let header = bytes.len() - 16;
            bytes[header + byte] ^= 0x10;
            bench.give_bytes(&bytes, Ecn::Ect0);
            let is_seen = byte < covered;
            assert_eq!(bench.dropped(DropReason::BadChecksum), u64::from(is_seen));
            assert_eq!(bench.got().len(), usize::from(!is_seen));
        }
    }
}

#[test]
fn a_data_checksum_goes_with_all_data() {
    // 4340-9.3-1, AMB-9: CRC-32c in network byte order.
    let config = Config {
        data_checksum: true,
        ..Bench::config()
    };
    for mut bench in Bench::open_both(&config) {
        for datagram in [&b"123456789"[..], &[], &[0; 32]] {
            bench.send(datagram);
            let data = bench.take_one();
            assert_eq!(data.payload, datagram);
            let crc = crc_32c(datagram, 0);
            assert!(
                data.opts().contains(&Opt::DataChecksum(crc)),
                "{:?}",
                data.opts()
            );
            let ack = bench.next(Kind::Ack { ack: data.seq });
            bench.answers(&ack.with(&[crate::bench::RECEIVED]));
            bench.now += SECOND;
        }
    }
    let mut bench = Bench::open_client(config);
    bench.send(b"123456789");
    assert_eq!(
        bench.take_one().options[..6],
        [44, 6, 0xE3, 0x06, 0x92, 0x83]
    );
}

#[test]
fn sender_of_data_checksums_asks_the_peer_to_check_them() {
    // 4340-9.3.1-1
    let config = Config {
        data_checksum: true,
        ..Bench::config()
    };
    let change = Opt::ChangeR(feature(9, &[1]));
    let (_, request) = Bench::requesting(config.clone());
    assert!(request.opts().contains(&change));
    let (_, response) = Bench::responding(config);
    assert!(response.opts().contains(&change));
    // We agree when we are asked, Mandatory or not.
    let mut bench = Bench::open_server(Bench::config());
    bench.now += SECOND;
    let ack = bench.next(Kind::Ack { ack: bench.gss });
    let confirm = bench.answer(&ack.with(&[Opt::Mandatory, change]));
    assert_eq!(confirm.opts()[0], Opt::ConfirmL(feature(9, &[1, 0, 1])));
}

#[test]
fn corrupt_data_are_dropped_and_reported() {
    // 4340-9.3-2, 4340-11.7-2
    for mut bench in Bench::open_both(&Bench::config()) {
        let data = bench.next(Kind::Data).with(&[Opt::DataChecksum(1)]);
        bench.give(&data.with_payload(b"damaged"));
        assert!(bench.got().is_empty());
        assert_eq!(bench.dropped(DropReason::DataCorrupt), 1);
        let good = bench
            .next(Kind::Data)
            .with(&[Opt::DataChecksum(crc_32c(b"good", 0))]);
        bench.give(&good.with_payload(b"good"));
        assert_eq!(bench.got(), [b"good"]);
        let ack = next_ack(&mut bench);
        assert_eq!(drops(&ack), [(None, 1), (Some(DropCode::CORRUPT), 1)]);
        let cells = ack.opts().into_iter().find_map(|o| match o {
            Opt::AckVector { cells, .. } => Some(cells[0]),
            _ => None,
        });
        assert!(cells.unwrap() < 64, "received: {cells:?}");
    }
}

#[test]
fn corrupt_data_are_delivered_to_whom_asks_for_them() {
    // 4340-9.3-2, 4340-11.7-8
    let config = Config {
        deliver_corrupt: true,
        ..Bench::config()
    };
    for mut bench in Bench::open_both(&config) {
        for kind in [Kind::Data, Kind::DataAck { ack: bench.gss }] {
            let data = bench.next(kind).with(&[Opt::DataChecksum(1)]);
            bench.give(&data.with_payload(b"damaged"));
        }
        assert_eq!(bench.got(), [b"damaged", b"damaged"]);
        assert!(bench.deliveries().iter().all(|meta| meta.is_corrupt));
        let ack = next_ack(&mut bench);
        assert_eq!(drops(&ack), [(Some(DropCode::DELIVERED_CORRUPT), 2)]);
        let good = bench.next(Kind::Data).with_payload(b"good");
        bench.give(&good);
        assert!(!bench.deliveries()[2].is_corrupt);
    }
}

#[test]
fn a_mismatch_on_a_packet_without_data_is_reported_as_corrupt() {
    // 4340-9.3-3: whatever the application wants.
    for deliver_corrupt in [false, true] {
        let config = Config {
            deliver_corrupt,
            ..Bench::config()
        };
        for n in 0..3 {
            for mut bench in Bench::open_both(&config) {
                let ack = bench.gss;
                let kind = [Kind::Ack { ack }, Kind::Sync { ack }, Kind::SyncAck { ack }][n];
                let packet = bench.next(kind).with(&[Opt::DataChecksum(1)]);
                bench.answers(&packet.with_payload(b"padding"));
                assert!(bench.got().is_empty());
                let ack = next_ack(&mut bench);
                assert_eq!(drops(&ack).last(), Some(&(Some(DropCode::CORRUPT), 1)));
                // One that is right is no news.
                let packet = bench
                    .next(kind)
                    .with(&[Opt::DataChecksum(crc_32c(b"x", 0))]);
                bench.answers(&packet.with_payload(b"x"));
                let ack = next_ack(&mut bench);
                let count = drops(&ack)
                    .iter()
                    .filter(|(code, _)| code.is_some())
                    .count();
                assert_eq!(count, 1);
            }
        }
    }
}

#[test]
fn a_corrupt_response_is_dropped_and_the_connection_goes_on() {
    // 4340-9.3-2
    let (mut bench, request) = Bench::requesting(Bench::config());
    let response = bench.response_to(&request).with(&[Opt::DataChecksum(1)]);
    let ack = bench.first_answer(&response.with_payload(b"damaged"));
    assert!(bench.got().is_empty());
    assert_eq!(drops(&ack), [(Some(DropCode::CORRUPT), 1)]);
}

#[test]
fn the_header_checksum_wins() {
    // 4340-9.3-4: damage that the header checksum sees is dropped silently.
    let mut bench = Bench::open_server(Bench::config());
    let data = bench
        .next(Kind::Data)
        .with(&[Opt::DataChecksum(crc_32c(b"good", 0))]);
    let mut bytes = Bench::encode(&Bench::flow(), &data.with_payload(b"good"));
    *bytes.last_mut().unwrap() ^= 1;
    bench.give_bytes(&bytes, Ecn::Ect0);
    assert_eq!(bench.dropped(DropReason::BadChecksum), 1);
    assert_eq!(bench.dropped(DropReason::DataCorrupt), 0);
}

#[test]
fn partly_covered_data_with_a_checksum_pass_a_network_that_damages_them() {
    // 4340-9.2.1-1, 4340-9.3-2, 4340-11.7-6: from end to end, and the sender learns of it.
    let config = Config {
        send_cscov: 1,
        min_cscov: 1,
        data_checksum: true,
        ..Bench::config()
    };
    let mut pair = Pair::connecting(Duration::from_millis(10), config.clone(), config);
    pair.run(SECOND);
    // Every third datagram of the client is damaged behind its header.
    let mut n = 0;
    pair.damage = Box::new(move |from, bytes| {
        let is_data = matches!(bytes[8] >> 1 & 0xF, 2 | 4);
        if from == CLIENT && is_data && bytes.len() > 100 {
            n += 1;
            if n % 3 == 0 {
                *bytes.last_mut().unwrap() ^= 0x55;
            }
        }
    });
    for n in 0..60_u8 {
        pair.ends[CLIENT].send(&[n; 100]);
    }
    pair.run(Duration::from_mins(1));
    assert_eq!(pair.ends[SERVER].got().len(), 40);
    let fates = pair.ends[CLIENT].fates();
    let of = |fate: Fate| fates.iter().filter(|(_, f)| *f == fate).count();
    assert_eq!((of(Fate::Acked), of(Fate::RxDropped(3))), (40, 20));
    let is_full = |p: &Pkt| p.payload.len() == 100 && p.packet_type() == PacketType::Data;
    let (_, data) = pair.sent(CLIENT).find(|(_, p)| is_full(p)).unwrap();
    assert_eq!(data.cscov, 1);
    let header = wire::header_len(PacketType::Data, false, data.options.len());
    assert_eq!(header, 24, "16 bytes and a Data Checksum");
}

#[test]
fn an_answer_to_our_change_may_be_that_it_is_not_known() {
    // 4340-6.4-1, LINUX-20: then nothing partial is sent, and nothing else changes.
    let config = Config {
        send_cscov: 1,
        data_checksum: true,
        ..Bench::config()
    };
    let (mut bench, request) = Bench::requesting(config);
    let mut response = bench.response_to(&request);
    response.options = confirms_for(&request);
    for (confirm, empty) in [
        ([33, 5, 8, 1, 1], [33, 3, 8, 0, 0]),
        ([33, 5, 9, 1, 1], [33, 3, 9, 0, 0]),
    ] {
        let at = response
            .options
            .windows(5)
            .position(|w| w == confirm)
            .unwrap();
        response.options[at..at + 5].copy_from_slice(&empty);
    }
    bench.answers(&response);
    bench.send(&[1; 50]);
    let data = bench.take_one();
    assert_eq!((data.cscov, data.payload.len()), (0, 50));
}
