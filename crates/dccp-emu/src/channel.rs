//! One direction in real time: a simulated link and the packets that are in it.

use core::time::Duration;
use dccp_proto::Instant;
use dccp_proto::wire::Ecn;
use dccp_sim::link::{Link, LinkStats, Parcel};
use dccp_sim::loss::Fate;
use dccp_sim::{LinkConfig, Seed};

/// A packet that leaves later than this after its moment counts as late.
const LATE: Duration = Duration::from_millis(1);

/// What a channel did with its packets, and how well it kept time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChannelStats {
    /// What the link did.
    pub link: LinkStats,
    /// Packets that the system refused to take at the far end.
    pub refused: u64,
    /// Packets that left more than 1 ms after their moment.
    pub late: u64,
    /// The longest time that a packet left after its moment.
    pub lateness_max: Duration,
    /// The sum of all lateness.
    pub lateness_sum: Duration,
}

/// A link that carries real packets.
#[derive(Debug)]
pub struct Channel {
    link: Link<Slot>,
    packets: Vec<Stored>,
    free: Vec<Slot>,
    /// Bytes of headers below what `offer` is given.
    overhead: usize,
    stats: ChannelStats,
}

/// A packet in the link.
#[derive(Debug, Default)]
struct Stored {
    /// Whose it is, for who delivers it.
    owner: usize,
    bytes: Vec<u8>,
}

/// Where a packet is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Slot(usize);

impl Channel {
    /// A channel for packets below which there are `overhead` bytes of headers, which take their time
    /// on the link too. `name` names its random streams.
    pub fn new(config: LinkConfig, seed: Seed, name: &str, overhead: usize) -> Self {
        Self {
            link: Link::new(config, seed, name),
            packets: Vec::new(),
            free: Vec::new(),
            overhead,
            stats: ChannelStats::default(),
        }
    }

    /// Puts a packet in, or drops it as the link does. `owner` comes out with it: it is not part of the
    /// packet, and nothing that the link does changes it. Packets of one owner are one flow to queues
    /// that tell flows apart.
    pub fn offer(&mut self, now: Instant, owner: usize, packet: &[u8], ecn: Ecn) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.packets.push(Stored::default());
            Slot(self.packets.len() - 1)
        });
        let store = &mut self.packets[slot.0];
        store.owner = owner;
        store.bytes.clear();
        store.bytes.extend_from_slice(packet);
        let parcel = Parcel {
            flow: owner as u64,
            ..Parcel::new(slot, packet.len() + self.overhead, ecn)
        };
        if self.link.offer(now, parcel).is_err() {
            self.free.push(slot);
        }
    }

    /// Hands over the packets whose moment has come: `deliver` is given each with its owner and ECN
    /// field, and says whether the system took it.
    pub fn poll(&mut self, now: Instant, deliver: &mut dyn FnMut(usize, &[u8], Ecn) -> bool) {
        while let Some(due) = self.link.next_at().filter(|at| *at <= now) {
            let Some(arrival) = self.link.poll(now) else {
                return;
            };
            let slot = arrival.token;
            let copies = match arrival.fate {
                Fate::Lost(_) => 0,
                Fate::Delivered => 1,
                Fate::Duplicated => 2,
                Fate::Corrupted { bit } => self.flip(slot, bit),
            };
            for _ in 0..copies {
                self.note_lateness(now - due);
                let Stored { owner, bytes } = &self.packets[slot.0];
                if !deliver(*owner, bytes, arrival.ecn) {
                    self.stats.refused += 1;
                }
            }
            self.free.push(slot);
        }
    }

    /// When [`poll`](Self::poll) has something next; a moment that turns out too early does no harm.
    pub fn next_at(&self) -> Option<Instant> {
        self.link.next_at()
    }

    /// What happened so far.
    pub fn stats(&self) -> ChannelStats {
        ChannelStats {
            link: self.link.stats(),
            ..self.stats
        }
    }

    /// Flips a bit, counted from the start of the IP header. A bit of the headers below what we hold
    /// is one that the receiving system notices: no copy arrives then.
    fn flip(&mut self, slot: Slot, bit: usize) -> usize {
        let Some(bit) = bit.checked_sub(8 * self.overhead) else {
            return 0;
        };
        match self.packets[slot.0].bytes.get_mut(bit / 8) {
            Some(byte) => *byte ^= 0x80 >> (bit % 8),
            None => return 0,
        }
        1
    }

    fn note_lateness(&mut self, lateness: Duration) {
        self.stats.late += u64::from(lateness > LATE);
        self.stats.lateness_max = self.stats.lateness_max.max(lateness);
        self.stats.lateness_sum += lateness;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dccp_proto::Rate;
    use dccp_sim::loss::{FaultConfig, Loss};
    use dccp_sim::queue::{FqCoDelConfig, Limit, QueueConfig};

    const OWNER: usize = 7;

    fn ms(n: u64) -> Instant {
        Instant::from_nanos(1_000_000 * n)
    }

    fn channel(config: LinkConfig) -> Channel {
        Channel::new(config, Seed(1), "test", 28)
    }

    fn delivered(channel: &mut Channel, now: Instant) -> Vec<(Vec<u8>, Ecn)> {
        let mut got = Vec::new();
        channel.poll(now, &mut |owner, bytes, ecn| {
            assert_eq!(owner, OWNER);
            got.push((bytes.to_vec(), ecn));
            true
        });
        got
    }

    #[test]
    fn packets_arrive_unchanged_at_the_rate_and_after_the_delay() {
        // 972 + 28 bytes at 1 MB/s: 1 ms each.
        let mut channel = channel(LinkConfig {
            rate: Some(Rate::from_bytes_per_s(1e6)),
            delay: Duration::from_millis(10),
            ..LinkConfig::default()
        });
        channel.offer(ms(0), OWNER, &[1; 972], Ecn::Ect0);
        channel.offer(ms(0), OWNER, &[2; 972], Ecn::NotEct);
        assert_eq!(channel.next_at(), Some(ms(11)));
        assert!(delivered(&mut channel, ms(10)).is_empty());
        assert_eq!(delivered(&mut channel, ms(11)), [(vec![1; 972], Ecn::Ect0)]);
        assert_eq!(
            delivered(&mut channel, ms(15)),
            [(vec![2; 972], Ecn::NotEct)]
        );
        let stats = channel.stats();
        assert_eq!((stats.link.delivered, stats.late, stats.refused), (2, 1, 0));
        assert_eq!(stats.lateness_max, Duration::from_millis(3));
        assert_eq!(stats.lateness_sum, Duration::from_millis(3));
    }

    #[test]
    fn a_full_queue_drops_and_the_store_is_used_again() {
        let mut channel = channel(LinkConfig {
            rate: Some(Rate::from_bytes_per_s(1e6)),
            queue: QueueConfig::drop_tail(Limit::Packets(1)),
            ..LinkConfig::default()
        });
        for round in 0..3 {
            for n in 0..4 {
                channel.offer(ms(10 * round), OWNER, &[n; 972], Ecn::NotEct);
            }
            assert_eq!(delivered(&mut channel, ms(10 * round + 9)).len(), 2);
        }
        assert_eq!(channel.stats().link.lost.of(Loss::Queue), 6);
        assert!(channel.packets.len() <= 3, "{}", channel.packets.len());
    }

    #[test]
    fn a_queue_that_knows_flows_serves_owners_in_turns() {
        let mut channel = channel(LinkConfig {
            rate: Some(Rate::from_bytes_per_s(1e6)),
            queue: QueueConfig::FqCoDel(FqCoDelConfig::default()),
            ..LinkConfig::default()
        });
        for n in 0..8 {
            channel.offer(ms(0), 1 + n / 6, &[0; 972], Ecn::NotEct);
        }
        let mut owners = Vec::new();
        channel.poll(ms(9), &mut |owner, _, _| {
            owners.push(owner);
            true
        });
        // Turns of 1514 bytes: two packets of 1000 for each. The second owner's leave before the third
        // of the first, which had come earlier.
        assert_eq!(owners, [1, 1, 2, 2, 1, 1, 1, 1]);
    }

    #[test]
    fn duplicates_arrive_twice_and_refusals_are_counted() {
        let mut channel = channel(LinkConfig {
            faults: FaultConfig {
                duplicate: 1.0,
                ..FaultConfig::default()
            },
            ..LinkConfig::default()
        });
        channel.offer(ms(0), OWNER, b"x", Ecn::NotEct);
        let mut calls = 0;
        channel.poll(ms(0), &mut |_, _, _| {
            calls += 1;
            calls == 1
        });
        assert_eq!((calls, channel.stats().refused), (2, 1));
    }

    #[test]
    fn one_bit_flips_or_the_receiving_system_drops_the_packet() {
        let mut channel = channel(LinkConfig {
            faults: FaultConfig {
                corrupt: 1.0,
                ..FaultConfig::default()
            },
            ..LinkConfig::default()
        });
        let mut arrived = 0;
        for _ in 0..200 {
            channel.offer(ms(0), OWNER, &[0; 28], Ecn::NotEct);
            for (bytes, _) in delivered(&mut channel, ms(0)) {
                arrived += 1;
                assert_eq!(bytes.iter().map(|b| b.count_ones()).sum::<u32>(), 1);
            }
        }
        // Half of the bits are of the headers below.
        assert!((70..130).contains(&arrived), "{arrived}");
    }
}
