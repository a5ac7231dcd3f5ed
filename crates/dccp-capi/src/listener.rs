//! Listeners.

#![expect(unsafe_code, reason = "functions with names that C can call")]

use crate::failure::{Failure, status, value};
use crate::options::OptionsHandle;
use crate::socket::{SocketHandle, descriptor, options_or_default};
use crate::{memory, text};
use core::ffi::{c_char, c_int, c_void};
use dccp::{Listener, ReadyFd};
use std::sync::OnceLock;

/// Waits for connections to a DCCP port. dccp_listen() makes one; dccp_listener_free() frees it. Threads may share it.
#[derive(Debug)]
pub struct ListenerHandle {
    listener: Listener,
    /// Those of accepted sockets.
    options: OptionsHandle,
    ready: OnceLock<ReadyFd>,
}

/// Listens at an address and stores a new handle in `*listener`, or NULL if that fails. `address` is
/// "HOST:UDP-PORT/DCCP-PORT"; port 0 stands for any that is free. `options` may be NULL for the defaults; accepted sockets
/// have them too. Returns 0 or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_listen(
    address: *const c_char,
    options: *const OptionsHandle,
    listener: *mut *mut ListenerHandle,
) -> c_int {
    status(|| {
        let open = || {
            // SAFETY: the program passes null or a text.
            let address = unsafe { memory::text(address, "address") }?;
            // SAFETY: the program passes null or live options.
            let options = unsafe { options_or_default(options) };
            Ok(ListenerHandle {
                listener: Listener::bind(address, &options.options)?,
                options,
                ready: OnceLock::new(),
            })
        };
        // SAFETY: the program passes room for a pointer.
        unsafe { memory::put_handle(listener, open, "listener") }
    })
}

/// Frees a listener; NULL is allowed. Connections that wait are aborted; accepted ones live on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_listener_free(listener: *mut ListenerHandle) {
    // SAFETY: the program passes null or a listener that it frees once.
    unsafe { memory::free(listener) }
}

/// Stores the next connection in `*socket`, or NULL if there is none. A blocking listener waits for it, at most for the
/// receive timeout of its options. Returns 0 or a negative error: DCCP_ERR_AGAIN, DCCP_ERR_TIMED_OUT, DCCP_ERR_CLOSED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_accept(
    listener: *const ListenerHandle,
    socket: *mut *mut SocketHandle,
) -> c_int {
    status(|| {
        // SAFETY: the program passes null or a live listener.
        let handle = unsafe { memory::shared(listener, "listener") }?;
        let accept = || SocketHandle::new(handle.listener.accept()?, &handle.options);
        // SAFETY: the program passes room for a pointer.
        unsafe { memory::put_handle(socket, accept, "socket") }
    })
}

/// Returns a file descriptor for poll() and epoll that is readable while a connection waits, or a negative error. The
/// listener owns it: watch it, but never read, write or close it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_listener_fd(listener: *const ListenerHandle) -> c_int {
    value(|| {
        // SAFETY: the program passes null or a live listener.
        let handle = unsafe { memory::shared(listener, "listener") }?;
        descriptor(&handle.ready, || handle.listener.ready_fd())
    })
}

/// Writes the `index`-th address of the listener as text into `buffer` of `size` bytes, with the ports that it got. A name
/// can have several addresses. DCCP_ADDRESS_SIZE bytes suffice. Returns the length of the text, or DCCP_ERR_INVALID if there
/// are not as many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_listener_address(
    listener: *const ListenerHandle,
    index: usize,
    buffer: *mut c_char,
    size: usize,
) -> i64 {
    value(|| {
        // SAFETY: the program passes null or a live listener.
        let handle = unsafe { memory::shared(listener, "listener") }?;
        let addresses = handle.listener.local_addrs();
        let address = addresses.get(index).ok_or_else(|| {
            let count = addresses.len();
            Failure::invalid(format!("index: {index}: must be less than {count}"))
        })?;
        // SAFETY: the program passes `size` bytes.
        let buffer = unsafe { memory::buffer(buffer.cast::<c_void>(), size, "buffer") }?;
        text::copy(&address.to_string(), buffer)
    })
}
