//! Networks with hosts and flows, and how two runs of one are compared.

use super::super::*;
use crate::flow::FlowId;
use crate::host::{Host, SimHash};
use crate::source::{App, Source};
use crate::tcp;
use core::net::{Ipv4Addr, SocketAddr};
use dccp_proto::Config;
use dccp_proto::path::Flow;
use dccp_proto::wire::ServiceCode;

const PORT: u16 = 5000;
const SERVICE: ServiceCode = ServiceCode(42);

/// A network with hosts and flows.
pub(super) struct Scene {
    pub(super) world: World,
    pub(super) hosts: Vec<Handle<Host>>,
    pub(super) routers: Vec<NodeId>,
    pub(super) links: Vec<LinkId>,
    pub(super) flows: Vec<(Handle<Host>, FlowId)>,
}

fn address(host: usize) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, u8::try_from(host).unwrap() + 1).into()
}

impl Scene {
    pub(super) fn new(seed: u64, routers: usize) -> Self {
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

    pub(super) fn connect(&mut self, a: NodeId, b: NodeId, there: LinkConfig, back: LinkConfig) {
        let (there, back) = self.world.connect(a, b, there, back);
        self.links.extend([there, back]);
    }

    /// A host at a router, with the same link both ways.
    pub(super) fn add_host(&mut self, router: usize, link: &LinkConfig) {
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

    /// Datagrams of `len` bytes, at a steady pace.
    pub(super) fn udp(&mut self, from: usize, to: usize, len: usize, interval: Duration) {
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

    pub(super) fn tcp(&mut self, from: usize, to: usize) {
        let [local, remote] = self.ends(from, to);
        let host = self.hosts[from];
        let flow = self.world.call(host, |host, context| {
            let config = tcp::Config::default();
            host.tcp_connect(
                context,
                local,
                remote,
                config.clone(),
                App::bulk(1000, u64::MAX),
            )
        });
        self.flows.push((host, flow));
    }

    pub(super) fn dccp(&mut self, from: usize, to: usize) {
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

    /// Plays until then, with late routers or without, and returns all observations.
    pub(super) fn run(&mut self, end: Duration, may_be_late: bool) -> Vec<String> {
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

    pub(super) fn late_routers(&self) -> usize {
        let late = self
            .routers
            .iter()
            .filter(|id| self.world.net.is_batching(**id));
        late.count()
    }
}

/// Runs the same scene in both ways and compares it at these moments. Returns how many routers forwarded late,
/// summed over the moments.
#[track_caller]
pub(super) fn compare(scene: impl Fn() -> Scene, moments: &[Duration], what: &str) -> usize {
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

pub(super) fn link(mbit: f64, delay: Duration, packets: usize) -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::from_bytes_per_s(mbit * 125_000.0)),
        delay,
        queue: QueueConfig::drop_tail(Limit::Packets(packets)),
        ..LinkConfig::default()
    }
}

/// Hosts 0 and 1 at router 0, hosts 2 and 3 at router 1, and a narrow link of 5 packets between.
pub(super) fn dumbbell(delays: [u64; 2]) -> Scene {
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
pub(super) fn moments(count: u32, apart: Duration) -> Vec<Duration> {
    (1..=count).map(|n| apart * n).collect()
}
