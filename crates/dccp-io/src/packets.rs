//! Datagrams between processes, in batches: connected Unix sockets of type `SOCK_SEQPACKET`, whose calls wait.

use crate::sys::seqpacket::{self, BATCH, Message};
use std::io::{self, IoSliceMut};
use std::os::fd::BorrowedFd;

/// Memory for the datagrams of one receive. Use it again.
#[derive(Debug)]
pub struct Packets {
    bytes: Vec<u8>,
    /// Room of each datagram in bytes.
    room: usize,
    messages: [Message; BATCH],
    filled: usize,
}

impl Packets {
    /// Datagrams that one receive takes at most.
    pub const BATCH: usize = BATCH;

    /// Room for datagrams of at most `len_max` bytes, at least 1. Longer ones are discarded.
    pub fn new(len_max: usize) -> Self {
        let room = len_max.max(1);
        Self {
            bytes: vec![0; room * BATCH],
            room,
            messages: [Message::End; BATCH],
            filled: 0,
        }
    }

    /// Waits for a datagram, and takes those that are there. Returns `false` if there is none, because the other side sends
    /// no more. The other side's socket must have a name.
    ///
    /// # Errors
    /// When the other side has closed and left datagrams unread (`ECONNRESET`), or a signal has arrived.
    pub fn recv(&mut self, socket: BorrowedFd<'_>) -> io::Result<bool> {
        self.fill(socket, true)
    }

    /// As [`recv`](Self::recv), without waiting.
    ///
    /// # Errors
    /// Also when there is no datagram (`EAGAIN`).
    pub fn recv_waiting(&mut self, socket: BorrowedFd<'_>) -> io::Result<bool> {
        self.fill(socket, false)
    }

    fn fill(&mut self, socket: BorrowedFd<'_>, waits: bool) -> io::Result<bool> {
        self.filled = 0;
        let mut rest = &mut self.bytes[..];
        let mut slots = core::array::from_fn(|_| {
            let (slot, others) = core::mem::take(&mut rest).split_at_mut(self.room);
            rest = others;
            IoSliceMut::new(slot)
        });
        let n = seqpacket::recv(socket, &mut slots, &mut self.messages, waits)?;
        let is_datagram = |message: &&Message| **message != Message::End;
        self.filled = self.messages.iter().take(n).take_while(is_datagram).count();
        Ok(self.filled > 0)
    }

    /// The datagrams of the last receive, without those that were too long.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let messages = self.messages.iter().take(self.filled);
        let slots = self.bytes.chunks_exact(self.room).zip(messages);
        slots.filter_map(|(slot, message)| match message {
            Message::Whole(len) => slot.get(..*len),
            Message::Cut | Message::End => None,
        })
    }

    /// How many messages the last receive has taken, at most [`BATCH`](Self::BATCH).
    pub fn taken(&self) -> usize {
        self.filled
    }

    /// How many of them were too long.
    pub fn discarded(&self) -> usize {
        let messages = self.messages.iter().take(self.filled);
        messages.filter(|message| **message == Message::Cut).count()
    }

    /// Sends datagrams, and waits for room. After an error, the first ones may have been sent.
    ///
    /// # Errors
    /// When the other side receives no more (`EPIPE`), or a signal has arrived.
    pub fn send(socket: BorrowedFd<'_>, mut datagrams: &[&[u8]]) -> io::Result<()> {
        while !datagrams.is_empty() {
            let sent = seqpacket::send(socket, datagrams)?;
            datagrams = datagrams.get(sent..).unwrap_or_default();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, Shutdown, SocketAddrUnix, SocketType, shutdown};
    use std::os::fd::{AsFd as _, OwnedFd};

    /// Two ends; the name of the first tells its empty datagrams from its end.
    fn pair(name: &str) -> [OwnedFd; 2] {
        let new = || rustix::net::socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
        let place = |role| {
            let name = format!("usrdccp-packets-{}-{name}-{role}", std::process::id());
            SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap()
        };
        let (listener, near) = (new(), new());
        rustix::net::bind(&listener, &place("listener")).unwrap();
        rustix::net::listen(&listener, 1).unwrap();
        rustix::net::bind(&near, &place("near")).unwrap();
        rustix::net::connect(&near, &place("listener")).unwrap();
        [near, rustix::net::accept(&listener).unwrap()]
    }

    #[test]
    fn batches_keep_boundaries_and_empty_datagrams_are_not_the_end() {
        let [near, far] = pair("batches");
        let none = Packets::new(40).recv_waiting(far.as_fd()).unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::WouldBlock);
        let sent: Vec<Vec<u8>> = (0..100).map(|n| vec![7; n % 5 * 10]).collect();
        let slices: Vec<&[u8]> = sent.iter().map(Vec::as_slice).collect();
        Packets::send(near.as_fd(), &slices).unwrap();
        shutdown(&near, Shutdown::Write).unwrap();
        let mut packets = Packets::new(40);
        let mut received = Vec::new();
        while packets.recv(far.as_fd()).unwrap() {
            received.extend(packets.iter().map(<[u8]>::to_vec));
            assert_eq!(packets.discarded(), 0);
        }
        assert_eq!(received, sent);
    }

    #[test]
    fn long_datagrams_are_discarded_whole() {
        let [near, far] = pair("long");
        Packets::send(near.as_fd(), &[&[1; 9], &[2; 8]]).unwrap();
        let mut packets = Packets::new(8);
        assert!(packets.recv(far.as_fd()).unwrap());
        assert_eq!(packets.iter().collect::<Vec<_>>(), [&[2; 8]]);
        assert_eq!(packets.discarded(), 1);
    }

    #[test]
    fn sending_to_a_closed_socket_fails_without_a_signal() {
        let [near, far] = pair("closed");
        drop(far);
        let error = Packets::send(near.as_fd(), &[b"late"]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
