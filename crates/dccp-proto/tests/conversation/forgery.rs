//! Replays and forged packets: each datagram once, and the return to the peer's numbers.

use crate::bench::pair::{CLIENT, Pair, SERVER};
use crate::bench::{Bench, Pkt};
use crate::sequence::with_fixed_window;
use dccp_proto::Config;
use dccp_proto::conn::stats::DropReason;
use dccp_proto::wire::{Kind, PacketType};
use std::time::Duration;

#[test]
fn replayed_datagrams_are_delivered_once() {
    // 4340-18-6: 20 packets old, and the peer knows that they arrived, so that no Ack Vector covers them.
    const BACK: usize = 20;
    for loses in [false, true] {
        for mut bench in Bench::open_both(&Bench::config()) {
            let mut sent: Vec<Pkt> = Vec::new();
            for n in 0..212_u8 {
                let ack = bench.gss;
                if loses && n % 9 == 8 {
                    bench.next(Kind::Data);
                }
                let packet = bench.next(Kind::DataAck { ack }).with_payload(&[n]);
                bench.answers(&packet);
                sent.push(packet);
                if let Some(old) = sent.len().checked_sub(BACK + 1) {
                    bench.answers(&sent[old]);
                }
                bench.now += Duration::from_millis(1);
            }
            let expected: Vec<_> = sent
                .iter()
                .map(|packet| packet.payload.as_slice())
                .collect();
            assert_eq!(bench.got(), expected);
            assert_eq!(bench.dropped(DropReason::Duplicate), 212 - BACK as u64);
        }
    }
}

/// Both ends send a datagram every 5 ms, each with its number.
fn talk(pair: &mut Pair, numbers: std::ops::Range<u16>) {
    for n in numbers {
        for end in [CLIENT, SERVER] {
            pair.ends[end].send(&n.to_be_bytes());
        }
        pair.run(Duration::from_millis(5));
    }
}

#[test]
fn a_forged_packet_far_ahead_costs_three_round_trips() {
    // 4340-7.5.4-10: its number, nearly ¾ of the window ahead, is valid, so that all of the peer's lie below the window.
    const BEGIN: u16 = 200;
    const END: u16 = 2000;
    for (ccid, window) in [(2, 1024), (2, 8192), (3, 1024)] {
        let config = Config {
            tx_ccids: vec![ccid],
            rx_ccids: vec![ccid],
            sequence_window: window,
            adapt_sequence_window: false,
            ..Bench::config()
        };
        let mut pair = Pair::connecting(Duration::from_millis(20), config.clone(), config);
        pair.run(Duration::from_secs(1));
        talk(&mut pair, 0..BEGIN);
        let newest = pair.sent(CLIENT).last().unwrap().1.seq;
        let far = newest.plus(3 * window / 4 - 20);
        pair.inject(SERVER, &Pkt::new(Kind::Data, far).with_payload(b"forged"));
        talk(&mut pair, BEGIN..END);
        pair.run(Duration::from_secs(5));
        assert!(pair.ends[SERVER].got().contains(&b"forged".as_slice()));
        for end in [CLIENT, SERVER] {
            let got = pair.ends[end].got();
            let arrived = |n: &u16| got.contains(&n.to_be_bytes().as_slice());
            // Three round trips of 40 ms, and what was on the way.
            let pause = BEGIN - 8..BEGIN + 24;
            let missing = (0..END).filter(|n| !arrived(n) && !pause.contains(n));
            let missing: Vec<_> = missing.collect();
            // The one that has the number of the forged packet counts as repeated.
            assert!(
                missing.len() <= usize::from(end == SERVER),
                "CCID {ccid}, window {window}, end {end}: {missing:?}"
            );
        }
        let server = &pair.ends[SERVER];
        let conn = server.endpoint.connection(server.id.unwrap()).unwrap();
        assert_eq!(conn.stats().counters.rollbacks, 1);
    }
}

#[test]
fn blind_packets_do_not_keep_a_forged_packet_in_effect() {
    // 4340-7.5.4-10: they are answered by Syncs, too, which the peer ignores.
    const BEGIN: u16 = 200;
    const END: u16 = 600;
    for (blind, every) in [(1, 100), (1, 1), (20, 1)] {
        let config = Config {
            sequence_window: 1024,
            adapt_sequence_window: false,
            ..Bench::config()
        };
        let mut pair = Pair::connecting(Duration::from_millis(20), config.clone(), config);
        pair.run(Duration::from_secs(1));
        for n in 0..END {
            let newest = pair.sent(CLIENT).last().unwrap().1.seq;
            if n == BEGIN {
                pair.inject(SERVER, &Pkt::new(Kind::Data, newest.plus(748)));
            }
            for i in (0..blind).filter(|_| n % every == 0) {
                let far = newest.plus((1 << 40) + i);
                pair.inject(SERVER, &Pkt::new(Kind::Data, far));
            }
            talk(&mut pair, n..n + 1);
        }
        pair.run(Duration::from_secs(1));
        for end in [CLIENT, SERVER] {
            let got = pair.ends[end].got();
            let arrived = |n: &u16| got.contains(&n.to_be_bytes().as_slice());
            let missing = (0..END).filter(|n| !arrived(n)).count();
            assert!(missing < 32, "{blind} each {every}, end {end}: {missing}");
        }
    }
}

#[test]
fn a_sync_ack_that_arrives_late_moves_nothing_back() {
    // 4340-7.5.4-10, 4340-18-6: packets of the peer have overtaken it.
    let config = Config {
        sequence_window: 256,
        adapt_sequence_window: false,
        ..Bench::config()
    };
    for mut bench in Bench::open_both(&config) {
        bench.give_data(200);
        let delayed = Pkt::new(Kind::Data, bench.peer_gss.minus(100));
        let sync = bench.answer(&delayed);
        assert_eq!(sync.kind, Kind::Sync { ack: delayed.seq });
        let sync_ack = bench.next(Kind::SyncAck { ack: sync.seq });
        let mut sent = Vec::new();
        for n in 0..300_u16 {
            if n == 290 {
                // A lost one.
                bench.next(Kind::Data);
            }
            let data = bench.next(Kind::Data).with_payload(&n.to_be_bytes());
            bench.answers(&data);
            sent.push(data);
        }
        let delivered = bench.got().len();
        for packet in core::iter::once(&sync_ack).chain(&sent) {
            bench.answers(packet);
        }
        assert_eq!(bench.got().len(), delivered);
        assert_eq!(bench.stats().counters.rollbacks, 0);
    }
}

#[test]
fn a_sync_ack_below_the_window_counts_only_if_it_names_our_sync() {
    // 4340-7.5.4-10, 4340-7.5.4-1
    for is_strict in [false, true] {
        let config = Config {
            strict: is_strict,
            ..with_fixed_window()
        };
        for mut bench in Bench::open_both(&config) {
            let real = bench.next(Kind::Data).with_payload(b"real");
            bench.give(&Pkt::new(Kind::Data, real.seq.plus(70)));
            bench.take();
            let sync = bench.answer(&real);
            assert_eq!(sync.kind, Kind::Sync { ack: real.seq });
            for (ack, counts) in [(sync.seq.minus(1), false), (sync.seq, !is_strict)] {
                let sync_ack = bench.next(Kind::SyncAck { ack });
                bench.answers(&sync_ack);
                let data = bench.next(Kind::Data).with_payload(b"again");
                let sent = bench.answers(&data);
                let is_refused = sent.iter().any(|p| p.packet_type() == PacketType::Sync);
                assert_eq!(is_refused, !counts, "{ack}");
            }
            assert_eq!(bench.got().contains(&b"again".as_slice()), !is_strict);
        }
    }
}

#[test]
fn unanswered_sync_does_not_delay_the_return_to_the_peers_numbers() {
    // 4340-7.5.4-10: the peer ignores a keep-alive Sync that names the forged number. The next Sync counts.
    let config = Config {
        keepalive: Some(Duration::from_secs(1)),
        ..with_fixed_window()
    };
    for mut bench in Bench::open_both(&config) {
        let newest = bench.peer_gss;
        let forged = Pkt::new(Kind::Data, newest.plus(70));
        bench.give(&forged);
        bench.take();
        let sent = bench.advance(Duration::from_secs(2));
        let names_forged = |packet: &Pkt| packet.kind == Kind::Sync { ack: forged.seq };
        assert!(sent.iter().any(|(_, packet)| names_forged(packet)));
        let refused = bench.next(Kind::Data).with_payload(b"refused");
        let sync = bench.answer(&refused);
        assert_eq!(sync.kind, Kind::Sync { ack: refused.seq });
        let sync_ack = bench.next(Kind::SyncAck { ack: sync.seq });
        bench.answers(&sync_ack);
        let data = bench.next(Kind::Data).with_payload(b"accepted");
        bench.answers(&data);
        assert!(bench.got().contains(&b"accepted".as_slice()));
    }
}
