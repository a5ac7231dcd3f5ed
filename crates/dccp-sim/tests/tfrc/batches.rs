//! Arrivals in batches (a late interrupt, GRO) must not make the rate of CCID 3 noisy. On paths shorter than a
//! millisecond the receive rate is measured over a millisecond (RFC 5348 §6.2).

use super::path::{Cell, open, received_in};
use core::time::Duration;
use dccp_sim::machine::MachineConfig;
use dccp_sim::pair::{End, Pair};
use dccp_sim::source::{App, Source};

/// The shortest time over which the receiver measures.
const LEAST: Duration = Duration::from_millis(1);

/// The receiver's host handles a batch `wakeup` after its first packet.
fn with_wakeup(mut pair: Pair, wakeup: Duration) -> Pair {
    let node = pair.node(End::Server);
    let machine = MachineConfig {
        wakeup,
        ..MachineConfig::default()
    };
    pair.world.set_machine(node, machine);
    pair
}

/// The receive rate in shares of the line.
fn receive_rate(pair: &Pair, cell: Cell) -> f64 {
    let snapshot = pair.world.node(pair.host(End::Server)).snapshot(0);
    let rate = snapshot.and_then(|s| s.rx.receive_rate).unwrap_or_default();
    rate.bytes_per_s() / cell.line()
}

/// The share of the line that a bulk flow gets after its start, and its highest receive rate.
fn bulk(cell: Cell, wakeup: Duration) -> (f64, f64) {
    const SPANS: u32 = 150;
    let mut pair = with_wakeup(cell.pair(3, 100), wakeup);
    open(&mut pair, cell);
    pair.run_for(250 * LEAST);
    let span = cell.rtt().max(LEAST);
    let (mut received, mut most) = (0.0, 0.0_f64);
    for _ in 0..SPANS {
        received += received_in(&mut pair, span);
        most = most.max(receive_rate(&pair, cell));
    }
    let line = cell.packets_per_s() * (SPANS * span).as_secs_f64();
    (received / line, most)
}

#[test]
fn batches_of_a_receiving_host_leave_the_rate_as_it_is() {
    // 5348-6.2-1
    for (rtt_us, mbit_per_s) in [(30, 10_000.0), (100, 1000.0), (300, 1000.0), (1000, 1000.0)] {
        let cell = Cell { rtt_us, mbit_per_s };
        let (alone, _) = bulk(cell, Duration::ZERO);
        // At 10 Gbit/s up to 87 packets come at once.
        for wakeup in [20, 100].map(Duration::from_micros) {
            let (share, most) = bulk(cell, wakeup);
            assert!(
                (share - alone).abs() < 0.03,
                "{cell:?} {wakeup:?}: {share} {alone}"
            );
            // One batch more in a millisecond is as much as it can be wrong.
            let batch = wakeup.as_secs_f64() / LEAST.as_secs_f64();
            assert!(most < 1.02 + batch, "{cell:?} {wakeup:?}: {most}");
        }
    }
}

/// The highest receive rate of a steady flow of half the line, in shares of its rate.
fn rhythm(cell: Cell, wakeup: Duration) -> f64 {
    let interval = Duration::from_secs_f64(2.0 / cell.packets_per_s());
    let app = App {
        source: Source::Cbr {
            len: 1400,
            interval,
            count: u64::MAX,
        },
        ..App::default()
    };
    let mut pair = with_wakeup(cell.pair_of(3, 100, app), wakeup);
    open(&mut pair, cell);
    pair.run_for(50 * LEAST);
    let mut most = 0.0_f64;
    for _ in 0..300 {
        pair.run_for(LEAST / 3);
        most = most.max(2.0 * receive_rate(&pair, cell));
    }
    most
}

#[test]
fn a_steady_stream_in_batches_is_measured_as_one() {
    // 5348-6.2-1
    for (rtt_us, mbit_per_s) in [(30, 1000.0), (100, 10_000.0)] {
        let cell = Cell { rtt_us, mbit_per_s };
        for wakeup in [0, 20, 50, 100].map(Duration::from_micros) {
            let most = rhythm(cell, wakeup);
            let batch = wakeup.as_secs_f64() / LEAST.as_secs_f64();
            assert!(
                (0.98..1.02 + batch).contains(&most),
                "{cell:?} {wakeup:?}: {most}"
            );
        }
    }
}
