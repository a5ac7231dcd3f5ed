use super::super::QueueConfig;
use super::super::testing::{Bench, parcel, sized};
use super::*;
use dccp_proto::wire::Ecn;

fn bench() -> Bench {
    Bench::new(QueueConfig::CoDel(CoDelConfig::default()))
}

// 800 packets come at `start`, one leaves every millisecond; the milliseconds at which packets were
// dropped (or marked) until `end`.
fn signals(q: &mut Bench, start: u64, end: u64, ecn: Ecn) -> Vec<u64> {
    for token in 0..800 {
        q.push(1000 * start, parcel(token, ecn)).unwrap();
    }
    let mut at = Vec::new();
    let mut seen = q.marked();
    for ms in start + 1..end {
        q.pop(1000 * ms).unwrap();
        if !q.dropped().is_empty() || q.marked() > seen {
            at.push(ms - start);
        }
        seen = q.marked();
    }
    at
}

// RFC 8289 §5: the delay reaches 5 ms after 5 ms, so the first drop is at 105; the next ones follow at
// 205, 205 + 100/√2 = 275.7, + 100/√3 = 333.4, + 100/√4 = 383.4, + 100/√5 = 428.2, each at the first
// packet after that.
const DROPS: [u64; 6] = [105, 205, 276, 334, 384, 429];

#[test]
fn drops_follow_each_other_by_the_square_root_of_their_number() {
    assert_eq!(signals(&mut bench(), 0, 450, Ecn::NotEct), DROPS);
}

#[test]
fn ecn_capable_packets_are_marked_at_the_same_times_and_not_dropped() {
    let mut q = bench();
    assert_eq!(signals(&mut q, 0, 450, Ecn::Ect0), DROPS);
    assert_eq!(q.marked(), 6);
    assert_eq!(q.len().0, 800 - 449);
}

// Six drops, then rest. The count goes on with 6 − 1 = 5 if dropping begins again within 16
// intervals: 100/√5 = 44.7 ms to the next drop, and 100/√6 = 40.8 to the one after; else with 1.
#[test]
fn dropping_goes_on_at_the_rate_that_it_had_found() {
    for (start, drops) in [(500, [105, 150, 191]), (3000, [105, 205, 276])] {
        let mut q = bench();
        signals(&mut q, 0, 450, Ecn::NotEct);
        while q.pop(450_000).is_some() {}
        q.dropped();
        assert_eq!(
            signals(&mut q, start, start + 200.max(drops[2] + 1), Ecn::NotEct)[..2],
            drops[..2]
        );
    }
}

#[test]
fn one_packet_is_never_a_standing_queue() {
    let mut q = bench();
    for n in 0..1000_u64 {
        // Two packets of 750 bytes: behind the head no more than a packet of the largest size waits.
        q.push(10_000 * n, sized(0, 750, Ecn::NotEct)).unwrap();
        if n > 1 {
            q.pop(10_000 * n).unwrap();
        }
    }
    assert_eq!(q.dropped(), []);
}

// 2 % must go, 20 packets a second: the fourth drop's spacing.
#[test]
fn a_constant_overload_ends_at_the_target() {
    let left = bench().overload(980, 60_000_000, Ecn::NotEct);
    let late = &left[left.len() / 2..];
    let mean_us = late.iter().map(|(_, wait)| wait).sum::<u64>() / late.len() as u64;
    assert!((2_000..10_000).contains(&mean_us), "{mean_us}");
}
