//! Numbers that sum a run up, by the field's definitions.
//!
//! A *series* is the goodput of a flow in bits per second over intervals of [`BIN`], aligned to the
//! flow's begin; an incomplete last interval is left out.

use core::time::Duration;
use dccp_proto::number::to_f64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The interval of the series that stability and convergence are made of.
pub const BIN: Duration = Duration::from_secs(5);

/// A column of the table of results, by its name in scenario files.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Metric {
    /// Delivered data per second, after what is discarded.
    Goodput,
    /// See [`stability`].
    Stability,
    /// See [`fairness`].
    Fairness,
    /// See [`asymmetry`].
    Asymmetry,
    /// See [`convergence`].
    Convergence,
    /// The stability of the sum of all flows.
    Constancy,
    /// Round trips that the application measures.
    #[serde(rename = "rtt.ping")]
    RttPing,
    /// Round trips that the transport measures.
    #[serde(rename = "rtt.transport")]
    RttTransport,
    /// How much longer pings take under load.
    #[serde(rename = "rtt.increase")]
    RttIncrease,
    /// See [`loss`].
    Loss,
    /// The age of data on arrival.
    Age,
    /// The share of important datagrams among those that arrive.
    Important,
    /// The mean congestion window.
    Cwnd,
    /// The mean queue of the busiest link.
    Queue,
    /// The utilisation of the busiest link.
    Utilisation,
}

/// Arithmetic mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / to_f64(values.len() as u64))
}

/// Population standard deviation of a series divided by its mean: 0 is steady. Also aggregate
/// constancy, if the series is the sum of all flows. `None` of fewer than two values: one alone says nothing.
pub fn stability(series: &[f64]) -> Option<f64> {
    let mean = mean(series).filter(|&mean| mean > 0.0 && series.len() >= 2)?;
    let squares = series.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>();
    Some((squares / to_f64(series.len() as u64)).sqrt() / mean)
}

/// Jain's index of the flows' means, from 1/n (one has all) to 1 (equal shares); `None` for fewer
/// than two flows or if all are zero.
pub fn fairness(means: &[f64]) -> Option<f64> {
    let sum: f64 = means.iter().sum();
    let squares: f64 = means.iter().map(|x| x * x).sum();
    (means.len() >= 2 && squares > 0.0).then(|| sum * sum / (to_f64(means.len() as u64) * squares))
}

/// How far two means are apart, from −1 to 1: positive if the first gets more.
pub fn asymmetry(first: f64, second: f64) -> Option<f64> {
    let sum = first + second;
    (sum > 0.0).then(|| (first - second) / sum)
}

/// The time until three consecutive values of every series lie within 20 % of the series' final mean
/// (that of its second half), counted to the end of the third; the series begin at the last change.
pub fn convergence(series: &[&[f64]]) -> Option<Duration> {
    const STEADY: usize = 3;
    const WITHIN: f64 = 0.2;
    let length = series.iter().map(|s| s.len()).min()?;
    let means: Option<Vec<f64>> = (series.iter()).map(|s| mean(&s[s.len() / 2..])).collect();
    let means = means?;
    let is_near = |k: usize| {
        let of_all = series.iter().zip(&means);
        of_all
            .into_iter()
            .all(|(s, mean)| (s[k] - mean).abs() <= WITHIN * mean)
    };
    let end = (STEADY..=length).find(|&end| (end - STEADY..end).all(is_near))?;
    u32::try_from(end).ok().map(|bins| BIN * bins)
}

/// Values added up interval by interval, as far as all series reach.
pub fn aggregate(series: &[&[f64]]) -> Vec<f64> {
    let length = series.iter().map(|s| s.len()).min().unwrap_or(0);
    (0..length)
        .map(|k| series.iter().map(|s| s[k]).sum())
        .collect()
}

/// Lost packets of those whose fate is decided; `None` if there are none.
pub fn loss(lost: u64, delivered: u64) -> Option<f64> {
    let decided = lost + delivered;
    (decided > 0).then(|| to_f64(lost) / to_f64(decided))
}

/// The share of a time that a transmitter was at work.
pub fn utilisation(busy: Duration, time: Duration) -> Option<f64> {
    (!time.is_zero()).then(|| busy.as_secs_f64() / time.as_secs_f64())
}

/// Times in nanoseconds, summed up.
#[derive(Serialize, JsonSchema, Clone, Copy, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Distribution {
    /// How many there are.
    #[schemars(range(min = 1))]
    pub samples: usize,
    /// The least.
    pub min: u64,
    /// The mean.
    #[schemars(range(min = 0))]
    pub avg: f64,
    /// The greatest.
    pub max: u64,
    /// Half of them are no greater.
    pub p50: u64,
    /// 95 % of them are no greater.
    pub p95: u64,
    /// 99 % of them are no greater.
    pub p99: u64,
}

impl Distribution {
    /// Of these times; `None` of nothing. Percentiles are by nearest rank.
    pub fn of(times: &[u64]) -> Option<Self> {
        let mut sorted = times.to_vec();
        sorted.sort_unstable();
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let rank = |percent: usize| sorted[(sorted.len() * percent).div_ceil(100).max(1) - 1];
        let sum: f64 = sorted.iter().map(|&ns| to_f64(ns)).sum();
        Some(Self {
            samples: sorted.len(),
            min,
            avg: sum / to_f64(sorted.len() as u64),
            max,
            p50: rank(50),
            p95: rank(95),
            p99: rank(99),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: Option<f64>, b: f64, within: f64) -> bool {
        a.is_some_and(|a| (a - b).abs() <= within)
    }

    /// A linear sawtooth from (1 − b) W to W: its stability by the formula and as published.
    #[test]
    fn the_stability_of_an_ideal_sawtooth_is_the_published_one() {
        for (b, published) in [
            (0.5, 0.192),
            (0.3, 0.102),
            (0.27, 0.090),
            (0.2, 0.064),
            (0.125, 0.0385),
            (1.0 / 32.0, 0.009),
        ] {
            let steps = 10_000;
            let teeth: Vec<f64> = (0..3 * steps)
                .map(|k| 1.0 - b + b * (f64::from(k % steps) + 0.5) / f64::from(steps))
                .collect();
            let formula = b / 12_f64.sqrt() / (1.0 - b / 2.0);
            assert!(near(stability(&teeth), formula, 1e-6), "{b}");
            assert!((formula - published).abs() <= 6e-4, "{b}: {formula}");
        }
    }

    #[test]
    fn stability_is_the_population_deviation_over_the_mean() {
        assert_eq!(stability(&[2.0, 2.0, 2.0]), Some(0.0));
        assert!(near(stability(&[1.0, 3.0]), 0.5, 1e-15));
        assert_eq!(stability(&[]), None);
        assert_eq!(stability(&[2.0]), None, "unknown, not steady");
        assert_eq!(stability(&[0.0, 0.0]), None);
    }

    #[test]
    fn fairness_and_asymmetry_of_two_flows_are_one_number() {
        for (x1, x2) in [
            (1.0, 1.0),
            (3.0, 1.0),
            (1.0, 9.0),
            (400.0, 12.5),
            (1.0, 0.0),
        ] {
            let a = asymmetry(x1, x2).unwrap();
            assert!(near(fairness(&[x1, x2]), 1.0 / (1.0 + a * a), 1e-12));
        }
        assert_eq!(asymmetry(3.0, 1.0), Some(0.5));
        assert_eq!(asymmetry(1.0, 3.0), Some(-0.5));
        assert_eq!(asymmetry(0.0, 0.0), None);
    }

    #[test]
    fn fairness_reaches_from_one_of_n_to_one() {
        assert_eq!(fairness(&[5.0; 4]), Some(1.0));
        assert_eq!(fairness(&[7.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(fairness(&[1.0]), None);
        assert_eq!(fairness(&[0.0, 0.0]), None);
    }

    #[test]
    fn convergence_needs_three_near_values_of_every_flow() {
        let rising = [1.0, 5.0, 7.9, 8.0, 10.0, 12.0, 10.0, 10.0, 10.0, 10.0];
        // The final mean is 10.4: 8.32 to 12.48 is near.
        assert_eq!(convergence(&[&rising]), Some(BIN * 7));
        let steady = [4.0; 10];
        assert_eq!(convergence(&[&steady]), Some(BIN * 3));
        assert_eq!(convergence(&[&steady, &rising]), Some(BIN * 7));
        assert_eq!(convergence(&[&[1.0, 9.0, 1.0, 9.0, 1.0, 9.0]]), None);
        assert_eq!(convergence(&[&steady[..2]]), None);
        assert_eq!(convergence(&[]), None);
    }

    #[test]
    fn series_add_up_as_far_as_all_reach() {
        assert_eq!(aggregate(&[&[1.0, 2.0, 3.0], &[10.0, 20.0]]), [11.0, 22.0]);
        assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
        assert_eq!(mean(&[]), None);
    }

    #[test]
    fn loss_and_utilisation_are_shares() {
        assert_eq!(loss(1, 3), Some(0.25));
        assert_eq!(loss(0, 0), None);
        let s = Duration::from_secs;
        assert_eq!(utilisation(s(1), s(4)), Some(0.25));
        assert_eq!(utilisation(s(0), s(0)), None);
    }

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let times: Vec<u64> = (1..=200).rev().collect();
        let d = Distribution::of(&times).unwrap();
        assert_eq!((d.samples, d.min, d.max), (200, 1, 200));
        assert_eq!((d.p50, d.p95, d.p99), (100, 190, 198));
        assert!(near(Some(d.avg), 100.5, 1e-12));
        let one = Distribution::of(&[7]).unwrap();
        assert_eq!((one.p50, one.p99), (7, 7));
        assert_eq!(Distribution::of(&[]), None);
    }
}
