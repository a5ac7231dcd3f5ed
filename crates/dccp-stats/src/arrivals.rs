//! The arrivals of a flow at its receiver.

use crate::density::Densities;
use crate::jitter::Delays;
use crate::loss::LossRuns;
use crate::numbers::{Numbers, Opener, Place, WINDOW};
use crate::order::Reordering;
use crate::{Arrival, Jitter, LossPattern, Order, RawDelays};
use dccp_proto::number::to_f64;
use serde::{Deserialize, Serialize};

/// The result of [`Arrivals::add`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Novelty {
    /// The first packet with its number.
    New,
    /// A packet with this number arrived before.
    Duplicate,
    /// Its number is 262,144 or more below the greatest one, or below the last 4,096 gaps. So it is not known whether
    /// it arrived before.
    Stale,
    /// Its number is more than 262,144 above the greatest one. It counts when the next packet, or the sender's count,
    /// confirms that the flow is so far.
    Unconfirmed,
}

/// Counters of a flow, or of a part of it.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Different packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that arrived again.
    pub duplicates: u64,
    /// Packets that arrived after one with a greater number, without duplicates.
    pub reordered: u64,
    /// Packets with a congestion mark, without duplicates.
    pub marked: u64,
    /// Packets that were too late to be told from duplicates. Their numbers stay missing.
    pub stale: u64,
    /// Packets with a number far above all others that nothing confirmed. They count nowhere else.
    #[serde(default)]
    pub unconfirmed: u64,
    /// Numbers below the greatest one that have not arrived.
    pub missing: u64,
}

/// The arrivals since the last interval.
#[derive(Clone, PartialEq, Debug)]
pub struct ArrivalInterval {
    /// The counters; [`Counts::missing`] is what this interval added.
    pub counts: Counts,
    /// Numbers that were missing before the interval and arrived in it.
    pub recovered: u64,
    /// One-way delays by clocks that were not compared.
    pub delays: RawDelays,
}

/// The whole flow.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub struct ArrivalFigures {
    /// The packets in the flow: the number that the sender states, or the greatest number that arrived plus 1.
    pub sent: u64,
    /// The counters; [`Counts::missing`] includes packets at the end of the flow.
    pub counts: Counts,
    /// The time of the first arrival, in nanoseconds of the receiver's clock.
    pub first_ns: Option<u64>,
    /// The time of the last arrival that was no duplicate.
    pub last_ns: Option<u64>,
    /// Reordering.
    pub order: Order,
    /// Losses.
    pub loss: LossPattern,
    /// The variation of the one-way delay.
    pub jitter: Jitter,
    /// One-way delays by clocks that were not compared.
    pub delays: RawDelays,
}

/// Collects the arrivals of a flow: which packets arrived, in what order and after which delay.
///
/// Needs some 40 KiB, and up to 450 KiB when delays vary and packets are lost and reordered: 32 KiB for each histogram
/// and 128 KiB for gaps.
#[derive(Clone, Debug)]
pub struct Arrivals {
    numbers: Numbers,
    lost: LossRuns,
    reordering: Reordering,
    densities: Densities,
    delays: Delays,
    counts: Counts,
    /// The counters at the end of the last interval.
    earlier: Counts,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    /// A packet with a number far above all others: one wild number must not make all later packets stale.
    unconfirmed: Option<Arrival>,
}

impl Arrivals {
    /// Keeps a list of the first `lost_list_max` runs of lost packets, if that is not 0.
    pub fn new(lost_list_max: usize) -> Self {
        Self {
            numbers: Numbers::default(),
            lost: LossRuns::new(lost_list_max),
            reordering: Reordering::default(),
            densities: Densities::default(),
            delays: Delays::default(),
            counts: Counts::default(),
            earlier: Counts::default(),
            first_ns: None,
            last_ns: None,
            unconfirmed: None,
        }
    }

    /// Takes an arrival.
    pub fn add(&mut self, arrival: &Arrival) -> Novelty {
        if arrival.number.saturating_sub(self.numbers.passed()) <= WINDOW {
            self.counts.unconfirmed += u64::from(self.unconfirmed.take().is_some());
            return self.count(arrival);
        }
        match self.unconfirmed.take() {
            // A repetition of the same packet confirms nothing.
            Some(held) if (1..=WINDOW).contains(&held.number.abs_diff(arrival.number)) => {
                self.count(&held);
                self.count(arrival)
            }
            held => {
                self.counts.unconfirmed += u64::from(held.is_some());
                self.unconfirmed = Some(*arrival);
                Novelty::Unconfirmed
            }
        }
    }

    fn count(&mut self, arrival: &Arrival) -> Novelty {
        let here = Opener {
            position: self.counts.packets,
            arrived_ns: arrival.arrived_ns,
        };
        let overtaken_by = match self.numbers.take(arrival.number, here, &mut self.lost) {
            Place::InOrder => None,
            Place::Late { overtaken_by } => Some(overtaken_by),
            Place::Duplicate => {
                self.counts.duplicates += 1;
                return Novelty::Duplicate;
            }
            Place::Stale => {
                self.counts.stale += 1;
                return Novelty::Stale;
            }
        };
        self.reordering.add(arrival.number, here, overtaken_by);
        self.densities.add(arrival.number);
        self.delays.add(arrival);
        let counts = &mut self.counts;
        counts.packets += 1;
        counts.bytes = counts.bytes.saturating_add(arrival.bytes);
        counts.reordered = self.reordering.reordered;
        counts.marked += u64::from(arrival.is_marked);
        counts.missing = self.numbers.passed() - counts.packets;
        self.first_ns.get_or_insert(arrival.arrived_ns);
        self.last_ns = Some(arrival.arrived_ns);
        Novelty::New
    }

    /// The counters so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The arrivals since the last call.
    pub fn interval(&mut self) -> ArrivalInterval {
        let (now, before) = (self.counts, self.earlier);
        self.earlier = now;
        ArrivalInterval {
            counts: Counts {
                packets: now.packets - before.packets,
                bytes: now.bytes - before.bytes,
                duplicates: now.duplicates - before.duplicates,
                reordered: now.reordered - before.reordered,
                marked: now.marked - before.marked,
                stale: now.stale - before.stale,
                unconfirmed: now.unconfirmed - before.unconfirmed,
                missing: now.missing.saturating_sub(before.missing),
            },
            recovered: before.missing.saturating_sub(now.missing),
            delays: self.delays.interval(),
        }
    }

    /// Ends the flow. `sent` is the number of packets that the sender states. Without it, lost packets after the greatest
    /// number that arrived are not counted.
    pub fn finish(mut self, sent: Option<u64>) -> ArrivalFigures {
        if let Some(held) = self.unconfirmed.take() {
            if sent.is_some_and(|sent| held.number < sent) {
                self.count(&held);
            } else {
                self.counts.unconfirmed += 1;
            }
        }
        let sent = self.numbers.finish(sent, &mut self.lost);
        let mut counts = self.counts;
        counts.missing = sent - counts.packets;
        let (density, buffer_density) = self.densities.finish();
        let (jitter, delays) = self.delays.finish();
        let reordering = &self.reordering;
        let order = Order {
            reordered_packets: reordering.reordered,
            ratio: to_f64(reordering.reordered) / to_f64(counts.packets.max(1)),
            extent: reordering.extent.spread(),
            late_ns: reordering.late_ns.spread(),
            n_reordering: reordering.n_reordering(),
            density,
            buffer_density,
        };
        ArrivalFigures {
            sent,
            counts,
            first_ns: self.first_ns,
            last_ns: self.last_ns,
            order,
            loss: self.lost.finish(sent),
            jitter,
            delays,
        }
    }
}

#[cfg(test)]
mod tests;
