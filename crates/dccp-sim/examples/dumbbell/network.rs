//! The dumbbell itself, and what is counted in it.

use crate::args::{Flow, Settings, Transport};
use core::fmt::Write;
use core::net::{IpAddr, Ipv4Addr};
use core::time::Duration;
use dccp_proto::path::{self, Encap, Path};
use dccp_proto::wire::ServiceCode;
use dccp_proto::{Config, Instant, Rate};
use dccp_sim::queue::{Limit, QueueConfig};
use dccp_sim::source::{App, Closing, Source};
use dccp_sim::{Context, Handle, Host, LinkConfig, LinkId, Router, Seed, SimHash, World};

const PORT: u16 = 5001;
const SERVICE: ServiceCode = ServiceCode(42);
/// How often queue and windows are looked at.
const LOOK: Duration = Duration::from_millis(5);
/// Bytes per second of one Mbit/s.
const MBIT: f64 = 125_000.0;

/// One flow at work.
struct Running {
    plan: Flow,
    path: Path,
    client: Handle<Host>,
    server: Handle<Host>,
    is_open: bool,
    /// The window when it was last seen, and how often it was found reduced.
    window: f64,
    events: u64,
}

/// The dumbbell.
pub(crate) struct Network {
    world: World,
    settings: Settings,
    bottleneck: LinkId,
    links: Vec<LinkId>,
    flows: Vec<Running>,
    /// The sum of the lengths of the bottleneck's queue, whenever it was looked at.
    waiting: f64,
    looks: f64,
}

/// What had been counted at some moment.
pub(crate) struct Account {
    /// Packets and bytes delivered, events, packets lost: of each flow.
    flows: Vec<[u64; 4]>,
    /// What the bottleneck delivered in packets, what it dropped; transmissions over all links.
    link: [u64; 3],
    busy: Duration,
    waiting: f64,
    looks: f64,
}

impl Network {
    pub(crate) fn new(settings: &Settings) -> Self {
        let mut world = World::new(Seed(settings.seed));
        let left = world.add("left", &[], Router).id();
        let right = world.add("right", &[], Router).id();
        let one_way = Duration::from_secs_f64(settings.rtt / 2000.0);
        let middle = |packets| link(settings.rate, one_way * 14 / 16, packets);
        let (bottleneck, back) =
            world.connect(left, right, middle(settings.queue), middle(usize::MAX));
        let mut links = vec![bottleneck, back];
        let access = link(settings.rate.max(1000.0), one_way / 16, usize::MAX);
        let mut flows = Vec::new();
        for (number, plan) in settings.flows.iter().enumerate() {
            let mut host = |side: u8, router| {
                let address = address(side, number);
                let name = format!("host {address}");
                let host = Host::new(SimHash::new(Seed(settings.seed), &name));
                let host = world.add(&name, &[address], host);
                let ends = world.connect(host.id(), router, access.clone(), access.clone());
                links.extend([ends.0, ends.1]);
                host
            };
            flows.push(Running {
                path: Path {
                    local: address(1, number),
                    remote: address(2, number),
                    encap: Encap::Ip,
                },
                client: host(1, left),
                server: host(2, right),
                plan: plan.clone(),
                is_open: false,
                window: 0.0,
                events: 0,
            });
        }
        Self {
            world,
            settings: settings.clone(),
            bottleneck,
            links,
            flows,
            waiting: 0.0,
            looks: 0.0,
        }
    }

    /// Plays until this second.
    pub(crate) fn run_until(&mut self, second: f64) {
        let end = Instant::ZERO + Duration::from_secs_f64(second);
        while self.world.now() < end {
            let starts = self.flows.iter().filter(|flow| !flow.is_open);
            let next = starts.map(|flow| Instant::ZERO + flow.plan.start).min();
            let mut stop = next.unwrap_or(end).min(end);
            if self.settings.watch {
                stop = stop.min(self.world.now() + LOOK);
            }
            self.world.run_until(stop);
            self.open();
            if self.settings.watch {
                self.look();
            }
        }
    }

    /// Opens the flows whose time has come.
    fn open(&mut self) {
        let now = self.world.now();
        for flow in &mut self.flows {
            if !flow.is_open && Instant::ZERO + flow.plan.start <= now {
                flow.is_open = true;
                let config = config(&flow.plan.transport, &self.settings);
                let listen = |host: &mut Host, _: &mut Context<'_>| {
                    host.listen(PORT, &[SERVICE], config.clone(), App::default())
                };
                self.world.call(flow.server, listen).expect("a free port");
                let way = path::Flow {
                    path: flow.path,
                    local_port: PORT,
                    remote_port: PORT,
                };
                let app = App {
                    source: Source::Bulk {
                        len: payload(&self.settings),
                        count: u64::MAX,
                    },
                    closing: Closing::Never,
                    ..App::default()
                };
                self.world
                    .call(flow.client, |host, context| {
                        host.connect(context, way, config.clone(), app)
                    })
                    .expect("valid settings");
            }
        }
    }

    /// Looks at the queue and at the windows.
    fn look(&mut self) {
        let (packets, _) = self.world.link(self.bottleneck).queue_len();
        self.waiting += to_f64(packets as u64);
        self.looks += 1.0;
        for flow in self.flows.iter_mut().filter(|flow| flow.is_open) {
            let host = self.world.node(flow.client);
            let window = host.snapshot(0).and_then(|s| s.tx.cwnd_packets);
            let window = window.unwrap_or(0.0);
            if window < 0.95 * flow.window {
                flow.events += 1;
            }
            flow.window = window;
        }
    }

    pub(crate) fn account(&self) -> Account {
        let flow = |flow: &Running| {
            if !flow.is_open {
                return [0; 4];
            }
            let server = self.world.node(flow.server);
            let (packets, bytes) = if server.connections() > 0 {
                let report = server.report(0);
                (report.received, report.received_bytes)
            } else {
                (0, 0)
            };
            let lost = self.world.node(flow.client).stats(0).counters.data_lost;
            [packets, bytes, flow.events, lost]
        };
        let stats = self.world.link(self.bottleneck).stats();
        let passed = |&id| self.world.link(id).stats().delivered;
        Account {
            flows: self.flows.iter().map(flow).collect(),
            link: [
                stats.delivered,
                stats.lost.total(),
                self.links.iter().map(passed).sum(),
            ],
            busy: stats.busy,
            waiting: self.waiting,
            looks: self.looks,
        }
    }
}

impl Account {
    /// What happened since then.
    pub(crate) fn since(&self, then: &Self) -> Self {
        let flows = self.flows.iter().zip(&then.flows);
        Self {
            flows: flows
                .map(|(now, then)| core::array::from_fn(|i| now[i] - then[i]))
                .collect(),
            link: core::array::from_fn(|i| self.link[i] - then.link[i]),
            busy: self.busy.saturating_sub(then.busy),
            waiting: self.waiting - then.waiting,
            looks: self.looks - then.looks,
        }
    }

    /// The lines of the output.
    pub(crate) fn text(&self, settings: &Settings) -> String {
        let mut text = String::new();
        let mut line = |line: core::fmt::Arguments<'_>| {
            writeln!(text, "{line}").expect("a string takes everything");
        };
        for (number, flow) in self.flows.iter().enumerate() {
            let [packets, bytes, events, lost] = flow;
            let name = &settings.flows[number].name;
            line(format_args!(
                "flow {number} {name} packets {packets} bytes {bytes} events {events} lost {lost}"
            ));
        }
        let [delivered, drops, hops] = self.link;
        if settings.watch {
            let mean = self.waiting / self.looks.max(1.0);
            let time = settings.time - settings.warmup;
            let used = self.busy.as_secs_f64() / time;
            line(format_args!(
                "link mean_queue {mean:.2} utilisation {used:.5} delivered {delivered} drops {drops}"
            ));
        }
        line(format_args!("hops {hops}"));
        text
    }
}

/// What our DCCP runs with: nothing that the peers lack.
fn config(transport: &Transport, settings: &Settings) -> Config {
    let config = Config {
        service_code: SERVICE,
        mtu: settings.packet,
        ecn: false,
        pacing: false,
        probe_pmtu: false,
        ack_ratio: Some(settings.ack),
        max_window: Some(settings.window),
        strict: true,
        ..Config::default()
    };
    let (ccid, mut law) = match transport {
        Transport::Ccid2(law) => (2, *law),
        Transport::Ccid3 => (3, config.law),
    };
    if settings.ssthresh > 0 {
        law.slow_start.initial_ssthresh = settings.ssthresh.into();
    }
    Config {
        tx_ccids: vec![ccid],
        rx_ccids: vec![ccid],
        law,
        ..config
    }
}

/// Bytes of a datagram such that packets have the length asked for: less the headers of IP and DCCP.
fn payload(settings: &Settings) -> usize {
    settings.packet.saturating_sub(20 + 16)
}

fn link(mbit: f64, delay: Duration, packets: usize) -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::from_bytes_per_s(mbit * MBIT)),
        delay,
        queue: QueueConfig::drop_tail(Limit::Packets(packets)),
        ..LinkConfig::default()
    }
}

/// Of a flow's host on either side.
fn address(side: u8, number: usize) -> IpAddr {
    let [.., a, b] = number.to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(10, side, a, b))
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
const fn to_f64(n: u64) -> f64 {
    n as f64
}
