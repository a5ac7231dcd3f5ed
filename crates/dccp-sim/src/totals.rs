//! All frames of a world, by their fate.

use crate::loss::Losses;

/// All frames of a world, by what became of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Sent by hosts and, for ICMP, by routers.
    pub sent: u64,
    /// Added by links that duplicate.
    pub duplicated: u64,
    /// Handed to the protocols of a host.
    pub delivered: u64,
    /// Lost, by reason.
    pub lost: Losses,
    /// Still on their way.
    pub in_flight: u64,
}

impl Totals {
    /// Whether nothing came from nowhere or vanished.
    pub fn add_up(&self) -> bool {
        self.sent + self.duplicated == self.delivered + self.lost.total() + self.in_flight
    }
}
