//! Whether options find room beside data.

use crate::bench::pair::{CLIENT, Net, Pair, SERVER};
use crate::bench::{Bench, Pkt, SERVICE, confirms_for};
use dccp_proto::Config;
use dccp_proto::conn::State;
use dccp_proto::wire::{Feature, FeatureOpt, Kind, Opt, PacketType, header_len};
use std::time::Duration;

const SEND_RTT_ESTIMATE: u8 = 128;
const COOKIE: Opt<'static> = Opt::InitCookie(&[7; 253]);

fn ccid_3(mtu: usize) -> Config {
    Config {
        tx_ccids: vec![3],
        rx_ccids: vec![3],
        mtu,
        ..Bench::config()
    }
}

/// The options of a packet by their types.
fn kinds(packet: &Pkt) -> Vec<u8> {
    packet.opts().iter().map(Opt::kind).collect()
}

#[test]
fn a_full_data_packet_has_all_options_that_were_agreed_on() {
    // 4340-14-1, 4340-9.3-1, 4340-7.7-1, 6323-3.3-1: 44 Data Checksum, 37 NDP Count, 128 RTT Estimate.
    let config = Config {
        data_checksum: true,
        ndp_count: true,
        pacing: false,
        dead_after: None,
        ..ccid_3(1100)
    };
    let mut bench = Bench::open_server(config);
    let change = Opt::ChangeR(FeatureOpt {
        feature: SEND_RTT_ESTIMATE,
        values: &[1],
    });
    let ack = bench.next(Kind::Ack { ack: bench.gss }).with(&[change]);
    bench.give(&ack);
    bench.advance(Duration::from_secs(1));
    let full = vec![7; bench.snapshot().mps];
    bench.send(&full);
    let sent = bench.take_one();
    assert_eq!(sent.payload, full);
    assert_eq!(sent.packet_type(), PacketType::Data);
    for kind in [44, 37, 128] {
        assert!(kinds(&sent).contains(&kind), "{kind}: {:?}", sent.opts());
    }
    // An acknowledgement beside it takes nothing from the options of data.
    bench.advance(Duration::from_mins(2));
    let data = bench.next(Kind::Data).with_payload(b"data");
    bench.give(&data);
    bench.send(&full[..full.len() - 300]);
    let sent = bench.take_one();
    assert_eq!(sent.packet_type(), PacketType::DataAck);
    for kind in [44, 128, 194] {
        assert!(kinds(&sent).contains(&kind), "{kind}: {:?}", sent.opts());
    }
}

/// A client in PARTOPEN whose Response carried these cookies.
fn with_cookies(config: Config, cookies: &[Opt<'_>]) -> (Bench, Pkt) {
    let (mut bench, request) = Bench::requesting(config);
    let kind = Kind::Response {
        ack: request.seq,
        service: SERVICE,
    };
    let response = bench
        .next(kind)
        .with(cookies)
        .with_raw_options(&confirms_for(&request));
    (bench, response)
}

#[test]
fn data_without_room_for_the_cookies_wait_until_these_need_not_be_echoed() {
    // 4340-8.1.4-2, 4340-8.1.5-1: to a server that keeps no state they would be from nowhere.
    let (mut bench, response) = with_cookies(Bench::config(), &[COOKIE]);
    let full = vec![7; bench.snapshot().mps];
    bench.send(&full);
    let ack = bench.answers(&response).remove(0);
    assert_eq!(
        (ack.packet_type(), ack.opts()[0]),
        (PacketType::Ack, COOKIE)
    );
    let sent = bench.advance(Duration::from_secs(2));
    assert!(!sent.is_empty());
    for (_, packet) in &sent {
        assert!(packet.payload.is_empty());
        assert!(kinds(packet).contains(&36), "{packet:?}");
    }
    let ack = bench.next(Kind::Ack { ack: ack.seq });
    let sent = bench.answers(&ack);
    assert_eq!(bench.state(), State::Open);
    assert!(sent.iter().any(|p| p.payload == full));
}

#[test]
fn small_data_travel_with_the_cookies() {
    // 4340-8.1.4-2, 4340-8.1.5-1
    let (mut bench, response) = with_cookies(Bench::config(), &[COOKIE]);
    bench.send(b"small");
    let sent = bench.answers(&response).remove(0);
    assert_eq!(sent.packet_type(), PacketType::DataAck);
    assert!(kinds(&sent).contains(&36));
    assert_eq!(sent.payload, b"small");
}

#[test]
fn cookies_are_echoed_in_open_until_the_server_has_them() {
    // 4340-8.1.4-2: data that open the connection acknowledge nothing.
    let (mut bench, response) = with_cookies(Bench::config(), &[COOKIE]);
    bench.answers(&response);
    bench.give_next(Kind::Data);
    bench.take();
    assert_eq!(bench.state(), State::Open);
    let mut sent = 0;
    for _ in 0..3 {
        bench.send(b"small");
        for packet in bench.take() {
            sent += 1;
            assert_eq!(packet.packet_type(), PacketType::DataAck);
            assert!(kinds(&packet).contains(&36), "{packet:?}");
        }
    }
    assert!(sent > 0);
    let ack = bench.next(Kind::Ack { ack: bench.gss });
    bench.give(&ack);
    bench.send(b"small");
    let sent = bench.advance(Duration::from_secs(1));
    assert!(sent.iter().any(|(_, p)| p.payload == b"small"));
    assert!(
        sent.iter().all(|(_, p)| !kinds(p).contains(&36)),
        "{sent:?}"
    );
}

#[test]
fn feedback_that_finds_no_room_beside_cookies_is_not_tried_without_end() {
    // A server that fills the client's packets with its cookies.
    let (mut bench, response) = with_cookies(ccid_3(576), &[COOKIE, COOKIE]);
    bench.answers(&response);
    assert_eq!(bench.state(), State::PartOpen);
    for _ in 0..20 {
        let data = bench.next(Kind::Data).with_payload(b"data");
        let mut batch = dccp_proto::batch::Batch::new(1);
        bench.give(&data);
        let mut packets = 0;
        let now = bench.now;
        while bench
            .endpoint
            .poll_transmit(now, &mut bench.app, &mut batch)
        {
            batch.clear();
            packets += 1;
            assert!(packets < 4);
        }
        assert!(bench.advance(Duration::from_millis(100)).len() < 4);
    }
}

#[test]
fn acknowledgement_leaves_alone_when_its_data_are_withdrawn() {
    // 4340-6.6.1-1, 4340-11.2-1: the Confirm and the feedback are said once, with the Ack.
    let config = Config {
        data_checksum: true,
        ..ccid_3(1100)
    };
    let mut bench = Bench::open_server(config);
    let window = FeatureOpt {
        feature: 3,
        values: &[0, 0, 0, 0, 2, 0],
    };
    let data = bench
        .next(Kind::DataAck { ack: bench.gss })
        .with(&[Opt::ChangeL(window)])
        .with_payload(b"data");
    bench.give(&data);
    let next = bench.gss.next();
    bench.send_and_take_back(b"never mind");
    let sent = bench.take_one();
    assert_eq!((sent.kind, sent.seq), (Kind::Ack { ack: data.seq }, next));
    assert!(sent.opts().contains(&Opt::ConfirmR(window)));
    // 193 Loss Intervals, 194 Receive Rate; 44 would be a Data Checksum of nothing.
    assert!(kinds(&sent).contains(&193) && kinds(&sent).contains(&194));
    assert!(!kinds(&sent).contains(&44));
    assert_eq!(bench.stats().counters.data_sent, 0);
    // The next datagram has the next number.
    bench.send(b"this");
    assert_eq!(bench.advance(Duration::from_secs(2))[0].1.seq, next.next());
}

/// Bytes of the whole packet over UDP and IPv4.
fn size(packet: &Pkt) -> usize {
    let headers = header_len(packet.packet_type(), packet.is_short, packet.options.len());
    20 + 8 + headers + packet.payload.len()
}

/// A client with nearly every feature connects over a path that loses its first Request and what is larger than 296 bytes.
fn over_the_narrowest_path(cookie_threshold: usize) -> Pair {
    let server = Config {
        cookie_threshold,
        ..Bench::all_features()
    };
    let delay = Duration::from_millis(50);
    let mut pair = Pair::connecting(delay, Bench::all_features(), server);
    let mut has_lost = false;
    pair.net = Box::new(move |_, packet| {
        let is_first = !core::mem::replace(&mut has_lost, true);
        if is_first || size(packet) > 296 {
            Net::Lose
        } else {
            Net::Deliver
        }
    });
    pair.run(Duration::from_secs(3));
    for end in [CLIENT, SERVER] {
        for n in 0..20 {
            pair.ends[end].send(&[n; 100]);
        }
    }
    pair.run(Duration::from_mins(1));
    pair
}

#[test]
fn a_client_with_all_features_connects_by_a_cookie_on_a_path_of_296_bytes() {
    // 4340-8.1.4-4, 4340-14.1-7, 4340-18-5
    let [with, without] = [0, 1].map(over_the_narrowest_path);
    let cookies_sent = |pair: &Pair| pair.ends[SERVER].endpoint.stats().counters.cookies_sent;
    assert_eq!((cookies_sent(&with), cookies_sent(&without)), (1, 0));
    let [request, response] = [CLIENT, SERVER].map(|end| {
        let mut sent = with.sent(end).map(|(_, packet)| packet);
        // The first Request was lost.
        sent.nth(1 - end).unwrap()
    });
    assert_eq!(request.packet_type(), PacketType::Request);
    assert_eq!(response.packet_type(), PacketType::Response);
    let (asked, answered) = (size(request), size(response));
    assert!(
        answered <= 296 && 2 * answered <= 3 * asked,
        "{asked}: {answered}"
    );
    // Some answers found no room in the Response, and are negotiated later.
    assert!(confirms_for(request).len() + 48 + 254 > 296 - 28);
    for end in [CLIENT, SERVER] {
        let features = |pair: &Pair| {
            let end = &pair.ends[end];
            assert_eq!(end.state(), State::Open);
            let conn = end.endpoint.connection(end.id.unwrap()).unwrap();
            let value = |f: &Feature| [conn.feature(true, *f), conn.feature(false, *f)];
            Feature::ALL.iter().map(value).collect::<Vec<_>>()
        };
        assert_eq!(features(&with), features(&without));
        assert_eq!(with.ends[end].got().len(), 20);
    }
}
