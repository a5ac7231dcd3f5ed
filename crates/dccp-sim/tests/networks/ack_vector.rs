//! Ack Vectors between two hosts (RFC 4340 §11.4).

use core::time::Duration;
use dccp_proto::Config;
use dccp_sim::pair::{End, Pair, Profile, Setup, for_both_peers};
use dccp_sim::queue::{DropTailConfig, Limit, QueueConfig};
use dccp_sim::rule::{Action, Rule};
use dccp_sim::source::App;

const SECOND: Duration = Duration::from_secs(1);

fn ccid_2(peer: Profile) -> Setup {
    Setup {
        client: Profile::ours().with_ccid(2),
        ..Setup::with_server(peer.with_ccid(2))
    }
}

#[test]
fn the_sender_learns_which_datagrams_were_lost() {
    for_both_peers(|peer| {
        let mut pair = Pair::new(ccid_2(peer));
        for n in [20, 21, 50] {
            let is_data = |f: &dccp_sim::Frame| f.zeros == 700;
            let rule = Rule::new(Action::Drop).matching(is_data).nth(n);
            pair.world.add_rule(pair.there, rule);
        }
        pair.listen(App::default());
        pair.connect(App {
            closing: dccp_sim::source::Closing::Never,
            ..App::bulk(700, 200)
        });
        pair.run_for(60 * SECOND);
        let client = pair.report(End::Client);
        assert_eq!(client.sent, 200);
        // LINUX-10: the last may never be acknowledged by Linux, and are then taken for lost.
        assert!((3..=5).contains(&client.fates.lost), "{:?}", client.fates);
        assert!(client.fates.acked >= 195);
        assert_eq!(pair.report(End::Server).received, 197);
    });
}

#[test]
fn congestion_marks_come_back_in_the_vector() {
    // 4340-12.1-1, 4340-11.4-4
    let setup = ccid_2(Profile::ours()).links(|link| {
        link.rate = Some(dccp_proto::Rate::from_bytes_per_s(1e6));
        link.queue = QueueConfig::DropTail(DropTailConfig {
            mark_at: Some(Limit::Packets(10)),
            ..DropTailConfig::default()
        });
    });
    let mut pair = Pair::start(setup, App::bulk(1000, 3000), App::default());
    assert!(pair.run_until_closed(60 * SECOND));
    let client = pair.report(End::Client);
    let marked = pair.world.link(pair.there).stats().marked;
    assert!(client.fates.acked_ce > 0, "{:?}", client.fates);
    assert!(client.fates.acked_ce <= marked);
    assert_eq!(client.fates.lost, 0, "marks keep the queue below its limit");
}

#[test]
fn the_state_of_a_long_one_way_transfer_stays_small() {
    // 4340-11.4.2-1: acknowledgements of acknowledgements prune the vector.
    let setup = ccid_2(Profile::ours()).links(|link| {
        link.faults.loss = 0.01;
        link.rate = Some(dccp_proto::Rate::from_bytes_per_s(1e6));
    });
    let mut pair = Pair::start(setup, App::bulk(100, u64::MAX), App::default());
    let host = pair.host(End::Server);
    let mut most = 0;
    for _ in 0..100 {
        pair.run_for(SECOND);
        let snapshot = pair.world.node(host).snapshot(0).expect("open");
        most = most.max(snapshot.ack_vector_cells);
    }
    assert!(pair.report(End::Server).received > 20_000);
    assert!(most < 200, "{most} cells");
}

/// A transfer by CCID 3 or 4 whose sender wants to know of each datagram whether it arrived.
fn with_vectors(ccid: u8, peer: Profile) -> Setup {
    let Profile::Ours(config) = Profile::ours().with_ccid(ccid) else {
        unreachable!("ours is ours")
    };
    Setup {
        client: Profile::Ours(Config {
            ack_vectors: true,
            ..config
        }),
        ..Setup::with_server(peer.with_ccid(ccid))
    }
    .links(|link| {
        link.rate = Some(dccp_proto::Rate::from_bytes_per_s(1e6));
        link.faults.loss = 0.02;
    })
}

#[test]
fn ccids_3_and_4_report_the_fate_of_each_datagram_where_vectors_are_requested() {
    for ccid in [3, 4] {
        let setup = with_vectors(ccid, Profile::ours());
        let mut pair = Pair::start(setup, App::bulk(500, 2000), App::default());
        assert!(pair.run_until_closed(600 * SECOND), "CCID {ccid}");
        let (client, server) = (pair.report(End::Client), pair.report(End::Server));
        let fates = client.fates;
        assert_eq!((fates.total(), client.in_flight), (2000, 0));
        // Of the last round trip the connection's end comes first.
        assert!(fates.sent < 100, "CCID {ccid}: {fates:?}");
        let lost = client.sent - server.received;
        assert!(lost > 10, "{lost}");
        assert!(fates.lost <= lost && lost - fates.lost <= fates.sent);
        let arrived = fates.acked + fates.acked_ce;
        assert_eq!(arrived + fates.lost + fates.sent, 2000);
        assert!(arrived <= server.received);
    }
}

#[test]
fn a_datagram_that_comes_too_late_keeps_the_fate_lost_and_one_that_is_overtaken_by_two_does_not() {
    for (ccid, late_by, overtaken) in [(2, 10, true), (3, 10, true), (2, 1, false), (3, 1, false)] {
        let setup = with_vectors(ccid, Profile::ours()).links(|link| {
            link.faults.loss = 0.0;
            link.faults.reorder = 0.02;
            link.faults.reorder_by = Duration::from_millis(late_by);
        });
        let mut pair = Pair::start(setup, App::bulk(1000, 2000), App::default());
        assert!(pair.run_until_closed(600 * SECOND), "CCID {ccid}");
        let (client, server) = (pair.report(End::Client), pair.report(End::Server));
        assert_eq!(server.received, 2000);
        let fates = client.fates;
        assert_eq!((fates.total(), client.in_flight), (2000, 0));
        assert!(fates.sent < 100, "CCID {ccid}: {fates:?}");
        assert_eq!(fates.lost > 0, overtaken, "CCID {ccid}: {fates:?}");
        let host = pair.world.node(pair.host(End::Client));
        let spurious = host.stats(0).counters.spurious_losses;
        // Arrivals that have left the peer's vector by then are never reported.
        assert!(spurious <= fates.lost && (spurious > 0) == overtaken);
    }
}

#[test]
fn a_peer_without_vectors_for_its_ccid_leaves_the_fate_at_sent() {
    // Linux refuses Ack Vectors with CCID 3. Without a request no peer sends them.
    let Setup { server, .. } = with_vectors(3, Profile::ours());
    let unasked = Setup {
        client: server.clone(),
        ..with_vectors(3, Profile::ours())
    };
    for setup in [with_vectors(3, Profile::linux()), unasked] {
        let mut pair = Pair::start(setup, App::bulk(500, 300), App::default());
        assert!(pair.run_until_closed(600 * SECOND));
        let client = pair.report(End::Client);
        assert!(client.fates.sent > 200, "{:?}", client.fates);
        assert_eq!(client.fates.total(), 300);
    }
}
