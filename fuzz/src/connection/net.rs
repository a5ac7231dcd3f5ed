//! The network: packets in flight, and old packets for replay.

use dccp_proto::path::Path;
use dccp_proto::wire::{Datagram, Ecn};
use std::collections::VecDeque;

/// Maximum number of packets in flight, and of old packets kept for replay.
const WIRE_MAX: usize = 256;
const OLD_MAX: usize = 32;

/// A packet on its way.
pub(super) struct Sent {
    /// Index of the receiving end.
    pub(super) to: usize,
    /// As the receiver sees it.
    pub(super) path: Path,
    pub(super) ecn: Ecn,
    pub(super) bytes: Vec<u8>,
    pub(super) zeros: usize,
}

impl Sent {
    pub(super) fn datagram(&self) -> Datagram<'_> {
        Datagram {
            bytes: &self.bytes,
            zeros: self.zeros,
        }
    }
}

#[derive(Default)]
pub(super) struct Net {
    wire: VecDeque<Sent>,
    old: VecDeque<Sent>,
    /// Memory of packets that are gone. New packets use it, so that few allocate.
    memory: Vec<Vec<u8>>,
}

impl Net {
    /// Returns an empty buffer.
    pub(super) fn buffer(&mut self) -> Vec<u8> {
        let mut bytes = self.memory.pop().unwrap_or_default();
        bytes.clear();
        bytes
    }

    /// Takes the memory of a packet that is gone.
    pub(super) fn recycle(&mut self, packet: Sent) {
        self.memory.push(packet.bytes);
    }

    /// Copies a packet.
    pub(super) fn copy(&mut self, packet: &Sent) -> Sent {
        let Sent {
            to,
            path,
            ecn,
            ref bytes,
            zeros,
        } = *packet;
        let mut copied = self.buffer();
        copied.extend_from_slice(bytes);
        Sent {
            to,
            path,
            ecn,
            bytes: copied,
            zeros,
        }
    }

    /// A packet leaves for the end `to`. `path` is the receiver's.
    pub(super) fn carry(&mut self, to: usize, path: Path, ecn: Ecn, datagram: &Datagram<'_>) {
        let mut bytes = self.buffer();
        bytes.extend_from_slice(datagram.bytes);
        let zeros = datagram.zeros;
        let packet = Sent {
            to,
            path,
            ecn,
            bytes,
            zeros,
        };
        if self.wire.len() < WIRE_MAX {
            let copy = self.copy(&packet);
            self.wire.push_back(copy);
        }
        if self.old.len() == OLD_MAX
            && let Some(oldest) = self.old.pop_front()
        {
            self.recycle(oldest);
        }
        self.old.push_back(packet);
    }

    /// Removes the next packet in flight.
    pub(super) fn take(&mut self) -> Option<Sent> {
        self.wire.pop_front()
    }

    /// Puts a packet behind all others in flight.
    pub(super) fn put_last(&mut self, packet: Sent) {
        self.wire.push_back(packet);
    }

    /// Old packets, the oldest first.
    pub(super) fn old(&self) -> &VecDeque<Sent> {
        &self.old
    }

    /// Returns a copy of the old packet that `choose` picks among how many there are.
    pub(super) fn copy_old(&mut self, choose: impl FnOnce(usize) -> usize) -> Option<Sent> {
        if self.old.is_empty() {
            return None;
        }
        let at = choose(self.old.len());
        let packet = self.old.remove(at)?;
        let copy = self.copy(&packet);
        self.old.insert(at, packet);
        Some(copy)
    }
}
