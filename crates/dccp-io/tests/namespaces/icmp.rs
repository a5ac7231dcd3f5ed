//! ICMP errors that a router would send, forged on the loopback.

use core::time::Duration;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::Command;

use dccp_io::{Options, Poller, RecvBuffer, Token, route};
use dccp_proto::path::{Encap, Path};
use dccp_proto::{IcmpError, IcmpKind};
use socket2::{Domain, Protocol, Socket, Type};

use crate::support::{PATIENCE, both, datagram, internet_sum, is_inside};

const MTU: u16 = 1400;

/// A packet as a router quotes it: IP header, UDP header if there is one, DCCP's first 16 bytes.
fn quote(path: &Path) -> Vec<u8> {
    let (protocol, udp) = match path.encap {
        Encap::Ip => (33, Vec::new()),
        Encap::Udp {
            local_port,
            remote_port,
        } => {
            let ports = [local_port.to_be_bytes(), remote_port.to_be_bytes()].concat();
            (17, [ports, vec![0, 24, 0, 0]].concat())
        }
    };
    let header = match (path.local, path.remote) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            let fixed = [0x45, 0, 0, 44, 0, 0, 0x40, 0, 64, protocol, 0, 0];
            [&fixed[..], &a.octets(), &b.octets()].concat()
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => {
            let fixed = [0x60, 0, 0, 0, 0, 24, protocol, 64];
            [&fixed[..], &a.octets(), &b.octets()].concat()
        }
        _ => panic!("two families"),
    };
    [header, udp, datagram(9, 0xd, 16)].concat()
}

/// Sends "too big" about a packet on `path` to its source.
fn forge(path: &Path) {
    let [high, low] = MTU.to_be_bytes();
    let (protocol, mut message) = if path.local.is_ipv4() {
        (1, [vec![3, 4, 0, 0, 0, 0, high, low], quote(path)].concat())
    } else {
        (
            58,
            [vec![2, 0, 0, 0, 0, 0, high, low], quote(path)].concat(),
        )
    };
    // For ICMPv6 the kernel makes the checksum.
    if path.local.is_ipv4() {
        let checksum = internet_sum(&message);
        message[2..4].copy_from_slice(&checksum.to_be_bytes());
    }
    let to = SocketAddr::new(path.local, 0);
    let kind = (
        Domain::for_address(to),
        Type::RAW,
        Some(Protocol::from(protocol)),
    );
    let socket = Socket::new(kind.0, kind.1, kind.2).unwrap();
    socket.send_to(&message, &to.into()).unwrap();
}

/// 4340-14.1-2, 6773-3.6-1
#[test]
fn too_big_is_reported_with_mtu_path_and_quote() {
    if !is_inside("icmp::too_big_is_reported_with_mtu_path_and_quote", "") {
        return;
    }
    let localhosts: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    for ip in localhosts {
        for (mut transport, path) in both(ip, ip, &Options::default()) {
            let mut poller = Poller::new(Duration::ZERO).unwrap();
            poller.add(transport.source(), Token(0)).unwrap();
            forge(&path);
            let mut ready = Vec::new();
            poller.wait(Some(PATIENCE), &mut ready).unwrap();
            assert!(ready[0].error, "{path:?}");
            let mut reports = Vec::new();
            let mut sink = |r: IcmpError<'_>| reports.push((r.path, r.quoted.to_vec(), r.kind));
            let mut buffer = RecvBuffer::new();
            assert_eq!(transport.recv_errors(&mut buffer, &mut sink).unwrap(), 1);
            let kind = IcmpKind::TooBig { mtu: MTU.into() };
            assert_eq!(reports, [(path, datagram(9, 0xd, 16), kind)]);
            assert_eq!(transport.counters().icmp, 1);
        }
    }
}

/// 4340-14.1-7: goal: no ICMP message changes the MTU with which connections begin. Method: a forged "too big" fills the
/// kernel's cache, which the socket option shows, and the route keeps the interface's MTU.
#[test]
fn forged_too_big_does_not_change_the_mtu_of_the_route() {
    let setup = "ip link add v0 type veth peer name v1
        ip link set v1 up
        ip link set v0 mtu 1480 up
        ip address add 10.9.9.1/24 dev v0
        ip address add fd00:9::1/64 dev v0 nodad
        ip neigh add 10.9.9.9 lladdr 02:00:00:00:00:09 dev v0
        ip neigh add fd00:9::9 lladdr 02:00:00:00:00:09 dev v0
        ip route add 10.8.0.0/16 via 10.9.9.9 mtu 900";
    if !is_inside(
        "icmp::forged_too_big_does_not_change_the_mtu_of_the_route",
        setup,
    ) {
        return;
    }
    let ways: [(IpAddr, IpAddr); 2] = [
        ([10, 9, 9, 1].into(), [10, 9, 9, 9].into()),
        ("fd00:9::1".parse().unwrap(), "fd00:9::9".parse().unwrap()),
    ];
    for (local, remote) in ways {
        for (_transport, path) in both(local, remote, &Options::default()) {
            forge(&path);
        }
        assert_eq!(cached_mtu(remote), u32::from(MTU), "the kernel believes it");
        assert_eq!(route::to(remote).unwrap().mtu, Some(1480));
    }
    // The MTU that an administrator gave to a route holds.
    assert_eq!(route::to([10, 8, 0, 1].into()).unwrap().mtu, Some(900));
}

/// The MTU of the path in the kernel's cache.
fn cached_mtu(remote: IpAddr) -> u32 {
    let output = Command::new("ip")
        .args(["route", "get", &remote.to_string()])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut words = text.split_whitespace();
    words.find(|word| *word == "mtu");
    words.next().and_then(|mtu| mtu.parse().ok()).unwrap_or(0)
}
