//! Datagrams on their way to the host.
//!
//! While the queue is full, the socket is filled with plugs, which the host reads once there is room: so `poll` and calls
//! that wait are the kernel's own.

#![expect(unsafe_code, reason = "functions of the C library")]

use super::{ask_for_queue, find, message, send_bell};
use crate::mapped::SENDERS;
use crate::{native, ours};
use core::ffi::{c_int, c_void};
use dccprun_message::{Op, SocketKey};
use dccprun_queue::outward::{LEN_MAX, Producer, Pushed};
use dccprun_queue::table::Absent;
use libc::{
    MSG_CONFIRM, MSG_DONTROUTE, MSG_DONTWAIT, MSG_EOR, MSG_MORE, MSG_NOSIGNAL, iovec, size_t,
    ssize_t,
};
use rustix::io::Errno;
use rustix::net::SendFlags;
use rustix::net::sockopt::set_socket_send_buffer_size;

/// Flags that make no difference to a queue.
const FLAGS: c_int = MSG_CONFIRM | MSG_DONTROUTE | MSG_DONTWAIT | MSG_EOR | MSG_MORE | MSG_NOSIGNAL;

/// Bytes for plugs and bells in the socket, once there is a queue. The kernel doubles them.
const SEND_BUFFER: usize = 8 << 10;
/// The longest message of such a socket, which fills it. The host discards it, because no datagram is as long.
const PLUG: usize = 2 * SEND_BUFFER - 32;
const _: () = assert!(PLUG > LEN_MAX, "a plug is no datagram");

static ZEROS: [u8; PLUG] = [0; PLUG];

fn attach(fd: c_int, key: SocketKey) -> Result<Producer, Absent> {
    let queue = ask_for_queue(key, Op::SendQueue)?;
    let queue = Producer::attach(queue).map_err(|_| Absent::Always)?;
    if prepare(fd) {
        Ok(queue)
    } else {
        Err(Absent::Always)
    }
}

/// Makes the socket one for bells and plugs. Returns `false` if the program can send no more.
fn prepare(fd: c_int) -> bool {
    if let Some(socket) = ours::borrow(fd) {
        // It only fails for no socket.
        let _ = set_socket_send_buffer_size(socket, SEND_BUFFER);
    }
    // The host looks for the queue. A full socket has messages, with which it does so too.
    matches!(
        send_bell(fd, SendFlags::DONTWAIT),
        Ok(()) | Err(Errno::AGAIN)
    )
}

/// Sends a datagram by the queue of a DCCP socket; `None`: the socket is to take it. Errors are in `errno`.
///
/// # Safety
/// `data` has `len` bytes.
pub(crate) unsafe fn send(
    fd: c_int,
    data: *const c_void,
    len: size_t,
    flags: c_int,
) -> Option<ssize_t> {
    if data.is_null() {
        return None;
    }
    // SAFETY: the caller promises `len` bytes, which do not change during the call.
    let datagram = unsafe { core::slice::from_raw_parts(data.cast::<u8>(), len) };
    push(fd, len, flags, |queue| queue.push(datagram))
}

/// As [`send`]: a datagram in parts.
///
/// # Safety
/// `parts` has `count` parts, each with its bytes.
pub(crate) unsafe fn send_parts(
    fd: c_int,
    parts: *const iovec,
    count: usize,
    flags: c_int,
) -> Option<ssize_t> {
    if parts.is_null() && count > 0 {
        return None;
    }
    let part = |index| {
        // SAFETY: the caller promises this many parts.
        let part = unsafe { parts.add(index) };
        // SAFETY: as above.
        let part = unsafe { part.read() };
        if part.iov_base.is_null() {
            return &[][..];
        }
        // SAFETY: the caller promises the bytes, which do not change during the call.
        unsafe { core::slice::from_raw_parts(part.iov_base.cast::<u8>(), part.iov_len) }
    };
    if count == 1 {
        let datagram = part(0);
        return push(fd, datagram.len(), flags, |queue| queue.push(datagram));
    }
    let parts = (0..count).map(part);
    let len = parts.clone().map(<[u8]>::len).sum();
    push(fd, len, flags, |queue| queue.push_parts(parts.clone()))
}

/// Pushes a datagram of `len` bytes, and waits for room as the socket waits.
fn push(
    fd: c_int,
    len: usize,
    flags: c_int,
    push: impl Fn(&Producer) -> Pushed,
) -> Option<ssize_t> {
    if !ours::is_ours(fd) || flags & !FLAGS != 0 {
        return None;
    }
    let queue = find(&SENDERS, fd, attach)?;
    let mut dontwait = SendFlags::empty();
    dontwait.set(SendFlags::DONTWAIT, flags & MSG_DONTWAIT != 0);
    loop {
        match push(&queue) {
            Pushed::Done { sleeps, is_full } => {
                if sleeps {
                    // The socket may be full: then the host has messages to read.
                    let _ = send_bell(fd, SendFlags::DONTWAIT);
                }
                if is_full {
                    // `poll` waits for room. If there is room already, the host finds the plug before it sleeps.
                    plug(fd);
                    queue.ask_for_room(len);
                }
                return ssize_t::try_from(len).ok();
            }
            Pushed::TooLong => match ours::limit_now(fd) {
                // The limit in the queue is old: the path has become wider since.
                Some(limit) if len <= limit => queue.set_limit(limit),
                _ => return Some(native::fail(libc::EMSGSIZE) as ssize_t),
            },
            // The socket tells why.
            Pushed::Refused => return None,
            Pushed::Full => {
                // The host may have read the plug just before this program filled the queue again.
                plug(fd);
                // A full socket makes this wait, or fail, as the program has chosen.
                if queue.ask_for_room(len)
                    && let Err(error) = send_bell(fd, dontwait)
                {
                    return Some(native::fail(error.raw_os_error()) as ssize_t);
                }
            }
        }
    }
}

/// Fills a socket, so that it is not writable.
fn plug(fd: c_int) {
    // It may be full already.
    let _ = message(fd, &ZEROS, SendFlags::DONTWAIT);
}
