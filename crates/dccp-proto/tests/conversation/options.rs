//! Options: where they count, what is ignored, and what must be understood (RFC 4340 §5.8).

use crate::bench::{Bench, Pkt, RECEIVED, SERVICE, reset};
use dccp_proto::conn::State;
use dccp_proto::queue::Fate;
use dccp_proto::wire::{Elapsed, FeatureOpt, Kind, Opt, PacketType, ResetCode};
use dccp_proto::{Config, Event};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const NOTHING: &[u8] = &[];

fn window(bytes: &[u8]) -> FeatureOpt<'_> {
    FeatureOpt {
        feature: 3,
        values: bytes,
    }
}

/// The packet types that leave an open connection open, with valid numbers.
fn kinds(bench: &Bench) -> [Kind; 5] {
    let ack = bench.gss;
    [
        Kind::Data,
        Kind::Ack { ack },
        Kind::DataAck { ack },
        Kind::Sync { ack },
        Kind::SyncAck { ack },
    ]
}

/// Everything that the endpoint says within a second.
fn said(bench: &mut Bench, packet: &Pkt) -> Vec<Pkt> {
    bench.give(packet);
    bench.advance(SECOND).into_iter().map(|(_, p)| p).collect()
}

/// The Reset that the packet leads to.
fn assert_reset(bench: &mut Bench, packet: &Pkt, code: ResetCode, data: [u8; 3]) {
    let answer = bench.answer(packet);
    let expected = Kind::Reset {
        ack: packet.seq,
        code,
        data,
    };
    assert_eq!(answer.kind, expected, "{:?}", packet.options);
    assert_eq!(bench.state(), State::Closed);
    let aborted = Event::Closed(dccp_proto::CloseReason::Aborted(code));
    assert_eq!(bench.events.last(), Some(&aborted));
}

#[test]
fn unknown_options_are_ignored() {
    // 4340-5.8-4, 4340-15-1: all that are not assigned, with a body of any sort.
    for kind in (3..=31).chain(47..=127) {
        for mut bench in Bench::open_both(&Bench::config()) {
            for packet_kind in kinds(&bench) {
                let options = match kind {
                    0..=31 => vec![kind, 2, 0],
                    _ => vec![kind, 7, 1, 2, 3, 4, 5, 2],
                };
                let before = bench.stats().counters.options_ignored;
                let packet = bench.next(packet_kind).with_raw_options(&options);
                let sent = said(&mut bench, &packet.with_payload(b"x"));
                assert!(sent.iter().all(|p| p.packet_type() != PacketType::Reset));
                assert_eq!(bench.stats().counters.options_ignored, before + 1);
            }
            assert_eq!(bench.state(), State::Open);
            assert_eq!(bench.got().len(), 2);
        }
    }
}

#[test]
fn known_options_of_impossible_length_are_ignored() {
    // 4340-5.8-8: no reset, no effect, whatever follows counts.
    let malformed: [&[u8]; 12] = [
        &[37, 2],
        &[37, 9, 0, 0, 0, 0, 0, 0, 1],
        &[41, 5, 1, 2, 3],
        &[41, 7, 1, 2, 3, 4, 5],
        &[42, 5, 1, 2, 3],
        &[42, 7, 1, 2, 3, 4, 5],
        &[43, 5, 1, 2, 3],
        &[43, 2],
        &[44, 4, 1, 2],
        &[44, 7, 1, 2, 3, 4, 5],
        &[45, 7, 1, 2, 3, 4, 5],
        &[33, 2],
    ];
    for options in malformed {
        for mut bench in Bench::open_both(&Bench::config()) {
            bench.now += SECOND;
            for kind in kinds(&bench) {
                let packet = bench.next(kind).with_raw_options(options);
                let packet = packet.with(&[Opt::Timestamp(4711)]).with_payload(b"x");
                let sent = said(&mut bench, &packet);
                assert!(sent.iter().all(|p| p.packet_type() != PacketType::Reset));
                assert_eq!(bench.state(), State::Open);
            }
            assert_eq!(bench.got().len(), 2);
            let (again, more) = (bench.next(Kind::Data), bench.next(Kind::Data));
            bench.give(&again);
            let sent = said(&mut bench, &more);
            let is_echo = |o: &Opt<'_>| matches!(o, Opt::TimestampEcho { echo: 4711, .. });
            let count = sent.iter().filter(|p| p.opts().iter().any(is_echo)).count();
            assert!(count <= 1, "it was answered before, or is now");
        }
    }
}

#[test]
fn a_bad_length_hides_the_rest_of_the_options_but_not_the_packet() {
    // 4340-5.8-5
    for bad in [[50, 0], [50, 1], [50, 200], [41, 255]] {
        for mut bench in Bench::open_both(&Bench::config()) {
            let packet = bench.next(Kind::DataAck { ack: bench.gss });
            let packet = packet
                .with(&[Opt::Timestamp(1)])
                .with_raw_options(&bad)
                .with_raw_options(&[1, 3])
                .with_payload(b"data");
            let second = bench.next(Kind::Data);
            bench.give(&packet);
            let sent = said(&mut bench, &second);
            assert_eq!(bench.got()[0], b"data");
            let is_echo = |o: &Opt<'_>| matches!(o, Opt::TimestampEcho { echo: 1, .. });
            assert!(
                sent[0].opts().iter().any(is_echo),
                "what came before counts"
            );
            assert_eq!(bench.state(), State::Open);
        }
    }
}

#[test]
fn padding_may_stand_anywhere() {
    // 4340-5.8.1-1, 4340-5.8-1
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.send(b"data");
        let data = bench.take_one();
        let raw = [0, 38, 3, 0, 0, 0, 41, 6, 0, 0, 0, 7, 0, 0, 0, 0];
        let packet = bench.next(Kind::DataAck { ack: data.seq });
        bench.give(&packet.with_raw_options(&raw));
        assert_eq!(bench.fates().len(), 1);
        let second = bench.next(Kind::Data);
        let answer = bench.first_answer(&second);
        let is_echo = |o: &Opt<'_>| matches!(o, Opt::TimestampEcho { echo: 7, .. });
        assert!(answer.opts().iter().any(is_echo));
        assert_eq!(answer.options.len() % 4, 0);
    }
}

#[test]
fn unknown_mandatory_option_ends_the_connection() {
    // 4340-5.8.2-1, 4340-5.6-4
    let cases: [(&[u8], [u8; 3]); 12] = [
        (&[3], [3, 0, 0]),
        (&[31], [31, 0, 0]),
        (&[47, 2], [47, 0, 0]),
        (&[60, 5, 7, 8, 9], [60, 7, 8]),
        (&[127, 3, 7], [127, 7, 0]),
        (&[41, 5, 7, 8, 9], [41, 7, 8]),
        (&[44, 4, 7, 8], [44, 7, 8]),
        (&[45, 8, 1, 2, 3, 4, 5, 6], [45, 1, 2]),
        (&[46, 4, 5, 6], [46, 5, 6]),
        (&[150, 4, 7, 8], [150, 7, 8]),
        (&[192, 6, 1, 2, 3, 4], [192, 1, 2]),
        // An unknown feature.
        (&[32, 4, 100, 1], [32, 100, 1]),
    ];
    for (option, data) in cases {
        for kind in 1..5 {
            for mut bench in Bench::open_both(&Bench::config()) {
                let packet = bench.next(kinds(&bench)[kind]).with_raw_options(&[1]);
                let packet = packet.with_raw_options(option).with_payload(b"x");
                assert_reset(&mut bench, &packet, ResetCode::MANDATORY_ERROR, data);
                assert!(bench.got().is_empty(), "later steps are not executed");
            }
        }
    }
}

#[test]
fn known_mandatory_option_acts_as_without_mandatory() {
    // 4340-5.8.2-1, 4340-6.6.9-2
    let good = [
        Opt::SlowReceiver,
        Opt::ndp_count(1),
        RECEIVED,
        Opt::DataDropped(&[0]),
        Opt::Timestamp(9),
        Opt::TimestampEcho {
            echo: 1,
            elapsed: Elapsed::None,
        },
        Opt::ElapsedTime(Elapsed::Short(1)),
        Opt::DataChecksum(0),
        Opt::ChangeL(window(&[0, 0, 0, 0, 2, 0])),
        Opt::ConfirmR(window(NOTHING)),
        Opt::ConfirmR(FeatureOpt {
            feature: 100,
            values: NOTHING,
        }),
    ];
    for option in good {
        for mut bench in Bench::open_both(&Bench::config()) {
            let packet = bench.next(Kind::Ack { ack: bench.gss });
            let packet = packet.with_raw_options(&[1]).with(&[option]);
            let sent = said(&mut bench, &packet);
            assert!(
                sent.iter().all(|p| p.packet_type() != PacketType::Reset),
                "{option:?}"
            );
            assert_eq!(bench.state(), State::Open);
        }
    }
}

#[test]
fn mandatory_alone_is_an_option_error() {
    // 4340-5.8.2-3
    for raw in [
        &[0, 0, 0, 1][..],
        &[1, 1, 3, 0],
        &[1, 1, 0, 0],
        &[1, 1, 1, 0],
    ] {
        for mut bench in Bench::open_both(&Bench::config()) {
            let packet = bench
                .next(Kind::Ack { ack: bench.gss })
                .with_raw_options(raw);
            assert_reset(&mut bench, &packet, ResetCode::OPTION_ERROR, [1, 0, 0]);
        }
    }
}

#[test]
fn mandatory_before_padding_is_padding() {
    // 4340-5.8.2-4: the unknown option behind is not mandatory.
    for raw in [
        &[1, 0, 0, 0][..],
        &[1, 0, 60, 2],
        &[1, 0, 3, 0],
        &[0, 1, 0, 0],
    ] {
        for mut bench in Bench::open_both(&Bench::config()) {
            let packet = bench
                .next(Kind::Ack { ack: bench.gss })
                .with_raw_options(raw);
            assert_eq!(bench.answers(&packet), []);
            assert_eq!(bench.state(), State::Open);
        }
    }
}

#[test]
fn an_option_on_a_type_that_it_is_not_meant_for_is_not_understood_there() {
    // 4340-5.8-7, 4340-5.8.2-1: a Confirm needs an ackno, so on a Request it is ignored.
    let mut bench = Bench::listening(Bench::config());
    let raw = [33, 4, 1, 2, 38, 3, 0, 40, 3, 160, 43, 4, 0, 1, 0, 0];
    let request = bench.next(Kind::Request { service: SERVICE });
    let answer = bench.answer(&request.clone().with_raw_options(&raw));
    assert_eq!(answer.packet_type(), PacketType::Response);
    for (option, data) in [
        (&raw[..4], [33, 1, 2]),
        (&raw[4..7], [38, 0, 0]),
        (&raw[7..10], [40, 160, 0]),
        (&raw[10..14], [43, 0, 1]),
    ] {
        let mut bench = Bench::listening(Bench::config());
        let request = request
            .clone()
            .with_raw_options(&[1])
            .with_raw_options(option);
        let answer = bench.answer(&request);
        assert_eq!(answer.reset_code(), Some(ResetCode::MANDATORY_ERROR));
        assert!(matches!(answer.kind, Kind::Reset { data: d, .. } if d == data));
    }
}

#[test]
fn nothing_on_a_data_packet_ends_the_connection() {
    // 4340-7.5.5-2, 4340-5.8.2-2, 4340-6-1: whatever the bytes say.
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    let ccid_3 = Config {
        tx_ccids: vec![3],
        rx_ccids: vec![3],
        ..Bench::config()
    };
    for config in [Bench::config(), ccid_3] {
        for mut bench in Bench::open_both(&config) {
            let values = |b: &Bench| (b.snapshot().peer_sequence_window, b.snapshot().ack_ratio);
            let before = values(&bench);
            for n in 0..4000 {
                let len = usize::from(random()) % 40 + 1;
                let mut raw: Vec<u8> = (0..len).map(|_| random()).collect();
                // Often something that would end the connection elsewhere.
                match n % 4 {
                    0 => raw.splice(0..0, [1]).for_each(drop),
                    1 => raw.splice(0..0, [1, 32 + random() % 4, 4]).for_each(drop),
                    2 => raw.splice(0..0, [192 + random() % 4, 6]).for_each(drop),
                    _ => raw.push(1),
                }
                let data = bench.next(Kind::Data).with_raw_options(&raw);
                let sent = bench.answers(&data);
                assert!(
                    sent.iter().all(|p| p.packet_type() != PacketType::Reset),
                    "{raw:?}"
                );
                bench.now += Duration::from_millis(1);
            }
            assert_eq!(bench.state(), State::Open);
            assert_eq!(values(&bench), before);
        }
    }
}

#[test]
fn feature_and_acknowledgement_options_on_data_do_nothing() {
    // 4340-6-1, 4340-11-2, 4340-11.7-4, 4340-13.2-3, 4340-5.8-7
    for mut bench in Bench::open_both(&Bench::config()) {
        let slot = bench.send(b"data");
        bench.take_one();
        let packet = bench.next(Kind::Data).with(&[
            Opt::ChangeL(window(&[0, 0, 0, 0, 2, 0])),
            Opt::ConfirmR(window(&[0, 0, 0, 0, 2, 0])),
            RECEIVED,
            Opt::DataDropped(&[0x90]),
            Opt::InitCookie(b"c"),
        ]);
        let sent = said(&mut bench, &packet);
        let confirms = |o: &Opt<'_>| matches!(o, Opt::ConfirmR(_));
        assert!(!sent.iter().any(|p| p.opts().iter().any(confirms)));
        assert_eq!(bench.snapshot().peer_sequence_window, 100);
        assert!(!bench.fates().contains(&(slot, Fate::Acked)));
        assert!(!bench.events.contains(&Event::PeerNotListening));
    }
}

#[test]
fn options_are_processed_in_order() {
    // 4340-5.8-3, 4340-5.8-6, 4340-6.6.1-4: each occurrence has its answer.
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.now += SECOND;
        let windows: [[u8; 6]; 2] = [[0, 0, 0, 0, 4, 0], [0, 0, 0, 0, 2, 0]];
        let packet = bench.next(Kind::Ack { ack: bench.gss });
        let packet = packet.with(&windows.each_ref().map(|w| Opt::ChangeL(window(w))));
        let answer = bench.first_answer(&packet);
        let confirms: Vec<_> = answer.opts();
        assert_eq!(
            confirms[..2],
            windows.each_ref().map(|w| Opt::ConfirmR(window(w)))
        );
        assert_eq!(bench.snapshot().peer_sequence_window, 512);
    }
}

#[test]
fn options_before_a_fault_have_had_their_effect_and_those_behind_none() {
    // 4340-5.8-3, 4340-8.5-8
    let mut bench = Bench::open_client(Bench::config());
    bench.send(b"x");
    let data = bench.take_one();
    let packet = bench.next(Kind::DataAck { ack: data.seq });
    let packet = packet
        .with(&[RECEIVED])
        .with_raw_options(&[1, 3])
        .with_payload(b"never");
    bench.answers(&packet);
    // Step 8 stops before it reads the acknowledgement, so the fate is reported at the end.
    assert_eq!(bench.fates().len(), 1);
    assert_eq!(bench.fates()[0].1, Fate::Sent);
    assert!(bench.got().is_empty());
}

#[test]
fn changes_may_come_on_every_type_but_data() {
    // 4340-6-1, 4340-6.6.1-1
    for n in 1..5 {
        for mut bench in Bench::open_both(&Bench::config()) {
            bench.now += SECOND;
            let value = [0, 0, 0, 0, 2, 0];
            let packet = bench
                .next(kinds(&bench)[n])
                .with(&[Opt::ChangeL(window(&value))]);
            let sent = said(&mut bench, &packet);
            let is_confirm = |o: &Opt<'_>| *o == Opt::ConfirmR(window(&value));
            let count = sent
                .iter()
                .filter(|p| p.opts().iter().any(is_confirm))
                .count();
            assert_eq!(count, 1, "{n}");
        }
    }
}

#[test]
fn ndp_counts_are_sent_when_negotiated() {
    // 4340-7.7-1, 4340-7.7-2, 4340-7.7-3
    for mut bench in Bench::open_both(&Config {
        ndp_count: true,
        ..Bench::config()
    }) {
        let count_of = |p: &Pkt| {
            let find = |o: Opt<'_>| match o {
                Opt::NdpCount { count, width } => Some((count, width)),
                _ => None,
            };
            p.opts().into_iter().find_map(find)
        };
        bench.send(b"data");
        bench.take();
        bench.send(b"data");
        assert_eq!(count_of(&bench.take_one()), None, "after data");
        bench.exchange_syncs(3);
        let sync = bench.next(Kind::Sync { ack: bench.gss });
        assert_eq!(count_of(&bench.answer(&sync)), Some((3, 1)));
        bench.now += SECOND;
        let ack = bench.next(Kind::Ack { ack: bench.gss });
        let others = bench.answers(&ack.with(&[RECEIVED])).len() as u64;
        bench.send(b"data");
        let data = bench.take_one();
        assert_eq!(
            (data.packet_type(), count_of(&data)),
            (PacketType::Data, Some((4 + others, 1)))
        );
    }
}

#[test]
fn a_linux_peer_may_demand_what_it_demands() {
    // LINUX-C1: the options of a Linux Request with CCID 3, each Mandatory.
    let mut bench = Bench::listening(Config {
        tx_ccids: vec![2, 3],
        rx_ccids: vec![2, 3],
        ..Bench::config()
    });
    let mut raw = vec![
        1, 32, 4, 2, 0, 1, 32, 4, 4, 1, 1, 32, 4, 1, 3, 1, 34, 4, 1, 3,
    ];
    raw.extend([
        1, 32, 4, 6, 0, 1, 34, 4, 6, 0, 1, 34, 4, 192, 1, 1, 32, 4, 192, 1,
    ]);
    raw.extend([1, 34, 4, 7, 1, 1, 32, 4, 7, 1, 32, 5, 5, 0, 0, 0]);
    let request = bench.next(Kind::Request { service: SERVICE });
    let answer = bench.answer(&request.with_raw_options(&raw));
    assert_eq!(
        answer.packet_type(),
        PacketType::Response,
        "{:?}",
        answer.opts()
    );
    let confirms = answer
        .opts()
        .iter()
        .filter(|o| matches!(o, Opt::ConfirmL(_) | Opt::ConfirmR(_)))
        .count();
    assert_eq!(confirms, 11);
}

#[test]
fn a_reset_needs_no_options_understood_that_are_not_mandatory() {
    // 4340-5.8-4, 4340-5.6-5
    let mut bench = Bench::open_client(Bench::config());
    let kind = reset(bench.gss, ResetCode::ABORTED);
    let packet = bench
        .next(kind)
        .with_raw_options(&[60, 4, 1, 2, 3, 0, 0, 0]);
    assert_eq!(bench.answers(&packet), []);
    assert_eq!(bench.state(), State::Closed);
}

#[test]
fn multipath_client_gets_a_plain_connection() {
    // 9897-3.1-2: Multipath Capable draws an empty Confirm, MP_KEY is ignored.
    const MULTIPATH: u8 = 10;
    let mut bench = Bench::listening(Bench::config());
    let options = [34, 4, MULTIPATH, 0, 46, 8, 3, 0, 1, 2, 3, 4];
    let request = bench.next(Kind::Request { service: SERVICE });
    bench.give(&request.with_raw_options(&options));
    let response = bench.take_one();
    assert_eq!(response.packet_type(), PacketType::Response);
    let declined = Opt::ConfirmL(FeatureOpt {
        feature: MULTIPATH,
        values: &[],
    });
    assert!(response.opts().contains(&declined), "{:?}", response.opts());
    let ack = bench.answer_to(&response);
    bench.give(&ack);
    assert_eq!(bench.state(), State::Open);
    assert_eq!(
        ResetCode::ABRUPT_MP_TERMINATION.name(),
        "Abrupt MP Termination"
    );
}
