//! Timestamps, echoes and Elapsed Time (RFC 4340 §13).

use crate::bench::{Bench, Pkt, RECEIVED, SERVICE};
use dccp_proto::Config;
use dccp_proto::conn::State;
use dccp_proto::wire::{Elapsed, Kind, Opt, PacketType};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// The echo that a packet carries.
fn echo(packet: &Pkt) -> Option<(u32, Elapsed)> {
    packet.opts().into_iter().find_map(|o| match o {
        Opt::TimestampEcho { echo, elapsed } => Some((echo, elapsed)),
        _ => None,
    })
}

/// The Elapsed Time that a packet carries.
fn elapsed(packet: &Pkt) -> Option<Elapsed> {
    packet.opts().into_iter().find_map(|o| match o {
        Opt::ElapsedTime(elapsed) => Some(elapsed),
        _ => None,
    })
}

/// The peer's data packet arrives; what the endpoint answers `after` that, which data makes due.
fn answer_after(bench: &mut Bench, options: &[Opt<'_>], after: Duration) -> Pkt {
    let data = bench.next(Kind::Data).with(options);
    bench.give(&data);
    bench.now += after;
    bench.send(b"x");
    let sent = bench.take();
    sent.into_iter().find(|p| !p.payload.is_empty()).unwrap()
}

#[test]
fn a_timestamp_is_echoed_once_with_the_time_since_it_came() {
    // 4340-13.1-2, 4340-13.3-1, 4340-13.2-2
    for (after, expected) in [
        (Duration::ZERO, Elapsed::None),
        (Duration::from_nanos(9_999), Elapsed::None),
        (Duration::from_micros(10), Elapsed::Short(1)),
        (Duration::from_micros(1_239), Elapsed::Short(123)),
        (Duration::from_micros(655_350), Elapsed::Short(65_535)),
        (Duration::from_micros(655_360), Elapsed::Long(65_536)),
        (Duration::from_secs(70), Elapsed::Long(7_000_000)),
    ] {
        for mut bench in Bench::open_both(&Bench::config()) {
            let data = answer_after(&mut bench, &[Opt::Timestamp(4711)], after);
            assert_eq!(echo(&data), Some((4711, expected)), "{after:?}");
            let next = answer_after(&mut bench, &[], SECOND);
            assert_eq!(echo(&next), None);
        }
    }
}

#[test]
fn a_timestamp_on_any_packet_is_echoed_on_the_next_that_can_carry_it() {
    // 4340-13.1-1, 4340-13.1-2
    for mut bench in Bench::open_both(&Bench::config()) {
        let ack = bench.gss;
        for (n, kind) in (1..).zip([
            Kind::Data,
            Kind::Ack { ack },
            Kind::DataAck { ack },
            Kind::Sync { ack },
            Kind::SyncAck { ack },
        ]) {
            let packet = bench.next(kind).with(&[Opt::Timestamp(n)]);
            bench.answers(&packet);
            bench.give_next(Kind::Data);
            let sent = bench.advance(SECOND);
            let echoes: Vec<_> = sent.iter().filter_map(|(_, p)| echo(p)).collect();
            assert!(
                echoes.iter().all(|(value, _)| *value == n),
                "{kind:?} {echoes:?}"
            );
            let types = sent
                .iter()
                .filter(|(_, p)| echo(p).is_some())
                .map(|(_, p)| p.packet_type());
            assert!(types.into_iter().all(|t| t != PacketType::Data));
            assert!(echoes.len() <= 1);
        }
    }
    let mut bench = Bench::listening(Bench::config());
    let request = bench
        .next(Kind::Request { service: SERVICE })
        .with(&[Opt::Timestamp(5)]);
    assert_eq!(echo(&bench.answer(&request)), Some((5, Elapsed::None)));
    let (mut bench, request) = Bench::requesting(Bench::config());
    let response = bench.response_to(&request).with(&[Opt::Timestamp(6)]);
    assert_eq!(echo(&bench.answer(&response)), Some((6, Elapsed::None)));
}

#[test]
fn timestamp_of_the_newest_packet_is_echoed() {
    // 4340-13.3-1
    for mut bench in Bench::open_both(&Bench::config()) {
        let older = bench
            .next(Kind::Ack { ack: bench.gss })
            .with(&[Opt::Timestamp(1)]);
        let newer = bench
            .next(Kind::Ack { ack: bench.gss })
            .with(&[Opt::Timestamp(2)]);
        bench.give(&newer);
        bench.give(&older);
        let sent = bench.advance(SECOND);
        let echoes: Vec<_> = sent.iter().filter_map(|(_, p)| echo(p)).collect();
        assert_eq!(
            echoes.iter().map(|(value, _)| *value).collect::<Vec<_>>(),
            [2]
        );
    }
}

#[test]
fn an_acknowledgement_says_how_long_it_waited() {
    // 4340-13.2-1, 4340-13.2-2: rounded down; short below 0.65536 s.
    for (after, expected) in [
        (Duration::from_micros(1_009), Elapsed::Short(100)),
        (Duration::from_millis(200), Elapsed::Short(20_000)),
        (Duration::from_micros(655_359), Elapsed::Short(65_535)),
        (Duration::from_micros(655_360), Elapsed::Long(65_536)),
        (Duration::from_secs(50_000), Elapsed::Long(u32::MAX)),
    ] {
        for mut bench in Bench::open_both(&Bench::config()) {
            let data = answer_after(&mut bench, &[], after);
            assert_eq!(data.packet_type(), PacketType::DataAck);
            assert_eq!(elapsed(&data), Some(expected), "{after:?}");
        }
    }
}

#[test]
fn elapsed_time_counts_from_the_packet_that_is_named() {
    // 4340-13.2-2: a late packet does not make it shorter, a duplicate neither.
    for mut bench in Bench::open_both(&Bench::config()) {
        let late = bench.next(Kind::Data);
        let newest = bench.next(Kind::Data);
        let start = bench.now;
        bench.answers(&newest);
        bench.now = start + Duration::from_millis(30);
        bench.give(&late);
        bench.now = start + Duration::from_millis(50);
        bench.send(b"x");
        let data = bench.take().pop().unwrap();
        assert_eq!(elapsed(&data), Some(Elapsed::Short(5_000)));
    }
}

#[test]
fn the_delayed_acknowledgement_comes_after_200_ms() {
    // 4340-11.3-3, 4340-11.3-1
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.give_next(Kind::Data);
        let sent = bench.advance(SECOND);
        let at: Vec<_> = sent.iter().map(|(at, _)| at.as_millis()).collect();
        assert_eq!(at, [200]);
        assert_eq!(
            sent[0].1.kind,
            Kind::Ack {
                ack: bench.peer_gss
            }
        );
        assert_eq!(elapsed(&sent[0].1), Some(Elapsed::Short(20_000)));
        bench.give_next(Kind::Data);
        assert_eq!(bench.answers_next(Kind::Data).len(), 1, "Ack Ratio 2");
    }
}

#[test]
fn a_round_trip_is_the_time_less_what_the_peer_waited() {
    // 4340-13.2-1, 4340-13.3-1
    for (option, rtt) in [
        (None, 100),
        (Some(Opt::ElapsedTime(Elapsed::Short(4_000))), 60),
        (Some(Opt::ElapsedTime(Elapsed::Long(9_000))), 10),
        (
            Some(Opt::TimestampEcho {
                echo: 99,
                elapsed: Elapsed::Short(2_000),
            }),
            80,
        ),
    ] {
        for mut bench in Bench::open_both(&Bench::config()) {
            bench.send(b"x");
            let data = bench.take_one();
            bench.now += Duration::from_millis(100);
            let ack = bench.next(Kind::Ack { ack: data.seq }).with(&[RECEIVED]);
            bench.answers(&ack.with(option.as_slice()));
            assert_eq!(bench.snapshot().rtt, Some(Duration::from_millis(rtt)));
            assert_eq!(bench.stats().counters.rtt_samples, 1);
        }
    }
}

#[test]
fn a_snapshot_has_the_mean_and_the_newest_sample() {
    for mut bench in Bench::open_both(&Bench::config()) {
        assert_eq!(bench.snapshot().rtt_sample, None);
        for (ms, mean_us) in [(100, 100_000), (20, 90_000)] {
            bench.send(b"x");
            let data = bench.take_one();
            let sample = Duration::from_millis(ms);
            bench.now += sample;
            let ack = bench.next(Kind::Ack { ack: data.seq });
            bench.answers(&ack.with(&[RECEIVED]));
            let seen = bench.snapshot();
            assert_eq!(seen.rtt_sample, Some((bench.now, sample)));
            assert_eq!(seen.rtt, Some(Duration::from_micros(mean_us)));
        }
    }
}

#[test]
fn an_elapsed_time_longer_than_the_round_trip_is_not_believed() {
    // 4340-13.2-2
    for mut bench in Bench::open_both(&Bench::config()) {
        bench.send(b"x");
        let data = bench.take_one();
        bench.now += Duration::from_millis(100);
        let ack = bench.next(Kind::Ack { ack: data.seq }).with(&[RECEIVED]);
        bench.answers(&ack.with(&[Opt::ElapsedTime(Elapsed::Short(10_001))]));
        assert_eq!(bench.snapshot().rtt, None);
    }
}

#[test]
fn timestamps_measure_the_handshake_where_they_are_wanted() {
    // 4340-13.1-1, 4340-13.3-1
    let config = Config {
        timestamps: true,
        ..Bench::config()
    };
    let (mut bench, request) = Bench::requesting(config.clone());
    let units = bench.now.timestamp();
    assert!(request.opts().contains(&Opt::Timestamp(units)));
    bench.now += Duration::from_millis(70);
    let answer = Opt::TimestampEcho {
        echo: units,
        elapsed: Elapsed::Short(3_000),
    };
    let response = bench.response_to(&request).with(&[answer]);
    bench.answers(&response);
    assert_eq!(bench.snapshot().rtt, Some(Duration::from_millis(40)));
    // Without the setting an echo is only an Elapsed Time, which says the same here.
    let (mut bench, request) = Bench::requesting(Bench::config());
    assert!(
        !request
            .opts()
            .iter()
            .any(|o| matches!(o, Opt::Timestamp(_)))
    );
    bench.now += Duration::from_millis(90);
    let response = bench.response_to(&request).with(&[answer]);
    bench.answers(&response);
    assert_eq!(bench.snapshot().rtt, Some(Duration::from_millis(60)));
    // Acknowledgements carry them, data packets do not.
    for mut bench in Bench::open_both(&config) {
        bench.give_next(Kind::Data);
        let ack = bench.answers_next(Kind::Data).remove(0);
        assert!(ack.opts().contains(&Opt::Timestamp(bench.now.timestamp())));
        bench.send(b"x");
        let data = bench.take_one();
        assert_eq!(
            (data.packet_type(), data.opts()),
            (PacketType::Data, vec![])
        );
    }
}

#[test]
fn an_echo_of_a_minute_ago_or_more_is_of_nothing_that_was_sent() {
    // 4340-13.3-1
    let config = Config {
        timestamps: true,
        ..Bench::config()
    };
    for (age, is_used) in [(5_999_999, true), (6_000_000, false), (u32::MAX, false)] {
        let (mut bench, request) = Bench::requesting(config.clone());
        bench.now += Duration::from_millis(70);
        let answer = Opt::TimestampEcho {
            echo: bench.now.timestamp().wrapping_sub(age),
            elapsed: Elapsed::None,
        };
        let response = bench.response_to(&request).with(&[answer]);
        bench.answers(&response);
        // The handshake itself is a sample of 70 ms.
        let rtt = bench.snapshot().rtt.unwrap();
        assert_eq!(rtt > Duration::from_secs(50), is_used, "{age}: {rtt:?}");
        assert_eq!(rtt > Duration::from_millis(70), is_used, "{age}: {rtt:?}");
    }
}

#[test]
fn echoes_of_what_was_never_sent_change_nothing_much() {
    // 4340-13.3-1
    let config = Config {
        timestamps: true,
        ..Bench::config()
    };
    for forged in [0, 1, u32::MAX, 0x8000_0000] {
        let mut bench = Bench::open_client(config.clone());
        let option = Opt::TimestampEcho {
            echo: bench
                .now
                .timestamp()
                .wrapping_add(forged)
                .wrapping_add(6_000_000),
            elapsed: Elapsed::Long(u32::MAX),
        };
        let ack = bench.next(Kind::Ack { ack: bench.gss }).with(&[option]);
        bench.answers(&ack);
        let rtt = bench.snapshot().rtt;
        assert!(
            rtt.is_none_or(|rtt| rtt < Duration::from_mins(1)),
            "{rtt:?}"
        );
        assert_eq!(bench.state(), State::Open);
    }
}

#[test]
fn a_keep_alive_sync_leaves_after_silence() {
    // 6773-L-1
    let config = Config {
        keepalive: Some(20 * SECOND),
        dead_after: None,
        ..Bench::config()
    };
    for mut bench in Bench::open_both(&config) {
        bench.now += SECOND;
        bench.send(b"x");
        let data = bench.take_one();
        let ack = bench.next(Kind::Ack { ack: data.seq }).with(&[RECEIVED]);
        bench.answers(&ack);
        let sent = bench.advance(65 * SECOND);
        let at: Vec<_> = sent.iter().map(|(at, _)| at.as_secs()).collect();
        assert_eq!(at, [20, 40, 60]);
        assert!(sent.iter().all(|(_, p)| p.kind
            == Kind::Sync {
                ack: bench.peer_gss
            }));
    }
    for mut bench in Bench::open_both(&Bench::config()) {
        assert_eq!(bench.advance(Duration::from_hours(1)), []);
    }
}

#[test]
fn the_first_answer_to_a_response_gives_the_round_trip_time_to_a_server() {
    // 5348-4.2-1: a client answers at once, whether it tells an Elapsed Time or not.
    let rtt_after = |is_data: bool, skipped: u64, elapsed: Option<Opt<'_>>| {
        let (mut bench, response) = Bench::responding(Bench::config());
        bench.now += Duration::from_millis(30);
        bench.peer_gss = bench.peer_gss.plus(skipped);
        let ack = response.seq;
        let kind = if is_data {
            Kind::DataAck { ack }
        } else {
            Kind::Ack { ack }
        };
        let answer = bench.next(kind).with(elapsed.as_slice());
        bench.give(&answer);
        assert_eq!(bench.state(), State::Open);
        bench.snapshot().rtt
    };
    let ms = |n| Some(Duration::from_millis(n));
    for is_data in [false, true] {
        assert_eq!(rtt_after(is_data, 0, None), ms(30));
        // It may be one that PARTOPEN's timer sent.
        assert_eq!(rtt_after(is_data, 1, None), None);
        let elapsed = Opt::ElapsedTime(Elapsed::Short(1000));
        assert_eq!(rtt_after(is_data, 1, Some(elapsed)), ms(20));
    }
}

#[test]
fn later_acknowledgements_of_a_response_give_no_rtt_sample() {
    let (mut bench, response) = Bench::responding(Bench::config());
    let first = bench.next(Kind::Close { ack: response.seq });
    bench.give(&first);
    assert_eq!(bench.snapshot().rtt, None, "a Close may have waited");
    let mut bench = Bench::open_server(Bench::config());
    bench.now += SECOND;
    let again = bench.next(Kind::Ack { ack: response.seq });
    bench.give(&again);
    assert_eq!(bench.snapshot().rtt, None);
}
