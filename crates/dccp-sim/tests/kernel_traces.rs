//! The laws in the simulator's TCP beside the Linux kernel's own modules (6.1, defaults) on the same bottleneck.
//! Two figures agree within a tenth: the window's decrease at a loss, and its growth in the first half of the time
//! to the next loss.
//!
//! The kernel's figures are means over a run of one flow on 20 Mbit/s with full-size packets. The queue is drop-tail
//! in bytes, and acknowledgements are delayed. SACK and timestamps are on, pacing and ECN are off. The first two
//! losses and the time in recovery are left out. The modules' deviations from the published laws are
//! laws of `dccp-historic`. `docs/laws.md` lists the remaining differences with their reasons.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;
use dccp_proto::cc::law::{self, LawConfig, lp};
use dccp_proto::{Instant, Rate};
use dccp_sim::queue::{Limit, QueueConfig};
use dccp_sim::source::App;
use dccp_sim::tcp::Config;
use dccp_sim::{Host, LinkConfig, Seed, SimHash, World};

/// A bottleneck of 20 Mbit/s.
struct Scenario {
    rtt_ms: u64,
    queue_bytes: usize,
    seconds: u64,
    /// Slow start ends here, before it overshoots.
    ssthresh: u32,
}

/// The law with this name: TCP's own Reno, one of ours with its defaults, or one of a kernel.
///
/// TCP-LP's early indication is broken in the kernel. With a threshold that the queue hardly reaches, the rest is
/// compared.
fn named(name: &str) -> LawConfig {
    match name {
        "reno" => Config::default().law,
        "tcp-lp" => LawConfig::from(lp::Config {
            threshold: 0.99,
            ..lp::Config::default()
        }),
        _ => {
            let ours = law::all().find(|law| law.name() == name);
            ours.or_else(|| dccp_historic::law(name))
                .expect("a name in one of the lists")
        }
    }
}

/// The window of a law on the bottleneck, and how many losses it had answered: at each moment that
/// either changed.
fn windows(law: &str, scenario: &Scenario) -> Vec<(Instant, f64, u64)> {
    let mut law = named(law);
    law.slow_start.initial_ssthresh = scenario.ssthresh.into();
    let config = Config::with_law(law).expect("TCP's slow start");
    let seed = Seed(1);
    let mut world = World::new(seed);
    let addresses = [1, 2].map(|n| IpAddr::from(Ipv4Addr::new(10, 0, 0, n)));
    let mut host = |name, n: usize| {
        let host = Host::new(SimHash::new(seed, name));
        world.add(name, &[addresses[n]], host)
    };
    let (a, b) = (host("a", 0), host("b", 1));
    let there = LinkConfig {
        rate: Some(Rate::from_bytes_per_s(2_500_000.0)),
        queue: QueueConfig::drop_tail(Limit::Bytes(scenario.queue_bytes)),
        ..LinkConfig::default()
    };
    let back = LinkConfig {
        delay: Duration::from_millis(scenario.rtt_ms),
        ..LinkConfig::default()
    };
    world.connect(a.id(), b.id(), there, back);
    world.call(b, |host, _| {
        host.tcp_listen(80, config.clone(), App::default());
    });
    let flow = world.call(a, |host, context| {
        let (local, remote) = (
            SocketAddr::new(addresses[0], 1),
            SocketAddr::new(addresses[1], 80),
        );
        host.tcp_connect(context, local, remote, config, App::bulk(1448, u64::MAX))
    });
    let mut windows = Vec::new();
    let end = Instant::ZERO + Duration::from_secs(scenario.seconds);
    let mut last = (0.0_f64, 0);
    while world.now() < end {
        world.run_for(Duration::from_millis(10));
        let sample = world.node(a).sample(flow);
        let now = (
            sample.cc.cwnd_packets.unwrap_or_default(),
            sample.loss_events.unwrap_or_default(),
        );
        if now.0.to_bits() != last.0.to_bits() || now.1 != last.1 {
            last = now;
            windows.push((world.now(), now.0, now.1));
        }
    }
    windows
}

/// Packets gained `after_s` seconds after a loss, and the share that a loss leaves: means over all losses but
/// the first two.
fn growth(windows: &[(Instant, f64, u64)], after_s: f64) -> (f64, f64) {
    let is_loss = |i: &usize| windows[*i].2 > windows[i - 1].2;
    let losses: Vec<usize> = (1..windows.len()).filter(is_loss).skip(2).collect();
    assert!(
        losses.len() > 1,
        "{} losses, {:?}",
        losses.len() + 2,
        windows.last()
    );
    let mean = |of: &dyn Fn(usize) -> Option<f64>| {
        let values: Vec<f64> = losses.iter().filter_map(|i| of(*i)).collect();
        values.iter().sum::<f64>() / f64::from(u32::try_from(values.len()).unwrap_or(u32::MAX))
    };
    let gain = |i: usize| {
        // The window stands still until the recovery is over, which the kernel's figures leave out.
        let begin = windows.get(i + 1)?;
        let until = begin.0 + Duration::from_secs_f64(after_s);
        let later = windows[i..].iter().position(|w| w.0 > until)?;
        Some(windows[i + later - 1].1 - windows[i].1)
    };
    (
        mean(&gain),
        mean(&|i| Some(windows[i].1 / windows[i - 1].1)),
    )
}

/// Beside each law what the kernel's module does: seconds after a loss, packets gained by then, and the
/// share of the window that a loss leaves.
#[track_caller]
fn compare(laws: &[&str], kernel: &str, scenario: &Scenario) {
    let rows: Vec<&str> = kernel
        .lines()
        .filter(|row| !row.trim().is_empty())
        .collect();
    assert_eq!(laws.len(), rows.len());
    let is_near = |ours: f64, kernels: f64| (ours / kernels - 1.0).abs() < 0.1;
    let mut differing = Vec::new();
    for (law, row) in laws.iter().zip(rows) {
        let numbers: Vec<f64> = row
            .split_whitespace()
            .filter_map(|n| n.parse().ok())
            .collect();
        let [after_s, gain, kept] = numbers[..] else {
            panic!("{row}: three numbers");
        };
        let (our_gain, our_kept) = growth(&windows(law, scenario), after_s);
        println!(
            "{law}: gains {our_gain:.2} and keeps {our_kept:.3}; the kernel {gain} and {kept}"
        );
        if !is_near(our_gain, gain) || !is_near(our_kept, kept) {
            differing.push(format!(
                "{law}: gains {our_gain:.2} and keeps {our_kept:.3}; the kernel {gain} and {kept}"
            ));
        }
    }
    assert!(differing.is_empty(), "{differing:#?}");
}

#[test]
fn at_40_ms_losses_cost_and_windows_gain_what_they_do_with_the_kernel() {
    compare(
        &[
            "reno",
            "highspeed-linux",
            "scalable-linux",
            "cubic",
            "htcp-linux",
            "westwood",
        ],
        "
        2.01  38.08  0.502
        1.46  26.88  0.599
        0.47   7.32  0.884
        1.70  29.81  0.699
        1.15  23.00  0.501
        2.05  38.82  0.493
        ",
        &Scenario {
            rtt_ms: 40,
            queue_bytes: 100_000,
            seconds: 60,
            ssthresh: 80,
        },
    );
}

#[test]
fn at_100_ms_losses_cost_and_windows_gain_what_they_do_with_the_kernel() {
    compare(
        &["reno", "highspeed-linux", "scalable-linux", "cubic"],
        "
        12.48  96.00  0.502
         5.10  67.71  0.620
         1.23  19.76  0.879
         3.56  70.60  0.700
        ",
        &Scenario {
            rtt_ms: 100,
            queue_bytes: 250_000,
            seconds: 180,
            ssthresh: 200,
        },
    );
}

#[test]
fn at_1000_ms_losses_cost_and_windows_gain_what_they_do_with_the_kernel() {
    compare(
        &["highspeed-linux", "scalable-linux"],
        "
        67.55  355.0  0.723
         9.40  155.0  0.876
        ",
        &Scenario {
            rtt_ms: 1000,
            queue_bytes: 1_250_000,
            seconds: 700,
            ssthresh: 2000,
        },
    );
}

/// Mean time from loss to loss in seconds, without the first two, over an even number of them: BIC's
/// and CUBIC's come in pairs.
fn period(windows: &[(Instant, f64, u64)]) -> f64 {
    let is_loss = |i: &usize| windows[*i].2 > windows[i - 1].2;
    let losses: Vec<usize> = (1..windows.len()).filter(is_loss).skip(2).collect();
    let pairs = (losses.len() - 1) / 2;
    let time = windows[losses[2 * pairs]].0 - windows[losses[0]].0;
    time.as_secs_f64() / f64::from(u32::try_from(2 * pairs).unwrap_or(u32::MAX))
}

#[test]
fn the_time_between_losses_is_that_of_the_kernel() {
    const HTCP: &str = "htcp-linux";
    const BIC: &str = "bic-linux";
    let mut differing = Vec::new();
    for (rtt_ms, queue_bytes, laws) in [
        (
            40,
            100_000,
            &[
                ("reno", 4.18),
                ("highspeed-linux", 3.09),
                (HTCP, 2.47),
                ("westwood", 4.23),
                ("tcp-lp", 4.18),
            ][..],
        ),
        (
            100,
            250_000,
            &[
                (HTCP, 3.64),
                (BIC, 3.87),
                ("cubic", 7.49),
                ("scalable-linux", 2.86),
            ],
        ),
        (
            1000,
            1_250_000,
            &[(HTCP, 16.73), (BIC, 45.58), ("cubic", 15.91)],
        ),
    ] {
        let scenario = Scenario {
            rtt_ms,
            queue_bytes,
            seconds: if rtt_ms == 1000 { 600 } else { 120 },
            ssthresh: 2 * u32::try_from(rtt_ms).unwrap_or(u32::MAX),
        };
        for &(law, kernels) in laws {
            let ours = period(&windows(law, &scenario));
            if (ours / kernels - 1.0).abs() >= 0.1 {
                differing.push(format!(
                    "{law} at {rtt_ms} ms: {ours:.2} s; the kernel {kernels}"
                ));
            }
        }
    }
    assert!(differing.is_empty(), "{differing:#?}");
}
