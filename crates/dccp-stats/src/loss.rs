//! Runs of lost packets and the models that describe them.

use dccp_proto::number::to_f64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How losses are spread over a flow.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct LossPattern {
    /// Packets that never arrived.
    pub lost_packets: u64,
    /// The number of runs of lost packets.
    pub runs_n: u64,
    /// The lengths of the runs in packets, and how often each occurred, in rising order. From 64 packets on, a length
    /// stands for itself and what is less than 12.5 % longer.
    pub runs: Vec<(u64, u64)>,
    /// The numbers of packets between two runs, and how often each occurred, as in `runs`.
    pub gaps: Vec<(u64, u64)>,
    /// The model of Gilbert with two parameters: a bad state loses each packet, a good one none.
    pub gilbert: Option<Gilbert>,
    /// The model of Gilbert and Elliott with four parameters. `None` for fewer than 30 runs, if the losses do not
    /// come in bursts, or if there are too few to tell how long bursts last.
    pub gilbert_elliott: Option<Gilbert>,
    /// The first runs, if a list was asked for.
    pub list: Option<Vec<LostRun>>,
}

/// A run of packets that never arrived.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct LostRun {
    /// The number of the first lost packet, counted from 0.
    pub first: u64,
    /// The number of lost packets.
    pub packets: u64,
    /// The receiver's time when the first packet after the run arrived; `None` at the end of the flow.
    pub noticed_ns: Option<u64>,
}

/// A Markov chain of two states, where each state loses packets at random (Gilbert 1960, Elliott 1963).
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Gilbert {
    /// The probability per packet of the change from the good state to the bad one.
    pub p: f64,
    /// The probability per packet of the change from the bad state to the good one.
    pub r: f64,
    /// The probability of a loss in the bad state, 1 − h.
    pub one_minus_h: f64,
    /// The probability of a loss in the good state, 1 − k.
    pub one_minus_k: f64,
}

/// Fewer runs do not support four parameters.
const RUNS_MIN: u64 = 30;

/// Collects runs of lost packets in the order of their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct LossRuns {
    /// A run that the next lost packets may continue.
    open: Option<LostRun>,
    /// The first number after the last complete run.
    previous_end: Option<u64>,
    runs: Lengths,
    gaps: Lengths,
    lost_packets: u64,
    /// The number of places where packets n and n + 1 are lost.
    pairs: u64,
    /// The number of places where packets n, n + 1 and n + 2 are lost.
    triples: u64,
    /// The number of places where packets n and n + 2 are lost, and n + 1 is not.
    apart: u64,
    list: Vec<LostRun>,
    list_max: usize,
}

impl LossRuns {
    /// Keeps a list of the first `list_max` runs.
    pub(crate) fn new(list_max: usize) -> Self {
        Self {
            list_max,
            ..Self::default()
        }
    }

    /// Adds lost packets. Their numbers are greater than all before.
    pub(crate) fn add(&mut self, run: LostRun) {
        match &mut self.open {
            _ if run.packets == 0 => {}
            Some(open) if open.first.saturating_add(open.packets) == run.first => {
                open.packets = open.packets.saturating_add(run.packets);
                open.noticed_ns = open.noticed_ns.or(run.noticed_ns);
            }
            _ => {
                self.close();
                self.open = Some(run);
            }
        }
    }

    fn close(&mut self) {
        let Some(run) = self.open.take() else { return };
        self.runs.add(run.packets);
        self.lost_packets = self.lost_packets.saturating_add(run.packets);
        self.pairs = self.pairs.saturating_add(run.packets - 1);
        self.triples = self.triples.saturating_add(run.packets.saturating_sub(2));
        if let Some(end) = self.previous_end {
            let between = run.first.saturating_sub(end);
            self.gaps.add(between);
            self.apart += u64::from(between == 1);
        }
        self.previous_end = Some(run.first.saturating_add(run.packets));
        if self.list.len() < self.list_max {
            self.list.push(run);
        }
    }

    /// The pattern in a flow of `packets` packets.
    pub(crate) fn finish(mut self, packets: u64) -> LossPattern {
        self.close();
        LossPattern {
            lost_packets: self.lost_packets,
            runs_n: self.runs.n,
            gilbert: self.gilbert(packets),
            gilbert_elliott: self.gilbert_elliott(packets),
            runs: self.runs.into_list(),
            gaps: self.gaps.into_list(),
            list: (self.list_max > 0).then_some(self.list),
        }
    }

    /// The most likely chain of two parameters: each change divided by its opportunities.
    fn gilbert(&self, packets: u64) -> Option<Gilbert> {
        let received = packets.saturating_sub(self.lost_packets);
        (self.runs.n > 0 && received > 0).then(|| Gilbert {
            p: (to_f64(self.runs.n) / to_f64(received)).min(1.0),
            r: to_f64(self.runs.n) / to_f64(self.lost_packets),
            one_minus_h: 1.0,
            one_minus_k: 0.0,
        })
    }

    /// Four parameters from the losses at distances 0, 1 and 2.
    ///
    /// The numbers of pairs at distances 1 and 2 vary by no more than their square roots, if bursts are independent. The
    /// difference tells how long bursts last, so it must be twice its own error.
    fn gilbert_elliott(&self, packets: u64) -> Option<Gilbert> {
        let far = self.triples.saturating_add(self.apart);
        let difference = to_f64(self.pairs) - to_f64(far);
        let error = (to_f64(self.pairs) + to_f64(far)).sqrt();
        if self.runs.n < RUNS_MIN || packets < 3 || difference < 2.0 * error {
            return None;
        }
        let share = |count: u64, places: u64| to_f64(count) / to_f64(places);
        let moments = Moments {
            mean: share(self.lost_packets, packets),
            near: share(self.pairs, packets - 1),
            far: share(far, packets - 2),
            triple: share(self.triples, packets - 2),
        };
        moments.gilbert_elliott()
    }
}

/// How often packets are lost together.
#[derive(Clone, Copy, Debug)]
struct Moments {
    /// The probability that a packet is lost.
    mean: f64,
    /// That packets n and n + 1 are.
    near: f64,
    /// That packets n and n + 2 are.
    far: f64,
    /// That packets n, n + 1 and n + 2 are.
    triple: f64,
}

impl Moments {
    /// The chain with these moments.
    ///
    /// Let b be the share of the bad state, g and f the probabilities of a loss in the good and the bad state, d = f − g
    /// and λ = 1 − p − r. Then losses have the mean a = g + b·d. Their covariance is v·λ at distance 1 and v·λ² at
    /// distance 2, with v = d²·b·(1 − b). The third central moment of three packets in a row is λ²·d·v·(1 − 2b).
    /// The four equations have one solution with d > 0.
    fn gilbert_elliott(self) -> Option<Gilbert> {
        let Self {
            mean,
            near,
            far,
            triple,
        } = self;
        let covariance = near - mean * mean;
        let lambda = (far - mean * mean) / covariance;
        if covariance <= 0.0 || lambda <= 0.0 || lambda >= 1.0 {
            return None;
        }
        let v = covariance / lambda;
        let third = triple - mean * (2.0 * near + far) + 2.0 * mean * mean * mean;
        let skew = third / (lambda * lambda * v);
        let d = (skew * skew + 4.0 * v).sqrt();
        let bad = (1.0 - skew / d) / 2.0;
        Some(Gilbert {
            p: bad * (1.0 - lambda),
            r: (1.0 - bad) * (1.0 - lambda),
            one_minus_h: (mean + (1.0 - bad) * d).clamp(0.0, 1.0),
            one_minus_k: (mean - bad * d).clamp(0.0, 1.0),
        })
    }
}

/// How often each length occurred; at most 528 different ones.
#[derive(Clone, Debug, Default)]
struct Lengths {
    counts: BTreeMap<u64, u64>,
    n: u64,
}

impl Lengths {
    /// Lengths from this one on share a count with those less than 1/8 longer.
    const EXACT: u64 = 64;

    fn add(&mut self, length: u64) {
        let class = if length < Self::EXACT {
            length
        } else {
            let dropped = length.ilog2() - 3;
            length >> dropped << dropped
        };
        *self.counts.entry(class).or_default() += 1;
        self.n += 1;
    }

    fn into_list(self) -> Vec<(u64, u64)> {
        self.counts.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng as _, SeedableRng as _};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// The pattern of a flow: `true` is a lost packet.
    fn pattern(is_lost: &[bool], list_max: usize) -> LossPattern {
        let mut runs = LossRuns::new(list_max);
        for (&is_lost, first) in is_lost.iter().zip(0_u64..) {
            runs.add(LostRun {
                first,
                packets: u64::from(is_lost),
                noticed_ns: Some(first * 10),
            });
        }
        runs.finish(is_lost.len() as u64)
    }

    fn of_text(text: &str) -> LossPattern {
        let is_lost: Vec<_> = text.bytes().map(|b| b == b'x').collect();
        pattern(&is_lost, 2)
    }

    #[test]
    fn runs_and_gaps_are_counted() {
        let p = of_text("x..xxx.x...xx");
        assert_eq!((p.lost_packets, p.runs_n), (7, 4));
        assert_eq!(p.runs, [(1, 2), (2, 1), (3, 1)]);
        assert_eq!(p.gaps, [(1, 1), (2, 1), (3, 1)]);
        let list = p.list.unwrap();
        assert_eq!((list.len(), list[1].first, list[1].packets), (2, 3, 3));
        assert_eq!(list[1].noticed_ns, Some(30));
    }

    #[test]
    fn flow_without_losses_has_no_model() {
        let p = of_text("....");
        assert_eq!((p.lost_packets, p.runs.len(), p.gilbert), (0, 0, None));
        assert_eq!(of_text("xxxx").gilbert, None, "nothing was received");
        assert_eq!(pattern(&[], 0).list, None);
    }

    #[test]
    fn gilbert_counts_changes_of_state() {
        let g = of_text("..xx..x...xxx...").gilbert.unwrap();
        assert!((g.p - 3.0 / 10.0).abs() < 1e-12 && (g.r - 3.0 / 6.0).abs() < 1e-12);
    }

    #[test]
    fn long_runs_share_classes() {
        let mut lengths = Lengths::default();
        for length in [63, 64, 71, 72, 1000, 1023, 1024, u64::MAX] {
            lengths.add(length);
        }
        let classes = lengths.into_list();
        let last = 15 << 60;
        assert_eq!(
            classes,
            [(63, 1), (64, 2), (72, 1), (960, 2), (1024, 1), (last, 1)]
        );
    }

    fn unit(random: &mut Xoshiro256PlusPlus) -> f64 {
        to_f64(random.next_u64() >> 11) / to_f64(1 << 53)
    }

    /// Whether each packet of a chain is lost.
    fn chain(model: Gilbert, packets: usize, seed: u64) -> Vec<bool> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut is_bad = false;
        (0..packets)
            .map(|_| {
                let change = if is_bad { model.r } else { model.p };
                is_bad ^= unit(&mut random) < change;
                let loss = if is_bad {
                    model.one_minus_h
                } else {
                    model.one_minus_k
                };
                unit(&mut random) < loss
            })
            .collect()
    }

    const MODELS: [(f64, f64, f64, f64); 4] = [
        (0.002, 0.05, 1.0, 0.0),
        (0.005, 0.1, 0.6, 0.001),
        (0.01, 0.2, 0.9, 0.01),
        (0.001, 0.005, 0.15, 0.0005),
    ];

    fn model((p, r, one_minus_h, one_minus_k): (f64, f64, f64, f64)) -> Gilbert {
        Gilbert {
            p,
            r,
            one_minus_h,
            one_minus_k,
        }
    }

    /// The moments of a chain, summed over the states of three packets in a row.
    fn moments(model: Gilbert) -> Moments {
        let bad = model.p / (model.p + model.r);
        let start = [1.0 - bad, bad];
        let change = [[1.0 - model.p, model.p], [model.r, 1.0 - model.r]];
        let loss = [model.one_minus_k, model.one_minus_h];
        let mut sums = Moments {
            mean: 0.0,
            near: 0.0,
            far: 0.0,
            triple: 0.0,
        };
        for states in 0..8 {
            let [a, b, c] = [states & 1, states >> 1 & 1, states >> 2];
            let share = start[a] * change[a][b] * change[b][c];
            sums.mean += share * loss[a];
            sums.near += share * loss[a] * loss[b];
            sums.far += share * loss[a] * loss[c];
            sums.triple += share * loss[a] * loss[b] * loss[c];
        }
        sums
    }

    #[test]
    fn exact_moments_give_the_chain_back() {
        for truth in MODELS.map(model) {
            let g = moments(truth).gilbert_elliott().unwrap();
            let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
            assert!(
                near(g.p, truth.p)
                    && near(g.r, truth.r)
                    && near(g.one_minus_h, truth.one_minus_h)
                    && near(g.one_minus_k, truth.one_minus_k),
                "{truth:?} {g:?}"
            );
        }
    }

    /// Two million packets of a known chain, for several chains. The length of bursts rests on the difference of two
    /// counts, so p and r may be wrong by four standard errors of that difference.
    // goal 20: the fit finds the parameters of a Gilbert-Elliott model.
    #[test]
    fn gilbert_fit_recovers_its_parameters() {
        const PACKETS: u32 = 2_000_000;
        for (truth, seed) in MODELS.map(model).into_iter().zip(0..) {
            let Moments { near, far, .. } = moments(truth);
            let n = f64::from(PACKETS);
            let error = ((near + far) / n).sqrt() / (near - far);
            let found = pattern(&chain(truth, PACKETS as usize, seed), 0).gilbert_elliott;
            if error > 0.5 {
                // The bursts of the last chain are long and have few losses.
                assert_eq!((seed, found), (3, None));
                continue;
            }
            let g = found.expect("bursts");
            let near = |found: f64, truth: f64, within: f64| (found - truth).abs() <= within;
            assert!(
                near(g.p, truth.p, 4.0 * error * truth.p)
                    && near(g.r, truth.r, 4.0 * error * truth.r)
                    && near(g.one_minus_h, truth.one_minus_h, 0.05)
                    && near(g.one_minus_k, truth.one_minus_k, 0.001),
                "{truth:?} {g:?} {error}"
            );
        }
    }

    /// 3,850 bursts: the standard error of p and r is 1/√3850 of them.
    #[test]
    fn two_parameters_are_those_of_the_chain() {
        let truth = model(MODELS[0]);
        let g = pattern(&chain(truth, 2_000_000, 9), 0).gilbert.unwrap();
        let within = 4.0 / 3850_f64.sqrt();
        assert!((g.p / truth.p - 1.0).abs() < within, "{g:?}");
        assert!((g.r / truth.r - 1.0).abs() < within, "{g:?}");
    }

    /// All runs have five packets: a chain with this covariance leaves its bad state after four packets on average.
    #[test]
    fn few_runs_do_not_support_four_parameters() {
        let mut is_lost = vec![false; 100_000];
        for run in 0..RUNS_MIN - 1 {
            let at = usize::try_from(run).unwrap() * 3000;
            is_lost[at..at + 5].fill(true);
        }
        assert_eq!(pattern(&is_lost, 0).gilbert_elliott, None);
        is_lost[99_000..99_005].fill(true);
        let g = pattern(&is_lost, 0).gilbert_elliott.unwrap();
        assert!((g.r - 0.25).abs() < 0.01, "{g:?}");
    }
}
