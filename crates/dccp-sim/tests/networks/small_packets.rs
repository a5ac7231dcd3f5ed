//! CCID 4 from end to end: small packets with the share of large ones (RFC 5622).

use core::time::Duration;
use dccp_proto::{Config, Rate};
use dccp_sim::pair::{End, Pair, Profile, Setup};
use dccp_sim::queue::{DropTailConfig, Limit, QueueConfig};
use dccp_sim::source::{App, Source};

const SECOND: Duration = Duration::from_secs(1);

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Both ends with CCID 4, at a one-way delay in milliseconds.
fn setup(one_way_ms: u64) -> Setup {
    Setup {
        client: Profile::ours().with_ccid(4),
        server: Profile::ours().with_ccid(4),
        ..Setup::default().links(|link| link.delay = ms(one_way_ms))
    }
}

/// Sends datagrams of this length as fast as it may.
fn flood(len: usize) -> App {
    App::bulk(len, u64::MAX)
}

/// How many datagrams arrive in a minute, after a minute.
fn per_minute(setup: Setup, app: App) -> (u64, Pair) {
    let mut pair = Pair::start(setup, app, App::default());
    pair.run_for(60 * SECOND);
    let before = pair.report(End::Server).received;
    pair.run_for(60 * SECOND);
    (pair.report(End::Server).received - before, pair)
}

fn loss_event_rate(pair: &Pair) -> f64 {
    let snapshot = pair.world.node(pair.host(End::Client)).snapshot(0);
    let p = snapshot.and_then(|s| s.tx.loss_event_rate);
    p.unwrap_or_default()
}

/// The rate that RFC 5622 allows, in packets of `s` bytes per minute with a round trip of `r` seconds.
fn allowed(s: f64, r: f64, p: f64) -> f64 {
    let f = (2.0 * p / 3.0).sqrt() + 12.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
    let packets = 1460.0 / (r * f) / (s + 36.0);
    60.0 * packets.min(100.0)
}

#[test]
fn speech_passes_untouched() {
    // 160 bytes every 20 ms, and the server speaks too.
    let speech = App {
        source: Source::Cbr {
            len: 160,
            interval: ms(20),
            count: 3000,
        },
        ..App::default()
    };
    let mut pair = Pair::start(setup(75), speech.clone(), speech);
    pair.run_for(62 * SECOND);
    for (from, to) in [(End::Client, End::Server), (End::Server, End::Client)] {
        let snapshot = pair.world.node(pair.host(from)).snapshot(0).expect("open");
        assert_eq!((snapshot.tx_ccid, snapshot.rx_ccid), (4, 4));
        // Slow start lasts a few round trips: what comes sooner than it may leave waits for at most a second.
        assert_eq!(pair.report(to).received, pair.report(from).sent);
        assert!(
            pair.report(from).overflowed <= 50,
            "{:?}",
            pair.report(from).overflowed
        );
    }
}

#[test]
fn no_sender_exceeds_100_packets_per_second() {
    // 5622-5-2, 4828-3-2
    let (received, pair) = per_minute(setup(20), flood(100));
    assert!((5990..=6000).contains(&received), "{received}");
    assert!(loss_event_rate(&pair) == 0.0);
}

#[test]
fn a_lossy_path_carries_what_the_equation_gives() {
    // 5622-5-1, 5622-6.1-1: packets are lost singly and at random. Where 20 of them travel at once, two losses
    // often are one event.
    for (len, loss) in [(100, 0.1), (1000, 0.02), (1000, 0.05)] {
        let mut setup = setup(150);
        setup.there.faults.loss = loss;
        let (received, pair) = per_minute(setup, flood(len));
        let p = loss_event_rate(&pair);
        assert!((0.4 * loss..=1.6 * loss).contains(&p), "{loss}: {p}");
        #[expect(clippy::cast_precision_loss, reason = "a minute has few packets")]
        let share = received as f64 / allowed(len as f64, 0.3, loss) / (1.0 - loss);
        assert!((0.7..=1.5).contains(&share), "{len} {loss}: {share}");
    }
}

#[test]
fn marks_slow_a_flow_down_as_losses_do() {
    // 5622-6.1-1, 8311-6-1: a queue that marks before it overflows, of half as many packets as may leave.
    let mut setup = setup(100);
    setup.there.rate = Some(Rate::from_bytes_per_s(50.0 * 1036.0));
    setup.there.queue = QueueConfig::DropTail(DropTailConfig {
        limit: Limit::Packets(100),
        mark_at: Some(Limit::Packets(10)),
    });
    let (received, pair) = per_minute(setup, flood(1000));
    assert!((2700..=3000).contains(&received), "{received}");
    assert!(loss_event_rate(&pair) > 0.0);
    // Nothing is lost: what has not arrived is on its way, 30 packets at most.
    let missing = pair.report(End::Client).sent - pair.report(End::Server).received;
    assert!(missing <= 30, "{missing}");
}

#[test]
fn every_report_counts_the_drops_of_its_intervals() {
    // 5622-8.7-1, 5622-8-1
    let mut setup = setup(20);
    setup.there.faults.loss = 0.1;
    let mut pair = Pair::start(setup, flood(100), App::default());
    pair.run_for(10 * SECOND);
    let lines = pair.lines();
    let reports: Vec<_> = lines
        .iter()
        .filter(|line| line.contains("LossIntervals"))
        .collect();
    assert!(reports.len() > 100);
    for line in reports {
        assert!(line.starts_with("server>client Ack"), "{line}");
        assert!(line.contains("DroppedPackets"), "{line}");
    }
}

#[test]
fn who_does_not_know_ccid_4_gets_another() {
    // 4340-10-1, 4340-10-2
    let ours = |ccids: &[u8]| {
        Profile::Ours(Config {
            tx_ccids: ccids.to_vec(),
            rx_ccids: ccids.to_vec(),
            ..Config::default()
        })
    };
    for (server, agreed) in [(&[4, 2][..], 4), (&[3, 4], 3), (&[2], 2)] {
        let setup = Setup {
            client: ours(&[4, 3, 2]),
            server: ours(server),
            ..Setup::default()
        };
        let data = App {
            source: Source::Bulk {
                len: 100,
                count: 50,
            },
            ..App::default()
        };
        let mut pair = Pair::start(setup, data, App::default());
        pair.run_for(SECOND);
        let snapshot = pair.world.node(pair.host(End::Client)).snapshot(0);
        assert_eq!(snapshot.map(|s| s.tx_ccid), Some(agreed));
        assert_eq!(pair.report(End::Server).received, 50);
    }
}
