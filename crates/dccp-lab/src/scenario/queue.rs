//! The queue of a link: `queue` is its room, `aqm` its discipline.

use super::keys::{AqmKeys, AqmKind, LinkKeys};
use super::numbers::Whole;
use super::values::{At, QueueSize};
use crate::mistake::{Mistake, Place};
use core::time::Duration;
use dccp_proto::Rate;
use dccp_sim::LinkConfig;
use dccp_sim::queue::{
    AdaptiveRed, CoDelConfig, DropTailConfig, DualPi2Config, FqCoDelConfig, L4sMarking, Limit,
    PieConfig, QueueConfig, RedConfig, TokenBucketConfig,
};
use dccp_sim::rate_trace::RateTrace;

impl AqmKind {
    /// The name in files.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Droptail => "droptail",
            Self::Tbf => "tbf",
            Self::Red => "red",
            Self::Codel => "codel",
            Self::FqCodel => "fq_codel",
            Self::Pie => "pie",
            Self::Dualpi2 => "dualpi2",
        }
    }

    /// The settings in the table `aqm`.
    pub(crate) const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Droptail | Self::Tbf => &[],
            Self::Red => &["min", "max", "max_p", "weight", "gentle", "ecn", "adaptive"],
            Self::Codel => &["target", "interval", "ecn"],
            Self::FqCodel => &["target", "interval", "ecn", "flows", "quantum"],
            Self::Pie => &["target", "update", "alpha", "beta", "ecn"],
            Self::Dualpi2 => &["target", "update", "alpha", "beta", "coupling", "step"],
        }
    }
}

/// The queue of a link with this rate and delay.
pub(crate) fn queue(
    place: &Place,
    keys: &LinkKeys,
    rate: Option<Rate>,
    delay: Duration,
) -> Result<QueueConfig, Mistake> {
    let capacity = Capacity { rate, delay };
    let size = keys.queue.as_ref().map(|size| room(size, capacity));
    let size = size.transpose()?;
    let droptail = AqmKeys::plain(AqmKind::Droptail);
    let aqm = keys.aqm.as_ref().map_or(&droptail, |aqm| &aqm.0);
    let mut config = match aqm.kind {
        AqmKind::Droptail => {
            let mark_at = keys.mark_at.as_ref().map(|size| limit(size, capacity));
            QueueConfig::DropTail(DropTailConfig {
                mark_at: mark_at.transpose()?,
                ..DropTailConfig::default()
            })
        }
        AqmKind::Tbf => token_bucket(place, keys, size)?,
        AqmKind::Red => QueueConfig::Red(red(aqm, rate)),
        AqmKind::Codel => QueueConfig::CoDel(codel(aqm)),
        AqmKind::FqCodel => QueueConfig::FqCoDel(fq_codel(aqm)),
        AqmKind::Pie => QueueConfig::Pie(pie(aqm)),
        AqmKind::Dualpi2 => QueueConfig::DualPi2(dualpi2(aqm)),
    };
    if let Some(size) = size {
        config.set_limit(size);
    }
    if keys.aqm.is_some() && rate.is_none() {
        return Err(without_rate(place));
    }
    Ok(config)
}

fn without_rate(place: &Place) -> Mistake {
    let what = "a link without a rate has no queue";
    Mistake::new(place, what, "give the link a rate")
}

/// `aqm = "tbf"`: the link's rate, with bursts above it.
fn token_bucket(
    place: &Place,
    keys: &LinkKeys,
    size: Option<Limit>,
) -> Result<QueueConfig, Mistake> {
    let rate = keys.rate.ok_or_else(|| Mistake::missing(place, "rate"))?.0;
    let burst = keys
        .burst
        .as_ref()
        .ok_or_else(|| Mistake::missing(place, "burst"))?;
    let burst = usize::try_from(burst.0).unwrap_or(usize::MAX);
    let limit = size.unwrap_or(DropTailConfig::default().limit);
    Ok(QueueConfig::TokenBucket(match &keys.latency {
        Some(latency) => TokenBucketConfig::with_latency(rate, burst, latency.0),
        None => TokenBucketConfig { rate, burst, limit },
    }))
}

/// RED, by default with the thresholds of ns-2 for the link's rate.
fn red(keys: &AqmKeys, rate: Option<Rate>) -> RedConfig {
    const PACKET: usize = 1500;
    let default = rate.map_or(RedConfig::default(), |rate| {
        RedConfig::automatic(rate, PACKET)
    });
    RedConfig {
        min_threshold: keys.min.map_or(default.min_threshold, |number| number.0),
        max_threshold: keys.max.map_or(default.max_threshold, |number| number.0),
        max_p: keys.max_p.map_or(default.max_p, |number| number.0),
        weight: keys.weight.map_or(default.weight, |number| number.0),
        gentle: keys.gentle.unwrap_or(default.gentle),
        ecn: keys.ecn.unwrap_or(default.ecn),
        adaptive: (keys.adaptive == Some(true)).then(AdaptiveRed::default),
        ..default
    }
}

fn codel(keys: &AqmKeys) -> CoDelConfig {
    let default = CoDelConfig::default();
    CoDelConfig {
        target: keys.target.map_or(default.target, |time| time.0),
        interval: keys.interval.map_or(default.interval, |time| time.0),
        ecn: keys.ecn.unwrap_or(default.ecn),
        ..default
    }
}

fn fq_codel(keys: &AqmKeys) -> FqCoDelConfig {
    let default = FqCoDelConfig::default();
    FqCoDelConfig {
        flows: keys.flows.map_or(default.flows, Whole::to),
        quantum: keys.quantum.map_or(default.quantum, Whole::to),
        codel: codel(keys),
        ..default
    }
}

fn pie(keys: &AqmKeys) -> PieConfig {
    let default = PieConfig::default();
    PieConfig {
        target: keys.target.map_or(default.target, |time| time.0),
        update: keys.update.map_or(default.update, |time| time.0),
        alpha: keys.alpha.map_or(default.alpha, |number| number.0),
        beta: keys.beta.map_or(default.beta, |number| number.0),
        ecn: keys.ecn.unwrap_or(default.ecn),
        ..default
    }
}

fn dualpi2(keys: &AqmKeys) -> DualPi2Config {
    let default = DualPi2Config::default();
    let step = keys.step.map(|time| L4sMarking::Step(time.0));
    DualPi2Config {
        target: keys.target.map_or(default.target, |time| time.0),
        update: keys.update.map_or(default.update, |time| time.0),
        alpha: keys.alpha.map_or(default.alpha, |number| number.0),
        beta: keys.beta.map_or(default.beta, |number| number.0),
        coupling: keys.coupling.map_or(default.coupling, |number| number.0),
        marking: step.unwrap_or(default.marking),
        ..default
    }
}

/// The rate and delay of a link: sizes of queues may refer to them.
#[derive(Clone, Copy)]
pub(crate) struct Capacity {
    rate: Option<Rate>,
    delay: Duration,
}

impl Capacity {
    pub(crate) fn of(link: &LinkConfig) -> Self {
        Self {
            rate: rate_of(link),
            delay: link.delay,
        }
    }
}

/// The rate of a direction, whatever limits it; of a trace the mean.
fn rate_of(link: &LinkConfig) -> Option<Rate> {
    match &link.queue {
        QueueConfig::TokenBucket(bucket) => Some(bucket.rate),
        _ => link.rate.or(link.trace.as_ref().map(mean_rate)),
    }
}

/// The mean rate of a trace.
pub(crate) fn mean_rate(trace: &RateTrace) -> Rate {
    Rate::from_bytes_per_s(trace.bytes_per_s())
}

fn limit(size: &At<QueueSize>, link: Capacity) -> Result<Limit, Mistake> {
    let place = &size.place;
    let Some(rate) = link.rate else {
        return Err(without_rate(place));
    };
    let whole = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    match size.value {
        QueueSize::Packets(n) => Ok(Limit::Packets(whole(n))),
        QueueSize::Bytes(n) => Ok(Limit::Bytes(whole(n))),
        QueueSize::Time(time) => from_bytes(place, rate.bytes_per_s() * time.as_secs_f64()),
        QueueSize::BandwidthDelay(_) if link.delay.is_zero() => {
            let what = "the bdp of a link without delay is zero";
            let next = "give the link a delay, or write 100p, 64KiB or 12ms";
            Err(Mistake::new(place, what, next))
        }
        QueueSize::BandwidthDelay(factor) => {
            let round_trip = (link.delay * 2).as_secs_f64();
            from_bytes(place, rate.bytes_per_s() * round_trip * factor)
        }
    }
}

/// The room of a queue: at least a packet.
pub(crate) fn room(size: &At<QueueSize>, link: Capacity) -> Result<Limit, Mistake> {
    match limit(size, link)? {
        Limit::Packets(0) | Limit::Bytes(0) => {
            let what = "a queue of this size has room for no packet";
            Err(Mistake::new(&size.place, what, "write 1p or more"))
        }
        room => Ok(room),
    }
}

/// A computed size, which must be at least that of a packet.
fn from_bytes(place: &Place, bytes: f64) -> Result<Limit, Mistake> {
    const PACKET: f64 = 1500.0;
    if bytes < PACKET {
        let what = format!("this is {bytes:.0} bytes here, less than a packet");
        let next = "write more, or the number of packets: 1p";
        return Err(Mistake::new(place, what, next));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "above 1500; it saturates at the largest number"
    )]
    let bytes = bytes.round() as usize;
    Ok(Limit::Bytes(bytes))
}
