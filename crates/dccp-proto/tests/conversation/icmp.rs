//! ICMP messages about packets of ours (RFC 4340 §14.1, RFC 5927). Those about sizes: `mtu.rs`.

use crate::bench::{Bench, OUR_PORT, PEER_PORT, Pkt};
use dccp_proto::conn::State;
use dccp_proto::path::Flow;
use dccp_proto::wire::{Kind, PacketType, ResetCode};
use dccp_proto::{CloseReason, Config, Event, IcmpKind, Seq};
use std::time::Duration;

const UNREACHABLE: IcmpKind = IcmpKind::Unreachable { kind: 3, code: 3 };

/// A packet of ours, as an ICMP message quotes it.
fn quoted(kind: Kind, seq: Seq, is_short: bool) -> Vec<u8> {
    let flow = Flow {
        path: Bench::path().reversed(),
        local_port: PEER_PORT,
        remote_port: OUR_PORT,
    };
    let mut packet = Pkt::new(kind, seq);
    packet.is_short = is_short;
    Bench::encode(&flow, &packet)
}

fn unreachable_reason() -> Event {
    Event::Closed(CloseReason::Unreachable { kind: 3, code: 3 })
}

#[test]
fn an_unreachable_peer_ends_the_setting_up() {
    // LINUX-19, 4340-14.1-3
    for bench in [
        Bench::requesting(Bench::config()).0,
        Bench::responding(Bench::config()).0,
    ] {
        let mut bench = bench;
        let seq = bench.gss;
        bench.give_icmp(&quoted(Kind::Data, seq, false)[..16], UNREACHABLE);
        let sent = bench.take();
        assert!(sent.iter().all(|p| p.is_reset(ResetCode::ABORTED)));
        assert_eq!(bench.state(), State::Closed);
        assert_eq!(bench.events.last(), Some(&unreachable_reason()));
        let stats = bench.stats();
        assert_eq!((stats.mib.attempt_fails, stats.counters.icmp_used), (1, 1));
    }
}

#[test]
fn a_message_about_a_packet_that_we_never_sent_is_ignored() {
    // 4340-14.1-3, 4340-18-2
    for mut bench in [
        Bench::requesting(Bench::config()).0,
        Bench::responding(Bench::config()).0,
    ] {
        let state = bench.state();
        for seq in [bench.gss.next(), bench.gss.minus(1), Seq::ZERO] {
            bench.give_icmp(&quoted(Kind::Data, seq, false), UNREACHABLE);
        }
        // No packet of the handshake has a short number, and those are easily guessed.
        bench.give_icmp(&quoted(Kind::Data, bench.gss, true), UNREACHABLE);
        assert_eq!((bench.state(), bench.take()), (state, vec![]));
        assert_eq!(bench.stats().counters.icmp_used, 0);
    }
}

#[test]
fn an_open_connection_survives_an_unreachable_error() {
    // 4340-14.1-3, LINUX-19: the error is reported, and a Sync asks for a sign of life.
    for mut bench in [
        Bench::partopen_client(Bench::config()),
        Bench::open_client(Bench::config()),
        Bench::open_server(Bench::config()),
    ] {
        let state = bench.state();
        let seen = bench.events.len();
        for _ in 0..100 {
            bench.give_icmp(&quoted(Kind::Data, bench.gss, false), UNREACHABLE);
        }
        let types: Vec<_> = bench.take().iter().map(Pkt::packet_type).collect();
        let syncs = match state {
            State::Open => vec![PacketType::Sync],
            _ => vec![],
        };
        assert_eq!((bench.state(), types), (state, syncs));
        let event = Event::Unreachable { kind: 3, code: 3 };
        assert_eq!(bench.events[seen..], [event]);
    }
}

#[test]
fn a_forged_unreachable_error_is_not_reported() {
    // 4340-14.1-3, 4340-18-2: a guessed sequence number is outside the valid range.
    let mut bench = Bench::open_client(Bench::config());
    let seen = bench.events.len();
    for seq in [bench.gss.next(), Seq::ZERO] {
        bench.give_icmp(&quoted(Kind::Data, seq, false), UNREACHABLE);
    }
    assert_eq!(bench.take(), []);
    assert_eq!(bench.events.len(), seen);
}

#[test]
fn an_error_without_a_sequence_number_is_only_the_reason_of_a_timeout() {
    // 4340-14.1-3: old routers quote eight bytes, and anyone can forge those.
    for len in [0, 8] {
        for answers in [false, true] {
            let (mut bench, request) = Bench::requesting(Bench::config());
            for _ in 0..1000 {
                bench.give_icmp(&quoted(Kind::Data, Seq::ZERO, false)[..len], UNREACHABLE);
            }
            assert_eq!((bench.state(), bench.take()), (State::Request, vec![]));
            if answers {
                let response = bench.response_to(&request);
                bench.give(&response);
                bench.take();
                assert_eq!(bench.state(), State::PartOpen);
            }
            bench.advance(Duration::from_mins(10));
            assert_eq!(bench.state(), State::Closed);
            let reason = if answers {
                Event::Closed(CloseReason::TimedOut)
            } else {
                unreachable_reason()
            };
            assert_eq!(bench.events.last(), Some(&reason));
        }
    }
}

#[test]
fn messages_about_other_flows_are_ignored() {
    // 4340-14.1-3
    let (mut bench, _) = Bench::requesting(Bench::config());
    let mut other = quoted(Kind::Data, bench.gss, false);
    other[0] ^= 1;
    bench.give_icmp(&other, UNREACHABLE);
    other[0] ^= 1;
    other[3] ^= 1;
    bench.give_icmp(&other, UNREACHABLE);
    assert_eq!(bench.state(), State::Request);
    assert_eq!(bench.stats().counters.icmp_ignored, 2);
    // Without ports there is nothing to find, unless only one connection can be meant.
    let mut flow = Bench::flow();
    flow.local_port += 1;
    bench
        .endpoint
        .connect(bench.now, flow, Bench::config())
        .unwrap();
    bench.give_icmp(&other[..3], UNREACHABLE);
    assert_eq!(bench.endpoint.connections(), 2);
    assert_eq!(bench.stats().counters.icmp_ignored, 3);
}

#[test]
fn short_numbers_are_extended_before_they_are_compared() {
    // 4340-7.6-1, 4340-14.1-3
    for (back, is_plausible) in [(0, true), (1, true), (99, true), (100, false)] {
        let mut bench = Bench::open_client(Config {
            short_seqnos: true,
            ..Bench::config()
        });
        bench.exchange_syncs(150);
        let seq = bench.gss.minus(back);
        bench.give_icmp(&quoted(Kind::Data, seq, true)[..12], UNREACHABLE);
        bench.take();
        let event = Event::Unreachable { kind: 3, code: 3 };
        assert_eq!(bench.events.contains(&event), is_plausible, "{back}");
    }
}

#[test]
fn a_request_that_found_nobody_is_not_repeated() {
    let (mut bench, _) = Bench::requesting(Bench::config());
    bench.give_icmp(&quoted(Kind::Data, bench.gss, false), UNREACHABLE);
    bench.take();
    let later = bench.advance(Duration::from_mins(5));
    assert!(
        later
            .iter()
            .all(|(_, p)| p.packet_type() != PacketType::Request)
    );
    assert_eq!(bench.endpoint.connections(), 0);
}
