//! How CCID 3 finds the rate of a path: slow start as in the RFC, without jumps afterwards. (A published
//! implementation took minutes, and jumped at 65,536 packets.)
//!
//! The rate doubles in two round trips and cannot double in one. A sender may send at twice the receive rate
//! (5348-4.3-2), but that rate was sent a round trip before. The rate at `t` is at most twice the mean rate from
//! `t − 2r` to `t − r`, which excludes doubling in one round trip. Continuous feedback could double it in 1.48 round
//! trips, because 0.469 is the root of `u = 2 (e^−u − e^−2u)`. With one feedback per round trip (4342-10.3-1) it
//! takes two: a feedback leaves the receiver just when the first packets allowed by the last feedback arrive.

use super::path::{Cell, allowed, is_soak, open, received_in};
use core::time::Duration;
use dccp_sim::pair::{End, Pair, Profile, Setup};
use dccp_sim::source::{App, Source};

impl Cell {
    /// The time in round trips until the line must be full: two for each doubling and five more. It is at least
    /// 3 ms, because a receiver measures over a millisecond, and at least 60 packets, because this test measures
    /// over 20 packets three times.
    fn allowed(self) -> f64 {
        (2.0 * self.doublings() + 5.0)
            .max(0.003 / self.rtt().as_secs_f64())
            .max(60.0 / self.product())
    }

    /// The round trips until the receiver gets 0.95 of what the line carries, and what it gets in the ten
    /// round trips after that.
    fn start(self, ccid: u8) -> (f64, f64) {
        let mut pair = self.pair(ccid, 100);
        let span = self.span();
        open(&mut pair, self);
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

/// Looks at one path.
fn check(rtt_us: u64, mbit_per_s: f64) {
    let cell = Cell { rtt_us, mbit_per_s };
    let (took, after) = cell.start(3);
    assert!(took <= cell.allowed(), "{cell:?}: {took}");
    assert!(after >= 0.75 * cell.most_after_loss(), "{cell:?}: {after}");
}

#[test]
fn the_line_is_full_after_two_round_trips_per_doubling() {
    // 5348-4.2-1, 5348-4.3-4: short and long, narrow and wide. The two largest products, 10 Gbit/s at 100 and
    // 300 ms, take longer than all others together: `cargo xtask soak tfrc`.
    for rtt_us in [30, 1000, 10_000, 100_000, 300_000] {
        for mbit_per_s in [1.0, 100.0, 1000.0, 10_000.0] {
            if is_soak() || rtt_us < 100_000 || mbit_per_s < 10_000.0 {
                check(rtt_us, mbit_per_s);
            }
        }
    }
}

/// 200,000 packets at an even pace: a counter of 16 bits would wrap three times.
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
        least = least.min(allowed(&pair));
        most = most.max(allowed(&pair));
    }
    // 20,000 packets of 1000 bytes per second arrive, and more in the first round trips.
    assert!(least >= 4e7 && most <= 1.001 * least, "{least} {most}");
    assert!(pair.report(End::Client).sent > 190_000);
}
