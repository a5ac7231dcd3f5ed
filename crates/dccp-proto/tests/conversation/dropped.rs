//! Data Dropped and Slow Receiver, sent and obeyed (RFC 4340 §11.6, §11.7).

use crate::bench::{Bench, NANOSECOND, Pkt, RECEIVED, almost};
use dccp_proto::conn::stats::DropReason;
use dccp_proto::queue::{Accepted, Fate};
use dccp_proto::wire::{DropBlock, DropCode, Kind, Opt, PacketType};
use dccp_proto::{Config, Event};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn drops(packet: &Pkt) -> Vec<(Option<u8>, u8)> {
    let opts = packet.opts();
    let blocks = opts.iter().filter_map(|o| match o {
        Opt::DataDropped(blocks) => Some(*blocks),
        _ => None,
    });
    let blocks = blocks.flatten().map(|b| DropBlock::from_byte(*b));
    blocks
        .map(|b| (b.code.map(DropCode::number), b.len))
        .collect()
}

/// Two data packets come; the Ack that this makes due.
fn ack_of_two(bench: &mut Bench) -> Pkt {
    bench.give_next(Kind::Data);
    let sent = bench.answers_next(Kind::Data);
    sent.into_iter()
        .find(|p| p.packet_type() == PacketType::Ack)
        .unwrap()
}

/// The application has sent this, the packet is gone, and the window is as it was.
fn sent(bench: &mut Bench, datagram: &[u8]) -> Pkt {
    bench.send(datagram);
    let packets = bench.take();
    packets.into_iter().find(|p| p.payload == datagram).unwrap()
}

/// The peer acknowledges our packet, with these options.
fn acked(bench: &mut Bench, packet: &Pkt, options: &[Opt<'_>]) -> Vec<Pkt> {
    let ack = bench.next(Kind::Ack { ack: packet.seq });
    bench.answers(&ack.with(&[RECEIVED]).with(options))
}

fn cwnd(bench: &Bench) -> f64 {
    bench.snapshot().tx.cwnd_packets.unwrap()
}

#[test]
fn nothing_is_reported_while_everything_is_delivered() {
    // 4340-11.7-6
    for mut bench in Bench::open_both(&Bench::config()) {
        for _ in 0..10 {
            let ack = ack_of_two(&mut bench);
            assert!(!ack.opts().iter().any(|o| matches!(o, Opt::DataDropped(_))));
        }
    }
}

#[test]
fn data_refused_by_the_application_is_reported_with_its_drop_code() {
    // 4340-11.7-1, 4340-11.7-2, 4340-11.7.2-2, 4340-11.7-6
    for (answer, code, reason) in [
        (Accepted::Full, 2, DropReason::ReceiveBuffer),
        (Accepted::NotListening, 1, DropReason::NotListening),
    ] {
        for mut bench in Bench::open_both(&Bench::config()) {
            ack_of_two(&mut bench);
            bench.answer_deliveries(answer);
            let ack = ack_of_two(&mut bench);
            assert_eq!(drops(&ack), [(Some(code), 2)]);
            assert_eq!(bench.dropped(reason), 2);
            let counters = bench.stats().counters;
            assert_eq!((counters.data_received, counters.data_delivered), (4, 2));
            bench.answer_deliveries(Accepted::Yes);
            let ack = ack_of_two(&mut bench);
            assert_eq!(drops(&ack), [(None, 2), (Some(code), 2)]);
        }
    }
}

#[test]
fn reports_repeat_until_one_is_acknowledged() {
    // 4340-11.7-6
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.answer_deliveries(Accepted::Full);
        let first = ack_of_two(&mut bench);
        bench.answer_deliveries(Accepted::Yes);
        for n in 1..=5 {
            assert_eq!(
                drops(&ack_of_two(&mut bench)),
                [(None, 2 * n), (Some(2), 2)]
            );
        }
        // An acknowledgement of something older does not help.
        bench.give_next(Kind::Ack {
            ack: first.seq.minus(1),
        });
        bench.give_next(Kind::Sync { ack: first.seq });
        bench.take();
        assert!(!drops(&ack_of_two(&mut bench)).is_empty());
        bench.give_next(Kind::Ack { ack: first.seq });
        assert!(drops(&ack_of_two(&mut bench)).is_empty());
    }
}

#[test]
fn reports_travel_on_data_ack_and_never_on_data() {
    // 4340-11.7-4
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.answer_deliveries(Accepted::Full);
        bench.give_next(Kind::Data);
        bench.send(b"data");
        let sent = bench.take_one();
        assert_eq!(sent.packet_type(), PacketType::DataAck);
        assert_eq!(drops(&sent), [(Some(2), 1)]);
        bench.send(b"data");
        let sent = bench.take_one();
        assert_eq!(
            (sent.packet_type(), drops(&sent)),
            (PacketType::Data, vec![])
        );
    }
}

#[test]
fn packets_that_did_not_come_lie_in_normal_blocks() {
    // 4340-11.7-3
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.answer_deliveries(Accepted::Full);
        bench.give_next(Kind::Data);
        bench.peer_gss = bench.peer_gss.plus(3);
        let ack = bench.answers_next(Kind::Data).remove(0);
        assert_eq!(drops(&ack), [(Some(2), 1), (None, 3), (Some(2), 1)]);
    }
}

#[test]
fn each_code_is_the_fate_of_its_datagram() {
    // 4340-11.7-1, 4340-11.7-2
    for code in 0..8_u8 {
        for mut bench in Bench::open_both(&Bench::config()) {
            let data = sent(&mut bench, b"data");
            acked(&mut bench, &data, &[Opt::DataDropped(&[0x80 | code << 4])]);
            assert_eq!(bench.fates()[0].1, Fate::RxDropped(code));
            let mut expected = [0; 8];
            expected[usize::from(code)] = 1;
            assert_eq!(bench.stats().rx_dropped, expected);
        }
    }
}

#[test]
fn corrupt_and_unknown_codes_are_like_marks() {
    // 4340-11.7-5, 4340-11.7.2-4, 4341-5-7
    for code in 3..8_u8 {
        for mut bench in Bench::open_both(&Bench::config()) {
            let before = cwnd(&bench);
            let data = sent(&mut bench, b"data");
            acked(&mut bench, &data, &[Opt::DataDropped(&[0x80 | code << 4])]);
            assert!((cwnd(&bench) - before / 2.0).abs() < 1e-9, "{code}");
        }
    }
}

#[test]
fn each_packet_dropped_in_the_receive_buffer_takes_one_from_the_window() {
    // 4340-11.7.2-3, 4341-5.2-1
    for mut bench in Bench::open_both(&Config {
        pacing: false,
        ..Bench::config()
    }) {
        let before = cwnd(&bench);
        bench.send(b"1");
        bench.send(b"2");
        let packets = bench.take();
        let last = packets.last().unwrap().clone();
        let both = Opt::AckVector {
            nonce: false,
            cells: &[1],
        };
        let ack = bench.next(Kind::Ack { ack: last.seq });
        let ack = ack.with(&[both, Opt::DataDropped(&[0xA1])]);
        bench.answers(&ack);
        assert!(
            (cwnd(&bench) - (before - 2.0)).abs() < 1e-9,
            "{}",
            cwnd(&bench)
        );
        assert_eq!(bench.snapshot().tx.phase, Some("avoid"));
        // Reported again, it is no news.
        let ack = bench.next(Kind::Ack { ack: last.seq });
        bench.answers(&ack.with(&[both, Opt::DataDropped(&[0xA1])]));
        assert!((cwnd(&bench) - (before - 2.0)).abs() < 1e-9);
    }
}

#[test]
fn after_a_protocol_constraint_data_wait_a_round_trip() {
    // 4340-11.7.2-1
    for mut bench in Bench::open_both(&Bench::config()) {
        let data = sent(&mut bench, b"first");
        let before = cwnd(&bench);
        bench.now += Duration::from_millis(50);
        acked(&mut bench, &data, &[Opt::DataDropped(&[0x80])]);
        assert!(cwnd(&bench) >= before, "no congestion");
        assert_eq!(bench.fates()[0].1, Fate::RxDropped(0));
        let rtt = bench.snapshot().rtt.unwrap();
        assert_eq!(rtt, Duration::from_millis(50));
        bench.send(b"second");
        let early = bench.advance(almost(rtt));
        assert!(early.iter().all(|(_, p)| p.payload.is_empty()), "{early:?}");
        let sent = bench.advance(NANOSECOND);
        assert_eq!(sent[0].1.payload, b"second");
    }
}

#[test]
fn to_an_application_that_does_not_listen_nothing_more_is_sent() {
    // 4340-11.7.2-2, 4340-8.3-6
    for mut bench in Bench::open_both(&Bench::config()) {
        let data = sent(&mut bench, b"first");
        acked(&mut bench, &data, &[Opt::DataDropped(&[0x90])]);
        assert_eq!(bench.events.last(), Some(&Event::PeerNotListening));
        bench.send(b"second");
        let later = bench.advance(Duration::from_mins(1));
        assert!(later.iter().all(|(_, p)| p.payload.is_empty()));
        let more = bench.next(Kind::Ack { ack: bench.gss });
        bench.answers(&more.with(&[Opt::DataDropped(&[0x9F])]));
        let told = bench
            .events
            .iter()
            .filter(|e| **e == Event::PeerNotListening);
        assert_eq!(told.count(), 1);
        // Its own data still come, and closing does not wait for ours.
        let theirs = bench.next(Kind::Data).with_payload(b"theirs");
        bench.give(&theirs);
        assert_eq!(bench.got(), [b"theirs"]);
        bench.close();
        let sent = bench.take();
        let ends = [PacketType::Close, PacketType::CloseReq];
        assert!(sent.iter().any(|p| ends.contains(&p.packet_type())));
    }
}

#[test]
fn reports_that_cannot_be_true_are_ignored() {
    // 4340-11.7-7: more packets than were sent; and a Drop Code for what has not come.
    for mut bench in Bench::open_both(&Bench::config()) {
        let before = cwnd(&bench);
        let data = sent(&mut bench, b"data");
        let total = bench.stats().packets_out.total();
        let mut blocks = vec![0xB0_u8];
        blocks.resize(usize::try_from(total).unwrap() + 1, 0x00);
        acked(&mut bench, &data, &[Opt::DataDropped(&blocks)]);
        assert_eq!(bench.stats().counters.invalid_data_dropped, 1);
        assert_eq!(bench.fates()[0].1, Fate::Acked);
        assert!(cwnd(&bench) >= before);
        bench.now += SECOND;
        bench.send(b"2");
        bench.send(b"3");
        bench.advance(Duration::from_millis(100));
        // Cells: received, not received. Blocks: normal, corrupt.
        let vector = Opt::AckVector {
            nonce: false,
            cells: &[0, 0xC0],
        };
        let ack = bench.next(Kind::Ack { ack: bench.gss });
        bench.answers(&ack.with(&[vector, Opt::DataDropped(&[0x00, 0xB0])]));
        assert_eq!(bench.stats().rx_dropped, [0; 8]);
    }
}

#[test]
fn an_early_report_is_never_changed() {
    // 4340-11.7-7
    let mut bench = Bench::open_server(Bench::config());
    let data = sent(&mut bench, b"data");
    acked(&mut bench, &data, &[Opt::DataDropped(&[0xA0])]);
    let before = cwnd(&bench);
    acked(&mut bench, &data, &[Opt::DataDropped(&[0xB0])]);
    acked(&mut bench, &data, &[]);
    assert_eq!(bench.fates().len(), 1);
    assert_eq!(bench.stats().rx_dropped[2..4], [1, 0]);
    assert!((cwnd(&bench) - before).abs() < 1e-9);
}

#[test]
fn slow_application_is_reported_to_the_peer() {
    // 4340-11.6-2
    for mut bench in Bench::open_both(&Bench::config()) {
        let id = bench.id.unwrap();
        let is_slow = |p: &Pkt| p.opts().contains(&Opt::SlowReceiver);
        assert!(!is_slow(&ack_of_two(&mut bench)));
        bench.endpoint.set_slow_receiver(id, true);
        assert!(is_slow(&ack_of_two(&mut bench)));
        bench.give_next(Kind::Data);
        bench.send(b"x");
        let data = bench.take_one();
        assert!(data.packet_type() == PacketType::DataAck && is_slow(&data));
        bench.endpoint.set_slow_receiver(id, false);
        assert!(!is_slow(&ack_of_two(&mut bench)));
    }
}

#[test]
fn a_flood_of_slow_receiver_options_is_one_event_a_second() {
    // 4340-18-2: one for each option would cost more than the rest of the packet.
    let mut bench = Bench::open_server(Bench::config());
    let seen = bench.events.len();
    for _ in 0..100 {
        let ack = bench.next(Kind::Ack { ack: bench.gss });
        bench.answers(&ack.with(&vec![Opt::SlowReceiver; 900]));
        bench.now += Duration::from_millis(15);
    }
    assert_eq!(
        bench.events[seen..],
        [Event::SlowReceiver, Event::SlowReceiver]
    );
    assert_eq!(bench.stats().counters.slow_receiver, 100);
}

#[test]
fn slow_receiver_on_any_packet_is_reported_to_the_application() {
    // 4340-11.6-2, 4340-11.6-1: the option may come on Data as well.
    for n in 0..5 {
        for mut bench in Bench::open_both(&Bench::config()) {
            let ack = bench.gss;
            let kind = [
                Kind::Data,
                Kind::Ack { ack },
                Kind::DataAck { ack },
                Kind::Sync { ack },
                Kind::SyncAck { ack },
            ][n];
            let packet = bench.next(kind).with(&[Opt::SlowReceiver]);
            bench.answers(&packet);
            assert_eq!(bench.events.last(), Some(&Event::SlowReceiver), "{kind:?}");
            assert_eq!(bench.stats().counters.slow_receiver, 1);
            // The window does not grow for a round trip, and does not shrink.
            let before = cwnd(&bench);
            for _ in 0..4 {
                bench.send(b"x");
            }
            for (_, p) in bench.advance(Duration::from_millis(100)) {
                acked(&mut bench, &p, &[]);
            }
            assert!(
                (cwnd(&bench) - before).abs() < 1e-9,
                "{kind:?} {}",
                cwnd(&bench)
            );
        }
    }
}
