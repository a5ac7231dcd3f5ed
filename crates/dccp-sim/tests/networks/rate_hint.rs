//! Rate hints: the rate that the network accepts, as connections report it.

use core::time::Duration;
use dccp_proto::{Config, Event, Rate, RateHint};
use dccp_sim::pair::{End, Pair, Profile, Setup};
use dccp_sim::queue::{Limit, QueueConfig};
use dccp_sim::source::App;

/// The rate of a link of 100 kB/s, headers included, in bits per second.
const LINK: u64 = 800_000;

fn hints(ccid: u8, rate_hints: bool, run_for: Duration) -> Vec<RateHint> {
    let config = Config {
        rate_hints,
        ..Config::default()
    };
    let setup = Setup {
        client: Profile::Ours(config).with_ccid(ccid),
        ..Setup::with_server(Profile::ours().with_ccid(ccid))
    };
    let setup = setup.links(|link| {
        link.rate = Some(Rate::from_bytes_per_s(100_000.0));
        link.queue = QueueConfig::drop_tail(Limit::Packets(20));
    });
    let mut pair = Pair::start(setup, App::bulk(1000, u64::MAX), App::default());
    pair.run_for(run_for);
    let events = pair.report(End::Client).events;
    events
        .into_iter()
        .filter_map(|event| match event {
            Event::Rate(hint) => Some(hint),
            _ => None,
        })
        .collect()
}

#[test]
fn the_hint_comes_near_what_the_link_carries() {
    for ccid in [2, 3] {
        let hints = hints(ccid, true, Duration::from_secs(30));
        assert!(
            (2..=300).contains(&hints.len()),
            "CCID {ccid}: {}",
            hints.len()
        );
        let last = hints.last().expect("there are some").bits_per_s;
        assert!(
            (LINK / 2..LINK * 3 / 2).contains(&last),
            "CCID {ccid}: {last}"
        );
        for pair in hints.windows(2) {
            let [old, new] = [pair[0].bits_per_s, pair[1].bits_per_s];
            assert!(old.abs_diff(new) >= old / 8, "CCID {ccid}: {old} {new}");
        }
    }
}

#[test]
fn a_sender_that_requests_no_hint_gets_none() {
    assert_eq!(hints(2, false, Duration::from_secs(5)), []);
}
