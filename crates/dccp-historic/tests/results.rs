//! One simulated flow per law and per implementation of a CCID: the same bits on every machine.
//!
//! `results.txt` stores the packets that left and were lost, and a hash of the window or the rate each 10 ms.
//! `UPDATE=1 cargo test -p dccp-historic --test results` stores new results. Each difference needs a reason.

use core::fmt::Write as _;
use core::time::Duration;
use dccp_proto::{Config, Rate};
use dccp_sim::pair::{End, Pair, Profile, Setup};
use dccp_sim::queue::{Limit, QueueConfig};
use dccp_sim::source::App;
use std::fs;
use std::path::Path;

/// 8 Mbit/s, a round trip of 60 ms and a queue of half a product: many congestion events in a minute. A few random
/// losses make the events differ.
fn links(setup: Setup) -> Setup {
    setup.links(|link| {
        link.rate = Some(Rate::from_bytes_per_s(1e6));
        link.delay = Duration::from_millis(30);
        link.queue = QueueConfig::drop_tail(Limit::Packets(30));
        link.faults.loss = 1e-4;
    })
}

/// Runs one flow for a minute and returns its line of `results.txt`.
fn result(name: &str, ccid: u8, config: Config) -> String {
    let end = Profile::Ours(config).with_ccid(ccid);
    let setup = links(Setup {
        client: end.clone(),
        server: end,
        ..Setup::default()
    });
    let mut pair = Pair::untraced(setup);
    pair.listen(App::default());
    pair.connect(App::bulk(1000, u64::MAX));
    let mut samples = blake3::Hasher::new();
    for _ in 0..6000 {
        pair.run_for(Duration::from_millis(10));
        let host = pair.world.node(pair.host(End::Client));
        let state = host.snapshot(0).map(|snapshot| snapshot.tx);
        let window = state.as_ref().and_then(|tx| tx.cwnd_packets);
        let rate = state.and_then(|tx| tx.rate).map(Rate::bytes_per_s);
        for value in [window, rate] {
            samples.update(&value.unwrap_or_default().to_bits().to_be_bytes());
        }
    }
    let sent = pair.report(End::Client).sent;
    let lost = pair.world.link_stats(pair.there).lost.total();
    let hash = samples.finalize().to_hex();
    format!("{name:18} {sent:6} {lost:5} {}", &hash[..16])
}

fn results() -> String {
    let mut lines = String::from("# name              sent  lost hash\n");
    for name in dccp_historic::law_names() {
        let law = dccp_historic::law(name).expect("a name in the list");
        let config = Config {
            law,
            audit: false,
            ..Config::default()
        };
        let _ = writeln!(lines, "{}", result(name, 2, config));
    }
    for name in dccp_historic::CCID_NAMES {
        let ccids = dccp_historic::ccid(name).expect("a name in the list");
        let ccid = ccids.iter().find(|ccid| ccid.name() == *name);
        let number = ccid.expect("its own name").number();
        let config = Config {
            ccids,
            audit: false,
            ..Config::default()
        };
        let _ = writeln!(lines, "{}", result(name, number, config));
    }
    lines
}

#[test]
fn results_are_as_stored() {
    let results = results();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/results.txt");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, &results).expect("the results are written");
    }
    let stored = fs::read_to_string(path).expect("stored results");
    for (new, old) in results.lines().zip(stored.lines()) {
        assert_eq!(new, old, "UPDATE=1 stores new results");
    }
    assert_eq!(results.lines().count(), stored.lines().count());
}
