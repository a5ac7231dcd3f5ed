//! Short sequence numbers: 24 of 48 bits (RFC 4340 §7.6).

use crate::bench::pair::{CLIENT, Pair, SERVER};
use crate::bench::{Bench, Pkt, RECEIVED, SERVICE};
use dccp_proto::Config;
use dccp_proto::conn::stats::DropReason;
use dccp_proto::queue::Fate;
use dccp_proto::wire::{FeatureOpt, Kind, Opt, PacketType};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const LOW_24: u64 = (1 << 24) - 1;

fn config() -> Config {
    Config {
        short_seqnos: true,
        ..Bench::config()
    }
}

/// The peer may send short numbers once we have confirmed that.
fn allow(bench: &mut Bench) {
    bench.now += SECOND;
    let option = FeatureOpt {
        feature: 2,
        values: &[1],
    };
    let ack = bench.next(Kind::Ack { ack: bench.gss });
    let confirm = bench.first_answer(&ack.with(&[Opt::ChangeL(option)]));
    let is_confirm = |o: &Opt<'_>| matches!(o, Opt::ConfirmR(c) if c.values.first() == Some(&1));
    assert!(
        confirm.opts().iter().any(is_confirm),
        "{:?}",
        confirm.opts()
    );
}

/// With 24-bit numbers.
fn short(packet: Pkt) -> Pkt {
    Pkt {
        is_short: true,
        ..packet
    }
}

#[test]
fn without_consent_short_packets_are_dropped_silently() {
    // 4340-7.6.1-1, 4340-7.5.5-1
    for mut bench in Bench::open_both(&Bench::config()) {
        for kind in [
            Kind::Data,
            Kind::Ack { ack: bench.gss },
            Kind::DataAck { ack: bench.gss },
        ] {
            let packet = short(bench.next(kind)).with_payload(b"x");
            assert_eq!(bench.answers(&packet), []);
        }
        assert_eq!(bench.dropped(DropReason::ShortSeqnoRefused), 3);
        assert!(bench.got().is_empty());
        // Asked for, it is refused: the value stays 0.
        bench.now += SECOND;
        let option = FeatureOpt {
            feature: 2,
            values: &[1],
        };
        let ack = bench.next(Kind::Ack { ack: bench.gss });
        let confirm = bench.first_answer(&ack.with(&[Opt::ChangeL(option)]));
        assert!(matches!(confirm.opts()[0], Opt::ConfirmR(c) if c.values == [0, 0]));
    }
}

#[test]
fn short_packets_are_as_good_as_long_ones() {
    // 4340-7.6-1, 4340-7.6.1-1
    for mut bench in Bench::open_both(&config()) {
        allow(&mut bench);
        let slot = bench.send(b"mine");
        let data = bench.take().pop().unwrap();
        let packet = short(bench.next(Kind::DataAck { ack: data.seq })).with(&[RECEIVED]);
        bench.give(&packet.with_payload(b"theirs"));
        assert_eq!(bench.got(), [b"theirs"]);
        assert_eq!(bench.fates(), [(slot, Fate::Acked)]);
        let packet = short(bench.next(Kind::Data)).with_payload(b"more");
        let ack = bench.first_answer(&packet);
        assert_eq!(ack.ack(), Some(packet.seq));
    }
}

#[test]
fn short_numbers_wrap_next_to_gsr_and_gss() {
    // 4340-7.6-1, 4340-3.1-2: 2^24 and 2^48 are passed in both directions.
    for end in [LOW_24, (1 << 48) - 1, (7 << 24) | LOW_24] {
        let fresh = || Bench::numbered(end.wrapping_sub(10), end.wrapping_sub(20));
        for mut bench in [
            fresh().open_as_server(config()),
            fresh().open_as_client(config()),
        ] {
            allow(&mut bench);
            for n in 0..60 {
                bench.send(&[n]);
                let data = bench
                    .take()
                    .into_iter()
                    .find(|p| !p.payload.is_empty())
                    .unwrap();
                let packet = short(bench.next(Kind::DataAck { ack: data.seq }));
                bench.give(&packet.with(&[RECEIVED]).with_payload(&[n]));
                assert_eq!(bench.got().len(), usize::from(n) + 1);
                assert_eq!(bench.fates().len(), usize::from(n) + 1);
                let metas = bench.deliveries();
                assert_eq!(
                    metas.last().map(|m| m.seq),
                    Some(bench.peer_gss),
                    "all 48 bits"
                );
                bench.now += SECOND;
            }
            assert_eq!(bench.stats().drops.total(), 0);
        }
    }
}

#[test]
fn a_short_number_out_of_the_window_is_answered_by_a_long_sync() {
    // 4340-7.5.4-3, 4340-5.1-5, 4340-7.6-1
    for mut bench in Bench::open_both(&config()) {
        allow(&mut bench);
        bench.take();
        let gsr = bench.peer_gss;
        for far in [gsr.plus(76), gsr.plus(1 << 22)] {
            let packet = short(Pkt::new(Kind::Data, far));
            let sync = bench.first_answer(&packet);
            assert_eq!((sync.kind, sync.is_short), (Kind::Sync { ack: far }, false));
        }
        let stale = short(Pkt::new(
            Kind::Ack {
                ack: bench.gss.next(),
            },
            gsr.plus(1),
        ));
        let sync = bench.first_answer(&stale);
        assert_eq!(sync.kind, Kind::Sync { ack: stale.seq });
        assert_eq!(bench.dropped(DropReason::AcknoOutOfWindow), 1);
    }
}

#[test]
fn we_send_short_numbers_where_both_want_them() {
    // 4340-7.6.1-1, 4340-5.1-5: on Data, Ack and DataAck only.
    for mut bench in Bench::open_both(&config()) {
        bench.now += SECOND;
        bench.send(b"x");
        bench.send(b"y");
        bench.give_next(Kind::Data);
        bench.give_next(Kind::Data);
        bench.give_next(Kind::Sync { ack: bench.gss });
        let sent = bench.advance(SECOND);
        assert!(sent.len() >= 3);
        for (_, p) in &sent {
            let may_be = matches!(p.kind, Kind::Data | Kind::Ack { .. } | Kind::DataAck { .. });
            assert_eq!(p.is_short, may_be, "{p:?}");
        }
        bench.close();
        assert!(
            bench
                .take()
                .iter()
                .all(|p| !p.is_short || matches!(p.kind, Kind::Ack { .. }))
        );
    }
    // Not before the peer has agreed, and not if it has not been asked.
    let (mut bench, request) = Bench::requesting(config());
    let response = bench.next(Kind::Response {
        ack: request.seq,
        service: SERVICE,
    });
    assert!(!bench.first_answer(&response).is_short);
    let mut bench = Bench::open_client(Bench::config());
    bench.send(b"x");
    assert!(!bench.take_one().is_short);
}

#[test]
fn with_a_large_window_numbers_stay_long() {
    // 4340-7.6.2-1, 4340-7.5.5-1
    for (window, is_short) in [(1 << 16, true), ((1 << 16) + 1, false)] {
        let config = Config {
            sequence_window: window,
            ..config()
        };
        let mut bench = Bench::open_client(config);
        assert_eq!(bench.snapshot().sequence_window, window);
        bench.send(b"x");
        assert_eq!(bench.take_one().is_short, is_short);
    }
}

#[test]
fn two_ends_with_short_numbers_talk_across_several_wraps() {
    // 4340-7.6-1, 4340-7.6.1-1
    let mut pair = Pair::connecting(Duration::from_millis(5), config(), config());
    pair.run(3 * SECOND);
    for n in 0..300_u32 {
        pair.ends[CLIENT].send(&n.to_be_bytes());
        pair.ends[SERVER].send(&n.to_be_bytes());
    }
    pair.run(Duration::from_mins(1));
    for end in [CLIENT, SERVER] {
        assert_eq!(pair.ends[end].got().len(), 300);
        let data = pair
            .sent(end)
            .filter(|(_, p)| p.packet_type() == PacketType::Data);
        let shorts: Vec<_> = data.map(|(_, p)| p.is_short).collect();
        assert!(shorts.iter().filter(|s| **s).count() > 100);
    }
}
