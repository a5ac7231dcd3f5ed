//! Datagrams that an interface cannot take.

use core::time::Duration;
use std::net::IpAddr;
use std::process::Command;

use dccp_io::{LocalDrop, LocalDropReason, Options, Poller, Token, Transport};
use dccp_proto::batch::Batch;
use dccp_proto::path::Path;
use dccp_proto::wire::Ecn;

use crate::support::{PATIENCE, batch, both, fragmentable_batch, is_inside, sh};

/// Two ends of a cable; no program listens at the other.
const CABLE: &str = "\
    ip link add v0 mtu 1500 address 02:00:00:00:00:01 type veth \
        peer name v1 mtu 1500 address 02:00:00:00:00:02\n\
    ip addr add 192.0.2.1/24 dev v0\n\
    ip addr add 2001:db8::1/64 dev v0 nodad\n\
    ip link set v0 up\n\
    ip link set v1 up\n";
const NEIGHBOURS: &str = "\
    ip neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev v0 nud permanent\n\
    ip neigh add 2001:db8::2 lladdr 02:00:00:00:00:02 dev v0 nud permanent\n";

fn ways(options: &Options) -> Vec<(Box<dyn Transport>, Path)> {
    let ip = |s: &str| s.parse::<IpAddr>().unwrap();
    let v4 = both(ip("192.0.2.1"), ip("192.0.2.2"), options);
    let v6 = both(ip("2001:db8::1"), ip("2001:db8::2"), options);
    v4.into_iter().chain(v6).collect()
}

/// 4340-14.2-1, 4340-14.1-2: what is larger than the MTU leaves in fragments or not at all.
#[test]
fn packet_larger_than_the_mtu_leaves_only_in_fragments() {
    let name = "limits::packet_larger_than_the_mtu_leaves_only_in_fragments";
    if !is_inside(name, &(CABLE.to_owned() + NEIGHBOURS)) {
        return;
    }
    for (mut transport, path) in ways(&Options::default()) {
        let transport = transport.as_mut();
        let fits = 1500 - path.overhead();
        let all_left = |transport: &mut dyn Transport, batch: &Batch| {
            let sent = transport.send(batch, 0);
            assert!(sent.is_done(batch));
            assert_eq!(sent.dropped, None, "{path:?}");
        };
        all_left(transport, &batch(&path, Ecn::Ect0, 9, &[fits; 5]));

        // The last one is shorter, so it still fits.
        let too_big = batch(&path, Ecn::Ect0, 9, &[fits + 1, fits + 1, fits]);
        let sent = transport.send(&too_big, 0);
        let dropped = sent.dropped.unwrap();
        assert!(sent.is_done(&too_big));
        assert_eq!((dropped.first, dropped.datagrams), (0, 2));
        assert_eq!(dropped.reason, LocalDropReason::TooBig { mtu: Some(1500) });
        assert_eq!(transport.counters().dropped_too_big, 2);

        let cut = fragmentable_batch(&path, Ecn::Ect0, 9, &[2000, 2000], true);
        all_left(transport, &cut);
        let sent = transport.send(&too_big, 0);
        assert_eq!(sent.dropped.map(|d| d.datagrams), Some(2));

        all_left(transport, &batch(&path, Ecn::Ect0, 9, &[fits; 5]));
        let counters = transport.counters();
        assert_eq!((counters.sent, counters.dropped()), (14, 4));
        assert!(!counters.gso_refused);
    }
}

/// While a neighbour's address is not known, packets wait in the host and fill the send buffer.
#[test]
fn socket_without_room_keeps_the_rest_of_the_batch() {
    let name = "limits::socket_without_room_keeps_the_rest_of_the_batch";
    if !is_inside(name, CABLE) {
        return;
    }
    let small = Options {
        send_buffer: Some(1),
        ..Options::default()
    };
    for (mut transport, path) in ways(&small) {
        let transport = transport.as_mut();
        let one = batch(&path, Ecn::Ect0, 9, &[1000]);
        let sent_before_full = (0..1000)
            .take_while(|_| transport.send(&one, 0).is_done(&one))
            .count() as u64;
        assert!(sent_before_full < 1000, "{path:?}");
        assert_eq!(transport.counters().send_blocked, 1);
        assert_eq!(transport.counters().sent, sent_before_full);

        let mut poller = Poller::new(Duration::ZERO).unwrap();
        let mut ready = Vec::new();
        poller.add(transport.source(), Token(0)).unwrap();
        poller
            .want_writable(transport.source(), Token(0), true)
            .unwrap();
        poller
            .wait(Some(Duration::from_millis(1)), &mut ready)
            .unwrap();
        assert!(ready.is_empty());
        let remote = path.remote;
        sh(&format!(
            "ip neigh replace {remote} lladdr 02:00:00:00:00:02 dev v0 nud permanent"
        ));
        poller.wait(Some(PATIENCE), &mut ready).unwrap();
        assert!(ready[0].writable);
        assert!(transport.send(&one, 0).is_done(&one));
        assert_eq!(transport.counters().sent, sent_before_full + 1);
        assert_eq!(transport.counters().dropped(), 0);
        sh(&format!("ip neigh del {remote} dev v0"));
    }
}

/// A full queue of this host is no loss in the network, and is reported (docs/design.md, decision 4).
#[test]
fn drops_of_a_full_host_queue_are_reported_and_counted() {
    let name = "limits::drops_of_a_full_host_queue_are_reported_and_counted";
    if Command::new("tc").arg("-V").output().is_err() {
        eprintln!("SKIP {name}: needs tc");
        return;
    }
    let no_queue = "tc qdisc add dev v0 root pfifo limit 0";
    if !is_inside(name, &[CABLE, NEIGHBOURS, no_queue].concat()) {
        return;
    }
    for (mut transport, path) in ways(&Options::default()) {
        let batch = batch(&path, Ecn::Ect0, 9, &[1000, 1000, 10]);
        let sent = transport.send(&batch, 1);
        assert!(sent.is_done(&batch));
        let expected = LocalDrop {
            first: 1,
            datagrams: 2,
            reason: LocalDropReason::QueueFull,
        };
        assert_eq!(sent.dropped, Some(expected), "{path:?}");
        let counters = transport.counters();
        assert_eq!((counters.sent, counters.dropped_queue_full), (0, 2));
    }
}
