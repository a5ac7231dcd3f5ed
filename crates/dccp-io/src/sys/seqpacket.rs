//! Many datagrams of a connected Unix socket in one call, blocking: `sendmmsg` and `recvmmsg`.
#![expect(
    unsafe_code,
    reason = "no safe crate has these calls as they are needed here"
)]

use core::mem::MaybeUninit;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Datagrams that one call takes.
pub(crate) const BATCH: usize = 64;

/// The result for one slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Message {
    /// A datagram of this length.
    Whole(usize),
    /// A datagram whose end did not fit.
    Cut,
    /// The other side sends no more.
    End,
}

/// Sends up to [`BATCH`] datagrams; returns how many the kernel took, at least one. Waits for room, and raises no `SIGPIPE`.
pub(crate) fn send(fd: BorrowedFd<'_>, datagrams: &[&[u8]]) -> io::Result<usize> {
    let mut buffers = [IoSlice::new(&[]); BATCH];
    let mut headers = [empty_header(); BATCH];
    let mut count = 0;
    for ((header, buffer), datagram) in headers.iter_mut().zip(&mut buffers).zip(datagrams) {
        *buffer = IoSlice::new(datagram);
        header.msg_hdr.msg_iov = core::ptr::from_mut(buffer).cast();
        header.msg_hdr.msg_iovlen = 1;
        count += 1;
    }
    let first = headers.as_mut_ptr();
    let flags = libc::MSG_NOSIGNAL as _;
    // SAFETY: the first `count` headers point to one buffer each, which lives through the call and has its true length; an
    // `IoSlice` has the layout of an `iovec`.
    let n = unsafe { libc::sendmmsg(fd.as_raw_fd(), first, count, flags) };
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

/// Waits for a datagram if `waits`, and receives those that are there, up to one for each slot. Returns how many of `messages` are
/// filled. The other side's socket must have a name: an empty datagram has it, the end has not.
pub(crate) fn recv(
    fd: BorrowedFd<'_>,
    slots: &mut [IoSliceMut<'_>; BATCH],
    messages: &mut [Message; BATCH],
    waits: bool,
) -> io::Result<usize> {
    // The family is enough.
    let mut names = [0_u16; BATCH];
    let mut headers = [empty_header(); BATCH];
    for ((header, name), slot) in headers.iter_mut().zip(&mut names).zip(slots) {
        let header = &mut header.msg_hdr;
        header.msg_name = core::ptr::from_mut(name).cast();
        header.msg_namelen = 2;
        header.msg_iov = core::ptr::from_mut(slot).cast();
        header.msg_iovlen = 1;
    }
    let first = headers.as_mut_ptr();
    let count = headers.len().try_into().unwrap_or(0);
    let flags = if waits {
        libc::MSG_WAITFORONE
    } else {
        libc::MSG_DONTWAIT
    } as _;
    let no_limit = core::ptr::null_mut();
    // SAFETY: each header points to space for a name of two bytes and to one buffer. All live through the call, and have
    // their true lengths; an `IoSliceMut` has the layout of an `iovec`.
    let n = unsafe { libc::recvmmsg(fd.as_raw_fd(), first, count, flags, no_limit) };
    let n = usize::try_from(n).map_err(|_| io::Error::last_os_error())?;
    for (message, header) in messages.iter_mut().zip(&headers).take(n) {
        let len = header.msg_len as usize;
        let (name_len, flags) = (header.msg_hdr.msg_namelen, header.msg_hdr.msg_flags);
        *message = if len == 0 && name_len == 0 {
            Message::End
        } else if flags & libc::MSG_TRUNC != 0 {
            Message::Cut
        } else {
            Message::Whole(len)
        };
    }
    Ok(n)
}

/// A message header without anything.
fn empty_header() -> libc::mmsghdr {
    // SAFETY: a `mmsghdr` is integers and pointers, for which all zeros are valid.
    unsafe { MaybeUninit::zeroed().assume_init() }
}
