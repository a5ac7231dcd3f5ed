//! Setting up (RFC 4340 §8.1).

use crate::bench::{
    Bench, NANOSECOND, OUR_PORT, PEER_ISS, Pkt, RECEIVED, SERVICE, almost, reset, response,
};
use dccp_proto::conn::State;
use dccp_proto::conn::stats::DropReason;
use dccp_proto::queue::Fate;
use dccp_proto::wire::{DropBlock, DropCode, Kind, Opt, PacketType, ResetCode};
use dccp_proto::{CloseReason, Config, Event, Seq};
use std::time::Duration;

const MINUTE: Duration = Duration::from_mins(1);

/// The Change options of a packet, which may leave in other company but not change.
fn changes(packet: &Pkt) -> Vec<Opt<'_>> {
    let is_change = |o: &Opt<'_>| matches!(o, Opt::ChangeL(_) | Opt::ChangeR(_));
    packet.opts().into_iter().filter(is_change).collect()
}

#[test]
fn a_client_goes_from_request_to_open() {
    // 4340-8.5-4, 4340-8.5-10, 4340-8.5-12, 4340-8.1.5-3, 4340-5.3-1
    let (mut bench, request) = Bench::requesting(Bench::config());
    assert_eq!(request.kind, Kind::Request { service: SERVICE });
    assert_eq!(bench.state(), State::Request);
    let response = bench.next(response(request.seq));
    let ack = bench.first_answer(&response);
    assert_eq!(ack.kind, Kind::Ack { ack: response.seq });
    assert_eq!(ack.seq, request.seq.next());
    assert_eq!(bench.state(), State::PartOpen);
    assert_eq!(bench.events, [Event::Connected]);
    assert_eq!(bench.stats().mib.curr_estab, 0);
    bench.give_next(Kind::Ack { ack: ack.seq });
    assert_eq!(bench.state(), State::Open);
    assert_eq!(bench.stats().mib.active_opens, 1);
    assert_eq!(bench.stats().mib.curr_estab, 1);
    let later = bench.advance(Duration::from_mins(10));
    assert!(
        later
            .iter()
            .all(|(_, p)| p.packet_type() != PacketType::Request)
    );
    assert_eq!(
        bench.state(),
        State::Open,
        "no timer of the handshake is left"
    );
}

#[test]
fn a_server_goes_from_request_to_open() {
    // 4340-8.5-3, 4340-8.5-11, 4340-8.1.2-1, 5595-3.3-2
    let (mut bench, response) = Bench::responding(Bench::config());
    assert_eq!(
        response.kind,
        Kind::Response {
            ack: bench.peer_gss,
            service: SERVICE
        }
    );
    assert_eq!(bench.state(), State::Respond);
    let accepted = Event::Accepted {
        port: OUR_PORT,
        service: SERVICE,
    };
    assert_eq!(bench.events, std::slice::from_ref(&accepted));
    bench.answers_next(Kind::Ack { ack: response.seq });
    assert_eq!(bench.state(), State::Open);
    assert_eq!(bench.events, [accepted, Event::Connected]);
    assert_eq!(bench.stats().mib.passive_opens, 1);
    assert_eq!(bench.stats().mib.curr_estab, 1);
    assert_eq!(bench.conn().service(), SERVICE);
    bench.advance(Duration::from_mins(10));
    assert_eq!(
        bench.state(),
        State::Open,
        "no timer of the handshake is left"
    );
}

#[test]
fn requests_are_repeated_ever_more_slowly() {
    // 4340-8.1.1-1, 4340-8.1.1-2, 4340-8.1.1-3, 4340-6.6.4-5, 4340-5.1-7
    let (mut bench, first) = Bench::requesting(Bench::config());
    let sent = bench.advance(almost(3 * MINUTE));
    let at: Vec<_> = sent.iter().map(|(at, _)| at.as_secs()).collect();
    assert_eq!(at, [1, 3, 7, 15, 31, 63, 127]);
    for (n, (_, p)) in (1..).zip(&sent) {
        assert_eq!((p.kind, p.seq), (first.kind, first.seq.plus(n)));
        assert_eq!((changes(p), &p.payload), (changes(&first), &first.payload));
    }
    assert!(!changes(&first).is_empty());
    assert_eq!(bench.state(), State::Request);
    let last = bench.advance(NANOSECOND);
    assert_eq!(last.len(), 1);
    assert_eq!(last[0].1.kind, reset(Seq::ZERO, ResetCode::ABORTED));
    assert_eq!(last[0].1.seq, first.seq.plus(8));
    assert_eq!(bench.state(), State::Closed);
    assert_eq!(bench.events, [Event::Closed(CloseReason::TimedOut)]);
    let mib = bench.stats().mib;
    assert_eq!(
        (mib.abort_on_timeout, mib.attempt_fails, mib.timeouts),
        (1, 1, 7)
    );
}

#[test]
fn requests_come_at_least_every_64_seconds() {
    // 4340-8.1.1-1
    let config = Config {
        connect_timeout: 10 * MINUTE,
        ..Bench::config()
    };
    let (mut bench, _) = Bench::requesting(config);
    let sent = bench.advance(6 * MINUTE);
    let at: Vec<_> = sent.iter().map(|(at, _)| at.as_secs()).collect();
    assert_eq!(at, [1, 3, 7, 15, 31, 63, 127, 191, 255, 319]);
}

#[test]
fn a_response_to_any_of_the_requests_is_an_answer() {
    // 4340-8.5-4: AWL is ISS in REQUEST.
    for (back, is_answer) in [(4, false), (3, true), (1, true), (0, true), (-1, false)] {
        let (mut bench, first) = Bench::requesting(Bench::config());
        bench.advance(Duration::from_secs(7));
        assert_eq!(bench.gss, first.seq.plus(3));
        let ack = match u64::try_from(back) {
            Ok(back) => bench.gss.minus(back),
            Err(_) => bench.gss.next(),
        };
        let packet = bench.next(response(ack));
        let answer = bench.first_answer(&packet);
        if is_answer {
            assert_eq!(answer.kind, Kind::Ack { ack: packet.seq });
            assert_eq!(bench.state(), State::PartOpen);
        } else {
            assert!(answer.is_reset(ResetCode::PACKET_ERROR));
            assert_eq!(bench.state(), State::Request);
            assert_eq!(bench.dropped(DropReason::NotResponse), 1);
        }
    }
}

#[test]
fn in_request_everything_else_is_answered_by_packet_error() {
    // 4340-8.5-4, 4340-5.6-4, 4340-8.3.1-1, AMB-3
    let kinds = |ack| {
        [
            Kind::Request { service: SERVICE },
            Kind::Data,
            Kind::Ack { ack },
            Kind::DataAck { ack },
            Kind::CloseReq { ack },
            Kind::Close { ack },
            Kind::Sync { ack },
            Kind::SyncAck { ack },
        ]
    };
    for n in 0..8 {
        let (mut bench, request) = Bench::requesting(Bench::config());
        let packet = bench.next(kinds(request.seq)[n]).with_payload(b"data");
        let answer = bench.answer(&packet);
        let expected = Kind::Reset {
            ack: packet.seq,
            code: ResetCode::PACKET_ERROR,
            data: [packet.packet_type() as u8, 0, 0],
        };
        assert_eq!((answer.kind, answer.seq), (expected, request.seq.next()));
        assert_eq!(bench.state(), State::Request);
        assert!(bench.got().is_empty());
        // The next Request goes on from there.
        let sent = bench.advance(Duration::from_secs(1));
        assert_eq!(sent[0].1.kind, request.kind);
        assert_eq!(sent[0].1.seq, request.seq.plus(2));
    }
}

#[test]
fn a_reset_that_answers_the_request_ends_it() {
    // 4340-8.5-4, 4340-8.5-9, AMB-1: 3 and 7 mean the same to the application.
    for code in [ResetCode::NO_CONNECTION, ResetCode::CONNECTION_REFUSED] {
        for is_stateless in [false, true] {
            let (mut bench, request) = Bench::requesting(Bench::config());
            let mut packet = bench.next(reset(request.seq, code));
            if is_stateless {
                packet.seq = Seq::ZERO;
            }
            assert_eq!(bench.answers(&packet), []);
            let reason = CloseReason::Reset {
                code,
                data: [0; 3],
                text: String::new(),
            };
            assert_eq!(bench.events, [Event::Closed(reason)]);
            assert_eq!(
                (bench.endpoint.connections(), bench.endpoint.resting()),
                (0, 1)
            );
            assert_eq!(bench.stats().mib.attempt_fails, 1);
            assert_eq!(bench.stats().mib.estab_resets, 0);
        }
    }
}

#[test]
fn a_reset_that_answers_nothing_of_ours_ends_nothing() {
    // 4340-8.5-4, 4340-18-1
    for ack in [1, 0] {
        let (mut bench, request) = Bench::requesting(Bench::config());
        let ack = if ack == 1 {
            request.seq.next()
        } else {
            request.seq.minus(1)
        };
        let packet = bench.next(reset(ack, ResetCode::ABORTED));
        let answer = bench.answer(&packet);
        assert!(answer.is_reset(ResetCode::PACKET_ERROR));
        assert_eq!(bench.state(), State::Request);
        assert_eq!(bench.events, []);
    }
}

#[test]
fn in_partopen_data_carry_an_ackno() {
    // 4340-8.1.5-1, 4340-8.1.4-2
    let mut bench = Bench::partopen_client(Bench::config());
    for n in 0..3 {
        bench.send(&[n]);
        let data = bench.take_one();
        let ack = bench.peer_gss;
        assert_eq!((data.kind, data.payload), (Kind::DataAck { ack }, vec![n]));
    }
    assert_eq!(bench.state(), State::PartOpen);
    let ack = bench.next(Kind::Ack { ack: bench.gss });
    bench.answers(&ack.with(&[RECEIVED]));
    bench.send(b"4");
    assert_eq!(bench.take_one().kind, Kind::Data);
}

#[test]
fn partopen_ends_with_any_packet_that_shows_the_peer_is_open() {
    // 4340-8.1.5-3, 4340-8.5-12
    let kinds = |ack| {
        [
            (response(ack), State::PartOpen, Some(PacketType::Ack)),
            (
                Kind::Sync { ack },
                State::PartOpen,
                Some(PacketType::SyncAck),
            ),
            (Kind::Data, State::Open, None),
            (Kind::Ack { ack }, State::Open, None),
            (Kind::DataAck { ack }, State::Open, None),
            (Kind::SyncAck { ack }, State::Open, None),
            (
                Kind::CloseReq { ack },
                State::Closing,
                Some(PacketType::Close),
            ),
            (Kind::Close { ack }, State::Closed, Some(PacketType::Reset)),
            (reset(ack, ResetCode::ABORTED), State::Closed, None),
        ]
    };
    for n in 0..9 {
        let mut bench = Bench::partopen_client(Bench::config());
        let (kind, state, answer) = kinds(bench.gss)[n];
        let sent = bench.answers_next(kind);
        assert_eq!(sent.first().map(Pkt::packet_type), answer, "{kind:?}");
        assert_eq!(bench.state(), state, "{kind:?}");
        let is_established = state == State::Open || n == 6;
        assert_eq!(bench.stats().mib.curr_estab, u64::from(is_established));
    }
}

#[test]
fn a_repeated_response_is_acknowledged_and_its_data_is_not_taken_again() {
    // 4340-8.5-12, 4340-8.5-16
    let (mut bench, request) = Bench::requesting(Bench::config());
    for n in 0..3 {
        let packet = bench.next(response(request.seq)).with_payload(b"hello");
        let ack = bench.first_answer(&packet);
        assert_eq!(ack.kind, Kind::Ack { ack: packet.seq });
        assert_eq!(ack.seq, request.seq.plus(n + 1));
        assert_eq!(bench.state(), State::PartOpen);
    }
    assert_eq!(bench.got(), [b"hello"]);
    assert_eq!(bench.dropped(DropReason::Duplicate), 2);
}

#[test]
fn partopen_repeats_its_ack_then_asks_with_syncs_behind() {
    // 4340-8.1.5-2, AMB-11, LINUX-21
    let (mut bench, request) = Bench::requesting(Bench::config());
    let response = bench.response_to(&request);
    let first = bench.answer(&response);
    let sent = bench.advance(Duration::from_secs(13));
    let at: Vec<_> = sent.iter().map(|(at, _)| at.as_millis()).collect();
    let expected = [200, 600, 1400, 3000, 3000, 6200, 6200, 12_600, 12_600];
    assert_eq!(at, expected);
    for (n, (_, p)) in (1..).zip(&sent) {
        let ack = response.seq;
        let kind = if matches!(n, 5 | 7 | 9) {
            Kind::Sync { ack }
        } else {
            Kind::Ack { ack }
        };
        assert_eq!((p.kind, p.seq), (kind, first.seq.plus(n)));
    }
    assert_eq!(bench.stats().mib.timeouts, 6);
    let sync_ack = bench.next(Kind::SyncAck { ack: bench.gss });
    bench.answers(&sync_ack);
    assert_eq!(bench.state(), State::Open);
    let later = bench.advance(MINUTE);
    assert!(later.is_empty(), "{later:?}");
}

#[test]
fn strictly_partopen_sends_nothing_but_acks() {
    // 4340-8.1.5-2, AMB-11
    let config = Config {
        strict: true,
        ..Bench::config()
    };
    let mut bench = Bench::partopen_client(config);
    let sent = bench.advance(almost(8 * MINUTE));
    assert!(sent.iter().all(|(_, p)| p.packet_type() == PacketType::Ack));
    let last: Vec<_> = sent
        .iter()
        .rev()
        .take(3)
        .map(|(at, _)| at.as_millis())
        .collect();
    assert_eq!([last[0] - last[1], last[1] - last[2]], [64_000, 64_000]);
    assert_eq!(bench.state(), State::PartOpen);
    let next = bench.gss.next();
    let last = bench.advance(NANOSECOND);
    let expected = reset(bench.peer_gss, ResetCode::ABORTED);
    assert_eq!((last[0].1.kind, last[0].1.seq), (expected, next));
    assert_eq!(
        bench.events.last(),
        Some(&Event::Closed(CloseReason::TimedOut))
    );
    assert_eq!(bench.stats().mib.attempt_fails, 0);
}

#[test]
fn every_request_in_respond_is_answered_by_a_new_response() {
    // 4340-8.1.3-3, 4340-8.1.3-2, 4340-8.5-11
    let (mut bench, first) = Bench::responding(Bench::config());
    let request = Kind::Request { service: SERVICE };
    let original = Pkt::new(request, bench.peer_gss);
    let again = bench.next(request);
    let duplicate = original.clone();
    for (n, (packet, ack)) in (1..).zip([
        (again.clone(), again.seq),
        // 4340-8.1.3-3: a duplicate made by the network is valid, too.
        (duplicate, again.seq),
        (bench.next(request), bench.peer_gss),
    ]) {
        let answer = bench.answer(&packet);
        assert_eq!(
            (answer.kind, answer.seq),
            (response(ack), first.seq.plus(n))
        );
        assert_eq!(
            (changes(&answer), &answer.payload),
            (changes(&first), &first.payload)
        );
        assert_eq!(bench.state(), State::Respond);
    }
    let silent = bench.advance(almost(8 * MINUTE));
    assert_eq!(silent, [], "no timer repeats a Response");
    assert_eq!(bench.endpoint.connections(), 1);
}

#[test]
fn an_invalid_request_in_respond_is_answered_by_a_sync() {
    // 4340-7.5.3-1, 4340-8.1.3-3
    let (mut bench, _) = Bench::responding(Bench::config());
    let packet = Pkt::new(Kind::Request { service: SERVICE }, bench.peer_gss.plus(76));
    assert_eq!(bench.answer(&packet).kind, Kind::Sync { ack: packet.seq });
}

#[test]
fn a_server_gives_up_after_four_msl_in_respond() {
    // 4340-8.1.3-6
    let (mut bench, response) = Bench::responding(Bench::config());
    assert_eq!(bench.advance(almost(8 * MINUTE)), []);
    let sent = bench.advance(NANOSECOND);
    assert_eq!(sent.len(), 1);
    let expected = reset(bench.peer_gss, ResetCode::ABORTED);
    assert_eq!(
        (sent[0].1.kind, sent[0].1.seq),
        (expected, response.seq.next())
    );
    assert_eq!(
        bench.events.last(),
        Some(&Event::Closed(CloseReason::TimedOut))
    );
    assert_eq!(bench.stats().mib.attempt_fails, 1);
    assert_eq!(bench.endpoint.resting(), 0);
}

#[test]
fn respond_ends_with_any_packet_that_names_the_response() {
    // 4340-8.5-11, 4340-8.5-15
    let kinds = |ack| {
        [
            (Kind::Ack { ack }, State::Open, None),
            (Kind::DataAck { ack }, State::Open, None),
            (Kind::Sync { ack }, State::Open, Some(PacketType::SyncAck)),
            (Kind::SyncAck { ack }, State::Open, None),
            (Kind::Close { ack }, State::Closed, Some(PacketType::Reset)),
            (reset(ack, ResetCode::ABORTED), State::Closed, None),
        ]
    };
    for n in 0..6 {
        let (mut bench, response) = Bench::responding(Bench::config());
        let (kind, state, answer) = kinds(response.seq)[n];
        let sent = bench.answers_next(kind);
        let control = sent.iter().find(|p| p.packet_type() != PacketType::Ack);
        assert_eq!(control.map(Pkt::packet_type), answer, "{kind:?}");
        assert_eq!(bench.state(), state, "{kind:?}");
    }
}

#[test]
fn the_data_of_one_request_are_taken_and_the_others_reported() {
    // 4340-8.1.3-3, 4340-8.1.3-4, 4340-8.1.3-5, 4340-5.2-1, 4340-8.5-16
    let mut bench = Bench::listening(Bench::config());
    let request = Kind::Request { service: SERVICE };
    let first = bench.next(request).with_payload(b"query");
    let answer = bench.answer(&first);
    assert_eq!(bench.got(), [b"query"]);
    assert!(drops(&answer).is_empty());
    // A duplicate that the network made: no second delivery, nothing to report.
    let answer = bench.answer(&first);
    assert!(drops(&answer).is_empty());
    let again = bench.next(request).with_payload(b"query");
    let answer = bench.answer(&again);
    let code = Some(DropCode::PROTOCOL_CONSTRAINTS);
    assert_eq!(drops(&answer), [DropBlock { code, len: 1 }]);
    let third = bench.next(request).with_payload(b"query");
    let answer = bench.answer(&third);
    assert_eq!(drops(&answer), [DropBlock { code, len: 2 }]);
    assert_eq!(bench.got(), [b"query"]);
}

/// The blocks of a packet's Data Dropped options.
fn drops(packet: &Pkt) -> Vec<DropBlock> {
    let blocks = |o: Opt<'_>| match o {
        Opt::DataDropped(blocks) => blocks.to_vec(),
        _ => Vec::new(),
    };
    let bytes = packet.opts().into_iter().flat_map(blocks);
    bytes.map(DropBlock::from_byte).collect()
}

#[test]
fn an_empty_request_is_no_datagram_but_an_empty_data_packet_is() {
    // 4340-5.2-1, 4340-5.4-1
    let (mut bench, response) = Bench::responding(Bench::config());
    assert!(bench.got().is_empty());
    bench.answers_next(Kind::DataAck { ack: response.seq });
    bench.answers_next(Kind::Data);
    assert_eq!(bench.got(), [b"", b""]);
    let (mut bench, request) = Bench::requesting(Bench::config());
    let packet = bench.response_to(&request);
    bench.answers(&packet);
    assert!(bench.got().is_empty());
}

#[test]
fn data_of_a_request_that_came_second_are_still_the_first() {
    // 4340-8.1.3-4
    let (mut bench, _) = Bench::responding(Bench::config());
    let request = Kind::Request { service: SERVICE };
    for _ in 0..2 {
        let packet = bench.next(request).with_payload(b"query");
        bench.answer(&packet);
    }
    assert_eq!(bench.got(), [b"query"]);
}

#[test]
fn the_response_may_come_across_the_end_of_the_number_space() {
    // 4340-3.1-2, 4340-8.5-4
    let max = (1 << 48) - 1;
    let (mut bench, request) = Bench::numbered(max, PEER_ISS).connect(Bench::config());
    assert_eq!(request.seq.value(), max);
    bench.advance(Duration::from_secs(1));
    assert_eq!(bench.gss, Seq::ZERO);
    let packet = bench.next(response(request.seq));
    bench.answers(&packet);
    assert_eq!(bench.state(), State::PartOpen);
}

#[test]
fn data_that_wait_in_request_leave_with_the_first_acknowledgement() {
    // 4340-8.1.5-1, 4341-4-1: once the features are settled.
    let (mut bench, request) = Bench::requesting(Bench::config());
    let slot = bench.send(b"early");
    assert_eq!(bench.take(), []);
    let packet = bench.response_to(&request);
    let data = bench.answer(&packet);
    assert_eq!(data.kind, Kind::DataAck { ack: packet.seq });
    assert_eq!(data.payload, b"early");
    let ack = bench.next(Kind::Ack { ack: data.seq }).with(&[RECEIVED]);
    bench.answers(&ack);
    assert_eq!(bench.fates(), [(slot, Fate::Acked)]);
}

#[test]
fn without_agreed_features_no_data_leave() {
    // 4341-4-1
    let (mut bench, request) = Bench::requesting(Bench::config());
    let packet = bench.next(response(request.seq));
    bench.answers(&packet);
    bench.give_next(Kind::Ack { ack: bench.gss });
    bench.send(b"data");
    assert_eq!(bench.state(), State::Open);
    let sent = bench.advance(Duration::from_secs(2));
    assert!(
        sent.iter().all(|(_, p)| p.packet_type() == PacketType::Ack),
        "{sent:?}"
    );
    let (_, ack) = sent.last().unwrap();
    let confirms = crate::bench::confirms_for(ack);
    let packet = bench.next(Kind::Ack { ack: ack.seq });
    let data = bench.first_answer(&packet.with_raw_options(&confirms));
    assert_eq!(data.payload, b"data");
}
