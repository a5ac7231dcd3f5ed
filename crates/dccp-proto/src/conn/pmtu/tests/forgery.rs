//! ICMP messages without evidence: forged, or about packets that cannot be told (4340-14.1-6).

use super::*;

/// Quotes that are no evidence: without a number, of a packet that arrived, of a packet smaller than the MTU.
const GUESSES: [Option<Quote>; 3] = [
    None,
    Some(Quote {
        seq: Seq::ZERO,
        len: None,
    }),
    Some(quote(100)),
];

#[test]
fn a_packet_no_larger_than_the_named_mtu_is_no_evidence() {
    for (len, result) in [(1400 - OVERHEAD - 36, 1500), (1401 - OVERHEAD - 36, 1400)] {
        let mut pmtu = new();
        assert!(pmtu.on_too_big(s(1), 1400, Some(quote(len))));
        assert_eq!(pmtu.pmtu(), result, "{len}");
        assert_eq!(pmtu.has_probe_due(), result == 1500);
    }
}

#[test]
fn forged_messages_lower_nothing_where_large_packets_are_lost() {
    // Datagrams of mixed sizes on a path with losses: the largest that arrives is smaller than those lost. Every second
    // message names an MTU that no arriving datagram exceeds, so that no arrival refutes it.
    let mut path = TestPath::new(new(), 1500);
    for n in 0..2000 {
        path.run_until(path.now + Duration::from_millis(100));
        path.pmtu.on_large(path.now, received(1000));
        if n % 20 == 0 {
            path.pmtu.on_large(path.now, lost(1, 1430));
        }
        path.pmtu
            .on_too_big(path.now, [600, 1490][n % 2], GUESSES[n % 3]);
        assert_eq!(path.pmtu.pmtu(), 1500, "message {n}");
    }
    let counts = path.pmtu.counts();
    assert_eq!(
        (counts.black_holes, counts.probes_acked),
        (0, counts.probes)
    );
}

#[test]
fn forgeries_start_few_probes() {
    // A million in 1,000 s: one every 10 s, and after three of them one a minute.
    let mut path = TestPath::new(new(), 1500);
    for n in 0..1_000_000_usize {
        path.run_until(path.now + Duration::from_millis(1));
        path.pmtu.on_too_big(path.now, 600, GUESSES[n % 3]);
    }
    assert_eq!(path.pmtu.pmtu(), 1500);
    assert!((15..=20).contains(&path.probed.len()), "{:?}", path.probed);
}

#[test]
fn a_true_message_without_evidence_finds_the_smaller_size() {
    // RFC 8899 §4.6.2
    let mut path = TestPath::new(new(), 1400);
    assert!(path.pmtu.on_too_big(path.now, 1400, None));
    path.run_until(s(60));
    assert_eq!(path.probed[..6], [1500, 1500, 1500, 1500, 1500, 1200]);
    assert_eq!(path.pmtu.pmtu(), 1396);
}

#[test]
fn full_datagrams_that_arrive_refute_a_forgery() {
    for (len, is_refuted) in [(1, true), (0, false)].map(|(n, b)| (new().mps() - 1 + n, b)) {
        let mut pmtu = new();
        pmtu.on_too_big(s(1), 600, None);
        pmtu.on_probe_sent(s(1), Seq::new(1));
        pmtu.on_large(s(1), received(len));
        assert_eq!(pmtu.poll_timeout().is_none(), is_refuted, "{len}");
    }
}
