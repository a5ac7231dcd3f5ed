//! The TCP for comparison between two hosts.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;
use dccp_proto::Rate;
use dccp_proto::number::to_f64;
use dccp_sim::frame::{Content, Frame};
use dccp_sim::loss::Loss;
use dccp_sim::queue::{DropTailConfig, Limit, QueueConfig};
use dccp_sim::rule::{Action, Rule};
use dccp_sim::source::{App, Closing, Message, Source};
use dccp_sim::tcp::Config;
use dccp_sim::{FlowId, FlowSample, Handle, Host, LinkConfig, LinkId, Seed, SimHash, World};

const PORT: u16 = 80;
const SECOND: Duration = Duration::from_secs(1);

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A sender and a receiver, and the bottleneck between them.
struct Net {
    world: World,
    hosts: [Handle<Host>; 2],
    addresses: [IpAddr; 2],
    there: LinkId,
    back: LinkId,
    flow: Option<FlowId>,
}

/// 10 Mbit/s towards the receiver, a round trip of 40 ms, a queue of 100 packets.
fn link() -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::from_bytes_per_s(1_250_000.0)),
        delay: ms(20),
        queue: QueueConfig::drop_tail(Limit::Packets(100)),
        ..LinkConfig::default()
    }
}

impl Net {
    fn new(link: LinkConfig) -> Self {
        let seed = Seed(1);
        let mut world = World::new(seed);
        let addresses = [1, 2].map(|n| IpAddr::from(Ipv4Addr::new(10, 0, 0, n)));
        let hosts = ["a", "b"].into_iter().zip(addresses);
        let hosts: Vec<Handle<Host>> = hosts
            .map(|(name, address)| world.add(name, &[address], Host::new(SimHash::new(seed, name))))
            .collect();
        let reverse = LinkConfig {
            delay: link.delay,
            ..LinkConfig::default()
        };
        let (there, back) = world.connect(hosts[0].id(), hosts[1].id(), link, reverse);
        Self {
            world,
            hosts: [hosts[0], hosts[1]],
            addresses,
            there,
            back,
            flow: None,
        }
    }

    /// Connects, the same settings at both ends.
    fn connect(&mut self, config: Config, app: App) {
        self.world.call(self.hosts[1], |host, _| {
            host.tcp_listen(PORT, config.clone(), App::default());
        });
        self.open(config, app);
    }

    fn open(&mut self, config: Config, app: App) {
        let [local, remote] = self.addresses;
        self.flow = Some(self.world.call(self.hosts[0], |host, context| {
            let local = SocketAddr::new(local, 5000);
            host.tcp_connect(context, local, SocketAddr::new(remote, PORT), config, app)
        }));
    }

    fn sender(&self) -> FlowSample {
        self.world
            .node(self.hosts[0])
            .sample(self.flow.expect("connected"))
    }

    fn receiver(&self) -> FlowSample {
        let host = self.world.node(self.hosts[1]);
        host.sample(host.accepted()[0].0)
    }

    fn is_over(&self) -> bool {
        self.world
            .node(self.hosts[0])
            .is_over(self.flow.expect("connected"))
    }
}

/// The TCP segments with data to drop at the entrance of the bottleneck, counted from 1.
fn lose(net: &mut Net, first: u64, count: u64) {
    let rule = Rule::new(Action::Drop)
        .matching(has_data)
        .from_nth(first, count);
    net.world.add_rule(net.there, rule);
}

fn has_data(frame: &Frame) -> bool {
    matches!(frame.content, Content::Tcp(segment) if segment.len > 0)
}

/// 1000 segments, with some of them lost; the account of the sender at the end.
fn transfer(config: Config, losses: &[(u64, u64)]) -> (FlowSample, Net) {
    let mut net = Net::new(link());
    for &(first, count) in losses {
        lose(&mut net, first, count);
    }
    net.connect(config, App::bulk(1448, 1000));
    net.world.run_for(60 * SECOND);
    assert!(net.is_over());
    assert_eq!(net.receiver().received_bytes, 1_448_000);
    (net.sender(), net)
}

/// A window of at most 64 segments, which this path takes without loss.
fn calm() -> Config {
    Config {
        max_window: Some(64),
        ..Config::default()
    }
}

#[test]
fn a_clean_transfer_delivers_every_byte_once_and_ends() {
    let (sent, net) = transfer(calm(), &[]);
    assert_eq!((sent.sent, sent.sent_bytes), (1000, 1_448_000));
    assert_eq!((sent.delivered, sent.delivered_bytes), (1000, 1_448_000));
    assert_eq!((sent.retransmitted, sent.lost, sent.timeouts), (0, 0, 0));
    assert_eq!((sent.duplicate_acks, sent.loss_events), (0, Some(0)));
    let received = net.receiver();
    assert_eq!((received.received, received.reordered), (1000, 0));
    // 20 ms, and 1.2 ms in the transmitter.
    assert!(received.one_way.unwrap() >= ms(21), "{received:?}");
    assert_eq!(net.world.totals().in_flight, 0);
}

#[test]
fn the_last_segment_may_be_short_and_so_may_all_be() {
    let mut net = Net::new(link());
    net.connect(calm(), App::bulk(10_000, 1));
    net.world.run_for(SECOND);
    assert_eq!(
        (net.sender().sent, net.receiver().received_bytes),
        (7, 10_000)
    );

    let mut net = Net::new(link());
    let script = (0..5).map(|n| (ms(100 * n), Message::Zeros(300)));
    let app = App {
        source: Source::Script(script.collect()),
        closing: Closing::WhenSent,
        ..App::default()
    };
    net.connect(calm(), app);
    net.world.run_for(SECOND);
    assert_eq!(
        (net.sender().sent, net.receiver().received_bytes),
        (5, 1500)
    );
    assert!(net.is_over());
}

#[test]
fn a_lost_segment_is_sent_again_once_and_halves_the_window() {
    let (sent, _) = transfer(calm(), &[(200, 1)]);
    assert_eq!((sent.lost, sent.retransmitted, sent.timeouts), (1, 1, 0));
    assert_eq!(sent.loss_events, Some(1));
    assert!(sent.duplicate_acks >= 3, "{sent:?}");
}

#[test]
fn a_burst_of_losses_is_recovered_in_one_round_without_a_timeout() {
    let (sent, _) = transfer(calm(), &[(200, 20)]);
    assert_eq!((sent.lost, sent.retransmitted, sent.timeouts), (20, 20, 0));
    assert_eq!(sent.loss_events, Some(1));
}

#[test]
fn losses_in_two_windows_are_two_events() {
    let (sent, _) = transfer(calm(), &[(200, 1), (400, 1)]);
    assert_eq!((sent.lost, sent.retransmitted), (2, 2));
    assert_eq!((sent.loss_events, sent.timeouts), (Some(2), 0));
}

#[test]
fn a_lost_retransmission_is_noticed_by_the_timeout() {
    // RFC 6675 §5.1: the second time the same segment passes, it is lost again.
    let mut net = Net::new(link());
    let is_first =
        |frame: &Frame| matches!(frame.content, Content::Tcp(s) if s.seq == 1 + 1448 * 199);
    let rule = Rule::new(Action::Drop).matching(is_first).from_nth(1, 2);
    net.world.add_rule(net.there, rule);
    net.connect(calm(), App::bulk(1448, 1000));
    net.world.run_for(60 * SECOND);
    let sent = net.sender();
    assert_eq!(sent.timeouts, 1);
    assert_eq!(net.receiver().received_bytes, 1_448_000);
    assert!(net.is_over());
}

#[test]
fn a_silent_path_is_tried_again_less_and_less_often() {
    let mut net = Net::new(link());
    net.connect(calm(), App::bulk(1448, 1000));
    net.world.run_for(ms(500));
    lose(&mut net, 1, u64::MAX);
    net.world.run_for(20 * SECOND);
    // RTO 200 ms and more, doubled each time: after 0.2, 0.6, 1.4, 3, 6.2, 12.6 s.
    let sent = net.sender();
    assert_eq!(sent.timeouts, 6, "{sent:?}");
    assert_eq!(sent.cc.cwnd_packets, Some(1.0));
    net.world.clear_rules(net.there);
    net.world.run_for(60 * SECOND);
    assert_eq!(net.receiver().received_bytes, 1_448_000);
    assert!(net.is_over());
}

#[test]
fn the_last_segments_are_rescued_without_a_timeout() {
    // RFC 6675 §5, rule 4: the last segment is lost too, so nothing after it can show that.
    let (sent, _) = transfer(calm(), &[(990, 1), (1000, 1)]);
    assert_eq!((sent.timeouts, sent.retransmitted), (0, 2));
}

#[test]
fn a_lost_syn_and_a_lost_answer_are_repeated() {
    let is_syn = |frame: &Frame| matches!(frame.content, Content::Tcp(s) if s.is_syn());
    for (way, begins) in [(0, 1040), (1, 1040)] {
        let mut net = Net::new(link());
        let link = if way == 0 { net.there } else { net.back };
        net.world
            .add_rule(link, Rule::new(Action::Drop).matching(is_syn).nth(1));
        net.connect(calm(), App::bulk(1448, 10));
        net.world.run_for(ms(begins));
        assert_eq!(net.sender().sent, 0);
        net.world.run_for(ms(10));
        assert_eq!(net.sender().sent, 10, "{way}");
        net.world.run_for(SECOND);
        assert!(net.is_over());
    }
}

#[test]
fn a_connection_without_answers_fails() {
    let mut net = Net::new(link());
    lose_all(&mut net);
    net.connect(calm(), App::bulk(1448, 10));
    // SYNs at 0, 1, 3, 7, 15, 31 s; given up at 63 s.
    net.world.run_for(62 * SECOND);
    assert!(!net.is_over());
    net.world.run_for(2 * SECOND);
    assert!(net.is_over());
    assert_eq!(net.world.lost_by_rule(net.there), 6);
}

fn lose_all(net: &mut Net) {
    net.world.add_rule(net.there, Rule::new(Action::Drop));
}

#[test]
fn a_receive_window_gives_one_window_per_round_trip() {
    let config = Config {
        receive_window: 20 * 1448,
        ..Config::default()
    };
    let mut net = Net::new(LinkConfig {
        rate: None,
        ..link()
    });
    net.connect(config.clone(), App::bulk(1448, u64::MAX));
    net.world.run_for(10 * SECOND);
    let round_trips = 10_000.0 / 40.0;
    let windows = to_f64(net.receiver().received_bytes) / (20.0 * 1448.0);
    assert!((windows / round_trips - 1.0).abs() < 0.02, "{windows}");
    // Within a round trip after it was full last, slow start still grows the window.
    let cwnd = net.sender().cc.cwnd_packets.unwrap();
    assert!(cwnd <= 60.0, "{cwnd}");
}

#[test]
fn a_largest_congestion_window_does_the_same() {
    let config = Config {
        max_window: Some(20),
        ..Config::default()
    };
    let mut net = Net::new(LinkConfig {
        rate: None,
        ..link()
    });
    net.connect(config.clone(), App::bulk(1448, u64::MAX));
    net.world.run_for(10 * SECOND);
    let windows = to_f64(net.receiver().received_bytes) / (20.0 * 1448.0);
    assert!((windows / 250.0 - 1.0).abs() < 0.02, "{windows}");
    assert_eq!(net.sender().cc.cwnd_packets, Some(20.0));
}

#[test]
fn acknowledgements_are_delayed_as_the_settings_say() {
    for (ack_every, acks) in [(1, 1000), (2, 500), (4, 250)] {
        let config = Config {
            ack_every,
            ..calm()
        };
        let (_, net) = transfer(config, &[]);
        let back = net.world.link(net.back).stats().delivered;
        // SYN-ACK, FIN, and the timer at the end of bursts.
        let range = acks..=acks + acks / 20 + 5;
        assert!(range.contains(&back), "{ack_every}: {back}");
    }
}

#[test]
fn a_single_segment_is_acknowledged_after_the_delay() {
    let mut net = Net::new(LinkConfig {
        rate: None,
        ..link()
    });
    let app = App {
        source: Source::Script(vec![(ms(0), Message::Zeros(100))]),
        ..App::default()
    };
    net.connect(calm(), app);
    // 40 ms for the handshake, 20 ms there, 40 ms of delay, 20 ms back.
    net.world.run_for(ms(119));
    assert_eq!(net.sender().delivered, 0);
    net.world.run_for(ms(2));
    assert_eq!(net.sender().delivered, 1);
    assert_eq!(net.sender().rtt, Some(ms(80)));
}

#[test]
fn marks_reduce_the_window_once_per_round_trip_and_nothing_is_lost() {
    // RFC 3168 §6.1
    let mut config = Config {
        ecn: true,
        ..Config::default()
    };
    let mut marking = link();
    marking.queue = QueueConfig::DropTail(DropTailConfig {
        limit: Limit::Packets(100),
        mark_at: Some(Limit::Packets(20)),
    });
    let mut net = Net::new(marking.clone());
    net.connect(config.clone(), App::bulk(1448, u64::MAX));
    net.world.run_for(20 * SECOND);
    let (sent, received) = (net.sender(), net.receiver());
    assert_eq!((sent.lost, sent.retransmitted), (0, 0));
    assert!(sent.marked > 10, "{sent:?}");
    assert_eq!(Some(sent.marked), sent.loss_events);
    assert!(received.received_marked >= sent.marked);
    assert!(net.world.link(net.there).stats().queue_packets_max < 100);

    config.ecn = false;
    let mut net = Net::new(marking);
    net.connect(config.clone(), App::bulk(1448, u64::MAX));
    net.world.run_for(20 * SECOND);
    assert_eq!(net.receiver().received_marked, 0);
    assert!(net.sender().lost > 0);
}

#[test]
fn without_timestamps_segments_are_shorter_and_nothing_else_changes() {
    let config = Config {
        timestamps: false,
        ..calm()
    };
    let (sent, net) = transfer(config, &[(200, 3)]);
    assert_eq!((sent.retransmitted, sent.timeouts), (3, 0));
    assert_eq!(net.receiver().one_way, None);
    let longest = 20 + 20 + 1448;
    let stats = net.world.link(net.there).stats();
    assert!(stats.delivered_bytes <= stats.delivered * longest);
}

#[test]
fn what_comes_is_sent_back_and_both_ends_close() {
    let mut net = Net::new(link());
    net.world.call(net.hosts[1], |host, _| {
        host.tcp_listen(PORT, calm(), App::echo());
    });
    net.open(calm(), App::bulk(1000, 200));
    net.world.run_for(10 * SECOND);
    assert_eq!(net.sender().received_bytes, 200_000);
    assert_eq!(net.receiver().sent_bytes, 200_000);
    assert!(net.is_over());
}

#[test]
fn pacing_spreads_the_first_window_over_the_round_trip() {
    let queue = |is_paced| {
        let config = Config {
            is_paced,
            ..Config::default()
        };
        let mut net = Net::new(link());
        net.connect(config, App::bulk(1448, 10));
        net.world.run_for(5 * SECOND);
        assert!(net.is_over());
        net.world.link(net.there).stats().queue_packets_max
    };
    assert_eq!((queue(false), queue(true)), (9, 0));
}

#[test]
fn the_first_window_leaves_at_once() {
    let mut net = Net::new(link());
    net.connect(Config::default(), App::bulk(1448, 100));
    net.world.run_for(ms(41));
    assert_eq!(net.sender().sent, 10);
}

#[test]
fn a_recovery_reads_as_the_rfc_has_it() {
    let mut net = Net::new(link());
    lose(&mut net, 5, 2);
    let config = Config {
        timestamps: false,
        mss: 1000,
        ..Config::default()
    };
    net.world.start_trace();
    net.connect(config, App::bulk(1000, 14));
    net.world.run_for(SECOND);
    let trace = net.world.trace();
    assert!(trace == include_str!("tcp/recovery.txt"), "{trace}");
}

#[test]
fn a_million_segments_pass_the_wrap_of_sequence_numbers() {
    // 3 million segments of 1448 bytes are more than 2^32 bytes.
    let mut net = Net::new(LinkConfig {
        rate: Some(Rate::from_bytes_per_s(125_000_000.0)),
        delay: ms(2),
        ..link()
    });
    lose(&mut net, 2_966_000, 3);
    net.connect(Config::default(), App::bulk(1448, 3_000_000));
    net.world.run_for(60 * SECOND);
    assert!(net.is_over());
    assert_eq!(net.receiver().received_bytes, 3_000_000 * 1448);
    assert_eq!(net.sender().timeouts, 0);
}

#[test]
fn a_segment_of_a_stranger_is_lost() {
    let mut net = Net::new(link());
    let edit = |frame: &mut Frame| {
        if let Content::Tcp(segment) = &mut frame.content {
            segment.source_port = 9;
        }
    };
    net.world
        .add_rule(net.there, Rule::edit(edit).from_nth(5, 1));
    net.connect(Config::default(), App::bulk(1000, 100));
    net.world.run_for(5 * SECOND);
    assert_eq!(net.world.totals().lost.of(Loss::Stranger), 1);
}
