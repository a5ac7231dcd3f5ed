//! Negotiated features by settings, and their effects (RFC 4340 §6, §10).

use crate::bench::pair::{CLIENT, Pair, SERVER};
use crate::bench::{Bench, Pkt, RECEIVED, SERVICE, confirms_for};
use dccp_proto::conn::State;
use dccp_proto::wire::{Feature, FeatureOpt, Kind, Opt, PacketType, ResetCode};
use dccp_proto::{CloseReason, Config, Event};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn feature(number: u8, values: &[u8]) -> FeatureOpt<'_> {
    FeatureOpt {
        feature: number,
        values,
    }
}

fn ccid_3() -> Config {
    Config {
        tx_ccids: vec![3],
        rx_ccids: vec![3],
        ..Bench::config()
    }
}

/// The options without their padding at the end.
fn trimmed(packet: &Pkt) -> &[u8] {
    let end = packet.options.iter().rposition(|b| *b != 0);
    &packet.options[..end.map_or(0, |end| end + 1)]
}

#[test]
fn both_ends_ask_for_what_their_settings_need() {
    // 4341-4-1, 4340-10-1, 4340-5.8.2-2, 4340-7.5.2-2, 4340-10.3-2; LINUX-C1 in what is Mandatory.
    let base = Bench::config();
    let vectors = [1, 32, 4, 6, 1, 1, 34, 4, 6, 1].as_slice();
    let cases = [
        (base.clone(), vec![], vec![]),
        (
            Config {
                sequence_window: 500,
                ..base.clone()
            },
            vec![32, 9, 3, 0, 0, 0, 0, 1, 244],
            vec![],
        ),
        (
            Config {
                short_seqnos: true,
                ..base.clone()
            },
            vec![32, 5, 2, 1, 0],
            vec![],
        ),
        (
            Config {
                ack_ratio: Some(4),
                ..base.clone()
            },
            vec![32, 5, 5, 0, 4],
            vec![],
        ),
        (
            Config {
                ndp_count: true,
                ..base.clone()
            },
            vec![],
            vec![32, 5, 7, 1, 0, 34, 5, 7, 1, 0],
        ),
        (
            Config {
                data_checksum: true,
                ..base.clone()
            },
            vec![],
            vec![34, 4, 9, 1],
        ),
    ];
    for (config, before, behind) in cases {
        let mut expected = [before.as_slice(), vectors, behind.as_slice()].concat();
        expected.resize(expected.len().next_multiple_of(4), 0);
        let (_, request) = Bench::requesting(config.clone());
        assert_eq!(request.options, expected, "{config:?}");
        let (_, response) = Bench::responding(config.clone());
        assert_eq!(response.options, expected, "{config:?}");
    }
}

#[test]
fn without_ccid_2_another_is_demanded_on_the_first_packet() {
    // 4340-10-1, 4340-10.3-2: what only has a meaning with CCID 3 follows it directly.
    let (_, request) = Bench::requesting(ccid_3());
    let mut expected = vec![1, 32, 4, 1, 3, 1, 34, 4, 1, 3, 32, 4, 7, 1, 34, 4, 7, 1];
    expected.extend([32, 4, 192, 1, 34, 4, 192, 1]);
    assert_eq!(trimmed(&request), expected);
    let (_, response) = Bench::responding(ccid_3());
    assert_eq!(trimmed(&response)[..10], expected[..10]);
    // With CCID 2 among them the peer may choose.
    let (_, request) = Bench::requesting(Config {
        tx_ccids: vec![2, 3],
        rx_ccids: vec![3, 2],
        ..Bench::config()
    });
    assert_eq!(trimmed(&request), [32, 5, 1, 2, 3, 34, 5, 1, 3, 2]);
}

#[test]
fn features_settled_by_the_request_are_not_negotiated_again() {
    // 4340-6.6.1-1, 4340-6.6.6-1
    let (_, request) = Bench::requesting(ccid_3());
    let mut bench = Bench::listening(ccid_3());
    let packet = bench.next(request.kind).with_raw_options(&request.options);
    let response = bench.answer(&packet);
    let mut expected = vec![
        35, 5, 1, 3, 3, 33, 5, 1, 3, 3, 35, 5, 7, 1, 1, 33, 5, 7, 1, 1,
    ];
    expected.extend([35, 5, 192, 1, 1, 33, 5, 192, 1, 1]);
    assert!(
        trimmed(&response).starts_with(&expected),
        "{:?}",
        response.opts()
    );
    let is_change = |o: &Opt<'_>| matches!(o, Opt::ChangeL(_) | Opt::ChangeR(_));
    assert!(!response.opts().iter().any(is_change));
}

#[test]
fn the_servers_order_decides_the_ccid() {
    // 4340-6.3.1-1, 4340-10.3-1
    let config = |tx: &[u8], rx: &[u8]| Config {
        tx_ccids: tx.to_vec(),
        rx_ccids: rx.to_vec(),
        ..Bench::config()
    };
    for (client, server, expected) in [
        (config(&[2, 3], &[2, 3]), config(&[2, 3], &[2, 3]), [2, 2]),
        (config(&[2, 3], &[2, 3]), config(&[3, 2], &[3, 2]), [3, 3]),
        (config(&[3, 2], &[3, 2]), config(&[2, 3], &[2, 3]), [2, 2]),
        // From the client's data: what the server receives.
        (config(&[2, 3], &[2, 3]), config(&[2, 3], &[3, 2]), [3, 2]),
        (config(&[3], &[2]), config(&[3, 2], &[2, 3]), [3, 2]),
        (config(&[2], &[3]), config(&[3], &[2]), [2, 3]),
    ] {
        let delay = Duration::from_millis(10);
        let mut pair = Pair::connecting(delay, client.clone(), server.clone());
        pair.run(3 * SECOND);
        for end in [CLIENT, SERVER] {
            pair.ends[end].send(b"x");
        }
        pair.run(10 * SECOND);
        let ccids = |end: usize| {
            let end = &pair.ends[end];
            let s = end.endpoint.connection(end.id.unwrap()).unwrap().snapshot();
            [s.tx_ccid, s.rx_ccid]
        };
        let [up, down] = expected;
        assert_eq!((ccids(CLIENT), ccids(SERVER)), ([up, down], [down, up]));
        assert!(pair.ends.iter().all(|end| end.got() == [b"x"]));
    }
}

#[test]
fn ends_that_share_no_ccid_part() {
    // 4340-6.6.9-1
    let only = |ccid: u8| Config {
        tx_ccids: vec![ccid],
        rx_ccids: vec![ccid],
        ..Bench::config()
    };
    let mut pair = Pair::connecting(Duration::from_millis(10), only(3), only(2));
    pair.run(SECOND);
    let aborted = CloseReason::Aborted(ResetCode::MANDATORY_ERROR);
    assert_eq!(
        pair.ends[SERVER].events.last(),
        Some(&Event::Closed(aborted))
    );
    let Some(Event::Closed(CloseReason::Reset { code, data, .. })) =
        pair.ends[CLIENT].events.last()
    else {
        panic!("{:?}", pair.ends[CLIENT].events)
    };
    assert_eq!((*code, *data), (ResetCode::MANDATORY_ERROR, [32, 1, 3]));
}

#[test]
fn unknown_values_in_lists_are_no_errors_and_bad_numbers_are_declined() {
    // 4340-15-2, 4340-15-1, 4340-6.6.8-2, 4340-6.3.2-1
    for mut bench in Bench::open_both(&Bench::config()) {
        for (change, confirm) in [
            (
                Opt::ChangeL(feature(1, &[200, 99, 2])),
                Opt::ConfirmR(feature(1, &[2, 2])),
            ),
            (
                Opt::ChangeL(feature(1, &[200, 99])),
                Opt::ConfirmR(feature(1, &[2, 2])),
            ),
            (
                Opt::ChangeL(feature(3, &[0; 6])),
                Opt::ConfirmR(feature(3, &[])),
            ),
            (
                Opt::ChangeL(feature(5, &[0, 0, 2])),
                Opt::ConfirmR(feature(5, &[])),
            ),
            (
                Opt::ChangeR(feature(3, &[0, 0, 0, 0, 2, 0])),
                Opt::ConfirmL(feature(3, &[])),
            ),
            (
                Opt::ChangeL(feature(125, &[1])),
                Opt::ConfirmR(feature(125, &[])),
            ),
        ] {
            bench.now += SECOND;
            let ack = bench.next(Kind::Ack { ack: bench.gss });
            let answer = bench.first_answer(&ack.with(&[change]));
            assert_eq!(answer.opts()[0], confirm, "{change:?}");
        }
        assert_eq!((bench.state(), bench.snapshot().rx_ccid), (State::Open, 2));
        assert_eq!(bench.snapshot().peer_sequence_window, 100);
    }
}

#[test]
fn with_send_ack_vector_every_acknowledgement_has_one() {
    // 4340-11.5-1, 4341-6-1, 4340-11.3-2
    for mut bench in Bench::open_both(&Bench::config()) {
        for n in 0..20 {
            bench.give_next(Kind::Data);
            if n % 3 == 0 {
                bench.send(b"x");
            }
            bench.now += Duration::from_millis(250);
            for p in bench.take() {
                let has_ackno = matches!(p.kind, Kind::Ack { .. } | Kind::DataAck { .. });
                let vectors = p
                    .opts()
                    .iter()
                    .filter(|o| matches!(o, Opt::AckVector { .. }))
                    .count();
                assert_eq!(vectors, usize::from(has_ackno), "{p:?}");
                let ack = bench.next(Kind::Ack { ack: p.seq });
                bench.give(&ack.with(&[RECEIVED]));
            }
        }
    }
    // While it is 0, none is owed; a server that has not been told does not send any.
    let (mut bench, response) = Bench::responding(Bench::config());
    bench.give_next(Kind::Ack { ack: response.seq });
    bench.give_next(Kind::Data);
    let sent = bench.answers_next(Kind::Data);
    let is_vector = |o: &Opt<'_>| matches!(o, Opt::AckVector { .. });
    assert!(!sent[0].opts().iter().any(is_vector), "{sent:?}");
}

#[test]
fn changes_are_repeated_ever_more_slowly_until_they_are_answered() {
    // 4340-6.6.3-1, 4340-6.6.3-2, 4340-6.1-2: a round trip of 200 ms and 200 ms of patience.
    let (mut bench, response) = Bench::responding(Config {
        sequence_window: 200,
        ..Bench::config()
    });
    bench.give_next(Kind::Ack { ack: response.seq });
    let sent = bench.advance(Duration::from_mins(10));
    let window = Opt::ChangeL(feature(3, &[0, 0, 0, 0, 0, 200]));
    let with_change = sent.iter().filter(|(_, p)| p.opts().contains(&window));
    let at: Vec<_> = with_change.map(|(at, _)| at.as_millis()).collect();
    let gaps: Vec<_> = at.windows(2).map(|w| w[1] - w[0]).collect();
    assert!(gaps.iter().all(|g| *g >= 400), "{at:?}");
    assert!(gaps.windows(2).all(|g| g[1] >= g[0]), "{gaps:?}");
    assert_eq!(gaps.last(), Some(&64_000));
    // All of them are identical Acks, and stop at the answer.
    let (_, last) = sent.last().unwrap();
    let confirms = confirms_for(last);
    let ack = bench
        .next(Kind::Ack { ack: last.seq })
        .with_raw_options(&confirms);
    bench.answers(&ack);
    assert_eq!(bench.snapshot().sequence_window, 200);
    let later = bench.advance(Duration::from_mins(10));
    assert!(later.iter().all(|(_, p)| !p.opts().contains(&window)));
}

#[test]
fn the_ackno_window_grows_with_our_confirmed_sequence_window() {
    // 4340-6.6.1-2, 4340-7.5.1-1: the old value holds until the Confirm arrives.
    let (mut bench, request) = Bench::requesting(Config {
        sequence_window: 200,
        ..Bench::config()
    });
    assert_eq!(bench.snapshot().sequence_window, 100);
    let response = bench.response_to(&request);
    bench.answers(&response);
    assert_eq!(bench.snapshot().sequence_window, 200);
    bench.give_next(Kind::Ack { ack: bench.gss });
    bench.exchange_syncs(250);
    let oldest = bench.next(Kind::Ack {
        ack: bench.gss.minus(199),
    });
    assert!(
        bench
            .answers(&oldest)
            .iter()
            .all(|p| p.packet_type() != PacketType::Sync)
    );
    let older = bench.next(Kind::Ack {
        ack: bench.gss.minus(200),
    });
    assert_eq!(bench.first_answer(&older).packet_type(), PacketType::Sync);
}

#[test]
fn the_sequence_window_doubles_with_the_rate_and_shrinks_when_it_is_far_too_wide() {
    // 4340-7.5.2-2
    let mut pair = Pair::connecting(Duration::from_millis(10), Bench::config(), Bench::config());
    pair.run(SECOND);
    let changes = |pair: &Pair| {
        let packets = pair.sent(CLIENT);
        let windows = packets.flat_map(|(_, p)| {
            let opts = p.opts().into_iter();
            let windows = opts.filter_map(|o| match o {
                Opt::ChangeL(FeatureOpt { feature: 3, values }) => {
                    Some(values.iter().fold(0, |n, b| n << 8 | u64::from(*b)))
                }
                _ => None,
            });
            windows.collect::<Vec<_>>()
        });
        let mut windows: Vec<_> = windows.collect();
        windows.dedup();
        windows
    };
    assert_eq!(changes(&pair), []);
    for _ in 0..1000 {
        pair.ends[CLIENT].send(b"x");
    }
    pair.run(SECOND);
    assert_eq!(pair.ends[SERVER].got().len(), 1000);
    let grown = changes(&pair);
    assert!(grown.len() >= 3, "{grown:?}");
    assert_eq!(grown[0], 128);
    assert!(grown.windows(2).all(|w| w[1] == 2 * w[0]), "{grown:?}");
    // After a minute of silence the congestion window is small again, and the other follows.
    pair.run(60 * SECOND);
    for _ in 0..4 {
        pair.ends[CLIENT].send(b"x");
        pair.run(SECOND);
    }
    assert_eq!(changes(&pair)[grown.len()..], [128]);
}

#[test]
fn a_confirm_that_answers_nothing_or_says_nonsense() {
    // 4340-6.6.2-1, 4340-6.6.8-1, 4340-6.6.8-2
    let mut bench = Bench::open_client(Bench::config());
    let ack = bench.next(Kind::Ack { ack: bench.gss });
    bench.answers(&ack.with(&[Opt::ConfirmR(feature(3, &[0, 0, 0, 0, 0, 9]))]));
    assert_eq!(
        (bench.state(), bench.snapshot().sequence_window),
        (State::Open, 100)
    );
    let (mut bench, request) = Bench::requesting(Bench::config());
    let kind = Kind::Response {
        ack: request.seq,
        service: SERVICE,
    };
    // Asked for Ack Vectors only: 0 is not what reconciliation would choose.
    let wrong = bench
        .next(kind)
        .with(&[Opt::ConfirmL(feature(6, &[0, 0, 1]))]);
    let answer = bench.answer(&wrong);
    assert_eq!(answer.reset_code(), Some(ResetCode::OPTION_ERROR));
    assert!(matches!(
        answer.kind,
        Kind::Reset {
            data: [33, 6, 0],
            ..
        }
    ));
}

#[test]
fn a_peer_cannot_use_changes_of_ccid_to_begin_anew_without_end() {
    // 4340-10.5-2: one change a minute once the connection is open.
    let config = Config {
        tx_ccids: vec![2, 3],
        rx_ccids: vec![2, 3],
        ..Bench::config()
    };
    for mut bench in Bench::open_both(&config) {
        bench.now += SECOND;
        let mut change_to = |values: &[u8], expected: u8| {
            let ack = bench.next(Kind::Ack { ack: bench.gss });
            let change = Opt::ChangeR(feature(1, values));
            let answer = bench.first_answer(&ack.with(&[change]));
            let confirm = answer.opts().into_iter().find_map(|o| match o {
                Opt::ConfirmL(c) if c.feature == 1 => Some(c.values[0]),
                _ => None,
            });
            assert_eq!(confirm, Some(expected));
            assert_eq!(bench.snapshot().tx_ccid, expected);
            bench.now += 15 * SECOND;
        };
        change_to(&[3], 3);
        change_to(&[2], 3);
        change_to(&[2, 99], 3);
        // A refused value is refused again; a minute after the change another value is granted.
        change_to(&[2], 3);
        change_to(&[2, 98], 2);
        change_to(&[3, 97], 2);
    }
}

#[test]
fn all_features_have_their_initial_values() {
    // 4340-6.4-1
    let (bench, _) = Bench::requesting(Bench::config());
    for feature in Feature::ALL {
        let expected = match feature {
            Feature::CongestionControlId | Feature::AckRatio => 2,
            Feature::SequenceWindow => 100,
            _ => 0,
        };
        let conn = bench.conn();
        let values = [conn.feature(true, feature), conn.feature(false, feature)];
        assert_eq!(values, [expected; 2], "{feature:?}");
    }
}
