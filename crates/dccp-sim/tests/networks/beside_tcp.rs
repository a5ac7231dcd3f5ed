//! CCID 2 beside the simulator's TCP, both with Reno, on one drop-tail bottleneck.
//!
//! With a short queue, the flow with smaller bursts gets more. A queue with room for one packet accepts a single
//! packet and drops the second of a pair. So paced CCID 2 is compared with a TCP whose packets are acknowledged
//! one by one. (Unpaced CCID 2 with Ack Ratio 2 gets 33 % beside a TCP with delayed acknowledgements, and less
//! beside this one.)

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;
use dccp_proto::cc::law::LawConfig;
use dccp_proto::path::{self, Encap, Path};
use dccp_proto::wire::ServiceCode;
use dccp_proto::{Config, Rate};
use dccp_sim::queue::{Limit, QueueConfig};
use dccp_sim::source::{App, Source};
use dccp_sim::world::Checks;
use dccp_sim::{Handle, Host, LinkConfig, Router, Seed, SimHash, World, tcp};

const PORT: u16 = 5001;
const SERVICE: ServiceCode = ServiceCode(42);
/// 50 Mbit/s.
const RATE: f64 = 6.25e6;
/// Of the bottleneck, one way; all else adds nothing.
const DELAY: Duration = Duration::from_millis(35);
/// Packets of 1500 bytes in rate × round trip.
const BDP: usize = 291;
/// Where the first slow start ends: what comes after it is compared.
const HALF_EACH: f64 = 146.0;

/// This law, whose first slow start ends there.
fn to_half(mut law: LawConfig) -> LawConfig {
    law.slow_start.initial_ssthresh = HALF_EACH;
    law
}

/// Two senders and two receivers, one flow of each transport.
struct Dumbbell {
    world: World,
    senders: [Handle<Host>; 2],
    receivers: [Handle<Host>; 2],
}

fn address(side: u8, number: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, side, number))
}

impl Dumbbell {
    fn new(queue: usize) -> Self {
        let mut world = World::new(Seed(1));
        world.set_checks(Checks::Sampled(1000));
        let [left, right] = ["left", "right"].map(|name| world.add(name, &[], Router).id());
        let bottleneck = |packets| LinkConfig {
            rate: Some(Rate::from_bytes_per_s(RATE)),
            delay: DELAY,
            queue: QueueConfig::drop_tail(Limit::Packets(packets)),
            ..LinkConfig::default()
        };
        world.connect(left, right, bottleneck(queue), bottleneck(usize::MAX));
        let mut hosts = |side, router| {
            [1, 2].map(|number| {
                let address = address(side, number);
                let name = address.to_string();
                let host = Host::new(SimHash::new(Seed(1), &name));
                let host = world.add(&name, &[address], host);
                let access = LinkConfig {
                    rate: Some(Rate::from_bytes_per_s(50.0 * RATE)),
                    ..LinkConfig::default()
                };
                world.connect(host.id(), router, access.clone(), access);
                host
            })
        };
        let (senders, receivers) = (hosts(1, left), hosts(2, right));
        Self {
            world,
            senders,
            receivers,
        }
    }

    fn begin_ccid_2(&mut self) {
        let config = Config {
            service_code: SERVICE,
            tx_ccids: vec![2],
            rx_ccids: vec![2],
            law: to_half(LawConfig::default()),
            ..Config::default()
        };
        let flow = path::Flow {
            path: Path {
                local: address(1, 1),
                remote: address(2, 1),
                encap: Encap::Ip,
            },
            local_port: PORT,
            remote_port: PORT,
        };
        let listened = self.world.call(self.receivers[0], |host, _| {
            host.listen(PORT, &[SERVICE], config.clone(), App::default())
        });
        listened.expect("a free port");
        let connected = self.world.call(self.senders[0], |host, context| {
            host.connect(context, flow, config, bulk())
        });
        connected.expect("valid settings");
    }

    fn begin_tcp(&mut self) {
        let default = tcp::Config::default();
        let config = tcp::Config {
            ack_every: 1,
            law: to_half(default.law.clone()),
            ..default
        };
        self.world.call(self.receivers[1], |host, _| {
            host.tcp_listen(PORT, config.clone(), App::default());
        });
        let [local, remote] = [1, 2].map(|side| SocketAddr::new(address(side, 2), PORT));
        self.world.call(self.senders[1], |host, context| {
            host.tcp_connect(context, local, remote, config, bulk())
        });
    }

    #[expect(clippy::cast_precision_loss, reason = "bytes of one test")]
    fn received_bytes(&self) -> [f64; 2] {
        self.receivers.map(|receiver| {
            let host = self.world.node(receiver);
            let (id, _) = host.accepted()[0];
            host.sample(id).received_bytes as f64
        })
    }
}

/// As much as the transport takes.
fn bulk() -> App {
    App {
        source: Source::Bulk {
            len: 1440,
            count: u64::MAX,
        },
        ..App::default()
    }
}

/// CCID 2's share of all bytes of one minute. TCP begins `tcp_later` after CCID 2, the minute 10 s after TCP.
fn share(queue: usize, tcp_later: Duration) -> f64 {
    let mut dumbbell = Dumbbell::new(queue);
    dumbbell.begin_ccid_2();
    dumbbell.world.run_for(tcp_later);
    dumbbell.begin_tcp();
    dumbbell.world.run_for(Duration::from_secs(10));
    let before = dumbbell.received_bytes();
    dumbbell.world.run_for(Duration::from_mins(1));
    let after = dumbbell.received_bytes();
    let [ccid_2, tcp] = [0, 1].map(|flow| after[flow] - before[flow]);
    ccid_2 / (ccid_2 + tcp)
}

#[test]
fn both_have_their_share_of_a_bottleneck_whatever_its_queue() {
    for queue in [BDP / 4, BDP] {
        let later = [100, 181, 262, 343, 424].map(Duration::from_millis);
        let mut shares = later.map(|later| share(queue, later));
        shares.sort_by(f64::total_cmp);
        let [_, _, median, ..] = shares;
        assert!((0.4..=0.6).contains(&median), "{queue}: {shares:?}");
    }
}
