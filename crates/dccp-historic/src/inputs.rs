//! Any law with the inputs that kernels of 2003 gave it: acknowledgements in place of packets, and delays in whole
//! ticks of a coarse clock.

use core::time::Duration;
use dccp_proto::Instant;
use dccp_proto::cc::law::{
    Ack, Congestion, Law, LawConfig, LawSettings, SettingError, Wants, Window,
};
use dccp_proto::cc::slow_start::Pace;

/// The inputs of a law. The default changes nothing.
///
/// ```
/// use dccp_historic::Inputs;
/// use dccp_proto::cc::law::{LawConfig, scalable};
/// let inputs = Inputs { counts_acks: true, ..Inputs::default() };
/// assert_eq!(inputs.of(scalable::Config::default().into()).name(), "scalable");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Inputs {
    /// An acknowledgement makes the window grow as if it were for one packet. Delayed acknowledgements halve the
    /// growth. Slow start, which is not part of the law, still counts packets.
    pub counts_acks: bool,
    /// Round trips and one-way delays are rounded up to a multiple of this; zero: they are exact. The law also gets
    /// the average of rounded round trips. The retransmission timeout, which is not part of the law, stays exact.
    pub tick: Duration,
}

impl Inputs {
    /// Returns the law with these inputs, after the same slow start.
    pub fn of(self, law: LawConfig) -> LawConfig {
        if self == Self::default() {
            return law;
        }
        let slow_start = law.slow_start;
        let mut config = LawConfig::from(Settings { inputs: self, law });
        config.slow_start = slow_start;
        config
    }

    /// Rounds a delay up to whole ticks.
    fn rounded(self, delay: Duration) -> Duration {
        let tick = self.tick.as_nanos();
        if tick == 0 {
            return delay;
        }
        let ns = delay.as_nanos().div_ceil(tick) * tick;
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

#[derive(Clone, Debug)]
struct Settings {
    inputs: Inputs,
    law: LawConfig,
}

impl LawSettings for Settings {
    fn name(&self) -> &'static str {
        self.law.name()
    }

    fn build(&self) -> Box<dyn Law> {
        Box::new(Coarse {
            inputs: self.inputs,
            law: self.law.build(),
            smoothed: None,
        })
    }

    fn check(&self) -> Result<(), SettingError> {
        self.law.check()
    }

    fn pace(&self) -> Pace {
        self.law.slow_start.pace
    }
}

/// A law behind coarse inputs.
struct Coarse {
    inputs: Inputs,
    law: Box<dyn Law>,
    /// The average of rounded round trips (RFC 6298 §2).
    smoothed: Option<Duration>,
}

impl Coarse {
    fn coarsen(&mut self, ack: &Ack) -> Ack {
        let mut coarse = *ack;
        if self.inputs.counts_acks {
            coarse.growth = ack.growth.min(1);
        }
        if !self.inputs.tick.is_zero() {
            coarse.rtt = ack.rtt.map(|rtt| self.inputs.rounded(rtt));
            coarse.one_way = ack.one_way.map(|delay| self.inputs.rounded(delay));
            if let Some(rtt) = coarse.rtt {
                let mean = self.smoothed.unwrap_or(rtt);
                self.smoothed = Some((7 * mean + rtt) / 8);
            }
            coarse.smoothed_rtt = self.smoothed;
        }
        coarse
    }
}

impl Law for Coarse {
    fn name(&self) -> &'static str {
        self.law.name()
    }

    fn wants(&self) -> Wants {
        self.law.wants()
    }

    fn on_start(&mut self, window: &mut Window) {
        self.law.on_start(window);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        let coarse = self.coarsen(ack);
        self.law.on_ack(window, &coarse);
    }

    fn on_congestion(&mut self, window: &mut Window, event: &Congestion) {
        self.law.on_congestion(window, event);
    }

    fn on_timeout(&mut self, window: &mut Window, now: Instant) {
        self.law.on_timeout(window, now);
    }

    fn on_host_drop(&mut self, window: &mut Window, packets: u32) {
        self.law.on_host_drop(window, packets);
    }

    fn on_idle(&mut self, now: Instant, idle: Duration) {
        self.law.on_idle(now, idle);
    }

    fn is_holding(&self, window: &Window, now: Instant) -> bool {
        self.law.is_holding(window, now)
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.law.pacing_rate()
    }

    fn inner(&self, out: &mut Vec<(&'static str, f64)>) {
        self.law.inner(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp_proto::cc::law::testing::{acked, assert_near, avoiding, inner, ms};
    use dccp_proto::cc::law::{fast, highspeed, scalable};

    #[test]
    fn an_acknowledgement_counts_as_one_packet() {
        let inputs = Inputs {
            counts_acks: true,
            ..Inputs::default()
        };
        let scalable = LawConfig::from(scalable::Config::default());
        let highspeed = LawConfig::from(highspeed::Config);
        // HighSpeed at 1000 packets: a(w)/w, which is what one packet adds.
        let mut window = avoiding(1000.0);
        highspeed.build().on_ack(&mut window, &acked(1));
        let step = window.cwnd - 1000.0;
        for (law, step) in [(scalable, 0.01), (highspeed, step)] {
            let mut window = avoiding(1000.0);
            inputs.of(law).build().on_ack(&mut window, &acked(4));
            assert_near(window.cwnd, 1000.0 + step);
        }
    }

    #[test]
    fn delays_are_rounded_up_to_whole_ticks() {
        let inputs = Inputs {
            tick: ms(10),
            ..Inputs::default()
        };
        let mut law = inputs.of(fast::Config::default().into()).build();
        let mut window = avoiding(100.0);
        for (sample, base, average) in [(11, 0.020, 0.020), (19, 0.020, 0.020), (20, 0.020, 0.020)]
        {
            let ack = Ack {
                rtt: Some(ms(sample)),
                ..acked(1)
            };
            law.on_ack(&mut window, &ack);
            assert_near(inner(&*law, "base_rtt_s"), base);
            assert_near(inner(&*law, "avg_rtt_s"), average);
        }
        assert_eq!(inputs.rounded(Duration::from_micros(9)), ms(10));
        assert_eq!(inputs.rounded(Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn the_average_is_of_rounded_samples() {
        let mut coarse = Coarse {
            inputs: Inputs {
                tick: ms(10),
                ..Inputs::default()
            },
            law: LawConfig::default().build(),
            smoothed: None,
        };
        for (sample, mean_us) in [(9, 10_000), (11, 11_250), (9, 11_093)] {
            let ack = coarse.coarsen(&Ack {
                rtt: Some(ms(sample)),
                smoothed_rtt: Some(ms(9)),
                ..Ack::default()
            });
            assert_eq!(ack.smoothed_rtt.map(|rtt| rtt.as_micros()), Some(mean_us));
        }
    }

    #[test]
    fn the_rest_of_the_law_stays() {
        let law = LawConfig::from(scalable::Config { lwnd: 38.0 });
        assert_eq!(Inputs::default().of(law.clone()), law);
        let inputs = Inputs {
            counts_acks: true,
            ..Inputs::default()
        };
        let mut slow = law.clone();
        slow.slow_start.max_ssthresh = 100.0;
        let coarse = inputs.of(slow.clone());
        assert_eq!(
            (coarse.name(), coarse.slow_start),
            ("scalable", slow.slow_start)
        );
        assert_ne!(coarse, slow);
        assert!(coarse.check().is_ok());
    }
}
