//! When the packets of a flow are due.

use super::timetable::Timetable;
use core::f64::consts::TAU;
use core::fmt;
use core::str::FromStr;
use core::time::Duration;
use dccp::proto::number::to_f64;
use dccp::proto::time::nanos;
use dccp_cli::quantity;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};
use serde::{Deserialize, Serialize};

const SECOND_NS: f64 = 1e9;
/// The longest pause between two packets. A longer one is not told from a flow that has ended.
const GAP_MAX_NS: f64 = 10.0 * SECOND_NS;
/// Rates that change are at least this, in bits per second.
const RATE_MIN_BPS: u64 = 1000;

/// The pattern of a flow's packets. Rates are in bits per second.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) enum Shape {
    /// As fast as the transport takes them.
    #[default]
    Greedy,
    /// One by one, at one rate.
    Cbr { bps: u64 },
    /// Packets back to back, then a pause. `gap` is from the first of one burst to the first of the next.
    Burst { packets: u64, gap: Duration },
    /// Gaps of an exponential distribution.
    Poisson { bps: u64 },
    /// Gaps of a Pareto distribution with a shape above 1.
    Pareto { bps: u64, alpha: f64 },
    /// Frames of one size at a steady rate. The packets of a frame are due together.
    Frames { per_second: u64, bps: u64 },
    /// A rate that swings between two as a sine does.
    Sine(Swing),
    /// A rate that is high for half a period, then low.
    Square(Swing),
    /// Packets at the times of a file.
    Trace(Timetable),
}

/// A rate that changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Swing {
    low_bps: u64,
    high_bps: u64,
    period: Duration,
}

/// A text is no shape.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BadShape(pub(crate) String);

impl Shape {
    /// Whether its due times depend on a seed.
    pub(crate) fn is_random(&self) -> bool {
        matches!(self, Self::Poisson { .. } | Self::Pareto { .. })
    }

    /// The mean rate for packets of `length` bytes; `None` if it has none.
    pub(crate) fn mean_bps(&self, length: usize) -> Option<u64> {
        match self {
            Self::Greedy => None,
            Self::Cbr { bps }
            | Self::Poisson { bps }
            | Self::Pareto { bps, .. }
            | Self::Frames { bps, .. } => Some(*bps),
            Self::Burst { packets, gap } => Some(mean(*packets, *gap, length)),
            Self::Trace(table) => Some(mean(table.packets(), table.round(), length)),
            Self::Sine(swing) | Self::Square(swing) => Some(swing.low_bps / 2 + swing.high_bps / 2),
        }
    }

    /// The greatest mean rate over `time`, beside a first packet; `None` if there is no bound. Random shapes have none
    /// either: this is their mean rate.
    pub(crate) fn peak_bps(&self, length: usize, time: Duration) -> Option<u64> {
        let packet = 8 * length as u64;
        let at_once = |bits: u64| {
            let bits = u128::from(bits.saturating_sub(packet)) * 1_000_000_000;
            u64::try_from(bits / u128::from(nanos(time).max(1))).unwrap_or(u64::MAX)
        };
        let mean = self.mean_bps(length)?;
        Some(match self {
            Self::Burst { packets, .. } => mean.max(at_once(packets.saturating_mul(packet))),
            Self::Frames { per_second, bps } => mean.max(at_once(bps / per_second)),
            Self::Trace(table) => {
                let packets = table.most_packets_within(time);
                mean.max(at_once(packets.saturating_mul(packet)))
            }
            Self::Sine(swing) | Self::Square(swing) => swing.high_bps,
            Self::Greedy | Self::Cbr { .. } | Self::Poisson { .. } | Self::Pareto { .. } => mean,
        })
    }
}

/// The rate of packets of `length` bytes, at least 1.
fn mean(packets: u64, time: Duration, length: usize) -> u64 {
    let bits = u128::from(packets) * 8 * length as u128 * 1_000_000_000;
    let bps = bits / u128::from(nanos(time).max(1));
    u64::try_from(bps).unwrap_or(u64::MAX).max(1)
}

impl TryFrom<String> for Shape {
    type Error = BadShape;

    fn try_from(text: String) -> Result<Self, BadShape> {
        text.parse()
    }
}

impl From<Shape> for String {
    fn from(shape: Shape) -> Self {
        shape.to_string()
    }
}

impl FromStr for Shape {
    type Err = BadShape;

    fn from_str(text: &str) -> Result<Self, BadShape> {
        let (name, values) = text.split_once(':').unwrap_or((text, ""));
        let pair = |by: char| {
            let parts = values.split_once(by);
            parts.ok_or_else(|| BadShape(format!("'{values}' needs a '{by}'")))
        };
        match name {
            "greedy" if values.is_empty() => Ok(Self::Greedy),
            "cbr" => Ok(Self::Cbr { bps: rate(values)? }),
            "poisson" => Ok(Self::Poisson { bps: rate(values)? }),
            "burst" => burst(values),
            "pareto" => {
                let (bps, alpha) = pair('/')?;
                let bps = rate(bps)?;
                let alpha = alpha.parse().ok().filter(|a| (1.01..=100.0).contains(a));
                let alpha =
                    alpha.ok_or_else(|| BadShape("its shape must be 1.01 to 100".into()))?;
                Ok(Self::Pareto { bps, alpha })
            }
            "frames" => {
                let (per_second, bps) = pair(':')?;
                let per_second = per_second.parse().ok().filter(|n| (1..=10_000).contains(n));
                let per_second = per_second
                    .ok_or_else(|| BadShape("frames per second must be 1 to 10000".into()))?;
                let bps = rate(bps)?;
                Ok(Self::Frames { per_second, bps })
            }
            "sine" => swing(values).map(Self::Sine),
            "square" => swing(values).map(Self::Square),
            "gaps" => values.parse().map(Self::Trace).map_err(BadShape),
            _ => Err(BadShape(format!("there is no shape '{name}'"))),
        }
    }
}

/// Parses a burst: `64/10ms`.
pub(crate) fn burst(text: &str) -> Result<Shape, BadShape> {
    let (packets, gap) = text
        .split_once('/')
        .ok_or_else(|| BadShape(format!("'{text}' needs a '/'")))?;
    let packets = packets
        .parse()
        .ok()
        .filter(|n| (1..=1_000_000).contains(n))
        .ok_or_else(|| BadShape("packets of a burst must be 1 to 1000000".into()))?;
    let gap = time(gap)?;
    Ok(Shape::Burst { packets, gap })
}

fn swing(text: &str) -> Result<Swing, BadShape> {
    let needs = |by: &str| BadShape(format!("'{text}' needs a '{by}'"));
    let (rates, period) = text.split_once('/').ok_or_else(|| needs("/"))?;
    let (low, high) = rates.split_once("..").ok_or_else(|| needs(".."))?;
    let (low_bps, high_bps) = (rate(low)?, rate(high)?);
    if low_bps < RATE_MIN_BPS || low_bps > high_bps {
        let problem = "its rates must rise, from 1 kbit/s at least";
        return Err(BadShape(problem.into()));
    }
    let period = time(period)?;
    Ok(Swing {
        low_bps,
        high_bps,
        period,
    })
}

fn rate(text: &str) -> Result<u64, BadShape> {
    quantity::rate_bits_per_s(text).map_err(|e| BadShape(format!("'{text}' {e}")))
}

fn time(text: &str) -> Result<Duration, BadShape> {
    let time = quantity::time(text).map_err(|e| BadShape(format!("'{text}' {e}")))?;
    let limits = Duration::from_micros(1)..=Duration::from_hours(1);
    if !limits.contains(&time) {
        return Err(BadShape(format!("'{text}' must be 1us to 1h")));
    }
    Ok(time)
}

/// A text that [`FromStr`] reads as the same shape.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Greedy => f.write_str("greedy"),
            Self::Cbr { bps } => write!(f, "cbr:{bps}"),
            Self::Burst { packets, gap } => write!(f, "burst:{packets}/{}ns", nanos(*gap)),
            Self::Poisson { bps } => write!(f, "poisson:{bps}"),
            Self::Pareto { bps, alpha } => write!(f, "pareto:{bps}/{alpha}"),
            Self::Frames { per_second, bps } => write!(f, "frames:{per_second}:{bps}"),
            Self::Sine(swing) => write!(f, "sine:{swing}"),
            Self::Square(swing) => write!(f, "square:{swing}"),
            Self::Trace(table) => write!(f, "gaps:{table}"),
        }
    }
}

impl fmt::Display for Swing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = (self.low_bps, self.high_bps);
        write!(f, "{low}..{high}/{}ns", nanos(self.period))
    }
}

impl fmt::Display for BadShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The times at which the packets of a flow are due, from 0, without end.
#[derive(Clone, Debug)]
pub(crate) struct DueTimes {
    shape: Shape,
    /// Bits of a packet.
    bits: f64,
    random: Xoshiro256PlusPlus,
    number: u64,
    /// When the next packet is due, in nanoseconds.
    due_ns: f64,
}

impl DueTimes {
    /// The due times of packets of `length` bytes. Equal seeds yield equal times.
    pub(crate) fn new(shape: Shape, length: usize, seed: u64) -> Self {
        let mut times = Self {
            shape,
            bits: to_f64(8 * length as u64),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            number: 0,
            due_ns: 0.0,
        };
        times.due_ns = times.first_ns();
        times
    }

    fn first_ns(&mut self) -> f64 {
        match &self.shape {
            // The first gap of a random process begins before its first packet.
            Shape::Poisson { .. } | Shape::Pareto { .. } => self.gap_ns(),
            Shape::Trace(table) => table.gap_ns(0),
            _ => 0.0,
        }
    }

    /// The pause from packet `number` to the next.
    fn gap_ns(&mut self) -> f64 {
        let bits = self.bits;
        let mean = |bps: u64| bits * SECOND_NS / to_f64(bps);
        let gap = match self.shape.clone() {
            Shape::Trace(table) => return table.gap_ns(self.number + 1),
            Shape::Greedy => 0.0,
            Shape::Cbr { bps } => mean(bps),
            Shape::Burst { packets, gap } => {
                let is_last = (self.number + 1).is_multiple_of(packets);
                return if is_last { to_f64(nanos(gap)) } else { 0.0 };
            }
            Shape::Poisson { bps } => -libm::log(self.uniform()) * mean(bps),
            Shape::Pareto { bps, alpha } => {
                let least = mean(bps) * (alpha - 1.0) / alpha;
                least / libm::pow(self.uniform(), 1.0 / alpha)
            }
            Shape::Frames { per_second, bps } => {
                let frame = SECOND_NS / to_f64(per_second);
                let of = |number: u64| libm::floor(to_f64(number) * mean(bps) / frame);
                (of(self.number + 1) - of(self.number)) * frame
            }
            Shape::Sine(swing) => {
                let turn = self.due_ns / to_f64(nanos(swing.period));
                let (low, high) = (to_f64(swing.low_bps), to_f64(swing.high_bps));
                let bps = low + (high - low) * (1.0 + libm::sin(turn * TAU)) / 2.0;
                bits * SECOND_NS / bps
            }
            Shape::Square(swing) => {
                let turn = self.due_ns / to_f64(nanos(swing.period));
                let is_high = turn - libm::floor(turn) < 0.5;
                mean(if is_high {
                    swing.high_bps
                } else {
                    swing.low_bps
                })
            }
        };
        gap.min(GAP_MAX_NS)
    }

    /// A number above 0, at most 1.
    fn uniform(&mut self) -> f64 {
        let bits = self.random.next_u64() >> 11;
        (to_f64(bits) + 1.0) / to_f64(1 << 53)
    }
}

impl Iterator for DueTimes {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "sums of gaps that are not negative"
        )]
        let due = libm::round(self.due_ns) as u64;
        self.due_ns += self.gap_ns();
        self.number += 1;
        Some(due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: usize = 1250;

    fn times(shape: &str, seed: u64, count: usize) -> Vec<u64> {
        let shape = shape.parse().unwrap();
        DueTimes::new(shape, LENGTH, seed).take(count).collect()
    }

    /// The mean and the variation (deviation / mean) of the gaps.
    fn moments(shape: &str) -> (f64, f64) {
        let times = times(shape, 7, 200_001);
        let gaps: Vec<f64> = times.windows(2).map(|w| to_f64(w[1] - w[0])).collect();
        let n = to_f64(gaps.len() as u64);
        let mean = gaps.iter().sum::<f64>() / n;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / n;
        (mean, variance.sqrt() / mean)
    }

    #[test]
    fn shape_is_read_back_from_its_text() {
        for text in [
            "greedy",
            "cbr:20000000",
            "burst:64/10000000ns",
            "poisson:5000000",
            "pareto:5000000/1.5",
            "frames:30:4000000",
            "sine:20000000..80000000/60000000000ns",
            "gaps:5000,0,2250,2750",
            "square:1000..80000000/1000ns",
        ] {
            let shape: Shape = text.parse().unwrap();
            assert_eq!(shape.to_string(), text);
        }
        let short: Shape = "sine:20M..80M/60s".parse().unwrap();
        assert_eq!(short.to_string(), "sine:20000000..80000000/60000000000ns");
    }

    #[test]
    fn wrong_shapes_are_refused() {
        for text in [
            "",
            "cbr",
            "cbr:0",
            "cbr:5 parsecs",
            "greedy:1",
            "burst:0/10ms",
            "burst:64",
            "burst:64/0s",
            "burst:64/2h",
            "pareto:5M",
            "pareto:5M/1",
            "pareto:5M/NaN",
            "frames:0:4M",
            "frames:30",
            "sine:80M..20M/1s",
            "sine:20M..80M",
            "sine:1..2/1s",
            "square:20M/1s",
            "trace",
        ] {
            assert!(text.parse::<Shape>().is_err(), "{text}");
        }
    }

    #[test]
    fn constant_rate_has_one_gap() {
        assert_eq!(times("cbr:10M", 0, 4), [0, 1_000_000, 2_000_000, 3_000_000]);
    }

    // goal 11: the packets of a burst are due together.
    #[test]
    fn packets_of_a_burst_are_due_together() {
        let ms = 1_000_000;
        let due = times("burst:3/10ms", 0, 7);
        assert_eq!(due, [0, 0, 0, 10 * ms, 10 * ms, 10 * ms, 20 * ms]);
        let burst: Shape = "burst:3/10ms".parse().unwrap();
        assert_eq!(burst.mean_bps(LENGTH), Some(3_000_000));
    }

    // goal 9: packets are due at the times of a trace, round after round.
    #[test]
    fn packets_of_a_trace_are_due_at_its_times() {
        let ms: Vec<u64> = times("gaps:5000,0,2000,3000", 1, 7)
            .iter()
            .map(|ns| ns / 1_000_000)
            .collect();
        assert_eq!(ms, [5, 5, 7, 10, 15, 15, 17]);
        let trace: Shape = "gaps:5000,0,2000,3000".parse().unwrap();
        // Four packets of 10,000 bits in 10 ms.
        assert_eq!(trace.mean_bps(LENGTH), Some(4_000_000));
    }

    #[test]
    fn peak_is_that_of_the_shortest_time() {
        let peak = |shape: &str| {
            let shape: Shape = shape.parse().unwrap();
            shape.peak_bps(LENGTH, Duration::from_millis(100))
        };
        assert_eq!(peak("greedy"), None);
        assert_eq!(peak("cbr:1M"), Some(1_000_000));
        // 10 packets of 10,000 bits behind the first, within 100 ms.
        assert_eq!(peak("burst:11/1h"), Some(1_000_000));
        assert_eq!(peak("burst:10/1ms"), Some(100_000_000));
        assert_eq!(peak("square:1M..19M/1h"), Some(19_000_000));
        assert_eq!(peak("frames:1:1010000"), Some(10_000_000));
        assert_eq!(peak("frames:100:1M"), Some(1_000_000));
        // 11 packets within 100 ms, and then none for 9.9 s.
        let burst = [&["200000"][..], &["0"; 10], &["9900000"]]
            .concat()
            .join(",");
        assert_eq!(peak(&format!("gaps:{burst}")), Some(1_000_000));
    }

    // goal 9: packets of a frame are due together, and frames keep their rate.
    #[test]
    fn frames_hold_packets_for_their_rate() {
        // 25 frames of 2.5 packets each second.
        let due = times("frames:25:0.625M", 0, 10);
        let frames: Vec<u64> = due.iter().map(|t| t / 40_000_000).collect();
        assert_eq!(frames, [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]);
        assert!(due.iter().all(|t| t % 40_000_000 == 0));
    }

    // goal 10: gaps have the moments of their distribution, and a seed repeats them.
    #[test]
    fn same_seed_gives_the_same_schedule() {
        for shape in ["poisson:10M", "pareto:10M/3"] {
            assert_eq!(times(shape, 1, 1000), times(shape, 1, 1000));
            assert_ne!(times(shape, 1, 1000), times(shape, 2, 1000));
        }
        let (mean, variation) = moments("poisson:10M");
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "{mean}");
        assert!((variation - 1.0).abs() < 0.02, "{variation}");
        // The variation of a Pareto distribution is 1 / sqrt(alpha (alpha - 2)).
        let (mean, variation) = moments("pareto:10M/3");
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "{mean}");
        assert!((variation - 0.577).abs() < 0.15, "{variation}");
    }

    // goal 12: the rate swings between the two that were asked for.
    #[test]
    fn sine_swings_between_its_rates() {
        let in_quarter = |shape: &str, quarter: u64| {
            let due = times(shape, 0, 20_000);
            let place = |t: &u64| t % 1_000_000_000 / 125_000_000 == quarter;
            let of_first = due.iter().take_while(|t| **t < 1_000_000_000);
            of_first.filter(|t| place(t)).count() * LENGTH * 8 * 8
        };
        // Eighths of the period around its top (2 holds half of it) and its bottom.
        let top = in_quarter("sine:10M..50M/1s", 2);
        let bottom = in_quarter("sine:10M..50M/1s", 6);
        assert!((47_000_000..=50_000_000).contains(&top), "{top}");
        assert!((10_000_000..=13_000_000).contains(&bottom), "{bottom}");
        let high = in_quarter("square:10M..50M/1s", 1);
        let low = in_quarter("square:10M..50M/1s", 6);
        assert!((49_900_000..=50_100_000).contains(&high), "{high}");
        assert!((9_900_000..=10_100_000).contains(&low), "{low}");
    }
}
