mod plain;

use super::*;
use crate::loss::{Jitter, Outage};
use crate::queue::Limit;
use dccp_proto::wire::Ecn;
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
        queue: QueueConfig::drop_tail(Limit::Packets(2)),
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
            arrivals.push((at, a.token, a.fate));
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
            queue: QueueConfig::drop_tail(Limit::Packets(100)),
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
            jitter: Jitter::Uniform(Duration::from_millis(1)),
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
    // 30 µs is two and a half packets: no packet is overtaken by more than three.
    for (place, &token) in mixed.iter().enumerate() {
        assert!(place.abs_diff(token as usize) <= 3, "{mixed:?}");
    }
}

/// Three packets at once: one passes, one waits for 12 µs, one for 24.
#[test]
fn the_queue_is_accounted_over_time() {
    let mut link = link(gigabit());
    for token in 0..3 {
        link.offer(us(0), full(token)).unwrap();
    }
    let early = link.stats_at(us(6));
    assert_eq!(
        (early.queue_packet_ns, early.queue_byte_ns),
        (12_000, 18_000_000)
    );
    let stats = link.stats_at(us(36));
    assert_eq!(
        (stats.queue_packet_ns, stats.queue_byte_ns),
        (36_000, 54_000_000)
    );
    assert_eq!((stats.dequeued, stats.at), (3, us(36)));
    assert_eq!(stats.sojourn_sum, Duration::from_micros(36));
    assert_eq!(stats.sojourn_max, Duration::from_micros(24));
    assert_eq!(
        stats.mean_queue_since(&LinkStats::default()),
        Some((1.0, 1500.0))
    );
    let sojourn = stats.mean_sojourn_since(&LinkStats::default());
    assert_eq!(sojourn, Some(Duration::from_micros(12)));
    assert_eq!(stats.mean_sojourn_since(&stats), None);
    assert_eq!(stats.mean_queue_since(&stats), None);
}

#[test]
fn a_rate_that_changes_moves_the_packet_in_transmission() {
    for hold in [Duration::ZERO, Duration::from_micros(1)] {
        let mut link = link(gigabit());
        for token in 0..2 {
            link.offer(
                us(0),
                Parcel {
                    hold,
                    ..full(token)
                },
            )
            .unwrap();
        }
        link.set_rate(us(6), Some(Rate::from_bytes_per_s(62.5e6)));
        let hold_us = u64::try_from(hold.as_micros()).unwrap();
        let arrivals = drain(&mut link).iter().map(|a| a.0).collect::<Vec<_>>();
        assert_eq!(arrivals, [us(118 + hold_us), us(142 + hold_us)]);
        assert_eq!(link.stats().busy, Duration::from_micros(42));
    }
}

#[test]
fn a_link_that_is_down_keeps_or_loses_what_waits() {
    for (while_down, arrivals) in [
        (
            WhileDown::Wait,
            vec![(us(112), 0), (us(212), 1), (us(224), 2)],
        ),
        (WhileDown::Lose, vec![(us(112), 0)]),
    ] {
        let mut link = link(LinkConfig {
            while_down,
            ..gigabit()
        });
        for token in 0..2 {
            link.offer(us(0), full(token)).unwrap();
        }
        link.set_up(us(6), false);
        assert!(!link.is_up());
        let taken = link.offer(us(10), full(2));
        assert_eq!(taken.is_ok(), while_down == WhileDown::Wait);
        assert!(link.stats_at(us(100)).delivered == 0 && link.is_consistent());
        link.set_up(us(100), true);
        let delivered = drain(&mut link)
            .into_iter()
            .filter(|a| a.2 == Fate::Delivered);
        assert_eq!(delivered.map(|a| (a.0, a.1)).collect::<Vec<_>>(), arrivals);
        let lost = link.stats().lost.of(Loss::Outage);
        assert_eq!(lost, 3 - arrivals.len() as u64);
    }
}

#[test]
fn a_shorter_queue_loses_its_head() {
    let mut link = link(gigabit());
    for token in 0..3 {
        link.offer(us(0), full(token)).unwrap();
    }
    link.set_queue_limit(us(1), Limit::Packets(1));
    let arrivals = drain(&mut link);
    assert_eq!(arrivals[0].1, 1);
    assert_eq!(arrivals[0].2, Fate::Lost(Loss::Queue));
    assert_eq!(
        arrivals[1..],
        [(us(112), 0, Fate::Delivered), (us(124), 2, Fate::Delivered)]
    );
}

#[test]
fn a_shorter_delay_lets_packets_overtake_if_they_may() {
    for (may_overtake, first) in [(false, 0), (true, 1)] {
        let mut link = link(gigabit());
        let faults = FaultConfig {
            may_overtake,
            ..FaultConfig::default()
        };
        link.set_faults(us(0), faults);
        link.offer(us(0), full(0)).unwrap();
        link.set_delay(us(12), Duration::from_micros(10));
        link.offer(us(12), full(1)).unwrap();
        assert_eq!(drain(&mut link)[0].1, first);
    }
}

/// Opportunities at 1, 2, 5 ms: the second packet of 1000 bytes ends in the second one, and what is left
/// of that serves the third packet and the first bytes of the fourth.
#[test]
fn a_trace_gives_the_moments_at_which_packets_leave() {
    let mut link = link(LinkConfig {
        rate: None,
        trace: Some(RateTrace::parse("1\n2\n5").unwrap()),
        delay: Duration::ZERO,
        queue: QueueConfig::default(),
        ..LinkConfig::default()
    });
    for token in 0..4 {
        link.offer(us(100), Parcel::new(token, 1000, Ecn::NotEct))
            .unwrap();
    }
    let left: Vec<_> = drain(&mut link).iter().map(|a| a.0).collect();
    assert_eq!(left, [us(1000), us(2000), us(2000), us(5000)]);
    assert_eq!(link.stats().queue_packets_max, 4, "nothing goes at once");
}

#[test]
fn a_link_can_be_checked() {
    assert_eq!(gigabit().check(), Ok(()));
    let both = LinkConfig {
        trace: Some(RateTrace::parse("1").unwrap()),
        ..gigabit()
    };
    assert_eq!(
        both.check().unwrap_err().to_string(),
        "trace must be given without a rate"
    );
    let mut bad = gigabit();
    bad.faults.loss = -0.1;
    assert_eq!(
        bad.check().unwrap_err().to_string(),
        "faults.loss must be from 0 to 1"
    );
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
                jitter: Jitter::Uniform(Duration::from_micros(5)), ..FaultConfig::default()
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
