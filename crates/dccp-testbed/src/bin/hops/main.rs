//! The cost of a packet-hop: datagrams cross a line of routers, and nothing else happens.
//!
//! `cargo build --release -p dccp-testbed --bin hops`, then
//! `valgrind --tool=callgrind target/release/hops 100000`: instructions divided by packet-hops.

use core::net::{IpAddr, Ipv4Addr};
use core::time::Duration;
use dccp_proto::path::{Encap, Path};
use dccp_proto::wire::{Datagram, Ecn};
use dccp_proto::{Instant, Rate};
use dccp_sim::{Context, Departure, FrameId, LinkConfig, Node, Router, Seed, World};

const LEFT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const RIGHT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
/// Frames sent at once: they wait in the queue of the first link.
const BURST: u64 = 10;
const LINKS: u64 = 3;

/// Sends bursts of datagrams in a steady rhythm.
struct Source {
    left: u64,
    gap: Duration,
}

impl Source {
    fn send(context: &mut Context<'_>) {
        let path = Path {
            local: LEFT,
            remote: RIGHT,
            encap: Encap::Ip,
        };
        context.send(&Departure {
            path,
            ecn: Ecn::Ect0,
            may_fragment: false,
            datagram: Datagram {
                bytes: &[0; 24],
                zeros: 1456,
            },
        });
    }
}

impl Node for Source {
    fn on_frame(&mut self, context: &mut Context<'_>, frame: FrameId) {
        context.deliver(frame);
    }

    fn on_wake(&mut self, context: &mut Context<'_>) {
        for _ in 0..BURST.min(self.left) {
            Self::send(context);
        }
        self.left = self.left.saturating_sub(BURST);
        let next = context.now() + self.gap;
        context.wake_at((self.left > 0).then_some(next));
    }
}

/// Takes what comes.
struct Sink;

impl Node for Sink {
    fn on_frame(&mut self, context: &mut Context<'_>, frame: FrameId) {
        context.deliver(frame);
    }
}

fn main() {
    let packets = std::env::args().nth(1).map_or(100_000, |n| {
        n.parse().expect("a number of packets, for example 100000")
    });
    // 1500 bytes take 12 µs at 1 Gbit/s: the bursts keep the line busy to 96 %.
    let config = LinkConfig {
        rate: Some(Rate::from_bytes_per_s(125e6)),
        delay: Duration::from_millis(5),
        ..LinkConfig::default()
    };
    let mut world = World::new(Seed(1));
    let source = Source {
        left: packets,
        gap: Duration::from_micros(125),
    };
    let source = world.add("source", &[LEFT], source);
    let mut last = source.id();
    for n in 1..LINKS {
        let router = world.add(&format!("router {n}"), &[], Router).id();
        world.connect(last, router, config.clone(), config.clone());
        last = router;
    }
    let sink = world.add("sink", &[RIGHT], Sink);
    world.connect(last, sink.id(), config.clone(), config);
    world.call(source, |_, context| context.wake_at(Some(Instant::ZERO)));
    while world.step() {}
    let totals = world.totals();
    assert_eq!(totals.delivered, packets, "{totals:?}");
    let hops = totals.delivered * LINKS;
    println!("{hops} packet-hops in {} events", world.events());
}
