use super::*;
use crate::LinkId;
use crate::link::LinkConfig;
use crate::loss::FaultConfig;
use crate::random::Seed;
use crate::rule::{Action, Rule};
use crate::source::{Closing, Message, Source};
use crate::tap::Tap;
use crate::world::{Handle, World};
use core::net::{IpAddr, Ipv4Addr};
use dccp_proto::path::Encap;
use dccp_proto::wire::{FeatureOpt, Opt};

const SERVICE: ServiceCode = ServiceCode(42);

struct Pair {
    world: World,
    client: Handle<LinuxHost>,
    server: Handle<LinuxHost>,
    links: (LinkId, LinkId),
}

fn address(n: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, n).into()
}

fn flow() -> Flow {
    Flow {
        path: Path {
            local: address(1),
            remote: address(2),
            encap: Encap::Ip,
        },
        local_port: 40_000,
        remote_port: 5001,
    }
}

/// Two Linux hosts, 20 ms apart, as in the captures.
fn pair(client: LinuxConfig, server: LinuxConfig, faults: FaultConfig) -> Pair {
    let mut world = World::new(Seed(1));
    let client = world.add("client", &[address(1)], LinuxHost::new(client));
    let server = world.add("server", &[address(2)], LinuxHost::new(server));
    let link = LinkConfig {
        delay: Duration::from_millis(20),
        faults,
        ..LinkConfig::default()
    };
    let links = world.connect(client.id(), server.id(), link.clone(), link);
    world.start_trace();
    Pair {
        world,
        client,
        server,
        links,
    }
}

impl Pair {
    fn start(&mut self, client: App, server: App) {
        self.world
            .call(self.server, |host, _| host.listen(5001, SERVICE, server));
        self.world.call(self.client, |host, context| {
            host.connect(context, flow(), SERVICE, client)
        });
    }

    fn run(&mut self, seconds: u64) {
        self.world.run_for(Duration::from_secs(seconds));
        self.world.check();
    }

    fn reports(&self) -> (&Report, &Report) {
        let server = self.world.node(self.server);
        (self.world.node(self.client).report(0), server.report(0))
    }

    fn reports_of_client(&self) -> &Report {
        self.world.node(self.client).report(0)
    }

    /// The last lines of the trace, their times and Acks left out.
    fn last_lines(&self, n: usize) -> Vec<String> {
        let mut lines = self.first_lines(usize::MAX);
        lines.retain(|l| !l.contains(" Ack "));
        lines.split_off(lines.len() - n)
    }

    /// The first lines of the trace, their times left out.
    fn first_lines(&self, n: usize) -> Vec<String> {
        let trace = self.world.trace();
        let lines = trace.lines().take(n);
        lines
            .map(|l| l.trim_start().split_once(' ').unwrap().1.to_owned())
            .collect()
    }
}

fn cell(ccid: u8) -> Pair {
    let config = LinuxConfig::with_ccid(ccid);
    pair(config.clone(), config, FaultConfig::default())
}

#[test]
fn data_and_echoes_pass_with_each_ccid() {
    for ccid in [2, 3] {
        let mut pair = cell(ccid);
        let script = (0..100).map(|n| (Duration::from_millis(10 * n), Message::Zeros(100)));
        let source = Source::Script(script.collect());
        pair.start(
            App {
                source,
                ..App::default()
            },
            App::echo(),
        );
        pair.run(5);
        let (client, server) = pair.reports();
        // LINUX-10: CCID 2 may leave the last one unacknowledged, but never undelivered.
        assert_eq!((client.sent, server.received), (100, 100), "CCID {ccid}");
        assert_eq!((server.sent, client.received), (100, 100), "CCID {ccid}");
        assert_eq!(server.received_bytes, 10_000);
    }
}

#[test]
fn closing_drops_what_is_in_the_send_queue() {
    // With CCID 3 the rate limits, so that the queue is full at the end.
    let mut pair = cell(3);
    pair.start(App::bulk(100, 800), App::default());
    pair.run(10);
    let (client, server) = pair.reports();
    assert_eq!((client.sent, client.unsent), (795, 5));
    assert_eq!(server.received, 795);
    assert!(client.is_over && server.is_over);
    let packets: Vec<String> = pair.last_lines(2);
    assert!(packets[0].contains("client>server Close 7"), "{packets:?}");
    assert!(packets[1].contains("code 1 Closed"), "{packets:?}");
}

#[test]
fn a_lossy_path_slows_the_flow_and_loses_no_count() {
    for ccid in [2, 3] {
        let config = LinuxConfig::with_ccid(ccid);
        let faults = FaultConfig {
            loss: 0.01,
            ..FaultConfig::default()
        };
        let mut pair = pair(config.clone(), config, faults);
        pair.start(App::bulk(100, 2000), App::default());
        pair.run(120);
        let (client, server) = pair.reports();
        assert_eq!(client.sent + client.unsent, 2000, "CCID {ccid}");
        let lost = client.sent - server.received;
        assert!((5..40).contains(&lost), "CCID {ccid}: {lost} lost");
        assert!(client.is_over && server.is_over, "CCID {ccid}");
        let took = server.last_received.unwrap() - server.opened.unwrap();
        let took = took.as_secs_f64();
        // 1 % of loss at 40 ms: about 1.2 / sqrt(0.01) = 12 packets each round trip.
        assert!((2.0..20.0).contains(&took), "CCID {ccid}: {took} s");
    }
}

#[test]
fn requests_are_repeated_after_3_9_and_21_seconds() {
    let mut pair = cell(2);
    let drop = || Rule::new(Action::Drop);
    pair.world.add_rule(pair.links.0, drop());
    pair.start(App::default(), App::default());
    pair.run(25);
    let times: Vec<String> = pair
        .world
        .trace()
        .lines()
        .map(|l| l[..10].trim().to_owned())
        .collect();
    assert_eq!(times, ["0.000", "3000.000", "9000.000", "21000.000"]);
}

#[test]
fn refusals_are_those_of_the_kernel() {
    // LINUX-1 and LINUX-6, as in the capture "refused".
    let refused = |port, service, server: LinuxConfig| {
        let mut pair = pair(LinuxConfig::with_ccid(3), server, FaultConfig::default());
        let call = |host: &mut LinuxHost, _: &mut Context<'_>| {
            host.listen(port, service, App::default());
        };
        pair.world.call(pair.server, call);
        pair.world.call(pair.client, |host, context| {
            host.connect(context, flow(), SERVICE, App::default())
        });
        pair.run(1);
        assert!(pair.reports_of_client().is_over);
        pair.first_lines(2)[1].clone()
    };
    let three = LinuxConfig::with_ccid(3);
    assert_eq!(
        refused(1, SERVICE, three.clone()),
        "server>client Reset 0 ack 0 code 3 No Connection  (20.000)"
    );
    assert_eq!(
        refused(5001, ServiceCode(1), three),
        "server>client Reset 0 ack 0 code 8 Bad Service Code  (20.000)"
    );
    assert_eq!(
        refused(5001, SERVICE, LinuxConfig::with_ccid(2)),
        "server>client Reset 0 ack 0 code 5 Option Error [34, 6, 0]  (20.000)"
    );
}

#[test]
fn a_server_closes_with_a_close_request() {
    let mut pair = cell(2);
    pair.start(App::default(), App::bulk(100, 20));
    pair.run(5);
    let kinds: Vec<String> = pair
        .last_lines(3)
        .iter()
        .map(|l| l.split(' ').take(2).collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        kinds,
        [
            "server>client CloseReq",
            "client>server Close",
            "server>client Reset"
        ]
    );
    let (client, server) = pair.reports();
    assert_eq!(client.reset, Some(ResetCode::CLOSED));
    assert_eq!(server.reset, Some(ResetCode::CLOSED));
}

#[test]
fn what_arrives_after_an_abort_finds_no_connection() {
    let mut pair = cell(2);
    let endless = App {
        closing: Closing::Never,
        ..App::bulk(100, u64::MAX)
    };
    pair.start(endless, App::default());
    pair.world.run_for(Duration::from_millis(500));
    pair.world
        .call(pair.client, |host, context| host.abort(context, 0));
    pair.run(1);
    let (client, server) = pair.reports();
    assert_eq!(client.reset, Some(ResetCode::ABORTED));
    assert_eq!(server.reset, Some(ResetCode::ABORTED));
    let trace = pair.world.trace();
    assert_eq!(trace.matches("code 2 Aborted").count(), 1);
    assert!(trace.contains("code 3 No Connection"));
}

#[test]
fn a_lost_handshake_packet_is_repeated() {
    for lost in [PacketType::Request, PacketType::Response, PacketType::Ack] {
        let mut pair = cell(2);
        for link in [pair.links.0, pair.links.1] {
            let rule = Rule::new(Action::Drop).of_type(lost).nth(1);
            pair.world.add_rule(link, rule);
        }
        pair.start(App::bulk(100, 20), App::default());
        pair.run(20);
        let (client, server) = pair.reports();
        assert_eq!((client.sent, server.received), (15, 15), "{lost:?}");
    }
}

/// A server, and a node that sends what it likes.
fn against_a_tap() -> (World, Handle<Tap>, Handle<LinuxHost>) {
    let mut world = World::new(Seed(1));
    let tap = world.add("tap", &[address(1)], Tap::default());
    let config = LinuxConfig::with_ccid(2);
    let server = world.add("server", &[address(2)], LinuxHost::new(config));
    world.connect(
        tap.id(),
        server.id(),
        LinkConfig::default(),
        LinkConfig::default(),
    );
    world.call(server, |host, _| host.listen(5001, SERVICE, App::default()));
    (world, tap, server)
}

/// Sends one packet to the server, and returns the last of its answers.
fn exchange(
    world: &mut World,
    tap: Handle<Tap>,
    seq: u64,
    kind: Kind,
    options: &[u8],
) -> Option<(Kind, Vec<u8>)> {
    let packet = Packet {
        source_port: 40_000,
        dest_port: 5001,
        ccval: 0,
        cscov: 0,
        is_short: false,
        seq: Seq::new(seq),
        kind,
        options: Options(options),
        payload: Payload::EMPTY,
    };
    let before = world.node(tap).received.len();
    world.call(tap, |tap, context| tap.send(context, flow().path, &packet));
    world.run_for(Duration::from_millis(1));
    let frame = &world.node(tap).received.get(before..)?.last()?.1;
    let answer = Tap::packet(frame);
    Some((answer.kind, answer.options.0.to_vec()))
}

fn open(world: &mut World, tap: Handle<Tap>) -> Seq {
    let request = Kind::Request { service: SERVICE };
    let timestamp = [41, 6, 0, 0, 0, 1, 0, 0];
    exchange(world, tap, 100, request, &timestamp).unwrap();
    let response = Tap::packet(&world.node(tap).received[0].1);
    let (seq, confirms) = (response.seq, confirms_for(&response));
    let ack = Kind::Ack { ack: seq };
    assert_eq!(exchange(world, tap, 101, ack, &confirms), None);
    seq
}

/// Confirms of the first value of each Change.
fn confirms_for(packet: &Packet<'_>) -> Vec<u8> {
    let mut confirms = Vec::new();
    for option in packet.options {
        let (kind, FeatureOpt { feature, values }) = match option {
            Opt::ChangeL(change) => (35, change),
            Opt::ChangeR(change) => (33, change),
            _ => continue,
        };
        let is_number = matches!(feature, 3 | 5);
        let values = if is_number { values } else { &values[..1] };
        let len = u8::try_from(3 + values.len()).expect("a short option");
        confirms.extend([kind, len, feature]);
        confirms.extend(values);
    }
    confirms
}

#[test]
fn without_the_confirms_no_connection_opens() {
    // LINUX-22
    let (mut world, tap, _) = against_a_tap();
    let request = Kind::Request { service: SERVICE };
    exchange(&mut world, tap, 100, request, &[]).unwrap();
    let ack = Tap::packet(&world.node(tap).received[0].1).seq;
    let (kind, _) = exchange(&mut world, tap, 101, Kind::Ack { ack }, &[]).unwrap();
    assert!(matches!(kind, Kind::Reset { code, .. } if code == ResetCode::TOO_BUSY));
}

#[test]
fn preferences_are_not_negotiated_any_more_while_open() {
    // LINUX-4: a Change of a preference gets no Confirm, one of a number does.
    let (mut world, tap, server) = against_a_tap();
    let ack = open(&mut world, tap);
    let change_ecn = [32, 4, 4, 0];
    assert_eq!(
        exchange(&mut world, tap, 102, Kind::Ack { ack }, &change_ecn),
        None
    );
    let change_window = [32, 9, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0];
    exchange(&mut world, tap, 103, Kind::Ack { ack }, &change_window);
    let (kind, options) = exchange(&mut world, tap, 104, Kind::Sync { ack }, &[]).unwrap();
    assert!(matches!(kind, Kind::SyncAck { .. }));
    assert!(
        options
            .windows(9)
            .any(|w| w == [35, 9, 3, 0, 0, 0, 0, 1, 0]),
        "{options:?}"
    );
    assert!(!world.node(server).report(0).is_over);
}

#[test]
fn a_known_option_of_a_wrong_length_resets() {
    // LINUX-3, and LINUX-2: an unknown option after Mandatory does not.
    let (mut world, tap, _) = against_a_tap();
    let ack = open(&mut world, tap);
    assert_eq!(
        exchange(&mut world, tap, 102, Kind::Ack { ack }, &[1, 99, 3, 0]),
        None
    );
    let answer = exchange(&mut world, tap, 103, Kind::Ack { ack }, &[43, 3, 7, 0]);
    let Some((Kind::Reset { code, data, .. }, _)) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!((code, data), (ResetCode::OPTION_ERROR, [43, 7, 0]));
}

#[test]
fn a_second_sync_waits_an_eighth_of_a_second() {
    let (mut world, tap, _) = against_a_tap();
    let ack = open(&mut world, tap);
    let far = 100_000;
    let is_sync = |answer: Option<(Kind, Vec<u8>)>| matches!(answer, Some((Kind::Sync { .. }, _)));
    assert!(is_sync(exchange(
        &mut world,
        tap,
        far,
        Kind::Ack { ack },
        &[]
    )));
    assert!(!is_sync(exchange(
        &mut world,
        tap,
        far,
        Kind::Ack { ack },
        &[]
    )));
    world.run_for(Duration::from_millis(122));
    assert!(!is_sync(exchange(
        &mut world,
        tap,
        far,
        Kind::Ack { ack },
        &[]
    )));
    world.run_for(Duration::from_millis(1));
    assert!(is_sync(exchange(
        &mut world,
        tap,
        far,
        Kind::Ack { ack },
        &[]
    )));
}
