//! CCID 248 is negotiated like every CCID, and only where both ends ask for it.

use core::time::Duration;
use dccp_proto::cc::safeudp::NUMBER;
use dccp_proto::wire::features::Feature;
use dccp_proto::{CloseReason, Config};
use dccp_sim::pair::{End, Pair, Profile, Setup};
use dccp_sim::source::{App, Source};

fn config(tx: &[u8], rx: &[u8]) -> Profile {
    Profile::Ours(Config {
        tx_ccids: tx.to_vec(),
        rx_ccids: rx.to_vec(),
        ..Config::default()
    })
}

/// A client that sends 100 datagrams per second, after two seconds.
fn run(client: Profile, server: Profile) -> Pair {
    let app = App {
        source: Source::Cbr {
            len: 500,
            interval: Duration::from_millis(10),
            count: u64::MAX,
        },
        ..App::default()
    };
    let setup = Setup {
        client,
        server,
        ..Setup::default()
    };
    let mut pair = Pair::start(setup, app, App::default());
    pair.run_for(Duration::from_secs(2));
    pair
}

/// The CCID that the client sends with, and whether it gets Ack Vectors.
fn agreed(pair: &Pair) -> (u8, bool) {
    let host = pair.world.node(pair.host(End::Client));
    let connection = host.connection(0).expect("a connection");
    let has_vectors = connection.feature(false, Feature::SendAckVector) == 1;
    (connection.snapshot().tx_ccid, has_vectors)
}

#[test]
fn both_ends_agree_on_safeudp_and_ack_vectors() {
    let pair = run(config(&[NUMBER], &[2]), config(&[2], &[NUMBER]));
    assert_eq!(agreed(&pair), (NUMBER, true));
    assert!(pair.report(End::Server).received > 150);
    let host = pair.world.node(pair.host(End::Server));
    assert_eq!(host.snapshot(0).expect("a connection").rx_ccid, NUMBER);
}

#[test]
fn peer_that_prefers_another_ccid_gets_it() {
    let pair = run(config(&[NUMBER, 2], &[2]), config(&[2], &[2, 3]));
    assert_eq!(agreed(&pair), (2, true));
    assert!(pair.report(End::Server).received > 100);
}

#[test]
fn peer_without_safeudp_ends_a_connection_that_insists() {
    let pair = run(config(&[NUMBER], &[2]), config(&[2], &[2]));
    let report = pair.report(End::Client);
    assert!(report.is_over);
    assert!(matches!(
        report.close_reason(),
        Some(CloseReason::Reset { .. } | CloseReason::Aborted(_))
    ));
    assert_eq!(pair.report(End::Server).received, 0);
}

#[test]
fn default_settings_do_not_accept_safeudp() {
    let pair = run(config(&[NUMBER, 2], &[2]), Profile::ours());
    assert_eq!(agreed(&pair).0, 2);
}
