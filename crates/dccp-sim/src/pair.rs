//! Two hosts and a link between them, for conversations.

use crate::host::{Host, SimHash};
use crate::link::LinkConfig;
use crate::linux::{LinuxConfig, LinuxHost};
use crate::net::LinkId;
use crate::node::NodeId;
use crate::random::Seed;
use crate::report::Report;
use crate::source::App;
use crate::world::{Handle, World};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::time::Duration;
use dccp_proto::Config;
use dccp_proto::path::{Encap, Flow, Path};
use dccp_proto::wire::ServiceCode;

/// DCCP port of the server.
pub const PORT: u16 = 5001;
/// DCCP port of the first connection of the client; the others follow.
pub const CLIENT_PORT: u16 = 40_000;
/// Service Code of the server.
pub const SERVICE: ServiceCode = ServiceCode(42);

/// One of the two hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The one that connects.
    Client,
    /// The one that listens.
    Server,
}

/// The DCCP implementation of a host.
#[derive(Clone, PartialEq, Debug)]
#[expect(clippy::large_enum_variant, reason = "a simulation has two")]
pub enum Profile {
    /// Our own DCCP.
    Ours(Config),
    /// DCCP as the Linux kernel has it.
    Linux(LinuxConfig),
}

impl Profile {
    /// Our DCCP with its defaults.
    pub fn ours() -> Self {
        Self::Ours(Config::default())
    }

    /// The Linux kernel with its defaults.
    pub fn linux() -> Self {
        Self::Linux(LinuxConfig::default())
    }

    /// The same with one CCID for both directions.
    #[must_use]
    pub fn with_ccid(self, ccid: u8) -> Self {
        match self {
            Self::Ours(config) => Self::Ours(Config {
                tx_ccids: vec![ccid],
                rx_ccids: vec![ccid],
                ..config
            }),
            Self::Linux(_) => Self::Linux(LinuxConfig::with_ccid(ccid)),
        }
    }
}

/// Calls `f` with a peer like ourselves, and with one like the Linux kernel.
pub fn for_both_peers(f: impl Fn(Profile)) {
    f(Profile::ours());
    f(Profile::linux());
}

/// How two hosts are set up.
#[derive(Clone, PartialEq, Debug)]
pub struct Setup {
    /// Seed of the world.
    pub seed: u64,
    /// Carries DCCP over UDP, with port 6511 on both sides, instead of IP.
    pub over_udp: bool,
    /// IPv6 instead of IPv4.
    pub is_v6: bool,
    /// The host that connects.
    pub client: Profile,
    /// The host that listens.
    pub server: Profile,
    /// The link from client to server.
    pub there: LinkConfig,
    /// The link from server to client.
    pub back: LinkConfig,
}

impl Default for Setup {
    /// Our DCCP on both sides, over IPv4, 20 ms each way, nothing lost.
    fn default() -> Self {
        let link = LinkConfig {
            delay: Duration::from_millis(20),
            ..LinkConfig::default()
        };
        Self {
            seed: 1,
            over_udp: false,
            is_v6: false,
            client: Profile::ours(),
            server: Profile::ours(),
            there: link.clone(),
            back: link,
        }
    }
}

impl Setup {
    /// The default with another peer at the server's end.
    pub fn with_server(server: Profile) -> Self {
        Self {
            server,
            ..Self::default()
        }
    }

    /// The default with another peer at the client's end.
    pub fn with_client(client: Profile) -> Self {
        Self {
            client,
            ..Self::default()
        }
    }

    /// Both links changed in the same way.
    #[must_use]
    pub fn links(mut self, change: impl Fn(&mut LinkConfig)) -> Self {
        change(&mut self.there);
        change(&mut self.back);
        self
    }
}

#[derive(Clone, Copy)]
enum Machine {
    Ours(Handle<Host>),
    Linux(Handle<LinuxHost>),
}

/// Two hosts and a link between them. Connections have numbers, in the order of their begin on each
/// host.
pub struct Pair {
    /// The world that they are in.
    pub world: World,
    /// From client to server.
    pub there: LinkId,
    /// From server to client.
    pub back: LinkId,
    setup: Setup,
    client: Machine,
    server: Machine,
}

impl Pair {
    /// Builds the world. A trace of all packets begins at once.
    pub fn new(setup: Setup) -> Self {
        let mut pair = Self::untraced(setup);
        pair.world.start_trace();
        pair
    }

    /// Builds the world without a trace, for runs of millions of packets.
    pub fn untraced(setup: Setup) -> Self {
        let mut world = World::new(Seed(setup.seed));
        let path = path(&setup);
        let client = add(&mut world, "client", path.local, &setup.client);
        let server = add(&mut world, "server", path.remote, &setup.server);
        let (there, back) = world.connect(
            client.id(),
            server.id(),
            setup.there.clone(),
            setup.back.clone(),
        );
        Self {
            world,
            there,
            back,
            setup,
            client,
            server,
        }
    }

    /// Lets the server listen.
    ///
    /// # Panics
    /// If the settings are invalid.
    pub fn listen(&mut self, app: App) {
        match (&self.server, &self.setup.server) {
            (Machine::Ours(host), Profile::Ours(config)) => {
                let config = config.clone();
                self.world
                    .call(*host, |host, _| host.listen(PORT, &[SERVICE], config, app))
                    .expect("valid settings");
            }
            (Machine::Linux(host), _) => self
                .world
                .call(*host, |host, _| host.listen(PORT, SERVICE, app)),
            (Machine::Ours(_), Profile::Linux(_)) => {}
        }
    }

    /// Lets the client connect, and returns the connection's number there.
    ///
    /// # Panics
    /// If the settings are invalid.
    pub fn connect(&mut self, app: App) -> usize {
        let flow = self.flow(self.connections(End::Client));
        match (&self.client, &self.setup.client) {
            (Machine::Ours(host), Profile::Ours(config)) => {
                let config = Config {
                    service_code: SERVICE,
                    ..config.clone()
                };
                self.world
                    .call(*host, |host, context| {
                        host.connect(context, flow, config, app)
                    })
                    .expect("valid settings")
            }
            (Machine::Linux(host), _) => self.world.call(*host, |host, context| {
                host.connect(context, flow, SERVICE, app)
            }),
            (Machine::Ours(_), Profile::Linux(_)) => 0,
        }
    }

    /// Builds the world, listens and connects.
    pub fn start(setup: Setup, client: App, server: App) -> Self {
        let mut pair = Self::new(setup);
        pair.listen(server);
        pair.connect(client);
        pair
    }

    /// The flow of the client's `n`th connection, from 0, as the client sees it.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "tests open few connections"
    )]
    pub fn flow(&self, n: usize) -> Flow {
        Flow {
            path: path(&self.setup),
            local_port: CLIENT_PORT + n as u16,
            remote_port: PORT,
        }
    }

    /// Our host at this end, to use it directly.
    ///
    /// # Panics
    /// If the end runs the Linux profile.
    pub fn host(&self, end: End) -> Handle<Host> {
        match self.machine(end) {
            Machine::Ours(host) => host,
            Machine::Linux(_) => panic!("the {end:?} is a Linux host"),
        }
    }

    /// A host's name in the world.
    pub fn node(&self, end: End) -> NodeId {
        self.machine(end).id()
    }

    fn machine(&self, end: End) -> Machine {
        match end {
            End::Client => self.client,
            End::Server => self.server,
        }
    }

    /// How many connections a host has had.
    pub fn connections(&self, end: End) -> usize {
        match self.machine(end) {
            Machine::Ours(host) => self.world.node(host).connections(),
            Machine::Linux(host) => self.world.node(host).connections(),
        }
    }

    /// The report of a host's first connection so far.
    pub fn report(&self, end: End) -> Report {
        self.report_of(end, 0)
    }

    /// The report of a connection of a host so far.
    pub fn report_of(&self, end: End, number: usize) -> Report {
        match self.machine(end) {
            Machine::Ours(host) => self.world.node(host).report(number),
            Machine::Linux(host) => self.world.node(host).report(number).clone(),
        }
    }

    /// Lets the application of a host's first connection close it.
    pub fn close(&mut self, end: End) {
        match self.machine(end) {
            Machine::Ours(host) => self.world.call(host, |host, c| host.close(c, 0)),
            Machine::Linux(host) => self.world.call(host, |host, c| host.close(c, 0)),
        }
    }

    /// Lets the applications of all connections of a host stop writing, and close.
    pub fn finish(&mut self, end: End) {
        for number in 0..self.connections(end) {
            match self.machine(end) {
                Machine::Ours(host) => self.world.call(host, |host, c| host.finish(c, number)),
                Machine::Linux(host) => self.world.call(host, |host, c| host.close(c, number)),
            }
        }
    }

    /// Lets the application of a host's first connection abort it.
    pub fn abort(&mut self, end: End) {
        match self.machine(end) {
            Machine::Ours(host) => self.world.call(host, |host, c| host.abort(c, 0)),
            Machine::Linux(host) => self.world.call(host, |host, c| host.abort(c, 0)),
        }
    }

    /// Runs for `time`, then checks every invariant.
    pub fn run_for(&mut self, time: Duration) {
        self.world.run_for(time);
        self.world.check();
    }

    /// Runs until both first connections are over, or `limit` has passed. Returns whether they are over.
    pub fn run_until_closed(&mut self, limit: Duration) -> bool {
        let ends = [self.client, self.server];
        let is_over = |world: &World, machine: &Machine| match machine {
            Machine::Ours(host) => {
                let host = world.node(*host);
                host.connections() > 0 && host.report(0).is_over
            }
            Machine::Linux(host) => {
                let host = world.node(*host);
                host.connections() > 0 && host.report(0).is_over
            }
        };
        let all_over = |world: &World| ends.iter().all(|m| is_over(world, m));
        let over = self.world.run_while_not(limit, all_over);
        self.world.check();
        over
    }

    /// The trace without the times of its lines: `client>server Request …`.
    pub fn lines(&self) -> Vec<String> {
        let trace = self.world.trace();
        let line = |l: &str| l.trim_start().split_once(' ').map(|(_, l)| l.to_owned());
        trace.lines().filter_map(line).collect()
    }
}

impl Machine {
    const fn id(self) -> NodeId {
        match self {
            Self::Ours(host) => host.id(),
            Self::Linux(host) => host.id(),
        }
    }
}

fn add(world: &mut World, name: &str, address: IpAddr, profile: &Profile) -> Machine {
    match profile {
        Profile::Ours(_) => {
            let host = Host::new(SimHash::new(world.seed(), name));
            Machine::Ours(world.add(name, &[address], host))
        }
        Profile::Linux(config) => {
            let host = LinuxHost::new(config.clone());
            Machine::Linux(world.add(name, &[address], host))
        }
    }
}

fn path(setup: &Setup) -> Path {
    let address = |n: u8| -> IpAddr {
        if setup.is_v6 {
            Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, n.into()).into()
        } else {
            Ipv4Addr::new(192, 0, 2, n).into()
        }
    };
    let encap = if setup.over_udp {
        Encap::Udp {
            local_port: 6511,
            remote_port: 6511,
        }
    } else {
        Encap::Ip
    };
    Path {
        local: address(1),
        remote: address(2),
        encap,
    }
}
