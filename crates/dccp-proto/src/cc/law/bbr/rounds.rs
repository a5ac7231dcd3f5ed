//! BBR's counters per round trip: losses, growth, and the steps of a probe.

use super::Ack;

/// Growth ends when the bandwidth has not grown by a quarter in three round trips.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;

/// The current round trip.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Round {
    pub(super) number: u64,
    /// Lost or marked packets, and the acknowledgements that reported them.
    pub(super) lost: u32,
    pub(super) gaps: u32,
    /// The most packets in flight in this round trip and in the one before. Packets that are lost now were sent
    /// in the one before.
    pub(super) flight: u32,
    pub(super) flight_before: u32,
    /// Packets of a congestion event were in flight at the start of this round trip.
    pub(super) began_recovering: bool,
}

impl Round {
    pub(super) fn on_ack(&mut self, ack: &Ack) {
        let lost = ack.lost + ack.marked;
        self.lost += lost;
        self.gaps += u32::from(lost > 0);
        self.flight = self.flight.max(ack.flight);
    }

    /// Returns the packets in flight when the packets lost in this round trip were sent.
    pub(super) fn sent_flight(&self) -> f64 {
        f64::from(self.flight_before.max(self.lost))
    }

    pub(super) fn is_lossy(&self, threshold: f64) -> bool {
        f64::from(self.lost) > threshold * self.sent_flight()
    }
}

/// Detects the end of growth.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Plateau {
    pub(super) bw: f64,
    pub(super) rounds: u32,
    pub(super) is_reached: bool,
}

impl Plateau {
    pub(super) fn on_ack(&mut self, ack: &Ack, begins_round: bool) {
        let Some(rate) = ack.delivered_rate.filter(|_| !ack.is_app_limited) else {
            return;
        };
        if rate >= FULL_GROWTH * self.bw {
            *self = Self {
                bw: rate,
                ..Self::default()
            };
        } else if begins_round {
            self.rounds += 1;
            self.is_reached |= self.rounds >= FULL_ROUNDS;
        }
    }
}

/// The current probe: it raises the bound by 1, 2, 4 … packets per round trip.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Probe {
    pub(super) rounds: u32,
    /// Acknowledged packets that raise the bound by one, and the packets counted towards that.
    pub(super) per_packet: f64,
    pub(super) acked: f64,
    /// The packets that are acknowledged now were sent while probing.
    pub(super) is_sampled: bool,
}

impl Probe {
    pub(super) fn begin_round(&mut self, cwnd: f64) {
        self.per_packet = (cwnd / f64::from(1_u32 << self.rounds)).max(1.0);
        self.rounds = (self.rounds + 1).min(30);
    }

    pub(super) fn on_ack(&mut self, acked: u32) -> f64 {
        self.acked += f64::from(acked);
        let packets = (self.acked / self.per_packet).floor();
        self.acked -= packets * self.per_packet;
        packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::law::bench::assert_near;

    #[test]
    fn a_probe_raises_the_bound_by_1_2_4_packets_per_round_trip() {
        let mut probe = Probe::default();
        for per_round in [1.0, 2.0, 4.0, 8.0] {
            probe.begin_round(64.0);
            assert_near((0..16).map(|_| probe.on_ack(4)).sum(), per_round);
        }
        // The remainder below a whole packet is kept.
        let mut probe = Probe::default();
        probe.begin_round(10.0);
        for (acked, raised) in [(7, 0.0), (7, 1.0), (6, 1.0), (25, 2.0)] {
            assert_near(probe.on_ack(acked), raised);
        }
    }
}
