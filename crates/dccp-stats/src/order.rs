//! Reordering by RFC 4737, and [`Order`], which also holds the densities of RFC 5236 (`density.rs`).
//!
//! A packet is reordered if a packet with a greater number arrived before it (RFC 4737 §3.3). Its extent is the number of
//! arrivals since the earliest such packet (§4.2.3), and its late time is the time since then (§4.3.3). It is n-reordered if
//! the n packets directly before it all have greater numbers (§5.3). Duplicates count nowhere.

use crate::numbers::Opener;
use crate::{Histogram, Spread};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The order of arrivals compared with the order of departures.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Order {
    /// Packets that arrived after one with a greater number.
    pub reordered_packets: u64,
    /// Reordered packets divided by all that arrived, without duplicates; 0 if none arrived.
    pub ratio: f64,
    /// How many arrivals a reordered packet is late; from 256 on up to 1 % too high.
    pub extent: Option<Spread>,
    /// How long a reordered packet is late, in nanoseconds.
    pub late_ns: Option<Spread>,
    /// The number of packets that are 1-reordered, 2-reordered and so on, up to 32. A sender that retransmits after n
    /// duplicate acknowledgements does so in vain for the n-reordered ones.
    pub n_reordering: Vec<u64>,
    /// Reorder Density (RFC 5236): how early (negative) or late packets are, in packets, and their share. Packets more
    /// than 64 (the threshold DT) early or late count as lost and are left out.
    pub density: Vec<(i32, f64)>,
    /// Reorder Buffer-occupancy Density (RFC 5236): packets that wait for an earlier one at an arrival, at most 64 (the
    /// threshold BT), and the share of arrivals. Packets without room are left out.
    pub buffer_density: Vec<(u32, f64)>,
}

/// The greatest n of n-reordering.
pub(crate) const N_MAX: usize = 32;

/// Collects what RFC 4737 defines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reordering {
    /// The numbers of the last arrivals, in a ring.
    recent: [u64; N_MAX],
    /// All arrivals.
    arrivals: u64,
    pub(crate) reordered: u64,
    n_reordered: [u64; N_MAX],
    pub(crate) extent: Histogram,
    pub(crate) late_ns: Histogram,
}

impl Reordering {
    /// Adds an arrival, which is not a duplicate.
    pub(crate) fn add(&mut self, number: u64, arrival: Opener, overtaken_by: Option<Opener>) {
        if let Some(earliest) = overtaken_by {
            self.reordered += 1;
            self.extent
                .record(arrival.position.saturating_sub(earliest.position));
            self.late_ns
                .record(arrival.arrived_ns.saturating_sub(earliest.arrived_ns));
            let known = usize::try_from(self.arrivals).unwrap_or(N_MAX).min(N_MAX);
            for (n, before) in (1_u64..=known as u64).enumerate() {
                if self.recent[ring(self.arrivals - before)] < number {
                    break;
                }
                self.n_reordered[n] += 1;
            }
        }
        self.recent[ring(self.arrivals)] = number;
        self.arrivals += 1;
    }

    /// The number of n-reordered packets for n = 1, 2 … up to the greatest n that has any.
    pub(crate) fn n_reordering(&self) -> Vec<u64> {
        let counts = self.n_reordered.iter();
        counts.copied().take_while(|&count| count > 0).collect()
    }
}

fn ring(position: u64) -> usize {
    usize::try_from(position % N_MAX as u64).unwrap_or(0)
}
