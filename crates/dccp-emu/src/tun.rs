//! A link between two TUN devices (Linux): every IP packet that a host routes into one comes out
//! of the other.
//!
//! Each device can stand in a network namespace of its own. There is no GSO and no GRO on such a
//! link: one packet is one packet, and one drop is one drop. Each direction has a thread.

use crate::channel::{Channel, ChannelStats};
use crate::clock;
use crate::log::Observer;
use crate::report::{DirectionReport, Report};
use crate::schedule::LinkPlan;
use core::time::Duration;
use dccp_io::{Poller, Token};
use dccp_proto::Instant;
use dccp_proto::wire::Ecn;
use dccp_sim::Seed;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use tun_rs::{DeviceBuilder, SyncDevice};

/// Packets read in a row before those that are due are written.
const READ_BURST: usize = 64;
/// Packets that the host may queue in front of a device until we read them.
const DEVICE_QUEUE: u32 = 1000;
/// How often a thread looks whether it is to stop.
const STOP_LATENCY: Duration = Duration::from_millis(50);

/// One end of the link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct End {
    /// Name of a network namespace as `ip netns` knows it; `None`: where the program runs.
    pub namespace: Option<String>,
    /// Name of the device.
    pub device: String,
    /// Addresses of the host on this device, with prefix lengths.
    pub addresses: Vec<(IpAddr, u8)>,
}

/// A running link.
pub struct Tunnel {
    sides: [Side; 2],
    directions: [Arc<Mutex<Channel>>; 2],
    threads: Vec<JoinHandle<io::Result<()>>>,
    is_stopping: Arc<AtomicBool>,
    epoch: Epoch,
}

/// The begin of the time of links, with their changes. Before it, the links stand at time zero.
#[derive(Clone, Debug, Default)]
pub struct Epoch(Arc<OnceLock<Instant>>);

impl Epoch {
    /// The time of the first call of [`clock::now`] in this process.
    pub fn past() -> Self {
        let epoch = Self::default();
        epoch.begin(Instant::ZERO);
        epoch
    }

    /// Begins at a time of [`clock::now`]. Later calls have no effect.
    pub fn begin(&self, at: Instant) {
        let _ = self.0.set(at);
    }

    /// The time since it began.
    pub fn now(&self) -> Instant {
        let begin = self.0.get().copied();
        begin.map_or(Instant::ZERO, |begin| {
            Instant::ZERO + (clock::now() - begin)
        })
    }
}

/// A device, and where its counters are.
struct Side {
    end: End,
    device: Arc<SyncDevice>,
}

impl Tunnel {
    /// Creates both devices and starts to carry packets: `links[0]` from the first end to the second.
    ///
    /// # Errors
    /// When a namespace or a device cannot be had: it takes root.
    pub fn start(
        ends: [End; 2],
        links: [impl Into<LinkPlan>; 2],
        seed: Seed,
        busy_wait: Duration,
    ) -> io::Result<Self> {
        Self::start_at(ends, links, seed, busy_wait, &Epoch::past())
    }

    /// As [`start`](Self::start). Changes, outages and rate traces of the links count from `epoch`.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_at(
        ends: [End; 2],
        links: [impl Into<LinkPlan>; 2],
        seed: Seed,
        busy_wait: Duration,
        epoch: &Epoch,
    ) -> io::Result<Self> {
        let links = links.map(Into::into);
        let mtus = [&links[0], &links[1]].map(|plan: &LinkPlan| plan.config().mtu);
        let [first, second] = ends;
        let sides = [Side::open(first, mtus[0])?, Side::open(second, mtus[1])?];
        let [forward, back] = links;
        let directions = [(forward, "forward"), (back, "back")]
            .map(|(plan, name)| Arc::new(Mutex::new(Channel::new(plan, seed, name, 0))));
        let is_stopping = Arc::new(AtomicBool::new(false));
        let threads = (0..2)
            .map(|i| {
                let direction = Direction {
                    from: sides[i].device.clone(),
                    to: sides[1 - i].device.clone(),
                    channel: directions[i].clone(),
                    is_stopping: is_stopping.clone(),
                    epoch: epoch.clone(),
                };
                let name = format!("emu-{i}");
                thread::Builder::new()
                    .name(name)
                    .spawn(move || direction.run(busy_wait))
            })
            .collect::<io::Result<_>>()?;
        Ok(Self {
            sides,
            directions,
            threads,
            is_stopping,
            epoch: epoch.clone(),
        })
    }

    /// The counters of both directions now, and the packets in their queues.
    pub fn stats(&self) -> [(ChannelStats, usize); 2] {
        let now = self.epoch.now();
        [0, 1].map(|i| {
            let channel = self.directions[i].lock();
            let mut channel = channel.unwrap_or_else(PoisonError::into_inner);
            channel.stats_at(now)
        })
    }

    /// Gives each event of a packet to an observer: one for the way from the first end to the second, and one for the
    /// way back.
    pub fn observe(&self, observers: [Observer; 2]) {
        for (channel, observer) in self.directions.iter().zip(observers) {
            let mut channel = channel.lock().unwrap_or_else(PoisonError::into_inner);
            channel.observe(observer);
        }
    }

    /// The counters so far.
    pub fn report(&self) -> Report {
        let [forward, back] = [0, 1].map(|i| {
            let channel = self.directions[i]
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let overflow = self.sides[i].overflow().unwrap_or(0);
            DirectionReport::new(&channel.stats(), overflow).with_queue(channel.queue())
        });
        Report { forward, back }
    }

    /// Whether both directions still work.
    pub fn is_running(&self) -> bool {
        self.threads.iter().all(|t| !t.is_finished())
    }

    /// Stops, and removes the devices.
    ///
    /// # Errors
    /// What had stopped a direction before.
    pub fn stop(mut self) -> io::Result<()> {
        self.is_stopping.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("a direction panicked")))?;
        }
        Ok(())
    }
}

impl Side {
    fn open(end: End, mtu: usize) -> io::Result<Self> {
        let device = in_namespace(end.namespace.as_deref(), {
            let end = end.clone();
            move || open_device(&end, mtu)
        })??;
        device.set_nonblocking(true)?;
        Ok(Self {
            end,
            device: Arc::new(device),
        })
    }

    /// Packets that the host dropped because we did not read them in time.
    fn overflow(&self) -> io::Result<u64> {
        let table = in_namespace(self.end.namespace.as_deref(), || {
            fs::read_to_string("/proc/thread-self/net/dev")
        })??;
        Ok(tx_dropped(&table, &self.end.device))
    }
}

fn open_device(end: &End, mtu: usize) -> io::Result<SyncDevice> {
    let mtu = u16::try_from(mtu).map_err(|_| io::Error::other("the MTU exceeds 65535 bytes"))?;
    let mut builder = DeviceBuilder::new()
        .name(end.device.as_str())
        .mtu(mtu)
        .tx_queue_len(DEVICE_QUEUE);
    for (address, prefix) in &end.addresses {
        builder = match address {
            IpAddr::V4(a) => builder.ipv4(*a, *prefix, None),
            IpAddr::V6(a) => builder.ipv6(*a, *prefix),
        };
    }
    builder.build_sync()
}

/// The column "transmit, drop" of a line of `/proc/net/dev`. The host transmits what the emulator reads.
fn tx_dropped(table: &str, device: &str) -> u64 {
    let line = table
        .lines()
        .find_map(|l| l.trim_start().strip_prefix(device)?.strip_prefix(':'));
    line.and_then(|l| l.split_whitespace().nth(11)?.parse().ok())
        .unwrap_or(0)
}

/// Runs `work` in the namespace of that name, or here without one.
fn in_namespace<T: Send + 'static>(
    namespace: Option<&str>,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    match namespace {
        Some(name) => dccp_netns::inside(name, work),
        None => Ok(work()),
    }
}

/// Packets from one device to the other.
struct Direction {
    from: Arc<SyncDevice>,
    to: Arc<SyncDevice>,
    channel: Arc<Mutex<Channel>>,
    is_stopping: Arc<AtomicBool>,
    epoch: Epoch,
}

impl Direction {
    fn run(self, busy_wait: Duration) -> io::Result<()> {
        let mut poller = Poller::new(busy_wait)?;
        poller.add(self.from.as_fd(), Token(0))?;
        let mut ready = Vec::new();
        let mut buffer = vec![0; 65_536];
        let mut has_more = false;
        while !self.is_stopping.load(Ordering::Relaxed) {
            let next = {
                let mut channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
                if has_more {
                    has_more = self.read(&mut channel, &mut buffer)?;
                }
                self.write(&mut channel);
                channel.next_at()
            };
            let now = self.epoch.now();
            let wake = next.unwrap_or(Instant::FAR_FUTURE).min(now + STOP_LATENCY);
            let patience = if has_more { Duration::ZERO } else { wake - now };
            poller.wait(Some(patience), &mut ready)?;
            has_more |= !ready.is_empty();
        }
        Ok(())
    }

    /// Reads what the host has sent, up to a burst. Returns whether there may be more.
    fn read(&self, channel: &mut Channel, buffer: &mut [u8]) -> io::Result<bool> {
        for _ in 0..READ_BURST {
            match self.from.recv(buffer) {
                Ok(len) => {
                    let packet = buffer.get(..len).unwrap_or_default();
                    channel.offer(self.epoch.now(), flow_of(packet), packet, ecn_of(packet));
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(true)
    }

    fn write(&self, channel: &mut Channel) {
        let mut marked = Vec::new();
        channel.poll(self.epoch.now(), &mut |_, packet, ecn| {
            if ecn == ecn_of(packet) {
                return self.to.send(packet).is_ok();
            }
            marked.clear();
            marked.extend_from_slice(packet);
            mark(&mut marked, ecn);
            self.to.send(&marked).is_ok()
        });
    }
}

/// A number for the flow of an IP packet: protocol, addresses, and what UDP, TCP and DCCP have as ports.
fn flow_of(packet: &[u8]) -> usize {
    let (protocol, addresses, ports) = match packet.first().map(|b| (b >> 4, b & 15)) {
        Some((4, words)) => (9..10, 12..20, 4 * usize::from(words)),
        Some((6, _)) => (6..7, 8..40, 40),
        _ => return 0,
    };
    [protocol, addresses, ports..ports + 4]
        .into_iter()
        .flat_map(|range| packet.get(range).unwrap_or_default())
        .fold(0, |hash: usize, byte| {
            (hash ^ usize::from(*byte)).wrapping_mul(16_777_619)
        })
}

/// The ECN field of an IP packet.
fn ecn_of(packet: &[u8]) -> Ecn {
    match packet {
        [first, second, ..] if first >> 4 == 6 => {
            Ecn::from_bits(((first << 4) | (second >> 4)) & 3)
        }
        [_, tos, ..] => Ecn::from_bits(*tos),
        _ => Ecn::NotEct,
    }
}

/// Writes the ECN field of an IP packet; of IPv4 the header checksum changes with it (RFC 1624).
fn mark(packet: &mut [u8], ecn: Ecn) {
    let [first, second, ..] = packet else {
        return;
    };
    if *first >> 4 == 6 {
        *second = *second & 0xCF | (ecn as u8) << 4;
        return;
    }
    let before = u16::from_be_bytes([*first, *second]);
    *second = *second & 0xFC | ecn as u8;
    let after = u16::from_be_bytes([*first, *second]);
    if let Some(field) = packet.get_mut(10..12) {
        let old = u16::from_be_bytes([field[0], field[1]]);
        field.copy_from_slice(&adjusted(old, before, after).to_be_bytes());
    }
}

/// A checksum after one word that it covers has changed (RFC 1624, equation 3).
fn adjusted(checksum: u16, before: u16, after: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xFFFF) + (sum >> 16);
    let folded = (folded & 0xFFFF) + (folded >> 16);
    !u16::try_from(folded & 0xFFFF).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: [u8; 20] = [
        0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8, 0x00,
        0x01, 0xc0, 0xa8, 0x00, 0xc7,
    ];

    fn sum(header: &[u8]) -> u16 {
        let words = header
            .chunks(2)
            .map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
        let mut sum: u32 = words.sum();
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        u16::try_from(sum).unwrap()
    }

    #[test]
    fn a_flow_is_protocol_addresses_and_ports() {
        let packet = [&HEADER[..], &[0x13, 0x89, 0x17, 0x71, 9, 9]].concat();
        let with = |place: usize| {
            let mut other = packet.clone();
            other[place] ^= 1;
            flow_of(&other) == flow_of(&packet)
        };
        // Protocol, addresses and ports; not length, checksum or what follows.
        let matters: Vec<usize> = (1..packet.len()).filter(|n| !with(*n)).collect();
        let expected: Vec<usize> = (9..10).chain(12..24).collect();
        assert_eq!(matters, expected);
        assert_eq!(flow_of(&[]), 0);
        let mut v6 = vec![0; 44];
        v6[0] = 0x60;
        let bare = flow_of(&v6);
        v6[39] = 1;
        assert_ne!(flow_of(&v6), bare);
    }

    #[test]
    fn a_mark_keeps_the_ipv4_checksum_right() {
        assert_eq!(sum(&HEADER), 0xFFFF);
        for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::Ce, Ecn::NotEct] {
            let mut packet = HEADER;
            mark(&mut packet, ecn);
            assert_eq!((ecn_of(&packet), sum(&packet)), (ecn, 0xFFFF));
            assert_eq!(packet[1] & 0xFC, 0);
        }
    }

    #[test]
    fn the_ecn_field_of_ipv6_is_in_the_middle_of_two_bytes() {
        let mut packet = [0x6A, 0x25, 0, 0, 0, 0];
        assert_eq!(ecn_of(&packet), Ecn::Ect0);
        mark(&mut packet, Ecn::Ce);
        assert_eq!(packet, [0x6A, 0x35, 0, 0, 0, 0]);
        assert_eq!(ecn_of(&packet), Ecn::Ce);
        assert_eq!(ecn_of(&[]), Ecn::NotEct);
    }

    #[test]
    fn the_hosts_drops_are_read_from_the_right_column() {
        let table = "Inter-|   Receive                                                |  Transmit\n \
            face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed\n \
               lo:  1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n \
             emu0:  1 2 3 4 5 6 7 8 9 10 11 77 13 14 15 16\n";
        assert_eq!(tx_dropped(table, "emu0"), 77);
        assert_eq!(tx_dropped(table, "emu"), 0);
    }
}
