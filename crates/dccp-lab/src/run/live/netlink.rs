//! Counters of devices and their queues, read from the kernel by `rtnetlink` (rtnetlink(7)).
//!
//! ```text
//! message:   | length u32 | type u16 | flags u16 | sequence u32 | sender u32 | header | attributes |
//! attribute: | length u16 | type u16 | data … | padding to 4 bytes |
//! ```

use rustix::net::netdevice::name_to_index;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::io;
use std::os::fd::OwnedFd;

const HEADER: usize = 16;
const LINK_HEADER: usize = 16;
const QUEUE_HEADER: usize = 20;
/// Room for an answer.
const ANSWER_MAX: usize = 8192;

/// A request with `NLM_F_ECHO`: otherwise the counters of a queue go to listeners only.
const REQUEST: u16 = 1 | 8;
const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
const NEW_QUEUE: u16 = 36;
const GET_QUEUE: u16 = 38;

const LINK_STATS: u16 = 23;
const QUEUE_STATS: u16 = 7;
const STATS_BASIC: u16 = 1;
const STATS_QUEUE: u16 = 3;
/// Flags in the type of an attribute.
const TYPE_MASK: u16 = 0x3fff;

/// The handle of a root queue discipline, `1:`.
const ROOT: u32 = 0x1_0000;

/// One device of a network namespace.
#[derive(Debug)]
pub(super) struct Device {
    socket: OwnedFd,
    index: u32,
}

/// Counters of a device or of its queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Counts {
    /// Packets that left.
    pub(super) packets: u64,
    /// Their bytes.
    pub(super) bytes: u64,
    /// Packets that were dropped.
    pub(super) dropped: u64,
    /// Packets that wait.
    pub(super) waiting: u64,
}

impl Device {
    /// The device of this name in the namespace of the calling thread.
    ///
    /// # Errors
    /// There is no such device.
    pub(super) fn open(name: &str) -> io::Result<Self> {
        let kind = SocketType::RAW;
        let flags = SocketFlags::CLOEXEC;
        // The default protocol is that of routes and devices.
        let socket = rustix::net::socket_with(AddressFamily::NETLINK, kind, flags, None)?;
        let inet = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)?;
        let index = name_to_index(&inet, name)?;
        Ok(Self { socket, index })
    }

    /// The counters of the device.
    pub(super) fn counts(&self) -> Option<Counts> {
        let mut body = [0; LINK_HEADER];
        body[4..8].copy_from_slice(&self.index.to_ne_bytes());
        let answer = self.ask(GET_LINK, &body, NEW_LINK)?;
        let stats = find(&answer, LINK_HEADER, LINK_STATS)?;
        let number = |n: usize| long(stats.get(8 * n..)?);
        // Received and sent packets, received and sent bytes, errors of both, dropped received and sent ones.
        Some(Counts {
            packets: number(1)?,
            bytes: number(3)?,
            dropped: number(7)?,
            waiting: 0,
        })
    }

    /// The counters of the root queue discipline, which has the handle `1:`.
    pub(super) fn queue_counts(&self) -> Option<Counts> {
        let mut body = [0; QUEUE_HEADER];
        body[4..8].copy_from_slice(&self.index.to_ne_bytes());
        body[8..12].copy_from_slice(&ROOT.to_ne_bytes());
        let answer = self.ask(GET_QUEUE, &body, NEW_QUEUE)?;
        let stats = find(&answer, QUEUE_HEADER, QUEUE_STATS)?;
        let basic = find(stats, 0, STATS_BASIC)?;
        let queue = find(stats, 0, STATS_QUEUE)?;
        Some(Counts {
            bytes: long(basic)?,
            packets: word(basic.get(8..)?)?.into(),
            waiting: word(queue)?.into(),
            dropped: word(queue.get(8..)?)?.into(),
        })
    }

    /// The kernel's answer behind its first header; `None` if it refuses. The kernel has answered when the request is
    /// sent.
    fn ask(&self, kind: u16, body: &[u8], answer: u16) -> Option<Vec<u8>> {
        let len = u32::try_from(HEADER + body.len()).ok()?;
        let mut request = len.to_ne_bytes().to_vec();
        request.extend(kind.to_ne_bytes());
        request.extend(REQUEST.to_ne_bytes());
        request.extend([0; 8]);
        request.extend(body);
        let kernel = SocketAddrNetlink::new(0, 0);
        rustix::net::sendto(&self.socket, &request, SendFlags::empty(), &kernel).ok()?;
        let mut bytes = vec![0; ANSWER_MAX];
        let (len, _) = rustix::net::recv(&self.socket, &mut bytes[..], RecvFlags::DONTWAIT).ok()?;
        bytes.truncate(len);
        // A refusal has another type.
        if half(bytes.get(4..)?) != Some(answer) {
            return None;
        }
        bytes.drain(..HEADER.min(len));
        Some(bytes)
    }
}

/// The data of the first attribute of a kind, behind a header.
fn find(message: &[u8], header: usize, kind: u16) -> Option<&[u8]> {
    let mut rest = message.get(header..)?;
    loop {
        let len = usize::from(half(rest)?);
        let found = half(rest.get(2..)?)? & TYPE_MASK;
        let data = rest.get(4..len)?;
        if found == kind {
            return Some(data);
        }
        rest = rest.get(len.next_multiple_of(4)..)?;
    }
}

fn half(bytes: &[u8]) -> Option<u16> {
    bytes.first_chunk().copied().map(u16::from_ne_bytes)
}

fn word(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().copied().map(u32::from_ne_bytes)
}

fn long(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().copied().map(u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn loopback_counts_what_is_sent_and_has_no_root_queue_of_ours() {
        let device = Device::open("lo").unwrap();
        let before = device.counts().unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let own = socket.local_addr().unwrap();
        for _ in 0..3 {
            socket.send_to(&[0; 72], own).unwrap();
        }
        let after = device.counts().unwrap();
        assert!(after.packets >= before.packets + 3, "{before:?} {after:?}");
        assert!(after.bytes >= before.bytes + 300, "{before:?} {after:?}");
        assert_eq!(device.queue_counts(), None);
        assert!(Device::open("no-such-device").is_err());
    }
}
