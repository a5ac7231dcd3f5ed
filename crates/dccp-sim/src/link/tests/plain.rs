//! The fast path of a plain link beside the general path: a link whose faults never happen.

use crate::link::{LinkConfig, LinkStats, WhileDown};
use crate::loss::{FaultConfig, Outage};
use crate::parcel::Parcel;
use crate::queue::{DropTailConfig, Limit, QueueConfig};
use crate::random::Seed;
use core::time::Duration;
use dccp_proto::wire::Ecn;
use dccp_proto::{Instant, Rate};
use proptest::prelude::*;

type Link = super::Link<u32>;

#[derive(Clone, Debug)]
enum Step {
    /// Some packets of one length, with or without one that others overtake.
    Offer(usize, usize, bool),
    Rate(Option<u32>),
    Delay(u64),
    Limit(usize),
    Up(bool),
    /// Takes what has arrived.
    Poll,
    Room,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (1..4_usize, 40..1600_usize, prop::bool::weighted(0.05)).prop_map(|(n, l, h)| Step::Offer(n, l, h)),
        4 => Just(Step::Poll),
        1 => Just(Step::Room),
        1 => prop::option::weighted(0.9, 1_000_000..200_000_000_u32).prop_map(Step::Rate),
        1 => (0..200_000_u64).prop_map(Step::Delay),
        1 => (1..6_usize).prop_map(Step::Limit),
        1 => any::<bool>().prop_map(Step::Up),
    ]
}

fn config() -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::from_bytes_per_s(123e6)),
        delay: Duration::from_micros(100),
        queue: QueueConfig::DropTail(DropTailConfig {
            limit: Limit::Packets(5),
            mark_at: Some(Limit::Packets(3)),
        }),
        ..LinkConfig::default()
    }
}

/// An outage that no test lives to see.
fn seemingly_faulty(config: LinkConfig) -> LinkConfig {
    let start = Instant::FAR_FUTURE;
    let outages = vec![Outage { start, end: start }];
    let faults = FaultConfig {
        outages,
        ..FaultConfig::default()
    };
    LinkConfig { faults, ..config }
}

fn act(link: &mut Link, now: Instant, step: &Step, token: u32) -> Vec<String> {
    match *step {
        Step::Offer(count, len, is_held) => {
            let ecn = if len % 2 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
            let parcels = (token..).take(count).map(|token| Parcel {
                hold: Duration::from_micros(if is_held { 50 } else { 0 }),
                ..Parcel::new(token, len, ecn)
            });
            parcels
                .map(|p| format!("{:?}", link.offer(now, p)))
                .collect()
        }
        Step::Rate(rate) => {
            link.set_rate(now, rate.map(|r| Rate::from_bytes_per_s(r.into())));
            Vec::new()
        }
        Step::Delay(ns) => {
            link.set_delay(now, Duration::from_nanos(ns));
            Vec::new()
        }
        Step::Limit(packets) => {
            link.set_queue_limit(now, Limit::Packets(packets));
            Vec::new()
        }
        Step::Up(is_up) => {
            link.set_up(now, is_up);
            Vec::new()
        }
        Step::Poll => core::iter::from_fn(|| link.poll(now))
            .map(|arrival| format!("{arrival:?}"))
            .collect(),
        Step::Room => vec![format!("{:?}", link.room(now))],
    }
}

fn seen(link: &mut Link, now: Instant) -> (LinkStats, (usize, usize), Duration) {
    assert!(link.is_consistent());
    (link.stats_at(now), link.queue_len(), link.busy_by(now))
}

proptest! {
    #[test]
    fn fast_path_gives_the_results_of_the_general_path(
        loses_while_down: bool,
        steps in prop::collection::vec((0..30_000_u64, step()), 0..80),
    ) {
        let while_down = if loses_while_down { WhileDown::Lose } else { WhileDown::Wait };
        let plain = LinkConfig { while_down, ..config() };
        let mut other = Link::new(seemingly_faulty(plain.clone()), Seed(1), "test");
        let mut plain = Link::new(plain, Seed(1), "test");
        prop_assert!(plain.is_plain && !other.is_plain);
        let mut now = Instant::ZERO;
        let end = [(10_000_000_000, Step::Up(true)), (10_000_000_000, Step::Poll)];
        for (token, (ns, step)) in (0..).step_by(4).zip(steps.into_iter().chain(end)) {
            now += Duration::from_nanos(ns);
            prop_assert_eq!(act(&mut plain, now, &step, token), act(&mut other, now, &step, token));
            prop_assert_eq!(seen(&mut plain, now), seen(&mut other, now));
        }
        prop_assert_eq!(plain.stats().inside, 0);
    }
}
