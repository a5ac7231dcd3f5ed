//! The law and the CCID in the simulator.

use core::time::Duration;
use dccp_proto::wire::PacketType;
use dccp_proto::{Config, Rate};
use dccp_sim::pair::{End, Pair, Profile, Setup};
use dccp_sim::queue::{Limit, QueueConfig};
use dccp_sim::rule::{Action, Rule};
use dccp_sim::source::App;
use own_control::aimd::Aimd;
use own_control::paced::{NUMBER, Paced};

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

/// A sender with this law, which avoids congestion from 20 packets on. The path has 20 ms each way and no limit.
fn with_law(law: Aimd) -> Setup {
    let mut config = Config {
        law: law.into(),
        ..Config::default()
    };
    config.law.slow_start.initial_ssthresh = 20.0;
    Setup {
        client: Profile::Ours(config).with_ccid(2),
        server: Profile::ours().with_ccid(2),
        ..Setup::default()
    }
}

fn window(pair: &Pair) -> f64 {
    let host = pair.world.node(pair.host(End::Client));
    let snapshot = host.snapshot(0).expect("the connection is open");
    assert_eq!(snapshot.tx.law, Some("aimd"));
    snapshot.tx.cwnd_packets.expect("CCID 2 has a window")
}

#[test]
fn law_takes_its_share_of_the_window_on_a_loss() {
    for decrease in [0.5, 0.2] {
        let law = Aimd {
            decrease,
            ..Aimd::default()
        };
        let mut pair = Pair::start(with_law(law), App::bulk(1000, u64::MAX), App::default());
        pair.run_for(2 * SECOND);
        let lost = Rule::new(Action::Drop).of_type(PacketType::Data).nth(1);
        pair.world.add_rule(pair.there, lost);
        let mut before = window(&pair);
        let mut after = before;
        while after >= before {
            assert!(pair.world.now().as_nanos() < 3_000_000_000, "no reduction");
            before = after;
            pair.run_for(MS / 10);
            after = window(&pair);
        }
        assert_eq!(pair.world.lost_by_rule(pair.there), 1);
        let share = after / before;
        // An acknowledgement that also reports the loss adds a small part of a packet before it.
        assert!(
            (share - (1.0 - decrease)).abs() < 0.01,
            "{before} packets became {after}, a decrease of {decrease}"
        );
    }
}

#[test]
fn law_grows_by_its_increase_per_round_trip() {
    let growth = |increase| {
        let law = Aimd {
            increase,
            ..Aimd::default()
        };
        let mut pair = Pair::start(with_law(law), App::bulk(1000, u64::MAX), App::default());
        pair.run_for(SECOND);
        let before = window(&pair);
        // 50 round trips of 40 ms.
        pair.run_for(2 * SECOND);
        (window(&pair) - before) / 50.0
    };
    for increase in [1.0, 3.0] {
        let found: f64 = growth(increase);
        assert!(
            (found / increase - 1.0).abs() < 0.1,
            "{found} packets per round trip, not {increase}"
        );
    }
}

/// Both ends with CCID 249. The path has 20 ms each way and no limit.
fn with_ccid() -> Setup {
    let config = Config::default();
    let config = Config {
        ccids: config.ccids.with(Paced),
        ..config
    };
    let end = Profile::Ours(config).with_ccid(NUMBER);
    Setup {
        client: end.clone(),
        server: end,
        ..Setup::default()
    }
}

fn packets_per_s(pair: &Pair) -> f64 {
    let host = pair.world.node(pair.host(End::Client));
    let snapshot = host.snapshot(0).expect("the connection is open");
    let inner = snapshot.tx.inner.iter();
    let rate = inner.clone().find(|(name, _)| *name == "packets_per_s");
    rate.expect("the CCID reports its rate").1
}

#[test]
fn both_ends_negotiate_the_ccid() {
    let mut pair = Pair::start(with_ccid(), App::bulk(1000, u64::MAX), App::default());
    pair.run_for(SECOND);
    for end in [End::Client, End::Server] {
        let host = pair.world.node(pair.host(end));
        let snapshot = host.snapshot(0).expect("the connection is open");
        assert_eq!((snapshot.tx_ccid, snapshot.rx_ccid), (NUMBER, NUMBER));
    }
}

#[test]
fn ccid_halves_its_rate_on_a_loss() {
    let mut pair = Pair::start(with_ccid(), App::bulk(1000, u64::MAX), App::default());
    pair.run_for(2 * SECOND);
    let lost = Rule::new(Action::Drop).of_type(PacketType::Data).nth(1);
    pair.world.add_rule(pair.there, lost);
    let mut before = packets_per_s(&pair);
    // It begins with four packets per round trip of 40 ms, and adds one in each.
    assert!(before > 500.0, "{before} packets per second");
    let mut after = before;
    while after >= before {
        assert!(pair.world.now().as_nanos() < 3_000_000_000, "no reduction");
        before = after;
        pair.run_for(MS / 10);
        after = packets_per_s(&pair);
    }
    assert!((after / before - 0.5).abs() < 1e-9, "{before} → {after}");
}

#[test]
fn ccid_uses_most_of_a_bottleneck() {
    // 4 Mbit/s: 474 datagrams of 1000 bytes per second, and 20 in a queue.
    let setup = with_ccid().links(|link| {
        link.rate = Some(Rate::from_bytes_per_s(0.5e6));
        link.queue = QueueConfig::drop_tail(Limit::Packets(20));
    });
    let mut pair = Pair::start(setup, App::bulk(1000, u64::MAX), App::default());
    pair.run_for(60 * SECOND);
    let sent = pair.report(End::Client).sent;
    let received = pair.report(End::Server).received;
    assert!(received > 20_000, "{received} of 28440");
    assert!(sent - received < sent / 20, "{received} of {sent}");
}

#[test]
fn ccid_halves_its_rate_without_acknowledgements_and_recovers() {
    let mut pair = Pair::start(with_ccid(), App::bulk(1000, u64::MAX), App::default());
    pair.run_for(2 * SECOND);
    let before = packets_per_s(&pair);
    pair.world.add_rule(pair.back, Rule::new(Action::Drop));
    // The rate halves after a second. By then the connection has sent what the Sequence Window permits.
    pair.run_for(3 * SECOND);
    let after = packets_per_s(&pair);
    assert!(after < 0.6 * before, "{before} → {after}");
    pair.world.clear_rules(pair.back);
    let received = pair.report(End::Server).received;
    // The connection tries a Sync in growing intervals.
    pair.run_for(10 * SECOND);
    assert!(packets_per_s(&pair) > after, "the rate grows again");
    assert!(pair.report(End::Server).received > received + 1000);
}
