//! Calls that end or duplicate descriptors: what is known about the numbers becomes stale.

#![expect(unsafe_code, reason = "functions of the C library")]

use crate::{mapped, native, ours};
use core::ffi::{c_char, c_int, c_uint, c_void};
use libc::{FILE, SHUT_RD, SHUT_RDWR, SHUT_WR};

/// The number of Linux.
const CLOSE_RANGE_CLOEXEC: c_int = 4;

/// Closes a descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn close(fd: c_int) -> c_int {
    ours::forget(fd);
    // SAFETY: the caller keeps the contract of the function.
    let closed = unsafe { native::close(fd) };
    // Another thread may have looked the descriptor up meanwhile.
    ours::forget(fd);
    closed
}

/// Closes a range of descriptors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    // With this flag, descriptors stay open until an exec.
    if flags & CLOSE_RANGE_CLOEXEC == 0 {
        ours::forget_range(first, last);
    }
    // SAFETY: the caller keeps the contract of the function.
    unsafe { native::close_range(first, last, flags) }
}

/// Closes all descriptors from a number on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn closefrom(first: c_int) {
    ours::forget_range(first.try_into().unwrap_or(0), c_uint::MAX);
    // SAFETY: the caller keeps the contract of the function.
    unsafe { native::closefrom(first) }
}

/// Closes a stream. The C library closes its descriptor without `close`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fclose(stream: *mut FILE) -> c_int {
    // SAFETY: the caller promises an open stream.
    unsafe { forget_stream(stream) };
    // SAFETY: the caller keeps the contract of the function.
    unsafe { native::fclose(stream) }
}

/// Opens another file on a stream, whose descriptor is closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn freopen(
    path: *const c_char,
    mode: *const c_char,
    stream: *mut FILE,
) -> *mut FILE {
    // SAFETY: the caller promises an open stream.
    unsafe { forget_stream(stream) };
    // SAFETY: the caller keeps the contract of the function.
    unsafe { native::freopen(path, mode, stream) }
}

/// As [`freopen`]: programs with large files call it by this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn freopen64(
    path: *const c_char,
    mode: *const c_char,
    stream: *mut FILE,
) -> *mut FILE {
    // SAFETY: the caller promises an open stream.
    unsafe { forget_stream(stream) };
    // SAFETY: the caller keeps the contract of the function.
    unsafe { native::freopen64(path, mode, stream) }
}

unsafe fn forget_stream(stream: *mut FILE) {
    if !stream.is_null() {
        // SAFETY: the caller promises an open stream. One without a descriptor gives −1.
        ours::forget(unsafe { libc::fileno(stream) });
    }
}

/// Shuts a socket down, in one direction or both.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shutdown(fd: c_int, how: c_int) -> c_int {
    if matches!(how, SHUT_WR | SHUT_RDWR) {
        mapped::shut_sending(fd);
    }
    if matches!(how, SHUT_RD | SHUT_RDWR) {
        mapped::shut_receiving(fd);
    }
    // SAFETY: the caller keeps the contract of the function.
    unsafe { native::shutdown(fd, how) }
}

/// Duplicates a descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup(fd: c_int) -> c_int {
    // SAFETY: the caller keeps the contract of the function.
    renewed(unsafe { native::dup(fd) })
}

/// Duplicates a descriptor to a given number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup2(fd: c_int, to: c_int) -> c_int {
    // SAFETY: the caller keeps the contract of the function.
    let duplicate = unsafe { native::dup2(fd, to) };
    if fd == to {
        return duplicate;
    }
    renewed(duplicate)
}

/// As [`dup2`], with flags.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dup3(fd: c_int, to: c_int, flags: c_int) -> c_int {
    // SAFETY: the caller keeps the contract of the function.
    renewed(unsafe { native::dup3(fd, to, flags) })
}

/// The C library declares it with variable arguments. One argument at most follows, of a register's size, and the calling
/// conventions of Linux pass it in the same register either way.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fcntl(fd: c_int, command: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: the caller keeps the contract of the function.
    let result = unsafe { native::fcntl(fd, command, argument) };
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => renewed(result),
        _ => result,
    }
}

/// As [`fcntl`]: programs with large files call it by this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fcntl64(fd: c_int, command: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: the caller keeps the contract of the function.
    unsafe { fcntl(fd, command, argument) }
}

/// A descriptor that stands for something new.
fn renewed(fd: c_int) -> c_int {
    ours::forget(fd);
    fd
}
