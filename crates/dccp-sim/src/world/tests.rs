mod lookahead;

use super::*;
use crate::link::TooBig;
use crate::loss::{FaultConfig, Jitter, Loss};
use crate::node::Router;
use crate::queue::{Limit, QueueConfig};
use crate::rule::Action;
use crate::tap::Tap;
use crate::testing;
use dccp_proto::Rate;
use dccp_proto::path::{Encap, Path};
use dccp_proto::wire::{Datagram, PacketType};
use std::cell::RefCell;
use std::rc::Rc;

const MS: Duration = Duration::from_millis(1);

struct Line {
    world: World,
    left: Handle<Tap>,
    right: Handle<Tap>,
    /// Left to router, router to right.
    there: [LinkId; 2],
}

/// left — router — right, 5 ms and then `last`.
fn line(seed: u64, last: LinkConfig) -> Line {
    let mut world = World::new(Seed(seed));
    let Path { local, remote, .. } = testing::frame(PacketType::Data).path;
    let left = world.add("left", &[local], Tap::default());
    let router = world.add("router", &[], Router);
    let right = world.add("right", &[remote], Tap::default());
    let first = LinkConfig {
        delay: 5 * MS,
        ..LinkConfig::default()
    };
    let (a, _) = world.connect(left.id(), router.id(), first.clone(), first.clone());
    let (b, _) = world.connect(router.id(), right.id(), last, first);
    Line {
        world,
        left,
        right,
        there: [a, b],
    }
}

impl Line {
    fn send(&mut self, encap: Encap, zeros: usize) {
        let mut frame = testing::frame(PacketType::Data);
        frame.path.encap = encap;
        self.world.call(self.left, |tap, context| {
            let bytes = &frame.bytes;
            tap.send_raw(context, frame.path, Datagram { bytes, zeros });
        });
    }

    fn arrivals(&self) -> Vec<Duration> {
        let received = &self.world.node(self.right).received;
        received.iter().map(|(at, _)| *at - Instant::ZERO).collect()
    }
}

#[test]
fn a_datagram_crosses_two_links() {
    let mut line = line(
        1,
        LinkConfig {
            delay: 7 * MS,
            ..LinkConfig::default()
        },
    );
    line.send(Encap::Ip, 100);
    assert_eq!(line.world.totals().in_flight, 1);
    line.world.run_until(Instant::ZERO + 100 * MS);
    assert_eq!(line.arrivals(), [12 * MS]);
    assert_eq!(line.world.now(), Instant::ZERO + 100 * MS);
    assert_eq!(line.world.events(), 2, "one event for each link");
    let totals = line.world.totals();
    assert_eq!((totals.sent, totals.delivered), (1, 1));
    assert!(totals.add_up());
    assert!(!line.world.step());
}

#[test]
fn rules_drop_hold_and_duplicate() {
    let mut line = line(1, LinkConfig::default());
    line.world
        .add_rule(line.there[0], Rule::new(Action::Drop).nth(1));
    line.world
        .add_rule(line.there[1], Rule::new(Action::Hold(MS)).nth(1));
    line.world
        .add_rule(line.there[1], Rule::new(Action::Duplicate).nth(3));
    for _ in 0..4 {
        line.send(Encap::Ip, 0);
    }
    line.world.run_for(20 * MS);
    assert_eq!(line.arrivals(), [5 * MS, 5 * MS, 5 * MS, 6 * MS]);
    assert_eq!(line.world.lost_by_rule(line.there[0]), 1);
    let totals = line.world.totals();
    assert_eq!(totals.lost.of(Loss::Rule), 1);
    assert_eq!((totals.duplicated, totals.delivered), (1, 4));
    line.world.check();
}

#[test]
fn a_router_tells_the_sender_what_was_too_big() {
    for (too_big, quoted) in [
        (TooBig::Icmp { quoted: 8 }, Some(8)),
        (TooBig::Icmp { quoted: 500 }, Some(24)),
        (TooBig::Silent, None),
    ] {
        let mut line = line(
            1,
            LinkConfig {
                mtu: 1000,
                too_big,
                ..LinkConfig::default()
            },
        );
        line.send(Encap::Ip, 957);
        line.send(Encap::Ip, 956);
        line.world.run_for(20 * MS);
        assert_eq!(line.arrivals(), [5 * MS], "1000 bytes fit");
        assert_eq!(line.world.totals().lost.of(Loss::TooBig), 1);
        let received = &line.world.node(line.left).received;
        let errors: Vec<_> = received
            .iter()
            .map(|(at, f)| (*at, f.bytes.len()))
            .collect();
        let expected = quoted.map(|n| (Instant::ZERO + 10 * MS, n));
        assert_eq!(errors, expected.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn flipped_bits_reach_dccp_over_ip_and_never_over_udp() {
    let udp = Encap::Udp {
        local_port: 1,
        remote_port: 2,
    };
    for (encap, some_arrive) in [(Encap::Ip, true), (udp, false)] {
        let mut line = line(
            3,
            LinkConfig {
                faults: FaultConfig {
                    corrupt: 1.0,
                    ..FaultConfig::default()
                },
                ..LinkConfig::default()
            },
        );
        for _ in 0..100 {
            line.send(encap, 0);
        }
        line.world.run_for(20 * MS);
        let arrived = line.arrivals().len();
        let totals = line.world.totals();
        assert_eq!(arrived > 0, some_arrive);
        assert_eq!(totals.lost.of(Loss::Corrupt), 100 - arrived as u64);
        let sent = testing::frame(PacketType::Data).bytes;
        let differs = |f: &&(Instant, crate::frame::Frame)| f.1.bytes != sent;
        let received = &line.world.node(line.right).received;
        assert_eq!(received.iter().filter(differs).count(), arrived);
    }
}

#[test]
fn a_packet_to_nowhere_is_lost_at_the_router() {
    let mut line = line(1, LinkConfig::default());
    let mut frame = testing::frame(PacketType::Data);
    frame.path.remote = core::net::Ipv4Addr::new(10, 9, 9, 9).into();
    line.world.call(line.left, |tap, context| {
        tap.send_raw(context, frame.path, frame.datagram());
    });
    line.world.run_for(20 * MS);
    assert_eq!(line.world.totals().lost.of(Loss::NoRoute), 1);
}

fn bottleneck() -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::from_bytes_per_s(1e6)),
        queue: QueueConfig::drop_tail(Limit::Packets(20)),
        faults: FaultConfig {
            loss: 0.1,
            duplicate: 0.1,
            reorder: 0.1,
            reorder_by: MS,
            jitter: Jitter::Uniform(MS),
            ..FaultConfig::default()
        },
        ..LinkConfig::default()
    }
}

#[test]
fn the_same_seed_gives_the_same_trace() {
    let run = |seed| {
        let mut line = line(seed, bottleneck());
        line.world.start_trace();
        for _ in 0..50 {
            line.send(Encap::Ip, 100);
            line.world.run_for(MS / 16);
        }
        line.world.run_for(100 * MS);
        line.world.check();
        assert!(line.world.totals().lost.of(Loss::Queue) > 0);
        line.world.trace()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn waiting_for_something_ends_when_it_happens_or_at_the_limit() {
    let mut line = line(1, LinkConfig::default());
    line.send(Encap::Ip, 0);
    let right = line.right;
    let has = |n: usize| move |w: &World| w.node(right).received.len() == n;
    assert!(line.world.run_while_not(20 * MS, has(1)));
    assert_eq!(line.world.now(), Instant::ZERO + 5 * MS);
    assert!(!line.world.run_while_not(20 * MS, has(2)));
    assert_eq!(line.world.now(), Instant::ZERO + 25 * MS);
}

/// A file in memory that the test can look into.
#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_capture_has_the_packets_of_its_node_both_ways() {
    let mut line = line(
        1,
        LinkConfig {
            mtu: 1000,
            ..LinkConfig::default()
        },
    );
    let file = Shared::default();
    line.world.capture(line.left.id(), file.clone());
    line.send(Encap::Ip, 100);
    line.send(Encap::Ip, 1000);
    line.world.run_for(20 * MS);
    line.world.finish_captures().unwrap();
    let bytes = file.0.borrow();
    let (mut rest, mut kinds) = (&bytes[..], Vec::new());
    while let Some((head, _)) = rest.split_first_chunk::<8>() {
        let word = |b: &[u8]| u32::from_le_bytes(b.try_into().unwrap());
        let (kind, len) = (word(&head[..4]), word(&head[4..]) as usize);
        assert_eq!(
            word(&rest[len - 4..len]) as usize,
            len,
            "length at both ends"
        );
        kinds.push((kind, len));
        rest = &rest[len..];
    }
    // Section, interface; two datagrams, and the ICMP error that came back: 20 + 8 + 20 + 24 bytes.
    let packet = |len: usize| (6, 32 + len.next_multiple_of(4));
    assert_eq!(
        kinds,
        [
            (0x0a0d_0d0a, 28),
            (1, 32),
            packet(144),
            packet(1044),
            packet(72)
        ]
    );
}

/// A node that violates its lookahead when it is woken.
struct Liar;

impl Node for Liar {
    fn on_frame(&mut self, context: &mut Context<'_>, frame: FrameId) {
        context.deliver(frame);
    }

    fn check(&self) -> Result<(), String> {
        Err("a broken promise".to_owned())
    }
}

#[test]
#[should_panic(expected = "liar: a broken promise")]
fn a_node_that_breaks_a_promise_ends_the_run() {
    let mut world = World::new(Seed(1));
    let liar = world.add("liar", &[], Liar);
    world.call(liar, |_, context| context.wake_at(None));
}

/// left — a — b — right, and a second way from a to b that is a hop longer.
struct TwoWays {
    line: Line,
    routers: [NodeId; 3],
    short: LinkId,
    long: LinkId,
}

fn two_ways() -> TwoWays {
    let mut world = World::new(Seed(1));
    let Path { local, remote, .. } = testing::frame(PacketType::Data).path;
    let left = world.add("left", &[local], Tap::default());
    let [a, b, c] = ["a", "b", "c"].map(|name| world.add(name, &[], Router).id());
    let right = world.add("right", &[remote], Tap::default());
    let link = || LinkConfig {
        delay: MS,
        rate: Some(Rate::from_bytes_per_s(1e6)),
        ..LinkConfig::default()
    };
    let (first, _) = world.connect(left.id(), a, link(), link());
    let (short, _) = world.connect(a, b, link(), link());
    let (long, _) = world.connect(a, c, link(), link());
    world.connect(c, b, link(), link());
    let (last, _) = world.connect(b, right.id(), link(), link());
    let there = [first, last];
    TwoWays {
        line: Line {
            world,
            left,
            right,
            there,
        },
        routers: [a, b, c],
        short,
        long,
    }
}

#[test]
fn a_timeline_changes_links_and_routes() {
    let TwoWays {
        mut line,
        routers: [a, ..],
        short,
        long,
    } = two_ways();
    let at = |ms: u32| Instant::ZERO + ms * MS;
    let right = line.right.id();
    let world = &mut line.world;
    world.at(
        at(20),
        Change::Route {
            at: a,
            to: right,
            link: None,
        },
    );
    world.at(
        at(10),
        Change::Route {
            at: a,
            to: right,
            link: Some(long),
        },
    );
    world.at(at(30), Change::Up(short, false));
    world.at(at(30), Change::Delay(long, 9 * MS));
    world.at(at(60), Change::Up(short, true));
    world.at(
        at(60),
        Change::Rate(short, Some(Rate::from_bytes_per_s(1e3))),
    );
    let mut hops = Vec::new();
    for ms in [0, 12, 22, 32, 62] {
        line.world.run_until(at(ms));
        // 144 bytes: 0.144 ms for each hop at 1 MB/s.
        line.send(Encap::Ip, 100);
        line.world.run_for(8 * MS);
        hops.push(line.world.link_stats(long).offered);
    }
    assert_eq!(hops, [0, 1, 1, 2, 2]);
    line.world.run_for(1000 * MS);
    let gone = line.arrivals();
    let us = Duration::from_micros;
    let expected = [
        us(3_432),
        12 * MS + us(4_576),
        22 * MS + us(3_432),
        32 * MS + 8 * MS + us(4_576),
        // 2 · 0.144 ms at 1 MB/s, and 144 ms at 1 kB/s.
        62 * MS + us(3_288 + 144_000),
    ];
    assert_eq!(gone, expected);
    line.world.check();
}

#[test]
fn a_loop_of_routes_ends_at_the_hop_limit() {
    let TwoWays {
        mut line,
        routers: [a, b, _],
        short,
        ..
    } = two_ways();
    let right = line.right.id();
    // The way back from b to a is the link after the one there.
    line.world.set_route(b, right, LinkId(short.0 + 1));
    line.world.set_route(a, right, short);
    line.send(Encap::Ip, 0);
    line.world.run_for(1000 * MS);
    let totals = line.world.totals();
    assert_eq!((totals.lost.of(Loss::Ttl), totals.in_flight), (1, 0));
    // 64 routers counted it, and the last one did not send it: one link before, 63 after.
    assert_eq!(line.world.events(), 64);
}

#[test]
#[should_panic(expected = "a>b begins elsewhere")]
fn a_route_begins_at_its_node() {
    let TwoWays {
        mut line,
        routers: [_, b, _],
        short,
        ..
    } = two_ways();
    line.world.set_route(b, line.right.id(), short);
}

#[test]
fn lookaheads_are_checked_as_often_as_configured() {
    for (checks, is_noticed) in [
        (Checks::EveryEvent, true),
        (Checks::Sampled(2), true),
        (Checks::Off, false),
    ] {
        let run = move || {
            let mut world = World::new(Seed(1));
            let liar = world.add("liar", &[], Liar);
            world.set_checks(Checks::Off);
            world.call(liar, |_, context| context.wake_at(Some(Instant::ZERO + MS)));
            world.set_checks(checks);
            world.run_for(MS);
            world.call(liar, |_, context| {
                context.wake_at(Some(Instant::ZERO + 2 * MS));
            });
            world.run_for(MS);
        };
        assert_eq!(
            std::panic::catch_unwind(run).is_err(),
            is_noticed,
            "{checks:?}"
        );
    }
}
