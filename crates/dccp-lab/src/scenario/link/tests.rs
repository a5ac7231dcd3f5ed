//! Sections of links, and the links that they give.

use super::super::document;
use super::*;
use dccp_proto::Rate;
use dccp_sim::queue::{DropTailConfig, Limit};

fn read(keys: &str) -> Result<Vec<Link>, String> {
    let text = format!("link = [{{ from = \"a\", to = [\"b\", \"c\"], {keys} }}]");
    let mut mistakes = Mistakes::default();
    let mut document = document::parse(&text, &mut mistakes).expect("TOML");
    complete_back(&mut document, &mut mistakes);
    let table = &tables(&document)[0];
    let keys = document::read::<At<LinkKeys>>(table, &mut mistakes);
    let nodes = ["a", "b", "c"].map(str::to_owned);
    let links = keys.map(|keys| links(&keys, table, &nodes, Path::new(""), &mut mistakes));
    if mistakes.is_empty() {
        let links = links.unwrap_or_default().into_iter();
        return Ok(links.map(|new| new.link).collect());
    }
    Err(mistakes.into_errors("f", &text).remove(0).what)
}

fn there(keys: &str) -> LinkConfig {
    read(keys)
        .unwrap_or_else(|what| panic!("{keys}: {what}"))
        .remove(0)
        .there
}

fn what(keys: &str) -> String {
    read(keys).expect_err(keys)
}

const LINK: &str = "rate = \"8Mbit\", rtt = \"20ms\"";

fn queue_of(keys: &str) -> QueueConfig {
    there(&format!("{LINK}, {keys}")).queue
}

#[test]
fn section_gives_a_link_per_pair_of_ends() {
    let links = read("id = \"x\", rate = \"1Mbit\", delay = \"2ms\", back = { delay = \"9ms\" }");
    let links = links.expect("links");
    let ids: Vec<&str> = links.iter().map(|l| l.id.as_str()).collect();
    assert_eq!(ids, ["x.b", "x.c"]);
    let ms = Duration::from_millis;
    assert_eq!((links[0].there.delay, links[0].back.delay), (ms(2), ms(9)));
    assert_eq!(links[0].there.rate, links[0].back.rate);
    let links = read("rtt = \"20ms\"").expect("links");
    assert_eq!(
        (links[1].id.as_str(), links[1].there.delay),
        ("a-c", ms(10))
    );
}

#[test]
fn queue_size_has_four_forms() {
    for (queue, limit) in [
        ("100p", Limit::Packets(100)),
        ("64KiB", Limit::Bytes(65_536)),
        // 1 MB/s: 12 ms are 12 kB, the product is 20 kB.
        ("12ms", Limit::Bytes(12_000)),
        ("bdp", Limit::Bytes(20_000)),
        ("bdp*0.25", Limit::Bytes(5000)),
    ] {
        let config = queue_of(&format!("queue = \"{queue}\""));
        assert_eq!(config, QueueConfig::drop_tail(limit), "{queue}");
    }
    let marking = queue_of("queue = \"9p\", mark_at = \"3p\"");
    assert_eq!(
        marking,
        QueueConfig::DropTail(DropTailConfig {
            limit: Limit::Packets(9),
            mark_at: Some(Limit::Packets(3)),
        })
    );
}

#[test]
fn discipline_takes_its_settings_and_the_queue_size() {
    let ms = Duration::from_millis;
    let QueueConfig::Red(red) = queue_of("aqm = { kind = \"red\", min = 7, ecn = true }") else {
        panic!("RED");
    };
    assert_eq!(
        (red.min_threshold, red.max_threshold, red.ecn),
        (7.0, 15.0, true)
    );
    let QueueConfig::CoDel(codel) = queue_of("aqm = { kind = \"codel\", target = \"9ms\" }") else {
        panic!("CoDel");
    };
    assert_eq!((codel.target, codel.interval), (ms(9), ms(100)));
    let QueueConfig::FqCoDel(fq) = queue_of("aqm = { kind = \"fq_codel\", flows = 8 }") else {
        panic!("FQ-CoDel");
    };
    assert_eq!((fq.flows, fq.codel.target), (8, ms(5)));
    let QueueConfig::Pie(pie) = queue_of("aqm = { kind = \"pie\", target = \"3ms\" }") else {
        panic!("PIE");
    };
    assert_eq!((pie.target, pie.update), (ms(3), ms(15)));
    let QueueConfig::DualPi2(dual) = queue_of("aqm = \"dualpi2\", queue = \"77p\"") else {
        panic!("DualPI2");
    };
    assert_eq!(dual.limit, Limit::Packets(77));
    let tbf = there("rate = \"400kbit\", aqm = \"tbf\", burst = \"10KiB\", latency = \"100ms\"");
    let QueueConfig::TokenBucket(bucket) = tbf.queue else {
        panic!("a token bucket");
    };
    assert_eq!((tbf.rate, bucket.burst), (None, 10_240));
    assert_eq!(bucket.limit, Limit::Bytes(15_240));
}

#[test]
fn faults_are_set() {
    let faults = there(
        "loss = \"1%\", ber = 1e-9, duplicate = 0.5, corrupt = 0.25, reorder = \"2%\", \
         reorder_by = \"5ms\", jitter = \"1ms\", outages = [\"1s..2s\"], ge = { loss = 0.1, burst = 5 }",
    )
    .faults;
    assert_eq!((faults.loss, faults.bit_error_rate), (0.01, 1e-9));
    assert_eq!(
        (faults.duplicate, faults.corrupt, faults.reorder),
        (0.5, 0.25, 0.02)
    );
    assert_eq!(faults.reorder_by, Duration::from_millis(5));
    assert_eq!(faults.bursts, Some(GilbertElliott::bursts(0.1, 5.0)));
    let outage = &faults.outages[0];
    assert_eq!(
        (outage.start.as_nanos(), outage.end.as_nanos()),
        (1_000_000_000, 2_000_000_000)
    );
}

#[test]
fn impossible_settings_are_refused() {
    for (keys, said) in [
        ("queue = \"9p\"", "a link without a rate has no queue"),
        ("aqm = \"pie\"", "a link without a rate has no queue"),
        (
            "rate = \"1kbit\", queue = \"1ms\"",
            "this is 0 bytes here, less than a packet",
        ),
        (
            "rate = \"1Mbit\", trace = \"none\"",
            "none cannot be read: ",
        ),
        (
            "reorder = 0.1",
            "reorder needs reorder_by, the time for which packets are held back",
        ),
        (
            "outages = [\"2s..1s\"]",
            "'2s..1s' ends no later than it begins",
        ),
        ("mtu = \"100B\"", "an MTU of 100 bytes is not possible"),
        (
            "rate = \"1Mbit\", aqm = { kind = \"pie\", max_p = 1 }",
            "pie has no use for max_p",
        ),
        (
            "rate = \"1Mbit\", aqm = { kind = \"codel\", target = \"2s\" }",
            "codel.interval is not possible here",
        ),
        (
            "ge = { loss = 0.9, burst = 1 }",
            "this much loss leaves no time between bursts",
        ),
        ("back = { id = \"y\" }", "back has no use for id"),
    ] {
        assert!(what(keys).starts_with(said), "{keys}: {}", what(keys));
    }
}

#[test]
fn changes_apply_to_both_directions_unless_back_has_its_own() {
    let what = |back: &str| -> Vec<(u64, bool, Alteration)> {
        let keys = format!(
            "{LINK}, changes = [{{ at = \"1s\", rate = \"16Mbit\", delay = \"1ms\", queue = \"bdp\" }}]{back}"
        );
        let link = read(&keys).expect("links").remove(0);
        (link.changes.iter())
            .map(|c| (c.at.as_secs(), c.is_back, c.what))
            .collect()
    };
    // 2 MB/s times 2 ms.
    let there = [
        Alteration::Rate(Rate::from_bytes_per_s(2e6)),
        Alteration::Delay(Duration::from_millis(1)),
        Alteration::Queue(Limit::Bytes(4000)),
    ];
    let of = |is_back| there.map(|what| (1, is_back, what));
    assert_eq!(what(""), [of(false), of(true)].concat());
    let none = what(", back = { changes = [] }");
    assert_eq!(none, of(false));
    let own = what(", back = { changes = { at = \"2s\", up = false } }");
    assert_eq!(own[3..], [(2, true, Alteration::Up(false))]);
}
