//! One direction in real time: a simulated link and the packets that are in it.

use crate::log::{Event, EventKind, Observer};
use crate::schedule::LinkPlan;
use core::fmt;
use core::time::Duration;
use dccp_proto::Instant;
use dccp_proto::wire::Ecn;
use dccp_sim::Seed;
use dccp_sim::link::{Link, LinkStats, Parcel};
use dccp_sim::loss::{Fate, Loss};
use dccp_stats::{Histogram, Spread};

/// A packet that leaves this long after its due time counts as late.
const LATE: Duration = Duration::from_millis(1);

/// Counters of a channel: packets and lateness.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ChannelStats {
    /// Counters of the link.
    pub link: LinkStats,
    /// Packets that the system refused to take at the far end.
    pub refused: u64,
    /// Packets that left more than 1 ms after their due time.
    pub late: u64,
    /// The longest time between a packet's due time and its departure.
    pub lateness_max: Duration,
    /// The sum of all lateness.
    pub lateness_sum: Duration,
}

/// A link that carries real packets.
pub struct Channel {
    link: Link<Slot>,
    plan: LinkPlan,
    packets: Vec<Stored>,
    free: Vec<Slot>,
    /// Bytes of headers below what `offer` is given.
    overhead: usize,
    stats: ChannelStats,
    /// Packets in the queue at each offer.
    queue: Histogram,
    observer: Option<Observer>,
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Channel");
        debug.field("link", &self.link).field("stats", &self.stats);
        debug.finish_non_exhaustive()
    }
}

/// A packet in the link.
#[derive(Debug, Default)]
struct Stored {
    /// The owner, which the delivery needs.
    owner: usize,
    bytes: Vec<u8>,
    /// Its ECN field when it came.
    ecn: Ecn,
}

/// Where a packet is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Slot(usize);

impl Channel {
    /// A channel for packets with `overhead` bytes of headers, which are not part of the packets but take time on the
    /// link. `name` is the name of the random streams.
    pub fn new(plan: LinkPlan, seed: Seed, name: &str, overhead: usize) -> Self {
        Self {
            link: Link::new(plan.config().clone(), seed, name),
            plan,
            packets: Vec::new(),
            free: Vec::new(),
            overhead,
            stats: ChannelStats::default(),
            queue: Histogram::default(),
            observer: None,
        }
    }

    /// Gives each event of a packet to `observer`.
    pub fn observe(&mut self, observer: Observer) {
        self.observer = Some(observer);
    }

    /// Enqueues a packet, or drops it as the link does. `owner` is delivered with it. Queues with a queue per flow
    /// treat the packets of one owner as a flow.
    pub fn offer(&mut self, now: Instant, owner: usize, packet: &[u8], ecn: Ecn) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.packets.push(Stored::default());
            Slot(self.packets.len() - 1)
        });
        let store = &mut self.packets[slot.0];
        store.owner = owner;
        store.ecn = ecn;
        store.bytes.clear();
        store.bytes.extend_from_slice(packet);
        let parcel = Parcel {
            flow: owner as u64,
            ..Parcel::new(slot, packet.len() + self.overhead, ecn)
        };
        self.plan.apply(now, &mut self.link);
        self.queue.record(self.link.queue_len().0 as u64);
        let outcome = self.link.offer(now, parcel);
        let kind = outcome.map_or_else(EventKind::Dropped, |()| EventKind::Enqueued);
        self.tell(now, kind, slot);
        if outcome.is_err() {
            self.free.push(slot);
        }
    }

    /// Delivers the packets that are due. `deliver` gets each packet with its owner and ECN field, and returns
    /// whether the system accepted it.
    pub fn poll(&mut self, now: Instant, deliver: &mut dyn FnMut(usize, &[u8], Ecn) -> bool) {
        self.plan.apply(now, &mut self.link);
        while let Some(due) = self.link.next_at().filter(|at| *at <= now) {
            let Some(arrival) = self.link.poll(now) else {
                return;
            };
            let slot = arrival.token;
            let (copies, loss) = match arrival.fate {
                Fate::Lost(loss) => (0, loss),
                Fate::Delivered => (1, Loss::Random),
                Fate::Duplicated => (2, Loss::Random),
                Fate::Corrupted { bit } => (self.flip(slot, bit), Loss::Corrupt),
            };
            if copies == 0 {
                self.tell(now, EventKind::Dropped(loss), slot);
            } else if arrival.ecn != self.packets[slot.0].ecn {
                self.tell(now, EventKind::Marked, slot);
            }
            for copy in 0..copies {
                self.note_lateness(now - due);
                let Stored { owner, bytes, .. } = &self.packets[slot.0];
                let kind = if !deliver(*owner, bytes, arrival.ecn) {
                    self.stats.refused += 1;
                    EventKind::Refused
                } else if copy == 0 {
                    EventKind::Delivered
                } else {
                    EventKind::Duplicated
                };
                self.tell(now, kind, slot);
            }
            self.free.push(slot);
        }
    }

    /// When to call [`poll`](Self::poll) next. Earlier calls have no effect.
    pub fn next_at(&self) -> Option<Instant> {
        let times = [self.link.next_at(), self.plan.next_at()];
        times.into_iter().flatten().min()
    }

    /// The packets in the queue that arriving packets found, also those that it dropped.
    pub fn queue(&self) -> Option<Spread> {
        self.queue.spread()
    }

    /// The counters so far.
    pub fn stats(&self) -> ChannelStats {
        ChannelStats {
            link: self.link.stats(),
            ..self.stats
        }
    }

    /// The counters until now, and the packets in the queue.
    pub fn stats_at(&mut self, now: Instant) -> (ChannelStats, usize) {
        let mut link = self.link.stats_at(now);
        link.busy = self.link.busy_by(now);
        (ChannelStats { link, ..self.stats }, self.link.queue_len().0)
    }

    /// Flips a bit, counted from the start of the IP header, and returns the number of copies to deliver. The
    /// receiving system would drop a packet with a wrong bit in the headers below: then none.
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

    fn tell(&mut self, at: Instant, kind: EventKind, slot: Slot) {
        let Some(observer) = &mut self.observer else {
            return;
        };
        let (queue_packets, queue_bytes) = self.link.queue_len();
        observer(&Event {
            at,
            kind,
            queue_packets,
            queue_bytes,
            packet: &self.packets[slot.0].bytes,
        });
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
    use crate::log::Log;
    use crate::schedule::{Alteration, Change};
    use dccp_proto::Rate;
    use dccp_sim::LinkConfig;
    use dccp_sim::loss::FaultConfig;
    use dccp_sim::queue::{FqCoDelConfig, Limit, QueueConfig};

    use std::sync::{Arc, Mutex};

    const OWNER: usize = 7;

    fn ms(n: u64) -> Instant {
        Instant::from_nanos(1_000_000 * n)
    }

    fn channel(config: LinkConfig) -> Channel {
        Channel::new(config.into(), Seed(1), "test", 28)
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
    fn packets_arrive_at_the_rate_after_the_delay() {
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
    fn link_changes_at_its_times() {
        let change = |at_ms, alterations: &[Alteration]| Change {
            at: Duration::from_millis(at_ms),
            alterations: alterations.to_vec(),
        };
        let delay = |ms| Alteration::Delay(Duration::from_millis(ms));
        let rate = Alteration::Rate(Rate::from_bytes_per_s(1e6));
        let changes = vec![
            change(30, &[Alteration::Loss(1.0)]),
            change(10, &[delay(5), rate]),
            change(50, &[Alteration::Loss(0.0), Alteration::Up(false)]),
            change(60, &[Alteration::Up(true)]),
        ];
        let plan = LinkPlan::new(LinkConfig::default(), changes).unwrap();
        let mut channel = Channel::new(plan, Seed(1), "test", 28);
        assert_eq!(channel.next_at(), Some(ms(10)), "the first change");
        let mut arrives = |sent: u64| {
            channel.offer(ms(sent), OWNER, &[0; 972], Ecn::NotEct);
            (sent..sent + 30).find(|at| !delivered(&mut channel, ms(*at)).is_empty())
        };
        // At once; after 1 ms of transmission and 5 ms of delay; lost; only when the link is up.
        assert_eq!(arrives(0), Some(0));
        assert_eq!(arrives(30 - 10), Some(26));
        assert_eq!(arrives(50 - 1), None);
        assert_eq!(arrives(80), Some(86));
    }

    #[test]
    fn full_queue_drops_packets() {
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
    fn flow_queue_serves_owners_in_turns() {
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
        // A turn is 1514 bytes: two packets of 1000. The second owner's packets leave before the third packet of the
        // first owner, which arrived earlier.
        assert_eq!(owners, [1, 1, 2, 2, 1, 1, 1, 1]);
    }

    #[test]
    fn duplicates_arrive_twice() {
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

    // goal 32: the queue that each packet finds, in the report and in the log.
    #[test]
    fn queue_is_counted_at_each_arrival() {
        let mut channel = channel(LinkConfig {
            rate: Some(Rate::from_bytes_per_s(1e6)),
            queue: QueueConfig::drop_tail(Limit::Packets(8)),
            ..LinkConfig::default()
        });
        assert_eq!(channel.queue(), None);
        let logged = Arc::new(Mutex::new(Vec::new()));
        let seen = logged.clone();
        channel.observe(Box::new(move |event| {
            seen.lock()
                .unwrap()
                .push((event.queue_packets, event.queue_bytes));
        }));
        // One is sent at once, eight wait, and three are dropped.
        for _ in 0..12 {
            channel.offer(ms(0), OWNER, &[0; 972], Ecn::NotEct);
        }
        let expected = [0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8];
        let found = logged.lock().unwrap().clone();
        assert_eq!(found, expected.map(|packets| (packets, 1000 * packets)));
        delivered(&mut channel, ms(100));
        channel.offer(ms(100), OWNER, &[0; 972], Ecn::NotEct);
        // 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 0 before each offer.
        let queue = channel.queue().unwrap();
        assert_eq!((queue.n, queue.min, queue.max), (13, 0, 8));
        assert_eq!(queue.p50, Some(4));
    }

    #[test]
    fn log_accounts_for_every_packet() {
        let mut channel = channel(LinkConfig {
            rate: Some(Rate::from_bytes_per_s(1e6)),
            queue: QueueConfig::drop_tail(Limit::Packets(5)),
            faults: FaultConfig {
                loss: 0.2,
                duplicate: 0.2,
                corrupt: 0.2,
                ..FaultConfig::default()
            },
            ..LinkConfig::default()
        });
        let path = std::env::temp_dir().join(format!("dccp-emu-log-{}", std::process::id()));
        let log = Log::create(&path).unwrap();
        channel.observe(log.observer("forward"));
        for n in 0..100 {
            for _ in 0..3 {
                channel.offer(ms(2 * n), OWNER, &[n.to_le_bytes()[0]; 72], Ecn::NotEct);
            }
            delivered(&mut channel, ms(2 * n));
        }
        delivered(&mut channel, ms(1000));
        log.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut lines = text.lines();
        assert_eq!(lines.next().unwrap().split(',').count(), 8);
        let mut counts = std::collections::BTreeMap::<&str, u64>::new();
        for line in lines {
            let columns: Vec<&str> = line.split(',').collect();
            assert_eq!(
                (columns.len(), columns[1], columns[6]),
                (8, "forward", "72")
            );
            assert_eq!(columns[7].len(), 2 * 48);
            assert_eq!(columns[2] == "drop", !columns[3].is_empty(), "{line}");
            *counts.entry(columns[2]).or_default() += 1;
        }
        let of = |event: &str| counts.get(event).copied().unwrap_or(0);
        let link = channel.stats().link;
        assert_eq!(link.inside, 0);
        // A packet that is dropped later was enqueued too.
        assert!(of("enqueue") >= of("deliver"), "{counts:?}");
        assert_eq!(of("drop") + of("deliver"), link.offered, "{counts:?}");
        assert_eq!(of("duplicate"), link.duplicated, "{counts:?}");
        assert!(of("drop") > 50 && of("duplicate") > 10, "{counts:?}");
    }

    #[test]
    fn corruption_flips_one_bit_or_drops_the_packet() {
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
