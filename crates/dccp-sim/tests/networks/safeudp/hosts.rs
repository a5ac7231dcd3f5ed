//! Losses in hosts are attributed to hosts, and losses in the network to the network.

use super::net::{Kind, Net, bottleneck, cbr};
use core::time::Duration;
use dccp_proto::Rate;
use dccp_proto::cc::safeudp::{SendCode, Side};
use dccp_proto::number::to_f64;
use dccp_sim::loss::FaultConfig;
use dccp_sim::machine::{LocalCongestion, MachineConfig};
use dccp_sim::source::{App, Reading};
use dccp_sim::{LinkConfig, queue};

/// Intervals with signs of the network, and of a host alone.
fn intervals(net: &Net) -> [f64; 2] {
    ["intervals_network", "intervals_host"].map(|name| net.inner(0, name))
}

/// At least 99 % of the intervals with signs are those of a host, of at least `least`.
#[track_caller]
fn assert_host(net: &Net, least: f64) {
    let [network, host] = intervals(net);
    assert!(
        host >= least && network <= 0.01 * (network + host),
        "{network} {host}"
    );
}

fn warns_of(net: &Net, side: Side) -> bool {
    let warns =
        |code: &SendCode| matches!(code, SendCode::HostWarning { host, .. } if *host == side);
    net.notices(0).iter().any(warns)
}

#[test]
fn application_that_reads_slowly_is_the_receiving_host() {
    let mut net = Net::new(1, bottleneck(100.0, 10), &[Kind::safe_udp()]);
    net.listen(
        0,
        App {
            receive_buffer: 100,
            reading: Reading::AtRate(Rate::from_bytes_per_s(1e6)),
            ..App::default()
        },
    );
    net.start(0, cbr(10e6));
    net.run_s(60);
    assert_host(&net, 100.0);
    assert!(warns_of(&net, Side::Receiver));
    // RFC 4340 §11.7.2: the sender slows down instead of being dropped there.
    let received = net.received(0);
    let goodput = to_f64(received.received_bytes) / 60.0;
    assert!(goodput > 0.9e6, "{goodput}");
}

#[test]
fn processor_that_is_too_slow_is_the_receiving_host() {
    // The backlog drops packets before DCCP sees them: only the Host Loss Count tells.
    let mut net = Net::new(2, bottleneck(100.0, 10), &[Kind::safe_udp()]);
    let [_, receiver] = net.hosts(0);
    net.world.set_machine(
        receiver.id(),
        MachineConfig {
            receive_cost: Duration::from_micros(1200),
            backlog: 20,
            ..MachineConfig::default()
        },
    );
    net.start(0, cbr(10e6));
    net.run_s(60);
    assert_host(&net, 100.0);
    assert!(warns_of(&net, Side::Receiver));
    assert!(net.world.host_losses(receiver.id()).backlog > 100);
}

#[test]
fn full_interface_queue_is_the_sending_host() {
    // Its own link is the bottleneck, and the interface drops what it has no room for.
    for reaction in [LocalCongestion::Drop, LocalCongestion::Wait] {
        let mut net = Net::slow_access(
            3,
            &LinkConfig {
                rate: Some(Rate::from_bytes_per_s(1e6)),
                queue: queue::QueueConfig::drop_tail(queue::Limit::Packets(50)),
                ..LinkConfig::default()
            },
        );
        let [sender, _] = net.hosts(0);
        net.world.set_machine(
            sender.id(),
            MachineConfig {
                local_congestion: reaction,
                ..MachineConfig::default()
            },
        );
        net.start(0, cbr(10e6));
        net.run_s(60);
        assert_host(&net, 100.0);
        assert!(warns_of(&net, Side::Sender));
    }
}

#[test]
fn losses_on_the_path_are_the_network() {
    let mut link = bottleneck(100.0, 10);
    link.faults = FaultConfig {
        loss: 1e-3,
        ..FaultConfig::default()
    };
    let mut net = Net::new(4, link, &[Kind::safe_udp()]);
    net.start(0, cbr(10e6));
    net.run_s(60);
    let [network, host] = intervals(&net);
    assert!(
        network > 30.0 && host <= 0.01 * (network + host),
        "{network} {host}"
    );
}

#[test]
fn congestion_of_the_network_is_not_blamed_on_a_host() {
    let mut net = Net::new(5, bottleneck(8.0, 10), &[Kind::safe_udp()]);
    net.start(0, cbr(10e6));
    net.run_s(60);
    let [network, host] = intervals(&net);
    assert!(
        network > 30.0 && host <= 0.01 * (network + host),
        "{network} {host}"
    );
}
