//! DCCP over IP on the loopback.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::Command;

use dccp_io::{Carrier, Encapsulation, Host, OpenError, Options, Raw, Transport};
use dccp_proto::path::{Encap, Path};
use dccp_proto::wire::Ecn;

use crate::support::{batch, datagram, is_inside, raw, receive};

const LOCALHOSTS: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::LOCALHOST),
    IpAddr::V6(Ipv6Addr::LOCALHOST),
];

fn any(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

/// Four datagrams from one socket to the other's port.
fn exchange(from: &mut dyn Transport, to: &mut dyn Transport, path: &Path, ecn: Ecn, port: u16) {
    let lens = [1000, 1000, 1000, 300];
    let batch = batch(path, ecn, port, &lens);
    let sent = from.send(&batch, 0);
    assert!(sent.is_done(&batch) && sent.dropped.is_none());
    let got = receive(to, 4, |r, bytes| {
        assert!(r.timestamp.is_some());
        (r.path, r.ecn, bytes.to_vec())
    });
    let expected: Vec<_> = (1..)
        .zip(lens)
        .map(|(value, len)| (*path, ecn, datagram(port, value, len)))
        .collect();
    assert!(got == expected, "{path:?} {ecn:?} to {port}");
}

/// One socket is bound to an address, the other to all: then each packet has to say its own.
#[test]
fn batches_marks_and_addresses_travel_both_ways_over_both_families() {
    let name = "raw::batches_marks_and_addresses_travel_both_ways_over_both_families";
    if !is_inside(name, "") {
        return;
    }
    let carrier = Carrier::new(Encapsulation::Ip, Options::default()).unwrap();
    assert!(carrier.owns_host());
    let other = Host::join().unwrap();
    let _ports = (carrier.claim(1000).unwrap(), other.claim(2000).unwrap());
    let taken = carrier.claim(2000).unwrap_err();
    assert_eq!(taken.kind(), std::io::ErrorKind::AddrInUse);
    for ip in LOCALHOSTS {
        let mut a = carrier.open(SocketAddr::new(ip, 0)).unwrap();
        let mut b = raw(any(ip), &other, &Options::default());
        let path = Path {
            local: ip,
            remote: ip,
            encap: Encap::Ip,
        };
        for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce] {
            exchange(a.as_mut(), b.as_mut(), &path, ecn, 2000);
            exchange(b.as_mut(), a.as_mut(), &path, ecn, 1000);
        }
        let (a, b) = (a.counters(), b.counters());
        assert_eq!((a.sent, a.send_calls, a.send_batches), (16, 4, 4));
        assert_eq!((b.received, b.recv_overflowed), (16, Some(0)));
        // Each socket saw its own packets too, and passed over those that it has read.
        assert_eq!((a.foreign, b.foreign), (16, 12));
    }
}

#[test]
fn packets_that_a_slow_reader_misses_are_counted() {
    if !is_inside("raw::packets_that_a_slow_reader_misses_are_counted", "") {
        return;
    }
    let host = Host::join().unwrap();
    let _port = host.claim(1000).unwrap();
    let small = Options {
        recv_buffer: 8192,
        ..Options::default()
    };
    for ip in LOCALHOSTS {
        let mut socket = raw(ip, &host, &small);
        let path = Path {
            local: ip,
            remote: ip,
            encap: Encap::Ip,
        };
        let batch = batch(&path, Ecn::Ect0, 1000, &[1000; 60]);
        assert!(socket.send(&batch, 0).is_done(&batch));
        let got = receive(socket.as_mut(), 1, |_, _| ()).len() as u64;
        assert!(got > 0 && got < 60);
        assert_eq!(socket.counters().recv_overflowed, Some(60 - got));
    }
}

#[test]
fn missing_capability_is_named_in_the_next_step() {
    let name = "raw::missing_capability_is_named_in_the_next_step";
    if Command::new("setpriv").arg("--version").output().is_err() {
        eprintln!("SKIP {name}: needs setpriv");
        return;
    }
    // The command that follows the setup loses the capability.
    let setup =
        "set -- setpriv --bounding-set=-net_raw --inh-caps=-all -- \"$0\" \"$@\"\nexec \"$@\"";
    if !is_inside(name, setup) {
        return;
    }
    let host = Host::join().unwrap();
    let any = Ipv4Addr::UNSPECIFIED.into();
    let error = Raw::open(any, host, &Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::NeedsCapability));
    assert!(error.next_step().contains("CAP_NET_RAW"));
}
