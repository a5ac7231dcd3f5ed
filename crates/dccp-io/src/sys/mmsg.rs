//! Many datagrams in one call: `sendmmsg` and `recvmmsg`. Sockets are non-blocking. One datagram with its control
//! messages: `recvmsg`.
#![expect(
    unsafe_code,
    reason = "no safe crate has these calls as they are needed here"
)]

use core::mem::MaybeUninit;
use core::net::Ipv6Addr;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsRawFd, BorrowedFd};

use socket2::SockAddr;

use super::cmsg::{Control, Received};
use crate::buffer::SLOTS;

/// Datagrams that one call takes.
pub(crate) const SEND_MAX: usize = 64;

const EMPTY_NAME: libc::sockaddr_in6 = libc::sockaddr_in6 {
    sin6_family: 0,
    sin6_port: 0,
    sin6_flowinfo: 0,
    sin6_addr: libc::in6_addr { s6_addr: [0; 16] },
    sin6_scope_id: 0,
};
/// Length of an IPv6 address with port, scope and flow.
const NAME_LEN: libc::socklen_t = 28;

/// A datagram that was received into the slot of the same index.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Message {
    /// Its length in bytes.
    pub(crate) len: usize,
    /// The sender, if it is an IPv6 address.
    pub(crate) remote: Option<Ipv6Addr>,
    /// Contents of its control messages.
    pub(crate) control: Received,
}

/// Sends up to [`SEND_MAX`] datagrams to one address with the same control messages; returns how
/// many the kernel took, at least one.
pub(crate) fn send<'a>(
    fd: BorrowedFd<'_>,
    to: &SockAddr,
    control: &[u8],
    datagrams: impl Iterator<Item = &'a [u8]>,
) -> io::Result<usize> {
    let mut buffers = [IoSlice::new(&[]); SEND_MAX];
    let mut headers = [empty_header(); SEND_MAX];
    let mut count = 0;
    for ((header, buffer), datagram) in headers.iter_mut().zip(&mut buffers).zip(datagrams) {
        *buffer = IoSlice::new(datagram);
        let header = &mut header.msg_hdr;
        // The kernel only reads what these point to.
        header.msg_name = to.as_ptr().cast_mut().cast();
        header.msg_namelen = to.len();
        header.msg_iov = core::ptr::from_mut(buffer).cast();
        header.msg_iovlen = 1;
        header.msg_control = control.as_ptr().cast_mut().cast();
        header.msg_controllen = control.len() as _;
        count += 1;
    }
    let first = headers.as_mut_ptr();
    // SAFETY: the first `count` headers point to an address, one buffer and control messages that
    // live through the call, each with its true length; an `IoSlice` has the layout of an `iovec`.
    let n = unsafe { libc::sendmmsg(fd.as_raw_fd(), first, count, 0) };
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

/// Receives up to one datagram for each slot, and cuts off the end of longer ones. Returns their number; `messages`
/// describes each.
pub(crate) fn recv(
    fd: BorrowedFd<'_>,
    slots: &mut [IoSliceMut<'_>; SLOTS],
    controls: &mut [Control; SLOTS],
    messages: &mut [Message; SLOTS],
) -> io::Result<usize> {
    let mut names = [EMPTY_NAME; SLOTS];
    let mut headers = [empty_header(); SLOTS];
    let parts = names.iter_mut().zip(slots).zip(&mut *controls);
    for (header, ((name, slot), control)) in headers.iter_mut().zip(parts) {
        let header = &mut header.msg_hdr;
        header.msg_name = core::ptr::from_mut(name).cast();
        header.msg_namelen = NAME_LEN;
        header.msg_iov = core::ptr::from_mut(slot).cast();
        header.msg_iovlen = 1;
        control.attach_to(header);
    }
    let first = headers.as_mut_ptr();
    let count = headers.len().try_into().unwrap_or(0);
    let no_limit = core::ptr::null_mut();
    // SAFETY: each header points to space for a name, one buffer and control messages that lives
    // through the call, each with its true length; an `IoSliceMut` has the layout of an `iovec`.
    let n = unsafe { libc::recvmmsg(fd.as_raw_fd(), first, count, 0, no_limit) };
    let n = usize::try_from(n).map_err(|_| io::Error::last_os_error())?;
    for (i, message) in messages.iter_mut().enumerate().take(n) {
        let is_ipv6 = i32::from(names[i].sin6_family) == libc::AF_INET6;
        *message = Message {
            len: headers[i].msg_len as usize,
            remote: is_ipv6.then(|| names[i].sin6_addr.s6_addr.into()),
            control: Received::parse(controls[i].used(&headers[i].msg_hdr)),
        };
    }
    Ok(n)
}

/// Receives one datagram, and cuts off the end of a longer one. Returns its length and the contents of its control messages.
/// If it `waits`, a blocking socket waits as long as its receive timeout.
pub(crate) fn recv_one(
    fd: BorrowedFd<'_>,
    memory: &mut [u8],
    waits: bool,
) -> io::Result<(usize, Received)> {
    let mut slot = IoSliceMut::new(memory);
    let mut control = Control::EMPTY;
    let mut header = empty_header().msg_hdr;
    header.msg_iov = (&raw mut slot).cast();
    header.msg_iovlen = 1;
    control.attach_to(&mut header);
    let flags = if waits { 0 } else { libc::MSG_DONTWAIT };
    // SAFETY: the header points to one buffer and to space for control messages. Both live through the call, and the
    // header has their true lengths; an `IoSliceMut` has the layout of an `iovec`.
    let n = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut header, flags) };
    let n = usize::try_from(n).map_err(|_| io::Error::last_os_error())?;
    Ok((n, Received::parse(control.used(&header))))
}

/// A message header without anything.
fn empty_header() -> libc::mmsghdr {
    // SAFETY: a `mmsghdr` is integers and pointers, for which all zeros are valid.
    unsafe { MaybeUninit::zeroed().assume_init() }
}
