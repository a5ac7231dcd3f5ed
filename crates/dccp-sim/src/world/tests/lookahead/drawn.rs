//! Networks drawn at random.

use super::super::*;
use super::scene::{Scene, link};
use crate::queue::{CoDelConfig, DropTailConfig, RedConfig, TokenBucketConfig};
use crate::random::Stream;

/// Any network: few different delays and rates, so that much happens at one moment.
pub(super) fn drawn(seed: u64) -> Scene {
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
