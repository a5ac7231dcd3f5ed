//! UDP between two hosts: what is sent arrives, is lost, or arrives late, and all of it is counted.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;
use dccp_proto::Rate;
use dccp_sim::queue::{Limit, QueueConfig};
use dccp_sim::rule::{Action, Rule};
use dccp_sim::source::{App, Source};
use dccp_sim::{FlowId, FlowSample, Handle, Host, LinkConfig, LinkId, Seed, SimHash, World};

const PORT: u16 = 9;

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

struct Net {
    world: World,
    hosts: [Handle<Host>; 2],
    there: LinkId,
    flow: FlowId,
}

/// One hundred datagrams of 972 bytes, 1000 on the wire, one each millisecond, over this link; what
/// comes is answered as `peer` says.
fn net(link: LinkConfig, rule: Option<Rule>, peer: App) -> Net {
    let seed = Seed(1);
    let mut world = World::new(seed);
    let addresses = [1, 2].map(|n| IpAddr::from(Ipv4Addr::new(10, 0, 0, n)));
    let mut host = |name, n: usize| {
        let host = Host::new(SimHash::new(seed, name));
        world.add(name, &[addresses[n]], host)
    };
    let hosts = [host("a", 0), host("b", 1)];
    let back = LinkConfig {
        delay: link.delay,
        ..LinkConfig::default()
    };
    let (there, _) = world.connect(hosts[0].id(), hosts[1].id(), link, back);
    if let Some(rule) = rule {
        world.add_rule(there, rule);
    }
    world.call(hosts[1], |host, _| host.udp_listen(PORT, peer));
    let [local, remote] = addresses;
    let app = App {
        source: Source::Cbr {
            len: 972,
            interval: ms(1),
            count: 100,
        },
        ..App::default()
    };
    let flow = world.call(hosts[0], |host, context| {
        let (local, remote) = (SocketAddr::new(local, 5000), SocketAddr::new(remote, PORT));
        host.udp_open(context, local, remote, app)
    });
    Net {
        world,
        hosts,
        there,
        flow,
    }
}

impl Net {
    fn run(&mut self) -> [FlowSample; 2] {
        self.world.run_for(Duration::from_secs(1));
        let [a, b] = self.hosts.map(|host| self.world.node(host));
        assert!(a.is_over(self.flow));
        let (accepted, peer) = b.accepted()[0];
        assert_eq!(peer.port(), 5000);
        [a.sample(self.flow), b.sample(accepted)]
    }
}

fn slow() -> LinkConfig {
    LinkConfig {
        delay: ms(10),
        ..LinkConfig::default()
    }
}

#[test]
fn datagrams_leave_as_they_come_and_arrive_in_order() {
    let [sent, received] = net(slow(), None, App::default()).run();
    assert_eq!((sent.sent, sent.sent_bytes), (100, 97_200));
    assert_eq!((received.received, received.received_bytes), (100, 97_200));
    assert_eq!((received.missing, received.reordered), (Some(0), 0));
    assert_eq!(received.one_way, Some(ms(10)));
}

#[test]
fn nothing_slows_a_source_down_and_what_does_not_fit_is_lost() {
    // Half of the rate of the source, and room for ten.
    let link = LinkConfig {
        rate: Some(Rate::from_bytes_per_s(500_000.0)),
        queue: QueueConfig::drop_tail(Limit::Packets(10)),
        ..slow()
    };
    let mut net = net(link, None, App::default());
    let [sent, received] = net.run();
    assert_eq!(sent.sent, 100);
    // The last of all may be lost unnoticed: nothing after it shows it.
    let dropped = net.world.link(net.there).stats().lost.total();
    assert!(
        received
            .missing
            .is_some_and(|n| (dropped - 1..=dropped).contains(&n)),
        "{received:?}"
    );
    assert_eq!(received.received, 100 - dropped);
    assert!((40..=46).contains(&dropped), "{dropped}");
    // Ten packets of 2 ms wait before it.
    assert!(received.one_way.unwrap() >= ms(30), "{received:?}");
}

#[test]
fn a_late_datagram_and_a_second_copy_are_counted_separately() {
    let held = Rule::new(Action::Hold(ms(5))).nth(50);
    let [_, received] = net(slow(), Some(held), App::default()).run();
    assert_eq!((received.received, received.reordered), (100, 1));
    let copied = Rule::new(Action::Duplicate).nth(50);
    let [_, received] = net(slow(), Some(copied), App::default()).run();
    assert_eq!((received.received, received.reordered), (100, 0));
    assert_eq!(received.received_bytes, 97_200);
}

#[test]
fn echoes_tell_the_round_trip() {
    let [sent, received] = net(slow(), None, App::echo()).run();
    assert_eq!((received.sent, sent.received), (100, 100));
    assert_eq!(sent.rtt, Some(ms(20)));
}

#[test]
fn a_port_without_a_listener_takes_nothing() {
    let mut net = net(slow(), None, App::default());
    let flow = net.world.call(net.hosts[0], |host, context| {
        let local = SocketAddr::new(Ipv4Addr::new(10, 0, 0, 1).into(), 1);
        let remote = SocketAddr::new(Ipv4Addr::new(10, 0, 0, 2).into(), PORT + 1);
        let app = App {
            source: Source::Cbr {
                len: 1,
                interval: ms(1),
                count: 3,
            },
            ..App::default()
        };
        host.udp_open(context, local, remote, app)
    });
    net.run();
    assert_eq!(net.world.node(net.hosts[0]).sample(flow).sent, 3);
    assert_eq!(
        net.world.totals().lost.of(dccp_sim::loss::Loss::Stranger),
        3
    );
    assert_eq!(net.world.node(net.hosts[1]).accepted().len(), 1);
}

#[test]
#[should_panic(expected = "nothing would limit a bulk source")]
fn a_bulk_source_is_refused() {
    let mut net = net(slow(), None, App::bulk(1, 1));
    net.run();
}
