//! Which numbers packets take, and the end of the number space (RFC 4340 §7.1–7.2).

use crate::bench::{Bench, Pkt, RECEIVED};
use dccp_proto::queue::Fate;
use dccp_proto::wire::{Kind, PacketType, ResetCode};
use dccp_proto::{Config, Seq};
use std::time::Duration;

#[test]
fn a_conversation_goes_on_across_the_end_of_the_number_space() {
    // 4340-3.1-2, 4340-7-1: everything wraps, on both sides, at different moments.
    let max = (1 << 48) - 1;
    for (iss, peer_iss) in [(max, max), (max - 1, max - 3), (max - 40, max - 20)] {
        let fresh = || Bench::numbered(iss, peer_iss);
        for mut bench in [
            fresh().open_as_server(Bench::config()),
            fresh().open_as_client(Bench::config()),
        ] {
            for n in 0..60 {
                let slot = bench.send(&[n]);
                let data = bench.take_one();
                let kind = Kind::DataAck { ack: data.seq };
                let answer = bench.next(kind).with(&[RECEIVED]).with_payload(&[n]);
                bench.give(&answer);
                assert_eq!(bench.fates().last(), Some(&(slot, Fate::Acked)), "{n}");
                bench.now += Duration::from_millis(100);
            }
            assert_eq!(bench.got().len(), 60);
            assert_eq!(bench.stats().drops.total(), 0);
            assert_eq!(bench.stats().packets_out.of(PacketType::Sync), 0);
            assert_eq!(bench.stats().counters.data_acked, 60);
            let close = bench.next(Kind::Close { ack: bench.gss });
            let reset = bench.answer(&close);
            assert_eq!(reset.reset_code(), Some(ResetCode::CLOSED));
        }
    }
}

#[test]
fn windows_are_right_at_the_end_of_the_number_space() {
    // 4340-3.1-2, 4340-7.5.1-1
    let max = (1 << 48) - 1;
    for before_end in [0, 1, 24, 25, 74, 75, 76] {
        let bench = Bench::numbered(max - 50, max - before_end - 101);
        let mut bench = bench.open_as_server(Bench::config());
        bench.give_data(100);
        let gsr = bench.peer_gss;
        assert_eq!(gsr, Seq::new(max - before_end));
        for (seq, is_valid) in [
            (gsr.minus(25), false),
            (gsr.minus(24), true),
            (gsr.plus(76), false),
            (gsr.plus(75), true),
        ] {
            let packet = Pkt::new(Kind::Data, seq);
            let syncs = bench.answers(&packet);
            let is_sync = syncs.iter().any(|p| p.kind == Kind::Sync { ack: seq });
            assert_eq!(is_sync, !is_valid, "{seq} with GSR {gsr}");
        }
    }
}

#[test]
fn every_packet_takes_the_next_number_and_names_the_newest_packet() {
    // 4340-5.1-7, 4340-5.1-9, 4340-7-1, 4340-7.4-1
    for mut bench in Bench::open_both(&Bench::config()) {
        let mut expected = bench.gss;
        for round in 0..30_u64 {
            bench.give_next(Kind::Data);
            if round % 3 == 0 {
                bench.send(b"mine");
            }
            if round % 7 == 0 {
                bench.give_next(Kind::Sync { ack: bench.gss });
            }
            bench.now += Duration::from_millis(250);
            let gsr = bench.peer_gss;
            for packet in bench.take() {
                expected = expected.next();
                assert_eq!(packet.seq, expected);
                let is_sync = packet.packet_type() == PacketType::SyncAck;
                assert!(is_sync || packet.ack().is_none_or(|ack| ack == gsr));
                let ack = bench.next(Kind::Ack { ack: packet.seq });
                bench.give(&ack.with(&[RECEIVED]));
            }
        }
        bench.close();
        let last = bench.take_one();
        assert_eq!(
            (last.seq, last.ack()),
            (expected.next(), Some(bench.peer_gss))
        );
        bench.abort();
        let reset = bench.take_one();
        assert_eq!(
            (reset.seq, reset.ack()),
            (last.seq.next(), Some(bench.peer_gss))
        );
    }
}

#[test]
fn initial_numbers_of_two_flows_have_nothing_in_common() {
    // 4340-7.2-2, 4340-18-1, 4340-7.3-1
    let iss = |key, port| {
        let mut bench = Bench::keyed(key);
        let mut flow = Bench::flow();
        flow.local_port = port;
        let id = bench.endpoint.connect(bench.now, flow, Bench::config());
        id.unwrap();
        bench.take_one().seq
    };
    let numbers = [iss(1, 1), iss(1, 2), iss(2, 1), iss(2, 2)];
    for (i, a) in numbers.iter().enumerate() {
        for b in &numbers[..i] {
            assert!(a.distance(*b).unsigned_abs() > 1 << 32, "{numbers:?}");
        }
    }
    assert_eq!(iss(1, 1), iss(1, 1));
}

#[test]
fn a_flow_that_is_opened_again_begins_beyond_what_it_used() {
    // 4340-7.2-1: the clock makes a step each 256 ns; no connection sends faster.
    let (mut bench, first) = Bench::requesting(Bench::config());
    bench.abort();
    let last = bench.take_one().seq;
    bench.now += Duration::from_micros(256);
    let (bench, again) = bench.connect(Bench::config());
    assert_eq!(again.seq, first.seq.plus(1000));
    assert!(again.seq.is_after(last));
    drop(bench);
}

#[test]
fn short_numbers_do_not_come_round_within_two_segment_lifetimes() {
    // 4340-7.2-1: the low 24 bits too, so the clock makes a step each 16.384 µs.
    let config = Config {
        short_seqnos: true,
        ..Bench::config()
    };
    let (mut bench, first) = Bench::requesting(config.clone());
    for wait in [Duration::from_micros(16_384), Duration::from_mins(4)] {
        bench.abort();
        bench.take_one();
        bench.now += wait;
        let (next, again) = bench.connect(config.clone());
        let steps = again.seq.distance(first.seq);
        assert!((1000..1 << 24).contains(&steps), "{steps}");
        bench = next;
    }
}
