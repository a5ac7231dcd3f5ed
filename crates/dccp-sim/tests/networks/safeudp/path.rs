//! Paths that fail, and feedback that is lost.

use super::net::{Kind, Net, bottleneck, cbr};
use core::time::Duration;
use dccp_proto::cc::safeudp::{Cause, SendCode};
use dccp_proto::wire::ResetCode;
use dccp_proto::{CloseReason, ConnectError};
use dccp_sim::Change;
use dccp_sim::loss::FaultConfig;
use dccp_sim::rule::{Action, Rule};
use dccp_sim::source::App;

fn start() -> Net {
    let mut net = Net::new(1, bottleneck(50.0, 20), &[Kind::safe_udp()]);
    net.start(0, cbr(10e6));
    net.run_s(5);
    net
}

/// Both directions go down or up.
fn set_up(net: &mut Net, is_up: bool) {
    let now = net.world.now();
    for link in net.links {
        net.world.at(now, Change::Up(link, is_up));
    }
}

#[test]
fn short_failure_limits_the_sender_until_the_path_is_back() {
    let mut net = start();
    set_up(&mut net, false);
    net.world.run_for(Duration::from_millis(500));
    assert_eq!(net.state(0), "enforce");
    set_up(&mut net, true);
    net.run_s(60);
    assert_eq!(net.state(0), "clear");
    assert!(net.rate_over(0, 10) > 9.0);
}

#[test]
fn failed_path_ends_the_connection_and_holds_off_the_next() {
    let mut net = start();
    set_up(&mut net, false);
    net.run_s(3);
    let report = net.report(0);
    let code = Cause::Feedback.reset_code();
    assert_eq!(report.close_reason(), Some(&CloseReason::Aborted(code)));
    let refused = net.notices(0).into_iter().find_map(|code| match code {
        SendCode::Refused { cause, not_before } => Some((cause, not_before)),
        _ => None,
    });
    let (cause, not_before) = refused.expect("a notice");
    assert_eq!(cause, Cause::Feedback);
    set_up(&mut net, true);
    let held = net.try_start(0, cbr(10e6));
    assert_eq!(held, Err(ConnectError::HeldOff { until: not_before }));
    net.world.run_until(not_before);
    net.start(0, cbr(10e6));
    net.run_s(5);
    assert!(net.rate_over(0, 10) > 9.0);
}

/// Three quarters of the Sequence Window are sent long before the silence is over. The datagrams that wait then count as sent.
#[test]
fn failed_path_with_a_short_round_trip_ends_the_connection_too() {
    for rate in [0.3e6, 4e6, 40e6] {
        let mut net = Net::new(1, bottleneck(50.0, 0), &[Kind::safe_udp()]);
        net.start(0, cbr(rate));
        net.run_s(5);
        set_up(&mut net, false);
        net.run_s(3);
        let code = Cause::Feedback.reset_code();
        let report = net.report(0);
        let reason = report.close_reason();
        assert_eq!(reason, Some(&CloseReason::Aborted(code)), "{rate}");
    }
}

#[test]
fn listener_whose_sender_tripped_turns_its_peer_away_for_a_while() {
    let mut net = Net::new(1, bottleneck(50.0, 20), &[Kind::safe_udp()]);
    net.listen(0, cbr(10e6));
    net.start(0, App::default());
    net.run_s(5);
    let feedback = net.links[0];
    net.world.add_rule(feedback, Rule::new(Action::Drop));
    net.run_s(3);
    net.world.clear_rules(feedback);
    // The client learned the end by the Reset of the breaker.
    let code = Cause::Feedback.reset_code();
    assert_eq!(net.report(0).reset, Some(code));
    net.start(0, App::default());
    net.run_s(1);
    assert_eq!(net.report(0).reset, Some(ResetCode::TOO_BUSY));
    net.run_s(15);
    net.start(0, App::default());
    net.run_s(5);
    assert!(!net.report(0).is_over);
}

#[test]
fn losses_on_the_reverse_path_are_no_congestion_of_the_forward_path() {
    let mut net = start();
    let (now, back) = (net.world.now(), net.links[1]);
    let faults = FaultConfig {
        loss: 0.3,
        ..FaultConfig::default()
    };
    net.world.at(now, Change::Faults(back, faults));
    let before = net.sent(0).dropped;
    net.run_s(60);
    let sample = net.sent(0);
    assert_eq!((sample.dropped, net.state(0)), (before, "clear"));
    assert_eq!(sample.lost, 0);
}

#[test]
fn lost_feedback_opens_the_breaker_in_the_start_up_too() {
    for delay in [0, 5] {
        let mut net = Net::new(1, bottleneck(50.0, 20), &[Kind::safe_udp()]);
        net.start(0, cbr(10e6));
        // The handshake, and what follows within `delay` seconds, passes.
        net.world.run_for(Duration::from_millis(200 + 1000 * delay));
        let back = net.links[1];
        net.world.add_rule(back, Rule::new(Action::Drop));
        net.world.run_for(Duration::from_millis(2500));
        let code = Cause::Feedback.reset_code();
        let report = net.report(0);
        assert_eq!(
            report.close_reason(),
            Some(&CloseReason::Aborted(code)),
            "{delay}"
        );
    }
}
