//! Recognises descriptors of DCCP sockets, and finds their numbers.
//!
//! The socket's Unix name tells it, which duplicates, forks and exec keep. A table of hints spares the system calls. It may
//! be stale where a descriptor was closed or made by a call that this library does not replace. A stale "foreign" uses the
//! socket instead of the queue, and checks no lengths. A stale "ours" is found by `ENOTSOCK`, unless the descriptor had a
//! queue: then calls still use that queue (docs/old-programs.md).

#![expect(
    unsafe_code,
    reason = "borrows a descriptor that the program names by its number"
)]

use crate::host::{ask, host};
use crate::mapped::{self, DESCRIPTORS};
use core::sync::atomic::{AtomicU32, Ordering};
use dccprun_message::{Op, Role, SocketKey, option};
use libc::c_int;
use rustix::fd::BorrowedFd;
use rustix::net::{SocketAddrAny, SocketAddrUnix, getpeername, getsockname};

const UNKNOWN: u32 = 0;
const FOREIGN: u32 = 1;
/// Marks a DCCP socket; the other bits are the greatest length of a datagram.
const OURS: u32 = 1 << 31;

static TABLE: [AtomicU32; DESCRIPTORS] = [const { AtomicU32::new(UNKNOWN) }; DESCRIPTORS];

fn hint(fd: c_int) -> Option<&'static AtomicU32> {
    TABLE.get(usize::try_from(fd).ok()?)
}

fn set(fd: c_int, value: u32) {
    if let Some(hint) = hint(fd) {
        hint.store(value, Ordering::Relaxed);
    }
}

/// Forgets what is known about a descriptor.
pub(crate) fn forget(fd: c_int) {
    mapped::forget(fd);
    if let Some(hint) = hint(fd)
        && hint.load(Ordering::Relaxed) != UNKNOWN
    {
        hint.store(UNKNOWN, Ordering::Relaxed);
    }
}

/// Forgets what is known about descriptors from `first` to `last`.
pub(crate) fn forget_range(first: u32, last: u32) {
    for fd in (first..=last).take(DESCRIPTORS) {
        forget(fd.cast_signed());
    }
}

/// The descriptor is no DCCP socket.
pub(crate) fn mark_foreign(fd: c_int) {
    mapped::forget(fd);
    set(fd, FOREIGN);
}

/// The descriptor is a DCCP socket whose datagrams have at most `mps` bytes.
pub(crate) fn mark_ours(fd: c_int, mps: u32) {
    set(fd, OURS | mps.min(OURS - 1));
}

/// A descriptor of the program. Its number may be wrong: the system then reports it.
pub(crate) fn borrow(fd: c_int) -> Option<BorrowedFd<'static>> {
    // SAFETY: −1 is excluded. The program keeps the descriptor open during the call, as each call on it requires; if it does
    // not, the system call acts on no descriptor or another one, as it would without this library.
    (fd >= 0).then(|| unsafe { BorrowedFd::borrow_raw(fd) })
}

/// The number of the DCCP socket behind a descriptor; `None`: it is something else.
pub(crate) fn key(fd: c_int) -> Option<SocketKey> {
    let host = host()?;
    let fd = borrow(fd)?;
    let role = |name: Option<SocketAddrAny>| {
        let name = SocketAddrUnix::try_from(name?).ok()?;
        host.role(name.abstract_name()?)
    };
    let Role::Socket(own) = role(getsockname(fd).ok())? else {
        return None;
    };
    // An accepted socket has the listener's name; the host's end has its own.
    match role(getpeername(fd).ok().flatten()) {
        Some(Role::Socket(accepted)) => Some(accepted),
        _ => Some(own),
    }
}

/// Whether the descriptor is a DCCP socket, by its hint; looks an unknown one up.
pub(crate) fn is_ours(fd: c_int) -> bool {
    limit(fd).is_some()
}

/// The hint for the greatest length of a datagram; `None`: the descriptor is no DCCP socket.
fn limit(fd: c_int) -> Option<usize> {
    let known = hint(fd).map_or(UNKNOWN, |hint| hint.load(Ordering::Relaxed));
    let known = match known {
        FOREIGN => return None,
        UNKNOWN => look_up(fd)?,
        known => known & !OURS,
    };
    usize::try_from(known).ok()
}

/// Looks a descriptor up, and returns the greatest length of a datagram.
fn look_up(fd: c_int) -> Option<u32> {
    host()?;
    let Some(key) = key(fd) else {
        mark_foreign(fd);
        return None;
    };
    // Without the host, the system call reports the end.
    Some(ask_for_limit(fd, key).unwrap_or(OURS - 1))
}

/// Asks for the greatest length of a datagram; `None`: there is no answer.
fn ask_for_limit(fd: c_int, key: SocketKey) -> Option<u32> {
    let answer = ask(Op::Get, key, option::GET_CUR_MPS, &[]).ok()?;
    let mps = u32::from_ne_bytes(*answer.result().ok()?.first_chunk()?);
    mark_ours(fd, mps);
    Some(mps)
}

/// The greatest length of a datagram of a DCCP socket now; `None`: the host does not say it.
pub(crate) fn limit_now(fd: c_int) -> Option<usize> {
    usize::try_from(ask_for_limit(fd, key(fd)?)?).ok()
}

/// Whether a datagram of `len` bytes is too long for the descriptor's DCCP socket. The host is asked before that is said.
pub(crate) fn is_too_long(fd: c_int, len: usize) -> bool {
    let exceeds = |limit: Option<usize>| limit.is_some_and(|limit| len > limit);
    if !exceeds(limit(fd)) {
        return false;
    }
    set(fd, UNKNOWN);
    exceeds(limit(fd))
}
