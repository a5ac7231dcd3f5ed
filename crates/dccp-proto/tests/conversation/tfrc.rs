//! CCID 3 between two connections: what its features promise is on the wire (RFC 4342, RFC 6323).

use crate::bench::pair::{CLIENT, Net, Pair, SERVER};
use crate::bench::{Bench, Pkt};
use dccp_proto::conn::State;
use dccp_proto::wire::{CcidOpt, Feature, FeatureOpt, Kind, Opt, PacketType};
use dccp_proto::{Config, Seq};
use std::time::Duration;

const RECEIVE_RATE: u8 = 194;
const MS: Duration = Duration::from_millis(1);

fn ccid_3() -> Config {
    Config {
        tx_ccids: vec![3],
        rx_ccids: vec![3],
        ..Bench::config()
    }
}

/// The options of CCID 3 on a packet.
fn tfrc_opts(packet: &Pkt) -> Vec<CcidOpt<'_>> {
    let options = packet.opts().into_iter().filter_map(|option| match option {
        Opt::CcidSpecific { kind, data } => Some(CcidOpt::decode(3, kind, data)),
        _ => None,
    });
    options.collect()
}

#[test]
fn every_report_contains_losses_in_both_forms() {
    // 4342-8.3-1, 4342-8.4-1, 4342-8.6-1, 4340-10.3-1: Send Loss Event Rate was agreed on.
    let mut pair = Pair::connecting(10 * MS, ccid_3(), ccid_3());
    pair.run(500 * MS);
    assert_eq!(pair.ends[SERVER].state(), State::Open);
    pair.net = Box::new(|from, p| {
        if from == CLIENT && p.payload == [50] {
            Net::Lose
        } else {
            Net::Deliver
        }
    });
    let begin = pair.log.len();
    for n in 0..100 {
        pair.ends[CLIENT].send(&[n]);
        pair.run(10 * MS);
    }
    let mut rates = Vec::new();
    for (_, from, p) in &pair.log[begin..] {
        let opts = tfrc_opts(p);
        match opts[..] {
            [
                CcidOpt::ReceiveRate(_),
                CcidOpt::LossEventRate(rate),
                CcidOpt::LossIntervals { .. },
            ] => {
                assert_eq!(*from, SERVER);
                rates.push(rate);
            }
            [] => assert!(*from == CLIENT || p.packet_type() != PacketType::Ack),
            _ => panic!("{opts:?} of {from}"),
        }
    }
    // No loss at first; then one, whose interval the equation made up from the rate.
    let before = rates.iter().take_while(|rate| **rate == u32::MAX).count();
    assert!(before >= 10, "{rates:?}");
    let after = &rates[before..];
    assert!(after.len() >= 10, "{rates:?}");
    assert!((1..100_000).contains(&after[0]), "{rates:?}");
}

#[test]
fn sender_reports_its_round_trip_time_once_requested() {
    // 6323-3.3-1, 6323-3.2.2-1, 4340-10.3-1
    let feature = Feature::SendRttEstimate.number();
    for is_asked in [false, true] {
        let mut bench = Bench::open_server(ccid_3());
        if is_asked {
            let values = &[1];
            let change = Opt::ChangeR(FeatureOpt { feature, values });
            let ack = bench.next(Kind::Ack { ack: bench.gss });
            bench.give(&ack.with(&[Opt::Mandatory, change]));
            bench.advance(500 * MS);
        }
        let mut tell = |rtt| {
            bench.send(b"data");
            let data = bench.take_one();
            let sync = bench.next(Kind::Sync { ack: bench.gss });
            let sync_ack = bench.answer(&sync);
            for p in [&data, &sync_ack] {
                let told = tfrc_opts(p);
                match told[..] {
                    [CcidOpt::RttEstimate(told)] if is_asked => assert_eq!(told.rtt(), rtt),
                    _ => assert!(told.is_empty() && !is_asked, "{told:?}"),
                }
            }
            bench.now += 30 * MS;
            let ack = bench.next(Kind::Ack { ack: data.seq });
            bench.give(&ack.with_raw_options(&[RECEIVE_RATE, 6, 0, 0, 0, 200]));
            bench.advance(2000 * MS);
        };
        tell(None);
        tell(Some(30 * MS));
    }
}

#[test]
fn reports_on_data_packets_are_ignored() {
    // 4342-8-1: a loss event rate of 1 % counts on an acknowledgement only.
    for (kind, expected) in [(Kind::Data, false), (Kind::Ack { ack: Seq::new(0) }, true)] {
        let mut bench = Bench::open_client(ccid_3());
        bench.send(b"data");
        let data = bench.take_one();
        bench.now += 30 * MS;
        let before = bench.snapshot().tx.loss_event_rate;
        let kind = kind.with_ack(data.seq);
        let report = bench.next(kind);
        let one_percent = [192, 6, 0, 0, 0, 100];
        let receive_rate = [RECEIVE_RATE, 6, 0, 0, 100, 0];
        bench.give(&report.with_raw_options(&[one_percent, receive_rate].concat()));
        let is_believed = bench.snapshot().tx.loss_event_rate != before;
        assert_eq!(is_believed, expected, "{kind:?}");
    }
}

#[test]
fn peer_that_refuses_what_ccid_3_asks_for_is_sent_data_all_the_same() {
    // RFC 4342 requires neither Send Loss Event Rate nor Send NDP Count of a peer.
    let (mut bench, request) = Bench::requesting(ccid_3());
    let options = request.opts();
    for (mandatory, change) in options.iter().zip(&options[1..]) {
        if *mandatory == Opt::Mandatory {
            let ccid = Feature::CongestionControlId.number();
            let (Opt::ChangeL(change) | Opt::ChangeR(change)) = change else {
                panic!("{change:?}");
            };
            assert_eq!(change.feature, ccid);
        }
    }
    bench.send(b"data");
    let refusals = [
        [35, 5, 1, 3, 3, 33, 5, 1, 3, 3].as_slice(),
        &[33, 3, 192, 35, 3, 7, 33, 3, 7, 35, 3, 192],
    ];
    let response = bench
        .next(crate::bench::response(request.seq))
        .with_raw_options(&refusals.concat());
    bench.give(&response);
    let sent = bench.advance(1000 * MS);
    assert_eq!(bench.state(), State::PartOpen);
    assert!(sent.iter().any(|(_, p)| p.payload == b"data"), "{sent:?}");
}
