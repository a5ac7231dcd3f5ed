//! Shares: TFRC beside Reno, and two flows of each law and CCID.

use core::time::Duration;
use dccp_proto::cc::law::{self, LawConfig, scalable};
use dccp_proto::{Config, Rate};
use dccp_sim::pair::{End, Pair, SERVICE, Setup};
use dccp_sim::queue::{Limit, QueueConfig};
use dccp_sim::source::{App, Source};

const SECOND: Duration = Duration::from_secs(1);

/// A flow: its CCID, the law of CCID 2, bytes per datagram.
#[derive(Clone, Debug)]
struct FlowPlan {
    ccid: u8,
    law: LawConfig,
    len: usize,
}

/// Reno as CCID 2 has it, with a TCP's packets.
fn reno() -> FlowPlan {
    FlowPlan {
        ccid: 2,
        law: LawConfig::default(),
        len: 1400,
    }
}

fn tfrc() -> FlowPlan {
    FlowPlan { ccid: 3, ..reno() }
}

/// Smaller packets: 100 per second are enough for Reno's rate on these paths.
fn tfrc_sp() -> FlowPlan {
    FlowPlan {
        ccid: 4,
        len: 1000,
        ..reno()
    }
}

/// Opens a flow and lets it send for good.
fn begin(pair: &mut Pair, plan: FlowPlan) {
    let flow = pair.flow(pair.connections(End::Client));
    let config = Config {
        service_code: SERVICE,
        tx_ccids: vec![plan.ccid],
        rx_ccids: vec![plan.ccid],
        law: plan.law,
        // One run per law: a change of phase moves the index of TCP-LP by up to 0.3.
        audit: false,
        ..Config::default()
    };
    let app = App {
        source: Source::Bulk {
            len: plan.len,
            count: u64::MAX,
        },
        ..App::default()
    };
    pair.world
        .call(pair.host(End::Client), |host, context| {
            host.connect(context, flow, config, app)
        })
        .expect("valid settings");
}

fn pair(setup: Setup) -> Pair {
    let mut setup = setup;
    setup.server = dccp_sim::pair::Profile::Ours(Config {
        tx_ccids: vec![2, 3, 4],
        rx_ccids: vec![2, 3, 4],
        ..Config::default()
    });
    let mut pair = Pair::untraced(setup);
    pair.listen(App::default());
    pair
}

/// Bytes that each flow brings over in `time`; the server's connections are in the order of their begin.
#[expect(clippy::cast_precision_loss, reason = "bytes of one test")]
fn bytes_in(pair: &mut Pair, flows: usize, time: Duration) -> Vec<f64> {
    let received = |pair: &Pair| -> Vec<u64> {
        (0..flows)
            .map(|n| pair.report_of(End::Server, n).received_bytes)
            .collect()
    };
    let before = received(pair);
    pair.run_for(time);
    let after = received(pair);
    let gained = after.iter().zip(before).map(|(a, b)| (a - b) as f64);
    gained.collect()
}

/// 200 ms, and at random this share of packets is lost.
fn lossy(loss: f64, seed: u64) -> Setup {
    let mut setup = Setup {
        seed,
        ..Setup::default().links(|link| link.delay = Duration::from_millis(100))
    };
    setup.there.faults.loss = loss;
    setup
}

/// A bottleneck in packets of 1436 bytes per second, with a queue and 100 ms.
fn narrow(packets_per_s: f64, queue: usize) -> Setup {
    let mut setup = Setup::default().links(|link| link.delay = Duration::from_millis(50));
    setup.there.rate = Some(Rate::from_bytes_per_s(packets_per_s * 1436.0));
    setup.there.queue = QueueConfig::drop_tail(Limit::Packets(queue));
    setup
}

/// Jain's index of fairness.
#[expect(clippy::cast_precision_loss, reason = "two flows")]
fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    sum * sum / (shares.len() as f64 * squares)
}

/// The path loses a share of packets, of all flows alike.
#[test]
fn at_equal_loss_tfrc_gets_half_to_twice_renos_rate() {
    // 5348-3.1-1, 5622-5-1
    for loss in [0.01, 0.03, 0.1] {
        let rate = |plan| {
            let mut pair = pair(lossy(loss, 7));
            begin(&mut pair, plan);
            pair.run_for(60 * SECOND);
            bytes_in(&mut pair, 1, 300 * SECOND)[0]
        };
        let alone = rate(reno());
        for plan in [tfrc(), tfrc_sp()] {
            let ratio = rate(plan.clone()) / alone;
            assert!((0.5..=2.0).contains(&ratio), "{plan:?} {loss}: {ratio}");
        }
    }
}

#[test]
fn on_one_bottleneck_tfrc_gets_half_to_twice_renos_share() {
    for plan in [tfrc(), tfrc_sp()] {
        for (packets_per_s, queue) in [(60.0, 6), (100.0, 10), (160.0, 16)] {
            let mut pair = pair(narrow(packets_per_s, queue));
            begin(&mut pair, reno());
            pair.run_for(3 * SECOND);
            begin(&mut pair, plan.clone());
            pair.run_for(60 * SECOND);
            let shares = bytes_in(&mut pair, 2, 300 * SECOND);
            let ratio = shares[1] / shares[0];
            eprintln!(
                "CCID {} beside Reno on {packets_per_s}: {ratio:.2}",
                plan.ccid
            );
            assert!(
                (0.5..=2.0).contains(&ratio),
                "{plan:?} {packets_per_s}: {ratio}"
            );
        }
    }
}

/// The bytes of two equal flows on 1000 packets/s (100 with CCID 4) in the third and fourth minute. The second flow
/// begins after 5 s.
fn two_of(plan: FlowPlan, queue: usize) -> Vec<f64> {
    let rate = if plan.ccid == 4 { 100.0 } else { 1000.0 };
    let mut pair = pair(narrow(rate, queue));
    begin(&mut pair, plan.clone());
    pair.run_for(5 * SECOND);
    begin(&mut pair, plan);
    pair.run_for(115 * SECOND);
    bytes_in(&mut pair, 2, 120 * SECOND)
}

#[test]
fn two_flows_of_each_law_converge() {
    let laws = law::all().map(|law| FlowPlan { law, ..reno() });
    for plan in laws.chain([tfrc(), tfrc_sp()]) {
        let queue = match plan.law.name() {
            // Apart.
            "scalable" => continue,
            // With a queue of one product it takes minutes: the first flow's bound falls a little with each probe.
            "bbr" => 400,
            _ => 100,
        };
        let shares = two_of(plan.clone(), queue);
        let index = jain(&shares);
        assert!(index > 0.9, "{plan:?}: {index} {shares:?}");
    }
}

/// Scalable TCP grows and shrinks by shares of the window. So windows with the same losses keep their ratio.
#[test]
fn scalable_keeps_the_ratio() {
    let shares = two_of(
        FlowPlan {
            law: scalable::Config::default().into(),
            ..reno()
        },
        100,
    );
    assert!(shares[0] > 2.0 * shares[1], "{shares:?}");
}
