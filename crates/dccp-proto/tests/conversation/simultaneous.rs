//! Both ends open at about the same time (RFC 5596).

use crate::bench::pair::{CLIENT, Net, Pair, SERVER};
use crate::bench::{Bench, OUR_PORT, Pkt, SERVICE, reset};
use dccp_proto::conn::State;
use dccp_proto::conn::stats::DropReason;
use dccp_proto::wire::{Ecn, Kind, Opt, PacketType, ResetCode, ServiceCode};
use dccp_proto::{CloseReason, Event, IcmpKind, Seq};
use std::time::Duration;

const MS_200: Duration = Duration::from_millis(200);

fn inviting() -> Bench {
    let mut bench = Bench::new();
    let id = bench
        .endpoint
        .open_simultaneously(bench.now, Bench::flow(), Bench::config());
    bench.id = Some(id.unwrap());
    bench
}

fn listen1() -> Bench {
    let mut bench = inviting();
    bench.advance(3 * MS_200);
    assert_eq!(bench.state(), State::Listen1);
    bench
}

#[test]
fn a_server_invites_three_times() {
    // 5596-2.2.2-1, 5596-2.2.1-1
    let mut bench = inviting();
    let sent = bench.advance(Duration::from_millis(599));
    let at: Vec<_> = sent.iter().map(|(at, _)| at.as_millis()).collect();
    assert_eq!(at, [0, 200, 400]);
    for (_, p) in &sent {
        let mut listen = Pkt::new(Kind::Listen { service: SERVICE }, Seq::ZERO);
        listen.ecn = Ecn::NotEct;
        assert_eq!(p, &listen);
    }
    assert_eq!(bench.stats().packets_out.of(PacketType::Listen), 3);
    assert_eq!(bench.state(), State::Invited);
    assert_eq!(bench.advance(Duration::from_millis(1)), []);
    assert_eq!(bench.state(), State::Listen1);
    // It waits as long as a client would and gives up without sending.
    assert_eq!(bench.advance(Duration::from_mins(3)), []);
    assert_eq!(bench.events, [Event::Closed(CloseReason::TimedOut)]);
    assert_eq!(bench.endpoint.connections(), 0);
}

#[test]
fn an_invited_request_opens_the_connection() {
    // 5596-2.2.2-2
    for mut bench in [inviting(), listen1()] {
        bench.take();
        let request = bench.next(Kind::Request { service: SERVICE });
        let response = bench.answer(&request);
        let expected = Kind::Response {
            ack: request.seq,
            service: SERVICE,
        };
        assert_eq!(response.kind, expected);
        assert_eq!(bench.state(), State::Respond);
        assert_eq!(bench.stats().mib.passive_opens, 1);
        let later = bench.advance(Duration::from_secs(2));
        assert_eq!(later, [], "no more Listens");
        bench.answers_next(Kind::Ack { ack: response.seq });
        assert_eq!(bench.state(), State::Open);
        assert_eq!(bench.events, [Event::Connected]);
    }
}

#[test]
fn an_invited_request_may_carry_data_and_features() {
    // 5596-2.2.2-2: the steps go on as after LISTEN.
    let mut bench = inviting();
    bench.take();
    let request = bench.next(Kind::Request { service: SERVICE });
    let request = request.with_raw_options(&[32, 9, 3, 0, 0, 0, 0, 4, 0]);
    let response = bench.answer(&request.with_payload(b"query"));
    assert_eq!(bench.got(), [b"query"]);
    assert!(
        response
            .opts()
            .iter()
            .any(|o| matches!(o, Opt::ConfirmR(c) if c.feature == 3))
    );
}

#[test]
fn a_request_with_another_code_is_no_answer() {
    // 5596-2.2.2-2, 5595-3.3.1-2
    for mut bench in [inviting(), listen1()] {
        bench.take();
        let state = bench.state();
        let request = bench.next(Kind::Request {
            service: ServiceCode(1),
        });
        let answer = bench.answer(&request);
        assert_eq!(answer.kind, reset(request.seq, ResetCode::BAD_SERVICE_CODE));
        assert_eq!(bench.state(), state);
    }
}

#[test]
fn before_the_request_everything_else_is_answered_by_no_connection() {
    // 5596-2.2.2-3, 5596-2.2.2-5
    for mut bench in [inviting(), listen1()] {
        bench.take();
        let state = bench.state();
        let ack = Seq::new(77);
        for kind in [
            Kind::Response {
                ack,
                service: SERVICE,
            },
            Kind::Data,
            Kind::Ack { ack },
            Kind::DataAck { ack },
            Kind::CloseReq { ack },
            Kind::Close { ack },
            Kind::Sync { ack },
            Kind::SyncAck { ack },
        ] {
            bench.is_unknown(kind);
        }
        assert_eq!(bench.answers_next(reset(ack, ResetCode::ABORTED)), []);
        assert_eq!(bench.answers_next(Kind::Listen { service: SERVICE }), []);
        assert_eq!(bench.dropped(DropReason::UnwantedListen), 1);
        assert_eq!(bench.state(), state);
    }
}

#[test]
fn an_inviting_server_survives_icmp_errors() {
    // 5596-2.2.2-4
    for mut bench in [inviting(), listen1()] {
        bench.take();
        let state = bench.state();
        let quoted = Bench::encode(
            &dccp_proto::path::Flow {
                path: Bench::path().reversed(),
                local_port: crate::bench::PEER_PORT,
                remote_port: OUR_PORT,
            },
            &Pkt::new(Kind::Listen { service: SERVICE }, Seq::ZERO),
        );
        bench.give_icmp(&quoted, IcmpKind::Unreachable { kind: 3, code: 3 });
        bench.give_icmp(&quoted[..8], IcmpKind::Unreachable { kind: 3, code: 3 });
        assert_eq!((bench.state(), bench.take()), (state, vec![]));
    }
}

#[test]
fn closing_before_the_request_sends_nothing() {
    for mut bench in [inviting(), listen1()] {
        bench.close();
        let sent = bench.take();
        assert_eq!(sent, []);
        assert_eq!(bench.events, [Event::Closed(CloseReason::Local)]);
        assert_eq!(bench.endpoint.connections(), 0);
    }
}

#[test]
fn listeners_and_strangers_ignore_a_listen() {
    // 5596-2.2.2-5
    for mut bench in [Bench::new(), Bench::listening(Bench::config())] {
        assert_eq!(bench.answers_next(Kind::Listen { service: SERVICE }), []);
        assert_eq!(bench.dropped(DropReason::UnwantedListen), 1);
    }
}

#[test]
fn connections_ignore_a_listen_in_every_state() {
    // 5596-2.2.3-1, 5596-2.2.1-2, 5596-2.2.2-5: its number, options and data mean nothing.
    let benches = [
        Bench::responding(Bench::config()).0,
        Bench::partopen_client(Bench::config()),
        Bench::open_client(Bench::config()),
        Bench::open_server(Bench::config()),
    ];
    for mut bench in benches {
        let before = bench.snapshot();
        let gsr = bench.peer_gss;
        for seq in [Seq::ZERO, gsr.next(), gsr.plus(1000)] {
            let listen = Pkt::new(Kind::Listen { service: SERVICE }, seq)
                .with_raw_options(&[1, 31, 0, 0])
                .with_payload(b"data");
            assert_eq!(bench.answers(&listen), [], "{:?} {seq}", bench.state());
        }
        assert_eq!(bench.snapshot(), before);
        assert!(bench.got().is_empty());
        assert_eq!(bench.dropped(DropReason::UnwantedListen), 3);
        // GSR did not move.
        let sync = Pkt::new(Kind::Sync { ack: bench.gss }, gsr.plus(75));
        assert_eq!(bench.first_answer(&sync).packet_type(), PacketType::SyncAck);
    }
}

#[test]
fn the_first_listen_hurries_one_request() {
    // 5596-2.2.3.1-1
    let (mut bench, request) = Bench::requesting(Bench::config());
    bench.now += Duration::from_millis(300);
    let listen = Pkt::new(Kind::Listen { service: SERVICE }, Seq::ZERO)
        .with_raw_options(&[1, 31, 0, 0])
        .with_payload(b"data");
    let hurried = bench.answer(&listen);
    assert_eq!(
        (hurried.kind, hurried.seq),
        (request.kind, request.seq.next())
    );
    for _ in 0..5 {
        assert_eq!(bench.answers(&listen), []);
    }
    assert_eq!(bench.dropped(DropReason::UnwantedListen), 6);
    // The timer has backed off: 2 s after the hurried one, then 4 s.
    let sent = bench.advance(Duration::from_secs(8));
    let at: Vec<_> = sent.iter().map(|(at, _)| at.as_millis()).collect();
    assert_eq!(at, [2000, 6000]);
}

#[test]
fn behind_two_nats_the_connection_opens_within_600_ms_and_a_round_trip() {
    // 5596-2-1: the client's NAT drops the first Listen, the server's the first Request.
    let delay = Duration::from_millis(40);
    for (client_at, server_at) in [(0, 0), (0, 100), (100, 0), (0, 350), (350, 0)] {
        let mut pair = Pair::new(delay);
        let mut has_sent = [false; 2];
        // A NAT lets nothing in before its own host has sent something.
        pair.net = Box::new(move |from, _| {
            has_sent[from] = true;
            if has_sent[1 - from] {
                Net::Deliver
            } else {
                Net::Lose
            }
        });
        for ms in 0..=350 {
            if ms == client_at {
                pair.connect(Bench::config());
            }
            if ms == server_at {
                let flow = Pair::flow(SERVER);
                let server = &mut pair.ends[SERVER];
                let id = server
                    .endpoint
                    .open_simultaneously(pair.now, flow, Bench::config());
                server.id = Some(id.unwrap());
            }
            pair.run(Duration::from_millis(1));
        }
        pair.run(Duration::from_secs(1));
        let later = Duration::from_millis(client_at.max(server_at));
        let response = pair
            .sent(SERVER)
            .find(|(_, p)| p.packet_type() == PacketType::Response);
        let (at, _) = response.unwrap();
        assert!(at <= later + Duration::from_millis(600) + delay, "{at:?}");
        assert_eq!(pair.ends[SERVER].state(), State::Open);
        pair.ends[CLIENT].send(b"hello");
        pair.run(Duration::from_secs(1));
        assert_eq!(pair.ends[SERVER].got(), [b"hello"]);
        assert_eq!(pair.ends[CLIENT].state(), State::Open);
    }
}
