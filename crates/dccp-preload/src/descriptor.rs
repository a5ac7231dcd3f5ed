//! Calls that end or duplicate descriptors: hints about the numbers become stale.

#![expect(unsafe_code, reason = "functions of the C library")]

use crate::{native, ours};
use core::ffi::{c_int, c_void};

/// Closes a descriptor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn close(fd: c_int) -> c_int {
    ours::forget(fd);
    // SAFETY: the caller keeps the contract of the function.
    unsafe { native::close(fd) }
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
    renewed(unsafe { native::dup2(fd, to) })
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
