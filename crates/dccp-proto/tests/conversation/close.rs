//! Ending a connection (RFC 4340 §8.3): Close, CloseReq, Reset. See `time_wait.rs` for the time after.

use crate::bench::{Bench, NANOSECOND, Pkt, RECEIVED, almost, reset};
use dccp_proto::conn::State;
use dccp_proto::queue::Fate;
use dccp_proto::wire::{Kind, Opt, PacketType, ResetCode};
use dccp_proto::{CloseReason, Event, Seq};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// The last event, which must be the end.
fn reason(bench: &Bench) -> &CloseReason {
    match bench.events.last() {
        Some(Event::Closed(reason)) => reason,
        other => panic!("{other:?} is no end"),
    }
}

#[test]
fn a_client_closes_and_waits_in_time_wait() {
    // 4340-8.3-1, 4340-8.3-2, 4340-8.5-9
    let mut bench = Bench::open_client(Bench::config());
    bench.close();
    let close = bench.take_one();
    assert_eq!(
        close.kind,
        Kind::Close {
            ack: bench.peer_gss
        }
    );
    assert_eq!(bench.state(), State::Closing);
    assert_eq!(bench.answers_next(reset(close.seq, ResetCode::CLOSED)), []);
    assert_eq!(bench.state(), State::Closed);
    assert_eq!(reason(&bench), &CloseReason::Local);
    assert_eq!(
        (bench.endpoint.connections(), bench.endpoint.resting()),
        (0, 1)
    );
    assert_eq!(bench.stats().mib.estab_resets, 0);
    assert_eq!(bench.stats().mib.curr_estab, 0);
}

#[test]
fn a_server_asks_the_client_to_close() {
    // 4340-8.3-1, 4340-8.3-2, 4340-8.5-14: the client holds TIMEWAIT, the server nothing.
    let mut bench = Bench::open_server(Bench::config());
    bench.close();
    let close_req = bench.take_one();
    assert_eq!(
        close_req.kind,
        Kind::CloseReq {
            ack: bench.peer_gss
        }
    );
    assert_eq!(bench.state(), State::CloseReq);
    let close = bench.next(Kind::Close { ack: close_req.seq });
    let answer = bench.answer(&close);
    assert_eq!(answer.kind, reset(close.seq, ResetCode::CLOSED));
    assert_eq!(answer.seq, close_req.seq.next());
    assert_eq!(reason(&bench), &CloseReason::Local);
    assert_eq!(
        (bench.endpoint.connections(), bench.endpoint.resting()),
        (0, 0)
    );
    assert_eq!(bench.stats().mib.curr_estab, 0);
}

#[test]
fn a_client_answers_close_req_with_close() {
    // 4340-8.3-1, 4340-8.5-13
    for mut bench in [
        Bench::open_client(Bench::config()),
        Bench::partopen_client(Bench::config()),
    ] {
        let close_req = bench.next(Kind::CloseReq { ack: bench.gss });
        let close = bench.answer(&close_req);
        assert_eq!(close.kind, Kind::Close { ack: close_req.seq });
        assert_eq!(bench.state(), State::Closing);
        assert_eq!(bench.events.last(), Some(&Event::PeerClosed));
        assert_eq!(bench.answers_next(reset(close.seq, ResetCode::CLOSED)), []);
        assert_eq!(reason(&bench), &CloseReason::Peer);
        assert_eq!(bench.endpoint.resting(), 1);
    }
}

#[test]
fn both_ends_answer_close_with_reset_closed() {
    // 4340-8.3-1, 4340-8.5-14
    for mut bench in Bench::open_both(&Bench::config()) {
        let close = bench.next(Kind::Close { ack: bench.gss });
        let answer = bench.answer(&close);
        assert_eq!(answer.kind, reset(close.seq, ResetCode::CLOSED));
        assert_eq!(reason(&bench), &CloseReason::Peer);
        let ends = [Event::PeerClosed, Event::Closed(CloseReason::Peer)];
        assert!(bench.events.ends_with(&ends));
        assert_eq!(
            (bench.endpoint.connections(), bench.endpoint.resting()),
            (0, 0)
        );
    }
}

#[test]
fn close_is_answered_in_partopen_and_respond_too() {
    // 4340-8.5-14: in every state that reaches the step.
    let mut bench = Bench::partopen_client(Bench::config());
    let close = bench.next(Kind::Close { ack: bench.gss });
    assert!(bench.answer(&close).is_reset(ResetCode::CLOSED));
    assert_eq!(bench.state(), State::Closed);
    let (mut bench, response) = Bench::responding(Bench::config());
    let close = bench.next(Kind::Close { ack: response.seq });
    assert!(bench.answer(&close).is_reset(ResetCode::CLOSED));
    assert_eq!(reason(&bench), &CloseReason::Peer);
    assert_eq!(bench.stats().mib.curr_estab, 0);
}

#[test]
fn simultaneous_closes_are_both_answered_without_waiting() {
    // AMB-8, LINUX-8, 4340-8.5-14
    let mut bench = Bench::open_client(Bench::config());
    bench.close();
    bench.take_one();
    let close = bench.next(Kind::Close {
        ack: bench.gss.minus(1),
    });
    let answer = bench.answer(&close);
    assert_eq!(answer.kind, reset(close.seq, ResetCode::CLOSED));
    assert_eq!(reason(&bench), &CloseReason::Local);
    assert_eq!(bench.endpoint.resting(), 0);
    // The peer's answer to our Close meets no connection, and a Reset is never answered.
    assert_eq!(bench.answers_next(reset(answer.seq, ResetCode::CLOSED)), []);
}

#[test]
fn a_client_that_is_closing_ignores_close_req() {
    // 4340-8.5-13: CLOSING comes after CLOSEREQ; the timer repeats the Close.
    let mut bench = Bench::open_client(Bench::config());
    bench.close();
    bench.take_one();
    assert_eq!(bench.answers_next(Kind::CloseReq { ack: bench.gss }), []);
    assert_eq!(bench.state(), State::Closing);
    assert!(!bench.events.contains(&Event::PeerClosed));
}

#[test]
fn close_and_close_req_are_repeated_ever_more_slowly() {
    // 4340-8.3-3: first after two round trips, of 200 ms as long as none is known.
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.close();
        let first = bench.take_one();
        let sent = bench.advance(Duration::from_mins(5));
        let at: Vec<_> = sent.iter().map(|(at, _)| at.as_millis()).collect();
        let doubled = [400, 1200, 2800, 6000, 12_400, 25_200, 50_800, 102_000];
        assert_eq!(at[..8], doubled);
        assert_eq!(
            at[8..],
            [102_000 + 64_000, 102_000 + 128_000, 102_000 + 192_000]
        );
        for (n, (_, p)) in (1..).zip(&sent) {
            assert_eq!((p.kind, p.seq), (first.kind, first.seq.plus(n)));
        }
        assert_eq!(bench.stats().mib.timeouts, 11);
    }
}

#[test]
fn the_first_repetition_follows_two_measured_round_trips() {
    // 4340-8.3-3
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.send(b"data");
        let data = bench.take_one();
        bench.now += Duration::from_millis(30);
        let ack = bench.next(Kind::Ack { ack: data.seq }).with(&[RECEIVED]);
        bench.answers(&ack);
        assert_eq!(bench.snapshot().rtt, Some(Duration::from_millis(30)));
        bench.close();
        bench.take_one();
        let sent = bench.advance(SECOND);
        let at: Vec<_> = sent.iter().map(|(at, _)| at.as_millis()).collect();
        assert_eq!(at, [60, 180, 420, 900]);
    }
}

#[test]
fn a_peer_that_never_answers_close_is_given_up() {
    // 4340-8.3-3: a bound of our own, four MSL.
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.close();
        let sent = bench.advance(almost(Duration::from_mins(8)));
        assert_ne!(bench.state(), State::Closed);
        assert!(
            sent.iter()
                .all(|(_, p)| p.packet_type() != PacketType::Reset)
        );
        let gss = bench.gss;
        let last = bench.advance(NANOSECOND);
        let expected = reset(bench.peer_gss, ResetCode::ABORTED);
        assert_eq!((last[0].1.kind, last[0].1.seq), (expected, gss.next()));
        assert_eq!(last.len(), 1);
        assert_eq!(reason(&bench), &CloseReason::TimedOut);
        assert_eq!(bench.stats().mib.abort_on_timeout, 1);
        assert_eq!(bench.stats().mib.attempt_fails, 0);
        assert_eq!(bench.advance(Duration::from_mins(10)), []);
    }
}

#[test]
fn data_that_waits_leaves_before_close() {
    for mut bench in Bench::open_both(&Bench::config()) {
        let slots: Vec<_> = (0..6).map(|n| bench.send(&[n])).collect();
        bench.close();
        let sent = bench.take();
        assert_eq!(sent.len(), 4, "the first window");
        assert_eq!(bench.state(), State::Open);
        for data in sent {
            bench.now += Duration::from_millis(200);
            let ack = bench.next(Kind::Ack { ack: data.seq }).with(&[RECEIVED]);
            bench.give(&ack);
        }
        let types: Vec<_> = bench
            .advance(SECOND)
            .iter()
            .map(|(_, p)| p.packet_type())
            .collect();
        let is_data = |t: &PacketType| matches!(t, PacketType::Data | PacketType::DataAck);
        assert!(types[..2].iter().all(is_data) && !types[2..].iter().any(is_data));
        assert!(matches!(types[2], PacketType::Close | PacketType::CloseReq));
        assert!(matches!(bench.state(), State::Closing | State::CloseReq));
        assert_eq!(bench.fates().len(), 4, "of {}", slots.len());
    }
}

#[test]
fn a_server_in_respond_closes_once_it_is_open() {
    let (mut bench, response) = Bench::responding(Bench::config());
    bench.close();
    assert_eq!(bench.take(), []);
    assert_eq!(bench.state(), State::Respond);
    let ack = bench.next(Kind::Ack { ack: response.seq });
    let close_req = bench.first_answer(&ack);
    assert_eq!(close_req.kind, Kind::CloseReq { ack: ack.seq });
    assert_eq!(bench.state(), State::CloseReq);
}

#[test]
fn a_client_in_partopen_closes_with_close() {
    let mut bench = Bench::partopen_client(Bench::config());
    bench.close();
    let close = bench.take_one();
    assert_eq!(
        close.kind,
        Kind::Close {
            ack: bench.peer_gss
        }
    );
    assert_eq!(bench.state(), State::Closing);
    bench.answers_next(reset(close.seq, ResetCode::CLOSED));
    assert_eq!(reason(&bench), &CloseReason::Local);
}

#[test]
fn closing_or_aborting_in_request_resets_with_ackno_zero() {
    // 4340-8.1.1-3
    for is_abort in [false, true] {
        let (mut bench, request) = Bench::requesting(Bench::config());
        let expected = if is_abort {
            bench.abort();
            CloseReason::Aborted(ResetCode::ABORTED)
        } else {
            bench.close();
            CloseReason::Local
        };
        let last = bench.take_one();
        assert_eq!(last.kind, reset(Seq::ZERO, ResetCode::ABORTED));
        assert_eq!(last.seq, request.seq.next());
        assert_eq!(reason(&bench), &expected);
        assert_eq!(bench.endpoint.connections(), 0);
        assert_eq!(bench.advance(Duration::from_mins(10)), []);
    }
}

#[test]
fn an_abort_resets_in_every_state() {
    // 4340-8.3.1-1
    let benches = [
        Bench::responding(Bench::config()).0,
        Bench::open_server(Bench::config()),
        Bench::partopen_client(Bench::config()),
        Bench::open_client(Bench::config()),
    ];
    for mut bench in benches {
        let slots = [bench.send(b"1"), bench.send(b"2")];
        let is_up = bench.state() != State::Respond;
        assert_eq!(bench.take().len(), if is_up { 2 } else { 0 });
        let waiting = bench.send(b"3");
        bench.abort();
        let next = bench.gss.next();
        let last = bench.take_one();
        let expected = reset(bench.peer_gss, ResetCode::ABORTED);
        assert_eq!((last.kind, last.seq), (expected, next));
        assert_eq!(reason(&bench), &CloseReason::Aborted(ResetCode::ABORTED));
        assert_eq!(
            (bench.endpoint.connections(), bench.endpoint.resting()),
            (0, 0)
        );
        let fate = if is_up { Fate::Sent } else { Fate::Withdrawn };
        let mut fates = bench.fates().to_vec();
        fates.sort_by_key(|(slot, _)| slot.0);
        let expected = [
            (slots[0], fate),
            (slots[1], fate),
            (waiting, Fate::Withdrawn),
        ];
        assert_eq!(fates, expected);
    }
}

#[test]
fn a_reset_ends_every_state() {
    // 4340-8.5-9, 4340-5.6-2, 4340-5.6-3
    let closing = || {
        let mut bench = Bench::open_client(Bench::config());
        bench.close();
        bench.take();
        bench
    };
    let close_req = || {
        let mut bench = Bench::open_server(Bench::config());
        bench.close();
        bench.take();
        bench
    };
    let all = || {
        [
            Bench::responding(Bench::config()).0,
            Bench::partopen_client(Bench::config()),
            Bench::open_server(Bench::config()),
            Bench::open_client(Bench::config()),
            close_req(),
            closing(),
        ]
    };
    for code in (0..=255).map(ResetCode) {
        for mut bench in all() {
            let was_established = bench.state() != State::Respond;
            let kind = Kind::Reset {
                ack: bench.gss,
                code,
                data: [1, 2, 3],
            };
            let is_wanted = bench.state() == State::Closing;
            let packet = bench.next(kind).with_payload(b"why");
            assert_eq!(bench.answers(&packet), []);
            let expected = match code {
                ResetCode::CLOSED if is_wanted => CloseReason::Local,
                ResetCode::CLOSED => CloseReason::Peer,
                _ => CloseReason::Reset {
                    code,
                    data: [1, 2, 3],
                    text: "why".to_owned(),
                },
            };
            assert_eq!(reason(&bench), &expected);
            assert_eq!(bench.endpoint.connections(), 0);
            // 4340-7.5.4-5: a peer in REQUEST will try again.
            let rests = code != ResetCode::PACKET_ERROR;
            assert_eq!(bench.endpoint.resting(), usize::from(rests));
            assert_eq!(bench.advance(Duration::from_mins(10)), []);
            let mib = bench.stats().mib;
            let is_failure = code != ResetCode::CLOSED;
            assert_eq!(mib.estab_resets, u64::from(was_established && is_failure));
            assert_eq!(mib.attempt_fails, u64::from(!was_established));
            assert_eq!(mib.curr_estab, 0);
            assert!(bench.got().is_empty(), "an error text is no data");
        }
    }
}

#[test]
fn the_error_text_of_a_reset_is_cut_at_256_bytes() {
    let mut bench = Bench::open_client(Bench::config());
    let kind = reset(bench.gss, ResetCode::ABORTED);
    let packet = bench.next(kind).with_payload(&[b'x'; 1000]);
    bench.answers(&packet);
    let CloseReason::Reset { text, .. } = reason(&bench) else {
        panic!()
    };
    assert_eq!(text, &"x".repeat(256));
}

#[test]
fn options_of_a_reset_come_before_its_end() {
    // 4340-5.6-5: at most one Reset answers, and no loop.
    for mut bench in Bench::open_both(&Bench::config()) {
        let kind = reset(bench.gss, ResetCode::ABORTED);
        let packet = bench.next(kind).with_raw_options(&[1, 31, 0, 0]);
        let answer = bench.answer(&packet);
        let expected = Kind::Reset {
            ack: packet.seq,
            code: ResetCode::MANDATORY_ERROR,
            data: [31, 0, 0],
        };
        assert_eq!(answer.kind, expected);
        assert_eq!(bench.state(), State::Closed);
        assert_eq!(
            bench.answers(&packet),
            [],
            "nobody is left, and nobody answers a Reset"
        );
    }
}

#[test]
fn a_close_that_is_repeated_after_the_end_is_answered_by_a_reset() {
    // 4340-8.5-2: our Reset was lost.
    let mut bench = Bench::open_server(Bench::config());
    let close = bench.next(Kind::Close { ack: bench.gss });
    bench.answer(&close);
    let again = bench.next(Kind::Close { ack: bench.gss });
    let answer = bench.answer(&again);
    assert_eq!(answer.kind, reset(again.seq, ResetCode::NO_CONNECTION));
    assert_eq!(answer.seq, again.ack().unwrap().next());
}

#[test]
fn data_is_taken_until_the_end() {
    // 4340-8.3-5
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.close();
        bench.take_one();
        for kind in [Kind::Data, Kind::DataAck { ack: bench.gss }] {
            let data = bench.next(kind).with_payload(b"late");
            bench.give(&data);
        }
        assert_eq!(bench.got(), [b"late", b"late"]);
        // It is acknowledged, too.
        let acks = bench.take();
        assert_eq!(acks.len(), 1);
        assert_eq!(
            acks[0].kind,
            Kind::Ack {
                ack: bench.peer_gss
            }
        );
    }
}

#[test]
fn nothing_of_the_application_leaves_while_closing() {
    // 4340-8.3-6
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.close();
        bench.take_one();
        bench.send(b"too late");
        let sent = bench.advance(Duration::from_secs(3));
        let is_data = |p: &Pkt| matches!(p.kind, Kind::Data | Kind::DataAck { .. });
        assert!(!sent.iter().any(|(_, p)| is_data(p)));
    }
}

#[test]
fn a_sync_is_answered_while_closing() {
    // 4340-8.5-15
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.close();
        bench.take_one();
        let state = bench.state();
        bench.exchange_syncs(1);
        assert_eq!(bench.state(), state);
    }
}

#[test]
fn an_end_carries_no_features() {
    // 4340-6-1, 4340-6.6.1-1: Confirms that wait are lost with the connection.
    for mut bench in Bench::open_both(&Bench::config()) {
        let change = bench.next(Kind::Ack { ack: bench.gss });
        bench.give(&change.with_raw_options(&[32, 9, 3, 0, 0, 0, 0, 4, 0]));
        bench.close();
        let close = &bench.take()[0];
        assert!(matches!(
            close.packet_type(),
            PacketType::Close | PacketType::CloseReq
        ));
        assert!(!close.opts().iter().any(|o| matches!(o, Opt::ConfirmR(_))));
    }
}

#[test]
fn a_peer_that_has_forgotten_us_has_answered_an_earlier_close() {
    // 4340-8.3.1-1: its Reset "Closed" was lost, and the next Close met no connection.
    let no_connection = |bench: &Bench| reset(bench.gss, ResetCode::NO_CONNECTION);
    let mut bench = Bench::open_client(Bench::config());
    bench.close();
    assert_eq!(bench.advance(SECOND).len(), 2);
    let answer = no_connection(&bench);
    bench.answers_next(answer);
    assert_eq!(reason(&bench), &CloseReason::Local);
    assert_eq!(bench.stats().mib.estab_resets, 0);
    // The server asked for it.
    let mut bench = Bench::open_client(Bench::config());
    let ask = bench.next(Kind::CloseReq { ack: bench.gss });
    bench.answers(&ask);
    bench.advance(SECOND);
    let answer = no_connection(&bench);
    bench.answers_next(answer);
    assert_eq!(reason(&bench), &CloseReason::Peer);
    // It answers the first Close: so it had forgotten us before.
    let mut bench = Bench::open_client(Bench::config());
    bench.close();
    let close = bench.take_one();
    bench.answers_next(reset(close.seq, ResetCode::NO_CONNECTION));
    let expected = ResetCode::NO_CONNECTION;
    assert!(matches!(reason(&bench), CloseReason::Reset { code, .. } if *code == expected));
    assert_eq!(bench.stats().mib.estab_resets, 1);
}
