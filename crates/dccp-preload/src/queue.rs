//! Queues of datagrams in shared memory, one for each direction of a connection, which spare system calls.
//!
//! The Unix socket stays what the program waits with, so `poll` and calls that wait are the kernel's own. A descriptor finds
//! its queues by tables, so all calls that close or replace descriptors must call `ours::forget`.

pub(crate) mod inward;
pub(crate) mod outward;

use crate::host::{ask_for_descriptor, host};
use crate::mapped::Queues;
use crate::ours;
use core::cell::Cell;
use core::ffi::c_int;
use dccprun_message::{Op, SocketKey};
use dccprun_queue::table::{Absent, Used};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::SendFlags;

/// The queue of a descriptor; `attach` gets it if nothing is known about the descriptor.
fn find<Q>(
    queues: &'static Queues<Q>,
    fd: c_int,
    attach: impl Fn(c_int, SocketKey) -> Result<Q, Absent>,
) -> Option<Used<'static, Q>> {
    // Without a free place nothing looks the descriptor up.
    let looked_up = Cell::new(None);
    let make = || {
        let key = ours::key(fd);
        looked_up.set(Some(key));
        attach(fd, key.ok_or(Absent::Always)?)
    };
    let is_right = || looked_up.get().is_none_or(|key| ours::key(fd) == key);
    queues.find(fd, make, is_right)
}

/// Asks for a queue of a socket.
///
/// # Errors
/// `Always`: the host has no queue to give. `Now`: the next call asks again.
fn ask_for_queue(key: SocketKey, op: Op) -> Result<OwnedFd, Absent> {
    ask_for_descriptor(op, key).map_err(|error| match error {
        libc::ENOBUFS => Absent::Always,
        // The handshake goes on, or this process has no descriptor left.
        _ => Absent::Now,
    })
}

/// Wakes the host, by a direct system call: other preloaded libraries do not see the bell.
fn send_bell(fd: c_int, flags: SendFlags) -> Result<(), Errno> {
    let host = host().ok_or(Errno::NETDOWN)?;
    message(fd, &host.bell(), flags)
}

/// Sends a message that is no datagram.
fn message(fd: c_int, bytes: &[u8], flags: SendFlags) -> Result<(), Errno> {
    let socket = ours::borrow(fd).ok_or(Errno::BADF)?;
    rustix::net::send(socket, bytes, flags | SendFlags::NOSIGNAL).map(drop)
}
