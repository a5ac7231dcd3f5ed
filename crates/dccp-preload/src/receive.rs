//! Receiving: a Unix socket would return the sender's name. The kernel's DCCP returns no address.

#![expect(unsafe_code, reason = "functions of the C library")]

use crate::host::host;
use crate::{memory, native, ours};
use core::ffi::{c_int, c_void};
use libc::{AF_UNIX, c_uint, mmsghdr, msghdr, size_t, sockaddr, socklen_t, ssize_t, timespec};

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
    // SAFETY: the caller promises a length there, if it is not null.
    let room = unsafe { memory::read_len(addr_len) }.unwrap_or(0);
    // SAFETY: the caller keeps the contract of the function.
    let received = unsafe { native::recvfrom(fd, data, len, flags, addr, addr_len) };
    if received >= 0 && !addr.is_null() {
        // SAFETY: the call has stored both.
        let len = unsafe { memory::read_len(addr_len) };
        // The length is that of the whole name, which may have been cut.
        let len = len.map(|len| len.min(room));
        // SAFETY: as above.
        let is_name = unsafe { is_our_name(fd, addr.cast(), len) };
        if is_name {
            // SAFETY: as above.
            unsafe { memory::write_len(addr_len, 0) };
        }
    }
    received
}

/// As [`recvfrom`]: programs that were built with checks of buffers call it by this name. `room` is the size of the buffer.
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
    if len > room {
        // As the C library does.
        // SAFETY: `abort` may be called at any time.
        unsafe { libc::abort() };
    }
    // SAFETY: the caller keeps the contract of the function.
    unsafe { recvfrom(fd, data, len, flags, addr, addr_len) }
}

/// Receives a datagram into several buffers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the caller keeps the contract of the function.
    let received = unsafe { native::recvmsg(fd, message, flags) };
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
    // SAFETY: the caller keeps the contract of the function.
    let received = unsafe { native::recvmmsg(fd, messages, count, flags, timeout) };
    for index in 0..usize::try_from(received).unwrap_or(0) {
        // SAFETY: the call has filled this many messages.
        let message = unsafe { messages.add(index) };
        // SAFETY: as above.
        let message = unsafe { &raw mut (*message).msg_hdr };
        // SAFETY: as above.
        unsafe { remove_name(fd, message) };
    }
    received
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
