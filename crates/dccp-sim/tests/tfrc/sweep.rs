//! How CCID 3 uses a path after its start, with a queue as large as the path and no other losses.
//!
//! The start ends with more packets than path and queue hold. Their losses last a round trip with a full queue,
//! twice the empty path's. The round trip of the window counter follows only by a tenth at a time. So the losses
//! are two loss events (4342-10.2-1), and the second halves the first loss interval (5348-6.3.1-1). The flow
//! continues with about 1/√2 of the line. It grows again after a loss-free interval of that length, about
//! product² / 1.5 packets, which takes about 1.4 times the product in round trips. RFC 5348 therefore does not allow
//! nine tenths of the line at once.

use super::path::{Cell, is_soak, open, received_in};
use core::ops::Range;
use core::time::Duration;
use dccp_sim::pair::Pair;

/// The results of one cell, in shares of the line.
#[derive(Debug)]
struct Use {
    /// The least of a span of time.
    least: f64,
    /// The mean of the first spans after the start.
    early: f64,
    /// The mean of the last ones, when the losses of the start are forgotten.
    late: Option<f64>,
}

/// The largest product, in packets, of cells whose late part is run.
const LATE_MAX: f64 = 3000.0;

impl Cell {
    fn uses(self) -> Use {
        let mut pair = self.pair(3, 10);
        open(&mut pair, self);
        let mut seen = Vec::new();
        while seen.last().is_none_or(|share| *share < 0.95) {
            assert!(seen.len() < 300, "{self:?}: never full");
            seen.push(self.share(&mut pair));
        }
        let early: Vec<f64> = (0..60).map(|_| self.share(&mut pair)).collect();
        let mut least = early.iter().copied().fold(1.0, f64::min);
        let late = (self.product() <= LATE_MAX).then(|| {
            for _ in 0..self.spans_until_late() {
                least = least.min(self.share(&mut pair));
            }
            (0..100).map(|_| self.share(&mut pair)).sum::<f64>() / 100.0
        });
        Use {
            least,
            early: early[..30].iter().sum::<f64>() / 30.0,
            late,
        }
    }

    /// Of the line, in one span.
    fn share(self, pair: &mut Pair) -> f64 {
        let span = self.span();
        received_in(pair, span) / (self.packets_per_s() * span.as_secs_f64())
    }

    fn spans_until_late(self) -> u32 {
        let round_trips = 1.6 * self.product() + 100.0;
        let time = Duration::from_secs_f64(round_trips * self.rtt().as_secs_f64());
        u32::try_from(time.as_nanos() / self.span().as_nanos()).expect("a few thousand")
    }

    fn check_use(self) {
        let seen = self.uses();
        let most = self.most_after_loss();
        assert!(seen.least > 0.25 * most, "{self:?} stalls: {seen:?}");
        assert!(seen.early > 0.65 * most, "{self:?}: {seen:?}");
        assert!(
            seen.late.is_none_or(|late| late > 0.9),
            "{self:?}: {seen:?}"
        );
    }
}

/// The cells whose product is in a range of packets.
fn cells(product: Range<f64>) -> impl Iterator<Item = Cell> {
    let rtts = [30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000];
    let rates = [1.0, 10.0, 100.0, 1000.0, 10_000.0];
    let cells = rtts
        .into_iter()
        .flat_map(move |rtt_us| rates.map(|mbit_per_s| Cell { rtt_us, mbit_per_s }));
    cells.filter(move |cell| product.contains(&cell.product()))
}

#[test]
fn the_line_is_used_and_never_idle() {
    // 5348-4.3-4, 5348-6.3.1-1, 5348-5.5-1; the soak goes to 10 Gbit/s over 300 ms: 261,000 packets.
    let (most, count) = if is_soak() { (1e6, 45) } else { (300.0, 33) };
    assert_eq!(cells(0.0..most).map(Cell::check_use).count(), count);
}
