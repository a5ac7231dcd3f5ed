//! How a link of the plan is made: by the kernel where that suffices, else by the emulator.

use super::netlink::{Counts, Device};
use super::{LiveError, in_namespace};
use crate::scenario::plan::{self, Link};
use core::time::Duration;
use dccp_emu::schedule::{Alteration, Change, LinkPlan};
use dccp_emu::tun::{End, Epoch, Tunnel};
use dccp_netns::Namespace;
use dccp_proto::{Instant, Rate};
use dccp_sim::link::LinkStats;
use dccp_sim::loss::{FaultConfig, Loss, Losses};
use dccp_sim::queue::{DropTailConfig, Limit, QueueConfig, TokenBucketConfig};
use dccp_sim::{LinkConfig, Seed};

/// Bytes of an Ethernet header, which the rates of plans do not count.
const ETHERNET: usize = 14;
/// A kernel queue sends bursts of up to this time at its rate, because its timer may be late.
const BURST: Duration = Duration::from_micros(200);

/// A limit of rate that the kernel's token bucket keeps.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Bucket {
    rate: Rate,
    burst: usize,
    limit: Limit,
}

/// The two devices of a link.
pub(super) enum Wire {
    /// A pair of virtual Ethernet devices.
    Veth([Port; 2]),
    /// Two TUN devices and the emulator between them.
    Emulated(Tunnel),
}

/// A virtual Ethernet device, which is the beginning of a direction.
pub(super) struct Port {
    device: Device,
    bucket: Option<Bucket>,
    /// Integral of the queue over time in packets × ns, up to `at`.
    queue_packet_ns: u128,
    at: Instant,
    queue_packets_max: u64,
}

/// Whether the kernel can be this link: without delay, faults and changes, and with simple queues.
pub(super) fn fits_kernel(link: &Link, has_bucket: bool) -> bool {
    let fits = |config: &LinkConfig| {
        let is_plain = config.delay.is_zero()
            && config.trace.is_none()
            && config.faults == FaultConfig::default();
        let queue = bucket(config);
        is_plain && queue.is_ok_and(|bucket| bucket.is_none() || has_bucket)
    };
    link.changes.is_empty() && fits(&link.there) && fits(&link.back)
}

/// The kernel has no such queue.
struct NoSuchQueue;

/// The token bucket of a direction; `None` if it needs none.
fn bucket(config: &LinkConfig) -> Result<Option<Bucket>, NoSuchQueue> {
    match (config.rate, config.queue) {
        (None, QueueConfig::DropTail(_)) => Ok(None),
        (
            Some(rate),
            QueueConfig::DropTail(DropTailConfig {
                limit,
                mark_at: None,
            }),
        ) => {
            let burst = burst(rate).max(config.mtu);
            Ok(Some(Bucket { rate, burst, limit }))
        }
        (None, QueueConfig::TokenBucket(TokenBucketConfig { rate, burst, limit })) => {
            Ok(Some(Bucket { rate, burst, limit }))
        }
        _ => Err(NoSuchQueue),
    }
}

/// The bytes of a burst.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is not negative, and too large values saturate"
)]
fn burst(rate: Rate) -> usize {
    (rate.bytes_per_s() * BURST.as_secs_f64()) as usize
}

/// Whether the kernel has token buckets that this program may use.
pub(super) fn has_bucket(namespace: &Namespace) -> bool {
    let words = "qdisc add dev lo root tbf rate 1mbit burst 5000 limit 10000";
    let words: Vec<&str> = words.split(' ').collect();
    let is_there = namespace.run("tc", &words).is_ok();
    if is_there {
        // The loopback carries nothing, so a queue that stays there has no effect.
        let _ = namespace.run("tc", &["qdisc", "del", "dev", "lo", "root"]);
    }
    is_there
}

impl Wire {
    /// Connects two namespaces. Both devices get this name.
    pub(super) fn veth(
        link: &Link,
        ends: [&Namespace; 2],
        device: &str,
    ) -> Result<Self, LiveError> {
        dccp_netns::veth(ends[0], ends[1], device)?;
        let port = |namespace: &Namespace, config: &LinkConfig| {
            let mtu = config.mtu.to_string();
            namespace.ip(&["link", "set", device, "mtu", &mtu])?;
            let bucket = bucket(config).ok().flatten();
            if let Some(bucket) = bucket {
                set_bucket(namespace, device, bucket)?;
            }
            let name = device.to_owned();
            Ok::<_, LiveError>(Port {
                device: in_namespace(namespace, move || Device::open(&name))??,
                bucket,
                queue_packet_ns: 0,
                at: Instant::ZERO,
                queue_packets_max: 0,
            })
        };
        Ok(Self::Veth([
            port(ends[0], &link.there)?,
            port(ends[1], &link.back)?,
        ]))
    }

    /// Connects two namespaces by the emulator. Both devices get this name.
    pub(super) fn emulated(
        link: &Link,
        ends: [&Namespace; 2],
        device: &str,
        seed: Seed,
        epoch: &Epoch,
    ) -> Result<Self, LiveError> {
        let end = |namespace: &Namespace| End {
            namespace: Some(namespace.name().to_owned()),
            device: device.to_owned(),
            addresses: Vec::new(),
        };
        let plans = [
            link_plan(&link.there, link, false)?,
            link_plan(&link.back, link, true)?,
        ];
        // Links of one seed have random streams of their own.
        let seed = Seed(seed.stream(&format!("link {}", link.id)).bits());
        let ends = ends.map(end);
        let tunnel = Tunnel::start_at(ends, plans, seed, Duration::ZERO, epoch);
        tunnel
            .map(Self::Emulated)
            .map_err(|error| LiveError::no_tun(&error))
    }

    /// The counters of a direction at this time of the run, and the packets in its queue.
    pub(super) fn stats(&self, direction: usize, now: Instant) -> LinkStats {
        match self {
            Self::Emulated(tunnel) => tunnel.stats()[direction].0.link,
            Self::Veth(ports) => ports[direction].stats(now),
        }
    }

    /// The packets in the queue of a direction.
    pub(super) fn queue_packets(&mut self, direction: usize, now: Instant) -> u64 {
        match self {
            Self::Emulated(tunnel) => tunnel.stats()[direction].1 as u64,
            Self::Veth(ports) => ports[direction].look(now),
        }
    }
}

impl Port {
    /// Samples the queue.
    fn look(&mut self, now: Instant) -> u64 {
        if self.bucket.is_none() {
            return 0;
        }
        let waiting = self
            .device
            .queue_counts()
            .map_or(0, |counts| counts.waiting);
        self.queue_packet_ns += u128::from(waiting) * (now - self.at).as_nanos();
        self.at = now;
        self.queue_packets_max = self.queue_packets_max.max(waiting);
        waiting
    }

    fn stats(&self, now: Instant) -> LinkStats {
        let (counts, at) = match self.bucket {
            None => (self.device.counts(), now),
            Some(_) => (self.device.queue_counts(), self.at),
        };
        let counts = counts.unwrap_or_default();
        let busy = |bucket: Bucket| bucket.rate.time_for(counts.bytes);
        LinkStats {
            offered: counts.packets + counts.dropped + counts.waiting,
            delivered: counts.packets,
            delivered_bytes: counts.bytes,
            lost: losses(&counts),
            inside: counts.waiting,
            busy: self.bucket.map_or(Duration::ZERO, busy),
            queue_packets_max: usize::try_from(self.queue_packets_max).unwrap_or(usize::MAX),
            queue_packet_ns: self.queue_packet_ns,
            at,
            ..LinkStats::default()
        }
    }
}

fn losses(counts: &Counts) -> Losses {
    let mut losses = Losses::default();
    losses.add_many(Loss::Queue, counts.dropped);
    losses
}

/// Puts a token bucket with a queue behind it before a device. Ethernet headers do not count.
fn set_bucket(namespace: &Namespace, device: &str, bucket: Bucket) -> Result<(), LiveError> {
    let rate = format!("{:.0}bit", bucket.rate.bits_per_s());
    let burst = bucket.burst.to_string();
    let overhead = format!("-{ETHERNET}");
    let root = ["qdisc", "add", "dev", device, "root", "handle", "1:"];
    let size = ["stab", "linklayer", "ethernet", "overhead", &overhead];
    // The limit is that of the queue behind it, which replaces the bucket's own.
    let tbf = ["tbf", "rate", &rate, "burst", &burst, "limit", "1000000"];
    namespace.run("tc", &[&root[..], &size, &tbf].concat())?;
    let (kind, limit) = match bucket.limit {
        Limit::Packets(packets) => ("pfifo", packets.to_string()),
        Limit::Bytes(bytes) => ("bfifo", bytes.to_string()),
    };
    let behind = [
        "qdisc", "add", "dev", device, "parent", "1:1", "handle", "10:",
    ];
    namespace.run("tc", &[&behind[..], &[kind, "limit", &limit]].concat())?;
    Ok(())
}

/// A direction with its changes, as the emulator takes them.
fn link_plan(config: &LinkConfig, link: &Link, is_back: bool) -> Result<LinkPlan, LiveError> {
    let changes = link.changes.iter().filter(|c| c.is_back == is_back);
    let changes = changes.map(|change| Change {
        at: change.at,
        alterations: vec![match change.what {
            plan::Alteration::Rate(rate) => Alteration::Rate(rate),
            plan::Alteration::Delay(delay) => Alteration::Delay(delay),
            plan::Alteration::Queue(limit) => Alteration::Queue(limit),
            plan::Alteration::Up(is_up) => Alteration::Up(is_up),
        }],
    });
    LinkPlan::new(config.clone(), changes.collect()).map_err(|error| {
        LiveError::refused(
            &format!("link {}", link.id),
            &error.to_string(),
            "change the link",
        )
    })
}
