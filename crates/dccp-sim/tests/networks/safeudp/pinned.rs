//! The pinned scenarios of SafeUDP §8 through real packets: a round trip of 100 ms, 2000 datagrams per second.

use super::net::{Kind, Net, bottleneck, cbr};
use dccp_proto::cc::safeudp::{Cause, Info, Profile, SafeUdpConfig, SendCode};
use dccp_proto::{CloseReason, ConnectError, Event};
use dccp_sim::Change;
use dccp_sim::loss::FaultConfig;
use dccp_sim::rule::{Action, Rule};
use dccp_sim::source::{App, Reading};

/// Bits of application data per second: 2000 datagrams of 1400 bytes.
const RATE: f64 = 22.4e6;

fn provisioned() -> Kind {
    Kind::SafeUdp(SafeUdpConfig {
        profile: Profile::Provisioned,
        ..SafeUdpConfig::default()
    })
}

/// A flow after five seconds on a clean path.
fn start(kind: Kind, app: App) -> Net {
    let mut net = Net::new(1, bottleneck(100.0, 50), &[kind]);
    net.start(0, app);
    net.run_s(5);
    assert_eq!(net.state(0), "clear");
    net
}

fn set_loss(net: &mut Net, loss: f64) {
    let (now, link) = (net.world.now(), net.links[0]);
    let faults = FaultConfig {
        loss,
        ..FaultConfig::default()
    };
    net.world.at(now, Change::Faults(link, faults));
}

#[test]
fn single_burst_is_transient() {
    let mut net = start(Kind::safe_udp(), cbr(RATE));
    let link = net.links[0];
    net.world
        .add_rule(link, Rule::new(Action::Drop).from_nth(1, 20));
    net.run_s(5);
    assert_eq!(
        net.notices(0).last(),
        Some(&SendCode::Info(Info::Transient))
    );
    assert_eq!(net.state(0), "clear");
}

#[test]
fn obeyed_advice_leads_to_compliance_without_enforcement() {
    let app = App {
        obeys: true,
        ..cbr(RATE)
    };
    let mut net = start(Kind::safe_udp(), app);
    let dropped = net.sent(0).dropped;
    set_loss(&mut net, 1e-3);
    net.world.run_for(core::time::Duration::from_secs(2));
    set_loss(&mut net, 0.0);
    net.run_s(10);
    assert_eq!(net.sent(0).dropped, dropped);
    let names = net.notice_names(0);
    assert!(
        names.contains(&"congestion") && names.contains(&"complied"),
        "{names:?}"
    );
    assert_eq!(net.state(0), "clear");
}

#[test]
fn ignored_advice_is_enforced_and_lifted_when_the_network_is_clean() {
    let mut net = start(Kind::safe_udp(), cbr(RATE));
    let dropped = net.sent(0).dropped;
    set_loss(&mut net, 2e-3);
    net.run_s(8);
    assert_eq!(net.state(0), "enforce");
    assert!(net.sent(0).dropped > dropped);
    set_loss(&mut net, 0.0);
    net.run_s(60);
    assert_eq!(net.state(0), "clear");
    assert!(net.rate_over(0, 10) > 0.99e-6 * RATE);
}

#[test]
fn receiving_application_is_told_that_less_arrives_than_was_declared() {
    let declared = SafeUdpConfig {
        declared_rate: Some(22_400_000),
        ..SafeUdpConfig::default()
    };
    let mut net = start(Kind::SafeUdp(declared), cbr(RATE));
    let notices = |net: &Net| -> Vec<bool> {
        let [_, receiver] = net.hosts(0);
        let events = net.world.node(receiver).report(0).events.into_iter();
        let notices = events.filter_map(|event| match event {
            Event::Shortfall(notice) => {
                assert_eq!(notice.declared_bits_per_s, 22_400_000);
                Some(notice.is_over)
            }
            _ => None,
        });
        notices.collect()
    };
    let before = notices(&net).len();
    set_loss(&mut net, 2e-3);
    net.run_s(8);
    assert_eq!(net.state(0), "enforce");
    assert_eq!(notices(&net)[before..], [false]);
    set_loss(&mut net, 0.0);
    net.run_s(60);
    assert_eq!(notices(&net)[before..], [false, true]);
}

#[test]
fn heavy_loss_trips_the_loss_breaker_twice() {
    let mut net = start(Kind::safe_udp(), cbr(RATE));
    // A throttled flow has few packets per sub-window, so 15 % would trip it late.
    set_loss(&mut net, 0.2);
    net.run_s(6);
    assert_eq!(net.state(0), "throttled");
    // A second connection would escape the cap.
    let held = net.try_start(0, cbr(RATE));
    assert!(
        matches!(held, Err(ConnectError::HeldOff { .. })),
        "{held:?}"
    );
    net.run_s(40);
    let code = Cause::Loss.reset_code();
    assert_eq!(
        net.report(0).close_reason(),
        Some(&CloseReason::Aborted(code))
    );
    // The peer learns the cause from the Reset.
    let [_, receiver] = net.hosts(0);
    let report = net.world.node(receiver).report(0);
    assert!(matches!(
        report.close_reason(),
        Some(CloseReason::Reset { code: reset, .. }) if *reset == code
    ));
}

#[test]
fn provisioned_sender_keeps_its_rate_at_light_loss_and_not_at_heavy_loss() {
    let mut net = start(provisioned(), cbr(RATE));
    let (dropped, notices) = (net.sent(0).dropped, net.notices(0).len());
    set_loss(&mut net, 5e-3);
    net.run_s(30);
    assert_eq!((net.sent(0).dropped, net.state(0)), (dropped, "eval"));
    let notices = net.notices(0).split_off(notices);
    let is_within = |code: &SendCode| *code == SendCode::Info(Info::WithinShare);
    assert!(
        !notices.is_empty() && notices.iter().all(is_within),
        "{notices:?}"
    );
    set_loss(&mut net, 2e-2);
    net.run_s(30);
    assert_eq!(net.state(0), "enforce");
    assert!(net.sent(0).dropped > dropped);
}

#[test]
fn slow_flow_is_within_its_share() {
    // TCP would have 560 kB/s at this loss; the flow has 28 kB/s.
    let mut net = start(Kind::safe_udp(), cbr(RATE / 100.0));
    let dropped = net.sent(0).dropped;
    set_loss(&mut net, 1e-2);
    net.run_s(120);
    assert_eq!(net.sent(0).dropped, dropped);
    assert!(!net.notice_names(0).contains(&"congestion"));
}

#[test]
fn peer_without_a_listening_application_ends_the_control() {
    let mut net = Net::new(1, bottleneck(100.0, 50), &[Kind::safe_udp()]);
    net.listen(
        0,
        App {
            reading: Reading::NotListening,
            ..App::default()
        },
    );
    net.start(0, cbr(RATE));
    net.run_s(5);
    assert_eq!(net.state(0), "peer_gone");
    assert!(net.report(0).events.contains(&Event::PeerNotListening));
    assert!(net.notice_names(0).contains(&"not_listening"));
}
