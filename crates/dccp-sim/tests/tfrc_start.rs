//! How CCID 3 finds the rate of a path, from 30 µs to 300 ms and from 1 Mbit/s to 10 Gbit/s
//! (the published start of CCID 3 took minutes, and jumped at 65,536 packets): slow start as the RFC has it, and no jump ever after.
//!
//! The rate doubles in two round trips, not in one. A feedback packet leaves the receiver just when the first
//! packets of the rate arrive that the feedback before it allowed, so it tells of the rate before that one, and
//! the sender may have twice what it tells (5348-4.3-4).

use core::time::Duration;
use dccp_proto::Rate;
use dccp_sim::pair::{End, Pair, Profile, Setup};
use dccp_sim::queue::{Limit, QueueConfig};
use dccp_sim::source::{App, Source};

/// Bytes of a datagram, and of its packet over IPv4.
const DATA: usize = 1400;
const PACKET: f64 = 1436.0;
/// Packets per round trip to begin with, for datagrams of this size (5348-4.2-1: 4380 bytes).
const INITIAL_WINDOW: f64 = 3.1;

/// A path and its rate.
#[derive(Clone, Copy, Debug)]
struct Cell {
    rtt_us: u64,
    mbit_per_s: f64,
}

impl Cell {
    fn packets_per_s(self) -> f64 {
        self.mbit_per_s * 1e6 / 8.0 / PACKET
    }

    /// The shortest round trip: the path's, and one packet's time on the link.
    fn rtt(self) -> Duration {
        Duration::from_micros(self.rtt_us) + Duration::from_secs_f64(1.0 / self.packets_per_s())
    }

    /// Packets that fill the path.
    fn product(self) -> f64 {
        self.packets_per_s() * self.rtt().as_secs_f64()
    }

    fn pair(self, ccid: u8) -> Pair {
        let half = Duration::from_nanos(self.rtt_us * 500);
        let mut setup = Setup {
            client: Profile::ours().with_ccid(ccid),
            server: Profile::ours().with_ccid(ccid),
            ..Setup::default().links(|link| link.delay = half)
        };
        setup.there.rate = Some(Rate::from_bytes_per_s(self.mbit_per_s * 1e6 / 8.0));
        let queue = whole(self.product()).max(100);
        setup.there.queue = QueueConfig::drop_tail(Limit::Packets(queue));
        let mut pair = Pair::untraced(setup);
        pair.listen(App::default());
        pair.connect(App {
            source: Source::Bulk {
                len: DATA,
                count: u64::MAX,
            },
            ..App::default()
        });
        pair
    }

    /// The time in which the line must be full: two round trips for each doubling and ten more; on paths shorter
    /// than the millisecond in which a receiver measures, three of those at least; on narrow ones the three times
    /// twenty packets in which this test measures.
    fn allowed(self) -> f64 {
        let doublings = (self.product() / INITIAL_WINDOW).log2().max(0.0);
        (2.0 * doublings + 10.0)
            .max(0.003 / self.rtt().as_secs_f64())
            .max(60.0 / self.product())
    }

    /// The round trips until the receiver gets 0.95 of what the line carries, and what it gets in the ten
    /// round trips after that.
    fn start(self, ccid: u8) -> (f64, f64) {
        let mut pair = self.pair(ccid);
        // What comes in batches cannot be measured in less than a millisecond or than ten packets.
        let least = Duration::from_secs_f64(20.0 / self.packets_per_s());
        let span = self.rtt().max(least);
        while pair.connections(End::Client) == 0 || pair.report(End::Client).opened.is_none() {
            pair.run_for(self.rtt() / 4);
        }
        let opened = pair.world.now();
        let line = self.packets_per_s() * span.as_secs_f64();
        let mut spans = 0_u32;
        loop {
            spans += 1;
            let share = received_in(&mut pair, span) / line;
            if share >= 0.95 || spans > 200 {
                break;
            }
        }
        let time = pair.world.now() - opened;
        let after = received_in(&mut pair, 10 * span) / (10.0 * line);
        (time.as_secs_f64() / self.rtt().as_secs_f64(), after)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "packets of one path"
)]
fn whole(n: f64) -> usize {
    n as usize
}

#[expect(clippy::cast_precision_loss, reason = "packets of one test")]
fn received_in(pair: &mut Pair, span: Duration) -> f64 {
    let before = pair.report(End::Server).received;
    pair.run_for(span);
    (pair.report(End::Server).received - before) as f64
}

/// Looks at one path.
fn check(rtt_us: u64, mbit_per_s: f64) {
    let cell = Cell { rtt_us, mbit_per_s };
    let (took, after) = cell.start(3);
    assert!(took <= cell.allowed(), "{cell:?}: {took}");
    assert!(after >= 0.75, "{cell:?}: {after}");
}

#[test]
fn the_line_is_full_after_two_round_trips_per_doubling() {
    // 5348-4.2-1, 5348-4.3-4: short and long, narrow and wide. Of the two largest products, 10 Gbit/s at 100 and
    // 300 ms, a run would take longer than all others together.
    for rtt_us in [30, 1000, 10_000, 100_000, 300_000] {
        for mbit_per_s in [1.0, 100.0, 1000.0, 10_000.0] {
            if rtt_us < 100_000 || mbit_per_s < 10_000.0 {
                check(rtt_us, mbit_per_s);
            }
        }
    }
}

/// 200,000 packets at an even pace: whatever is counted in 16 bits turns over three times (congestion-control
/// §16.5).
#[test]
fn no_number_of_packets_changes_the_rate() {
    // 5348-4.3-4: twice what the receiver gets.
    let mut pair = Pair::untraced(Setup {
        client: Profile::ours().with_ccid(3),
        server: Profile::ours().with_ccid(3),
        ..Setup::default().links(|link| link.delay = Duration::from_millis(5))
    });
    pair.listen(App::default());
    pair.connect(App {
        source: Source::Cbr {
            len: 1000,
            interval: Duration::from_micros(50),
            count: 200_000,
        },
        ..App::default()
    });
    pair.run_for(Duration::from_millis(500));
    let mut least = f64::INFINITY;
    let mut most = 0.0_f64;
    // It lasts ten seconds.
    for _ in 0..3100 {
        pair.run_for(Duration::from_millis(3));
        let snapshot = pair.world.node(pair.host(End::Client)).snapshot(0);
        let rate = snapshot.and_then(|s| s.tx.rate).unwrap_or_default();
        least = least.min(rate.bytes_per_s());
        most = most.max(rate.bytes_per_s());
    }
    // 20,000 packets of 1000 bytes per second arrive, and more in the first round trips.
    assert!(least >= 4e7 && most <= 1.001 * least, "{least} {most}");
    assert!(pair.report(End::Client).sent > 190_000);
}
