//! A connection: two threads carry its datagrams, one in each direction.

use super::Host;
use super::inward::Inward;
use super::link::{Link, in_family};
use super::outward::{End, Outward};
use super::queue::Queues;
use super::table::{Phase, Table};
use crate::unix::wait_for_hangup;
use core::mem::MaybeUninit;
use core::net::SocketAddr;
use core::time::Duration;
use dccprun_message::{Answer, Family, MESSAGE_MAX, SocketKey};
use rustix::cmsg_space;
use rustix::io::Errno;
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, Shutdown, shutdown,
};
use std::io::IoSlice;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

/// Between two looks at the program's end of a connection whose handshake goes on.
const LOOK: Duration = Duration::from_millis(50);

/// A connection and the program's end of it.
pub(super) struct Carried {
    pub(super) key: SocketKey,
    pub(super) link: Arc<dyn Link>,
    pub(super) data: Arc<OwnedFd>,
    pub(super) queues: Arc<Queues>,
}

/// The program's call to connect.
pub(super) struct Caller {
    /// Messages before the first datagram, which keep the program's socket from being writable.
    pub(super) plugs: u32,
    /// Where the program waits for the end of the handshake.
    pub(super) channel: Option<Arc<OwnedFd>>,
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
        let answer = match opened {
            Ok(()) => Answer::DONE,
            Err(error) => Answer::error(error),
        };
        {
            // The program's next request waits until the table has the outcome, too.
            let mut table = host.table();
            // A signal may have ended the call that waited.
            let is_told = caller.channel.is_some_and(|c| reply(&c, &answer).is_ok());
            match opened {
                Ok(()) => self.open(&mut table, is_told),
                // A call that waits returns the error, which is then fetched.
                Err(error) => table.end(self.key, if is_told { 0 } else { error }),
            }
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
            Err(_) => hang_up(&self.data),
        }
    }

    /// The connection is open.
    fn open(&self, table: &mut Table, is_told: bool) {
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
        let queues = self.queues.clone();
        // It is set once, because a connection is carried once.
        let _ = queues.data.set(Arc::downgrade(&data));
        let inward = move |host: &Arc<Host>| {
            let inward = Inward {
                data: &data,
                link: &*link,
                queues: &queues,
                bell: host.key.bell(),
            };
            let error = inward.carry();
            host.table().end(key, error);
            queues.end();
            // The other thread reads what the program has sent before.
            let _ = shutdown(&data, Shutdown::Both);
        };
        if host.spawn("dccprun-in", inward).is_err() {
            host.table().end(self.key, libc::ENOBUFS);
            hang_up(&self.data);
            self.link.abort();
            return;
        }
        self.carry_outward(host);
    }

    /// Carries datagrams of the program to the peer until the program has closed its socket, then ends the connection.
    fn carry_outward(&self, host: &Host) {
        let outward = Outward {
            data: &self.data,
            link: &*self.link,
            queues: &self.queues,
            bell: host.key.bell(),
        };
        let end = outward.carry();
        if end == End::Broken {
            // The program learns it by its next call.
            let _ = shutdown(&self.data, Shutdown::Both);
        }
        // After `shutdown(SHUT_WR)` the kernel's DCCP goes on to receive, and sends nothing about it.
        while !wait_for_hangup(&self.data, None) {}
        let has_failed = match end {
            End::Ordinary => false,
            // A bell is no datagram.
            End::Unread => self.queues.has_unread(),
            End::Broken => true,
        };
        let mut table = host.table();
        let Some(record) = table.get(self.key) else {
            return;
        };
        let aborts = record.settings.aborts_at_close || has_failed;
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
}

/// Ends the program's socket. Datagrams that it has not read stay; those that this host has not read are lost.
///
/// They are read here, because what stays unread would be an error at the program.
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

/// Answers a request.
///
/// # Errors
/// When the program waits no more.
pub(super) fn reply(channel: &OwnedFd, answer: &Answer) -> rustix::io::Result<()> {
    let mut buffer = [0; MESSAGE_MAX];
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    rustix::net::send(channel, answer.build(&mut buffer), flags).map(drop)
}

/// Answers a request with a descriptor. The program may have gone.
pub(super) fn reply_with(channel: &OwnedFd, descriptor: BorrowedFd<'_>) {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors = [descriptor];
    // The space is that of one descriptor.
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    let mut buffer = [0; MESSAGE_MAX];
    let message = [IoSlice::new(Answer::DONE.build(&mut buffer))];
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    let _ = rustix::net::sendmsg(channel, &message, &mut ancillary, flags);
}
