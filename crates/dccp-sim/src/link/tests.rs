use super::*;
use crate::loss::Outage;
use crate::queue::Limit;
use proptest::prelude::*;

fn us(n: u64) -> Instant {
    Instant::from_nanos(1000 * n)
}

fn link(config: LinkConfig) -> Link<u32> {
    Link::new(config, Seed(1), "test")
}

/// 1500 bytes in 12 µs, 100 µs of delay, two packets of queue.
fn gigabit() -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::from_bytes_per_s(125e6)),
        delay: Duration::from_micros(100),
        queue: QueueConfig {
            limit: Limit::Packets(2),
            mark_at: None,
        },
        ..LinkConfig::default()
    }
}

fn full(token: u32) -> Parcel<u32> {
    Parcel::new(token, 1500, Ecn::NotEct)
}

/// Runs the link dry as the simulator would: moment, token, fate of each arrival.
fn drain(link: &mut Link<u32>) -> Vec<(Instant, u32, Fate)> {
    let mut arrivals = Vec::new();
    while let Some(at) = link.next_at() {
        while let Some(a) = link.poll(at) {
            arrivals.push((at, a.parcel.token, a.fate));
        }
        assert!(link.is_consistent());
    }
    arrivals
}

#[test]
fn packets_leave_at_the_rate_and_arrive_after_the_delay() {
    let mut link = link(gigabit());
    for token in 0..3 {
        link.offer(us(0), full(token)).unwrap();
    }
    assert_eq!(link.queue_len(), (2, 3000), "one is in the transmitter");
    assert_eq!(
        drain(&mut link),
        [
            (us(112), 0, Fate::Delivered),
            (us(124), 1, Fate::Delivered),
            (us(136), 2, Fate::Delivered)
        ]
    );
    assert_eq!(link.stats().busy, Duration::from_micros(36));
    assert_eq!(link.stats().queue_packets_max, 2);
}

#[test]
fn a_full_queue_drops_until_the_transmitter_takes_the_next() {
    let mut link = link(gigabit());
    for token in 0..3 {
        link.offer(us(0), full(token)).unwrap();
    }
    assert_eq!(link.offer(us(11), full(3)), Err(Loss::Queue));
    assert_eq!(link.offer(us(12), full(4)), Ok(()));
    assert_eq!(link.stats().lost.of(Loss::Queue), 1);
    assert_eq!(
        drain(&mut link).last(),
        Some(&(us(148), 4, Fate::Delivered))
    );
}

#[test]
fn an_idle_link_starts_a_packet_at_once() {
    let mut link = link(gigabit());
    link.offer(us(0), full(0)).unwrap();
    link.offer(us(50), full(1)).unwrap();
    assert_eq!(drain(&mut link)[1].0, us(162));
}

#[test]
fn fractions_of_a_nanosecond_are_not_lost() {
    // 7 bytes per second: 1/7 s per byte.
    let mut link = link(LinkConfig {
        rate: Some(Rate::from_bytes_per_s(7.0)),
        ..gigabit()
    });
    for token in 0..3 {
        link.offer(us(0), Parcel::new(token, 1, Ecn::NotEct))
            .unwrap();
    }
    let last = drain(&mut link)[2].0 - us(100);
    assert_eq!(
        last.as_nanos(),
        428_571_428,
        "3/7 s, not three times 142,857,142 ns"
    );
}

#[test]
fn without_a_rate_nothing_waits() {
    let mut link = link(LinkConfig {
        rate: None,
        ..gigabit()
    });
    for token in 0..9 {
        link.offer(us(5), full(token)).unwrap();
    }
    assert!(drain(&mut link).iter().all(|a| a.0 == us(105)));
    assert_eq!(link.stats().queue_packets_max, 0);
}

#[test]
fn what_is_larger_than_the_mtu_is_dropped_unless_it_may_be_fragmented() {
    let mut link = link(gigabit());
    let big = Parcel::new(0, 1501, Ecn::NotEct);
    assert_eq!(link.offer(us(0), big), Err(Loss::TooBig));
    let divisible = Parcel {
        may_fragment: true,
        ..big
    };
    assert_eq!(link.offer(us(0), divisible), Ok(()));
    assert_eq!(link.stats().lost.of(Loss::TooBig), 1);
    assert!(link.is_consistent());
}

#[test]
fn a_packet_held_back_is_overtaken_even_by_one_that_waited_behind_it() {
    let mut link = link(gigabit());
    let held = Parcel {
        hold: Duration::from_millis(1),
        ..full(0)
    };
    link.offer(us(0), held).unwrap();
    link.offer(us(0), full(1)).unwrap();
    assert_eq!(
        drain(&mut link),
        [
            (us(124), 1, Fate::Delivered),
            (us(1112), 0, Fate::Delivered)
        ]
    );
}

#[test]
fn a_lost_packet_takes_its_time_on_the_link() {
    let mut link = link(LinkConfig {
        faults: FaultConfig {
            outages: vec![Outage {
                start: us(0),
                end: us(1),
            }],
            ..FaultConfig::default()
        },
        ..gigabit()
    });
    link.offer(us(0), full(0)).unwrap();
    link.offer(us(0), full(1)).unwrap();
    assert_eq!(
        drain(&mut link),
        [
            (us(112), 0, Fate::Lost(Loss::Outage)),
            (us(124), 1, Fate::Delivered)
        ]
    );
    assert_eq!(link.stats().delivered, 1);
    assert_eq!(link.stats().lost.of(Loss::Outage), 1);
}

#[test]
fn jitter_keeps_the_order_and_reordering_does_not() {
    let order = |faults| {
        let mut link = link(LinkConfig {
            queue: QueueConfig {
                limit: Limit::Packets(100),
                mark_at: None,
            },
            faults,
            ..gigabit()
        });
        for token in 0..100 {
            link.offer(us(0), full(token)).unwrap();
        }
        drain(&mut link).iter().map(|a| a.1).collect::<Vec<_>>()
    };
    assert!(
        order(FaultConfig {
            jitter: Duration::from_millis(1),
            ..FaultConfig::default()
        })
        .is_sorted()
    );
    let mixed = order(FaultConfig {
        reorder: 0.2,
        reorder_by: Duration::from_micros(30),
        ..FaultConfig::default()
    });
    assert!(!mixed.is_sorted());
    // 30 µs is two and a half packets: nobody is overtaken by more than three.
    for (place, &token) in mixed.iter().enumerate() {
        assert!(place.abs_diff(token as usize) <= 3, "{mixed:?}");
    }
}

proptest! {
    /// However often the link is looked at, the packets arrive at the same moments: laziness shows
    /// nowhere.
    #[test]
    fn looking_more_often_changes_nothing(
        offers in proptest::collection::vec((0..30_u64, 40..1500_usize), 1..60),
        looks in proptest::collection::vec(0..2000_u64, 0..60),
    ) {
        let config = LinkConfig {
            faults: FaultConfig {
                loss: 0.1, reorder: 0.2, reorder_by: Duration::from_micros(40),
                jitter: Duration::from_micros(5), ..FaultConfig::default()
            },
            ..gigabit()
        };
        let run = |looks: &[u64]| {
            let mut link = link(config.clone());
            let mut now = 0;
            let mut log = Vec::new();
            let mut looks = looks.to_vec();
            looks.sort_unstable();
            let mut looks = looks.into_iter().peekable();
            for (token, &(gap, len)) in offers.iter().enumerate() {
                now += gap;
                while let Some(look) = looks.next_if(|l| *l < now) {
                    while let Some(at) = link.next_at().filter(|at| *at <= us(look)) {
                        while let Some(a) = link.poll(at) { log.push((at, a)); }
                    }
                }
                let parcel = Parcel::new(u32::try_from(token).unwrap(), len, Ecn::NotEct);
                let _ = link.offer(us(now), parcel);
                assert!(link.is_consistent());
            }
            while let Some(at) = link.next_at() {
                while let Some(a) = link.poll(at) { log.push((at, a)); }
            }
            log
        };
        prop_assert_eq!(run(&[]), run(&looks));
    }
}
