//! A peer that means harm, or that many pretend to be.

use crate::bench::{Bench, Pkt, SERVICE, confirms_for};
use dccp_proto::conn::State;
use dccp_proto::path::Flow;
use dccp_proto::wire::{Ecn, Elapsed, FeatureOpt, Kind, Opt, PacketType};
use dccp_proto::{Config, Event, Seq};
use std::time::Duration;

/// A packet from another port of the peer's host.
fn give_from(bench: &mut Bench, port: u16, packet: &Pkt) {
    let flow = Flow {
        remote_port: port,
        ..Bench::flow()
    };
    bench.give_on(&flow, packet);
}

/// The answer to a Request from this port.
fn request_from(bench: &mut Bench, port: u16) -> Pkt {
    let request = bench.next(Kind::Request { service: SERVICE });
    give_from(bench, port, &request);
    bench.take_one()
}

/// The Init Cookies of a packet, as options.
fn cookies_of(packet: &Pkt) -> Vec<Opt<'_>> {
    let mut opts = packet.opts();
    opts.retain(|o| matches!(o, Opt::InitCookie(_)));
    opts
}

/// A listener that gives cookies when this many connections are half-open.
fn guarded(cookie_threshold: usize) -> Bench {
    Bench::listening(Config {
        cookie_threshold,
        ..Bench::config()
    })
}

#[test]
fn under_a_flood_the_response_carries_a_cookie_that_opens_the_connection() {
    // 4340-8.1.4-1, 4340-8.1.4-3, 4340-8.1.4-4
    let mut bench = guarded(0);
    let response = request_from(&mut bench, 1);
    assert_eq!(response.packet_type(), PacketType::Response);
    assert_eq!(
        (cookies_of(&response).len(), bench.endpoint.connections()),
        (1, 0)
    );
    let ack = bench
        .next(Kind::Ack { ack: response.seq })
        .with(&cookies_of(&response))
        .with_raw_options(&confirms_for(&response));
    // From another port, or with a bit changed, it is worth nothing.
    let mut forged = ack.clone();
    forged.options[20] ^= 1;
    for (port, packet) in [(2, &ack), (1, &forged)] {
        give_from(&mut bench, port, packet);
        assert_eq!(bench.take_one().reset_code().map(|c| c.0), Some(10));
    }
    give_from(&mut bench, 1, &ack);
    bench.take();
    assert_eq!(bench.endpoint.connections(), 1);
    assert_eq!(bench.events.last(), Some(&Event::Connected));
    assert_eq!(bench.state(), State::Open);
}

#[test]
fn a_cookie_is_good_for_30_s_and_never_beyond_4_msl() {
    // 4340-8.1.4-3, 4340-8.1.3-6
    const MSL: Duration = Duration::from_secs(2);
    for (msl, age_ms, is_good) in [
        (60 * MSL, 30_000, true),
        (60 * MSL, 30_001, false),
        (MSL, 7999, true),
        (MSL, 8000, false),
    ] {
        let mut bench = Bench::listening(Config {
            cookie_threshold: 0,
            msl,
            ..Bench::config()
        });
        let response = request_from(&mut bench, 1);
        bench.advance(Duration::from_millis(age_ms));
        let ack = bench
            .next(Kind::Ack { ack: response.seq })
            .with(&cookies_of(&response));
        give_from(&mut bench, 1, &ack);
        bench.take();
        assert_eq!(
            bench.endpoint.connections(),
            usize::from(is_good),
            "{age_ms}"
        );
    }
}

#[test]
fn connections_opened_with_cookies_make_no_room_for_half_open_ones() {
    // 4340-8.1.4-4, 4340-18-4: the threshold holds whatever else comes and goes on the port.
    let mut bench = guarded(2);
    for port in [1, 2] {
        assert_eq!(cookies_of(&request_from(&mut bench, port)), []);
    }
    for port in [3, 4] {
        let response = request_from(&mut bench, port);
        let ack = bench
            .next(Kind::Ack { ack: response.seq })
            .with(&cookies_of(&response));
        give_from(&mut bench, port, &ack);
        bench.take();
    }
    assert_eq!(bench.endpoint.connections(), 4);
    // An inviting server on the same port never was half-open.
    let flow = Flow {
        remote_port: 5,
        ..Bench::flow()
    };
    let now = bench.now;
    let id = bench
        .endpoint
        .open_simultaneously(now, flow, Bench::config())
        .unwrap();
    bench.take();
    bench.endpoint.abort(now, id, &mut bench.app);
    bench.take();
    for port in [6, 7] {
        assert_eq!(
            cookies_of(&request_from(&mut bench, port)).len(),
            1,
            "{port}"
        );
    }
    assert_eq!(bench.endpoint.connections(), 4);
    // Those that were half-open leave that state, and so make room.
    bench.advance(Duration::from_mins(9));
    assert_eq!(cookies_of(&request_from(&mut bench, 8)), []);
}

#[test]
fn nothing_is_acknowledged_that_has_not_left() {
    // 4340-7.5.1-1, 4340-8.5-11: the Response is still due when forged acknowledgements arrive.
    let mut bench = Bench::listening(Bench::config());
    let request = bench.next(Kind::Request { service: SERVICE });
    bench.give(&request);
    for ack in [0, 1, 1 << 20, 1 << 47] {
        for kind in [
            Kind::Ack { ack: Seq::new(ack) },
            Kind::DataAck { ack: Seq::new(ack) },
            Kind::SyncAck { ack: Seq::new(ack) },
            Kind::Close { ack: Seq::new(ack) },
        ] {
            let forged = bench.next(kind).with_payload(b"forged");
            bench.give(&forged);
        }
    }
    bench.take();
    assert_eq!(bench.state(), State::Respond);
    assert!(bench.got().is_empty());
}

#[test]
fn no_response_is_believed_before_the_request_has_left() {
    // 4340-8.5-4
    let mut bench = Bench::new();
    let now = bench.now;
    let id = bench
        .endpoint
        .connect(now, Bench::flow(), Bench::config())
        .unwrap();
    bench.id = Some(id);
    let response = bench.next(Kind::Response {
        ack: Seq::new(77),
        service: SERVICE,
    });
    bench.give(&response);
    assert_eq!(bench.state(), State::Request);
    let sent = bench.take();
    assert!(sent.iter().any(|p| p.packet_type() == PacketType::Request));
}

#[test]
fn a_silent_peer_does_not_stop_time_while_closing() {
    // 4340-8.3-3; 6773-L-1: the keep-alive of an open connection ends with it.
    for is_server in [true, false] {
        let config = Config {
            keepalive: Some(Duration::from_secs(1)),
            ..Bench::config()
        };
        let mut bench = if is_server {
            Bench::open_server(config)
        } else {
            Bench::open_client(config)
        };
        bench.close();
        bench.take();
        let sent = bench.advance(Duration::from_mins(9));
        let syncs = sent
            .iter()
            .filter(|(_, p)| p.packet_type() == PacketType::Sync);
        assert_eq!(syncs.count(), 0);
        assert_eq!(bench.state(), State::Closed);
    }
}

#[test]
fn a_round_trip_without_duration_does_not_stop_time() {
    // 4340-13.3-1: an echo of a Timestamp that was never sent says that no time has passed.
    let config = Config {
        timestamps: true,
        ..Bench::config()
    };
    let mut bench = Bench::open_client(config);
    let echo = Opt::TimestampEcho {
        echo: bench.now.timestamp(),
        elapsed: Elapsed::None,
    };
    for _ in 0..200 {
        let ack = bench.next(Kind::Ack { ack: bench.gss }).with(&[echo]);
        bench.answers(&ack);
    }
    bench.close();
    bench.take();
    let sent = bench.advance(Duration::from_mins(9));
    assert!(sent.len() < 50, "{}", sent.len());
    assert_eq!(bench.state(), State::Closed);
}

/// Data packets come in vain; what is left of datagrams when the parser has seen them.
#[test]
fn garbage_is_counted_and_nothing_else() {
    // 4340-8.5-1
    let mut bench = Bench::open_server(Bench::config());
    let before = bench.snapshot();
    for len in 0..40 {
        bench.give_bytes(&vec![0xA5; len], Ecn::Ce);
    }
    assert_eq!(bench.take(), []);
    assert_eq!(bench.snapshot(), before);
    assert_eq!(bench.endpoint.stats().mib.in_errs, 40);
}

#[test]
fn a_change_of_the_ccid_while_nothing_is_acknowledged_does_not_silence_the_sender() {
    // 4340-10-2: what the other CCID left in flight fills the window of CCID 2, whose timer it never
    // started.
    let config = Config {
        tx_ccids: vec![3, 2],
        ..Bench::config()
    };
    let mut bench = Bench::open_server(config);
    for (_, asking) in bench.advance(Duration::from_secs(1)) {
        let ack = bench
            .next(Kind::Ack { ack: bench.gss })
            .with_raw_options(&confirms_for(&asking));
        bench.give(&ack);
    }
    let before = bench.gss;
    assert_eq!(bench.snapshot().tx_ccid, 3);
    for _ in 0..20 {
        bench.send(b"data");
    }
    bench.advance(Duration::from_secs(20));
    assert!(bench.snapshot().pipe_packets > 6);
    let change = Opt::ChangeR(FeatureOpt {
        feature: 1,
        values: &[2],
    });
    let ack = bench.next(Kind::Ack { ack: before }).with(&[change]);
    bench.give(&ack);
    bench.advance(Duration::from_secs(2));
    assert_eq!(bench.snapshot().tx_ccid, 2);
    let sent = bench.advance(Duration::from_mins(5));
    assert!(sent.iter().any(|(_, p)| !p.payload.is_empty()));
}

#[test]
fn the_timer_of_partopen_ends_with_it() {
    // 4340-8.1.5-2, 4340-8.3-3: only the Close is repeated.
    let mut bench = Bench::partopen_client(Bench::config());
    bench.close();
    assert_eq!(bench.take_one().packet_type(), PacketType::Close);
    let sent = bench.advance(Duration::from_mins(1));
    assert!(!sent.is_empty());
    assert!(
        sent.iter()
            .all(|(_, p)| p.packet_type() == PacketType::Close)
    );
}

/// A legal Sequence Window of nearly all numbers, and a jump within it: more acknowledgements than a u32 counts
/// seem lost.
#[test]
fn a_jump_of_2_to_the_40_numbers_ends_nothing() {
    let mut bench = Bench::open_client(Bench::config());
    let window = ((1_u64 << 46) - 1).to_be_bytes();
    let change = bench
        .next(Kind::Ack { ack: bench.gss })
        .with(&[Opt::ChangeL(FeatureOpt {
            feature: 3,
            values: &window[2..],
        })]);
    bench.answers(&change);
    bench.advance(Duration::from_secs(2));
    let before = bench.gss;
    bench.send(b"data");
    bench.take();
    let far = bench.peer_gss.plus(1 << 40);
    for (n, ack) in [(0, before), (1, before), (2, bench.gss), (3, bench.gss)] {
        bench.answers(&Pkt::new(Kind::Ack { ack }, far.plus(n)));
    }
    let c = bench.stats().counters;
    assert_eq!(
        (c.data_acked, c.acks_lost),
        (1, u64::from(u32::MAX)),
        "{c:?}"
    );
}
