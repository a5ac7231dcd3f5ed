//! A connection: two threads carry its datagrams, one in each direction.

use super::Host;
use super::link::{Link, Received, in_family};
use super::table::Phase;
use crate::unix::{DATAGRAM_MAX, wait_for_hangup};
use core::net::SocketAddr;
use core::time::Duration;
use dccp::unstable::io::Packets;
use dccprun_message::{Answer, Family, MESSAGE_MAX, SocketKey};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, shutdown};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

/// Between two looks at the program's end of a connection whose handshake goes on.
const LOOK: Duration = Duration::from_millis(50);

/// A connection and the program's end of it.
pub(super) struct Carried {
    pub(super) key: SocketKey,
    pub(super) link: Arc<dyn Link>,
    pub(super) data: Arc<OwnedFd>,
}

/// The program's call to connect.
pub(super) struct Caller {
    /// Messages before the first datagram, which keep the program's socket from being writable.
    pub(super) plugs: u32,
    /// Where the program waits for the end of the handshake.
    pub(super) channel: Option<OwnedFd>,
}

impl Carried {
    /// Waits for the handshake, tells the program, and carries datagrams until the end.
    pub(super) fn connect(self, host: &Arc<Host>, caller: Caller) {
        let opened = loop {
            if let Some(opened) = self.link.wait_opened(LOOK) {
                break opened;
            }
            if wait_for_hangup(&self.data, Some(Duration::ZERO)) {
                // Before there is a connection, the kernel's DCCP forgets it without a packet. Here it is closed.
                host.table().remove(self.key);
                self.link.abort();
                return;
            }
        };
        let waits = caller.channel.is_some();
        let answer = match opened {
            Ok(()) => {
                self.open(host, waits);
                Answer::DONE
            }
            Err(error) => {
                // A call that waits returns the error, which is then fetched.
                host.table().end(self.key, if waits { 0 } else { error });
                Answer::error(error)
            }
        };
        if let Some(channel) = caller.channel {
            reply(&channel, &answer);
        }
        // Now the program's socket is writable, which also reports a failure.
        for _ in 0..caller.plugs {
            // A shorter buffer cuts the message off.
            if !matches!(receive(&self.data, &mut [0]), Ok(1..)) {
                break;
            }
        }
        match opened {
            Ok(()) => self.carry(host),
            Err(_) => self.hang_up(),
        }
    }

    /// The connection is open.
    fn open(&self, host: &Host, is_told: bool) {
        let mut table = host.table();
        let Some(record) = table.get(self.key) else {
            return;
        };
        if let Phase::Connecting(connection) = &record.phase {
            let connection = connection.clone();
            record.local = local(&*self.link, self.key.family).or(record.local);
            record.phase = Phase::Open {
                connection,
                is_told,
            };
        }
    }

    /// Carries datagrams in both directions until the end.
    pub(super) fn carry(self, host: &Arc<Host>) {
        let (key, link, data) = (self.key, self.link.clone(), self.data.clone());
        let inward = move |host: &Arc<Host>| carry_inward(host, key, &*link, &data);
        if host.spawn("dccprun-in", inward).is_err() {
            host.table().end(self.key, libc::ENOBUFS);
            self.hang_up();
            self.link.abort();
            return;
        }
        self.carry_outward(host);
    }

    /// Carries datagrams of the program to the peer until the program has closed its socket, then ends the connection.
    fn carry_outward(&self, host: &Host) {
        let mut packets = Packets::new(DATAGRAM_MAX);
        let has_unread = loop {
            match packets.recv(self.data.as_fd()) {
                Ok(true) => self.link.send(&packets),
                Ok(false) => break false,
                Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
                // The program has closed its socket, and has not read all.
                Err(error) => break error.raw_os_error() == Some(libc::ECONNRESET),
            }
        };
        // After `shutdown(SHUT_WR)` the kernel's DCCP goes on to receive, and sends nothing about it.
        while !wait_for_hangup(&self.data, None) {}
        let mut table = host.table();
        let Some(record) = table.get(self.key) else {
            return;
        };
        let aborts = record.settings.aborts_at_close || has_unread;
        if record.connection().is_none() {
            // The peer had closed before.
            return;
        }
        table.remove(self.key);
        drop(table);
        if aborts {
            self.link.abort();
        } else {
            self.link.close();
        }
    }

    /// Ends the program's socket. Datagrams that it has not read stay; those that this host has not read are lost.
    fn hang_up(&self) {
        hang_up(&self.data);
    }
}

/// Carries datagrams of the peer to the program until the connection has ended.
fn carry_inward(host: &Host, key: SocketKey, link: &dyn Link, data: &OwnedFd) {
    let mut received = Received::new();
    let mut is_heard = true;
    let error = loop {
        if let Err(error) = link.recv(&mut received) {
            break error;
        }
        // After `shutdown(SHUT_RD)` the kernel's DCCP discards data.
        is_heard = is_heard && deliver(data, &received.datagrams());
    };
    host.table().end(key, error);
    // The other thread reads what the program has sent before.
    let _ = shutdown(data, Shutdown::Both);
}

/// Hands datagrams to the program. Returns false if it receives no more.
fn deliver(data: &OwnedFd, datagrams: &[&[u8]]) -> bool {
    loop {
        match Packets::send(data.as_fd(), datagrams) {
            Ok(()) => return true,
            // Signals are blocked in this thread: only a debugger interrupts it.
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
            Err(_) => return false,
        }
    }
}

/// Ends a connection between program and host. What is read before the end does not count as an error at the program.
fn hang_up(data: &OwnedFd) {
    if shutdown(data, Shutdown::Both).is_ok() {
        while matches!(receive(data, &mut [0]), Ok(1..)) {}
    }
}

/// Receives one message without waiting longer than a program needs that has sent it before.
fn receive(data: &OwnedFd, buffer: &mut [u8; 1]) -> rustix::io::Result<usize> {
    loop {
        match rustix::net::recv(data, &mut *buffer, RecvFlags::empty()) {
            Ok((len, _)) => return Ok(len),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// The address of this end, in the socket's family; `None`: it is not known before the end of the handshake.
pub(super) fn local(link: &dyn Link, family: Family) -> Option<SocketAddr> {
    link.local_addr().map(|addr| in_family(family, addr))
}

/// Answers a request. The program may have gone.
pub(super) fn reply(channel: &OwnedFd, answer: &Answer) {
    let mut buffer = [0; MESSAGE_MAX];
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let _ = rustix::net::send(channel, answer.build(&mut buffer), flags);
}
