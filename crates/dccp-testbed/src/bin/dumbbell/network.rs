//! The dumbbell itself, and what is counted in it.

use crate::args::{Flow, Settings, Transport};
use core::fmt::Write;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;
use dccp_proto::cc::law::LawConfig;
use dccp_proto::path::{self, Encap, Path};
use dccp_proto::wire::ServiceCode;
use dccp_proto::{Config, Instant, Rate};
use dccp_sim::flow::FlowId;
use dccp_sim::link::LinkStats;
use dccp_sim::queue::{Limit, QueueConfig};
use dccp_sim::source::{App, Closing, Source};
use dccp_sim::tcp;
use dccp_sim::world::Checks;
use dccp_sim::{Handle, Host, LinkConfig, LinkId, Router, Seed, SimHash, World};

const PORT: u16 = 5001;
const SERVICE: ServiceCode = ServiceCode(42);
/// Headers of a data packet: those of IP and of TCP with timestamps, and those of IP and of DCCP with short
/// sequence numbers, which are all that ns-2 has.
const TCP_HEADERS: usize = 20 + 32;
const DCCP_HEADERS: usize = 20 + 12;
/// Bytes that DCCP leaves free beside its data for acknowledgements. The links' MTU is larger by as
/// much, so that data still fill a packet.
const DCCP_ROOM: usize = 32;
/// Bytes per second of one Mbit/s.
const MBIT: f64 = 125_000.0;

/// One flow at work.
struct Running {
    plan: Flow,
    path: Path,
    client: Handle<Host>,
    server: Handle<Host>,
    /// Once it was opened.
    id: Option<FlowId>,
}

/// The dumbbell.
pub(crate) struct Network {
    world: World,
    settings: Settings,
    bottleneck: LinkId,
    links: Vec<LinkId>,
    flows: Vec<Running>,
}

/// The counters at one time.
pub(crate) struct Account {
    /// Packets and bytes delivered, reductions of the window, packets lost: of each flow.
    flows: Vec<[u64; 4]>,
    bottleneck: LinkStats,
    /// Transmissions over all links.
    hops: u64,
}

impl Network {
    pub(crate) fn new(settings: &Settings) -> Self {
        let mut world = World::new(Seed(settings.seed));
        // The peers check nothing; the tests of the simulator check every event.
        world.set_checks(Checks::Sampled(1000));
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
                id: None,
            });
        }
        Self {
            world,
            settings: settings.clone(),
            bottleneck,
            links,
            flows,
        }
    }

    /// Plays until this second.
    pub(crate) fn run_until(&mut self, second: f64) {
        let end = Instant::ZERO + Duration::from_secs_f64(second);
        while self.world.now() < end {
            let starts = self.flows.iter().filter(|flow| flow.id.is_none());
            let next = starts.map(|flow| Instant::ZERO + flow.plan.start).min();
            self.world.run_until(next.unwrap_or(end).min(end));
            self.open();
        }
    }

    /// Opens the flows whose time has come.
    fn open(&mut self) {
        let now = self.world.now();
        for flow in &mut self.flows {
            if flow.id.is_none() && Instant::ZERO + flow.plan.start <= now {
                let id = match &flow.plan.transport {
                    Transport::Tcp(law) => {
                        open_tcp(&mut self.world, &self.settings, flow, law.clone())
                    }
                    Transport::Ccid2(law) => {
                        let config = Config {
                            law: with_threshold(law.clone(), &self.settings),
                            ..dccp_config(2, &self.settings)
                        };
                        open_dccp(&mut self.world, &self.settings, flow, config)
                    }
                    Transport::Ccid3(ccids) => {
                        let config = Config {
                            ccids: ccids.clone(),
                            ..dccp_config(3, &self.settings)
                        };
                        open_dccp(&mut self.world, &self.settings, flow, config)
                    }
                };
                flow.id = Some(id);
            }
        }
    }

    pub(crate) fn account(&self) -> Account {
        let flow = |flow: &Running| {
            let Some(id) = flow.id else { return [0; 4] };
            let sender = self.world.node(flow.client).sample(id);
            let server = self.world.node(flow.server);
            let accepted = server.accepted().first();
            let receiver = accepted.map(|(id, _)| server.sample(*id));
            let receiver = receiver.unwrap_or_default();
            [
                receiver.received,
                receiver.received_bytes,
                // A timeout is an event of its own.
                sender.loss_events.unwrap_or_default() + sender.timeouts,
                sender.lost,
            ]
        };
        let passed = |&id| self.world.link(id).stats().delivered;
        Account {
            flows: self.flows.iter().map(flow).collect(),
            bottleneck: self.world.link(self.bottleneck).stats(),
            hops: self.links.iter().map(passed).sum(),
        }
    }
}

impl Account {
    /// The lines of the output: what happened since then.
    pub(crate) fn text_since(&self, then: &Self, settings: &Settings) -> String {
        let mut text = String::new();
        let mut line = |line: core::fmt::Arguments<'_>| {
            writeln!(text, "{line}").expect("a string takes everything");
        };
        for (number, (now, then)) in self.flows.iter().zip(&then.flows).enumerate() {
            let [packets, bytes, events, lost] = core::array::from_fn(|i| now[i] - then[i]);
            let name = &settings.flows[number].name;
            line(format_args!(
                "flow {number} {name} packets {packets} bytes {bytes} events {events} lost {lost}"
            ));
        }
        let (now, earlier) = (&self.bottleneck, &then.bottleneck);
        let (mean, _) = now.mean_queue_since(earlier).unwrap_or_default();
        let used = now.busy.saturating_sub(earlier.busy).as_secs_f64();
        let used = used / (settings.time - settings.warmup);
        let delivered = now.delivered - earlier.delivered;
        let drops = now.lost.total() - earlier.lost.total();
        line(format_args!(
            "link mean_queue {mean:.2} utilisation {used:.5} delivered {delivered} drops {drops}"
        ));
        line(format_args!("hops {}", self.hops - then.hops));
        text
    }
}

/// Sends as much as the transport takes.
fn bulk(len: usize) -> App {
    App {
        source: Source::Bulk {
            len,
            count: u64::MAX,
        },
        closing: Closing::Never,
        ..App::default()
    }
}

fn open_tcp(world: &mut World, settings: &Settings, flow: &Running, law: LawConfig) -> FlowId {
    let mss = settings.packet.saturating_sub(TCP_HEADERS);
    let config = tcp::Config {
        mss: u16::try_from(mss).unwrap_or(u16::MAX),
        // ns-2's.
        initial_window: 2,
        max_window: Some(settings.window),
        ack_every: settings.ack.into(),
        halves_flight: settings.halved,
        samples_every_ack: settings.every_ack,
        keeps_backoff: settings.keeps_backoff,
        ..tcp::Config::with_law(with_threshold(law, settings)).expect("a law that was read for TCP")
    };
    world.call(flow.server, |host, _| {
        host.tcp_listen(PORT, config.clone(), App::default());
    });
    let [local, remote] =
        [flow.path.local, flow.path.remote].map(|address| SocketAddr::new(address, PORT));
    world.call(flow.client, |host, context| {
        host.tcp_connect(context, local, remote, config, bulk(mss))
    })
}

fn open_dccp(world: &mut World, settings: &Settings, flow: &Running, config: Config) -> FlowId {
    let way = path::Flow {
        path: flow.path,
        local_port: PORT,
        remote_port: PORT,
    };
    let listened = world.call(flow.server, |host, _| {
        host.listen(PORT, &[SERVICE], config.clone(), App::default())
    });
    listened.expect("a free port");
    let app = bulk(settings.packet.saturating_sub(DCCP_HEADERS));
    let number = world.call(flow.client, |host, context| {
        host.connect(context, way, config, app)
    });
    FlowId::Dccp(number.expect("valid settings"))
}

/// The settings' threshold, unless the law has its own.
fn with_threshold(mut law: LawConfig, settings: &Settings) -> LawConfig {
    if settings.ssthresh > 0 && law.slow_start.initial_ssthresh <= 0.0 {
        law.slow_start.initial_ssthresh = settings.ssthresh.into();
    }
    law
}

/// The settings of our DCCP: no feature that the peers lack, and the timeout and headers of ns-2.
fn dccp_config(ccid: u8, settings: &Settings) -> Config {
    Config {
        service_code: SERVICE,
        tx_ccids: vec![ccid],
        rx_ccids: vec![ccid],
        max_window: Some(settings.window),
        ack_ratio: Some(settings.ack),
        mtu: settings.packet + DCCP_ROOM,
        short_seqnos: true,
        // ns-2 has none: the largest that short numbers allow.
        sequence_window: 1 << 16,
        adapt_sequence_window: false,
        rto_min: Duration::from_secs(1),
        probe_pmtu: false,
        ecn: false,
        pacing: settings.pacing,
        strict: true,
        ..Config::default()
    }
}

fn link(mbit: f64, delay: Duration, packets: usize) -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::from_bytes_per_s(mbit * MBIT)),
        delay,
        queue: QueueConfig::drop_tail(Limit::Packets(packets)),
        mtu: LinkConfig::default().mtu + DCCP_ROOM,
        ..LinkConfig::default()
    }
}

/// Of a flow's host on either side.
fn address(side: u8, number: usize) -> IpAddr {
    let [.., a, b] = number.to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(10, side, a, b))
}
