//! Datagrams of the peer on their way to the program: by its Unix socket until it asks for a queue in shared memory, then by
//! the queue. Bells in the socket tell it that the queue has datagrams.

use super::link::{Link, Received};
use super::queue::Queues;
use crate::unix::wait_for_hangup;
use core::time::Duration;
use dccp::unstable::io::{Packets, work_in_batches};
use dccprun_message::BELL_LEN;
use dccprun_queue::inward::Producer;
use rustix::net::SendFlags;
use std::os::fd::{AsFd as _, OwnedFd};

/// Between two looks whether a program that takes nothing has closed its socket.
const LOOK: Duration = Duration::from_millis(200);

/// The parts of a connection that carry datagrams inward.
pub(super) struct Inward<'a> {
    pub(super) data: &'a OwnedFd,
    pub(super) link: &'a dyn Link,
    pub(super) queues: &'a Queues,
    pub(super) bell: [u8; BELL_LEN],
}

impl Inward<'_> {
    /// Carries datagrams until the connection has ended. Returns the error number of the end.
    pub(super) fn carry(&self) -> i32 {
        // The engine has then ended its turn, with all datagrams that have arrived.
        work_in_batches();
        let mut received = Received::new();
        let mut queue = None;
        // After `shutdown(SHUT_RD)` the kernel's DCCP discards data.
        let mut is_heard = true;
        loop {
            if let Err(error) = self.link.recv(&mut received) {
                return error;
            }
            if queue.is_none() {
                queue = self.queues.inward.take_if(Producer::is_wanted);
            }
            let mut datagrams = received.datagrams();
            // A peer that knows the bell cannot ring it.
            datagrams.retain(|datagram| *datagram != self.bell);
            is_heard = is_heard
                && match &mut queue {
                    None => self.send(&datagrams),
                    Some(queue) => self.push(queue, &datagrams),
                };
        }
    }

    /// Hands datagrams to the program by its queue. Returns false if it receives no more.
    fn push(&self, queue: &mut Producer, datagrams: &[&[u8]]) -> bool {
        for datagram in datagrams {
            while !queue.push(datagram) {
                if !self.publish(queue) {
                    return false;
                }
                queue.wait_for_room(datagram.len(), LOOK);
                if wait_for_hangup(self.data, Some(Duration::ZERO)) {
                    return false;
                }
            }
        }
        self.publish(queue)
    }

    /// Shows datagrams to the program, with a bell if there is none. Returns false if it receives no more.
    fn publish(&self, queue: &Producer) -> bool {
        if queue.publish() {
            let send = || rustix::net::send(self.data, &self.bell, SendFlags::NOSIGNAL);
            if rustix::io::retry_on_intr(send).is_err() {
                return false;
            }
        }
        queue.is_open()
    }

    /// Hands datagrams to the program by its socket. Returns false if it receives no more.
    fn send(&self, datagrams: &[&[u8]]) -> bool {
        loop {
            match Packets::send(self.data.as_fd(), datagrams) {
                Ok(()) => return true,
                // Signals are blocked in this thread: only a debugger interrupts it.
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                Err(_) => return false,
            }
        }
    }
}
