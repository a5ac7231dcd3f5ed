use super::*;
use crate::link::{Link, LinkConfig, WhileDown};
use crate::loss::Fate;
use crate::random::Seed;
use core::time::Duration;
use dccp_proto::wire::Ecn;
use proptest::prelude::*;

fn disciplines(limit: Limit) -> [QueueConfig; 8] {
    let rate = Rate::from_bytes_per_s(2e5);
    let mut all = [
        QueueConfig::default(),
        QueueConfig::TokenBucket(TokenBucketConfig::with_latency(
            rate,
            3000,
            Duration::from_secs(1),
        )),
        QueueConfig::Red(RedConfig {
            weight: 0.3,
            wait: false,
            ..RedConfig::default()
        }),
        QueueConfig::Red(RedConfig {
            adaptive: Some(AdaptiveRed::default()),
            ..RedConfig::automatic(rate, 700)
        }),
        QueueConfig::CoDel(CoDelConfig::default()),
        QueueConfig::FqCoDel(FqCoDelConfig {
            flows: 3,
            ..FqCoDelConfig::default()
        }),
        QueueConfig::Pie(PieConfig::default()),
        QueueConfig::DualPi2(DualPi2Config::default()),
    ];
    for config in &mut all {
        config.set_limit(limit);
        assert_eq!(config.limit(), limit);
    }
    all
}

#[test]
fn the_defaults_are_possible_and_zero_is_not() {
    for config in disciplines(Limit::Packets(1)) {
        assert_eq!(config.check(), Ok(()));
    }
    for config in &disciplines(Limit::Bytes(0))[1..] {
        let error = config.check().unwrap_err();
        assert!(error.to_string().contains(".limit must be"), "{error}");
        assert_eq!(error.must_be, "at least one packet or byte");
    }
    assert_eq!(
        disciplines(Limit::Packets(0))[0].check(),
        Ok(()),
        "no queue"
    );
}

#[test]
fn impossible_settings_are_named() {
    let red = |c: RedConfig| QueueConfig::Red(c).check().unwrap_err().to_string();
    let base = RedConfig::default();
    assert_eq!(
        red(RedConfig {
            max_threshold: 5.0,
            ..base
        }),
        "red.max_threshold must be above red.min_threshold"
    );
    assert_eq!(
        red(RedConfig { max_p: 1.1, ..base }),
        "red.max_p must be from 0 to 1"
    );
    assert_eq!(
        red(RedConfig {
            weight: f64::NAN,
            ..base
        }),
        "red.weight must be from 0 to 1"
    );
    let error = QueueConfig::CoDel(CoDelConfig {
        interval: Duration::from_millis(5),
        ..CoDelConfig::default()
    });
    assert_eq!(
        error.check().unwrap_err().to_string(),
        "codel.interval must be above codel.target"
    );
    let error = QueueConfig::DualPi2(DualPi2Config {
        coupling: 0.5,
        ..DualPi2Config::default()
    });
    assert_eq!(
        error.check().unwrap_err().to_string(),
        "dualpi2.coupling must be 1 or more"
    );
    let error = QueueConfig::TokenBucket(TokenBucketConfig {
        rate: Rate::from_bytes_per_s(0.0),
        burst: 1500,
        limit: Limit::Packets(1),
    });
    assert_eq!(
        error.check().unwrap_err().to_string(),
        "token_bucket.rate must be above 0 and finite"
    );
}

/// A step of a random test of a link.
#[derive(Clone, Copy, Debug)]
enum Step {
    Offer { len: usize, ecn: u8, flow: u64 },
    Wait(u64),
    Up(bool),
    Limit(usize),
    Rate(f64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (40..1500_usize, 0..4_u8, 0..9_u64).prop_map(|(len, ecn, flow)| Step::Offer { len, ecn, flow }),
        4 => (0..40_000_u64).prop_map(Step::Wait),
        1 => any::<bool>().prop_map(Step::Up),
        1 => (1..40_usize).prop_map(Step::Limit),
        1 => (1e4..1e7_f64).prop_map(Step::Rate),
    ]
}

proptest! {
    /// Whatever comes when, and whatever changes: each packet is refused at once, or ends once, with a
    /// fate; nothing is above its limit, and packets of a flow keep their order.
    #[test]
    fn every_packet_has_one_fate(
        steps in proptest::collection::vec(step(), 1..300),
        loses in any::<bool>(),
        bytes in any::<bool>(),
    ) {
        let limit = if bytes { Limit::Bytes(20_000) } else { Limit::Packets(20) };
        for queue in disciplines(limit) {
            let config = LinkConfig {
                rate: Some(Rate::from_bytes_per_s(1e5)),
                queue,
                while_down: if loses { WhileDown::Lose } else { WhileDown::Wait },
                ..LinkConfig::default()
            };
            let mut link = Link::new(config, Seed(1), "test");
            let mut now = Instant::ZERO;
            let mut ended = Vec::new();
            let fate_of = |link: &mut Link<usize>, now, ended: &mut Vec<bool>| {
                while let Some(arrival) = link.poll(now) {
                    assert!(!ended[arrival.token], "{queue:?}: a second fate");
                    ended[arrival.token] = true;
                    assert!(matches!(arrival.fate, Fate::Delivered | Fate::Lost(_)));
                }
                assert!(link.is_consistent(), "{queue:?}: {:?}", link.stats());
            };
            for &step in &steps {
                match step {
                    Step::Offer { len, ecn, flow } => {
                        let token = ended.len();
                        let parcel = Parcel { flow, ..Parcel::new(token, len, Ecn::from_bits(ecn)) };
                        ended.push(link.offer(now, parcel).is_err());
                    }
                    Step::Wait(us) => now += Duration::from_micros(us),
                    Step::Up(is_up) => link.set_up(now, is_up),
                    Step::Limit(packets) => link.set_queue_limit(now, Limit::Packets(packets)),
                    Step::Rate(rate) => link.set_rate(now, Some(Rate::from_bytes_per_s(rate))),
                }
                fate_of(&mut link, now, &mut ended);
            }
            link.set_up(now, true);
            while let Some(at) = link.next_at() {
                now = now.max(at);
                fate_of(&mut link, now, &mut ended);
            }
            prop_assert!(ended.iter().all(|e| *e), "{:?}: {:?}", queue, link.stats());
            prop_assert_eq!(link.stats().inside, 0);
        }
    }
}
