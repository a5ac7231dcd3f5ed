//! Congestion control from end to end: how flows begin, and what losses do to them.

use core::time::Duration;
use dccp_proto::wire::ResetCode;
use dccp_proto::{Config, Rate};
use dccp_sim::link::TooBig;
use dccp_sim::pair::{End, Pair, Profile, Setup, for_both_peers};
use dccp_sim::queue::Limit;
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

/// The first data packet is too large for the path, which neither end knows yet. The receiver counts it as a loss
/// event before it has measured any rate.
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

/// Counts the datagrams of the first round trip with data, with our client or our server as the sender.
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

/// A server that gets data faster than it can measure a round trip: it only sends
/// acknowledgements, hundreds per round trip, and ours name them within its Sequence Window.
#[test]
fn the_sequence_window_of_the_receiver_keeps_up_with_slow_start() {
    // 4340-7.5.2-2
    for ccid in [2, 3] {
        let setup = setup(ccid, Profile::ours()).links(|link| link.delay = ms(1));
        let mut pair = Pair::start(setup, App::bulk(100, 70_000), App::default());
        assert!(pair.run_until_closed(20 * SECOND), "CCID {ccid}");
        assert_eq!(pair.report(End::Server).received, 70_000, "CCID {ccid}");
    }
}

/// Flows of our client that share a link with a short drop-tail queue.
struct Crowd {
    ccid: u8,
    server: Profile,
    /// MTU of the client's interface; that of the link is 1500 bytes, and it is silent about larger packets.
    mtu: usize,
    bytes_per_s: f64,
    queue: usize,
    flows: usize,
}

impl Crowd {
    /// How often each flow found a black hole in a minute and a half, and its path MTU then.
    ///
    /// A flow is left out that a Linux server reset because the client's first packets were lost (LINUX-22). Full
    /// data packets have no room for all Confirms, so a flow ends whose first Acks meet a full queue. Their number
    /// depends on the exact times of all packets: four bytes less in a Request change it.
    fn run(self) -> Vec<(u64, usize)> {
        let config = Config {
            mtu: self.mtu,
            ..Config::default()
        };
        let is_linux = matches!(self.server, Profile::Linux(_));
        let mut setup = setup(self.ccid, self.server);
        setup.client = Profile::Ours(config).with_ccid(self.ccid);
        setup.there.too_big = TooBig::Silent;
        setup.there.rate = Some(Rate::from_bytes_per_s(self.bytes_per_s));
        setup.there.queue.set_limit(Limit::Packets(self.queue));
        let mut pair = Pair::new(setup);
        pair.listen(App::default());
        for _ in 0..self.flows {
            pair.connect(App::bulk(9000, u64::MAX));
            pair.run_for(ms(37));
        }
        pair.run_for(90 * SECOND);
        let host = pair.world.node(pair.host(End::Client));
        let result = |flow| {
            let holes = host.stats(flow).counters.pmtu_black_holes;
            let Some(snapshot) = host.snapshot(flow) else {
                let reset = pair.report_of(End::Client, flow).reset;
                assert!(is_linux, "flow {flow}: {reset:?}");
                assert_eq!(reset, Some(ResetCode::TOO_BUSY), "flow {flow}");
                return None;
            };
            Some((holes, snapshot.pmtu))
        };
        let results: Vec<_> = (0..self.flows).filter_map(result).collect();
        let reset = self.flows - results.len();
        assert!(reset <= self.flows / 2, "{reset} flows were reset");
        results
    }
}

/// Half of all packets are lost in the queue, and with them probes of the path MTU.
#[test]
fn a_full_queue_is_no_black_hole() {
    // 4340-14.1-3, 4340-14.1-5
    for ccid in [2, 3] {
        for (server, bytes_per_s, queue, flows) in [
            (Profile::ours(), 125_000.0, 10, 8),
            (Profile::linux(), 125_000.0, 10, 8),
            (Profile::linux(), 50_000.0, 5, 6),
        ] {
            let crowd = Crowd {
                ccid,
                server,
                mtu: 1500,
                bytes_per_s,
                queue,
                flows,
            };
            for result in crowd.run() {
                assert_eq!(result, (0, 1500), "CCID {ccid}");
            }
        }
    }
}

/// The interface accepts larger packets than the path, which drops them silently. Losses before that is known must
/// not end the search for the path MTU.
#[test]
fn a_black_hole_on_a_crowded_link_is_found_once_and_measured() {
    // 4340-14.1-5
    for ccid in [2, 3] {
        for_both_peers(|server| {
            let crowd = Crowd {
                ccid,
                server,
                mtu: 9000,
                bytes_per_s: 125_000.0,
                queue: 20,
                flows: 4,
            };
            for (holes, pmtu) in crowd.run() {
                assert_eq!(holes, 1, "CCID {ccid}");
                assert!((1492..=1500).contains(&pmtu), "CCID {ccid}: {pmtu}");
            }
        });
    }
}
