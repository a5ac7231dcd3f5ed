//! Ack Vectors between two hosts (RFC 4340 §11.4).

use core::time::Duration;
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
