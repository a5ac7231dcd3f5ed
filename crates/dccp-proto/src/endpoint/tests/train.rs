//! Datagrams that arrive together have the effects that they have one by one.

use super::*;
use proptest::prelude::*;

const SERVICE: ServiceCode = ServiceCode(42);

fn config() -> Config {
    Config {
        service_code: SERVICE,
        ..Config::default()
    }
}

/// Two connections of two hosts: always the same.
fn two_connections() -> Net {
    let mut net = Net::new();
    let server = &mut net.hosts[1].endpoint;
    server.listen(5001, &[SERVICE], config()).unwrap();
    for local_port in [40_000, 40_001] {
        connect(&mut net, local_port);
    }
    net.run(Instant::from_nanos(100_000_000));
    assert_eq!(net.hosts[1].endpoint.connections(), 2);
    net
}

fn connect(net: &mut Net, local_port: u16) -> ConnId {
    let flow = Flow {
        path: path(1, 2),
        local_port,
        remote_port: 5001,
    };
    let client = &mut net.hosts[0].endpoint;
    client.connect(net.now, flow, config()).unwrap()
}

/// Bytes and zeros of what the client then says of data, of closing, of a third connection, and what is no packet.
fn datagrams() -> Vec<(Vec<u8>, usize)> {
    let mut net = two_connections();
    let third = connect(&mut net, 40_002);
    let ids: Vec<ConnId> = net.hosts[0].events.iter().map(|(id, _)| *id).collect();
    net.hosts[0].apps.out.to_send = 100;
    for _ in 0..5 {
        // As the pacer permits.
        net.now += Duration::from_millis(20);
        let (now, host) = (net.now, &mut net.hosts[0]);
        host.endpoint.handle_timeout(now, &mut host.apps);
        for &id in &ids {
            host.endpoint.on_data_ready(id);
        }
        net.drain(0);
    }
    net.hosts[0].apps.out.to_send = net.hosts[0].apps.out.next;
    let (now, host) = (net.now, &mut net.hosts[0]);
    host.endpoint.close(now, ids[0], &mut host.apps);
    host.endpoint.abort(now, ids[1], &mut host.apps);
    host.endpoint.abort(now, third, &mut host.apps);
    net.drain(0);
    let said = net.wire.iter().map(|w| (w.4.clone(), w.5));
    let mut all: Vec<_> = said.collect();
    assert!(all.len() >= 10, "{}", all.len());
    all.push((vec![0; 30], 0));
    all.push((vec![7; 5], 0));
    all
}

/// The server's host as seen from outside.
fn told(net: &mut Net) -> String {
    net.drain(1);
    let host = &net.hosts[1];
    let ids = host.events.iter().map(|(id, _)| *id);
    let conns: Vec<_> = ids
        .map(|id| {
            host.endpoint
                .connection(id)
                .map(|c| (c.snapshot(), c.stats()))
        })
        .collect();
    let (stats, taken) = (host.endpoint.stats(), host.apps.taker.0);
    format!(
        "{stats:?} {taken} {:?} {conns:?} {:?}",
        host.events, net.wire
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn a_train_has_the_effects_of_its_datagrams(
        trains in prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 1..20), 1..4),
    ) {
        let pool = datagrams();
        let (mut together, mut apart) = (two_connections(), two_connections());
        let path = path(2, 1);
        for train in trains {
            let datagrams = || train.iter().map(|index| {
                let (bytes, zeros) = index.get(&pool);
                Datagram { bytes, zeros: *zeros }
            });
            let (now, host) = (together.now, &mut together.hosts[1]);
            let (endpoint, apps) = (&mut host.endpoint, &mut host.apps);
            endpoint.handle_train(now, &path, Ecn::Ect0, &mut datagrams(), apps);
            let host = &mut apart.hosts[1];
            for datagram in datagrams() {
                let (endpoint, apps) = (&mut host.endpoint, &mut host.apps);
                endpoint.handle_datagram(now, &path, Ecn::Ect0, &datagram, apps);
            }
            prop_assert_eq!(told(&mut together), told(&mut apart));
        }
    }
}

/// Queues that keep no promise.
struct Deaf(u32);

impl Queues for Deaf {
    fn with_app(&mut self, _id: ConnId, _run: &mut dyn FnMut(&mut App<'_>)) {
        self.0 += 1;
    }
}

#[test]
fn queues_that_do_not_run_lose_a_packet_and_no_more() {
    let pool = datagrams();
    let mut net = two_connections();
    let (now, host) = (net.now, &mut net.hosts[1]);
    let datagrams = pool.iter().map(|(bytes, zeros)| Datagram {
        bytes,
        zeros: *zeros,
    });
    let mut deaf = Deaf(0);
    let endpoint = &mut host.endpoint;
    endpoint.handle_train(now, &path(2, 1), Ecn::Ect0, &mut { datagrams }, &mut deaf);
    assert!((1..=pool.len()).contains(&(deaf.0 as usize)), "{}", deaf.0);
}
