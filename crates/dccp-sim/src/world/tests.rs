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

/// A node that breaks its promise when it is woken.
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
