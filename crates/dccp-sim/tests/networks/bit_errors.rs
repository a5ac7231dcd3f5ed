//! Links that flip bits: what partial checksum coverage and Data Checksum gain (RFC 4340 §9).

use core::time::Duration;
use dccp_proto::{Config, Rate};
use dccp_sim::pair::{End, Pair, Profile, Setup};
use dccp_sim::source::{App, Message, Source};

const SECOND: Duration = Duration::from_secs(1);

/// Of packets with 1000 bytes of data 15 % have an error, in their headers 0.6 %.
const BIT_ERROR_RATE: f64 = 2e-5;

/// Header only, or all (RFC 4340 §9.2).
const HEADER: u8 = 1;
const ALL: u8 = 0;

/// 10 Mbit/s, 20 ms each way, errors towards the server, which takes any coverage.
fn setup(send_cscov: u8, data_checksum: bool) -> Setup {
    let profile = Profile::Ours(Config {
        send_cscov,
        min_cscov: HEADER,
        data_checksum,
        ..Config::default()
    });
    let mut setup = Setup {
        client: profile.clone(),
        server: profile,
        ..Setup::default()
    }
    .links(|link| link.rate = Some(Rate::from_bytes_per_s(1_250_000.0)));
    setup.there.faults.bit_error_rate = BIT_ERROR_RATE;
    setup
}

/// The fates of 2000 datagrams of 1000 zeros, one every 20 ms.
#[derive(Debug)]
struct Outcome {
    /// The congestion control holds some back where it sees losses.
    sent: u64,
    received: u64,
    /// Of those received.
    damaged: usize,
}

fn film(setup: Setup) -> Outcome {
    let app = App {
        source: Source::Cbr {
            len: 1000,
            interval: Duration::from_millis(20),
            count: 2000,
        },
        ..App::default()
    };
    let keeping = App {
        keeps: true,
        ..App::default()
    };
    let mut pair = Pair::start(setup, app, keeping);
    pair.run_for(45 * SECOND);
    let report = pair.report(End::Server);
    let damaged = report.messages.iter().filter(|m| is_damaged(m)).count();
    assert_eq!(report.corrupt, damaged as u64);
    Outcome {
        sent: pair.report(End::Client).sent,
        received: report.received,
        damaged,
    }
}

fn is_damaged(message: &Message) -> bool {
    match message {
        Message::Zeros(_) => false,
        Message::Bytes(bytes) => bytes.iter().any(|b| *b != 0),
    }
}

#[test]
fn header_coverage_delivers_the_damaged_datagrams_that_full_coverage_loses() {
    // 4340-9.2-1: every seventh datagram is lost to a checksum over all of it, and each loss is taken for
    // congestion.
    let all = film(setup(ALL, false));
    assert!((1400..1700).contains(&all.sent), "{all:?}");
    assert!(all.received * 100 <= all.sent * 86, "{all:?}");
    assert_eq!(all.damaged, 0);
    let header = film(setup(HEADER, false));
    assert_eq!(header.sent, 2000);
    assert!(header.received >= 1975, "{header:?}");
    assert!((250..350).contains(&header.damaged), "{header:?}");
}

#[test]
fn data_checksum_finds_the_damage_without_a_loss() {
    // 4340-9.3-2: what is whole is delivered, the rest is reported as corrupt, and nothing is held back.
    let checked = film(setup(HEADER, true));
    assert_eq!((checked.sent, checked.damaged), (2000, 0));
    assert!((1600..1750).contains(&checked.received), "{checked:?}");
}

#[test]
fn over_udp_coverage_gains_nothing() {
    // The checksum of UDP covers all (RFC 6773 §3.1).
    let over_udp = |send_cscov| {
        film(Setup {
            over_udp: true,
            ..setup(send_cscov, false)
        })
    };
    for coverage in [HEADER, ALL] {
        let outcome = over_udp(coverage);
        assert_eq!(outcome.damaged, 0);
        assert!(outcome.received * 100 <= outcome.sent * 86, "{outcome:?}");
    }
}

#[test]
fn a_flow_that_takes_damage_is_ten_times_as_fast() {
    let received = |send_cscov| {
        let bulk = App::bulk(1000, u64::MAX);
        let mut pair = Pair::start(setup(send_cscov, false), bulk, App::default());
        pair.run_for(30 * SECOND);
        pair.report(End::Server).received
    };
    let (header, all) = (received(HEADER), received(ALL));
    assert!(header > 10 * all, "{header} {all}");
}
