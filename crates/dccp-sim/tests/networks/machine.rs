//! Hosts whose processor takes time, whose interface fills, and whose clock is wrong.

use core::time::Duration;
use dccp_proto::{Config, Rate};
use dccp_sim::loss::Loss;
use dccp_sim::machine::{AckCost, Clock, HostLosses, LocalCongestion, MachineConfig};
use dccp_sim::pair::{End, Pair, Profile, Setup};
use dccp_sim::queue::{Limit, QueueConfig};
use dccp_sim::source::{App, Source};
use dccp_sim::tcp;
use dccp_sim::{FlowSample, LinkConfig};

const SECOND: Duration = Duration::from_secs(1);

/// A bulk transfer, of whose hosts one or both have such a machine, over a gigabit and 10 ms.
fn run(setup: Setup, machine: MachineConfig, ends: &[End]) -> Pair {
    let mut pair = Pair::new(setup.links(|link| {
        link.delay = Duration::from_millis(5);
    }));
    for &end in ends {
        let node = pair.node(end);
        pair.world.set_machine(node, machine);
    }
    pair.listen(App::default());
    pair.connect(App::bulk(1400, u64::MAX));
    pair.run_for(5 * SECOND);
    pair
}

fn megabits(per_s: f64) -> Rate {
    Rate::from_bytes_per_s(per_s * 125_000.0)
}

#[test]
fn a_slow_processor_is_the_limit_and_loses_nothing() {
    let machine = MachineConfig {
        send_cost: Duration::from_micros(42),
        ..MachineConfig::default()
    };
    let setup = Setup::default().links(|link| link.rate = Some(megabits(1000.0)));
    let pair = run(setup, machine, &[End::Client]);
    let (sent, totals) = (pair.report(End::Client).sent, pair.world.totals());
    // 5 s / 42 µs are 119,000 packets; slow start takes a little of it.
    assert!((110_000..119_048).contains(&sent), "{sent}");
    assert_eq!(totals.lost.total(), 0);
    let busy = pair.world.processor_time(pair.node(End::Client));
    assert!(busy > Duration::from_millis(4600), "{busy:?}");
}

/// The packets that TCP connections send in 5 s from a host with this machine, all losses, and those of the host.
fn run_tcp(
    machine: MachineConfig,
    connections: u16,
    change: impl Fn(&mut LinkConfig),
) -> (Vec<FlowSample>, u64, HostLosses) {
    let mut pair = Pair::new(Setup::default().links(|link| {
        link.delay = Duration::from_millis(5);
        change(link);
    }));
    let node = pair.node(End::Client);
    pair.world.set_machine(node, machine);
    let (client, server) = (pair.host(End::Client), pair.host(End::Server));
    let path = pair.flow(0).path;
    let config = tcp::Config::default();
    (pair.world).call(server, |host, _| {
        host.tcp_listen(80, config.clone(), App::default());
    });
    let flows: Vec<_> = (4000..4000 + connections)
        .map(|port| {
            let (local, remote) = ((path.local, port).into(), (path.remote, 80).into());
            pair.world.call(client, |host, context| {
                host.tcp_connect(
                    context,
                    local,
                    remote,
                    config.clone(),
                    App::bulk(1448, u64::MAX),
                )
            })
        })
        .collect();
    pair.run_for(5 * SECOND);
    let samples = flows
        .iter()
        .map(|flow| pair.world.node(client).sample(*flow));
    let losses = pair.world.host_losses(node);
    (samples.collect(), pair.world.totals().lost.total(), losses)
}

#[test]
fn connections_of_tcp_share_a_slow_processor() {
    let machine = MachineConfig {
        send_cost: Duration::from_micros(42),
        quantum: 1,
        ..MachineConfig::default()
    };
    let (flows, lost, _) = run_tcp(machine, 2, |link| link.rate = Some(megabits(1000.0)));
    let all: u64 = flows.iter().map(|f| f.sent).sum();
    assert!((110_000..119_048).contains(&all), "{all}");
    assert!(flows.iter().all(|f| f.sent * 3 > all));
    assert_eq!(lost, 0);
}

#[test]
fn a_full_interface_of_linux_2_4_is_congestion_without_loss() {
    let run = |local_congestion| {
        let machine = MachineConfig {
            local_congestion,
            ..MachineConfig::default()
        };
        run_tcp(machine, 1, |link| {
            link.rate = Some(megabits(10.0));
            link.queue = QueueConfig::drop_tail(Limit::Packets(20));
        })
    };
    let (event, lost, _) = run(LocalCongestion::Event);
    assert_eq!(lost, 0);
    assert!(event[0].loss_events > Some(3), "{:?}", event[0].loss_events);
    assert_eq!(event[0].retransmitted, 0);
    let (wait, _, _) = run(LocalCongestion::Wait);
    assert_eq!((wait[0].loss_events, wait[0].retransmitted), (Some(0), 0));
    let (drop, lost, _) = run(LocalCongestion::Drop);
    assert!(lost > 0 && drop[0].retransmitted > 0);
    for flow in [&event[0], &wait[0], &drop[0]] {
        assert!(flow.delivered > 3700, "{} of 4100", flow.delivered);
    }
}

#[test]
fn a_full_interface_lets_the_sender_wait_or_loses() {
    let lost = |local_congestion| {
        let machine = MachineConfig {
            local_congestion,
            ..MachineConfig::default()
        };
        let setup = Setup::default().links(|link| {
            link.rate = Some(megabits(10.0));
            link.queue = QueueConfig::drop_tail(Limit::Packets(5));
        });
        let pair = run(setup, machine, &[End::Client]);
        let received = pair.report(End::Server).received;
        assert!(received > 3500, "{received} of 4300");
        pair.world.totals().lost.of(Loss::Queue)
    };
    assert_eq!(lost(LocalCongestion::Wait), 0);
    assert!(lost(LocalCongestion::Drop) > 10);
    assert_eq!(lost(LocalCongestion::Event), lost(LocalCongestion::Drop));
}

// Section 8 of the experiments: SACK processing that takes time for each packet in flight.
#[test]
fn a_search_of_the_window_slows_tcp_down_only_in_recovery_from_a_large_one() {
    let run = |queue: usize, ns: u64| {
        let machine = MachineConfig {
            // A packet that finds the interface full is lost, as at a router.
            local_congestion: LocalCongestion::Drop,
            batch: 1,
            backlog: 300,
            ack_cost: AckCost {
                each: Duration::from_micros(1),
                tcp_search: Duration::from_nanos(ns),
                dccp_walk: Duration::from_secs(1),
            },
            ..MachineConfig::default()
        };
        let (flows, lost, losses) = run_tcp(machine, 1, |link| {
            link.rate = Some(megabits(1000.0));
            link.queue = QueueConfig::drop_tail(Limit::Packets(queue));
        });
        assert!(lost > 0 && flows[0].loss_events > Some(0));
        (flows[0].delivered, losses.backlog)
    };
    // 4,000 packets in flight at the first loss: an acknowledgement takes 40 µs, and comes every 12 µs.
    let (fast, slow) = (run(3000, 0), run(3000, 10));
    assert_eq!(fast.1, 0);
    assert!(slow.1 > 100, "{} acknowledgements lost", slow.1);
    assert!(slow.0 < fast.0, "{slow:?} {fast:?}");
    // With 1,000 they take as long as the packets.
    assert_eq!(run(100, 10).1, 0);
}

// E19: 10.5 µs for each packet and 0.16 µs for each packet in flight, with each second packet.
#[test]
fn a_walk_along_the_window_takes_a_whole_processor_on_a_long_path() {
    let run = |delay_us: u64, walk_ns: u64| {
        let machine = MachineConfig {
            send_cost: Duration::from_nanos(10_500),
            batch: 1,
            ack_cost: AckCost {
                dccp_walk: Duration::from_nanos(walk_ns),
                ..AckCost::default()
            },
            ..MachineConfig::default()
        };
        let config = Config {
            max_window: Some(1018),
            ack_ratio: Some(2),
            pacing: false,
            ..Config::default()
        };
        let setup = Setup {
            client: Profile::Ours(config.clone()),
            server: Profile::Ours(config),
            ..Setup::default()
        };
        let mut pair = Pair::untraced(setup.links(|link| {
            link.delay = Duration::from_micros(delay_us);
            link.rate = Some(megabits(1000.0));
            link.queue = QueueConfig::drop_tail(Limit::Packets(2000));
        }));
        let node = pair.node(End::Client);
        pair.world.set_machine(node, machine);
        pair.listen(App::default());
        pair.connect(App::bulk(1400, u64::MAX));
        pair.run_for(5 * SECOND);
        let before = (
            pair.report(End::Server).received,
            pair.world.processor_time(node),
        );
        pair.run_for(5 * SECOND);
        let packets = pair.report(End::Server).received - before.0;
        let busy = pair.world.processor_time(node).saturating_sub(before.1);
        (packets / 5, busy.as_secs_f64() / 5.0)
    };
    let (rate, busy) = run(47_000, 160);
    assert!((9_000..10_900).contains(&rate), "{rate} packets/s");
    assert!(busy > 0.9, "{busy}");
    let (rate, busy) = run(47_000, 0);
    assert!((10_500..10_900).contains(&rate), "{rate} packets/s");
    assert!((0.10..0.13).contains(&busy), "{busy}");
}

#[test]
fn a_slow_receiver_loses_what_its_backlog_cannot_hold() {
    let machine = MachineConfig {
        receive_cost: Duration::from_micros(100),
        backlog: 300,
        ..MachineConfig::default()
    };
    let setup = Setup::default().links(|link| link.rate = Some(megabits(1000.0)));
    let pair = run(setup, machine, &[End::Server]);
    let received = pair.report(End::Server).received;
    assert!((40_000..=50_000).contains(&received), "{received}");
    let lost = pair.world.totals().lost.of(Loss::Backlog);
    let losses = pair.world.host_losses(pair.node(End::Server));
    assert!(lost > 0 && losses.backlog == lost);
}

#[test]
fn packets_that_wait_for_an_interrupt_arrive_together() {
    let machine = MachineConfig {
        wakeup: Duration::from_millis(1),
        ..MachineConfig::default()
    };
    let setup = Setup::default().links(|link| link.rate = Some(megabits(100.0)));
    let pair = run(setup, machine, &[End::Client, End::Server]);
    let trace = pair.world.trace();
    let acks = trace.lines().filter(|l| l.contains("server>client Ack"));
    let mut moments: Vec<_> = acks.map(|l| l.trim_start().split(' ').next()).collect();
    moments.dedup();
    let received = pair.report(End::Server).received;
    assert!(moments.len() < 5_000, "{} moments in 5 s", moments.len());
    assert!(received > 30_000, "{received}");
    assert_eq!(pair.world.totals().lost.of(Loss::Backlog), 0);
    let rtt = pair.world.node(pair.host(End::Client)).snapshot(0).unwrap();
    let rtt = rtt.rtt.unwrap();
    assert!(rtt >= Duration::from_millis(12), "{rtt:?}: two wake-ups");
}

#[test]
fn clocks_that_are_wrong_change_nothing_but_what_they_show() {
    let pings = App {
        source: Source::Cbr {
            len: 64,
            interval: Duration::from_millis(100),
            count: 30,
        },
        stamps: true,
        ..App::default()
    };
    let server = App {
        stamps: true,
        ..App::echo()
    };
    let mut pair = Pair::new(Setup::default());
    let clock = Clock {
        offset: Duration::from_hours(1),
        drift_ppb: 50_000,
        granularity: Duration::ZERO,
    };
    let node = pair.node(End::Server);
    pair.world.set_machine(
        node,
        MachineConfig {
            clock,
            ..MachineConfig::default()
        },
    );
    pair.listen(server);
    pair.connect(pings);
    pair.run_for(5 * SECOND);
    let (client, server) = (pair.report(End::Client), pair.report(End::Server));
    let trips: Vec<_> = client.delays.iter().map(|d| d.age).collect();
    assert_eq!(trips, [Duration::from_millis(40); 30]);
    // One way: 20 ms, the hour, and 50 µs for each second.
    let first = server.delays[0].age;
    let last = server.delays[29].age;
    assert!(first.abs_diff(Duration::from_millis(3_600_020)) < Duration::from_micros(10));
    let gained = last.abs_diff(first);
    assert!(
        gained.abs_diff(Duration::from_micros(145)) < Duration::from_micros(2),
        "{gained:?}"
    );
}
