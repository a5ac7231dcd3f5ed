//! Floods of prebuilt packets through raw sockets.

use crate::host;
use anyhow::{Context as _, Result};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use dccp::clock;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, MultiHeaders, SockaddrIn, sendmmsg};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::IoSlice;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// Packets of one system call.
const BATCH: usize = 64;

/// The content of the packets of a raw socket.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// ICMP messages; the kernel adds the IP header.
    Icmp,
    /// Whole IP packets, with any source address.
    Ip,
}

/// A running flood.
pub(crate) struct Flood {
    stop: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    begin: dccp::Instant,
    thread: JoinHandle<Result<()>>,
}

impl Flood {
    /// Sends `packets` in turn, `per_s` a second, from the namespace `from` on one core.
    pub(crate) fn start(
        from: &str,
        core: usize,
        to: Ipv4Addr,
        content: Content,
        packets: Vec<Vec<u8>>,
        per_s: u64,
    ) -> Self {
        let (stop, sent) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicU64::new(0)),
        );
        let (stopping, counter) = (stop.clone(), sent.clone());
        let name = from.to_owned();
        let thread = thread::spawn(move || {
            dccp_netns::inside(&name, move || {
                host::pin(core)?;
                let socket = open(to, content)?;
                send(&socket, &packets, per_s, &stopping, &counter)
            })?
        });
        Self {
            stop,
            sent,
            begin: clock::now(),
            thread,
        }
    }

    /// Packets sent so far.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Packets a second since the begin.
    pub(crate) fn rate(&self) -> u64 {
        let ms = host::millis_since(self.begin);
        self.sent() * 1000 / ms.max(1)
    }

    pub(crate) fn stop(self) -> Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.join();
        ended.unwrap_or_else(|_| anyhow::bail!("the flood panicked"))
    }
}

fn open(to: Ipv4Addr, content: Content) -> Result<Socket> {
    let protocol = match content {
        Content::Icmp => Protocol::ICMPV4,
        // IPPROTO_RAW: the packets have their own IP headers.
        Content::Ip => Protocol::from(255),
    };
    let socket = Socket::new(Domain::IPV4, Type::RAW, Some(protocol));
    let socket = socket.context("needs root, for raw sockets")?;
    socket.connect(&SocketAddrV4::new(to, 0).into())?;
    // Answers to ICMP messages of others fill this buffer, and nothing reads it.
    socket.set_recv_buffer_size(1)?;
    Ok(socket)
}

fn send(
    socket: &Socket,
    packets: &[Vec<u8>],
    per_s: u64,
    stop: &AtomicBool,
    sent: &AtomicU64,
) -> Result<()> {
    let slices: Vec<[IoSlice<'_>; 1]> = packets.iter().map(|p| [IoSlice::new(p)]).collect();
    let addresses = [None::<SockaddrIn>; BATCH];
    let mut headers = MultiHeaders::preallocate(BATCH, None);
    let begin = clock::now();
    let mut batches = slices.chunks(BATCH).cycle();
    while !stop.load(Ordering::Relaxed) {
        let due = (clock::now() - begin).as_nanos() * u128::from(per_s) / 1_000_000_000;
        let next = sent.load(Ordering::Relaxed) + BATCH as u64;
        if due < u128::from(next) {
            thread::sleep(Duration::from_micros(50));
            continue;
        }
        let batch = batches.next().context("a flood of no packets")?;
        let fd = socket.as_raw_fd();
        let results = sendmmsg(fd, &mut headers, batch, addresses, [], MsgFlags::empty());
        let count = match results {
            Ok(results) => results.count() as u64,
            Err(Errno::ENOBUFS | Errno::EAGAIN | Errno::EINTR) => 0,
            Err(error) => return Err(error).context("sending a flood"),
        };
        sent.fetch_add(count, Ordering::Relaxed);
    }
    Ok(())
}

/// An IPv4 header without options, whose checksum the kernel fills in where it sends the packet.
pub(crate) fn ip_header(
    protocol: u8,
    from: Ipv4Addr,
    to: Ipv4Addr,
    len: usize,
) -> Result<[u8; 20]> {
    let mut header = [0; 20];
    header[0] = 0x45;
    header[2..4].copy_from_slice(&u16::try_from(20 + len)?.to_be_bytes());
    // Do not fragment; 64 hops.
    header[6] = 0x40;
    header[8] = 64;
    header[9] = protocol;
    header[12..16].copy_from_slice(&from.octets());
    header[16..].copy_from_slice(&to.octets());
    Ok(header)
}

/// A UDP header without a checksum.
pub(crate) fn udp_header(from: u16, to: u16, len: usize) -> Result<[u8; 8]> {
    let mut header = [0; 8];
    header[..2].copy_from_slice(&from.to_be_bytes());
    header[2..4].copy_from_slice(&to.to_be_bytes());
    header[4..6].copy_from_slice(&u16::try_from(8 + len)?.to_be_bytes());
    Ok(header)
}

/// Fills in the checksum of a UDP header.
pub(crate) fn fill_udp_checksum(header: &mut [u8; 8], from: Ipv4Addr, to: Ipv4Addr, data: &[u8]) {
    let len = [header[4], header[5]];
    let pseudo = [&from.octets()[..], &to.octets(), &[0, 17], &len].concat();
    let sum = internet_sum(&[&pseudo[..], header, data].concat());
    // 0 stands for no checksum.
    header[6..].copy_from_slice(if sum == [0; 2] { &[0xff; 2] } else { &sum });
}

/// The Internet checksum of `bytes`.
pub(crate) fn internet_sum(bytes: &[u8]) -> [u8; 2] {
    let words = bytes.chunks(2).map(|pair| {
        let low = pair.get(1).copied().unwrap_or(0);
        u32::from(u16::from_be_bytes([pair[0], low]))
    });
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let [.., high, low] = (!sum).to_be_bytes();
    [high, low]
}
