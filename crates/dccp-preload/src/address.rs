//! The addresses of both ends.

#![expect(unsafe_code, reason = "functions of the C library")]

use crate::host::ask;
use crate::{memory, native, ours};
use core::ffi::c_int;
use dccprun_message::{ADDR_LEN, Op, SocketKey, read_address};
use libc::{sockaddr, socklen_t};

/// The address of this end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getsockname(fd: c_int, addr: *mut sockaddr, len: *mut socklen_t) -> c_int {
    let Some(key) = ours::key(fd) else {
        // SAFETY: the caller keeps the contract of the function.
        return unsafe { native::getsockname(fd, addr, len) };
    };
    // SAFETY: the program's pointers.
    native::outcome(unsafe { store(fd, Op::LocalName, key, addr, len) })
}

/// The address of the other end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getpeername(fd: c_int, addr: *mut sockaddr, len: *mut socklen_t) -> c_int {
    let Some(key) = ours::key(fd) else {
        // SAFETY: the caller keeps the contract of the function.
        return unsafe { native::getpeername(fd, addr, len) };
    };
    // SAFETY: the program's pointers.
    native::outcome(unsafe { store(fd, Op::PeerName, key, addr, len) })
}

/// Stores the peer's address of an accepted connection.
pub(crate) unsafe fn store_peer(
    fd: c_int,
    addr: *mut sockaddr,
    len: *mut socklen_t,
) -> Result<(), c_int> {
    let key = ours::key(fd).ok_or(libc::ENOTCONN)?;
    // SAFETY: the program's pointers.
    unsafe { store(fd, Op::PeerName, key, addr, len) }
}

unsafe fn store(
    fd: c_int,
    op: Op,
    key: SocketKey,
    addr: *mut sockaddr,
    len: *mut socklen_t,
) -> Result<(), c_int> {
    let answer = ask(op, key, 0, &[])?;
    let body = answer.result()?;
    let address = read_address(key.family, body).ok_or(libc::ENOTCONN)?;
    if let Some(mps) = body.get(ADDR_LEN..).and_then(|rest| rest.first_chunk()) {
        ours::mark_ours(fd, u32::from_ne_bytes(*mps));
    }
    // SAFETY: the program's pointers.
    unsafe { memory::write_address(address, addr, len) }
}
