//! SafeUDP beside others on one bottleneck.

use super::net::{Kind, Net, bottleneck, bulk, cbr, poisson};
use dccp_proto::cc::law::{LawConfig, cubic};
use dccp_proto::number::to_f64;
use dccp_sim::queue::QueueConfig;
use dccp_sim::queue::codel::CoDelConfig;
use dccp_sim::queue::red::RedConfig;
use dccp_sim::source::App;

/// The bottleneck of these tests in Mbit/s, and its one-way delay in ms.
const RATE: f64 = 20.0;
const DELAY: u64 = 20;
/// Ten times the fair rate of one of two flows.
const GREEDY: f64 = 10.0 * RATE / 2.0 * 1e6;

fn reno() -> Kind {
    Kind::Tcp(LawConfig::default())
}

/// Mbit/s of the first flow, a greedy one that has run for ten seconds, after `wait` seconds beside the second one.
fn beside(first: Kind, second: Kind, app: App, wait: u64, seed: u64) -> f64 {
    let mut net = Net::new(seed, bottleneck(RATE, DELAY), &[first, second]);
    net.start(0, bulk());
    net.run_s(10);
    net.start(1, app);
    net.run_s(wait);
    net.rate_over(0, 60)
}

/// The median of three seeds.
fn median(rate: impl Fn(u64) -> f64) -> f64 {
    let mut rates = [1, 2, 3].map(rate);
    rates.sort_by(f64::total_cmp);
    rates[1]
}

#[test]
fn reno_keeps_half_of_its_share_beside_an_application_that_ignores_everything() {
    let fair = median(|seed| beside(reno(), reno(), bulk(), 30, seed));
    let ignored = median(|seed| beside(reno(), Kind::safe_udp(), cbr(GREEDY), 30, seed));
    let udp = median(|seed| beside(reno(), Kind::Udp, cbr(GREEDY), 30, seed));
    assert!(ignored >= fair / 2.0, "{ignored} of {fair}");
    assert!(udp < fair / 20.0, "{udp} of {fair}");
}

#[test]
fn reno_keeps_half_of_its_share_beside_an_obedient_application_after_ten_seconds() {
    let fair = median(|seed| beside(reno(), reno(), bulk(), 30, seed));
    let app = || App {
        obeys: true,
        ..cbr(GREEDY)
    };
    let obeyed = median(|seed| beside(reno(), Kind::safe_udp(), app(), 10, seed));
    assert!(obeyed >= fair / 2.0, "{obeyed} of {fair}");
}

#[test]
fn cubic_and_ccid_3_are_not_starved() {
    let cubic = || Kind::Tcp(LawConfig::from(cubic::Config::default()));
    for other in [cubic(), Kind::Ccid3] {
        let fair = beside(other.clone(), reno(), bulk(), 30, 1);
        let ignored = beside(other, Kind::safe_udp(), cbr(GREEDY), 30, 1);
        assert!(ignored >= fair / 2.0, "{ignored} of {fair}");
    }
}

#[test]
fn enforced_rate_varies_little_in_steady_overload() {
    for overload in [1.5, 2.0, 10.0] {
        let mut net = Net::new(1, bottleneck(RATE, DELAY), &[Kind::safe_udp()]);
        net.start(0, cbr(overload * RATE * 1e6));
        net.run_s(60);
        let (mut caps, mut delivered) = (Vec::new(), Vec::new());
        for _ in 0..240 {
            delivered.push(net.rate_over(0, 1));
            let cap = net.sent(0).cc.rate.expect("an enforced rate");
            caps.push(cap.bits_per_s() * 1e-6);
        }
        let (variation, _) = variation(&caps);
        let (of_delivered, mean) = self::variation(&delivered);
        println!("{overload}: cap {variation:.3}, delivered {of_delivered:.3}, {mean:.1} Mbit/s");
        assert!(variation <= 0.2, "{overload}: {variation}");
        assert!(of_delivered <= 0.2, "{overload}: {of_delivered}");
        assert!(mean > 0.4 * RATE, "{overload}: {mean}");
    }
}

/// The coefficient of variation, and the mean.
fn variation(rates: &[f64]) -> (f64, f64) {
    let n = to_f64(rates.len() as u64);
    let mean = rates.iter().sum::<f64>() / n;
    let variance = rates.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / n;
    (variance.sqrt() / mean, mean)
}

#[test]
fn flow_a_fifth_above_its_fair_share_does_not_trip_in_an_hour() {
    for seed in 1..=3 {
        let mut net = Net::new(seed, bottleneck(4.0, DELAY), &[Kind::safe_udp(), reno()]);
        net.start(1, bulk());
        net.run_s(5);
        net.start(0, cbr(1.2 * 2e6));
        for minute in 0..60 {
            net.run_s(60);
            // A trip is forgiven later than this.
            let state = net.state(0);
            assert!(
                !matches!(state, "throttled" | "open" | "over"),
                "{seed}: {state} in minute {minute}"
            );
            assert!(net.inner(0, "trips").abs() < 0.5, "{seed}, minute {minute}");
        }
    }
}

/// With headers the load is 108 %, and a loss of 8 % is less than what the loss breaker allows.
#[test]
fn hundred_flows_share_a_bottleneck_without_a_trip() {
    let kinds = vec![Kind::safe_udp(); 100];
    let mut net = Net::new(1, bottleneck(RATE, DELAY), &kinds);
    for flow in 0..100 {
        net.start(flow, poisson(1.05 * RATE * 1e4, flow));
        net.world.run_for(core::time::Duration::from_millis(17));
    }
    net.run_s(120);
    let received: Vec<f64> = (0..100)
        .map(|flow| to_f64(net.received(flow).received_bytes))
        .collect();
    let (sum, squares) = (
        received.iter().sum::<f64>(),
        received.iter().map(|r| r * r).sum::<f64>(),
    );
    let jain = sum * sum / (100.0 * squares);
    assert!(jain > 0.9, "{jain}");
    let ends: Vec<_> = (0..100).filter_map(|flow| net.report(flow).reset).collect();
    assert_eq!(ends, []);
    let rate = sum * 8e-6 / 120.0;
    assert!(rate > 0.6 * RATE, "{rate}");
}

#[test]
fn marks_of_active_queue_management_are_congestion() {
    let mut link = bottleneck(RATE, DELAY);
    for queue in [
        QueueConfig::CoDel(CoDelConfig {
            ecn: true,
            ..CoDelConfig::default()
        }),
        QueueConfig::Red(RedConfig {
            ecn: true,
            ..RedConfig::default()
        }),
    ] {
        link.queue = queue;
        let mut net = Net::new(1, link.clone(), &[Kind::safe_udp()]);
        net.start(0, cbr(1.5 * RATE * 1e6));
        net.run_s(60);
        let sample = net.sent(0);
        assert!(sample.marked > 100, "{}", sample.marked);
        assert!(sample.dropped > 1000, "{}", sample.dropped);
        let names = net.notice_names(0);
        assert!(
            names.contains(&"congestion") && names.contains(&"limited"),
            "{names:?}"
        );
    }
}
