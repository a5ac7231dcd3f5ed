//! Sums that must agree between the applications, both ends and the path.

use crate::path::{Host, LEN, Talk};
use core::time::Duration;
use dccp::{Options, ResetCode, SendOptions};
use dccp_counters::Snapshot;
use dccp_emu::report::DirectionReport;
use dccp_proto::wire::PacketType;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

fn total(snapshot: &Snapshot, key: &str) -> u64 {
    snapshot
        .totals
        .get(key)
        .unwrap_or_else(|| panic!("no counter {key}"))
}

/// The sum of all counters of a metric with this start of the name.
fn sum(snapshot: &Snapshot, start: &str) -> u64 {
    let rows = snapshot.totals.rows();
    rows.filter(|(row, _)| row.key().starts_with(start))
        .map(|(_, value)| value)
        .sum()
}

/// The name of a type in JSON.
fn name(packet_type: PacketType) -> &'static str {
    match packet_type {
        PacketType::Request => "request",
        PacketType::Response => "response",
        PacketType::Data => "data",
        PacketType::Ack => "ack",
        PacketType::DataAck => "data_ack",
        PacketType::CloseReq => "close_req",
        PacketType::Close => "close",
        PacketType::Reset => "reset",
        PacketType::Sync => "sync",
        PacketType::SyncAck => "sync_ack",
        PacketType::Listen => "listen",
    }
}

/// Packets that left `from`, less those that arrived at `to`, are the ones that the path lost.
fn assert_packets_agree(from: &Snapshot, to: &Snapshot, path: &DirectionReport) {
    let mut missing = 0;
    for packet_type in PacketType::ALL.map(name) {
        let sent = total(from, &format!("packets_out_{packet_type}"));
        let received = total(to, &format!("packets_in_{packet_type}"));
        assert!(
            sent >= received,
            "{packet_type}: {sent} sent, {received} received"
        );
        missing += sent - received;
    }
    let lost: u64 = path.lost_packets.values().sum();
    let dropped = path.overflow_packets + path.refused_packets;
    let socket_full = total(to, "transport_receive_overflows");
    assert_eq!(missing, lost + dropped + socket_full, "{path:?}");
    assert!(lost > 0);
    let sent = sum(from, "packets_out_");
    assert_eq!(sent, path.offered_packets + path.overflow_packets);
    assert_eq!(sent, total(from, "transport_packets_sent"));
    assert_eq!(
        sum(to, "packets_in_"),
        total(to, "transport_packets_received")
    );
    assert_eq!(total(to, "malformed_packets"), 0);
}

/// Each datagram of the applications is queued, in flight, or has one fate.
fn assert_fates_agree(snapshot: &Snapshot) {
    let waiting = ["queued_datagrams", "in_flight_datagrams"].map(|gauge| {
        let values = snapshot.connections.iter();
        values.filter_map(|c| c.gauges.get(gauge)).sum::<f64>()
    });
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "small whole numbers"
    )]
    let waiting = (waiting[0] + waiting[1]) as u64;
    let pushed = total(snapshot, "datagrams_pushed");
    assert_eq!(pushed, waiting + sum(snapshot, "datagram_fates_"));
}

#[test]
fn sums_of_both_hosts_and_the_path_agree() {
    let talk = Talk::start(50);
    let [client, server] = talk.hosts.clone();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        // While data flow, no total goes down, and each datagram has its place.
        let watcher = scope.spawn(|| {
            let mut last = client.snapshot();
            let mut seen = 0;
            while !is_over.load(Ordering::Relaxed) {
                let next = client.snapshot();
                for ((row, before), (_, after)) in last.totals.rows().zip(next.totals.rows()) {
                    assert!(after >= before, "{} goes down", row.key());
                }
                assert_fates_agree(&next);
                last = next;
                seen += 1;
                thread::sleep(Duration::from_millis(10));
            }
            seen
        });
        let late = SendOptions::new().lifetime(Duration::ZERO);
        for _ in 0..10 {
            talk.client.send_with(&[7; LEN], late).unwrap();
        }
        talk.load(3000);
        talk.client.close().unwrap();
        talk.server.wait_closed(Duration::from_secs(30)).unwrap();
        client.forget_connections();
        is_over.store(true, Ordering::Relaxed);
        assert!(watcher.join().unwrap() > 3);
    });
    server.forget_connections();
    drop((talk.client, talk.server));
    let report = talk.path.end();
    let [a, b] = [client.snapshot(), server.snapshot()];

    assert_packets_agree(&a, &b, &report.forward);
    assert_packets_agree(&b, &a, &report.back);

    assert_fates_agree(&a);
    assert_eq!(total(&a, "datagrams_pushed"), 3010);
    // A datagram leaves late by at most one turn of the engine, so some of the late ones may have left.
    let expired = total(&a, "datagram_fates_expired");
    assert!((1..=10).contains(&expired), "{expired}");
    assert_eq!(total(&a, "datagrams_sent"), 3010 - expired);
    assert!(total(&a, "datagram_fates_lost") > 0);

    let missing = total(&a, "datagrams_sent") - total(&b, "datagrams_received");
    let bytes = total(&a, "data_bytes_out") - total(&b, "data_bytes_in");
    assert_eq!(bytes, missing * LEN as u64);
    let data = |s: &Snapshot, way| {
        total(s, &format!("packets_{way}_data")) + total(s, &format!("packets_{way}_data_ack"))
    };
    assert_eq!(missing, data(&a, "out") - data(&b, "in"));

    // The peer reports what its buffer had no room for.
    let full = total(&b, "receive_buffer_drops_full");
    assert!(full > 0);
    assert_eq!(total(&b, "drop_codes_out_receive_buffer"), full);
    assert_eq!(total(&b, "dropped_packets_receive_buffer"), full);
    let reported = total(&a, "drop_codes_in_receive_buffer");
    assert!(reported > 0 && reported <= full, "{reported} of {full}");
    assert_eq!(total(&a, "datagram_fates_rx_dropped"), reported);
    let delivered = total(&b, "datagrams_delivered");
    assert_eq!(total(&b, "datagrams_received"), delivered + full);
    assert_eq!(total(&b, "datagrams_taken"), delivered);

    assert!(total(&a, "loss_events_sender") > 0);
    assert!(total(&a, "ack_vector_bytes_in") > 0);
    assert!(total(&a, "ack_vector_bytes_in") <= total(&b, "ack_vector_bytes_out"));
    assert!(total(&a, "ack_bytes_in") <= total(&b, "ack_bytes_out"));
    assert!(total(&a, "timer_expiries_pace") > 0);
}

#[test]
fn resets_of_both_ends_agree_by_code() {
    let hosts = [Host::new(), Host::new()];
    let listener = hosts[1].listen(Options::new());
    let to = listener.local_addrs()[0];
    for code in [ResetCode::CLOSED, ResetCode::ABORTED] {
        let client = hosts[0].connect(to, Options::new());
        let server = listener.accept_timeout(Duration::from_secs(30)).unwrap();
        let server = hosts[1].adopt(server);
        if code == ResetCode::CLOSED {
            client.close().unwrap();
        } else {
            client.abort();
        }
        server.wait_closed(Duration::from_secs(30)).unwrap();
        client.wait_closed(Duration::from_secs(30)).unwrap();
    }
    let [client, server] = [hosts[0].snapshot(), hosts[1].snapshot()];
    // The client's Close is answered by a Reset; its abort is a Reset.
    assert_eq!(total(&server, "resets_out_closed"), 1);
    assert_eq!(total(&client, "resets_in_closed"), 1);
    assert_eq!(total(&client, "resets_out_aborted"), 1);
    assert_eq!(total(&server, "resets_in_aborted"), 1);
    assert_eq!(
        sum(&client, "resets_out_"),
        total(&client, "packets_out_reset")
    );
    assert_eq!(
        sum(&server, "resets_in_"),
        total(&server, "packets_in_reset")
    );
    assert_eq!(total(&client, "connections_opened_client"), 2);
    assert_eq!(total(&server, "connections_opened_server"), 2);
    assert_eq!(total(&server, "established_resets"), 1);
}

#[test]
fn packets_of_no_connection_and_their_resets_are_counted() {
    let hosts = [Host::new(), Host::new()];
    let listener = hosts[1].listen(Options::new());
    let mut to = listener.local_addrs()[0];
    to.dccp_port ^= 1;
    let options = Options::new().connect_timeout(Duration::from_secs(30));
    hosts[0].assert_refused(to, options);
    let [client, server] = [hosts[0].snapshot(), hosts[1].snapshot()];
    assert_eq!(total(&server, "packets_in_request"), 1);
    assert_eq!(total(&server, "dropped_packets_no_connection"), 1);
    assert_eq!(total(&server, "packets_out_reset"), 1);
    assert_eq!(total(&server, "resets_out_connection_refused"), 1);
    assert_eq!(total(&client, "resets_in_connection_refused"), 1);
    assert_eq!(total(&client, "connection_attempts_failed"), 1);
    assert_eq!(
        total(&client, "packet_bytes_in"),
        total(&server, "packet_bytes_out")
    );
}
