//! Counters of devices and their queues, from the kernel's tables.

use dccp_io::netlink::{
    ECHO, GET_LINK, LINK_HEADER, NEW_LINK, Tables, find, link_header, long, word,
};
use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketType};
use std::io;

const QUEUE_HEADER: usize = 20;
const NEW_QUEUE: u16 = 36;
const GET_QUEUE: u16 = 38;

const LINK_STATS: u16 = 23;
const QUEUE_STATS: u16 = 7;
const STATS_BASIC: u16 = 1;
const STATS_QUEUE: u16 = 3;

/// The handle of a root queue discipline, `1:`.
const ROOT: u32 = 0x1_0000;

/// One device of a network namespace.
#[derive(Debug)]
pub(super) struct Device {
    tables: Tables,
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
        let inet = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)?;
        let index = name_to_index(&inet, name)?;
        let tables = Tables::open()?;
        Ok(Self { tables, index })
    }

    /// The counters of the device.
    pub(super) fn counts(&self) -> Option<Counts> {
        let header = link_header(self.index);
        let answer = self.tables.ask(GET_LINK, 0, &header, NEW_LINK)?;
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
        let mut header = [0; QUEUE_HEADER];
        header[4..8].copy_from_slice(&self.index.to_ne_bytes());
        header[8..12].copy_from_slice(&ROOT.to_ne_bytes());
        let answer = self.tables.ask(GET_QUEUE, ECHO, &header, NEW_QUEUE)?;
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
