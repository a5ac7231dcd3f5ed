//! Models of links whose rate varies, and presets of them. The presets are models with round parameters, not
//! recordings of networks.
//!
//! The rate is a product of three independent parts, constant within a step:
//! ```text
//!   rate(t) = c · exp(spread · z(t)) · fades(t) · stops(t)
//! ```
//! - `z`, the slow variation, is a normal process with an exponential autocorrelation (Ornstein and Uhlenbeck): it
//!   keeps 1/e of a deviation after the time `correlation`.
//! - `fades` and `stops` are two-state Markov chains: 1, and during a spell less. [`Spells`] has their mean times.
//! - `c` makes the mean of the trace the wanted one.

use super::RateTrace;
use crate::random::Stream;
use crate::source::Spread;
use core::time::Duration;
use dccp_proto::Rate;

/// A model of a link's rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Model {
    /// The mean rate of the whole trace, spells included, in bytes of packets.
    pub mean: Rate,
    /// The standard deviation of the rate's natural logarithm, spells apart.
    pub spread: f64,
    /// The time after which the slow variation keeps 1/e of a deviation.
    pub correlation: Duration,
    /// Times of a low rate: shadows, interference.
    pub fades: Spells,
    /// Times without service: handovers, scans, sleeping radios.
    pub stops: Spells,
    /// The length of the trace, after which it is repeated.
    pub duration: Duration,
}

/// Times of a lower rate. Their lengths, and those of the times between them, are exponential.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spells {
    /// The mean time from the end of one to the begin of the next; zero: there are none.
    pub every: Duration,
    /// The mean time that one lasts.
    pub lasts: Duration,
    /// The rate during one, as a share of the rate without.
    pub rate: f64,
}

/// A model with a name, and what else belongs to such a link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Preset {
    /// The name in files.
    pub name: &'static str,
    /// The link that it resembles.
    pub about: &'static str,
    /// The rate.
    pub model: Model,
    /// The one-way delay of such a link.
    pub delay: Duration,
    /// The room of its queue, as the time that the mean rate needs for it.
    pub queue: Duration,
}

/// The rate is constant for this time.
const STEP: Duration = Duration::from_millis(10);
const STEP_MS: f64 = 10.0;
/// The length of the presets' traces.
const DURATION: Duration = Duration::from_mins(2);
const NEVER: Spells = Spells {
    every: Duration::ZERO,
    lasts: Duration::ZERO,
    rate: 0.0,
};

/// All presets.
pub const PRESETS: [Preset; 4] = [MOBILE, WIFI, SATELLITE, DSL];

const MOBILE: Preset = Preset {
    name: "mobile",
    about: "a cell that a moving terminal shares: the rate varies within seconds, with shadows and handovers",
    model: Model {
        mean: Rate::from_bytes_per_s(12e6 / 8.0),
        spread: 0.6,
        correlation: Duration::from_secs(1),
        fades: Spells {
            every: Duration::from_secs(8),
            lasts: Duration::from_millis(800),
            rate: 0.1,
        },
        stops: Spells {
            every: Duration::from_secs(30),
            lasts: Duration::from_millis(150),
            rate: 0.0,
        },
        duration: DURATION,
    },
    delay: Duration::from_millis(25),
    queue: Duration::from_millis(400),
};

const WIFI: Preset = Preset {
    name: "wifi",
    about: "a wireless LAN at the edge of its range: neighbours that contend, fades, and stations that scan or sleep",
    model: Model {
        mean: Rate::from_bytes_per_s(30e6 / 8.0),
        spread: 0.35,
        correlation: Duration::from_millis(200),
        fades: Spells {
            every: Duration::from_secs(5),
            lasts: Duration::from_millis(400),
            rate: 0.15,
        },
        stops: Spells {
            every: Duration::from_secs(10),
            lasts: Duration::from_millis(120),
            rate: 0.0,
        },
        duration: DURATION,
    },
    delay: Duration::from_millis(3),
    queue: Duration::from_millis(100),
};

const SATELLITE: Preset = Preset {
    name: "satellite",
    about: "a geostationary satellite: a round trip of 600 ms, a steady rate, and a few deep fades by rain",
    model: Model {
        mean: Rate::from_bytes_per_s(20e6 / 8.0),
        spread: 0.1,
        correlation: Duration::from_secs(20),
        fades: Spells {
            every: Duration::from_mins(1),
            lasts: Duration::from_secs(4),
            rate: 0.35,
        },
        stops: NEVER,
        duration: DURATION,
    },
    delay: Duration::from_millis(300),
    queue: Duration::from_millis(600),
};

const DSL: Preset = Preset {
    name: "dsl",
    about: "a telephone line: a constant rate behind a queue of a second (bufferbloat)",
    model: Model {
        mean: Rate::from_bytes_per_s(16e6 / 8.0),
        spread: 0.0,
        correlation: Duration::from_secs(1),
        fades: NEVER,
        stops: NEVER,
        duration: DURATION,
    },
    delay: Duration::from_millis(10),
    queue: Duration::from_secs(1),
};

impl Preset {
    /// The preset with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        PRESETS.iter().find(|preset| preset.name == name)
    }
}

impl Model {
    /// The number of opportunities in its traces: [`RateTrace::LONGEST`] at most, or they cannot be read again.
    pub fn opportunities(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "1504")]
        let bytes = RateTrace::OPPORTUNITY_BYTES as f64;
        self.mean.bytes_per_s() * self.duration.as_secs_f64() / bytes
    }

    /// Draws a trace. The slow variation, fades and stops have random numbers of their own: without fades, the rest of
    /// a trace stays the same but for its scale.
    pub fn draw(&self, stream: &Stream) -> RateTrace {
        let shape = self.shape(stream);
        let sum: f64 = shape.iter().sum();
        // Without any service, the end is the only opportunity.
        let scale = if sum > 0.0 {
            self.opportunities() / sum
        } else {
            0.0
        };
        let end_ms = u32::try_from(self.duration.as_millis()).unwrap_or(u32::MAX);
        let end_ms = end_ms.max(1);
        let mut opportunities = Vec::new();
        let (mut step, mut before) = (0.0, 0.0);
        for part in shape {
            let after = before + part * scale;
            let mut count = libm::floor(before) + 1.0;
            while count <= after {
                let ms = whole_ms((step + (count - before) / (after - before)) * STEP_MS);
                opportunities.push(ms.clamp(1, end_ms));
                count += 1.0;
            }
            before = after;
            step += 1.0;
        }
        if opportunities.last() != Some(&end_ms) {
            opportunities.push(end_ms);
        }
        RateTrace::new(opportunities)
    }

    /// The rate in each step, without the scale.
    fn shape(&self, stream: &Stream) -> Vec<f64> {
        let length = self.duration.as_nanos().div_ceil(STEP.as_nanos());
        let kept = libm::exp(-STEP.as_secs_f64() / self.correlation.as_secs_f64());
        let added = libm::sqrt(1.0 - kept * kept);
        let mut slow = stream.fork(0);
        let mut fades = Chain::new(self.fades, stream.fork(1));
        let mut stops = Chain::new(self.stops, stream.fork(2));
        let mut z = slow.normal();
        let step = |_| {
            let rate = libm::exp(self.spread * z) * fades.step() * stops.step();
            z = kept * z + added * slow.normal();
            rate
        };
        (0..length).map(step).collect()
    }
}

/// A chain of spells at work. It begins between two of them.
struct Chain {
    spells: Spells,
    is_spell: bool,
    /// Until the next change.
    left: Duration,
    stream: Stream,
}

impl Chain {
    fn new(spells: Spells, mut stream: Stream) -> Self {
        Self {
            spells,
            is_spell: false,
            left: Spread::Exponential(spells.every).draw(&mut stream),
            stream,
        }
    }

    /// The mean factor in the next step.
    fn step(&mut self) -> f64 {
        if self.spells.every.is_zero() {
            return 1.0;
        }
        let mut rest = STEP;
        let mut sum = 0.0;
        loop {
            let part = rest.min(self.left);
            let factor = if self.is_spell { self.spells.rate } else { 1.0 };
            sum += factor * part.as_secs_f64();
            rest = rest.saturating_sub(part);
            self.left = self.left.saturating_sub(part);
            if rest.is_zero() {
                return sum / STEP.as_secs_f64();
            }
            self.is_spell = !self.is_spell;
            let mean = if self.is_spell {
                self.spells.lasts
            } else {
                self.spells.every
            };
            self.left = Spread::Exponential(mean).draw(&mut self.stream);
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, and a trace ends before 2^32 ms"
)]
fn whole_ms(ms: f64) -> u32 {
    libm::ceil(ms) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;

    fn trace(model: &Model) -> RateTrace {
        model.draw(&Seed(1).stream("model"))
    }

    /// Mean, and standard deviation of the logarithm, of the rates that are not zero.
    #[expect(clippy::cast_precision_loss, reason = "thousands")]
    fn of_logarithms(rates: &[f64]) -> (f64, f64) {
        let logs: Vec<f64> = (rates.iter().filter(|rate| **rate > 0.0))
            .map(|rate| libm::log(*rate))
            .collect();
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let squares: f64 = logs.iter().map(|log| (log - mean) * (log - mean)).sum();
        (mean, libm::sqrt(squares / count))
    }

    #[test]
    fn traces_have_the_mean_and_the_length_of_their_model() {
        for preset in PRESETS {
            let trace = trace(&preset.model);
            let ratio = trace.bytes_per_s() / preset.model.mean.bytes_per_s();
            assert!((ratio - 1.0).abs() < 1e-3, "{}: {ratio}", preset.name);
            let ends = trace.to_text().ends_with("\n120000\n");
            assert!(ends, "{}: the period is 120 s", preset.name);
            assert_eq!(RateTrace::parse(&trace.to_text()).as_ref(), Ok(&trace));
        }
    }

    #[test]
    fn same_stream_gives_the_same_trace_and_another_name_another() {
        let model = WIFI.model;
        assert_eq!(trace(&model), trace(&model));
        assert_ne!(trace(&model), model.draw(&Seed(1).stream("other")));
        assert_ne!(trace(&model), model.draw(&Seed(2).stream("model")));
    }

    #[test]
    fn rate_without_spells_has_the_spread_and_the_correlation_of_its_model() {
        let model = Model {
            mean: Rate::from_bytes_per_s(100e6),
            spread: 0.5,
            correlation: Duration::from_millis(500),
            fades: NEVER,
            stops: NEVER,
            duration: Duration::from_secs(200),
        };
        let rates = trace(&model).rates(Duration::from_millis(100));
        let (mean, deviation) = of_logarithms(&rates);
        // Means over 100 ms vary a little less than the rate.
        assert!((0.42..0.55).contains(&deviation), "{deviation}");
        let logs: Vec<f64> = rates.iter().map(|rate| libm::log(*rate) - mean).collect();
        let product = |lag: usize| -> f64 {
            let pairs = logs.iter().zip(&logs[lag..]);
            pairs.map(|(a, b)| a * b).sum()
        };
        let kept = product(5) / product(0);
        assert!((0.27..0.50).contains(&kept), "after 500 ms: {kept}");
        let constant = Model {
            spread: 0.0,
            ..model
        };
        let (_, deviation) = of_logarithms(&trace(&constant).rates(Duration::from_millis(100)));
        assert!(deviation < 0.001, "{deviation}");
    }

    #[test]
    fn spells_take_their_share_of_the_time_at_their_rate() {
        let model = Model {
            spread: 0.0,
            fades: Spells {
                every: Duration::from_millis(900),
                lasts: Duration::from_millis(300),
                rate: 0.25,
            },
            stops: NEVER,
            duration: Duration::from_secs(1000),
            ..WIFI.model
        };
        let shape = model.shape(&Seed(1).stream("spells"));
        let share_of = |wanted: f64| {
            let steps = shape.iter().filter(|rate| (**rate - wanted).abs() < 1e-9);
            f64::from(u32::try_from(steps.count()).unwrap()) / 100_000.0
        };
        // A quarter of the time, less two steps in 1.2 s: a spell begins or ends within them.
        assert!((0.21..0.28).contains(&share_of(0.25)), "{}", share_of(0.25));
        assert!((0.70..0.77).contains(&share_of(1.0)), "{}", share_of(1.0));
        let stopped = Model {
            fades: Spells {
                rate: 0.0,
                ..model.fades
            },
            ..model
        };
        let rates = trace(&stopped).rates(Duration::from_millis(100));
        assert!(rates.contains(&0.0));
    }

    #[test]
    fn model_without_service_has_one_opportunity() {
        let model = Model {
            mean: Rate::from_bytes_per_s(0.0),
            ..DSL.model
        };
        assert_eq!(trace(&model).to_text(), "120000\n");
    }
}
