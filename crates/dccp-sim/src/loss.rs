//! Faults of a link, at random or at given times, and counters of losses by reason.
//!
//! Scripted faults, which look at packets, are in [`rule`](crate::rule).

mod process;

pub use process::{GilbertElliott, LossModel, LossProcess};

use crate::random::{Seed, Stream};
use crate::setting::Impossible;
use core::fmt;
use core::time::Duration;
use dccp_proto::Instant;
use process::BitErrors;

/// Why a packet did not arrive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Loss {
    /// The queue was full.
    Queue,
    /// The link loses packets at random.
    Random,
    /// The link was down.
    Outage,
    /// The packet was larger than the link's MTU.
    TooBig,
    /// A rule said so.
    Rule,
    /// Bits flipped in the IP header, or in a datagram that the UDP checksum protects: the
    /// receiving system drops it before DCCP sees it.
    Corrupt,
    /// A router knew no way to the destination.
    NoRoute,
    /// It arrived at a host that has another address.
    Stranger,
    /// The queue dropped it to signal congestion, though there was room.
    Early,
    /// It had passed too many routers: a loop.
    Ttl,
    /// It found too many others waiting for the host's processor.
    Backlog,
    /// The receiving host had no buffer for it.
    NoBuffer,
}

impl Loss {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 12] = [
        Self::Queue,
        Self::Random,
        Self::Outage,
        Self::TooBig,
        Self::Rule,
        Self::Corrupt,
        Self::NoRoute,
        Self::Stranger,
        Self::Early,
        Self::Ttl,
        Self::Backlog,
        Self::NoBuffer,
    ];

    /// A word for traces and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue full",
            Self::Random => "random",
            Self::Outage => "outage",
            Self::TooBig => "too big",
            Self::Rule => "rule",
            Self::Corrupt => "corrupt",
            Self::NoRoute => "no route",
            Self::Stranger => "stranger",
            Self::Early => "early drop",
            Self::Ttl => "hop limit",
            Self::Backlog => "backlog full",
            Self::NoBuffer => "no buffer",
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Lost packets by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Losses([u64; Loss::ALL.len()]);

impl Losses {
    /// Counts one.
    pub const fn add(&mut self, reason: Loss) {
        self.add_many(reason, 1);
    }

    /// Counts `packets` at once.
    pub const fn add_many(&mut self, reason: Loss, packets: u64) {
        self.0[reason as usize] += packets;
    }

    /// Those lost for this reason.
    pub const fn of(&self, reason: Loss) -> u64 {
        self.0[reason as usize]
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// The faults of one direction of a link. The default has none.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FaultConfig {
    /// Probability that a packet is lost, each independently of the others (Bernoulli). A lost
    /// packet has taken its room in the queue and its time on the link.
    pub loss: f64,
    /// Losses that come in bursts, besides those.
    pub bursts: Option<GilbertElliott>,
    /// Probability that a packet arrives twice.
    pub duplicate: f64,
    /// Probability that one bit of a packet flips, at any place from the IP header on.
    pub corrupt: f64,
    /// Probability of each bit to flip, so that long packets suffer more than short ones. Of several
    /// in one packet only the first does.
    pub bit_error_rate: f64,
    /// Probability that a packet is held back so long that others overtake it.
    pub reorder: f64,
    /// For how long such a packet is held back.
    pub reorder_by: Duration,
    /// By how much longer each packet takes.
    pub jitter: Jitter,
    /// A packet may overtake others that take longer, or that were sent when the link's delay was
    /// longer. Otherwise it waits for them.
    pub may_overtake: bool,
    /// When the link is down: what begins to be sent then is lost.
    pub outages: Vec<Outage>,
}

impl FaultConfig {
    /// Looks for settings that make no sense.
    ///
    /// # Errors
    /// The first one.
    pub fn check(&self) -> Result<(), Impossible> {
        Impossible::unless_share(self.loss, "faults.loss")?;
        Impossible::unless_share(self.duplicate, "faults.duplicate")?;
        Impossible::unless_share(self.corrupt, "faults.corrupt")?;
        Impossible::unless_share(self.bit_error_rate, "faults.bit_error_rate")?;
        Impossible::unless_share(self.reorder, "faults.reorder")?;
        if let Some(bursts) = self.bursts {
            bursts.check()?;
        }
        if let Jitter::Pareto { shape, .. } = self.jitter {
            let is_possible = shape > 0.0 && shape.is_finite();
            Impossible::unless(is_possible, "faults.jitter.shape", "above 0")?;
        }
        let lasts = self.outages.iter().all(|o| o.start < o.end);
        Impossible::unless(
            lasts,
            "faults.outages",
            "intervals that end after they begin",
        )
    }
}

/// By how much longer than the link's delay packets take.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Jitter {
    /// Not at all.
    #[default]
    None,
    /// Up to this, evenly spread.
    Uniform(Duration),
    /// Normally distributed around `mean`; what would be below zero is zero.
    Normal {
        /// The mean.
        mean: Duration,
        /// The standard deviation.
        deviation: Duration,
    },
    /// Pareto distributed: seldom very much.
    Pareto {
        /// The least.
        scale: Duration,
        /// The tail's exponent: the smaller, the heavier.
        shape: f64,
        /// The maximum.
        most: Duration,
    },
}

/// A time without connection, from `start` until just before `end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outage {
    /// First moment.
    pub start: Instant,
    /// The link works again.
    pub end: Instant,
}

/// The fate of a packet on a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It arrives.
    Delivered,
    /// It arrives twice.
    Duplicated,
    /// It arrives with this bit changed, counted from the start of the IP header.
    Corrupted {
        /// The index of the bit, most significant first.
        bit: usize,
    },
    /// It does not arrive.
    Lost(Loss),
}

/// How the next packet travels.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Detour {
    /// By how much longer than usual.
    pub(crate) jitter: Duration,
    /// For how long it is held back besides, so that others overtake it.
    pub(crate) hold: Duration,
    /// Whether it may overtake others.
    pub(crate) may_overtake: bool,
}

/// The faults of a link at work. Each kind draws from a stream of its own.
#[derive(Debug)]
pub(crate) struct Faults {
    config: FaultConfig,
    /// There are no faults: the usual case, which should cost nothing.
    is_quiet: bool,
    loss: Stream,
    bursts: Option<LossProcess>,
    burst_stream: Stream,
    duplicate: Stream,
    corrupt: Stream,
    reorder: Stream,
    jitter: Stream,
    bits: BitErrors,
}

impl Faults {
    pub(crate) fn new(config: FaultConfig, seed: Seed, link: &str) -> Self {
        let stream = |kind: &str| seed.stream(&format!("link {link} {kind}"));
        let mut faults = Self {
            config: FaultConfig::default(),
            is_quiet: true,
            loss: stream("loss"),
            bursts: None,
            burst_stream: stream("bursts"),
            duplicate: stream("duplicate"),
            corrupt: stream("corrupt"),
            reorder: stream("reorder"),
            jitter: stream("jitter"),
            bits: BitErrors::new(stream("bits")),
        };
        faults.set(config);
        faults
    }

    /// Other faults from now on. The streams go on.
    pub(crate) fn set(&mut self, config: FaultConfig) {
        self.is_quiet = config == FaultConfig::default();
        if self.config.bursts != config.bursts {
            let stream = &self.burst_stream;
            self.bursts = config
                .bursts
                .map(|bursts| LossProcess::new(LossModel::GilbertElliott(bursts), stream.clone()));
        }
        self.bits.set(config.bit_error_rate);
        self.config = config;
    }

    /// Whether there are no faults.
    pub(crate) const fn are_quiet(&self) -> bool {
        self.is_quiet
    }

    /// Decides on a packet of `len` bytes whose transmission begins at `start`.
    pub(crate) fn fate(&mut self, start: Instant, len: usize) -> Fate {
        // Every packet advances these, whatever its fate.
        let is_in_burst = self.bursts.as_mut().is_some_and(LossProcess::loses_next);
        let flipped = self.bits.pass(8 * len as u64);
        let config = &self.config;
        let is_down = |o: &Outage| o.start <= start && start < o.end;
        if config.outages.iter().any(is_down) {
            Fate::Lost(Loss::Outage)
        } else if self.loss.chance(config.loss) || is_in_burst {
            Fate::Lost(Loss::Random)
        } else if self.corrupt.chance(config.corrupt) {
            let bit = self.corrupt.index_below(8 * len);
            Fate::Corrupted { bit }
        } else if let Some(bit) = flipped {
            Fate::Corrupted { bit }
        } else if self.duplicate.chance(config.duplicate) {
            Fate::Duplicated
        } else {
            Fate::Delivered
        }
    }

    /// How the next packet travels.
    pub(crate) fn detour(&mut self) -> Detour {
        let is_held = self.reorder.chance(self.config.reorder);
        Detour {
            jitter: self.config.jitter.draw(&mut self.jitter),
            hold: if is_held {
                self.config.reorder_by
            } else {
                Duration::ZERO
            },
            may_overtake: self.config.may_overtake,
        }
    }
}

impl Jitter {
    fn draw(self, stream: &mut Stream) -> Duration {
        match self {
            Self::None | Self::Uniform(Duration::ZERO) => Duration::ZERO,
            Self::Uniform(most) => {
                let longest = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX - 1);
                Duration::from_nanos(stream.below(longest + 1))
            }
            Self::Normal { mean, deviation } => {
                let s = mean.as_secs_f64() + deviation.as_secs_f64() * stream.normal();
                Duration::try_from_secs_f64(s.max(0.0)).unwrap_or_default()
            }
            Self::Pareto { scale, shape, most } => {
                let factor = libm::pow(1.0 - stream.unit(), -1.0 / shape);
                let s = (scale.as_secs_f64() * factor).min(most.as_secs_f64());
                Duration::try_from_secs_f64(s).unwrap_or(most)
            }
        }
    }
}

#[cfg(test)]
mod tests;
