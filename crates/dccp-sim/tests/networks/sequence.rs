//! Sequence numbers between two hosts (RFC 4340 §7).

use core::time::Duration;
use dccp_proto::Rate;
use dccp_sim::Frame;
use dccp_sim::pair::{End, Pair, Profile, Setup, for_both_peers};
use dccp_sim::rule::{Action, Rule};
use dccp_sim::source::{App, Source};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn duplicates_and_reordering_deliver_each_datagram_once() {
    for_both_peers(|peer| {
        let setup = Setup::with_server(peer).links(|link| {
            link.faults.duplicate = 0.1;
            link.faults.reorder = 0.1;
            link.faults.reorder_by = Duration::from_millis(2);
        });
        let mut pair = Pair::start(setup, App::bulk(500, 500), App::default());
        assert!(pair.run_until_closed(100 * SECOND));
        let server = pair.report(End::Server);
        // Linux hands a duplicate to the application like any other datagram.
        let most = match pair.connections(End::Server) {
            1 => 500 + pair.world.totals().duplicated,
            _ => 0,
        };
        assert!(
            (490..=most).contains(&server.received),
            "{}",
            server.received
        );
    });
    let setup = Setup::default().links(|link| link.faults.duplicate = 0.5);
    let mut pair = Pair::start(setup, App::bulk(500, 500), App::default());
    assert!(pair.run_until_closed(100 * SECOND));
    assert_eq!(
        pair.report(End::Server).received,
        500,
        "ours delivers each once"
    );
}

#[test]
fn an_outage_longer_than_the_window_is_survived() {
    // 4340-7.5.4-1: after a burst of losses a Sync brings both ends together again.
    for ccid in [2, 3] {
        for_both_peers(|peer| {
            let setup = Setup {
                client: Profile::ours().with_ccid(ccid),
                ..Setup::with_server(peer.with_ccid(ccid))
            };
            let setup = setup.links(|link| link.rate = Some(Rate::from_bytes_per_s(1e6)));
            let mut pair = Pair::start(setup, App::bulk(500, u64::MAX), App::default());
            pair.run_for(2 * SECOND);
            let before = pair.report(End::Server).received;
            pair.world.add_rule(pair.there, Rule::new(Action::Drop));
            pair.run_for(5 * SECOND);
            pair.world.clear_rules(pair.there);
            pair.run_for(60 * SECOND);
            let after = pair.report(End::Server).received;
            assert!(after > before + 100, "CCID {ccid}: {before}, {after}");
        });
    }
}

#[test]
fn a_packet_from_far_outside_of_the_window_is_answered_by_a_sync() {
    // 4340-7.5.4-2
    for_both_peers(|peer| {
        let mut pair = Pair::new(Setup::with_server(peer));
        let jump = |frame: &mut Frame| {
            // The checksum is a sum of 16-bit words: what one word gains another may lose.
            let word = |frame: &Frame, at: usize| {
                u16::from_be_bytes([frame.bytes[at], frame.bytes[at + 1]])
            };
            let (seq, sum) = (word(frame, 12), word(frame, 6));
            frame.bytes[12..14].copy_from_slice(&(seq ^ 0x4000).to_be_bytes());
            let changed = i32::from(seq ^ 0x4000) - i32::from(seq);
            let sum = (i32::from(sum) - changed).rem_euclid(0xffff);
            let sum = u16::try_from(sum).unwrap();
            frame.bytes[6..8].copy_from_slice(&sum.to_be_bytes());
        };
        let rule = Rule::edit(jump).matching(|f| f.zeros == 333);
        pair.world.add_rule(pair.there, rule);
        pair.listen(App::default());
        let zeros = |ms, n| {
            (
                Duration::from_millis(ms),
                dccp_sim::source::Message::Zeros(n),
            )
        };
        pair.connect(App {
            source: Source::Script(vec![zeros(0, 100), zeros(1000, 333), zeros(2000, 100)]),
            ..App::default()
        });
        pair.run_for(5 * SECOND);
        let lines = pair.lines();
        let syncs = |way: &str| lines.iter().filter(|l| l.starts_with(way)).count();
        assert!(syncs("server>client Sync ") >= 1, "{lines:#?}");
        // 4340-8.5-5: it acknowledges a packet that was never sent, so it is not answered.
        assert_eq!(syncs("client>server SyncAck "), 0);
        assert_eq!(
            pair.report(End::Server).received,
            2,
            "the strange one is not delivered"
        );
    });
}

#[test]
fn short_sequence_numbers_carry_data_between_our_hosts() {
    // 4340-7.6-1
    let config = dccp_proto::Config {
        short_seqnos: true,
        ..dccp_proto::Config::default()
    };
    let setup = Setup {
        client: Profile::Ours(config.clone()),
        server: Profile::Ours(config),
        ..Setup::default()
    };
    let mut pair = Pair::start(setup, App::bulk(100, 200), App::default());
    assert!(pair.run_until_closed(60 * SECOND));
    assert_eq!(pair.report(End::Server).received, 200);
    assert!(pair.lines().iter().any(|l| l.contains(" Data short ")));
}

#[test]
fn a_connection_crosses_two_to_the_sixteen_packets() {
    // The kernel of seed 000 changed its rate at 65,500 packets.
    let setup = Setup::default().links(|link| {
        link.delay = Duration::from_millis(1);
        link.rate = Some(Rate::from_bytes_per_s(125e6));
    });
    let mut pair = Pair::start(setup, App::bulk(100, 70_000), App::default());
    assert!(pair.run_until_closed(600 * SECOND));
    // Whatever left and the path did not lose was valid and came to the application.
    let lost = pair.world.link(pair.there).stats().lost.total();
    assert_eq!(pair.report(End::Server).received + lost, 70_000);
    assert!(lost < 3500, "{lost} lost");
}
