//! Numbers that sum a run up, by the field's definitions.
//!
//! A *series* is the goodput of a flow in bits per second over intervals of [`BIN`], aligned to the
//! flow's begin; an incomplete last interval is left out.

use core::time::Duration;
use dccp_proto::number::to_f64;
pub use dccp_stats::{asymmetry, fairness, mean, stability};
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
    /// The age of important data on arrival.
    #[serde(rename = "age.important")]
    AgeImportant,
    /// The age of complete pictures on the arrival of their last datagram.
    #[serde(rename = "age.frame")]
    AgeFrame,
    /// The share of important datagrams among those that arrive.
    Important,
    /// The share of important datagrams that arrive.
    #[serde(rename = "important.delivered")]
    ImportantDelivered,
    /// The share of datagrams that the application made and that do not arrive.
    Undelivered,
    /// The share of datagrams that the sender drops.
    Dropped,
    /// Usable pictures: their share, and how many there are in a second.
    Usable,
    /// Stalls of the playback: how many, and the share of the time.
    Stalls,
    /// The mean congestion window.
    Cwnd,
    /// The mean queue of the busiest link.
    Queue,
    /// The utilisation of the busiest link.
    Utilisation,
    /// Of a measurement of this machine: operations per second.
    Operations,
    /// Processor time of an operation.
    Cost,
    /// The operations' share of the sender's processor time.
    #[serde(rename = "cost.share")]
    CostShare,
    /// The sender's processor time for a packet of data.
    #[serde(rename = "cost.packet")]
    PacketCost,
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

/// The share of a time that a transmitter was at work. It is at most 1: counters of a live run are read a little after
/// the end of the time.
pub fn utilisation(busy: Duration, time: Duration) -> Option<f64> {
    (!time.is_zero()).then(|| (busy.as_secs_f64() / time.as_secs_f64()).min(1.0))
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
    /// The values that the shares of [`QUANTILES`] do not exceed.
    pub quantiles: [u64; QUANTILES.len()],
}

/// The shares, from 0 to 1, of the quantiles of a [`Distribution`]: enough for a picture of it and of its tail.
pub const QUANTILES: [f64; 20] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998,
    0.999, 0.9995, 0.9999,
];

impl Distribution {
    /// Of these times; `None` of nothing. Percentiles are by nearest rank.
    pub fn of(times: &[u64]) -> Option<Self> {
        let mut sorted = times.to_vec();
        sorted.sort_unstable();
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        // Shares are multiples of a ten-thousandth, so that ranks are exact.
        let rank = |parts: usize| sorted[(sorted.len() * parts).div_ceil(10_000).max(1) - 1];
        let parts_of = |share: f64| (1..10_000_u32).find(|&n| f64::from(n) / 1e4 >= share - 1e-9);
        let of_share = |share: f64| rank(parts_of(share).map_or(10_000, |parts| parts as usize));
        let sum: f64 = sorted.iter().map(|&ns| to_f64(ns)).sum();
        Some(Self {
            samples: sorted.len(),
            min,
            avg: sum / to_f64(sorted.len() as u64),
            max,
            p50: rank(5_000),
            p95: rank(9_500),
            p99: rank(9_900),
            quantiles: QUANTILES.map(of_share),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: Option<f64>, b: f64, within: f64) -> bool {
        a.is_some_and(|a| (a - b).abs() <= within)
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
        assert_eq!(d.quantiles[..5], [2, 4, 10, 20, 40]);
        assert_eq!(d.quantiles[7], d.p50);
        assert_eq!(d.quantiles[14..], [198, 199, 200, 200, 200, 200]);
        let one = Distribution::of(&[7]).unwrap();
        assert_eq!((one.p50, one.p99, one.quantiles), (7, 7, [7; 20]));
        assert_eq!(Distribution::of(&[]), None);
    }
}
