//! Attribution of missing packets: to the sending host, to the receiving host, or to the network (SafeUDP §3).

use super::interval::Interval;

/// Where the missing and marked packets of an interval were lost or marked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Attribution {
    /// In the network: lost, marked or corrupt.
    pub(crate) network: u64,
    /// Lost in the sending host.
    pub(crate) sending_host: u64,
    /// Lost in the receiving host, or dropped there for lack of buffers.
    pub(crate) receiving_host: u64,
    /// Those of `network` that the receiving host may have lost: its counter counts other flows too.
    pub(crate) unknown_host: u64,
}

impl Interval {
    /// Attributes the missing packets: first to failed transmissions, then to the Host Loss Count, else to the network.
    pub(crate) fn attribution(&self) -> Attribution {
        let sending = self.failed.min(self.lost);
        let rest = self.lost - sending;
        let receiving = self.host_losses.min(rest);
        Attribution {
            network: rest - receiving + self.marks + self.corrupt,
            sending_host: sending,
            receiving_host: receiving + self.receive_buffer,
            unknown_host: self.doubtful.min(rest - receiving),
        }
    }

    /// Whether this host is a bottleneck.
    pub(crate) const fn is_host_tx(&self) -> bool {
        self.failed > 0 || self.is_backlogged
    }

    /// Whether the receiving host is a bottleneck.
    pub(crate) const fn is_host_rx(&self) -> bool {
        self.receive_buffer > 0 || self.host_losses > 0 || self.has_slow_receiver
    }
}

/// Drops that a host has counted, until missing packets claim them or they are too old.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Credit {
    /// By the interval that counted them, oldest first.
    drops: [u64; CREDIT_INTERVALS],
}

/// A drop waits for its packet until the end of the second interval after its own.
const CREDIT_INTERVALS: usize = 3;

impl Credit {
    /// The host counts more drops.
    const fn add(&mut self, drops: u64) {
        let [.., fresh] = &mut self.drops;
        *fresh = fresh.saturating_add(drops);
    }

    /// Covers at most `missing` packets. Returns how many.
    fn claim(&mut self, missing: u64) -> u64 {
        let mut left = missing;
        for drops in &mut self.drops {
            let taken = left.min(*drops);
            *drops -= taken;
            left -= taken;
        }
        missing - left
    }

    /// An interval ends. Returns the drops that no packet claimed in time.
    fn age(&mut self) -> u64 {
        self.drops.rotate_left(1);
        let [.., fresh] = &mut self.drops;
        core::mem::take(fresh)
    }
}

/// Matches missing packets with the drops that the two hosts have counted.
///
/// A host can count a drop before or after the Ack Vector shows it, so a drop waits for its packet. The counters of the
/// receiving host count the packets of other flows too. Where fewer than half of the counted drops are ours, a covered packet
/// may as well have been lost in the network, and it counts as such.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Matcher {
    sending: Credit,
    receiving: Credit,
    /// The last Host Loss Count of the peer, modulo 2^24.
    last_count: Option<u32>,
    /// Drops that missing packets claimed, and that none did; both fade by a fifth per interval.
    claimed: f64,
    unclaimed: f64,
}

/// How the missing packets of one acknowledgement divide.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Matched {
    pub(crate) failed: u64,
    pub(crate) host_losses: u64,
    pub(crate) doubtful: u64,
}

impl Matcher {
    /// The Host Loss Count wraps here.
    const WRAP: u32 = 1 << 24;
    /// Fading of the two sums per interval: an interval counts for about five.
    const FADING: f64 = 0.8;

    /// This host failed to send packets that have sequence numbers.
    pub(crate) fn on_send_failed(&mut self, packets: u32) {
        self.sending.add(packets.into());
    }

    /// The peer reports this Host Loss Count. A step back, from a delayed acknowledgement, is ignored.
    pub(crate) fn on_host_loss_count(&mut self, count: u32) {
        // The count is that of the connection, so it begins at 0.
        let last = self.last_count.unwrap_or(0);
        let step = count.wrapping_sub(last) % Self::WRAP;
        if step < Self::WRAP / 2 {
            self.receiving.add(step.into());
            self.last_count = Some(count);
        }
    }

    /// Divides `missing` packets.
    pub(crate) fn claim(&mut self, missing: u64) -> Matched {
        let failed = self.sending.claim(missing);
        let covered = self.receiving.claim(missing - failed);
        self.claimed += crate::number::to_f64(covered);
        let (host_losses, doubtful) = if self.unclaimed > self.claimed {
            (0, covered)
        } else {
            (covered, 0)
        };
        Matched {
            failed,
            host_losses,
            doubtful,
        }
    }

    /// An interval ends.
    pub(crate) fn end_interval(&mut self) {
        self.sending.age();
        let expired = crate::number::to_f64(self.receiving.age());
        self.claimed *= Self::FADING;
        self.unclaimed = self.unclaimed * Self::FADING + expired;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_transmissions_come_first_then_the_host_loss_count_then_the_network() {
        // SafeUDP §3: the order of attribution.
        let interval = Interval {
            judged: 100,
            lost: 10,
            failed: 3,
            host_losses: 4,
            marks: 2,
            corrupt: 1,
            ..Interval::default()
        };
        let a = interval.attribution();
        assert_eq!((a.sending_host, a.receiving_host, a.network), (3, 4, 6));
        let more = Interval {
            failed: 8,
            ..interval
        };
        let a = more.attribution();
        assert_eq!((a.sending_host, a.receiving_host, a.network), (8, 2, 3));
    }

    #[test]
    fn drop_waits_for_its_packet_for_two_more_intervals() {
        let mut matcher = Matcher::default();
        matcher.on_host_loss_count(7);
        matcher.on_send_failed(2);
        matcher.end_interval();
        matcher.end_interval();
        let first = matcher.claim(4);
        assert_eq!((first.failed, first.host_losses), (2, 2));
        matcher.end_interval();
        assert_eq!(matcher.claim(4), Matched::default());
    }

    #[test]
    fn count_wraps_and_does_not_step_back() {
        let mut matcher = Matcher::default();
        matcher.on_host_loss_count(5);
        assert_eq!(matcher.claim(100).host_losses, 5);
        matcher.on_host_loss_count(3);
        assert_eq!(matcher.claim(100).host_losses, 0);
        for count in [8_000_000, 15_000_000, 4] {
            matcher.on_host_loss_count(count);
        }
        assert_eq!(matcher.claim(u64::MAX).host_losses, (1 << 24) - 1);
    }

    #[test]
    fn counter_that_mostly_counts_other_flows_explains_nothing() {
        // SafeUDP §3: `host?`.
        let mut matcher = Matcher::default();
        let mut count = 0;
        for _ in 0..10 {
            count += 100;
            matcher.on_host_loss_count(count);
            matcher.claim(2);
            matcher.end_interval();
        }
        matcher.on_host_loss_count(count + 100);
        let last = matcher.claim(2);
        assert_eq!((last.host_losses, last.doubtful), (0, 2));
        let interval = Interval {
            lost: 2,
            doubtful: last.doubtful,
            ..Interval::default()
        };
        let a = interval.attribution();
        assert_eq!((a.network, a.unknown_host), (2, 2));
    }
}
