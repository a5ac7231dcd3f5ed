use super::super::QueueConfig;
use super::super::testing::{Bench, sized};
use super::*;
use dccp_proto::wire::Ecn;

fn of_flow(flow: u64, token: u32, len: usize) -> Parcel<u32> {
    Parcel {
        flow,
        ..sized(token, len, Ecn::NotEct)
    }
}

fn bench(limit: Limit) -> Bench {
    Bench::new(QueueConfig::FqCoDel(FqCoDelConfig {
        limit,
        ..FqCoDelConfig::default()
    }))
}

// One flow offers four times the rate of the link, the other its whole rate: each gets half.
#[test]
fn two_flows_share_the_link_evenly() {
    let mut q = bench(Limit::Packets(10_240));
    let mut served = [0, 0];
    for ms in 0..20_000_u64 {
        for _ in 0..4 {
            q.push(1000 * ms, of_flow(1, 0, 1000)).unwrap();
        }
        q.push(1000 * ms, of_flow(2, 1, 1000)).unwrap();
        served[q.pop(1000 * ms + 500).unwrap().token as usize] += 1;
    }
    assert!((9_950..=10_050).contains(&served[0]), "{served:?}");
}

// Shares are of bytes: packets of 500 bytes leave twice as often as packets of 1000.
#[test]
fn turns_count_bytes() {
    let mut q = bench(Limit::Packets(10_240));
    for _ in 0..60 {
        q.push(0, of_flow(1, 0, 1000)).unwrap();
        q.push(0, of_flow(2, 1, 500)).unwrap();
        q.push(0, of_flow(2, 1, 500)).unwrap();
    }
    let mut served = [0, 0];
    for _ in 0..90 {
        served[q.pop(1).unwrap().token as usize] += 1;
    }
    assert!((28..=32).contains(&served[0]), "{served:?}");
}

#[test]
fn a_sparse_flow_sees_no_queue() {
    let mut q = bench(Limit::Packets(10_240));
    for _ in 0..500 {
        q.push(0, of_flow(1, 0, 1000)).unwrap();
    }
    for ms in 1..100 {
        if ms % 10 == 0 {
            q.push(1000 * ms - 1, of_flow(2, 7, 100)).unwrap();
        }
        let token = q.pop(1000 * ms).unwrap().token;
        assert_eq!(token == 7, ms % 10 == 0, "at {ms} ms");
    }
}

#[test]
fn what_is_too_much_goes_from_the_head_of_the_longest_queue() {
    let mut q = bench(Limit::Packets(100));
    for token in 0..98 {
        q.push(0, of_flow(1, token, 1000)).unwrap();
    }
    for token in 98..100 {
        q.push(0, of_flow(2, token, 1500)).unwrap();
    }
    assert_eq!(q.dropped(), []);
    q.push(0, of_flow(2, 100, 1500)).unwrap();
    let expected: Vec<_> = (0..49).map(|token| (token, Loss::Queue)).collect();
    assert_eq!(q.dropped(), expected, "half of the longest");
    assert_eq!(q.len().0, 101 - 49);
}

#[test]
fn no_more_than_a_batch_is_dropped_at_once() {
    let mut q = bench(Limit::Packets(1000));
    for token in 0..=1000 {
        q.push(0, of_flow(1, token, 1000)).unwrap();
    }
    assert_eq!(q.dropped().len(), DROP_BATCH);
}

#[test]
fn each_flow_has_a_control_loop_of_its_own() {
    let mut q = bench(Limit::Packets(10_240));
    for _ in 0..3000 {
        q.push(0, of_flow(1, 0, 1000)).unwrap();
    }
    let mut sparse_dropped = 0;
    let mut bulk_dropped = 0;
    for ms in 1..1000 {
        if ms % 4 == 0 {
            q.push(1000 * ms - 1, of_flow(2, 7, 100)).unwrap();
        }
        q.pop(1000 * ms).unwrap();
        for (token, reason) in q.dropped() {
            assert_eq!(reason, Loss::Early);
            if token == 7 {
                sparse_dropped += 1;
            } else {
                bulk_dropped += 1;
            }
        }
    }
    assert_eq!(sparse_dropped, 0);
    assert!(bulk_dropped > 5, "{bulk_dropped}");
}
