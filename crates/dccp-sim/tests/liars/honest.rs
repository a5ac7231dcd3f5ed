//! Honest receivers pass all audits, whatever the path does (4340-12.3-2).

use core::time::Duration;
use dccp_proto::{Config, Event, Rate};
use dccp_sim::loss::Jitter;
use dccp_sim::pair::{End, Pair, Profile, Setup};
use dccp_sim::queue::{Limit, QueueConfig};
use dccp_sim::source::App;
use dccp_sim::{Seed, Stream};

/// A run per seed: half of them with the profile of Linux as receiver, a third with data in both directions.
const SEEDS: u64 = 60;

/// A path with loss, duplication, reordering and jitter, each by chance.
fn setup(seed: u64, server: Profile, stream: &mut Stream) -> Setup {
    let mut any = |most: f64| stream.unit() * most;
    let delay = Duration::from_secs_f64(0.001 + any(0.05));
    let rate = Rate::from_bytes_per_s(1e5 + any(2e6));
    let mut setup = Setup {
        seed,
        server,
        ..Setup::default().links(|link| {
            link.delay = delay;
            link.rate = Some(rate);
            link.queue = QueueConfig::drop_tail(Limit::Packets(30));
        })
    };
    for link in [&mut setup.there, &mut setup.back] {
        link.faults.loss = any(0.03);
        link.faults.duplicate = any(0.05);
        link.faults.reorder = any(0.05);
        link.faults.reorder_by = delay.mul_f64(any(2.0));
        link.faults.jitter = Jitter::Uniform(delay.mul_f64(any(0.3)));
        link.faults.may_overtake = any(1.0) > 0.5;
    }
    setup
}

#[test]
fn honest_receivers_pass_all_audits() {
    let mut audits = 0;
    for seed in 0..SEEDS {
        let mut stream = Seed(seed).stream("path");
        let is_linux = seed % 2 == 1;
        let server = if is_linux {
            Profile::linux().with_ccid(2)
        } else {
            Profile::ours().with_ccid(2)
        };
        let setup = Setup {
            client: Profile::ours().with_ccid(2),
            ..setup(seed, server, &mut stream)
        };
        let bulk = App::bulk(1000, u64::MAX);
        let answers = if seed % 3 == 0 {
            bulk.clone()
        } else {
            App::default()
        };
        let mut pair = Pair::untraced(setup);
        pair.listen(answers);
        pair.connect(bulk);
        pair.world.run_for(Duration::from_secs(20));
        let stats = pair.world.node(pair.host(End::Client)).stats(0);
        assert_eq!(stats.counters.misreports, 0, "seed {seed}");
        let report = pair.report(End::Client);
        assert!(!report.events.contains(&Event::Misreport), "seed {seed}");
        assert_eq!(report.reset, None, "seed {seed}");
        audits += stats.counters.audits;
    }
    println!("{audits} audits in {SEEDS} runs");
    assert!(audits > 10 * SEEDS);
}

#[test]
fn strict_mode_and_the_switch_turn_audits_off() {
    for config in [
        Config {
            audit: false,
            ..Config::default()
        },
        Config {
            strict: true,
            ..Config::default()
        },
    ] {
        let setup = Setup {
            client: Profile::Ours(config).with_ccid(2),
            ..Setup::default()
        };
        let mut pair =
            Pair::untraced(setup.links(|link| link.rate = Some(Rate::from_bytes_per_s(1e6))));
        pair.listen(App::default());
        pair.connect(App::bulk(1000, u64::MAX));
        pair.world.run_for(Duration::from_secs(5));
        let stats = pair.world.node(pair.host(End::Client)).stats(0);
        assert!(stats.counters.data_acked > 1000);
        assert_eq!(stats.counters.audits, 0);
    }
}
