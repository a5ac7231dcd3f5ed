//! Congestion control from end to end: how flows begin, and what losses do to them.

use core::time::Duration;
use dccp_proto::wire::ResetCode;
use dccp_proto::{Config, Rate};
use dccp_sim::link::TooBig;
use dccp_sim::pair::{End, Pair, Profile, Setup, for_both_peers};
use dccp_sim::queue::{Limit, QueueConfig};
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

/// A stack of 2006 sent 300 kbit/s up to packet 65,500 and more behind it. Here the rate is that of the link on both sides
/// of packet 65,536.
#[test]
fn rate_has_no_step_at_packet_65536() {
    for ccid in [2, 3] {
        let setup = setup(ccid, Profile::ours()).links(|link| {
            // 10,000 datagrams of 200 bytes a second, with their headers, and a queue of 200 ms.
            link.rate = Some(Rate::from_bytes_per_s(2.5e6));
            link.queue = QueueConfig::drop_tail(Limit::Packets(2_000));
        });
        let mut pair = Pair::start(setup, App::bulk(200, 1 << 20), App::default());
        pair.run_for(3 * SECOND);
        let mut received = pair.report(End::Server).received;
        let begin = received;
        let mut rates = Vec::new();
        while received < 100_000 {
            pair.run_for(SECOND);
            let now = pair.report(End::Server).received;
            rates.push(now - received);
            received = now;
            assert!(rates.len() < 20, "CCID {ccid}: {rates:?}");
        }
        assert!(begin < 50_000, "CCID {ccid}: {begin}");
        let (least, most) = (rates.iter().min(), rates.iter().max());
        let (least, most) = least.zip(most).unwrap();
        assert!(most - least < most / 10, "CCID {ccid}: {rates:?}");
    }
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
