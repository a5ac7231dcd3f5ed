//! Batching routers give the same results as routers that forward each packet at once.
//!
//! Every network here runs twice, once with [`World::run_until`] and once with an eye on every event, where no
//! router forwards late; all that can be asked of the two is compared.

mod drawn;
mod scene;

use super::*;
use crate::rate_trace::RateTrace;
use drawn::drawn;
use scene::{Scene, compare, dumbbell, link, moments};

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
    // All at one time; the order of the calls does not matter.
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

/// Each failure names its seed.
#[test]
fn late_forwarding_changes_nothing_observable_in_any_network() {
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

#[test]
fn a_frame_that_a_router_sends_to_itself_ends_at_its_hop_limit() {
    let link = link(100.0, MS, 100);
    let mut scene = Scene::new(1, 1);
    scene.add_host(0, &link);
    scene.add_host(0, &link);
    let router = scene.routers[0];
    scene.connect(router, router, link.clone(), link);
    let (to, over) = (scene.hosts[1].id(), scene.links[4]);
    scene.world.set_route(router, to, over);
    scene.udp(0, 1, 100, 10_000 * MS);
    scene.run(500 * MS, true);
    let totals = scene.world.totals();
    assert_eq!((totals.lost.of(Loss::Ttl), totals.in_flight), (1, 0));
}
