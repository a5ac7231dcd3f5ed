//! The Linux profile beside the Linux kernel: the packets of a handshake that our model sends are
//! those of the captures, byte for byte but for times and numbers.

#[path = "../../../dccp-proto/tests/captures/pcap.rs"]
mod captures;

use core::net::{IpAddr, Ipv4Addr};
use core::time::Duration;
use dccp_proto::path::{Encap, Flow, Path};
use dccp_proto::wire::{ChecksumRule, Datagram, Kind, Opt, PacketType, ServiceCode, parse};
use dccp_sim::linux::{LinuxConfig, LinuxHost};
use dccp_sim::source::App;
use dccp_sim::{Frame, LinkConfig, Seed, World};
use std::cell::RefCell;
use std::rc::Rc;

/// The comparable parts of a packet: its type, and its options without clock values.
#[derive(PartialEq, Eq, Debug)]
struct Shape {
    packet_type: PacketType,
    data_offset: u8,
    options: Vec<String>,
}

fn shape(bytes: &[u8]) -> Shape {
    let packet = parse(&Datagram::new(bytes), ChecksumRule::Udp).expect("a packet");
    let options = packet.options.iter().map(|option| match option {
        Opt::Timestamp(_) => "Timestamp".to_owned(),
        Opt::TimestampEcho { .. } => "Timestamp Echo".to_owned(),
        other => format!("{other:?}"),
    });
    Shape {
        packet_type: packet.packet_type(),
        data_offset: bytes[4],
        options: options.collect(),
    }
}

fn capture(name: &str) -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../dccp-proto/tests/captures");
    let path = std::path::Path::new(folder).join(name);
    let packets = captures::read(&path);
    assert_ne!(packets[0].source, packets[1].source, "an answer follows");
    assert_eq!(packets[0].source, packets[1].destination);
    packets.into_iter().map(|p| p.dccp).collect()
}

/// The datagrams that two Linux hosts exchange in their handshake, seen on the way.
fn handshake(client: LinuxConfig, server: LinuxConfig, service: ServiceCode) -> Vec<Vec<u8>> {
    let address = |n| IpAddr::V4(Ipv4Addr::new(192, 0, 2, n));
    let mut world = World::new(Seed(1));
    // A host far from its origin: a Timestamp of zero would be echoed without an elapsed time.
    world.run_for(Duration::from_secs(1));
    let client = world.add("client", &[address(1)], LinuxHost::new(client));
    let server = world.add("server", &[address(2)], LinuxHost::new(server));
    let link = LinkConfig {
        delay: Duration::from_millis(20),
        ..LinkConfig::default()
    };
    let (there, back) = world.connect(client.id(), server.id(), link.clone(), link);
    let seen = Rc::new(RefCell::new(Vec::new()));
    for link in [there, back] {
        let seen = seen.clone();
        let look = move |frame: &mut Frame| seen.borrow_mut().push(frame.bytes.clone());
        world.add_rule(link, dccp_sim::rule::Rule::edit(look));
    }
    world.call(server, |host, _| {
        host.listen(5001, service, App::default());
    });
    let flow = Flow {
        path: Path {
            local: address(1),
            remote: address(2),
            encap: Encap::Ip,
        },
        local_port: 40_000,
        remote_port: 5001,
    };
    world.call(client, |host, context| {
        host.connect(context, flow, service, App::default())
    });
    world.run_for(Duration::from_secs(1));
    seen.take()
}

fn service_of(request: &[u8]) -> ServiceCode {
    match parse(&Datagram::new(request), ChecksumRule::Udp).map(|p| p.kind) {
        Ok(Kind::Request { service }) => service,
        other => panic!("no Request: {other:?}"),
    }
}

fn assert_same_handshake(name: &str, client: LinuxConfig, server: LinuxConfig) {
    let theirs = capture(name);
    let ours = handshake(client, server, service_of(&theirs[0]));
    assert_eq!(ours.len(), 3, "Request, Response, Ack");
    for (ours, theirs) in ours.iter().zip(&theirs) {
        // The kernel's hosts take longer than no time at all to answer, so their Timestamp Echo has
        // two bytes of elapsed time more.
        let (mut ours, mut theirs) = (shape(ours), shape(theirs));
        let has_echo = ours.options.iter().any(|o| o == "Timestamp Echo");
        for shape in [&mut ours, &mut theirs] {
            shape.options.retain(|o| o != "Padding");
            if has_echo {
                shape.data_offset = 0;
            }
        }
        assert_eq!(ours, theirs, "{name}");
    }
}

#[test]
fn the_handshake_of_ccid_2_is_the_kernels() {
    let config = LinuxConfig::with_ccid(2);
    assert_same_handshake("ccid2-v4.pcap", config.clone(), config);
}

#[test]
fn the_handshake_of_ccid_3_is_the_kernels() {
    let config = LinuxConfig {
        seq_window: 100,
        ..LinuxConfig::with_ccid(3)
    };
    assert_same_handshake("ccid3-v4.pcap", config.clone(), config);
    let config = LinuxConfig::with_ccid(3);
    assert_same_handshake("ccid3-v4-loss1.pcap", config.clone(), config);
}

#[test]
fn the_handshake_of_mixed_ccids_is_the_kernels() {
    let client = LinuxConfig {
        tx_ccids: vec![3],
        rx_ccids: vec![2],
        ..LinuxConfig::default()
    };
    let server = LinuxConfig {
        tx_ccids: vec![2],
        rx_ccids: vec![3],
        ..LinuxConfig::default()
    };
    assert_same_handshake("mixed-ccid-v4.pcap", client, server);
}

#[test]
fn the_handshake_without_settings_is_the_kernels() {
    let config = LinuxConfig::default();
    assert_same_handshake("closing-v4.pcap", config.clone(), config);
}

#[test]
fn the_padding_stands_in_front_of_the_options() {
    let config = LinuxConfig::with_ccid(2);
    let ours = &handshake(config.clone(), config, ServiceCode(1))[0];
    let theirs = &capture("ccid2-v4.pcap")[0];
    // Header, Service Code, padding, and the type and length of the first option.
    let options = 20..24;
    assert_eq!(ours[4], theirs[4]);
    assert_eq!(ours[options.clone()], [0, 0, 41, 6]);
    assert_eq!(theirs[options], [0, 0, 41, 6]);
}
