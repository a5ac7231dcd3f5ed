//! Data over a connection: all of it arrives, once and unchanged, and the books of both ends agree.

use core::time::Duration;
use dccp_proto::Config;
use dccp_sim::loss::Jitter;
use dccp_sim::pair::{End, Pair, Profile, Setup, for_both_peers};
use dccp_sim::source::{App, Closing, Message, Reading, Source, Spread};

const SECOND: Duration = Duration::from_secs(1);

/// Sends these messages, 10 ms apart, and keeps what comes back.
fn script(messages: Vec<Message>) -> App {
    let pause = Duration::from_millis(10);
    let times = (0..).map(|n| pause * n);
    App {
        source: Source::Script(times.zip(messages).collect()),
        keeps: true,
        ..App::default()
    }
}

fn words(n: usize) -> Vec<Message> {
    let word = |i: usize| Message::Bytes(format!("message {i}").into_bytes());
    (0..n).map(word).collect()
}

#[test]
fn bytes_and_zeros_come_back_unchanged_and_in_order() {
    for ccid in [2, 3] {
        for_both_peers(|peer| {
            let setup = Setup {
                client: Profile::ours().with_ccid(ccid),
                ..Setup::with_server(peer.with_ccid(ccid))
            };
            let mut messages = words(50);
            messages.extend((1..50).map(Message::Zeros));
            let mut pair = Pair::start(setup, script(messages.clone()), App::echo());
            pair.run_for(20 * SECOND);
            let came_back = pair.report(End::Client).messages;
            assert_eq!(came_back.len(), messages.len(), "CCID {ccid}");
            // Zeros may arrive counted or written out: they are the same bytes.
            for (sent, received) in messages.iter().zip(&came_back) {
                assert_eq!(bytes(sent), bytes(received));
            }
        });
    }
}

fn bytes(message: &Message) -> Vec<u8> {
    match message {
        Message::Zeros(n) => vec![0; *n],
        Message::Bytes(bytes) => bytes.clone(),
    }
}

#[test]
fn sent_is_delivered_plus_lost() {
    for ccid in [2, 3] {
        for_both_peers(|peer| {
            let setup = Setup {
                client: Profile::ours().with_ccid(ccid),
                ..Setup::with_server(peer.with_ccid(ccid))
            };
            let setup = setup.links(|link| link.faults.loss = 0.02);
            let mut pair = Pair::start(setup, App::bulk(1000, 1000), App::default());
            assert!(pair.run_until_closed(600 * SECOND), "CCID {ccid}");
            let (client, server) = (pair.report(End::Client), pair.report(End::Server));
            assert_eq!(client.sent, 1000);
            let lost = pair.world.link(pair.there).stats().lost.total();
            let missing = client.sent - server.received;
            assert!(
                (1..=lost).contains(&missing),
                "{missing} missing, {lost} lost"
            );
            assert_eq!(client.fates.total(), 1000, "each datagram has one fate");
            assert_eq!(client.in_flight, 0);
        });
    }
}

#[test]
fn data_flows_from_the_server_as_well() {
    for_both_peers(|peer| {
        let mut pair = Pair::start(
            Setup::with_client(peer),
            App::default(),
            App::bulk(500, 200),
        );
        assert!(pair.run_until_closed(60 * SECOND));
        let (client, server) = (pair.report(End::Client), pair.report(End::Server));
        assert_eq!((server.sent, client.received), (200, 200));
    });
}

#[test]
fn a_receiver_that_never_reads_takes_what_fits_its_buffer() {
    let app = App {
        reading: Reading::Never,
        receive_buffer: 10,
        ..App::default()
    };
    let mut pair = Pair::start(Setup::default(), App::bulk(100, 50), app);
    assert!(pair.run_until_closed(60 * SECOND));
    let (client, server) = (pair.report(End::Client), pair.report(End::Server));
    assert_eq!((client.sent, server.received, server.refused), (50, 0, 40));
    // 4340-11.7-1: the sender learns what the host dropped.
    assert!(client.fates.rx_dropped > 0, "{:?}", client.fates);
}

#[test]
fn ipv6_and_udp_carry_the_same() {
    for (is_v6, over_udp) in [(true, false), (false, true), (true, true)] {
        let setup = Setup {
            is_v6,
            over_udp,
            ..Setup::default()
        };
        let mut pair = Pair::start(setup, App::bulk(1000, 100), App::default());
        assert!(pair.run_until_closed(60 * SECOND));
        assert_eq!(
            pair.report(End::Server).received,
            100,
            "v6 {is_v6}, UDP {over_udp}"
        );
    }
}

#[test]
fn a_source_with_a_rhythm_keeps_it() {
    let app = App {
        source: Source::Cbr {
            len: 160,
            interval: Duration::from_millis(20),
            count: 100,
        },
        closing: Closing::WhenSent,
        ..App::default()
    };
    let mut pair = Pair::start(Setup::default(), app, App::default());
    assert!(pair.run_until_closed(10 * SECOND));
    let (client, server) = (pair.report(End::Client), pair.report(End::Server));
    assert_eq!((client.overflowed, server.received), (0, 100));
    let took = server.last_received.unwrap() - client.opened.unwrap();
    assert_eq!(
        took,
        Duration::from_secs(2),
        "99 pauses and 20 ms: the last leaves at once"
    );
}

#[test]
fn pings_measure_the_round_trip() {
    let pings = App {
        source: Source::Cbr {
            len: 64,
            interval: Duration::from_millis(100),
            count: 20,
        },
        stamps: true,
        ..App::default()
    };
    let mut pair = Pair::start(Setup::default(), pings, App::echo());
    pair.run_for(5 * SECOND);
    let ages: Vec<_> = (pair.report(End::Client).delays.iter())
        .map(|d| d.age)
        .collect();
    assert_eq!(ages, [Duration::from_millis(40); 20]);
}

#[test]
fn a_request_follows_the_answer_to_the_one_before() {
    let asks = App {
        source: Source::Requests {
            len: 100,
            answer: 2500,
            think: Spread::Fixed(Duration::from_millis(60)),
            patience: SECOND,
            count: 10,
        },
        closing: Closing::WhenSent,
        ..App::default()
    };
    let answers = App {
        answer: 2500,
        ..App::default()
    };
    for_both_peers(|peer| {
        let mut pair = Pair::start(Setup::with_server(peer), asks.clone(), answers.clone());
        assert!(pair.run_until_closed(10 * SECOND));
        let (client, server) = (pair.report(End::Client), pair.report(End::Server));
        assert_eq!((server.received, client.received), (10, 30));
        assert_eq!(client.received_bytes, 25_000);
        // Nine round trips and pauses, and the way there; pacing spreads an answer over part of a
        // round trip.
        let took = server.last_received.unwrap() - client.opened.unwrap();
        let least = 9 * Duration::from_millis(100) + Duration::from_millis(20);
        let most = least + 9 * Duration::from_millis(20);
        assert!((least..most).contains(&took), "{took:?}");
    });
}

#[test]
fn the_same_seed_gives_the_same_packets() {
    let run = |seed| {
        let setup = Setup {
            seed,
            ..Setup::default()
        };
        let setup = setup.links(|link| {
            link.faults.loss = 0.05;
            link.faults.jitter = Jitter::Uniform(Duration::from_millis(3));
        });
        let mut pair = Pair::start(setup, App::bulk(700, 200), App::echo());
        pair.run_until_closed(100 * SECOND);
        pair.world.trace()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn pacing_spreads_what_a_window_would_send_at_once() {
    let gap = |pacing| {
        let config = Config {
            pacing,
            ..Config::default()
        };
        let setup = Setup {
            client: Profile::Ours(config).with_ccid(2),
            ..Setup::default()
        };
        let mut pair = Pair::start(setup, App::bulk(1000, 200), App::default());
        assert!(pair.run_until_closed(60 * SECOND));
        let trace = pair.world.trace();
        let times: Vec<&str> = trace
            .lines()
            .filter(|l| l.contains("client>server Data"))
            .map(|l| &l[..10])
            .collect();
        let mut distinct = times.clone();
        distinct.dedup();
        (distinct.len(), times.len())
    };
    let ((paced, all), (bursts, _)) = (gap(true), gap(false));
    assert!(paced > all * 3 / 4, "{paced} moments for {all} packets");
    assert!(bursts < all / 2, "{bursts} moments for {all} packets");
}
