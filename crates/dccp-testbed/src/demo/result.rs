//! The part of dccpmon's result that the demo shows (schema `dccpmon/1`).

use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct Document {
    pub(super) status: String,
    pub(super) intervals: Vec<Interval>,
    pub(super) summary: Summary,
}

#[derive(Deserialize)]
pub(super) struct Interval {
    pub(super) t0_ns: u64,
    pub(super) t1_ns: u64,
    pub(super) flows: Vec<Flow>,
}

/// One flow in one interval.
#[derive(Deserialize)]
pub(super) struct Flow {
    pub(super) received_bytes: Option<u64>,
    pub(super) lost_packets: Option<u64>,
    pub(super) rtt_ns: Option<Spread>,
}

#[derive(Deserialize)]
pub(super) struct Spread {
    pub(super) p50: Option<u64>,
    /// Null with fewer than 100 samples.
    pub(super) p99: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct Summary {
    pub(super) flows: Vec<Total>,
}

/// One flow in the whole test.
#[derive(Deserialize)]
pub(super) struct Total {
    pub(super) goodput_bps: f64,
    pub(super) ledger: Ledger,
    pub(super) rtt: Option<Rtt>,
}

/// The parts of a round trip.
#[derive(Deserialize)]
pub(super) struct Rtt {
    pub(super) network_ns: Option<Spread>,
}

#[derive(Deserialize)]
pub(super) struct Ledger {
    pub(super) sent: u64,
    pub(super) lost_network: u64,
}

impl Document {
    /// Moves all intervals to later times.
    pub(super) fn delay(&mut self, seconds: u32) {
        let ns = u64::from(seconds) * 1_000_000_000;
        for interval in &mut self.intervals {
            interval.t0_ns += ns;
            interval.t1_ns += ns;
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
impl Interval {
    /// Its middle, in seconds.
    pub(super) fn time_s(&self) -> f64 {
        (self.t0_ns + self.t1_ns) as f64 / 2e9
    }

    /// Received by all flows.
    pub(super) fn rate_mbit_per_s(&self) -> f64 {
        let bytes: u64 = self
            .flows
            .iter()
            .filter_map(|flow| flow.received_bytes)
            .sum();
        bytes as f64 * 8e3 / (self.t1_ns - self.t0_ns) as f64
    }

    /// The median round trip of the first flow that has one; not a number if none has.
    pub(super) fn rtt_ms(&self) -> f64 {
        let rtt = self.flows.iter().find_map(|flow| flow.rtt_ns.as_ref()?.p50);
        rtt.map_or(f64::NAN, |ns| ns as f64 / 1e6)
    }

    pub(super) fn lost(&self) -> u64 {
        self.flows.iter().filter_map(|flow| flow.lost_packets).sum()
    }
}
