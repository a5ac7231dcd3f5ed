//! How connections end (RFC 4340 §8.3).

use core::time::Duration;
use dccp_proto::wire::{PacketType, ResetCode};
use dccp_proto::{CloseReason, Rate};
use dccp_sim::pair::{End, Pair, Setup, for_both_peers};
use dccp_sim::rule::{Action, Rule};
use dccp_sim::source::{App, Closing};

const SECOND: Duration = Duration::from_secs(1);

/// The types of the packets that end a connection, with the host that sent them.
fn ending(pair: &Pair) -> Vec<String> {
    let two = |l: String| l.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let packets = pair.lines().into_iter().map(two);
    packets
        .filter(|p| p.contains("Close") || p.contains("Reset"))
        .collect()
}

fn open(setup: Setup) -> Pair {
    let mut pair = Pair::start(setup, App::default(), App::default());
    pair.run_for(SECOND);
    pair
}

#[test]
fn a_client_closes_with_close_and_reset() {
    // 4340-8.3-1, 4340-8.3-2
    for_both_peers(|peer| {
        let mut pair = open(Setup::with_server(peer));
        pair.close(End::Client);
        assert!(pair.run_until_closed(SECOND));
        assert_eq!(
            ending(&pair),
            ["client>server Close", "server>client Reset"]
        );
        assert_eq!(
            pair.report(End::Client).close_reason(),
            Some(&CloseReason::Local)
        );
    });
}

#[test]
fn a_server_closes_with_a_close_request() {
    // 4340-8.3-1
    for_both_peers(|peer| {
        let mut pair = open(Setup::with_client(peer));
        pair.close(End::Server);
        assert!(pair.run_until_closed(SECOND));
        assert_eq!(
            ending(&pair),
            [
                "server>client CloseReq",
                "client>server Close",
                "server>client Reset"
            ]
        );
    });
}

#[test]
fn a_lost_packet_of_the_ending_is_repeated() {
    // 4340-8.3-3
    for lost in [PacketType::Close, PacketType::CloseReq, PacketType::Reset] {
        for_both_peers(|peer| {
            let mut pair = open(Setup::with_client(peer));
            for link in [pair.there, pair.back] {
                let rule = Rule::new(Action::Drop).of_type(lost).nth(1);
                pair.world.add_rule(link, rule);
            }
            pair.close(End::Server);
            // Linux repeats after 3 s.
            assert!(pair.run_until_closed(10 * SECOND), "{lost:?} lost");
        });
    }
}

/// Unsent datagrams are withdrawn, and an endless source is not polled forever.
#[test]
fn a_reset_ends_a_source_without_an_end() {
    for_both_peers(|peer| {
        let bulk = App::bulk(1000, u64::MAX);
        let setup = Setup::with_server(peer).links(|link| {
            link.delay = SECOND / 100;
            link.rate = Some(Rate::from_bytes_per_s(1e6));
        });
        let mut pair = Pair::start(setup, bulk, App::default());
        pair.run_for(SECOND);
        pair.abort(End::Server);
        assert!(pair.run_until_closed(SECOND));
    });
}

#[test]
fn an_abort_ends_both_ends_at_once() {
    for_both_peers(|peer| {
        let mut pair = open(Setup::with_server(peer));
        pair.abort(End::Client);
        assert!(pair.run_until_closed(SECOND));
        let server = pair.report(End::Server);
        assert_eq!(server.reset, Some(ResetCode::ABORTED));
    });
}

#[test]
fn closing_drains_what_is_queued() {
    let mut pair = Pair::start(Setup::default(), App::bulk(1000, 100), App::default());
    pair.world.run_for(Duration::from_millis(50));
    pair.close(End::Client);
    assert!(pair.run_until_closed(60 * SECOND));
    let (client, server) = (pair.report(End::Client), pair.report(End::Server));
    assert!(
        client.sent > 3,
        "more than the first window: {}",
        client.sent
    );
    assert_eq!(client.sent, server.received);
    assert_eq!(client.unsent, 0);
}

#[test]
fn both_ends_may_close_at_once() {
    // AMB-8, LINUX-8
    for_both_peers(|peer| {
        let mut pair = open(Setup::with_server(peer));
        pair.close(End::Client);
        pair.close(End::Server);
        assert!(pair.run_until_closed(30 * SECOND));
    });
}

#[test]
fn a_peer_that_never_closes_is_given_up_or_waited_for() {
    // LINUX-7: a Linux application that does not close leaves the Close unanswered; it is repeated.
    let stubborn = App {
        closing: Closing::Never,
        ..App::default()
    };
    let setup = Setup::with_server(dccp_sim::pair::Profile::linux());
    let mut pair = Pair::start(setup, App::default(), stubborn);
    pair.run_for(SECOND);
    pair.close(End::Client);
    pair.run_for(10 * SECOND);
    let closes = ending(&pair);
    assert!(closes.len() >= 5, "{closes:?}");
    assert!(closes.iter().all(|p| p == "client>server Close"));
    pair.close(End::Server);
    assert!(pair.run_until_closed(60 * SECOND));
}
