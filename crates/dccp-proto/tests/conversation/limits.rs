//! Floods, half-open connections, and ends that must fall silent (RFC 4340 §18).

use crate::bench::pair::{CLIENT, End, Net, Pair, SERVER};
use crate::bench::{Bench, OUR_PORT, Pkt, SERVICE, reset};
use dccp_proto::conn::State;
use dccp_proto::conn::stats::DropReason;
use dccp_proto::path::Flow;
use dccp_proto::wire::{Kind, Opt, PacketType, ResetCode, ServiceCode, header_len};
use dccp_proto::{CloseReason, ConnectError, Event, ListenError, Seq};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn no_more_than_1024_resets_a_second_answer_strangers() {
    // 4340-8.1.3-1, 4340-18-2, 4340-18-3: over all flows together.
    let mut bench = Bench::new();
    let mut resets = 0;
    for n in 0..10_000_u64 {
        let flow = Flow {
            remote_port: u16::try_from(n % 50_000).unwrap(),
            ..Bench::flow()
        };
        let kind = match n % 3 {
            0 => Kind::Request { service: SERVICE },
            1 => Kind::Data,
            _ => Kind::Ack { ack: Seq::new(n) },
        };
        bench.give_on(&flow, &Pkt::new(kind, Seq::new(n)));
        resets += bench.count_sent();
        bench.now += Duration::from_nanos(99_990);
    }
    assert_eq!(resets, 1024);
    assert_eq!(bench.stats().mib.out_rsts, 1024);
    assert_eq!(bench.stats().counters.resets_limited, 10_000 - 1024);
}

#[test]
fn stateless_answers_wait_in_a_bounded_queue() {
    // 4340-18-4
    let mut bench = Bench::new();
    for n in 0..1000 {
        bench.give(&Pkt::new(Kind::Data, Seq::new(n)));
    }
    assert_eq!(bench.count_sent(), 256);
    assert_eq!(bench.stats().counters.resets_limited, 1000 - 256);
}

#[test]
fn packet_errors_in_request_are_limited() {
    // 4340-18-3
    let (mut bench, _) = Bench::requesting(Bench::config());
    let mut resets = 0;
    for _ in 0..999 {
        let sent = bench.answers_next(Kind::Data);
        resets += sent
            .iter()
            .filter(|p| p.is_reset(ResetCode::PACKET_ERROR))
            .count();
        bench.now += Duration::from_millis(1);
    }
    assert_eq!(resets, 8);
    assert_eq!(bench.dropped(DropReason::NotResponse), 999);
    assert_eq!(bench.stats().counters.resets_limited, 991);
}

#[test]
fn two_ends_in_request_fall_silent() {
    // 4340-18-3: a forged Reset that answers nothing is answered by a Reset, and that by another.
    for forged_at in [CLIENT, SERVER] {
        let mut pair = Pair::new(Duration::from_millis(300));
        pair.net = Box::new(|_, p| match p.packet_type() {
            PacketType::Request => Net::Lose,
            _ => Net::Deliver,
        });
        for end in [CLIENT, SERVER] {
            let flow = Pair::flow(end);
            let id = pair.ends[end]
                .endpoint
                .connect(pair.now, flow, Bench::config());
            pair.ends[end].id = Some(id.unwrap());
        }
        pair.run(SECOND);
        let forged = reset(Seq::new(77), ResetCode::ABORTED);
        pair.inject(forged_at, &Pkt::new(forged, Seq::new(4711)));
        pair.run(Duration::from_mins(2));
        let resets = |end| {
            pair.types(end)
                .iter()
                .filter(|t| **t == PacketType::Reset)
                .count()
        };
        assert_eq!((resets(forged_at), resets(1 - forged_at)), (1, 1));
    }
}

#[test]
fn a_client_that_crashed_can_open_the_same_flow_again() {
    // 4340-7.5.4-5, 4340-7.5.4-2, AMB-3: RFC 4340 §7.5.6, the third example.
    let delay = Duration::from_millis(10);
    let mut pair = Pair::connecting(delay, Bench::config(), Bench::config());
    pair.run(SECOND);
    assert_eq!(pair.ends[SERVER].state(), State::Open);
    let old = pair.ends[SERVER].id;
    // Another process, another secret: its numbers have nothing to do with the old ones.
    pair.ends[CLIENT] = End::new(3);
    pair.connect(Bench::config());
    pair.log.clear();
    pair.run(Duration::from_secs(5));
    assert_eq!(pair.ends[CLIENT].state(), State::Open);
    assert_eq!(pair.ends[SERVER].state(), State::Open);
    assert_ne!(pair.ends[SERVER].id, old);
    let ended = pair.ends[SERVER].events.iter().any(|e| {
        matches!(
            e,
            Event::Closed(CloseReason::Reset {
                code: ResetCode::PACKET_ERROR,
                ..
            })
        )
    });
    assert!(ended, "{:?}", pair.ends[SERVER].events);
    // Request, challenge, Reset; where the numbers are far apart one challenge more.
    let types = pair.types(CLIENT);
    assert_eq!(
        types[..4],
        [
            PacketType::Request,
            PacketType::Reset,
            PacketType::Reset,
            PacketType::Request
        ]
    );
}

#[test]
fn a_listener_has_codes_of_its_own_and_a_bound_on_them() {
    // 5595-3.3-1, 5595-3.3-2, 5595-2.5-1, 4340-8.1.2-1
    let mut bench = Bench::new();
    let listen = |bench: &mut Bench, port, codes: &[u32]| {
        let codes: Vec<_> = codes.iter().map(|c| ServiceCode(*c)).collect();
        bench.endpoint.listen(port, &codes, Bench::config())
    };
    let many: Vec<_> = (1..=32).collect();
    assert_eq!(listen(&mut bench, OUR_PORT, &many), Ok(()));
    let in_use = Err(ListenError::ServiceCodeInUse);
    assert_eq!(listen(&mut bench, OUR_PORT, &[7]), in_use);
    assert_eq!(listen(&mut bench, OUR_PORT, &[50, 50]), in_use);
    assert_eq!(
        listen(&mut bench, OUR_PORT, &(100..133).collect::<Vec<_>>()),
        Err(ListenError::TooManyServiceCodes)
    );
    let invalid = Err(ListenError::InvalidServiceCode);
    assert_eq!(listen(&mut bench, OUR_PORT, &[u32::MAX]), invalid);
    assert_eq!(listen(&mut bench, OUR_PORT, &[40]), Ok(()));
    // 5595-3.3-3: one code on several ports.
    assert_eq!(listen(&mut bench, OUR_PORT + 1, &[40]), Ok(()));
    for (port, code, expected) in [
        (OUR_PORT, 1, PacketType::Response),
        (OUR_PORT, 40, PacketType::Response),
        (OUR_PORT, 41, PacketType::Reset),
        (OUR_PORT, u32::MAX, PacketType::Reset),
        (OUR_PORT + 1, 40, PacketType::Response),
        (OUR_PORT + 1, 1, PacketType::Reset),
    ] {
        let flow = Flow {
            local_port: port,
            remote_port: u16::try_from(1000 + code % 1000).unwrap(),
            ..Bench::flow()
        };
        let service = ServiceCode(code);
        bench.give_on(&flow, &Pkt::new(Kind::Request { service }, Seq::new(9)));
        let answer = bench.take_one();
        assert_eq!(answer.packet_type(), expected, "{port} {code}");
        let is_echo = matches!(answer.kind, Kind::Response { service: s, .. } if s == service);
        assert_eq!(is_echo, expected == PacketType::Response);
    }
}

#[test]
fn a_connection_cannot_be_opened_with_contradictory_settings() {
    // 5595-2.5-1, 4340-7.5.2-1
    let mut bench = Bench::new();
    let base = Bench::config();
    for config in [
        dccp_proto::Config {
            service_code: ServiceCode::INVALID,
            ..base.clone()
        },
        dccp_proto::Config {
            sequence_window: 31,
            ..base.clone()
        },
        dccp_proto::Config {
            sequence_window: 1 << 46,
            ..base.clone()
        },
        dccp_proto::Config {
            tx_ccids: vec![],
            ..base.clone()
        },
        dccp_proto::Config {
            rx_ccids: vec![1],
            ..base.clone()
        },
        dccp_proto::Config {
            send_cscov: 16,
            ..base.clone()
        },
        dccp_proto::Config {
            min_cscov: 16,
            ..base.clone()
        },
        dccp_proto::Config {
            mtu: 295,
            ..base.clone()
        },
        dccp_proto::Config {
            mtu: 65_536,
            ..base.clone()
        },
    ] {
        let opened = bench
            .endpoint
            .connect(bench.now, Bench::flow(), config.clone());
        assert!(matches!(opened, Err(ConnectError::Config(_))), "{config:?}");
        let listening = bench.endpoint.listen(1, &[SERVICE], config.clone());
        let expected = ListenError::Open(opened.unwrap_err());
        assert_eq!(listening, Err(expected));
        let invited = bench
            .endpoint
            .open_simultaneously(bench.now, Bench::flow(), config);
        assert_eq!(invited, Err(expected));
    }
    assert_eq!(bench.endpoint.connections(), 0);
    for config in [
        dccp_proto::Config {
            sequence_window: 32,
            ..base.clone()
        },
        dccp_proto::Config {
            sequence_window: (1 << 46) - 1,
            ..base.clone()
        },
        dccp_proto::Config {
            send_cscov: 15,
            min_cscov: 15,
            mtu: 296,
            ..base.clone()
        },
        dccp_proto::Config {
            mtu: 65_535,
            ..base
        },
    ] {
        let mut bench = Bench::new();
        assert!(
            bench
                .endpoint
                .connect(bench.now, Bench::flow(), config)
                .is_ok()
        );
    }
}

#[test]
fn the_oldest_of_too_many_resting_flows_is_forgotten() {
    // 4340-18-4
    const RESTING: u32 = 1 << 16;
    let mut bench = Bench::new();
    let flow = |n: u32| {
        let ip = std::net::Ipv4Addr::from(0x0A00_0000 + n);
        let mut flow = Bench::flow();
        flow.path.remote = ip.into();
        flow
    };
    for n in 0..=RESTING {
        bench
            .endpoint
            .connect(bench.now, flow(n), Bench::config())
            .unwrap();
        let request = bench.take_one();
        let refusal = Pkt::new(reset(request.seq, ResetCode::CONNECTION_REFUSED), Seq::ZERO);
        bench.give_on(&flow(n), &refusal);
        assert_eq!(bench.take(), []);
        bench.now += Duration::from_micros(100);
    }
    assert_eq!(bench.endpoint.resting(), 1 << 16);
    let connect =
        |bench: &mut Bench, n| bench.endpoint.connect(bench.now, flow(n), Bench::config());
    assert!(connect(&mut bench, 0).is_ok());
    assert_eq!(connect(&mut bench, 1), Err(ConnectError::FlowInUse));
    assert_eq!(connect(&mut bench, RESTING), Err(ConnectError::FlowInUse));
}

#[test]
fn events_that_nobody_takes_are_bounded_and_the_last_word_stays() {
    // 4340-18-4
    let mut bench = Bench::open_client(Bench::config());
    let count = bench.events.len();
    bench.send(b"data");
    let data = bench.take_one();
    for _ in 0..200 {
        let ack = bench.next(Kind::Ack { ack: data.seq });
        bench.give(&ack.with(&[Opt::SlowReceiver]));
        bench.now += SECOND;
    }
    bench.give_next(reset(bench.gss, ResetCode::ABORTED));
    bench.take();
    assert_eq!(bench.events.len() - count, 64);
    assert!(matches!(bench.events.last(), Some(Event::Closed(_))));
}

#[test]
fn a_flood_of_requests_makes_no_more_connections_than_the_threshold() {
    // 4340-18-4, 4340-8.1.4-4
    let config = dccp_proto::Config {
        cookie_threshold: 10,
        ..Bench::config()
    };
    let mut bench = Bench::listening(config);
    for n in 0..1000 {
        let flow = Flow {
            remote_port: 10_000 + n,
            ..Bench::flow()
        };
        // Long enough to earn its Response (4340-18-5).
        let request = Pkt::new(Kind::Request { service: SERVICE }, Seq::new(1));
        bench.give_on(&flow, &request.with_raw_options(&[0; 140]));
        assert_eq!(bench.take_one().packet_type(), PacketType::Response);
    }
    assert_eq!(bench.endpoint.connections(), 10);
    assert_eq!(bench.stats().counters.cookies_sent, 990);
}

/// Bytes of a packet with its IPv4 header.
fn size(p: &Pkt) -> usize {
    20 + header_len(p.packet_type(), p.is_short, p.options.len()) + p.payload.len()
}

/// Another flow of the peer's host.
fn flow_from(remote_port: u16) -> Flow {
    Flow {
        remote_port,
        ..Bench::flow()
    }
}

fn listening(cookie_threshold: usize) -> Bench {
    Bench::listening(dccp_proto::Config {
        cookie_threshold,
        ..Bench::config()
    })
}

#[test]
fn forged_requests_reflect_little() {
    // 4340-18-5: of one network, each flow repeats its Request, for 20 s.
    for cookie_threshold in [0, 256] {
        let mut bench = listening(cookie_threshold);
        let (mut received, mut sent) = (0, 0);
        for n in 0..20_000_u16 {
            let mut flow = flow_from(n / 512);
            flow.path.remote = std::net::Ipv4Addr::new(198, 51, 100, n.to_be_bytes()[1]).into();
            let kind = Kind::Request { service: SERVICE };
            let request = Pkt::new(kind, Seq::new(u64::from(n / 256)));
            bench.give_on(&flow, &request);
            received += size(&request);
            sent += bench.take().iter().map(size).sum::<usize>();
            bench.now += Duration::from_millis(1);
        }
        let most = received * 3 / 2 + 20 * 20_000 + 64_000 + 200;
        assert!(sent <= most, "{received} bytes reflect {sent}");
        assert!(bench.dropped(DropReason::ResponseLimit) > 0);
    }
}

#[test]
fn our_own_clients_connect_while_their_network_is_forged() {
    // 4340-18-5: a repeated Request earns its Response, with a cookie.
    let with_ccid = |ccid| dccp_proto::Config {
        tx_ccids: vec![ccid],
        rx_ccids: vec![ccid],
        ..Bench::config()
    };
    let many_options = dccp_proto::Config {
        short_seqnos: true,
        ecn: false,
        ndp_count: true,
        data_checksum: true,
        ack_vectors: true,
        timestamps: true,
        ..with_ccid(3)
    };
    let all_options = Bench::all_features();
    for config in [with_ccid(2), with_ccid(3), many_options, all_options] {
        let (mut client, first) = Bench::requesting(config.clone());
        let later = client.advance(3 * SECOND);
        let request = later.into_iter().map(|(_, p)| p).next().unwrap();
        assert_eq!(request.kind, first.kind);
        let mut bench = Bench::listening(dccp_proto::Config {
            cookie_threshold: 0,
            ..config
        });
        let forged = Pkt::new(Kind::Request { service: SERVICE }, Seq::new(1));
        let answered = (1..9000).take_while(|&port| {
            bench.give_on(&flow_from(port), &forged);
            bench.count_sent() > 0
        });
        assert!((100..8999).contains(&answered.count()));
        let connected = (10_000..10_500).filter(|&port| {
            bench.give_on(&flow_from(port), &request);
            bench.take_one().packet_type() == PacketType::Response
        });
        assert_eq!(connected.count(), 500, "{request:?}");
    }
}

#[test]
fn a_lost_reset_is_asked_for_again() {
    // 4340-7.5.4-2: a peer without a connection cannot know our numbers; our Sync tells them.
    let delay = Duration::from_millis(10);
    let mut pair = Pair::connecting(delay, Bench::config(), Bench::config());
    pair.run(10 * SECOND);
    assert_eq!(pair.ends[CLIENT].state(), State::Open);
    pair.ends[SERVER] = End::new(3);
    pair.log.clear();
    pair.ends[CLIENT].send(b"anybody?");
    pair.run(SECOND);
    // Data without ackno → Reset 0 → Sync → Reset with a number that fits.
    assert_eq!(pair.types(CLIENT), [PacketType::Data, PacketType::Sync]);
    let resets: Vec<_> = pair
        .sent(SERVER)
        .map(|(_, p)| (p.seq, p.reset_code()))
        .collect();
    assert_eq!(resets[0], (Seq::ZERO, Some(ResetCode::NO_CONNECTION)));
    assert_eq!(resets.len(), 2);
    let last = pair.ends[CLIENT].events.last();
    assert!(matches!(
        last,
        Some(Event::Closed(CloseReason::Reset {
            code: ResetCode::NO_CONNECTION,
            ..
        }))
    ));
}

#[test]
fn a_network_that_loses_and_doubles_packets_delivers_each_datagram_once() {
    // 4340-8.5-16, 4340-7.4-1
    let mut pair = Pair::connecting(Duration::from_millis(5), Bench::config(), Bench::config());
    let mut n = 0_u32;
    pair.net = Box::new(move |_, _| {
        n += 1;
        match n % 11 {
            3 => Net::Lose,
            5 | 8 => Net::Duplicate,
            10 => Net::Mark,
            _ => Net::Deliver,
        }
    });
    pair.run(3 * SECOND);
    for n in 0..200_u32 {
        pair.ends[CLIENT].send(&n.to_be_bytes());
        pair.ends[SERVER].send(&n.to_be_bytes());
    }
    pair.run(Duration::from_mins(5));
    for end in [CLIENT, SERVER] {
        let mut got = pair.ends[end].got();
        let count = got.len();
        got.sort_unstable();
        got.dedup();
        assert_eq!(got.len(), count, "no datagram twice");
        assert!((150..200).contains(&count), "{count}");
    }
    for end in [CLIENT, SERVER] {
        let (endpoint, app) = (&mut pair.ends[end].endpoint, &mut pair.ends[end].app);
        endpoint.abort(pair.now, pair.ends[end].id.unwrap(), app);
        assert_eq!(pair.ends[end].fates().len(), 200, "each has one fate");
    }
}
