//! Tests flows on a bottleneck of 2000 packets/s and 100 ms.

use super::*;
use crate::cc::config::CcConfig;
use crate::cc::fixtures::{Fate, Net, config, us};
use crate::cc::law::bench::check_sawtooth;

/// A flow alone on the bottleneck, with a queue of `queue` packets.
fn bottleneck(queue: u64) -> Net {
    let mut net = Net::new(
        2,
        &CcConfig {
            law: Config::default().into(),
            is_paced: true,
            rtt: Some(ms(100)),
            ..config()
        },
    );
    net.delay = ms(50);
    net.service = us(500);
    net.queue_max = queue;
    net
}

#[test]
fn flow_fills_the_pipe_and_keeps_the_queue_short() {
    let mut net = bottleneck(400);
    net.run(at(10_000), |_| ());
    let (sent, mut longest) = (net.log.len(), ms(0));
    net.run(at(30_000), |net| {
        longest = longest.max(net.sender.snapshot().rtt.unwrap_or_default());
    });
    let sent = net.log.len() - sent;
    assert!((37_600..=40_400).contains(&sent), "{sent} of 40000");
    assert!(longest < ms(180), "{longest:?}");
}

#[test]
fn queue_is_emptied_every_5_s() {
    let mut net = bottleneck(400);
    let mut times = Vec::new();
    let mut was_probing = false;
    net.run(at(40_000), |net| {
        let inner = net.sender.snapshot().inner;
        let is_probing = inner.contains(&("phase", Phase::ProbeRtt.number()));
        if is_probing && !was_probing {
            times.push(net.now);
        }
        was_probing = is_probing;
    });
    assert!((5..=9).contains(&times.len()), "{times:?}");
    assert!(times.windows(2).all(|t| t[1] - t[0] >= ms(4900)));
    assert!(!was_probing || times.last().is_some_and(|t| net.now - *t < ms(2000)));
}

#[test]
fn one_lost_packet_in_a_hundred_leaves_most_of_the_rate_and_passes() {
    let mut net = bottleneck(400);
    // Each round trip with losses lowers the bound by the lost packets and by the margin of pacing. A probe
    // every 2 to 3 s removes it. Reno would keep 12 packets per round trip, 6 % of the rate.
    net.fate = Box::new(|n| {
        if n < 60_000 && n % 100 == 99 {
            Fate::Lost
        } else {
            Fate::Arrives
        }
    });
    net.run(at(10_000), |_| ());
    let sent = net.log.len();
    net.run(at(30_000), |_| ());
    let lossy = net.log.len() - sent;
    assert!((24_000..=36_000).contains(&lossy), "{lossy} of 40000");
    net.run(at(50_000), |_| ());
    let sent = net.log.len();
    net.run(at(70_000), |_| ());
    let clean = net.log.len() - sent;
    assert!(clean > 37_600, "{clean} of 40000");
}

#[test]
fn random_loss_of_one_percent_does_not_lower_the_rate_further_and_further() {
    for seed in 0..3_u64 {
        let mut net = bottleneck(400);
        net.fate = Box::new(move |n| {
            if hash(Instant::from_nanos(n * 7919 + seed * 1_000_003)).is_multiple_of(100) {
                Fate::Lost
            } else {
                Fate::Arrives
            }
        });
        net.run(at(60_000), |_| ());
        let sent = net.log.len();
        net.run(at(120_000), |_| ());
        let sent = net.log.len() - sent;
        assert!(sent > 72_000, "seed {seed}: {sent} of 120000");
    }
}

#[test]
fn flow_finds_ten_times_the_bandwidth() {
    let mut net = bottleneck(400);
    net.run(at(10_000), |_| ());
    net.service = us(50);
    net.run(at(40_000), |_| ());
    let rate = net.rate() / 1000.0;
    assert!(rate > 17_000.0, "{rate}");
    // A tenth of the bandwidth does not lose all packets.
    net.service = us(500);
    net.run(at(60_000), |_| ());
    let rate = net.rate() / 1000.0;
    assert!((1500.0..=3000.0).contains(&rate), "{rate}");
}

#[test]
fn sawtooth_is_as_stored() {
    check_sawtooth(
        Config::default().into(),
        include_str!("../../sawtooth/bbr.txt"),
    );
}
