//! Connections at the ends of what numbers and paths can be.

use core::net::{IpAddr, Ipv4Addr};
use core::time::Duration;
use dccp_proto::path::{Encap, Flow, Path};
use dccp_proto::wire::ServiceCode;
use dccp_proto::{Config, KeyedHash, Rate};
use dccp_sim::link::TooBig;
use dccp_sim::pair::{End, Pair, Profile, Setup, for_both_peers};
use dccp_sim::queue::Limit;
use dccp_sim::source::{App, Closing, Message, Source};
use dccp_sim::{Handle, Host, LinkConfig, Seed, World};

const SECOND: Duration = Duration::from_secs(1);

/// Gives every connection this first sequence number, but for what the clock adds: 1 for 256 ns.
struct FirstNumber(u64);

impl KeyedHash for FirstNumber {
    fn hash(&self, _: &[u8]) -> u128 {
        self.0.into()
    }
}

/// Sends and echoes 500 datagrams between two of our hosts whose numbers begin shortly before
/// `wrap`, and returns how many each received.
fn across(wrap: u64, config: &Config) -> (u64, u64) {
    let address = |n| IpAddr::V4(Ipv4Addr::new(192, 0, 2, n));
    let mut world = World::new(Seed(1));
    // The client begins at 0, the server 20 ms later.
    let first = |clock: u64| FirstNumber(wrap.wrapping_sub(clock + 100));
    let client = world.add("client", &[address(1)], Host::new(first(0)));
    let later = Host::new(first(20_000_000 >> 8));
    let server = world.add("server", &[address(2)], later);
    let link = LinkConfig {
        delay: Duration::from_millis(20),
        ..LinkConfig::default()
    };
    world.connect(client.id(), server.id(), link.clone(), link);
    let services = [ServiceCode::NONE];
    world.call(server, |host, _| {
        host.listen(5001, &services, config.clone(), App::echo())
            .expect("valid settings");
    });
    let flow = Flow {
        path: Path {
            local: address(1),
            remote: address(2),
            encap: Encap::Ip,
        },
        local_port: 40_000,
        remote_port: 5001,
    };
    let app = App {
        closing: Closing::Never,
        ..App::bulk(100, 500)
    };
    world.call(client, |host, context| {
        host.connect(context, flow, config.clone(), app)
            .expect("valid settings");
    });
    world.run_for(20 * SECOND);
    world.check();
    let received = |host: Handle<Host>| world.node(host).report(0).received;
    (received(client), received(server))
}

#[test]
fn sequence_numbers_wrap_at_2_to_the_48_in_both_directions() {
    // 4340-3.1-2, 4340-7.5.1-1
    assert_eq!(across(1 << 48, &Config::default()), (500, 500));
}

#[test]
fn short_sequence_numbers_wrap_at_2_to_the_24() {
    // 4340-7.6-1
    let config = Config {
        short_seqnos: true,
        ..Config::default()
    };
    assert_eq!(across(1 << 24, &config), (500, 500));
    assert_eq!(across(1 << 48, &config), (500, 500));
}

#[test]
fn numbers_half_way_round_are_nothing_special() {
    // 4340-6.6.4-4
    assert_eq!(across(1 << 47, &Config::default()), (500, 500));
}

#[test]
fn an_overshoot_of_slow_start_on_a_path_of_16667_packets_is_survived() {
    // 1 Gbit/s, 200 ms. The queue overflows by thousands of packets at once.
    let setup = Setup {
        client: Profile::ours().with_ccid(2),
        ..Setup::with_server(Profile::ours().with_ccid(2))
    };
    let setup = setup.links(|link| {
        link.rate = Some(Rate::from_bytes_per_s(125e6));
        link.delay = Duration::from_millis(100);
        link.queue.set_limit(Limit::Packets(4000));
    });
    let app = App {
        closing: Closing::Never,
        ..App::bulk(1400, u64::MAX)
    };
    let mut pair = Pair::start(setup, app, App::default());
    pair.run_for(6 * SECOND);
    let lost = pair
        .world
        .link(pair.there)
        .stats()
        .lost
        .of(dccp_sim::loss::Loss::Queue);
    assert!(lost > 1000, "{lost} lost");
    let before = pair.report(End::Server).received;
    pair.run_for(4 * SECOND);
    let server = pair.report(End::Server);
    // At half of the window that was too large the link is still more than half full.
    let rate = (server.received - before) / 4;
    assert!(rate > 83_333 / 2, "{rate} packets per second");
    // Whatever the path did not lose was valid.
    let host = pair.host(End::Server);
    let drops = pair.world.node(host).stats(0).drops;
    let named: Vec<_> = drops.by_name().filter(|(_, n)| *n > 0).collect();
    assert_eq!(named, []);
}

#[test]
fn a_black_hole_is_found_and_datagrams_that_fit_pass() {
    // 4340-14.1-1: ICMP never comes.
    for_both_peers(|peer| {
        let setup = Setup::with_server(peer).links(|link| {
            link.mtu = 1300;
            link.too_big = TooBig::Silent;
        });
        let sizes = (0..2000_u32).map(|n| if n % 2 == 0 { 1400 } else { 1000 });
        let times = (0..).map(|n| Duration::from_millis(20) * n);
        let app = App {
            source: Source::Script(times.zip(sizes.map(Message::Zeros)).collect()),
            ..App::default()
        };
        let mut pair = Pair::start(setup, app, App::default());
        pair.run_for(60 * SECOND);
        let client = pair.host(End::Client);
        let mps = pair.world.node(client).snapshot(0).expect("open").mps;
        assert!(mps <= 1300 - 20 - 16, "{mps}");
        assert!(pair.report(End::Server).received > 500);
    });
}

#[test]
fn a_bulk_source_follows_the_maximum_packet_size() {
    let setup = Setup::with_server(Profile::ours()).links(|link| link.mtu = 1300);
    let mut pair = Pair::start(setup, App::bulk(9000, 1000), App::default());
    pair.run_for(60 * SECOND);
    let client = pair.report(End::Client);
    let server = pair.report(End::Server);
    assert_eq!(client.sent + client.fates.too_big, 1000);
    assert_eq!(server.received + client.fates.lost, client.sent);
    assert!(client.fates.too_big <= 256, "{}", client.fates.too_big);
    assert!(server.received > 700, "{}", server.received);
}
