//! What goes wrong on a link at random or by the clock, and how losses are counted by place.
//!
//! Scripted faults, which look at packets, are in [`rule`](crate::rule).

use crate::random::{Seed, Stream};
use core::fmt;
use core::time::Duration;
use dccp_proto::Instant;

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
}

impl Loss {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Queue,
        Self::Random,
        Self::Outage,
        Self::TooBig,
        Self::Rule,
        Self::Corrupt,
        Self::NoRoute,
        Self::Stranger,
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
        self.0[reason as usize] += 1;
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
    /// Probability that a packet arrives twice.
    pub duplicate: f64,
    /// Probability that one bit of a packet flips, at any place from the IP header on.
    pub corrupt: f64,
    /// Probability that a packet is held back so long that others overtake it.
    pub reorder: f64,
    /// For how long such a packet is held back.
    pub reorder_by: Duration,
    /// Every packet takes longer by a random time up to this, evenly spread. None overtakes another.
    pub jitter: Duration,
    /// When the link is down: what begins to be sent then is lost.
    pub outages: Vec<Outage>,
}

/// A time without connection, from `start` until just before `end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outage {
    /// First moment.
    pub start: Instant,
    /// The link works again.
    pub end: Instant,
}

/// What the link does to a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It arrives.
    Delivered,
    /// It arrives twice.
    Duplicated,
    /// It arrives with this bit changed, counted from the start of the IP header.
    Corrupted {
        /// Which bit, most significant first.
        bit: usize,
    },
    /// It does not arrive.
    Lost(Loss),
}

/// The faults of a link at work. Each kind draws from a stream of its own.
#[derive(Debug)]
pub(crate) struct Faults {
    config: FaultConfig,
    loss: Stream,
    duplicate: Stream,
    corrupt: Stream,
    reorder: Stream,
    jitter: Stream,
}

impl Faults {
    pub(crate) fn new(config: FaultConfig, seed: Seed, link: &str) -> Self {
        let stream = |kind: &str| seed.stream(&format!("link {link} {kind}"));
        Self {
            config,
            loss: stream("loss"),
            duplicate: stream("duplicate"),
            corrupt: stream("corrupt"),
            reorder: stream("reorder"),
            jitter: stream("jitter"),
        }
    }

    /// Decides on a packet of `len` bytes whose transmission begins at `start`.
    pub(crate) fn fate(&mut self, start: Instant, len: usize) -> Fate {
        let config = &self.config;
        let is_down = |o: &Outage| o.start <= start && start < o.end;
        if config.outages.iter().any(is_down) {
            Fate::Lost(Loss::Outage)
        } else if self.loss.chance(config.loss) {
            Fate::Lost(Loss::Random)
        } else if self.corrupt.chance(config.corrupt) {
            Fate::Corrupted {
                bit: self.corrupt.index_below(8 * len),
            }
        } else if self.duplicate.chance(config.duplicate) {
            Fate::Duplicated
        } else {
            Fate::Delivered
        }
    }

    /// For how long to hold the next packet back, so that others overtake it; zero for most.
    pub(crate) fn hold(&mut self) -> Duration {
        if self.reorder.chance(self.config.reorder) {
            self.config.reorder_by
        } else {
            Duration::ZERO
        }
    }

    /// How much longer than usual the next packet travels.
    pub(crate) fn jitter(&mut self) -> Duration {
        if self.config.jitter.is_zero() {
            return Duration::ZERO;
        }
        let longest = u64::try_from(self.config.jitter.as_nanos()).unwrap_or(u64::MAX - 1);
        Duration::from_nanos(self.jitter.below(longest + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(config: FaultConfig) -> Faults {
        Faults::new(config, Seed(7), "test")
    }

    fn fates(config: FaultConfig) -> Vec<Fate> {
        let mut faults = faults(config);
        (0..10_000)
            .map(|_| faults.fate(Instant::ZERO, 100))
            .collect()
    }

    #[test]
    fn an_outage_loses_what_begins_in_it() {
        let ms = |n: u64| Instant::ZERO + Duration::from_millis(n);
        let mut faults = faults(FaultConfig {
            outages: vec![Outage {
                start: ms(10),
                end: ms(20),
            }],
            ..FaultConfig::default()
        });
        for (at, fate) in [
            (9, Fate::Delivered),
            (10, Fate::Lost(Loss::Outage)),
            (19, Fate::Lost(Loss::Outage)),
            (20, Fate::Delivered),
        ] {
            assert_eq!(faults.fate(ms(at), 100), fate, "at {at} ms");
        }
    }

    #[test]
    fn one_kind_of_fault_leaves_the_draws_of_another_alone() {
        let loss = FaultConfig {
            loss: 0.1,
            ..FaultConfig::default()
        };
        let both = FaultConfig {
            duplicate: 0.1,
            ..loss.clone()
        };
        let lost_ones = |config| -> Vec<bool> {
            let is_lost = |f: &Fate| matches!(f, Fate::Lost(_));
            fates(config).iter().map(is_lost).collect()
        };
        assert_eq!(lost_ones(loss), lost_ones(both));
    }

    #[test]
    fn faults_are_as_frequent_as_configured() {
        let all = fates(FaultConfig {
            loss: 0.1,
            corrupt: 0.1,
            duplicate: 0.1,
            ..FaultConfig::default()
        });
        let count = |is: fn(&Fate) -> bool| all.iter().filter(|f| is(f)).count();
        let lost = count(|f| *f == Fate::Lost(Loss::Random));
        let corrupted = count(|f| matches!(f, Fate::Corrupted { bit } if *bit < 800));
        let duplicated = count(|f| *f == Fate::Duplicated);
        assert!((900..1100).contains(&lost), "{lost}");
        assert!((810..990).contains(&corrupted), "{corrupted}");
        assert!((720..900).contains(&duplicated), "{duplicated}");
    }

    #[test]
    fn jitter_stays_within_its_bound_and_reaches_both_ends() {
        let mut faults = faults(FaultConfig {
            jitter: Duration::from_nanos(3),
            ..FaultConfig::default()
        });
        let mut seen = [0; 4];
        for _ in 0..1000 {
            seen[usize::try_from(faults.jitter().as_nanos()).unwrap()] += 1;
        }
        assert!(seen.iter().all(|n| *n > 200), "{seen:?}");
    }

    #[test]
    fn losses_add_up_by_reason() {
        let mut losses = Losses::default();
        for reason in [Loss::Queue, Loss::Stranger, Loss::Queue] {
            losses.add(reason);
        }
        assert_eq!(losses.of(Loss::Queue), 2);
        assert_eq!(losses.of(Loss::Stranger), 1);
        assert_eq!(losses.total(), 3);
        for (number, reason) in Loss::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, number);
        }
    }
}
