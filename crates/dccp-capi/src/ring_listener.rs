//! Listeners whose connections have packet rings.

#![expect(unsafe_code, reason = "functions with names that C can call")]

use crate::errors::{
    DCCP_ERR_CLOSED, DCCP_ERR_NOT_PERMITTED, DCCP_ERR_SERVER_GONE, DCCP_ERR_SYSTEM,
    DCCP_ERR_TIMED_OUT,
};
use crate::failure::{Failure, status, value};
use crate::memory;
use crate::ring::{CRingRequest, RingHandle, first_address, limit, server_path};
use crate::socket::descriptor;
use crate::text;
use core::ffi::{c_char, c_int, c_void};
use dccp::ReadyFd;
use dccp_ring_ipc::{RingAcceptError, RingListener};
use std::sync::OnceLock;

/// Accepts connections of a server of rings, each with a ring before it. dccp_ring_listen() makes one;
/// dccp_ring_listener_free() frees it. Only one thread at a time may use it. Linux only.
#[derive(Debug)]
pub struct RingListenerHandle {
    listener: RingListener,
    ready: OnceLock<ReadyFd>,
}

/// Asks the server of rings at the Unix socket `path` to listen at `address`, as dccp_listen() has it. Stores a new handle in
/// `*listener`, or NULL if that fails. NULL for `path` stands for that of dccpd. Returns 0 or a negative error:
/// DCCP_ERR_NO_SERVER, DCCP_ERR_NOT_PERMITTED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_listen(
    path: *const c_char,
    address: *const c_char,
    request: *const CRingRequest,
    listener: *mut *mut RingListenerHandle,
) -> c_int {
    status(|| {
        let open = || {
            // SAFETY: the program passes null or a text.
            let path = unsafe { server_path(path) }?;
            // SAFETY: the program passes null or a text.
            let local = unsafe { first_address(address) }?;
            // SAFETY: the program passes null or a request.
            let asked = unsafe { CRingRequest::read(request) }?;
            Ok(RingListenerHandle {
                listener: RingListener::bind(path, &asked.listener(local))?,
                ready: OnceLock::new(),
            })
        };
        // SAFETY: the program passes room for a pointer.
        unsafe { memory::put_handle(listener, open, "listener") }
    })
}

/// Frees a listener; NULL is allowed. Connections that wait are aborted; accepted ones live on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_listener_free(listener: *mut RingListenerHandle) {
    // SAFETY: the program passes null or a listener that it frees once.
    unsafe { memory::free(listener) }
}

/// Stores the next connection in `*ring`, or NULL if there is none. Waits for it, at most for `timeout_us` microseconds or
/// DCCP_FOREVER. Returns 0 or a negative error: DCCP_ERR_TIMED_OUT, DCCP_ERR_NOT_PERMITTED, DCCP_ERR_SERVER_GONE, or
/// DCCP_ERR_CLOSED if the policy of the server lets the program listen no more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_accept(
    listener: *mut RingListenerHandle,
    timeout_us: u64,
    ring: *mut *mut RingHandle,
) -> c_int {
    status(|| {
        // SAFETY: the program passes null or a listener that no other thread uses.
        let handle = unsafe { memory::exclusive(listener, "listener") }?;
        handle.listener.set_timeout(limit(timeout_us));
        let accept = || Ok(RingHandle::new(handle.listener.accept()?));
        // SAFETY: the program passes room for a pointer.
        unsafe { memory::put_handle(ring, accept, "ring") }
    })
}

/// Returns a file descriptor for poll() and epoll that is readable while a connection waits and after the server's end, or
/// a negative error. The listener owns it: watch it, but never read, write or close it.
///
/// After DCCP_ERR_NOT_PERMITTED it becomes readable only after another call of dccp_ring_accept(), for example when a
/// connection has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_listener_fd(listener: *mut RingListenerHandle) -> c_int {
    value(|| {
        // SAFETY: the program passes null or a listener that no other thread uses.
        let handle = unsafe { memory::exclusive(listener, "listener") }?;
        descriptor(&handle.ready, || handle.listener.ready_fd())
    })
}

/// Writes the listener's address as text into `buffer` of `size` bytes, with the ports that it got. DCCP_ADDRESS_SIZE bytes
/// suffice. Returns the length of the text, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_listener_address(
    listener: *mut RingListenerHandle,
    buffer: *mut c_char,
    size: usize,
) -> i64 {
    value(|| {
        // SAFETY: the program passes null or a listener that no other thread uses.
        let handle = unsafe { memory::exclusive(listener, "listener") }?;
        // SAFETY: the program passes `size` bytes.
        let buffer = unsafe { memory::buffer(buffer.cast::<c_void>(), size, "buffer") }?;
        text::copy(&handle.listener.local_addr().to_string(), buffer)
    })
}

impl From<RingAcceptError> for Failure {
    fn from(e: RingAcceptError) -> Self {
        let code = match &e {
            RingAcceptError::TimedOut => DCCP_ERR_TIMED_OUT,
            RingAcceptError::Refused(_) => DCCP_ERR_NOT_PERMITTED,
            RingAcceptError::Revoked(_) => DCCP_ERR_CLOSED,
            RingAcceptError::ServerGone => DCCP_ERR_SERVER_GONE,
            _ => DCCP_ERR_SYSTEM,
        };
        Self::new(code, e.fault(), e.to_string(), e.next_step())
    }
}
