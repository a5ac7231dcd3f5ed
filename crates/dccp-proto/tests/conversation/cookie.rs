//! Init Cookies: a listener that keeps no state, and a client that carries it (RFC 4340 §8.1.4).

use crate::bench::pair::{CLIENT, Net, Pair, SERVER};
use crate::bench::{Bench, NANOSECOND, OUR_PORT, Pkt, RECEIVED, SERVICE, confirms_for, reset};
use dccp_proto::conn::State;
use dccp_proto::conn::stats::DropReason;
use dccp_proto::path::Flow;
use dccp_proto::queue::Fate;
use dccp_proto::wire::{Feature, FeatureOpt, Kind, Opt, PacketType, ResetCode, ServiceCode};
use dccp_proto::{Config, Event, Seq};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// A listener that answers every Request with a cookie.
fn guarded() -> Bench {
    Bench::listening(Config {
        cookie_threshold: 0,
        ..Bench::config()
    })
}

/// The same, its Response, and the Ack that a willing client would send.
fn offered() -> (Bench, Pkt, Pkt) {
    let mut bench = guarded();
    let request = bench.next(Kind::Request { service: SERVICE });
    let response = bench.answer(&request);
    let ack = bench.next(Kind::Ack { ack: response.seq });
    let ack = ack.with(&cookies_of(&response));
    let ack = ack.with_raw_options(&confirms_for(&response));
    (bench, response, ack)
}

/// The Init Cookies of a packet, in order.
fn cookies_of(packet: &Pkt) -> Vec<Opt<'_>> {
    let mut opts = packet.opts();
    opts.retain(|o| matches!(o, Opt::InitCookie(_)));
    opts
}

#[test]
fn a_hundred_thousand_forged_requests_leave_nothing_behind() {
    // 4340-8.1.4-4, 4340-18-2, 4340-18-8
    let mut bench = guarded();
    let mut answered = 0;
    for n in 0..100_000_u32 {
        let mut flow = Bench::flow();
        // Each of a network of its own (4340-18-5).
        flow.path.remote = std::net::Ipv4Addr::from(0x0A00_0000 + (n << 8)).into();
        let request = Pkt::new(Kind::Request { service: SERVICE }, Seq::new(u64::from(n)));
        bench.give_on(&flow, &request);
        answered += bench.count_sent() as u64;
    }
    // All arrive at one moment: half of a second's limit, and as many for networks that got none.
    assert!((4_000..8_200).contains(&answered), "{answered}");
    assert_eq!(
        (bench.endpoint.connections(), bench.endpoint.resting()),
        (0, 0)
    );
    assert_eq!(bench.endpoint.poll_timeout(), None);
    assert_eq!(bench.endpoint.poll_event(), None);
    assert_eq!(bench.stats().counters.cookies_sent, answered);
    assert_eq!(bench.stats().mib.passive_opens, 0);
}

#[test]
fn data_of_a_request_that_gets_a_cookie_are_reported_as_dropped() {
    // 4340-11.7-6, 4340-8.1.4-4: Drop Code 0, one packet.
    let mut bench = guarded();
    let request = bench.next(Kind::Request { service: SERVICE });
    let response = bench.answer(&request.clone().with_payload(b"query"));
    assert_eq!(cookies_of(&response).len(), 1);
    assert!(response.opts().contains(&Opt::DataDropped(&[0x80])));
    assert_eq!(bench.stats().drops.of(DropReason::NotReady), 1);
    let response = bench.answer(&request);
    let drops = |o: &Opt<'_>| matches!(o, Opt::DataDropped(_));
    assert!(!response.opts().iter().any(drops));
}

#[test]
fn a_cookie_opens_the_connection_that_it_was_made_from() {
    // 4340-8.1.4-3, 4340-8.1.4-4, 4340-8.5-3, 4340-8.5-11
    let (mut bench, response, ack) = offered();
    let expected = Kind::Response {
        ack: ack.seq.minus(1),
        service: SERVICE,
    };
    assert_eq!(response.kind, expected);
    assert_eq!(bench.endpoint.connections(), 0);
    bench.now += Duration::from_millis(80);
    bench.give(&ack);
    bench.take();
    assert_eq!(bench.state(), State::Open);
    assert!(matches!(
        bench.events[..],
        [Event::Accepted { .. }, Event::Connected]
    ));
    assert_eq!(bench.conn().service(), SERVICE);
    // It goes on with the number after the Response's.
    let slot = bench.send(b"hello");
    let data = bench.take_one();
    assert_eq!(data.seq, response.seq.next());
    let ack = bench.next(Kind::Ack { ack: data.seq }).with(&[RECEIVED]);
    bench.answers(&ack);
    assert_eq!(bench.fates(), [(slot, Fate::Acked)]);
    assert_eq!(bench.stats().packets_in.of(PacketType::Request), 1);
}

#[test]
fn a_cookie_may_come_on_any_packet_of_a_client_in_partopen() {
    // 4340-8.1.4-2, 4340-8.5-3
    let kinds = |ack| {
        [
            (Kind::Ack { ack }, State::Open, None),
            (Kind::DataAck { ack }, State::Open, None),
            (Kind::Sync { ack }, State::Open, Some(PacketType::SyncAck)),
            (Kind::SyncAck { ack }, State::Open, None),
            (Kind::Close { ack }, State::Closed, Some(PacketType::Reset)),
        ]
    };
    for n in 0..5 {
        let (mut bench, response, ack) = offered();
        let (kind, state, answer) = kinds(response.seq)[n];
        let packet = Pkt { kind, ..ack }.with_payload(b"data");
        let sent = bench.answers(&packet);
        let control = sent.iter().find(|p| p.packet_type() != PacketType::Ack);
        assert_eq!(control.map(Pkt::packet_type), answer, "{kind:?}");
        assert_eq!(bench.state(), state, "{kind:?}");
        assert_eq!(bench.got().len(), usize::from(n == 1));
    }
}

#[test]
fn a_cookie_with_any_bit_changed_is_bad() {
    // 4340-8.1.4-3, 4340-8.1.4-4
    let (mut bench, response, ack) = offered();
    let [Opt::InitCookie(cookie)] = cookies_of(&response)[..] else {
        panic!("{response:?}")
    };
    for bit in 0..cookie.len() * 8 {
        let mut forged = cookie.to_vec();
        forged[bit / 8] ^= 1 << (bit % 8);
        let packet = Pkt::new(ack.kind, ack.seq).with(&[Opt::InitCookie(&forged)]);
        let answer = bench.answer(&packet);
        assert_eq!(answer.kind, reset(ack.seq, ResetCode::BAD_INIT_COOKIE));
        assert_eq!(answer.seq, response.seq.next());
        bench.now += Duration::from_millis(2);
    }
    for len in 0..cookie.len() {
        let packet = Pkt::new(ack.kind, ack.seq).with(&[Opt::InitCookie(&cookie[..len])]);
        assert!(bench.answer(&packet).is_reset(ResetCode::BAD_INIT_COOKIE));
        bench.now += Duration::from_millis(2);
    }
    assert_eq!(bench.endpoint.connections(), 0);
    bench.give(&ack);
    assert_eq!(
        bench.endpoint.connections(),
        1,
        "the true one is still good"
    );
}

#[test]
fn a_cookie_is_good_on_its_own_flow_only() {
    // 4340-8.1.4-4
    let (mut bench, _, ack) = offered();
    let mut other_host = Bench::flow();
    other_host.path.remote = std::net::Ipv4Addr::new(192, 0, 2, 3).into();
    let other_port = Flow {
        remote_port: crate::bench::PEER_PORT + 1,
        ..Bench::flow()
    };
    for flow in [other_host, other_port] {
        bench.give_on(&flow, &ack);
        assert_eq!(bench.count_sent(), 1);
    }
    assert_eq!(bench.dropped(DropReason::BadInitCookie), 2);
    assert_eq!(bench.endpoint.connections(), 0);
}

#[test]
fn a_cookie_opens_nothing_once_its_service_code_has_no_listener() {
    // 5595-3.3.1-2
    let (mut bench, _, ack) = offered();
    bench.endpoint.unlisten(OUR_PORT);
    let other = [ServiceCode(1)];
    let listened = bench.endpoint.listen(OUR_PORT, &other, Bench::config());
    assert_eq!(listened, Ok(()));
    assert!(bench.answer(&ack).is_reset(ResetCode::NO_CONNECTION));
    assert_eq!(bench.endpoint.connections(), 0);
}

#[test]
fn a_cookie_of_another_secret_is_bad() {
    // 4340-8.1.4-3
    let (_, _, ack) = offered();
    let config = Config {
        cookie_threshold: 0,
        ..Bench::config()
    };
    let mut other = Bench::keyed(8).listen(config);
    assert!(other.answer(&ack).is_reset(ResetCode::BAD_INIT_COOKIE));
}

#[test]
fn a_cookie_is_good_for_thirty_seconds() {
    // 4340-8.1.4-3
    for (age, is_good) in [(30 * SECOND, true), (30 * SECOND + NANOSECOND, false)] {
        let (mut bench, _, ack) = offered();
        bench.now += age;
        let sent = bench.answers(&ack);
        assert_eq!(bench.endpoint.connections(), usize::from(is_good));
        let is_refused = sent.iter().any(|p| p.is_reset(ResetCode::BAD_INIT_COOKIE));
        assert_eq!(is_refused, !is_good);
    }
}

#[test]
fn a_closed_connection_is_not_opened_again_by_recorded_packets() {
    // 4340-18-7: a Close of the client leaves no TIMEWAIT at the server.
    let (mut bench, response, ack) = offered();
    bench.answers(&ack);
    let mut recorded = vec![ack];
    for n in 0..50 {
        let kind = Kind::DataAck { ack: response.seq };
        recorded.push(bench.next(kind).with_payload(&[n]));
    }
    recorded.push(bench.next(Kind::Close { ack: response.seq }));
    for packet in &recorded[1..] {
        bench.answers(packet);
    }
    assert_eq!(bench.got().len(), 50);
    assert_eq!(bench.endpoint.connections(), 0);
    let cookies = cookies_of(&recorded[0]);
    for wait in [0, 10, 29] {
        for packet in &recorded {
            // Whatever packet the cookie comes with.
            let with_cookie = packet.clone().with(&cookies);
            for packet in [packet, &with_cookie] {
                bench.answers(packet);
                bench.now += Duration::from_millis(1);
            }
        }
        assert_eq!(
            (bench.got().len(), bench.endpoint.connections()),
            (50, 0),
            "{wait}"
        );
        bench.now += wait * SECOND;
    }
}

#[test]
fn another_cookie_of_the_same_flow_is_void_once_one_is_redeemed() {
    // 4340-18-7: a client that repeated its Request holds two.
    let (mut bench, _, first) = offered();
    bench.now += SECOND;
    let request = bench.next(Kind::Request { service: SERVICE });
    let response = bench.answer(&request);
    let second = bench.next(Kind::Ack { ack: response.seq });
    let second = second.with(&cookies_of(&response));
    bench.answers(&second.clone().with_raw_options(&confirms_for(&response)));
    assert_eq!(bench.state(), State::Open);
    let close = bench.next(Kind::Close { ack: response.seq });
    bench.answers(&close);
    assert_eq!(bench.endpoint.connections(), 0);
    for packet in [first, second] {
        let answers = bench.answers(&packet);
        assert!(answers[0].is_reset(ResetCode::BAD_INIT_COOKIE));
    }
    // The client itself may come back.
    bench.now += SECOND;
    let request = bench.next(Kind::Request { service: SERVICE });
    let response = bench.answer(&request);
    let ack = bench.next(Kind::Ack { ack: response.seq });
    let ack = ack.with(&cookies_of(&response));
    bench.answers(&ack.with_raw_options(&confirms_for(&response)));
    assert_eq!(bench.state(), State::Open);
}

#[test]
fn a_cookie_outlives_the_key_that_made_it_by_one_epoch() {
    // 4340-18-7: keys change every minute, and a cookie of the minute before is good.
    for wait in 0..70 {
        let mut bench = guarded();
        bench.now += wait * SECOND;
        let request = bench.next(Kind::Request { service: SERVICE });
        let response = bench.answer(&request);
        let ack = bench.next(Kind::Ack { ack: response.seq });
        let ack = ack.with(&cookies_of(&response));
        bench.now += 29 * SECOND;
        bench.answers(&ack.with_raw_options(&confirms_for(&response)));
        assert_eq!(bench.state(), State::Open, "{wait} s");
    }
}

#[test]
fn a_cookie_on_a_request_or_data_packet_is_ignored() {
    // 4340-8.1.4-1
    let (mut bench, response, ack) = offered();
    let cookies = cookies_of(&response);
    let data = Pkt::new(Kind::Data, ack.seq).with(&cookies);
    assert!(bench.answer(&data).is_reset(ResetCode::NO_CONNECTION));
    let bad = Pkt::new(Kind::Request { service: SERVICE }, ack.seq).with(&[Opt::InitCookie(&[1])]);
    assert_eq!(bench.answer(&bad).packet_type(), PacketType::Response);
    let kind = reset(response.seq, ResetCode::ABORTED);
    assert_eq!(bench.answers(&Pkt::new(kind, ack.seq).with(&cookies)), []);
    assert_eq!(bench.endpoint.connections(), 0);
    // Without a cookie there is no connection.
    let plain = Pkt::new(ack.kind, ack.seq);
    assert!(bench.answer(&plain).is_reset(ResetCode::NO_CONNECTION));
}

#[test]
fn a_cookie_does_not_help_a_wrong_ackno() {
    // 4340-7.5.3-1: the connection is made again, and the packet has to fit it.
    let (mut bench, response, ack) = offered();
    let kind = Kind::Ack {
        ack: response.seq.next(),
    };
    let packet = Pkt {
        kind,
        ..ack.clone()
    };
    assert_eq!(bench.answer(&packet).kind, Kind::Sync { ack: ack.seq });
    assert_eq!(bench.state(), State::Respond);
}

#[test]
fn once_open_cookies_are_ignored() {
    // 4340-8.1.4-1
    for mut bench in Bench::open_both(&Bench::config()) {
        for bytes in [&b"cookie"[..], &[]] {
            let ack = bench.next(Kind::Ack { ack: bench.gss });
            bench.answers(&ack.with(&[Opt::InitCookie(bytes)]));
        }
        assert_eq!(bench.state(), State::Open);
        bench.send(b"x");
        assert_eq!(bench.take_one().kind, Kind::Data);
    }
}

#[test]
fn a_request_whose_options_no_cookie_can_hold_is_too_busy() {
    // 4340-8.1.3-1
    for (len, code) in [(198, None), (199, Some(ResetCode::TOO_BUSY))] {
        let mut bench = guarded();
        let mut options = vec![60, len];
        options.resize(usize::from(len), 7);
        options.resize(usize::from(len).next_multiple_of(4), 0);
        let request = bench.next(Kind::Request { service: SERVICE });
        let answer = bench.answer(&request.with_raw_options(&options));
        // Of the option area, a whole number of words, the zeros at the end do not count.
        assert_eq!(answer.reset_code(), code);
    }
}

#[test]
fn a_cookie_keeps_options_that_end_in_zeros() {
    // 4340-8.1.4-4: the Sequence Window 1024 ends in a zero, and Padding follows.
    let mut bench = guarded();
    let window = FeatureOpt {
        feature: 3,
        values: &[0, 0, 0, 0, 4, 0],
    };
    let request = bench.next(Kind::Request { service: SERVICE });
    let request = request
        .with(&[Opt::ChangeL(window)])
        .with_raw_options(&[0; 80]);
    let response = bench.answer(&request);
    assert!(response.opts().contains(&Opt::ConfirmR(window)));
    let [Opt::InitCookie(cookie)] = cookies_of(&response)[..] else {
        panic!("{response:?}")
    };
    assert!(cookie.len() <= 40 + 9, "the Padding is left out");
    let ack = bench.next(Kind::Ack { ack: response.seq });
    let ack = ack.with(&cookies_of(&response));
    bench.answers(&ack.with_raw_options(&confirms_for(&response)));
    assert_eq!(bench.state(), State::Open);
    assert_eq!(bench.snapshot().peer_sequence_window, 1024);
}

#[test]
fn a_connection_opened_by_a_cookie_is_like_any_other() {
    // 4340-8.1.4-4: the features of CCID 3 are negotiated in packets that leave no state.
    let client = Config {
        tx_ccids: vec![3],
        rx_ccids: vec![3],
        ndp_count: true,
        min_cscov: 1,
        sequence_window: 500,
        data_checksum: true,
        ..Bench::config()
    };
    let server = |cookie_threshold| Config {
        tx_ccids: vec![3, 2],
        rx_ccids: vec![3, 2],
        sequence_window: 300,
        cookie_threshold,
        ..Bench::config()
    };
    let run = |cookie_threshold| {
        let delay = Duration::from_millis(20);
        let mut pair = Pair::connecting(delay, client.clone(), server(cookie_threshold));
        pair.run(SECOND);
        for end in [CLIENT, SERVER] {
            for n in 0..20 {
                pair.ends[end].send(&[n]);
            }
        }
        pair.run(30 * SECOND);
        pair
    };
    let (with, without) = (run(0), run(1));
    assert_eq!(with.ends[SERVER].endpoint.stats().counters.cookies_sent, 1);
    assert_eq!(
        without.ends[SERVER].endpoint.stats().counters.cookies_sent,
        0
    );
    for end in [CLIENT, SERVER] {
        let conn = |pair: &Pair| {
            let end = &pair.ends[end];
            let conn = end.endpoint.connection(end.id.unwrap()).unwrap();
            let value = |f: &Feature| [conn.feature(true, *f), conn.feature(false, *f)];
            let features: Vec<_> = Feature::ALL.iter().map(value).collect();
            (conn.state(), conn.service(), features)
        };
        assert_eq!(conn(&with), conn(&without));
        assert_eq!(with.ends[end].got().len(), 20);
    }
}

#[test]
fn a_client_echoes_all_cookies_until_one_has_arrived() {
    // 4340-8.1.4-2, 4340-8.1.5-1
    let cookies = [Opt::InitCookie(b"first"), Opt::InitCookie(&[7; 253])];
    let (mut bench, request) = Bench::requesting(Bench::config());
    let response = bench.response_to(&request).with(&cookies);
    let first = bench.answer(&response);
    assert_eq!(first.kind, Kind::Ack { ack: response.seq });
    assert_eq!(cookies_of(&first), cookies);
    // The timer's Acks and Syncs, answers to Syncs, and data.
    let mut sent: Vec<_> = bench
        .advance(4 * SECOND)
        .into_iter()
        .map(|(_, p)| p)
        .collect();
    assert!(sent.iter().any(|p| p.packet_type() == PacketType::Sync));
    let sync = bench.next(Kind::Sync { ack: bench.gss });
    sent.extend(bench.answers(&sync));
    bench.send(b"data");
    sent.extend(bench.take());
    // Data of the server opens the connection, but names none of our packets.
    bench.give_next(Kind::Data);
    assert_eq!(bench.state(), State::Open);
    bench.send(b"more");
    sent.extend(bench.take());
    for p in &sent {
        assert_eq!(cookies_of(p), cookies, "{p:?}");
        assert_ne!(p.packet_type(), PacketType::Data);
    }
    // An acknowledgement of the Request is older than the cookies.
    bench.give_next(Kind::Ack { ack: request.seq });
    bench.send(b"still");
    let data = bench.take_one();
    assert_eq!(
        (data.packet_type(), cookies_of(&data)),
        (PacketType::DataAck, cookies.to_vec())
    );
    let ack = bench.next(Kind::Ack { ack: first.seq }).with(&[RECEIVED]);
    bench.answers(&ack);
    bench.send(b"done");
    assert_eq!(bench.take_one().kind, Kind::Data);
}

#[test]
fn a_sync_ack_shows_that_cookies_have_arrived() {
    // 4340-8.1.4-2, AMB-11
    let (mut bench, request) = Bench::requesting(Bench::config());
    let response = bench.response_to(&request).with(&[Opt::InitCookie(b"c")]);
    bench.answer(&response);
    bench.advance(4 * SECOND);
    let sync_ack = bench.next(Kind::SyncAck { ack: bench.gss });
    bench.answers(&sync_ack);
    assert_eq!(bench.state(), State::Open);
    bench.send(b"data");
    assert_eq!(bench.take_one().kind, Kind::Data);
}

#[test]
fn a_client_echoes_the_cookies_of_the_response_that_it_names() {
    // 4340-8.1.4-2, AMB-6: a second Response, to a repeated Request, has cookies of its own.
    let (mut bench, request) = Bench::requesting(Bench::config());
    let old = [Opt::InitCookie(b"old"), Opt::InitCookie(b"older")];
    let response = bench.response_to(&request).with(&old);
    bench.answer(&response);
    let new = [Opt::InitCookie(b"new")];
    let response = bench.response_to(&request).with(&new);
    let ack = bench.first_answer(&response);
    assert_eq!(ack.kind, Kind::Ack { ack: response.seq });
    assert_eq!(cookies_of(&ack), new);
    // A third one arrives late: the newest is still the one that is named.
    let late = Pkt::new(response.kind, response.seq.minus(1)).with(&old);
    let ack = bench.first_answer(&late);
    assert_eq!(ack.kind, Kind::Ack { ack: response.seq });
    assert_eq!(cookies_of(&ack), new);
}

#[test]
fn cookies_that_no_response_brought_are_ignored() {
    // 4340-8.1.4-1
    let mut bench = Bench::partopen_client(Bench::config());
    let ack = bench
        .next(Kind::Sync { ack: bench.gss })
        .with(&[Opt::InitCookie(b"c")]);
    assert_eq!(cookies_of(&bench.first_answer(&ack)), []);
    let (mut bench, _) = Bench::responding(Bench::config());
    let request = bench.next(Kind::Request { service: SERVICE });
    let response = bench.answer(&request.with(&[Opt::InitCookie(b"c")]));
    assert_eq!(cookies_of(&response), []);
}

#[test]
fn as_many_cookies_as_a_response_can_hold_are_echoed() {
    // 4340-8.1.4-2, 4340-8.1.4-4
    let cookie = Opt::InitCookie(&[7; 253]);
    let cookies = [cookie; 3];
    let (mut bench, request) = Bench::requesting(Bench::config());
    let response = bench.response_to(&request).with(&cookies);
    assert_eq!(cookies_of(&bench.answer(&response)), cookies);
}

#[test]
fn data_that_leave_no_room_for_cookies_wait_for_a_sync_ack() {
    // 4340-8.1.4-2, 4340-14-3
    let (mut bench, request) = Bench::requesting(Bench::config());
    let cookies = [Opt::InitCookie(&[7; 253])];
    let response = bench.response_to(&request).with(&cookies);
    bench.answer(&response);
    bench.send(&vec![9; bench.snapshot().mps]);
    let sync = bench.take_one();
    assert_eq!(sync.packet_type(), PacketType::Sync);
    assert_eq!(cookies_of(&sync), cookies);
    assert_eq!(bench.take(), [], "one question is enough");
    let sync_ack = bench.next(Kind::SyncAck { ack: sync.seq });
    let data = bench.first_answer(&sync_ack);
    assert_eq!(
        (data.packet_type(), data.payload.len()),
        (PacketType::Data, bench.snapshot().mps)
    );
}

#[test]
fn two_requests_under_a_flood_open_one_connection() {
    // 4340-8.1.4-2, 4340-8.1.4-4: the first Response is late, so the Request is repeated; the
    // client then has two cookies.
    let server = Config {
        cookie_threshold: 0,
        ..Bench::config()
    };
    let mut pair = Pair::connecting(Duration::from_millis(700), Bench::config(), server);
    pair.net = Box::new(|_, _| Net::Deliver);
    pair.run(3 * SECOND);
    assert_eq!(pair.ends[SERVER].endpoint.stats().counters.cookies_sent, 2);
    pair.ends[CLIENT].send(b"hello");
    pair.run(10 * SECOND);
    assert_eq!(pair.ends[SERVER].got(), [b"hello"]);
    assert_eq!(pair.ends[SERVER].endpoint.connections(), 1);
    assert_eq!(pair.ends[CLIENT].state(), State::Open);
}
