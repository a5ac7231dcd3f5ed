//! Datagrams of the program on their way to the peer: those of its Unix socket, and those of its queue in shared memory.
//!
//! The socket carries datagrams until the program has the queue, which then carries them. It also wakes this host by bells,
//! and the program fills it with plugs while the queue has no room: so calls that wait for room are the kernel's own.

use super::link::Link;
use super::queue::Queues;
use crate::unix::{DATAGRAM_MAX, wait_for_message};
use dccp::unstable::io::{Packets, work_in_batches};
use dccprun_message::BELL_LEN;
use dccprun_queue::DATAGRAMS_MAX;
use dccprun_queue::outward::{Broken, Consumer, LEN_MAX};
use rustix::net::{Shutdown, shutdown};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};

/// Datagrams that the queue gives up at once: half of it, so that the program goes on meanwhile.
const BATCH: usize = 64;

/// How the program has ended its side.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It sends no more.
    Ordinary,
    /// It has closed its socket and left messages unread.
    Unread,
    /// It has broken the queue.
    Broken,
}

/// The parts of a connection that carry datagrams outward.
pub(super) struct Outward<'a> {
    pub(super) data: &'a OwnedFd,
    pub(super) link: &'a dyn Link,
    pub(super) queues: &'a Queues,
    pub(super) bell: [u8; BELL_LEN],
}

/// Memory for datagrams of the queue.
struct Batch {
    bytes: Vec<u8>,
    lens: Vec<usize>,
}

impl Outward<'_> {
    /// Carries datagrams until the program sends no more, or the connection has ended.
    pub(super) fn carry(&self) -> End {
        // A datagram that interrupts the program delays those that follow, and each then costs a wake of its own.
        work_in_batches();
        let mut packets = Packets::new(DATAGRAM_MAX);
        let mut queue = None;
        let end = loop {
            if queue.is_none()
                && let Some(consumer) = self.queues.outward.take()
            {
                if let Some(mps) = self.link.mps() {
                    consumer.set_limit(mps);
                }
                queue = Some((consumer, Batch::new()));
                // Datagrams of the socket are older. It may have been too full for the bell of the new queue.
                if let Some(end) = self.empty_socket(&mut packets) {
                    break end;
                }
            }
            let ended = if let Some((consumer, batch)) = &mut queue {
                self.carry_queue(consumer, batch, &mut packets)
            } else {
                let received = packets.recv(self.data.as_fd());
                self.pass_on(received, &packets)
            };
            if let Some(end) = ended {
                break end;
            }
        };
        // Datagrams that the program has sent before it closed.
        let queue = queue.or_else(|| Some((self.queues.outward.take()?, Batch::new())));
        self.queues.end();
        if let Some((mut consumer, mut batch)) = queue {
            for _ in 0..DATAGRAMS_MAX.div_ceil(BATCH) {
                if batch.fill(&mut consumer).is_ok() {
                    self.send(&mut batch.iter());
                }
            }
        }
        end
    }

    /// Sends datagrams to the peer. Returns the greatest length of a datagram at that moment, if it is known.
    ///
    /// After the end of the connection the program learns that it can send no more, although the thread of the other direction
    /// may wait for it to receive.
    fn send(&self, datagrams: &mut dyn Iterator<Item = &[u8]>) -> Option<usize> {
        self.link.send(datagrams).unwrap_or_else(|_| {
            self.queues.end();
            let _ = shutdown(self.data, Shutdown::Read);
            None
        })
    }

    /// Sends the datagrams that the Unix socket has. Returns how the program has ended.
    fn empty_socket(&self, packets: &mut Packets) -> Option<End> {
        loop {
            let received = packets.recv_waiting(self.data.as_fd());
            let is_all = received.is_err() || packets.taken() < Packets::BATCH;
            if let Some(end) = self.pass_on(received, packets) {
                return Some(end);
            }
            if is_all {
                return None;
            }
        }
    }

    /// Sends what a receive from the Unix socket has given. Returns how the program has ended.
    fn pass_on(&self, received: io::Result<bool>, packets: &Packets) -> Option<End> {
        match received {
            Ok(true) => {
                let mut datagrams = packets
                    .iter()
                    .filter(|bytes| *bytes != self.bell)
                    .peekable();
                if datagrams.peek().is_some() {
                    self.send(&mut datagrams);
                }
                None
            }
            Ok(false) => Some(End::Ordinary),
            Err(error) => match error.raw_os_error() {
                Some(libc::EINTR | libc::EAGAIN) => None,
                // The program has closed its socket, and has not read all.
                Some(libc::ECONNRESET) => Some(End::Unread),
                _ => Some(End::Ordinary),
            },
        }
    }

    /// Empties the queue, and then waits for a message of the program. Returns how the program has ended.
    fn carry_queue(
        &self,
        queue: &mut Consumer,
        batch: &mut Batch,
        packets: &mut Packets,
    ) -> Option<End> {
        loop {
            if batch.fill(queue).is_err() {
                return Some(End::Broken);
            }
            let is_empty = batch.lens.is_empty();
            // Plugs are read once there is room, and not before: without them the socket is writable.
            let may_read = queue.free() || is_empty;
            let has_ended = may_read.then(|| self.empty_socket(packets)).flatten();
            // They have left the queue, so they are sent also if the program has ended.
            if !is_empty && let Some(mps) = self.send(&mut batch.iter()) {
                queue.set_limit(mps);
            }
            if has_ended.is_some() {
                return has_ended;
            }
            if is_empty {
                break;
            }
        }
        if queue.announce_sleep() {
            wait_for_message(self.data);
        }
        None
    }
}

impl Batch {
    fn new() -> Self {
        Self {
            bytes: vec![0; BATCH * LEN_MAX],
            lens: Vec::with_capacity(BATCH),
        }
    }

    /// Takes the datagrams that are in the queue.
    fn fill(&mut self, queue: &mut Consumer) -> Result<(), Broken> {
        self.lens.clear();
        let mut rest = &mut self.bytes[..];
        while self.lens.len() < BATCH
            && let Some(len) = queue.take(rest)?
        {
            self.lens.push(len);
            rest = rest.get_mut(len..).ok_or(Broken)?;
        }
        Ok(())
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &self.bytes[..];
        self.lens.iter().map_while(move |&len| {
            let (datagram, others) = rest.split_at_checked(len)?;
            rest = others;
            Some(datagram)
        })
    }
}
