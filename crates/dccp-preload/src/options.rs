//! Options: those of DCCP go to the host, and so do those of others that a Unix socket would answer differently.

#![expect(unsafe_code, reason = "functions of the C library")]

use crate::host::ask;
use crate::{mapped, memory, native, ours};
use core::ffi::{c_int, c_void};
use dccprun_message::option::{ABORT_AT_CLOSE, SOL_DCCP, V6ONLY};
use dccprun_message::{BODY_MAX, Family, Op, SocketKey};
use libc::{
    AF_INET, AF_INET6, EINVAL, IPPROTO_IPV6, IPV6_V6ONLY, SO_BINDTODEVICE, SO_DOMAIN, SO_ERROR,
    SO_LINGER, SO_PROTOCOL, SO_REUSEPORT, SO_SNDBUF, SO_SNDBUFFORCE, SO_TYPE, SOL_SOCKET, linger,
    socklen_t,
};

const SOCK_DCCP: c_int = 6;
const IPPROTO_DCCP: c_int = 33;

/// Sets an option of a socket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn setsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    len: socklen_t,
) -> c_int {
    let is_special = matches!(
        (level, name),
        (SOL_DCCP, _)
            | (SOL_SOCKET, SO_LINGER | SO_BINDTODEVICE | SO_REUSEPORT)
            | (IPPROTO_IPV6, IPV6_V6ONLY)
    );
    if level == SOL_SOCKET && matches!(name, SO_SNDBUF | SO_SNDBUFFORCE) && mapped::sends(fd) {
        // The queue has the datagrams, and its plugs fit the socket's buffer.
        return 0;
    }
    let key = if is_special { ours::key(fd) } else { None };
    let set = |name, key| {
        // SAFETY: the program promises `len` bytes at `value`.
        native::outcome(unsafe { set_at_host(key, name, value, len) })
    };
    match (key, level) {
        (Some(key), SOL_DCCP) => return set(name, key),
        (Some(key), IPPROTO_IPV6) => return set(V6ONLY, key),
        // It would change nothing.
        (Some(_), SOL_SOCKET) if name == SO_BINDTODEVICE => return native::fail(libc::ENOPROTOOPT),
        // The option permits what a later bind may still refuse. Unix sockets do not have it.
        (Some(_), SOL_SOCKET) if name == SO_REUSEPORT => return 0,
        (Some(key), SOL_SOCKET) => {
            // SAFETY: as above.
            let told = unsafe { set_linger(key, value, len) };
            if let Err(error) = told {
                return native::fail(error);
            }
        }
        _ => {}
    }
    // SAFETY: the caller keeps the contract of the function.
    unsafe { native::setsockopt(fd, level, name, value, len) }
}

/// Sends an option with its value to the host.
unsafe fn set_at_host(
    key: SocketKey,
    name: c_int,
    value: *const c_void,
    len: socklen_t,
) -> Result<(), c_int> {
    let mut body = [0; BODY_MAX];
    let len = usize::try_from(len).map_err(|_| EINVAL)?;
    if len > BODY_MAX {
        return Err(EINVAL);
    }
    // SAFETY: the program promises `len` bytes at `value`.
    let len = unsafe { memory::read(value, len, &mut body)? };
    ask(Op::Set, key, name, &body[..len]).map(drop)
}

/// A zero linger time asks for a Reset at the end.
unsafe fn set_linger(key: SocketKey, value: *const c_void, len: socklen_t) -> Result<(), c_int> {
    let mut bytes = [0; size_of::<linger>()];
    // SAFETY: the program promises `len` bytes at `value`.
    let len = unsafe { memory::read(value, len as usize, &mut bytes)? };
    if len < bytes.len() {
        return Err(EINVAL);
    }
    let (is_on, seconds) = bytes.split_at(size_of::<c_int>());
    let is_on = is_on.iter().any(|byte| *byte != 0);
    let is_zero = seconds.iter().all(|byte| *byte == 0);
    ask(Op::Set, key, ABORT_AT_CLOSE, &[u8::from(is_on && is_zero)]).map(drop)
}

/// Returns an option of a socket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    let is_special = matches!(
        (level, name),
        (SOL_DCCP, _)
            | (SOL_SOCKET, SO_TYPE | SO_PROTOCOL | SO_DOMAIN | SO_ERROR)
            | (IPPROTO_IPV6, IPV6_V6ONLY)
    );
    let Some(key) = (if is_special { ours::key(fd) } else { None }) else {
        // SAFETY: the caller keeps the contract of the function.
        return unsafe { native::getsockopt(fd, level, name, value, len) };
    };
    // SAFETY: the program's pointers.
    native::outcome(unsafe { get(fd, key, level, name, value, len) })
}

unsafe fn get(
    fd: c_int,
    key: SocketKey,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> Result<(), c_int> {
    let number = match (level, name) {
        (SOL_SOCKET, SO_TYPE) => SOCK_DCCP,
        (SOL_SOCKET, SO_PROTOCOL) => IPPROTO_DCCP,
        (SOL_SOCKET, SO_DOMAIN) => match key.family {
            Family::V4 => AF_INET,
            Family::V6 => AF_INET6,
        },
        (SOL_SOCKET, _) => {
            // Takes the Unix socket's own error, which is not DCCP's.
            // SAFETY: the program's pointers.
            unsafe { native::getsockopt(fd, level, name, value, len) };
            let answer = ask(Op::TakeError, key, 0, &[])?;
            let error = answer.result()?.first_chunk().ok_or(EINVAL)?;
            c_int::from_ne_bytes(*error)
        }
        _ => {
            let name = if level == SOL_DCCP { name } else { V6ONLY };
            // SAFETY: the program's pointer.
            let room = unsafe { memory::read_len(len)? };
            let room = c_int::try_from(room).unwrap_or(c_int::MAX);
            let answer = ask(Op::Get, key, name, &room.to_ne_bytes())?;
            // SAFETY: the program's pointers.
            return unsafe { memory::write_value(answer.result()?, value, len) };
        }
    };
    // SAFETY: the program's pointers.
    unsafe { memory::write_value(&number.to_ne_bytes(), value, len) }
}
