//! Congestion control from end to end: how flows begin, and what losses do to them.

use core::time::Duration;
use dccp_sim::pair::{End, Pair, Profile, Setup, for_both_peers};
use dccp_sim::source::{App, Message, Source};

const SECOND: Duration = Duration::from_secs(1);

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Our client against this server, both with one CCID, 20 ms each way.
fn setup(ccid: u8, server: Profile) -> Setup {
    Setup {
        client: Profile::ours().with_ccid(ccid),
        ..Setup::with_server(server.with_ccid(ccid))
    }
}

/// The first data packet is too large for the path, which nobody knows before. The receiver counts
/// it as a loss event before it has measured any rate.
#[test]
fn a_flow_whose_first_packet_is_lost_does_not_stall() {
    // 5348-6.3-1, 5348-6.3.1-1, 5348-4.3-2
    for_both_peers(|peer| {
        let lengths = [1390; 5].into_iter().chain([1000; 100]);
        let times = (0..).map(|n| ms(10) * n);
        let script = times.zip(lengths.map(Message::Zeros)).collect();
        let app = App {
            source: Source::Script(script),
            ..App::default()
        };
        let setup = setup(3, peer).links(|link| link.mtu = 1400);
        let mut pair = Pair::start(setup, app, App::default());
        pair.run_for(10 * SECOND);
        assert_eq!(pair.report(End::Client).sent, 101);
        assert_eq!(pair.report(End::Server).received, 100);
    });
}

/// Counts the datagrams that arrive in the first round trip in which any can, for our client as
/// the sender or our server.
fn in_the_first_round_trip(ccid: u8, sender: End) -> u64 {
    let data = App::bulk(1000, 1000);
    let (client, server, receiver) = match sender {
        End::Client => (data, App::default(), End::Server),
        End::Server => (App::default(), data, End::Client),
    };
    let mut pair = Pair::start(setup(ccid, Profile::ours()), client, server);
    while pair.connections(sender) == 0 || pair.report(sender).opened.is_none() {
        pair.run_for(ms(1));
    }
    pair.run_for(ms(59));
    pair.report(receiver).received
}

#[test]
fn the_handshake_gives_the_first_round_trip_time() {
    // 5348-4.2-1, 4342-5-1: four packets per round trip, as with CCID 2's first window, not one per second.
    for ccid in [2, 3] {
        for sender in [End::Client, End::Server] {
            let received = in_the_first_round_trip(ccid, sender);
            assert!(
                (3..=5).contains(&received),
                "CCID {ccid} {sender:?}: {received}"
            );
        }
    }
}
