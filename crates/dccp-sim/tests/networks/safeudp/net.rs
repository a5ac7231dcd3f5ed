//! Pairs of hosts around one bottleneck, each with one flow.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;
use dccp_proto::cc::law::LawConfig;
use dccp_proto::cc::safeudp::{self, SafeUdpConfig, SendCode};
use dccp_proto::number::to_f64;
use dccp_proto::path::{self, Encap, Path};
use dccp_proto::wire::ServiceCode;
use dccp_proto::{Config, ConnectError, Event, Rate};
use dccp_sim::queue::{Limit, QueueConfig};
use dccp_sim::source::{App, Arrival, Offered, Source};
use dccp_sim::world::Checks;
use dccp_sim::{
    FlowId, FlowSample, Handle, Host, LinkConfig, LinkId, Report, Router, Seed, SimHash, World, tcp,
};

const PORT: u16 = 5001;
const SERVICE: ServiceCode = ServiceCode(42);
/// Bytes of application data in a datagram.
const LEN: usize = 1400;

/// The transport of a flow.
#[derive(Clone)]
pub(super) enum Kind {
    SafeUdp(SafeUdpConfig),
    Udp,
    Tcp(LawConfig),
    Ccid3,
}

impl Kind {
    pub(super) fn safe_udp() -> Self {
        Self::SafeUdp(SafeUdpConfig::default())
    }
}

/// A flow and its hosts.
struct Flow {
    kind: Kind,
    hosts: [Handle<Host>; 2],
    number: u8,
    /// Connections so far.
    begun: u16,
    id: Option<FlowId>,
}

/// The network.
pub(super) struct Net {
    pub(super) world: World,
    /// The bottleneck, and the way back.
    pub(super) links: [LinkId; 2],
    flows: Vec<Flow>,
}

/// A source of datagrams at this rate of application data in bit/s.
pub(super) fn cbr(bits_per_s: f64) -> App {
    #[expect(clippy::cast_precision_loss, reason = "a small length")]
    let interval = LEN as f64 * 8.0 / bits_per_s;
    App {
        source: Source::Cbr {
            len: LEN,
            interval: Duration::from_secs_f64(interval),
            count: u64::MAX,
        },
        ..App::default()
    }
}

/// Datagrams at independent times, at this mean rate of application data in bit/s.
pub(super) fn poisson(bits_per_s: f64, flow: usize) -> App {
    let app = cbr(bits_per_s);
    let Source::Cbr { interval, .. } = app.source else {
        return app;
    };
    App {
        source: Source::Poisson {
            len: LEN,
            interval,
            count: u64::MAX,
        },
        random: Seed(1).stream(&format!("flow {flow}")),
        ..app
    }
}

/// As much as the transport takes.
pub(super) fn bulk() -> App {
    App {
        source: Source::Bulk {
            len: LEN,
            count: u64::MAX,
        },
        ..App::default()
    }
}

/// A bottleneck of `mbit_per_s` with this one-way delay and a queue of one bandwidth-delay product.
pub(super) fn bottleneck(mbit_per_s: f64, delay_ms: u64) -> LinkConfig {
    let bytes = mbit_per_s * 1e6 / 8.0;
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "packets of a test"
    )]
    let packets = (bytes * 2e-3 * delay_ms as f64 / 1500.0) as usize;
    LinkConfig {
        rate: Some(Rate::from_bytes_per_s(bytes)),
        delay: Duration::from_millis(delay_ms),
        queue: QueueConfig::drop_tail(Limit::Packets(packets.max(10))),
        ..LinkConfig::default()
    }
}

fn address(side: u8, number: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, side, number))
}

impl Net {
    /// One SafeUDP flow whose sending host has this link to the network.
    pub(super) fn slow_access(seed: u64, access: &LinkConfig) -> Self {
        Self::with_access(seed, bottleneck(100.0, 10), &[Kind::safe_udp()], access)
    }

    /// A network with one pair of hosts for each kind of flow. Nothing is sent yet.
    pub(super) fn new(seed: u64, there: LinkConfig, kinds: &[Kind]) -> Self {
        Self::with_access(seed, there, kinds, &LinkConfig::default())
    }

    fn with_access(seed: u64, there: LinkConfig, kinds: &[Kind], access: &LinkConfig) -> Self {
        let mut world = World::new(Seed(seed));
        world.set_checks(Checks::Sampled(10_000));
        let [left, right] = ["left", "right"].map(|name| world.add(name, &[], Router).id());
        let back = LinkConfig {
            rate: there.rate,
            delay: there.delay,
            ..LinkConfig::default()
        };
        let (there, back) = world.connect(left, right, there, back);
        let mut flows = Vec::new();
        for (number, kind) in (1..).zip(kinds) {
            let hosts = [(1, left), (2, right)].map(|(side, router)| {
                let address = address(side, number);
                let name = address.to_string();
                let host = Host::new(SimHash::new(Seed(seed), &name));
                let host = world.add(&name, &[address], host);
                world.connect(host.id(), router, access.clone(), LinkConfig::default());
                host
            });
            flows.push(Flow {
                kind: kind.clone(),
                hosts,
                number,
                begun: 0,
                id: None,
            });
        }
        let mut net = Self {
            world,
            links: [there, back],
            flows,
        };
        for flow in 0..kinds.len() {
            net.listen(flow, App::default());
        }
        net
    }

    /// The hosts of a flow: the sender and the receiver.
    pub(super) fn hosts(&self, flow: usize) -> [Handle<Host>; 2] {
        self.flows[flow].hosts
    }

    /// Lets the receiver of a flow listen with another application. To be called before [`start`](Self::start).
    pub(super) fn listen(&mut self, flow: usize, app: App) {
        let Flow { kind, hosts, .. } = &self.flows[flow];
        let config = config_of(kind);
        let kind = kind.clone();
        self.world.call(hosts[1], |host, _| match (config, kind) {
            (Some(config), _) => {
                host.unlisten(PORT);
                host.listen(PORT, &[SERVICE], config, app).expect("a port");
            }
            (None, Kind::Tcp(law)) => host.tcp_listen(PORT, tcp_config(law), app),
            _ => host.udp_listen(PORT, app),
        });
    }

    /// Lets a flow begin.
    pub(super) fn start(&mut self, flow: usize, app: App) {
        self.try_start(flow, app).expect("a connection");
    }

    /// Lets a flow begin, or begin again, from the next port.
    pub(super) fn try_start(&mut self, flow: usize, app: App) -> Result<(), ConnectError> {
        let f = &mut self.flows[flow];
        let begun = f.begun;
        f.begun += 1;
        let (config, kind, number) = (config_of(&f.kind), f.kind.clone(), f.number);
        let [local, remote] = [1, 2].map(|side| address(side, number));
        let [from, to] = [(local, PORT + begun), (remote, PORT)].map(SocketAddr::from);
        let id = self.world.call(f.hosts[0], |host, context| {
            Ok(match (config, kind) {
                (Some(config), _) => {
                    let path = Path {
                        local,
                        remote,
                        encap: Encap::Ip,
                    };
                    let flow = path::Flow {
                        path,
                        local_port: PORT + begun,
                        remote_port: PORT,
                    };
                    FlowId::Dccp(host.connect(context, flow, config, app)?)
                }
                (None, Kind::Tcp(law)) => host.tcp_connect(context, from, to, tcp_config(law), app),
                _ => host.udp_open(context, from, to, app),
            })
        })?;
        self.flows[flow].id = Some(id);
        Ok(())
    }

    pub(super) fn run_s(&mut self, seconds: u64) {
        self.world.run_for(Duration::from_secs(seconds));
    }

    /// The sender's totals.
    pub(super) fn sent(&self, flow: usize) -> FlowSample {
        let f = &self.flows[flow];
        let id = f.id.expect("a flow that has begun");
        self.world.node(f.hosts[0]).sample(id)
    }

    /// The receiver's totals of the newest connection.
    pub(super) fn received(&self, flow: usize) -> FlowSample {
        let host = self.world.node(self.flows[flow].hosts[1]);
        let newest = host.accepted().last();
        newest.map_or_else(FlowSample::default, |(id, _)| host.sample(*id))
    }

    /// Mbit/s of application data that a flow's receiver gets in the next `seconds`.
    pub(super) fn rate_over(&mut self, flow: usize, seconds: u64) -> f64 {
        let before = self.received(flow).received_bytes;
        self.run_s(seconds);
        let bytes = self.received(flow).received_bytes - before;
        to_f64(bytes) * 8e-6 / to_f64(seconds)
    }

    /// The datagrams that were offered, and those that arrived.
    pub(super) fn logs(&self, flow: usize) -> (Vec<Offered>, Vec<Arrival>) {
        let f = &self.flows[flow];
        let [sender, receiver] = f.hosts.map(|host| self.world.node(host));
        let (id, _) = receiver.accepted()[0];
        let offered = sender.offered(f.id.expect("a flow"));
        (offered.to_vec(), receiver.arrivals(id).to_vec())
    }

    /// The report of the newest SafeUDP connection of a flow.
    pub(super) fn report(&self, flow: usize) -> Report {
        let f = &self.flows[flow];
        let Some(FlowId::Dccp(number)) = f.id else {
            panic!("no DCCP connection");
        };
        self.world.node(f.hosts[0]).report(number)
    }

    /// The notices that the sending application got.
    pub(super) fn notices(&self, flow: usize) -> Vec<SendCode> {
        let events = self.report(flow).events;
        let notices = events.into_iter().filter_map(|event| match event {
            Event::SafeUdp(code) => Some(code),
            _ => None,
        });
        notices.collect()
    }

    /// The names of the notices, each once, in the order of their first.
    pub(super) fn notice_names(&self, flow: usize) -> Vec<&'static str> {
        let mut names = Vec::new();
        for notice in self.notices(flow) {
            if !names.contains(&notice.name()) {
                names.push(notice.name());
            }
        }
        names
    }

    /// The state of the sender's control.
    pub(super) fn state(&self, flow: usize) -> &'static str {
        self.sent(flow).cc.phase.unwrap_or("over")
    }

    /// An inner value of the sender's control.
    pub(super) fn inner(&self, flow: usize, name: &str) -> f64 {
        let inner = self.sent(flow).cc.inner;
        let value = inner.into_iter().find(|(n, _)| *n == name);
        value.map_or(f64::NAN, |(_, value)| value)
    }
}

fn config_of(kind: &Kind) -> Option<Config> {
    let (ccid, safe_udp) = match kind {
        Kind::SafeUdp(config) => (safeudp::NUMBER, *config),
        Kind::Ccid3 => (3, SafeUdpConfig::default()),
        Kind::Udp | Kind::Tcp(_) => return None,
    };
    Some(Config {
        service_code: SERVICE,
        tx_ccids: vec![ccid],
        rx_ccids: vec![ccid],
        safe_udp,
        ..Config::default()
    })
}

fn tcp_config(law: LawConfig) -> tcp::Config {
    tcp::Config {
        law,
        ..tcp::Config::default()
    }
}
