//! Two sockets on the loopback.

use core::time::Duration;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::*;
use crate::poll::{Poller, Token};
use crate::transport::LocalDropReason;
use dccp_proto::{IcmpError, IcmpKind};

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);
const MARKS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

/// Path, mark and bytes of a received datagram.
type Got = (Path, Ecn, Vec<u8>);

fn bind(ip: IpAddr) -> Udp {
    Udp::bind(SocketAddr::new(ip, 0), &Options::default()).unwrap()
}

fn path(from: &Udp, to: &Udp) -> Path {
    Path {
        local: from.local_addr().ip(),
        remote: to.local_addr().ip(),
        encap: Encap::Udp {
            local_port: from.local_addr().port(),
            remote_port: to.local_addr().port(),
        },
    }
}

fn back(path: Path) -> Path {
    let Encap::Udp {
        local_port,
        remote_port,
    } = path.encap
    else {
        panic!("not UDP");
    };
    Path {
        local: path.remote,
        remote: path.local,
        encap: Encap::Udp {
            local_port: remote_port,
            remote_port: local_port,
        },
    }
}

/// Datagrams of the given lengths, each of one byte value that tells its place.
fn batch(path: &Path, ecn: Ecn, lens: &[usize]) -> Batch {
    let mut batch = Batch::new(64);
    for (value, &len) in (1u8..).zip(lens) {
        assert!(batch.room_for(ecn, len) > 0);
        batch.push_built(path, ecn, false, 0, |bytes| {
            bytes.resize(bytes.len() + len, value);
            true
        });
    }
    batch
}

/// Receives until `n` datagrams have come, or nothing comes any more.
fn receive(socket: &mut Udp, n: usize) -> Vec<Got> {
    let mut poller = Poller::new(Duration::ZERO).unwrap();
    poller.add(socket.source(), Token(0)).unwrap();
    let mut buffer = RecvBuffer::new();
    let mut got = Vec::new();
    let mut ready = Vec::new();
    while got.len() < n {
        let limit = Some(Duration::from_secs(5));
        poller.wait(limit, &mut ready).unwrap();
        if ready.is_empty() {
            break;
        }
        let mut sink = |r: Received<'_>| {
            let (path, ecn) = (r.path, r.ecn);
            got.extend(r.datagrams.map(|d| (path, ecn, d.bytes.to_vec())));
        };
        while socket.recv(&mut buffer, &mut sink).unwrap() {}
    }
    got
}

fn send_all(socket: &mut Udp, batch: &Batch) {
    let sent = socket.send(batch, 0);
    assert!(sent.is_done(batch));
    assert_eq!(sent.dropped, None);
}

fn datagrams(batch: &Batch) -> Vec<&[u8]> {
    batch.datagrams().map(|d| d.bytes).collect()
}

/// 6773-3.5-1: the mark is set on the outer IP header and read from it; with segmentation offload
/// both ways, it holds for each datagram of the batch.
#[test]
fn batches_and_marks_travel_both_ways_over_both_families() {
    for ip in [V4, V6] {
        let (mut a, mut b) = (bind(ip), bind(ip));
        let there = path(&a, &b);
        for ecn in MARKS {
            let lens = [&[1000; 9][..], &[300]].concat();
            let batch = batch(&there, ecn, &lens);
            send_all(&mut a, &batch);
            let got = receive(&mut b, batch.len());
            let expected: Vec<Got> = datagrams(&batch)
                .iter()
                .map(|d| (back(there), ecn, d.to_vec()))
                .collect();
            // Not assert_eq: it would print all the bytes.
            assert!(got == expected, "{ip} {ecn:?}");
        }
        let reply = batch(&back(there), Ecn::Ce, &[20]);
        send_all(&mut b, &reply);
        assert_eq!(receive(&mut a, 1), [(there, Ecn::Ce, vec![1; 20])]);
    }
}

#[test]
fn batch_is_one_call_out_and_one_call_in() {
    for ip in [V4, V6] {
        let (mut a, mut b) = (bind(ip), bind(ip));
        let batch = batch(&path(&a, &b), Ecn::Ect0, &[1200; 50]);
        send_all(&mut a, &batch);
        assert_eq!(receive(&mut b, 50).len(), 50);
        let (out, into) = (a.counters(), b.counters());
        assert_eq!((out.sent, out.send_calls, out.send_batches), (50, 1, 1));
        assert_eq!((into.received, into.recv_calls), (50, 1));
        assert_eq!(into.recv_merged, 1);
    }
}

#[test]
fn batch_can_be_sent_from_its_middle_on() {
    let (mut a, mut b) = (bind(V4), bind(V4));
    let batch = batch(&path(&a, &b), Ecn::Ect0, &[100, 100, 100, 100, 7]);
    let sent = a.send(&batch, 2);
    assert!(sent.is_done(&batch));
    let got: Vec<Vec<u8>> = receive(&mut b, 3).into_iter().map(|g| g.2).collect();
    assert_eq!(got, [vec![3; 100], vec![4; 100], vec![5; 7]]);
    assert_eq!(a.counters().sent, 3);
}

#[test]
fn empty_datagrams_are_not_lost_in_a_batch() {
    let (mut a, mut b) = (bind(V4), bind(V4));
    let there = path(&a, &b);
    for lens in [&[0][..], &[0, 0, 0], &[9, 9, 0]] {
        let batch = batch(&there, Ecn::Ect0, lens);
        send_all(&mut a, &batch);
        let got: Vec<usize> = receive(&mut b, lens.len())
            .iter()
            .map(|g| g.2.len())
            .collect();
        assert_eq!(got, lens);
    }
}

#[test]
fn unbound_socket_reports_and_uses_the_right_local_address() {
    let mut server = bind(Ipv4Addr::UNSPECIFIED.into());
    let mut client = bind(V4);
    let second = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
    let there = Path {
        remote: second,
        ..path(&client, &server)
    };
    send_all(&mut client, &batch(&there, Ecn::Ect0, &[20]));
    let got = receive(&mut server, 1);
    assert_eq!(got[0].0, back(there));
    send_all(&mut server, &batch(&got[0].0, Ecn::Ect0, &[30]));
    assert_eq!(receive(&mut client, 1)[0].0, there);
}

/// A socket of both IP versions, on all addresses of this host.
fn adopt_both() -> Udp {
    let socket = StdSocket::bind("[::]:0").unwrap();
    Udp::adopt(socket, &Options::default()).unwrap()
}

#[test]
fn socket_of_both_versions_has_the_addresses_of_each() {
    let mut both = adopt_both();
    for ip in [V4, V6] {
        let mut a = bind(ip);
        let there = Path {
            remote: ip,
            ..path(&a, &both)
        };
        for ecn in MARKS {
            let lens = [&[1000; 9][..], &[300]].concat();
            send_all(&mut a, &batch(&there, ecn, &lens));
            let got = receive(&mut both, lens.len());
            assert_eq!(got.len(), lens.len());
            let is_same = |g: &Got| (g.0, g.1) == (back(there), ecn);
            assert!(got.iter().all(is_same), "{ip} {ecn:?}");
            send_all(&mut both, &batch(&back(there), ecn, &lens));
            let got = receive(&mut a, lens.len());
            assert_eq!(got.len(), lens.len());
            assert!(got.iter().all(|g| (g.0, g.1) == (there, ecn)), "{ip}");
        }
    }
}

/// 6773-3.6-1: the report names path and datagram.
#[test]
fn icmp_port_unreachable_is_reported_with_the_datagram() {
    let of_one = [(V4, 3, 3), (V6, 1, 4)].map(|(ip, kind, code)| (bind(ip), ip, kind, code));
    let of_both = [(V4, 3, 3), (V6, 1, 4)].map(|(ip, kind, code)| (adopt_both(), ip, kind, code));
    for (mut a, ip, kind, code) in of_one.into_iter().chain(of_both) {
        let closed = bind(ip);
        let there = Path {
            local: ip,
            ..path(&a, &closed)
        };
        drop(closed);
        send_all(&mut a, &batch(&there, Ecn::Ect0, &[40]));

        let mut poller = Poller::new(Duration::ZERO).unwrap();
        poller.add(a.source(), Token(0)).unwrap();
        let mut ready = Vec::new();
        poller
            .wait(Some(Duration::from_secs(5)), &mut ready)
            .unwrap();
        assert!(ready[0].error);
        let mut buffer = RecvBuffer::new();
        let mut reports = Vec::new();
        let mut sink = |r: IcmpError<'_>| reports.push((r.path, r.quoted.to_vec(), r.kind));
        assert_eq!(a.recv_errors(&mut buffer, &mut sink).unwrap(), 1);
        let unreachable = IcmpKind::Unreachable { kind, code };
        assert_eq!(reports, [(there, vec![1; 40], unreachable)]);
        assert_eq!(a.counters().icmp, 1);
    }
}

/// The kernel answers the call after an ICMP error with that error, whichever peer the call was for.
#[test]
fn icmp_error_of_one_peer_loses_no_packet_of_another() {
    let (mut a, mut b) = (bind(V4), bind(V4));
    let closed = bind(V4);
    let nowhere = path(&a, &closed);
    let there = path(&a, &b);
    drop(closed);
    send_all(&mut a, &batch(&nowhere, Ecn::Ect0, &[40]));
    send_all(&mut a, &batch(&there, Ecn::Ce, &[41]));
    assert_eq!(receive(&mut b, 1), [(back(there), Ecn::Ce, vec![1; 41])]);
    send_all(&mut a, &batch(&nowhere, Ecn::Ect0, &[40]));
    send_all(&mut b, &batch(&back(there), Ecn::Ect0, &[42]));
    assert_eq!(receive(&mut a, 1), [(there, Ecn::Ect0, vec![1; 42])]);
    assert_eq!(a.counters().dropped(), 0);
}

#[test]
fn packets_that_a_slow_reader_misses_are_counted() {
    let small = Options {
        recv_buffer: 8192,
        ..Options::default()
    };
    let mut a = bind(V4);
    let mut b = Udp::bind(SocketAddr::new(V4, 0), &small).unwrap();
    assert_eq!(b.counters().recv_overflowed, Some(0));
    let one = batch(&path(&a, &b), Ecn::Ect0, &[1000]);
    for _ in 0..100 {
        send_all(&mut a, &one);
    }
    let got = receive(&mut b, 1).len() as u64;
    assert!(got > 0 && got < 100);
    assert_eq!(b.counters().received, got);
    assert_eq!(b.counters().recv_overflowed, Some(100 - got));
}

#[test]
fn buffers_are_as_large_as_asked_for_or_as_the_system_grants() {
    let ask = Options {
        recv_buffer: 100_000,
        send_buffer: Some(50_000),
    };
    let socket = Udp::bind(SocketAddr::new(V4, 0), &ask).unwrap();
    // Linux doubles.
    let expected = BufferSizes {
        recv: 200_000,
        send: 100_000,
    };
    assert_eq!(socket.buffer_sizes().unwrap(), expected);
}

#[test]
fn refused_datagram_is_dropped_and_reported_with_its_reason() {
    let mut a = bind(V4);
    let mut b = bind(V4);
    // A loopback address cannot reach it.
    let nowhere = Path {
        remote: Ipv4Addr::new(240, 0, 0, 1).into(),
        ..path(&a, &b)
    };
    let refused = batch(&nowhere, Ecn::Ect0, &[100, 100]);
    let sent = a.send(&refused, 0);
    assert!(sent.is_done(&refused));
    let dropped = sent.dropped.unwrap();
    assert_eq!((dropped.first, dropped.datagrams), (0, 2));
    assert_ne!(dropped.reason, LocalDropReason::QueueFull);
    assert_eq!(a.counters().dropped_other, 2);
    // Whatever went wrong there, offload and marks still work.
    let bulk = batch(&path(&a, &b), Ecn::Ce, &[500; 10]);
    send_all(&mut a, &bulk);
    let got = receive(&mut b, 10);
    assert!(got.iter().all(|g| g.1 == Ecn::Ce));
    assert_eq!(got.len(), 10);
    assert_eq!(b.counters().recv_merged, 1);
    assert!(!a.counters().gso_refused);
}

#[test]
fn reports_end_for_other_holders_of_the_socket() {
    for at in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
        let held = StdSocket::bind(at).unwrap();
        let adopted = Udp::adopt(held.try_clone().unwrap(), &Options::default()).unwrap();
        let ip = if at.starts_with('1') { V4 } else { V6 };
        let closed = bind(ip).local_addr();
        let error_of_a_datagram = || {
            held.send_to(b"x", closed).unwrap();
            // The loopback interface answers before the call returns.
            held.take_error().unwrap()
        };
        assert!(error_of_a_datagram().is_some(), "{at}");
        drop(adopted);
        crate::end_reports(&held).unwrap();
        assert!(error_of_a_datagram().is_none(), "{at}");
    }
}

#[test]
fn taken_port_is_named() {
    let a = bind(V4);
    let error = Udp::bind(a.local_addr(), &Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::InUse(_)));
    assert!(error.to_string().starts_with("the UDP port is taken: "));
}
