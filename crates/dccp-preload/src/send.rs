//! Sending: over-long datagrams are refused as the kernel's DCCP refuses them, and no call raises `SIGPIPE`, because the
//! kernel's DCCP raises none.

#![expect(unsafe_code, reason = "functions of the C library")]

use crate::queue::outward;
use crate::{native, ours};
use core::ffi::{c_int, c_void};
use dccprun_message::option::SOL_DCCP;
use libc::{
    CMSG_FIRSTHDR, CMSG_NXTHDR, EINVAL, EMSGSIZE, MSG_NOSIGNAL, c_uint, cmsghdr, iovec, mmsghdr,
    msghdr, size_t, sockaddr, socklen_t, ssize_t,
};

/// The most parts of a message, and the most messages of a call, that the kernel takes (`UIO_MAXIOV`).
const PARTS_MAX: c_uint = 1024;

/// `fail` with the type of these functions' results.
fn fail(error: c_int) -> ssize_t {
    native::fail(error) as ssize_t
}

/// Writes to a descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(fd: c_int, data: *const c_void, len: size_t) -> ssize_t {
    if ours::is_ours(fd) {
        // SAFETY: the caller keeps the contract of the function.
        let sent = unsafe { send(fd, data, len, 0) };
        if sent >= 0 || native::errno() != libc::ENOTSOCK {
            return sent;
        }
        // The hint was stale: the number stands for a file now.
        ours::mark_foreign(fd);
    }
    // SAFETY: the caller keeps the contract of the function.
    unsafe { native::write(fd, data, len) }
}

/// Writes from several buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn writev(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    if ours::is_ours(fd)
        && let Ok(count) = usize::try_from(count)
    {
        // SAFETY: zero is valid for all its fields.
        let mut message: msghdr = unsafe { core::mem::zeroed() };
        message.msg_iov = parts.cast_mut();
        message.msg_iovlen = count as _;
        // SAFETY: the caller promises `count` parts.
        let sent = unsafe { sendmsg(fd, &raw const message, 0) };
        if sent >= 0 || native::errno() != libc::ENOTSOCK {
            return sent;
        }
        ours::mark_foreign(fd);
    }
    // SAFETY: the caller keeps the contract of the function.
    unsafe { native::writev(fd, parts, count) }
}

/// Sends a datagram.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn send(
    fd: c_int,
    data: *const c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    if ours::is_too_long(fd, len) {
        return fail(EMSGSIZE);
    }
    // SAFETY: the caller promises `len` bytes.
    if let Some(sent) = unsafe { outward::send(fd, data, len, flags) } {
        return sent;
    }
    // SAFETY: the caller keeps the contract of the function.
    unsafe { native::send(fd, data, len, quiet(fd, flags)) }
}

/// As [`send`], with an address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendto(
    fd: c_int,
    data: *const c_void,
    len: size_t,
    flags: c_int,
    addr: *const sockaddr,
    addr_len: socklen_t,
) -> ssize_t {
    if ours::is_too_long(fd, len) {
        return fail(EMSGSIZE);
    }
    // The address has no effect, as with the kernel's DCCP and with a Unix socket of this type.
    // SAFETY: the caller promises `len` bytes.
    if let Some(sent) = unsafe { outward::send(fd, data, len, flags) } {
        return sent;
    }
    // SAFETY: the caller keeps the contract of the function.
    unsafe { native::sendto(fd, data, len, quiet(fd, flags), addr, addr_len) }
}

/// Sends a datagram from several buffers, with control messages.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    if ours::is_ours(fd) {
        // SAFETY: the caller promises a message.
        let checked = unsafe { check(fd, message) };
        if let Err(error) = checked {
            return fail(error);
        }
        // SAFETY: as above.
        if let Some(sent) = unsafe { by_queue(fd, message, flags) } {
            return sent;
        }
    }
    // SAFETY: the caller keeps the contract of the function.
    unsafe { native::sendmsg(fd, message, quiet(fd, flags)) }
}

/// Sends several datagrams.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendmmsg(
    fd: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    if !ours::is_ours(fd) || messages.is_null() {
        // SAFETY: the caller keeps the contract of the function.
        return unsafe { native::sendmmsg(fd, messages, count, flags) };
    }
    // As the kernel does.
    let count = c_int::try_from(count.min(PARTS_MAX)).unwrap_or(0);
    for index in 0..count {
        // SAFETY: the caller promises `count` messages.
        let message = unsafe { messages.offset(index as isize) };
        // SAFETY: as above.
        let message = unsafe { &mut *message };
        // SAFETY: as above.
        let sent = unsafe { sendmsg(fd, &raw const message.msg_hdr, flags) };
        let Ok(len) = u32::try_from(sent) else {
            // The next call meets the error again.
            return if index == 0 { -1 } else { index };
        };
        message.msg_len = len;
    }
    count
}

/// Sends a message by the queue of a DCCP socket; `None`: the socket is to take it.
unsafe fn by_queue(fd: c_int, message: *const msghdr, flags: c_int) -> Option<ssize_t> {
    // SAFETY: the caller promises a message, which `check` has found not to be null.
    let header = unsafe { &*message };
    // `check` has refused control messages of DCCP. Others have no meaning for it.
    // SAFETY: the caller promises the parts.
    unsafe { outward::send_parts(fd, header.msg_iov, header.msg_iovlen, flags) }
}

/// The flags of a call that raises no signal.
fn quiet(fd: c_int, flags: c_int) -> c_int {
    if ours::is_ours(fd) {
        flags | MSG_NOSIGNAL
    } else {
        flags
    }
}

/// Checks the length of a message and its control messages. The kernel's send queue without priorities refuses those of DCCP.
unsafe fn check(fd: c_int, message: *const msghdr) -> Result<(), c_int> {
    if message.is_null() {
        return Err(libc::EFAULT);
    }
    // SAFETY: the caller promises a message.
    let header = unsafe { &*message };
    if header.msg_iovlen > PARTS_MAX as usize {
        return Err(EMSGSIZE);
    }
    let mut len = 0_usize;
    if !header.msg_iov.is_null() {
        for index in 0..header.msg_iovlen {
            // SAFETY: the caller promises this many parts.
            let part = unsafe { header.msg_iov.add(index) };
            // SAFETY: as above.
            let part = unsafe { part.read() };
            len = len.saturating_add(part.iov_len);
        }
    }
    if ours::is_too_long(fd, len) {
        return Err(EMSGSIZE);
    }
    if header.msg_control.is_null() {
        return Ok(());
    }
    // SAFETY: the caller promises control messages of this length.
    let mut control: *mut cmsghdr = unsafe { CMSG_FIRSTHDR(message) };
    while !control.is_null() {
        // SAFETY: as above.
        let level = unsafe { (*control).cmsg_level };
        if level == SOL_DCCP {
            return Err(EINVAL);
        }
        // SAFETY: as above.
        control = unsafe { CMSG_NXTHDR(message, control) };
    }
    Ok(())
}
