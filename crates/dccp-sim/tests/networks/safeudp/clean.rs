//! A path without congestion: SafeUDP is UDP.

use super::net::{Kind, Net, bottleneck, cbr};
use core::time::Duration;
use dccp_proto::cc::safeudp::{Profile, SafeUdpConfig};
use dccp_sim::loss::FaultConfig;
use dccp_sim::rule::{Action, Rule};
use dccp_sim::source::{App, Ending, endings};

/// The 99th percentile of the one-way delays after a second, and the datagrams that arrived then.
fn p99(kind: Kind) -> (Duration, usize) {
    let mut net = Net::new(1, bottleneck(50.0, 20), &[kind]);
    let logged = |app| App {
        stamps: true,
        logs: true,
        ..app
    };
    net.listen(0, logged(App::default()));
    net.start(0, logged(cbr(20e6)));
    net.run_s(31);
    let (offered, arrivals) = net.logs(0);
    let endings = endings(&offered, &arrivals);
    let mut delays: Vec<Duration> = offered
        .iter()
        .zip(endings)
        .filter(|(offered, _)| offered.made.as_nanos() > 1_000_000_000)
        .filter_map(|(offered, ending)| match ending {
            Ending::Delivered(at) => Some(at - offered.made),
            _ => None,
        })
        .collect();
    delays.sort_unstable();
    (delays[delays.len() * 99 / 100], delays.len())
}

#[test]
fn clean_path_has_the_rate_and_the_delay_of_udp() {
    let (udp, udp_count) = p99(Kind::Udp);
    let (safe, safe_count) = p99(Kind::safe_udp());
    let ratio = safe.as_secs_f64() / udp.as_secs_f64();
    assert!((0.95..=1.05).contains(&ratio), "{safe:?} {udp:?}");
    assert!(
        safe_count.abs_diff(udp_count) <= 2,
        "{safe_count} {udp_count}"
    );
}

#[test]
fn start_up_drops_for_a_few_round_trips_and_delays_nothing() {
    let mut net = Net::new(1, bottleneck(50.0, 20), &[Kind::safe_udp()]);
    net.start(0, cbr(20e6));
    net.run_s(1);
    // 71 datagrams per round trip: 10, 20, 40 pass in the first three.
    let dropped = net.sent(0).dropped;
    assert!((1..=200).contains(&dropped), "{dropped}");
    net.run_s(30);
    assert_eq!(net.sent(0).dropped, dropped);
    assert_eq!(net.state(0), "clear");
}

#[test]
fn transient_burst_costs_the_application_nothing_through_us() {
    for seed in 1..=5 {
        let mut net = Net::new(seed, bottleneck(50.0, 20), &[Kind::safe_udp()]);
        net.start(0, cbr(20e6));
        net.run_s(5);
        let before = net.sent(0);
        let link = net.links[0];
        net.world
            .add_rule(link, Rule::new(Action::Drop).from_nth(1, 100 * seed));
        net.run_s(10);
        let after = net.sent(0);
        assert_eq!(after.dropped, before.dropped, "{seed}");
        // The rule also drops acknowledgements of acknowledgements.
        assert!(after.lost >= 90 * seed, "{seed}: {}", after.lost);
        assert_eq!(net.notice_names(0), ["dropped", "transient"], "{seed}");
    }
}

#[test]
fn random_loss_of_a_lightpath_is_no_congestion_for_a_provisioned_sender() {
    for loss in [1e-7, 1e-5, 1e-4, 1e-3] {
        let mut link = bottleneck(200.0, 20);
        link.faults = FaultConfig {
            loss,
            ..FaultConfig::default()
        };
        let config = SafeUdpConfig {
            profile: Profile::Provisioned,
            ..SafeUdpConfig::default()
        };
        let mut net = Net::new(2, link, &[Kind::SafeUdp(config)]);
        net.start(0, cbr(100e6));
        // Until the handshake ends, and the Sequence Window fits, the application's queue overflows.
        net.run_s(2);
        let before = net.sent(0).dropped;
        net.run_s(30);
        assert_eq!(net.sent(0).dropped, before, "{loss}");
        assert!(matches!(net.state(0), "clear" | "eval"), "{loss}");
    }
}

#[test]
fn random_loss_is_limited_by_tcps_rate_in_the_shared_profile() {
    for (loss, is_limited) in [(1e-7, false), (1e-3, true)] {
        let mut link = bottleneck(200.0, 20);
        link.faults = FaultConfig {
            loss,
            ..FaultConfig::default()
        };
        let mut net = Net::new(3, link, &[Kind::safe_udp()]);
        net.start(0, cbr(100e6));
        net.run_s(10);
        let before = net.sent(0).dropped;
        net.run_s(30);
        assert_eq!(net.sent(0).dropped > before, is_limited, "{loss}");
    }
}
