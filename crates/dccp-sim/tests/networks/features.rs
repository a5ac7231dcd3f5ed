//! Feature negotiation between two hosts (RFC 4340 §6).

use core::time::Duration;
use dccp_proto::Config;
use dccp_proto::wire::Feature;
use dccp_proto::wire::ResetCode;
use dccp_sim::linux::LinuxConfig;
use dccp_sim::pair::{End, Pair, Profile, Setup, for_both_peers};
use dccp_sim::source::App;

const SECOND: Duration = Duration::from_secs(1);

fn ours(tx: &[u8], rx: &[u8]) -> Profile {
    Profile::Ours(Config {
        tx_ccids: tx.to_vec(),
        rx_ccids: rx.to_vec(),
        ..Config::default()
    })
}

fn linux(tx: &[u8], rx: &[u8]) -> Profile {
    Profile::Linux(LinuxConfig {
        tx_ccids: tx.to_vec(),
        rx_ccids: rx.to_vec(),
        seq_window: 10_000,
        ..LinuxConfig::default()
    })
}

#[test]
fn the_servers_preference_decides_each_direction() {
    // 4340-6.3.1-1: client offers (tx, rx), server offers (tx, rx), agreed for the client's data.
    type Lists = (&'static [u8], &'static [u8]);
    let cases: [(Lists, Lists, u8, u8); 6] = [
        ((&[2, 3], &[2, 3]), (&[2, 3], &[2, 3]), 2, 2),
        ((&[2, 3], &[2, 3]), (&[3, 2], &[3, 2]), 3, 3),
        ((&[3], &[2]), (&[2, 3], &[2, 3]), 3, 2),
        ((&[2, 3], &[2, 3]), (&[3], &[2]), 2, 3),
        ((&[3], &[3]), (&[3], &[3]), 3, 3),
        ((&[3], &[2]), (&[2], &[3]), 3, 2),
    ];
    for (client, server, forth, back) in cases {
        for make in [ours, linux] {
            let setup = Setup {
                client: ours(client.0, client.1),
                ..Setup::with_server(make(server.0, server.1))
            };
            let mut pair = Pair::start(setup, App::bulk(300, 300), App::echo());
            pair.world.run_for(2 * SECOND / 10);
            let host = pair.host(End::Client);
            let snapshot = pair.world.node(host).snapshot(0).expect("open");
            let agreed = (snapshot.tx_ccid, snapshot.rx_ccid);
            assert_eq!(agreed, (forth, back), "{client:?} against {server:?}");
            pair.run_for(60 * SECOND);
            assert!(pair.report(End::Server).received >= 290);
        }
    }
}

#[test]
fn a_client_of_each_kind_can_ask_our_server() {
    for ccids in [&[2, 3][..], &[3, 2], &[2], &[3]] {
        for make in [ours, linux] {
            let setup = Setup::with_client(make(ccids, ccids));
            let mut pair = Pair::start(setup, App::bulk(300, 300), App::echo());
            pair.run_for(60 * SECOND);
            let (client, server) = (pair.report(End::Client), pair.report(End::Server));
            assert_eq!(client.sent, server.received, "{ccids:?}");
            assert!(client.sent >= 295);
        }
    }
}

#[test]
fn without_a_common_ccid_no_connection_opens() {
    for make in [ours, linux] {
        let setup = Setup {
            client: ours(&[3], &[3]),
            ..Setup::with_server(make(&[2], &[2]))
        };
        let mut pair = Pair::start(setup, App::default(), App::default());
        pair.run_for(SECOND);
        let client = pair.report(End::Client);
        assert!(client.is_over);
        // The RFC's Mandatory Error, or Linux's Option Error (LINUX-6).
        let code = client.reset.expect("a Reset");
        assert!(
            [ResetCode::MANDATORY_ERROR, ResetCode::OPTION_ERROR].contains(&code),
            "{code}"
        );
    }
}

#[test]
fn a_linux_peer_is_never_sent_ecn_capable_packets() {
    // LINUX-C2
    let mut pair = Pair::start(
        Setup::with_server(Profile::linux()),
        App::bulk(300, 300),
        App::echo(),
    );
    pair.run_for(20 * SECOND);
    let capable: Vec<String> = pair
        .lines()
        .into_iter()
        .filter(|l| l.contains("ect0"))
        .collect();
    assert_eq!(capable, Vec::<String>::new());
}

#[test]
fn the_peer_learns_the_sequence_window() {
    // 4340-7.5.2-1
    for_both_peers(|peer| {
        let config = Config {
            sequence_window: 5000,
            adapt_sequence_window: false,
            ..Config::default()
        };
        let setup = Setup {
            client: Profile::Ours(config),
            ..Setup::with_server(peer)
        };
        let mut pair = Pair::start(setup, App::bulk(300, 100), App::echo());
        pair.world.run_for(SECOND / 5);
        let host = pair.host(End::Client);
        let conn = pair.world.node(host).connection(0).expect("open");
        assert_eq!(conn.feature(true, Feature::SequenceWindow), 5000);
        pair.run_for(20 * SECOND);
    });
}

#[test]
fn linux_client_that_cannot_read_short_numbers_is_sent_long_ones() {
    // LINUX-23
    let config = Config {
        short_seqnos: true,
        ..Config::default()
    };
    let setup = Setup {
        client: Profile::linux(),
        ..Setup::with_server(Profile::Ours(config))
    };
    let mut pair = Pair::start(setup, App::default(), App::bulk(300, 200));
    pair.run_for(60 * SECOND);
    let received = pair.report(End::Client).received;
    assert!(received > 190, "{received} of 200");
}

#[test]
fn ack_vectors_with_ccid_3_are_refused_by_linux_without_a_reset() {
    // LINUX-24
    for our_end in [End::Client, End::Server] {
        let config = Config {
            ack_vectors: true,
            ..Config::default()
        };
        let ours = Profile::Ours(config).with_ccid(3);
        let linux = Profile::linux().with_ccid(3);
        let (client, server) = if our_end == End::Client {
            (ours, linux)
        } else {
            (linux, ours)
        };
        let setup = Setup {
            client,
            ..Setup::with_server(server)
        };
        let mut pair = Pair::start(setup, App::bulk(300, 50), App::default());
        pair.run_for(60 * SECOND);
        // A Linux client that closes gives up the five datagrams of its queue.
        let received = pair.report(End::Server).received;
        assert!(received >= 45, "{our_end:?}: {received} of 50");
    }
}

#[test]
fn ack_vectors_with_ccid_3_are_sent_by_our_own_peers() {
    let client = Config {
        ack_vectors: true,
        ..Config::default()
    };
    let setup = Setup {
        client: Profile::Ours(client).with_ccid(3),
        ..Setup::with_server(Profile::ours().with_ccid(3))
    };
    let mut pair = Pair::start(setup, App::bulk(300, 50), App::default());
    pair.world.run_for(SECOND / 5);
    let host = pair.host(End::Client);
    let conn = pair.world.node(host).connection(0).expect("open");
    assert_eq!(conn.feature(false, Feature::SendAckVector), 1);
    pair.run_for(20 * SECOND);
}
