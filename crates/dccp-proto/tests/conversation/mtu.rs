//! The path MTU: ICMP messages, probes, and what the application may send (RFC 4340 §14).

use crate::bench::{Bench, OUR_PORT, PEER_PORT, Pkt, RECEIVED};
use dccp_proto::path::{Encap, Flow, Path};
use dccp_proto::queue::Fate;
use dccp_proto::wire::{Kind, Opt, PacketType, header_len};
use dccp_proto::{Config, Event, IcmpKind, Seq};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

/// IP header, and what the MPS leaves for DCCP's.
const HEADERS: usize = 20 + 36;

/// A router says that the packet with this number was too big for a link of 900 bytes.
fn give_too_big(bench: &mut Bench, seq: Seq) {
    let mut quoted = Vec::new();
    quoted.extend(OUR_PORT.to_be_bytes());
    quoted.extend(PEER_PORT.to_be_bytes());
    quoted.extend([4, 0, 0, 0, 5, 0]); // a Data packet with a long number
    quoted.extend_from_slice(&seq.value().to_be_bytes()[2..]);
    bench.give_icmp(&quoted, IcmpKind::TooBig { mtu: 900 });
}

/// Bytes of the whole packet.
fn size(p: &Pkt) -> usize {
    20 + header_len(p.packet_type(), p.is_short, p.options.len()) + p.payload.len()
}

fn sync_sizes(sent: &[(Duration, Pkt)]) -> Vec<usize> {
    let syncs = sent.iter().map(|(_, p)| p);
    let syncs = syncs.filter(|p| p.packet_type() == PacketType::Sync);
    syncs.map(size).collect()
}

/// The window is full when the message comes: what waits behind it is too large then.
#[test]
fn datagram_that_no_longer_fits_is_refused() {
    // 4340-14-1, 4340-14-2, 4340-14.1-2, 4340-14.2-2
    let config = Config {
        pacing: false,
        ..Bench::config()
    };
    for mut bench in Bench::open_both(&config) {
        let full = vec![7; bench.snapshot().mps];
        let slots: Vec<_> = (0..5).map(|_| bench.send(&full)).collect();
        let sent = bench.take();
        assert_eq!(sent.len(), 4);
        assert!(sent.iter().all(|p| size(p) <= 1100));

        give_too_big(&mut bench, sent[0].seq);
        assert_eq!(bench.take(), []);
        let mps = 900 - HEADERS;
        assert_eq!(bench.events.last(), Some(&Event::Mps(mps)));
        assert_eq!((bench.snapshot().pmtu, bench.snapshot().mps), (900, mps));

        let fits = vec![8; mps];
        bench.send(&fits);
        let ack = bench.next(Kind::Ack { ack: sent[3].seq });
        let sent = bench.answers(&ack.with_raw_options(&[38, 3, 3]));
        let data: Vec<_> = sent.iter().filter(|p| !p.payload.is_empty()).collect();
        assert_eq!(data.len(), 1);
        assert_eq!(data[0].payload, fits);
        assert!(bench.fates().contains(&(slots[4], Fate::TooBig)));
        let too_long = bench.send(&vec![9; mps + 1]);
        bench.take();
        assert_eq!(bench.fates().last(), Some(&(too_long, Fate::TooBig)));
    }
}

#[test]
fn udp_takes_eight_bytes_of_the_maximum_packet_size() {
    // 6773-3.7-1
    let ipv6 = |n| IpAddr::V6(Ipv6Addr::new(0x2001, 0xDB8, 0, 0, 0, 0, 0, n));
    let udp = Encap::Udp {
        local_port: 1111,
        remote_port: 6511,
    };
    let v4 = Bench::path();
    let v6 = Path {
        local: ipv6(1),
        remote: ipv6(2),
        ..v4
    };
    for (path, mps) in [
        (v4, 1100 - HEADERS),
        (Path { encap: udp, ..v4 }, 1100 - HEADERS - 8),
        (v6, 1100 - HEADERS - 20),
        (Path { encap: udp, ..v6 }, 1100 - HEADERS - 20 - 8),
    ] {
        let mut bench = Bench::new();
        let flow = Flow {
            path,
            ..Bench::flow()
        };
        let id = bench.endpoint.connect(bench.now, flow, Bench::config());
        bench.id = Some(id.unwrap());
        assert_eq!(bench.snapshot().mps, mps, "{path:?}");
    }
}

#[test]
fn a_message_about_nothing_that_was_sent_is_ignored() {
    // 4340-14.1-3
    let mut bench = Bench::open_server(Bench::config());
    let before = bench.snapshot().pmtu;
    let unsent = bench.gss.next();
    give_too_big(&mut bench, unsent);
    assert_eq!(bench.take(), []);
    assert_eq!(bench.snapshot().pmtu, before);
    assert_eq!(bench.stats().counters.icmp_ignored, 1);
    let sent = send_full(&mut bench);
    give_too_big(&mut bench, sent);
    assert_eq!(bench.snapshot().pmtu, 900);
    assert_eq!(bench.stats().counters.icmp_used, 1);
}

/// Sends a datagram of the maximum size, and returns its number.
fn send_full(bench: &mut Bench) -> Seq {
    let full = vec![7; bench.snapshot().mps];
    bench.send(&full);
    bench.take_one().seq
}

#[test]
fn a_message_about_a_packet_that_arrived_or_was_small_is_ignored() {
    // 4340-14.1-6: the number alone is no evidence; without probes the message says nothing.
    let config = Config {
        pacing: false,
        ..Bench::config()
    };
    let mut bench = Bench::open_server(config);
    let arrived = send_full(&mut bench);
    let ack = bench.next(Kind::Ack { ack: arrived }).with(&[RECEIVED]);
    bench.answers(&ack);
    bench.send(b"small");
    let small = bench.take_one().seq;
    for seq in [arrived, small] {
        give_too_big(&mut bench, seq);
    }
    assert_eq!(bench.snapshot().pmtu, 1100);
    assert_eq!(bench.stats().counters.icmp_ignored, 2);
    let large = send_full(&mut bench);
    give_too_big(&mut bench, large);
    assert_eq!(bench.snapshot().pmtu, 900);
}

#[test]
fn the_path_mtu_is_looked_for_anew_every_two_seconds_at_most() {
    // RFC 4340 §14.1
    let mut bench = Bench::open_server(Bench::config());
    for (wait, has_begun) in [(0, true), (0, false), (1999, false), (1, true)] {
        bench.now += Duration::from_millis(wait);
        let id = bench.id.unwrap();
        let is_begun = bench
            .endpoint
            .rediscover_pmtu(bench.now, id, &mut bench.app);
        assert_eq!(is_begun, has_begun, "{wait}");
    }
}

/// A connection of an MTU of 1500 bytes whose peer has fallen silent, with large datagrams to send.
fn in_the_dark(ndp_count: bool) -> Bench {
    let config = Config {
        probe_pmtu: true,
        mtu: 1500,
        pacing: false,
        ndp_count,
        ..Bench::config()
    };
    let mut bench = Bench::open_server(config);
    let full = vec![7; bench.snapshot().mps];
    for _ in 0..9 {
        bench.send(&full);
    }
    bench
}

#[test]
fn silence_is_answered_by_padded_syncs_and_the_size_stays() {
    // 4340-14.1-5, and 4340-7.7-1: an NDP Count makes a probe no larger.
    for ndp_count in [false, true] {
        let mut bench = in_the_dark(ndp_count);
        let sent = bench.advance(Duration::from_secs(20));
        assert_eq!(
            sync_sizes(&sent),
            [
                1500, 1500, 1500, 1500, 1500, 1200, 1200, 1200, 576, 576, 576, 296, 296, 296
            ]
        );
        let is_counted = |p: &Pkt| p.opts().iter().any(|o| matches!(o, Opt::NdpCount { .. }));
        assert_eq!(sent.iter().any(|(_, p)| is_counted(p)), ndp_count);
        let is_size = |e: &Event| matches!(e, Event::Mps(_));
        assert!(!bench.events.iter().any(is_size));
        assert_eq!(bench.snapshot().pmtu, 1500);
        let counters = bench.stats().counters;
        assert_eq!((counters.pmtu_probes, counters.pmtu_probes_acked), (14, 0));
        assert_eq!(counters.pmtu_black_holes, 0);
    }
}

/// Plays a peer behind a link that carries packets up to `carries` bytes, and answers their Syncs.
fn answer_syncs(bench: &mut Bench, carries: usize, time: Duration) {
    let until = bench.now + time;
    while bench.now < until {
        for (_, packet) in bench.advance(Duration::from_millis(100)) {
            if packet.packet_type() == PacketType::Sync && size(&packet) <= carries {
                bench.give_next(Kind::SyncAck { ack: packet.seq });
            }
        }
    }
}

#[test]
fn a_black_hole_is_left_for_a_size_that_gets_through() {
    // 4340-14.1-5
    let mut bench = in_the_dark(false);
    answer_syncs(&mut bench, 600, Duration::from_mins(1));
    let pmtu = bench.snapshot().pmtu;
    assert!((576..=600).contains(&pmtu), "{pmtu}");
    let sizes = bench.events.iter().filter(|e| matches!(e, Event::Mps(_)));
    assert_eq!(sizes.clone().next(), Some(&Event::Mps(576 - HEADERS)));
    assert_eq!(bench.stats().counters.pmtu_black_holes, 1);
}

#[test]
fn an_answered_probe_ends_the_suspicion() {
    // 4340-14.1-5
    let mut bench = in_the_dark(false);
    let sync = loop {
        let sent = bench.advance(Duration::from_millis(500));
        if let Some((_, sync)) = sent
            .into_iter()
            .find(|(_, p)| p.packet_type() == PacketType::Sync)
        {
            break sync;
        }
    };
    assert_eq!(size(&sync), 1500);
    bench.give_next(Kind::SyncAck { ack: sync.seq });
    let sent = bench.advance(Duration::from_secs(5));
    assert_eq!(sync_sizes(&sent), []);
    assert_eq!(bench.snapshot().pmtu, 1500);
    assert_eq!(bench.stats().counters.pmtu_probes_acked, 1);
}
