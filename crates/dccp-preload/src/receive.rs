//! Receiving: by the queue of a socket, or by the socket, which would return the sender's name. The kernel's DCCP returns no
//! address.

#![expect(unsafe_code, reason = "functions of the C library")]

use crate::host::host;
use crate::queue::inward;
use crate::{memory, native, ours};
use core::ffi::{c_int, c_ulong, c_void};
use libc::{
    AF_UNIX, FIONREAD, MSG_DONTWAIT, MSG_WAITFORONE, c_uint, iovec, mmsghdr, msghdr, size_t,
    sockaddr, socklen_t, ssize_t, timespec,
};
use rustix::time::{ClockId, clock_gettime};

/// Reads from a descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn read(fd: c_int, data: *mut c_void, len: size_t) -> ssize_t {
    // The kernel reads no datagram into nothing.
    if len > 0
        // SAFETY: the caller keeps the contract of the function.
        && let Some(received) = unsafe { by_queue(fd, data, len, 0) }
    {
        return received;
    }
    // SAFETY: the caller keeps the contract of the function.
    unsafe { native::read(fd, data, len) }
}

/// As [`read`]: programs that were built with checks of buffers call it by this name. `room` is the size of the buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __read_chk(
    fd: c_int,
    data: *mut c_void,
    len: size_t,
    room: size_t,
) -> ssize_t {
    check_room(len, room);
    // SAFETY: the caller keeps the contract of the function.
    unsafe { read(fd, data, len) }
}

/// Reads into several buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readv(fd: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    let is_empty = |index: usize| {
        // SAFETY: the caller promises `count` parts.
        let part = unsafe { parts.add(index) };
        // SAFETY: as above.
        unsafe { part.read() }.iov_len == 0
    };
    if ours::is_ours(fd)
        && let Ok(count) = usize::try_from(count)
        && !parts.is_null()
        && !(0..count).all(is_empty)
    {
        let mut message = message_of(parts.cast_mut(), count);
        // SAFETY: the caller promises `count` parts.
        if let Some(received) = unsafe { inward::receive(fd, &raw mut message, 0) } {
            return received;
        }
    }
    // SAFETY: the caller keeps the contract of the function.
    unsafe { native::readv(fd, parts, count) }
}

/// Receives a datagram.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recv(fd: c_int, data: *mut c_void, len: size_t, flags: c_int) -> ssize_t {
    // SAFETY: the caller keeps the contract of the function.
    if let Some(received) = unsafe { by_queue(fd, data, len, flags) } {
        return received;
    }
    // SAFETY: the caller keeps the contract of the function.
    unsafe { native::recv(fd, data, len, flags) }
}

/// As [`recv`], with the size of the buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __recv_chk(
    fd: c_int,
    data: *mut c_void,
    len: size_t,
    room: size_t,
    flags: c_int,
) -> ssize_t {
    check_room(len, room);
    // SAFETY: the caller keeps the contract of the function.
    unsafe { recv(fd, data, len, flags) }
}

/// Receives a datagram, and its sender's address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvfrom(
    fd: c_int,
    data: *mut c_void,
    len: size_t,
    flags: c_int,
    addr: *mut sockaddr,
    addr_len: *mut socklen_t,
) -> ssize_t {
    let room = if addr.is_null() {
        // The length means nothing.
        Ok(0)
    } else {
        // SAFETY: the caller promises a length there, if it is not null.
        unsafe { memory::read_len(addr_len) }
    };
    // SAFETY: the caller keeps the contract of the function.
    if let Some(received) = unsafe { by_queue(fd, data, len, flags) } {
        if received >= 0 && !addr.is_null() && room.is_ok() {
            // SAFETY: as above.
            unsafe { memory::write_len(addr_len, 0) };
        }
        return received;
    }
    // SAFETY: the caller keeps the contract of the function.
    let received = unsafe { native::recvfrom(fd, data, len, flags, addr, addr_len) };
    if received >= 0 && !addr.is_null() {
        // SAFETY: the call has stored both.
        let len = unsafe { memory::read_len(addr_len) };
        // The length is that of the whole name, which may have been cut.
        let len = len.map(|len| len.min(room.unwrap_or(0)));
        // SAFETY: as above.
        let is_name = unsafe { is_our_name(fd, addr.cast(), len) };
        if is_name {
            // SAFETY: as above.
            unsafe { memory::write_len(addr_len, 0) };
        }
    }
    received
}

/// As [`recvfrom`], with the size of the buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __recvfrom_chk(
    fd: c_int,
    data: *mut c_void,
    len: size_t,
    room: size_t,
    flags: c_int,
    addr: *mut sockaddr,
    addr_len: *mut socklen_t,
) -> ssize_t {
    check_room(len, room);
    // SAFETY: the caller keeps the contract of the function.
    unsafe { recvfrom(fd, data, len, flags, addr, addr_len) }
}

/// Receives a datagram into several buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the caller keeps the contract of the function.
    let received = match unsafe { inward::receive(fd, message, flags) } {
        Some(received) => received,
        // SAFETY: as above.
        None => unsafe { native::recvmsg(fd, message, flags) },
    };
    if received >= 0 {
        // SAFETY: the call has filled the message.
        unsafe { remove_name(fd, message) };
    }
    received
}

/// Receives several datagrams.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvmmsg(
    fd: c_int,
    messages: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
    timeout: *mut timespec,
) -> c_int {
    if !ours::is_ours(fd) || messages.is_null() {
        // SAFETY: the caller keeps the contract of the function.
        return unsafe { native::recvmmsg(fd, messages, count, flags, timeout) };
    }
    // SAFETY: the caller promises a time, if it is not null.
    let limit = (!timeout.is_null()).then(|| unsafe { timeout.read() });
    let limit =
        limit.map(|limit| now() + i128::from(limit.tv_sec) * SECOND + i128::from(limit.tv_nsec));
    let mut flags_now = flags & !MSG_WAITFORONE;
    let count = c_int::try_from(count).unwrap_or(c_int::MAX);
    for index in 0..count {
        // SAFETY: the caller promises `count` messages.
        let message = unsafe { messages.offset(index as isize) };
        // SAFETY: as above.
        let message = unsafe { &mut *message };
        // SAFETY: as above.
        let received = unsafe { recvmsg(fd, &raw mut message.msg_hdr, flags_now) };
        let Ok(len) = c_uint::try_from(received) else {
            // The next call meets the error again.
            return if index == 0 { -1 } else { index };
        };
        message.msg_len = len;
        if flags & MSG_WAITFORONE != 0 {
            flags_now |= MSG_DONTWAIT;
        }
        // As in the kernel, the time is looked at behind each datagram.
        if limit.is_some_and(|limit| now() >= limit) {
            return index + 1;
        }
    }
    count
}

const SECOND: i128 = 1_000_000_000;

/// The time in nanoseconds.
fn now() -> i128 {
    let now = clock_gettime(ClockId::Monotonic);
    i128::from(now.tv_sec) * SECOND + i128::from(now.tv_nsec)
}

/// The C library declares it with variable arguments; see `fcntl`. `FIONREAD` gives the length of the next datagram.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    if request == FIONREAD
        && ours::is_ours(fd)
        && let Some(len) = inward::next_len(fd)
    {
        let len = c_int::try_from(len).unwrap_or(c_int::MAX);
        // SAFETY: the caller promises room for an integer.
        return native::outcome(unsafe { memory::write(&len.to_ne_bytes(), argument) });
    }
    // SAFETY: the caller keeps the contract of the function.
    unsafe { native::ioctl(fd, request, argument) }
}

/// Receives a datagram by the queue of a socket; `None`: the socket has it.
unsafe fn by_queue(fd: c_int, data: *mut c_void, len: size_t, flags: c_int) -> Option<ssize_t> {
    if data.is_null() && len > 0 {
        return None;
    }
    let mut part = iovec {
        iov_base: data,
        iov_len: len,
    };
    let mut message = message_of(&raw mut part, 1);
    // SAFETY: the caller promises `len` bytes.
    unsafe { inward::receive(fd, &raw mut message, flags) }
}

/// A message with parts, and nothing else.
fn message_of(parts: *mut iovec, count: usize) -> msghdr {
    // SAFETY: zero is valid for all its fields.
    let mut message: msghdr = unsafe { core::mem::zeroed() };
    message.msg_iov = parts;
    message.msg_iovlen = count as _;
    message
}

/// Ends the program if a buffer is too small, as the C library does.
fn check_room(len: size_t, room: size_t) {
    if len > room {
        // SAFETY: `abort` may be called at any time.
        unsafe { libc::abort() };
    }
}

/// Removes a Unix socket's name from a received message.
unsafe fn remove_name(fd: c_int, message: *mut msghdr) {
    // SAFETY: the caller promises a message.
    let header = unsafe { &mut *message };
    if header.msg_name.is_null() {
        return;
    }
    // SAFETY: the system call has stored the name.
    if unsafe { is_our_name(fd, header.msg_name, Ok(header.msg_namelen as usize)) } {
        header.msg_namelen = 0;
    }
}

/// Whether the address that a call has stored is a Unix name on a DCCP socket.
unsafe fn is_our_name(fd: c_int, addr: *const c_void, len: Result<usize, c_int>) -> bool {
    let mut family = [0; 2];
    let Ok(len @ 2..) = len else {
        return false;
    };
    if host().is_none() || !ours::is_ours(fd) {
        return false;
    }
    // SAFETY: the system call has stored `len` bytes.
    let read = unsafe { memory::read(addr, len, &mut family) };
    let is_unix = c_int::from(u16::from_ne_bytes(family)) == AF_UNIX;
    read.is_ok() && is_unix
}
