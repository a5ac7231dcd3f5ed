//! Sequence numbers: windows, Syncs and what is invalid (RFC 4340 §7).

use crate::bench::{Bench, NANOSECOND, PEER_ISS, Pkt, RECEIVED, almost, reset};
use dccp_proto::conn::State;
use dccp_proto::conn::stats::DropReason;
use dccp_proto::queue::Fate;
use dccp_proto::wire::{FeatureOpt, Kind, Opt, PacketType, ResetCode};
use dccp_proto::{Config, Seq};
use std::time::Duration;

/// The longest time that still counts as active: three round trips of 200 ms (nothing was measured).
const ACTIVE: Duration = Duration::from_millis(600);

/// Asserts that the packet is answered by a Sync with this Acknowledgement Number and the
/// endpoint's next number, and by nothing else.
fn assert_challenged(bench: &mut Bench, packet: &Pkt, ack: Seq) {
    let next = bench.gss.next();
    let sync = bench.answer(packet);
    assert_eq!((sync.kind, sync.seq), (Kind::Sync { ack }, next));
    assert_eq!((sync.options.len(), sync.payload.len()), (0, 0));
}

/// Asserts that the packet is valid: it is not dropped, and no Sync answers it.
fn assert_valid(bench: &mut Bench, packet: &Pkt) {
    let dropped = bench.stats().drops.total();
    let sent = bench.answers(packet);
    assert!(!sent.iter().any(|p| p.packet_type() == PacketType::Sync));
    assert_eq!(bench.stats().drops.total(), dropped);
}

/// The Sequence Window stays at 100 packets, however many leave.
pub(crate) fn with_fixed_window() -> Config {
    Config {
        adapt_sequence_window: false,
        ..Bench::config()
    }
}

#[test]
fn packet_above_the_window_is_answered_with_sync() {
    // 4340-7.5.1-1, 4340-7.5.3-1, 4340-7.5.4-3, 4340-8.5-6: W is 100, so SWH is GSR + 75.
    for mut bench in Bench::open_both(&Bench::config()) {
        let gsr = bench.peer_gss;
        let packet = Pkt::new(Kind::Data, gsr.plus(76)).with_payload(b"beyond");
        assert_challenged(&mut bench, &packet, packet.seq);
        assert_eq!(bench.dropped(DropReason::SeqnoOutOfWindow), 1);
        assert!(bench.got().is_empty());
        // GSR has not moved, so the same bound holds.
        let packet = Pkt::new(Kind::DataAck { ack: bench.gss }, gsr.plus(76));
        assert_challenged(&mut bench, &packet, packet.seq);
        let packet = Pkt::new(Kind::Data, gsr.plus(75)).with_payload(b"within");
        let ack = bench.answer(&packet);
        assert_eq!(ack.kind, Kind::Ack { ack: packet.seq });
        assert_eq!(bench.got(), [b"within"]);
    }
}

#[test]
fn packet_below_the_window_is_answered_with_sync() {
    // 4340-7.5.1-1, 4340-7.5.3-1: SWL is GSR - 24.
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.give_data(60);
        let gsr = bench.peer_gss;
        let packet = Pkt::new(Kind::Data, gsr.minus(25));
        assert_challenged(&mut bench, &packet, packet.seq);
        let packet = Pkt::new(Kind::Ack { ack: bench.gss }, gsr.minus(24));
        assert_valid(&mut bench, &packet);
    }
}

#[test]
fn at_the_start_nothing_before_the_initial_numbers_is_valid() {
    // 4340-7.5.1-2
    for mut bench in Bench::open_both(&Bench::config()) {
        let isr = Seq::new(PEER_ISS);
        let iss = bench.gss.minus(bench.stats().packets_out.total() - 1);
        let packet = Pkt::new(Kind::Data, isr.minus(1));
        assert_challenged(&mut bench, &packet, isr.minus(1));
        let packet = bench.next(Kind::Ack { ack: iss.minus(1) });
        assert_challenged(&mut bench, &packet, packet.seq);
        assert_eq!(bench.dropped(DropReason::AcknoOutOfWindow), 1);
        let packet = bench.next(Kind::Ack { ack: iss });
        assert_valid(&mut bench, &packet);
    }
}

#[test]
fn acknowledgement_numbers_must_lie_in_their_window() {
    // 4340-7.5.1-1, 4340-7.5.3-1, 4340-8.5-6: W' is 100, so AWL is GSS - 99.
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.exchange_syncs(120);
        let packet = bench.next(Kind::Ack { ack: bench.gss });
        assert_valid(&mut bench, &packet);
        let oldest = bench.gss.minus(99);
        let packet = bench.next(Kind::DataAck { ack: oldest });
        assert_valid(&mut bench, &packet);
        let packet = bench.next(Kind::Ack {
            ack: bench.gss.next(),
        });
        assert_challenged(&mut bench, &packet, packet.seq);
        let too_old = bench.gss.minus(100);
        let packet = bench
            .next(Kind::DataAck { ack: too_old })
            .with_payload(b"x");
        assert_challenged(&mut bench, &packet, packet.seq);
        assert_eq!(bench.dropped(DropReason::AcknoOutOfWindow), 2);
        assert!(!bench.got().contains(&b"x".as_slice()));
    }
}

#[test]
fn packet_that_ends_a_connection_must_be_newer_than_all_before() {
    // 4340-7.5.3-1, 4340-8.5-6: GSR < seqno, GAR <= ackno.
    let ends = |ack| {
        [
            Kind::Close { ack },
            Kind::CloseReq { ack },
            reset(ack, ResetCode::ABORTED),
        ]
    };
    for which in 0..3 {
        for mut bench in Bench::open_both(&Bench::config()) {
            bench.exchange_syncs(3);
            let gar = bench.gss.minus(1);
            let ack = bench.next(Kind::Ack { ack: gar });
            assert_valid(&mut bench, &ack);
            let gsr = bench.peer_gss;
            let answered = |kind: Kind, seq| match kind {
                // 4340-7.5.4-2
                Kind::Reset { .. } => gsr,
                _ => seq,
            };
            let old = Pkt::new(ends(gar)[which], gsr);
            assert_challenged(&mut bench, &old, gsr);
            let far = Pkt::new(ends(gar)[which], gsr.plus(76));
            assert_challenged(&mut bench, &far, answered(far.kind, far.seq));
            let stale = Pkt::new(ends(gar.minus(1))[which], gsr.plus(1));
            assert_challenged(&mut bench, &stale, answered(stale.kind, stale.seq));
            let early = Pkt::new(ends(bench.gss.next())[which], gsr.plus(1));
            assert_challenged(&mut bench, &early, answered(early.kind, early.seq));
            assert_eq!(bench.state(), State::Open);
            bench.now += Duration::from_secs(2);
            let valid = Pkt::new(ends(gar)[which], gsr.plus(75));
            bench.give(&valid);
            bench.take();
            let is_refused = which == 1 && bench.is_server();
            assert_eq!(bench.state() == State::Open, is_refused);
        }
    }
}

#[test]
fn an_invalid_sync_is_ignored() {
    // 4340-7.5.4-1, 4340-8.5-5
    for mut bench in Bench::open_both(&with_fixed_window()) {
        bench.give_data(60);
        bench.now += ACTIVE;
        let (gsr, gss) = (bench.peer_gss, bench.gss);
        for (seq, ack) in [
            (gsr.minus(25), gss),
            (gsr.plus(1), gss.next()),
            (gsr.plus(1), gss.minus(100)),
        ] {
            for kind in [Kind::Sync { ack }, Kind::SyncAck { ack }] {
                assert_eq!(bench.answers(&Pkt::new(kind, seq)), []);
            }
        }
        assert_eq!(bench.dropped(DropReason::SyncOutOfWindow), 6);
        let sync = Pkt::new(Kind::Sync { ack: gss }, gsr.minus(24));
        assert_eq!(
            bench.first_answer(&sync).kind,
            Kind::SyncAck { ack: sync.seq }
        );
    }
}

#[test]
fn a_sync_is_answered_by_a_sync_ack_and_moves_the_window() {
    // 4340-7.5.4-4, 4340-8.2-2, 4340-8.5-15, 4340-5.7-2, 4340-7.5.4-3
    for mut bench in Bench::open_both(&Bench::config()) {
        let (gsr, gss) = (bench.peer_gss, bench.gss);
        let sync = Pkt::new(Kind::Sync { ack: gss }, gsr.plus(75)).with_payload(b"padding");
        let answer = bench.first_answer(&sync);
        assert_eq!(answer.kind, Kind::SyncAck { ack: sync.seq });
        assert_eq!(answer.seq, gss.next());
        assert!(bench.got().is_empty());
        // The window begins at GSR + 1 - 25 now.
        let packet = Pkt::new(Kind::Data, gsr.plus(50));
        assert_challenged(&mut bench, &packet, packet.seq);
        // An older Sync that is still valid: the SyncAck names it, not GSR.
        let old = Pkt::new(Kind::Sync { ack: gss }, gsr.plus(51));
        assert_eq!(
            bench.first_answer(&old).kind,
            Kind::SyncAck { ack: old.seq }
        );
        let packet = Pkt::new(Kind::Data, gsr.plus(75 + 75));
        assert_eq!(bench.answer(&packet).kind, Kind::Ack { ack: packet.seq });
    }
}

#[test]
fn a_sync_far_ahead_is_ignored_on_an_active_connection() {
    // 4340-7.5.3-2
    // The last is as far as a number can lie ahead of SWL, which is ISR, one below GSR.
    for jump in [76, 1 << 40, (1 << 47) - 2] {
        for mut bench in Bench::open_both(&Bench::config()) {
            let far = bench.peer_gss.plus(jump);
            let kinds = [
                Kind::SyncAck { ack: bench.gss },
                Kind::Sync { ack: bench.gss },
            ];
            bench.now += almost(ACTIVE);
            for kind in kinds {
                assert_eq!(bench.answers(&Pkt::new(kind, far)), []);
            }
            bench.now += NANOSECOND;
            let sync = Pkt::new(Kind::Sync { ack: bench.gss }, far);
            assert_eq!(bench.first_answer(&sync).kind, Kind::SyncAck { ack: far });
            let packet = Pkt::new(Kind::Data, far.plus(75)).with_payload(b"in sync");
            assert_eq!(bench.answer(&packet).ack(), Some(packet.seq));
            assert_eq!(bench.got(), [b"in sync"]);
            let packet = Pkt::new(Kind::Data, far.plus(151));
            assert_challenged(&mut bench, &packet, packet.seq);
        }
    }
}

#[test]
fn a_burst_of_loss_is_survived() {
    // 4340-7.5.4-3, 4340-7.5.4-4: RFC 4340 §7.5.6, the first example, seen from its B.
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.now += ACTIVE;
        let data = Pkt::new(Kind::Data, bench.peer_gss.plus(100)).with_payload(b"lost");
        let sync = bench.answer(&data);
        assert_eq!(sync.kind, Kind::Sync { ack: data.seq });
        let sync_ack = Pkt::new(Kind::SyncAck { ack: sync.seq }, data.seq.plus(1));
        assert!(
            bench
                .answers(&sync_ack)
                .iter()
                .all(|p| p.packet_type() == PacketType::Ack)
        );
        let data = Pkt::new(Kind::Data, data.seq.plus(2)).with_payload(b"found");
        bench.give(&data);
        assert_eq!(bench.got(), [b"found"]);
    }
}

#[test]
fn a_sender_whose_numbers_ran_away_answers_the_sync() {
    // 4340-7.5.4-4: the same example seen from its A.
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.send(b"lost");
        let data = bench.take_one();
        let sync = bench.next(Kind::Sync { ack: data.seq });
        let answer = bench.answer(&sync);
        assert_eq!(answer.kind, Kind::SyncAck { ack: sync.seq });
        assert_eq!(answer.seq, data.seq.next());
    }
}

#[test]
fn a_blind_attack_changes_nothing() {
    // 4340-7.5.4-1, 4340-7.5.4-3: RFC 4340 §7.5.6, the second example, seen from its A and its B.
    for mut bench in Bench::open_both(&Bench::config()) {
        let forged = Pkt::new(Kind::Data, bench.peer_gss.plus(1_000_000));
        assert_challenged(&mut bench, &forged, forged.seq);
        let before = bench.snapshot();
        let sync = bench.next(Kind::Sync {
            ack: bench.gss.plus(1_000_000),
        });
        assert_eq!(bench.answers(&sync), []);
        assert_eq!(bench.snapshot(), before);
    }
}

#[test]
fn a_sync_acknowledges_nothing() {
    // 4340-5.7-1, 4340-8.5-6: neither GAR nor the fate of data depends on a Sync's ackno.
    for mut bench in Bench::open_both(&Bench::config()) {
        let slot = bench.send(b"data");
        let data = bench.take_one();
        let sync = bench.next(Kind::Sync { ack: data.seq }).with(&[RECEIVED]);
        bench.answer(&sync);
        assert_eq!(bench.fates(), []);
        // GAR is older than the Sync's ackno, so this is still valid:
        let ack = Kind::Ack {
            ack: data.seq.minus(1),
        };
        bench.give_next(ack);
        assert_eq!(bench.fates(), []);
        bench.give_next(Kind::Close {
            ack: data.seq.minus(1),
        });
        assert_eq!(bench.fates(), [(slot, Fate::Sent)]);
        bench.take();
        assert_eq!(bench.state(), State::Closed);
    }
}

#[test]
fn a_sync_ack_moves_gar() {
    // 4340-8.5-6
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.exchange_syncs(2);
        let sync_ack = bench.next(Kind::SyncAck { ack: bench.gss });
        assert_eq!(bench.answers(&sync_ack), []);
        let close = bench.next(Kind::Close {
            ack: bench.gss.minus(1),
        });
        assert_challenged(&mut bench, &close, close.seq);
    }
}

#[test]
fn gar_never_shrinks() {
    // 4340-8.5-6, LINUX-16
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.exchange_syncs(4);
        let gar = bench.gss;
        for ack in [gar, gar.minus(3)] {
            let ack = bench.next(Kind::Ack { ack });
            assert_valid(&mut bench, &ack);
        }
        let close = bench.next(Kind::Close { ack: gar.minus(1) });
        assert_challenged(&mut bench, &close, close.seq);
    }
}

#[test]
fn an_invalid_packet_has_no_other_effect() {
    // 4340-7.5.4-7: neither options nor data nor acknowledgement count.
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.send(b"data");
        let data = bench.take_one();
        let before = bench.snapshot();
        let window = Opt::ChangeL(FeatureOpt {
            feature: 3,
            values: &[0, 0, 0, 0, 2, 0],
        });
        let kind = Kind::DataAck { ack: data.seq };
        let packet = Pkt::new(kind, bench.peer_gss.plus(76))
            .with(&[RECEIVED, window, Opt::Timestamp(5)])
            .with_raw_options(&[1, 3])
            .with_payload(b"not valid");
        assert_challenged(&mut bench, &packet, packet.seq);
        assert_eq!(bench.fates(), []);
        assert!(bench.got().is_empty());
        assert_eq!(bench.snapshot(), before);
        let ack = bench.next(Kind::Data);
        bench.give(&ack);
        let later = bench.advance(Duration::from_secs(1));
        assert!(
            later
                .iter()
                .all(|(_, p)| p.packet_type() != PacketType::Reset)
        );
        let ack = later
            .iter()
            .find(|(_, p)| p.packet_type() == PacketType::Ack);
        let answered = |o: &Opt<'_>| matches!(o, Opt::ConfirmR(_) | Opt::TimestampEcho { .. });
        assert!(!ack.unwrap().1.opts().iter().any(answered));
    }
}

#[test]
fn no_more_than_eight_syncs_answer_a_flood_of_a_second() {
    // 4340-7.5.4-6, 4340-18-2
    for mut bench in Bench::open_both(&with_fixed_window()) {
        let mut syncs = 0;
        for n in 0..1000 {
            let forged = Pkt::new(Kind::Data, bench.peer_gss.plus(1000 + n));
            syncs += bench.answers(&forged).len();
            bench.now += Duration::from_millis(1);
        }
        assert_eq!(syncs, 8);
        assert_eq!(bench.stats().counters.syncs_limited, 992);
        assert_eq!(bench.dropped(DropReason::SeqnoOutOfWindow), 1000);
        // Answers to valid Syncs have no limit.
        bench.exchange_syncs(100);
    }
}

#[test]
fn a_larger_window_of_the_peer_holds_from_our_confirm_on() {
    // 4340-7.5.1-1, 4340-7.5.2-1, 4340-6.3.2-1: W becomes 1024; SWL is GSR - 255, SWH is GSR + 768.
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.now += Duration::from_secs(1);
        let window = [0, 0, 0, 0, 4, 0];
        let option = FeatureOpt {
            feature: 3,
            values: &window,
        };
        let change = bench.next(Kind::Ack { ack: bench.gss });
        let confirm = bench.answer(&change.with(&[Opt::ChangeL(option)]));
        let mut options = confirm.opts();
        // The arrival time of the acknowledged packet.
        options.retain(|o| !matches!(o, Opt::CcidSpecific { kind: 248, .. }));
        assert_eq!(options, [Opt::ConfirmR(option), vector_of(&confirm)]);
        assert_eq!(bench.snapshot().peer_sequence_window, 1024);
        bench.give_data(300);
        let gsr = bench.peer_gss;
        let low = Pkt::new(Kind::Data, gsr.minus(256));
        assert_challenged(&mut bench, &low, low.seq);
        let high = Pkt::new(Kind::Data, gsr.plus(769));
        assert_challenged(&mut bench, &high, high.seq);
        for seq in [gsr.minus(255), gsr.plus(768)] {
            let packet = Pkt::new(Kind::Ack { ack: bench.gss }, seq);
            assert_valid(&mut bench, &packet);
        }
    }
}

/// The Ack Vector of a packet.
fn vector_of(packet: &Pkt) -> Opt<'_> {
    let is_vector = |o: &Opt<'_>| matches!(o, Opt::AckVector { .. });
    packet.opts().into_iter().find(is_vector).unwrap()
}

#[test]
fn windows_that_are_no_windows_are_declined() {
    // 4340-7.5.2-1: 32 to 2^46 - 1.
    for (window, is_valid) in [
        (0, false),
        (31, false),
        (32, true),
        ((1 << 46) - 1, true),
        (1 << 46, false),
    ] {
        let mut bench = Bench::open_server(Bench::config());
        bench.now += Duration::from_secs(1);
        let bytes: [u8; 8] = u64::to_be_bytes(window);
        let option = |values| FeatureOpt { feature: 3, values };
        let change = bench.next(Kind::Ack { ack: bench.gss });
        let confirm = bench.answer(&change.with(&[Opt::ChangeL(option(&bytes[2..]))]));
        let expected = if is_valid { &bytes[2..] } else { &[] };
        assert_eq!(confirm.opts()[0], Opt::ConfirmR(option(expected)));
        let expected = if is_valid { window } else { 100 };
        assert_eq!(bench.snapshot().peer_sequence_window, expected);
    }
}

#[test]
fn data_waits_when_the_peers_window_could_not_hold_it() {
    // 4340-7.5.2-3: of W = 32 packets, 24 lie above GSR at the peer.
    let config = Config {
        sequence_window: 32,
        adapt_sequence_window: false,
        pacing: false,
        ..Bench::config()
    };
    for mut bench in Bench::open_both(&config) {
        assert_eq!(bench.snapshot().sequence_window, 32);
        for _ in 0..500 {
            bench.send(b"x");
        }
        for _ in 0..15 {
            for data in bench.take() {
                let ack = bench.next(Kind::Ack { ack: data.seq });
                bench.give(&ack.with(&[RECEIVED]));
            }
            bench.now += Duration::from_millis(10);
        }
        // All that has been sent is acknowledged, and the congestion window is not the limit.
        assert!(bench.snapshot().tx.cwnd_packets.unwrap() > 24.0);
        assert_eq!(bench.take().len(), 24);
    }
}

#[test]
fn half_of_the_number_space_lies_behind() {
    // 4340-3.1-2, 4340-7.5.3-1
    let mut bench = Bench::open_server(Bench::config());
    bench.now += ACTIVE;
    let behind = bench.peer_gss.plus((1 << 47) - 1);
    let sync = Pkt::new(Kind::Sync { ack: bench.gss }, behind);
    assert_eq!(bench.answers(&sync), []);
}
