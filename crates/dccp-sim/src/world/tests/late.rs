//! Routers that forward late: nobody can tell.
//!
//! Every network here runs twice, once with [`World::run_until`] and once with an eye on every event, where no
//! router forwards late; all that can be asked of the two is compared.

use super::*;
use crate::flow::FlowId;
use crate::host::{Host, SimHash};
use crate::queue::{CoDelConfig, DropTailConfig, RedConfig, TokenBucketConfig};
use crate::random::Stream;
use crate::rate_trace::RateTrace;
use crate::source::{App, Source};
use crate::tcp;
use core::net::{Ipv4Addr, SocketAddr};
use dccp_proto::Config;
use dccp_proto::path::Flow;
use dccp_proto::wire::ServiceCode;

const PORT: u16 = 5000;
const SERVICE: ServiceCode = ServiceCode(42);

/// A network with hosts and flows.
struct Scene {
    world: World,
    hosts: Vec<Handle<Host>>,
    routers: Vec<NodeId>,
    links: Vec<LinkId>,
    flows: Vec<(Handle<Host>, FlowId)>,
}

fn address(host: usize) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, u8::try_from(host).unwrap() + 1).into()
}

impl Scene {
    fn new(seed: u64, routers: usize) -> Self {
        let mut world = World::new(Seed(seed));
        let routers = (0..routers).map(|n| world.add(&format!("router {n}"), &[], Router).id());
        let routers = routers.collect();
        Self {
            world,
            hosts: Vec::new(),
            routers,
            links: Vec::new(),
            flows: Vec::new(),
        }
    }

    fn connect(&mut self, a: NodeId, b: NodeId, there: LinkConfig, back: LinkConfig) {
        let (there, back) = self.world.connect(a, b, there, back);
        self.links.extend([there, back]);
    }

    /// A host at a router, with the same link both ways.
    fn add_host(&mut self, router: usize, link: &LinkConfig) {
        let number = self.hosts.len();
        let name = format!("host {number}");
        let host = Host::new(SimHash::new(Seed(1), &name));
        let host = self.world.add(&name, &[address(number)], host);
        self.connect(host.id(), self.routers[router], link.clone(), link.clone());
        self.hosts.push(host);
        let app = App::default;
        self.world.call(host, |host, _| {
            host.udp_listen(PORT, app());
            host.tcp_listen(PORT, tcp::Config::default(), app());
            let config = Config::default();
            host.listen(PORT, &[SERVICE], config, app()).unwrap();
        });
    }

    fn ends(&self, from: usize, to: usize) -> [SocketAddr; 2] {
        let own = PORT + 1 + u16::try_from(self.flows.len()).unwrap();
        [
            SocketAddr::new(address(from), own),
            SocketAddr::new(address(to), PORT),
        ]
    }

    /// Datagrams of so many bytes, at a steady pace.
    fn udp(&mut self, from: usize, to: usize, len: usize, interval: Duration) {
        let [local, remote] = self.ends(from, to);
        let count = u64::MAX;
        let source = Source::Cbr {
            len,
            interval,
            count,
        };
        let app = App {
            source,
            ..App::default()
        };
        let host = self.hosts[from];
        let flow = self.world.call(host, |host, context| {
            host.udp_open(context, local, remote, app)
        });
        self.flows.push((host, flow));
    }

    fn tcp(&mut self, from: usize, to: usize) {
        let [local, remote] = self.ends(from, to);
        let host = self.hosts[from];
        let flow = self.world.call(host, |host, context| {
            let config = tcp::Config::default();
            host.tcp_connect(context, local, remote, config, App::bulk(1000, u64::MAX))
        });
        self.flows.push((host, flow));
    }

    fn dccp(&mut self, from: usize, to: usize) {
        let [local, remote] = self.ends(from, to);
        let flow = Flow {
            path: Path {
                local: local.ip(),
                remote: remote.ip(),
                encap: Encap::Ip,
            },
            local_port: local.port(),
            remote_port: remote.port(),
        };
        let config = Config {
            service_code: SERVICE,
            ..Config::default()
        };
        let host = self.hosts[from];
        let number = self.world.call(host, |host, context| {
            host.connect(context, flow, config, App::bulk(1000, u64::MAX))
        });
        self.flows.push((host, FlowId::Dccp(number.unwrap())));
    }

    /// Plays until then, with late routers or without, and tells all that there is to tell.
    fn run(&mut self, end: Duration, may_be_late: bool) -> Vec<String> {
        let end = Instant::ZERO + end;
        if may_be_late {
            self.world.run_until(end);
        } else {
            let left = end - self.world.now();
            assert!(!self.world.run_while_not(left, |_| false));
        }
        self.world.check();
        let world = &self.world;
        let mut lines = vec![format!("{} events, {:?}", world.events(), world.totals())];
        for &id in &self.links {
            let link = world.link(id);
            let (name, queue, now) = (world.link_name(id), link.queue_len(), world.now());
            lines.push(format!(
                "{name} {queue:?} {:?} {:?}",
                link.busy_by(now),
                link.stats()
            ));
        }
        for (host, flow) in &self.flows {
            lines.push(format!("{flow:?} {:?}", world.node(*host).sample(*flow)));
        }
        for host in &self.hosts {
            let host = world.node(*host);
            let ends = host
                .accepted()
                .iter()
                .map(|(flow, from)| (from, host.sample(*flow)));
            lines.push(format!("{:?}", ends.collect::<Vec<_>>()));
        }
        lines
    }

    fn late_routers(&self) -> usize {
        let late = self
            .routers
            .iter()
            .filter(|id| self.world.net.is_late(**id));
        late.count()
    }
}

/// Runs the same scene in both ways and compares it at these moments. Returns how many routers forwarded late,
/// summed over the moments.
#[track_caller]
fn compare(scene: impl Fn() -> Scene, moments: &[Duration], what: &str) -> usize {
    let (mut late, mut event_by_event) = (scene(), scene());
    let mut routers = 0;
    for &at in moments {
        let (one, other) = (late.run(at, true), event_by_event.run(at, false));
        for (one, other) in one.iter().zip(&other) {
            assert_eq!(one, other, "{what}, at {at:?}");
        }
        assert_eq!(event_by_event.late_routers(), 0);
        routers += late.late_routers();
    }
    routers
}

fn link(mbit: f64, delay: Duration, packets: usize) -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::from_bytes_per_s(mbit * 125_000.0)),
        delay,
        queue: QueueConfig::drop_tail(Limit::Packets(packets)),
        ..LinkConfig::default()
    }
}

/// Hosts 0 and 1 at router 0, hosts 2 and 3 at router 1, and a narrow link of 5 packets between.
fn dumbbell(delays: [u64; 2]) -> Scene {
    let mut scene = Scene::new(1, 2);
    let middle = link(4.0, 3 * MS, 5);
    scene.connect(scene.routers[0], scene.routers[1], middle.clone(), middle);
    for (router, delay) in [
        (0, delays[0]),
        (0, delays[1]),
        (1, delays[0]),
        (1, delays[1]),
    ] {
        scene.add_host(router, &link(100.0, Duration::from_nanos(delay), 1000));
    }
    scene
}

/// Moments a part of a millisecond apart, so that some are in the middle of everything.
fn moments(count: u32, apart: Duration) -> Vec<Duration> {
    (1..=count).map(|n| apart * n).collect()
}

#[test]
fn two_feeders_whose_frames_interleave_fill_the_queue_as_ever() {
    for delays in [
        [1_000_000, 1_300_000],
        [1_000_000, 1_000_000],
        [2, 3_000_000],
    ] {
        let scene = || {
            let mut scene = dumbbell(delays);
            // Together 1.6 times what the middle carries, and all at one moment where delays are equal.
            scene.udp(0, 2, 372, MS);
            scene.udp(1, 3, 372, MS);
            scene
        };
        let what = format!("delays of {delays:?} ns");
        let late = compare(scene, &moments(60, 700 * MS / 1000), &what);
        assert_eq!(late, 2 * 60, "both routers");
        let mut scene = scene();
        scene.run(40 * MS, true);
        assert!(scene.world.totals().lost.of(Loss::Queue) > 5, "{what}");
    }
}

#[test]
fn of_frames_that_are_equal_in_all_else_that_of_the_lower_link_goes_first() {
    let mut scene = dumbbell([1_000_000, 1_000_000]);
    // At one moment; the order in which they were asked for does not matter.
    scene.udp(1, 3, 972, 100 * MS);
    scene.udp(0, 2, 972, 100 * MS);
    scene.run(8 * MS, true);
    // 2 ms at 4 Mbit/s for each: only the first is through.
    let through = [2, 3].map(|host: usize| scene.world.node(scene.hosts[host]).accepted().len());
    assert_eq!(through, [1, 0]);
}

#[test]
fn of_frames_that_arrive_at_one_moment_that_goes_first_which_was_next_for_longer() {
    let mut scene = dumbbell([1_000_000, 1_000_000]);
    // Two of host 0 at 0 and 80 µs of the link; one of host 1 arrives at the same time as the second, for which
    // the first has been in the way.
    scene.udp(0, 2, 972, 100 * MS);
    scene.udp(0, 2, 972, 100 * MS);
    scene.run(80 * MS / 1000, true);
    scene.udp(1, 3, 972, 100 * MS);
    scene.run(10 * MS, true);
    let through = [2, 3].map(|host: usize| scene.world.node(scene.hosts[host]).accepted().len());
    assert_eq!(through, [1, 1]);
}

#[test]
fn what_changes_in_the_middle_changes_what_comes_after_only() {
    let changes: [fn(&Scene) -> Vec<Change>; 9] = [
        |s| vec![Change::Rate(s.links[0], Some(Rate::from_bytes_per_s(1e6)))],
        |s| vec![Change::Rate(s.links[2], Some(Rate::from_bytes_per_s(1e5)))],
        |s| vec![Change::Delay(s.links[0], 9 * MS)],
        |s| vec![Change::Delay(s.links[0], Duration::ZERO)],
        // All links of router 0.
        |s| {
            [0, 3, 5]
                .map(|n: usize| Change::Delay(s.links[n], 30 * MS))
                .to_vec()
        },
        |s| vec![Change::QueueLimit(s.links[0], Limit::Packets(2))],
        |s| vec![Change::Up(s.links[0], false)],
        |s| {
            let (at, to, link) = (s.routers[0], s.hosts[2].id(), Some(s.links[3]));
            vec![Change::Route { at, to, link }]
        },
        |s| {
            let faults = FaultConfig {
                loss: 0.5,
                ..FaultConfig::default()
            };
            vec![Change::Faults(s.links[0], faults)]
        },
    ];
    for (number, changes) in changes.into_iter().enumerate() {
        for later in [Duration::ZERO, 300 * MS / 1000, 700 * MS / 1000] {
            let scene = || {
                let mut scene = dumbbell([1_000_000, 1_300_000]);
                scene.tcp(0, 2);
                scene.udp(1, 3, 572, MS);
                for change in changes(&scene) {
                    scene.world.at(Instant::ZERO + CHANGE_AT + later, change);
                }
                let up = Change::Up(scene.links[0], true);
                scene.world.at(Instant::ZERO + 30 * MS, up);
                scene
            };
            let late = compare(scene, &moments(50, MS), &format!("change {number}"));
            assert!(late >= 50, "{late} of 100");
        }
    }
}

/// When the first datagram of a millisecond arrives at router 0: 1.3 ms and the time of 600 bytes.
const CHANGE_AT: Duration = Duration::from_micros(21_348);

#[test]
#[should_panic(expected = "frames do not add up")]
fn a_frame_that_vanishes_at_a_late_router_is_noticed() {
    let mut scene = dumbbell([1_000_000, 1_000_000]);
    scene.udp(0, 2, 372, MS);
    scene.run(5 * MS, true);
    scene.world.net.totals.sent += 1;
    let end = scene.world.now() + MS;
    scene.world.run_until(end);
}

#[test]
fn who_looks_after_each_event_finds_every_frame_in_its_place() {
    let mut scene = dumbbell([1_000_000, 1_000_000]);
    scene.tcp(0, 2);
    scene.run(20 * MS, true);
    assert_eq!(scene.late_routers(), 2);
    let mut events = scene.world.events();
    while scene.world.now() < Instant::ZERO + 40 * MS {
        scene.world.step();
        events += 1;
        assert_eq!(scene.world.events(), events, "one by one");
    }
    assert_eq!(scene.late_routers(), 0);
    scene.run(60 * MS, true);
    assert_eq!(scene.late_routers(), 2);
    scene.world.start_trace();
    scene.run(70 * MS, true);
    assert_eq!(
        scene.late_routers(),
        0,
        "a trace is in the order of sending"
    );
}

#[test]
fn packets_that_met_faults_are_lost_though_the_faults_have_ended() {
    let corrupt = FaultConfig {
        corrupt: 0.5,
        ..FaultConfig::default()
    };
    let lose = FaultConfig {
        loss: 0.5,
        ..FaultConfig::default()
    };
    for faults in [lose, corrupt] {
        let scene = || {
            let mut scene = dumbbell([1_000_000, 1_300_000]);
            scene.udp(0, 2, 372, MS);
            for (at, faults) in [(5, faults.clone()), (20, FaultConfig::default())] {
                let change = Change::Faults(scene.links[0], faults);
                scene.world.at(Instant::ZERO + at * MS, change);
            }
            scene
        };
        compare(scene, &moments(50, MS), &format!("{faults:?}"));
    }
}

#[test]
fn packets_that_a_rule_holds_back_are_overtaken_though_the_rule_is_gone() {
    // A packet takes 8 ms and comes each millisecond: those to be held back still wait when the rule goes.
    let scene = || {
        let mut scene = dumbbell([1_000_000, 1_300_000]);
        let mut wide = link(0.4, 3 * MS, 100);
        wide.mtu = 1400;
        scene.connect(scene.routers[0], scene.routers[1], wide.clone(), wide);
        let (at, to, link) = (scene.routers[0], scene.hosts[2].id(), scene.links[10]);
        scene.world.set_route(at, to, link);
        scene
    };
    let mut scenes = [scene(), scene()];
    for end in 1..=60 {
        let lines = [0, 1].map(|n: usize| {
            let scene = &mut scenes[n];
            let link = scene.links[10];
            if end == 1 {
                let hold = Rule::new(Action::Hold(30 * MS));
                scene.world.add_rule(link, hold.from_nth(2, 3));
                scene.udp(0, 2, 372, MS);
            } else if end == 8 {
                scene.world.clear_rules(link);
            }
            scene.run(end * MS, n == 0)
        });
        assert_eq!(lines[0], lines[1], "after {end} ms");
    }
}

#[test]
fn a_packet_that_waits_when_a_trace_ends_leaves() {
    let scene = || {
        let mut scene = Scene::new(1, 1);
        let plain = link(100.0, MS, 100);
        let slow = LinkConfig {
            trace: Some(RateTrace::parse("50").unwrap()),
            delay: MS,
            ..LinkConfig::default()
        };
        scene.add_host(0, &plain);
        scene.add_host(0, &slow);
        let to_host_1 = scene.links[3];
        scene.udp(0, 1, 100, 100 * MS);
        let rate = Some(Rate::from_bytes_per_s(1e6));
        let change = Change::Rate(to_host_1, rate);
        scene.world.at(Instant::ZERO + 30 * MS, change);
        scene
    };
    compare(scene, &moments(20, 10 * MS), "a trace ends");
}

#[test]
fn a_link_that_loses_its_delay_keeps_its_place_among_others() {
    // Over link 2, which takes 1 ms and from 5.25 ms on none, a packet comes at 6 ms; the next one, sent at
    // that moment, comes after that of host 1, which is on its way since 5.5 ms.
    let build = || {
        let mut scene = Scene::new(1, 2);
        let middle = link(4.0, 3 * MS, 2);
        scene.connect(scene.routers[0], scene.routers[1], middle.clone(), middle);
        for (router, delay) in [(0, MS), (0, MS / 2), (1, MS), (1, MS)] {
            let free = LinkConfig {
                delay,
                ..LinkConfig::default()
            };
            scene.add_host(router, &free);
        }
        let change = Change::Delay(scene.links[2], Duration::ZERO);
        scene.world.at(Instant::ZERO + 5 * MS + MS / 4, change);
        scene
    };
    let mut scenes = [build(), build()];
    for (scene, may_be_late) in scenes.iter_mut().zip([true, false]) {
        scene.run(5 * MS, may_be_late);
        scene.udp(0, 2, 200, 100 * MS);
        scene.run(5 * MS + MS / 2, may_be_late);
        scene.udp(1, 3, 300, 100 * MS);
        scene.run(5 * MS + MS * 7 / 10, may_be_late);
        scene.udp(0, 2, 472, MS * 3 / 10);
    }
    let [mut late, mut event_by_event] = scenes;
    for end in moments(200, MS / 10) {
        let end = 5 * MS + MS * 7 / 10 + end;
        assert_eq!(
            late.run(end, true),
            event_by_event.run(end, false),
            "{end:?}"
        );
    }
}

/// Any network: few different delays and rates, so that much happens at one moment.
fn drawn(seed: u64) -> Scene {
    let mut draw = Seed(seed).stream("late");
    let routers = 1 + draw.index_below(4);
    let mut scene = Scene::new(seed, routers);
    let is_plain = draw.chance(0.5);
    for router in 1..routers {
        let other = draw.index_below(router);
        let (there, back) = (
            drawn_link(&mut draw, is_plain),
            drawn_link(&mut draw, is_plain),
        );
        scene.connect(scene.routers[router], scene.routers[other], there, back);
    }
    if routers > 2 && draw.chance(0.5) {
        let (there, back) = (
            drawn_link(&mut draw, is_plain),
            drawn_link(&mut draw, is_plain),
        );
        scene.connect(scene.routers[routers - 1], scene.routers[0], there, back);
    }
    if draw.chance(0.2) && !scene.links.is_empty() {
        let link = scene.links[draw.index_below(scene.links.len())];
        scene
            .world
            .add_rule(link, Rule::new(Action::Hold(MS)).from_nth(5, 50));
    }
    let hosts = 2 + draw.index_below(5);
    for _ in 0..hosts {
        let router = draw.index_below(routers);
        scene.add_host(router, &drawn_link(&mut draw, is_plain));
    }
    for _ in 0..=draw.below(6) {
        let from = draw.index_below(hosts);
        let to = (from + 1 + draw.index_below(hosts - 1)) % hosts;
        match draw.below(4) {
            0 | 1 => scene.udp(from, to, [72, 472, 972][draw.index_below(3)], MS),
            2 => scene.tcp(from, to),
            _ => scene.dccp(from, to),
        }
    }
    for _ in 0..draw.below(6) {
        let at = Instant::ZERO + MS * u32::try_from(1 + draw.below(300)).unwrap();
        let change = drawn_change(&scene, &mut draw);
        scene.world.at(at, change);
    }
    scene
}

fn drawn_link(draw: &mut Stream, is_plain: bool) -> LinkConfig {
    let packets = [1, 2, 5, 20, 100][draw.index_below(5)];
    let mut config = link(
        [1.0, 10.0, 10.0, 100.0][draw.index_below(4)],
        drawn_delay(draw),
        packets,
    );
    if draw.chance(0.1) {
        config.rate = None;
    }
    if draw.chance(0.2) {
        config.queue = QueueConfig::DropTail(DropTailConfig {
            limit: Limit::Bytes(1500 * packets),
            mark_at: Some(Limit::Packets(packets / 2)),
        });
    }
    if draw.chance(0.1) {
        config.mtu = 576;
    }
    if is_plain || draw.chance(0.7) {
        return config;
    }
    match draw.below(6) {
        0 => config.queue = QueueConfig::CoDel(CoDelConfig::default()),
        1 => config.queue = QueueConfig::Red(RedConfig::default()),
        2 => {
            config.queue = QueueConfig::TokenBucket(TokenBucketConfig::with_latency(
                Rate::from_bytes_per_s(5e5),
                3000,
                20 * MS,
            ));
        }
        3 => config.faults.loss = 0.05,
        4 => config.faults.jitter = Jitter::Uniform(2 * MS),
        _ => config.faults.duplicate = 0.1,
    }
    config
}

fn drawn_delay(draw: &mut Stream) -> Duration {
    let ns = [
        0, 1, 2, 3, 100_000, 1_000_000, 1_000_000, 1_000_000, 5_000_000, 30_000_000,
    ];
    // Most networks have none that is too short for a router to be late.
    Duration::from_nanos(ns[draw.index_below(10).max(draw.index_below(10))])
}

fn drawn_change(scene: &Scene, draw: &mut Stream) -> Change {
    let link = scene.links[draw.index_below(scene.links.len())];
    match draw.below(6) {
        0 => Change::Rate(
            link,
            Some(Rate::from_bytes_per_s([1e5, 1e6, 1e7][draw.index_below(3)])),
        ),
        1 => Change::Delay(link, drawn_delay(draw)),
        2 => Change::QueueLimit(link, Limit::Packets(1 + draw.index_below(10))),
        3 => Change::Up(link, draw.chance(0.5)),
        4 => {
            let loss = if draw.chance(0.5) { 0.1 } else { 0.0 };
            Change::Faults(
                link,
                FaultConfig {
                    loss,
                    ..FaultConfig::default()
                },
            )
        }
        _ => {
            let to = scene.hosts[draw.index_below(scene.hosts.len())].id();
            let at = scene.world.net.wires[link.index()].from;
            Change::Route {
                at,
                to,
                link: Some(link),
            }
        }
    }
}

/// Each failure names its seed.
#[test]
fn in_any_network_nobody_can_tell_that_routers_forward_late() {
    let mut routers = 0;
    for seed in 1..=150 {
        let mut at = Duration::ZERO;
        let mut draw = Seed(seed).stream("moments");
        let moments: Vec<Duration> = (0..12)
            .map(|_| {
                let us = if draw.chance(0.3) {
                    1000 * (1 + draw.below(40))
                } else {
                    draw.below(60_000)
                };
                at += Duration::from_micros(us);
                at
            })
            .collect();
        routers += compare(|| drawn(seed), &moments, &format!("seed {seed}"));
    }
    assert!(routers > 1000, "{routers} forwarded late");
}
