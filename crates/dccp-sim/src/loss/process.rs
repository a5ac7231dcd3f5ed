//! Losses and bit errors as random processes.

use crate::random::Stream;
use crate::setting::Impossible;

/// Losses in bursts: a link that is now in a good state, now in a bad one (Gilbert 1960, Elliott
/// 1963). Each packet first may change the state, and is then lost with the state's probability.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GilbertElliott {
    /// Probability to go from good to bad, per packet.
    pub to_bad: f64,
    /// Probability to go from bad to good, per packet.
    pub to_good: f64,
    /// Probability of a loss in the good state.
    pub loss_in_good: f64,
    /// Probability of a loss in the bad state.
    pub loss_in_bad: f64,
}

impl GilbertElliott {
    /// All packets of the bad state are lost, none of the good one: `loss` is the share of packets
    /// lost in the long run, `burst` the mean number of consecutive losses.
    pub fn bursts(loss: f64, burst: f64) -> Self {
        let to_good = 1.0 / burst;
        Self {
            to_bad: loss * to_good / (1.0 - loss),
            to_good,
            loss_in_good: 0.0,
            loss_in_bad: 1.0,
        }
    }

    /// The share of packets lost in the long run.
    pub fn mean_loss(&self) -> f64 {
        let bad = self.to_bad / (self.to_bad + self.to_good);
        (1.0 - bad) * self.loss_in_good + bad * self.loss_in_bad
    }

    pub(crate) fn check(&self) -> Result<(), Impossible> {
        Impossible::unless_share(self.to_bad, "bursts.to_bad")?;
        Impossible::unless_share(self.to_good, "bursts.to_good")?;
        Impossible::unless_share(self.loss_in_good, "bursts.loss_in_good")?;
        Impossible::unless_share(self.loss_in_bad, "bursts.loss_in_bad")
    }
}

/// How losses follow each other.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum LossModel {
    /// Each packet with this probability, independently of the others.
    Bernoulli(f64),
    /// In bursts.
    GilbertElliott(GilbertElliott),
}

/// A loss model at work.
#[derive(Clone, Debug)]
pub struct LossProcess {
    model: LossModel,
    is_bad: bool,
    stream: Stream,
}

impl LossProcess {
    /// A process that begins in the good state and draws from this stream.
    pub fn new(model: LossModel, stream: Stream) -> Self {
        Self {
            model,
            is_bad: false,
            stream,
        }
    }

    /// Whether the next packet is lost.
    pub fn loses_next(&mut self) -> bool {
        match self.model {
            LossModel::Bernoulli(loss) => self.stream.chance(loss),
            LossModel::GilbertElliott(ge) => {
                let change = if self.is_bad { ge.to_good } else { ge.to_bad };
                self.is_bad ^= self.stream.chance(change);
                let loss = if self.is_bad {
                    ge.loss_in_bad
                } else {
                    ge.loss_in_good
                };
                self.stream.chance(loss)
            }
        }
    }
}

/// Bits that flip, each with the same probability. It draws once for each error, not for each packet.
#[derive(Debug)]
pub(crate) struct BitErrors {
    rate: f64,
    stream: Stream,
    /// How many more bits pass unharmed.
    unharmed: u64,
}

impl BitErrors {
    /// None, until a rate is set.
    pub(crate) const fn new(stream: Stream) -> Self {
        Self {
            rate: 0.0,
            stream,
            unharmed: u64::MAX,
        }
    }

    pub(crate) fn set(&mut self, rate: f64) {
        if rate.to_bits() != self.rate.to_bits() {
            self.rate = rate;
            self.unharmed = self.stream.failures(rate);
        }
    }

    /// Passes a packet of `bits` bits and returns the first that flips.
    pub(crate) fn pass(&mut self, bits: u64) -> Option<usize> {
        if self.rate <= 0.0 {
            return None;
        }
        if self.unharmed >= bits {
            self.unharmed -= bits;
            return None;
        }
        let first = usize::try_from(self.unharmed).ok();
        while self.unharmed < bits {
            let gap = self.stream.failures(self.rate);
            self.unharmed = self.unharmed.saturating_add(1).saturating_add(gap);
        }
        self.unharmed -= bits;
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;

    fn losses(model: LossModel) -> Vec<bool> {
        let mut process = LossProcess::new(model, Seed(3).stream("losses"));
        (0..200_000).map(|_| process.loses_next()).collect()
    }

    /// Share lost, and mean number of losses in a row.
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn share_and_burst(losses: &[bool]) -> (f64, f64) {
        let lost = losses.iter().filter(|l| **l).count() as f64;
        let runs = losses.windows(2).filter(|w| !w[0] && w[1]).count() as f64;
        (lost / losses.len() as f64, lost / runs)
    }

    #[test]
    fn bernoulli_losses_are_independent() {
        let (share, burst) = share_and_burst(&losses(LossModel::Bernoulli(0.1)));
        assert!((share - 0.1).abs() < 0.003, "{share}");
        assert!((burst - 1.0 / 0.9).abs() < 0.02, "{burst}");
    }

    #[test]
    fn gilbert_losses_come_in_bursts_of_the_configured_length() {
        let model = GilbertElliott::bursts(0.1, 4.0);
        assert!((model.mean_loss() - 0.1).abs() < 1e-12);
        let (share, burst) = share_and_burst(&losses(LossModel::GilbertElliott(model)));
        assert!((share - 0.1).abs() < 0.006, "{share}");
        assert!((burst - 4.0).abs() < 0.2, "{burst}");
    }

    #[test]
    fn elliott_loses_some_in_both_states() {
        let model = GilbertElliott {
            to_bad: 0.01,
            to_good: 0.03,
            loss_in_good: 0.02,
            loss_in_bad: 0.5,
        };
        // A quarter of the packets meets the bad state: 0.75 · 0.02 + 0.25 · 0.5.
        assert!((model.mean_loss() - 0.14).abs() < 1e-12);
        let (share, _) = share_and_burst(&losses(LossModel::GilbertElliott(model)));
        assert!((share - 0.14).abs() < 0.01, "{share}");
    }

    #[test]
    fn longer_packets_have_more_bit_errors_and_at_any_place() {
        let errors = |bits: u64| -> Vec<usize> {
            let mut errors = BitErrors::new(Seed(3).stream("bits"));
            errors.set(1e-5);
            (0..100_000).filter_map(|_| errors.pass(bits)).collect()
        };
        // 1 - (1 - 1e-5)^n: 0.4 % of 400 bits, 11.3 % of 12,000.
        let (short, long) = (errors(400), errors(12_000));
        assert!((340..460).contains(&short.len()), "{}", short.len());
        assert!((11_000..11_600).contains(&long.len()), "{}", long.len());
        let first_half = long.iter().filter(|bit| **bit < 6_000).count();
        assert!((5_500..6_100).contains(&first_half), "{first_half}");
        assert!(long.iter().all(|bit| *bit < 12_000));
    }

    #[test]
    fn without_a_rate_no_bit_flips_and_with_one_of_1_the_first_does() {
        let mut errors = BitErrors::new(Seed(3).stream("bits"));
        assert_eq!(errors.pass(u64::MAX), None);
        errors.set(1.0);
        assert_eq!((errors.pass(8), errors.pass(8)), (Some(0), Some(0)));
    }
}
