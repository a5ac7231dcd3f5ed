//! Listeners.

#![expect(unsafe_code, reason = "functions with names that C can call")]

use crate::events::{self, CEvent};
use crate::failure::{Failure, status, value};
use crate::memory::{self, Growing};
use crate::options::OptionsHandle;
use crate::socket::{SocketHandle, descriptor, options_or_default};
use crate::text;
use core::ffi::{c_char, c_int, c_void};
use dccp::{EngineGone, Listener, ReadyFd};
use std::net::UdpSocket;
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;

/// Waits for connections to a DCCP port. dccp_listen() makes one; dccp_listener_free() frees it. Threads may share it.
#[derive(Debug)]
pub struct ListenerHandle {
    listener: Listener,
    /// Those of accepted sockets.
    options: OptionsHandle,
    ready: OnceLock<ReadyFd>,
}

impl ListenerHandle {
    /// The listener.
    ///
    /// # Errors
    /// A parent of this process has opened it.
    fn listener(&self) -> Result<&Listener, Failure> {
        if self.listener.is_of_this_process() {
            Ok(&self.listener)
        } else {
            Err(EngineGone::default().into())
        }
    }
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

/// Listens at a UDP socket that is bound already, for example one that a service manager opened, and stores a new handle in
/// `*listener`, or NULL if that fails. The library uses a duplicate of the descriptor `fd`; the program keeps `fd` and may
/// close it. The socket becomes non-blocking. DCCP port 0 stands for any that is free. Returns 0 or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_listen_fd(
    fd: c_int,
    dccp_port: u16,
    options: *const OptionsHandle,
    listener: *mut *mut ListenerHandle,
) -> c_int {
    status(|| {
        let open = || {
            if fd < 0 {
                return Err(Failure::invalid(format!("fd: {fd}: must be a descriptor")));
            }
            // SAFETY: the program passes a descriptor that is open during the call. The system refuses another.
            let fd = unsafe { BorrowedFd::borrow_raw(fd) };
            let socket = UdpSocket::from(fd.try_clone_to_owned()?);
            // SAFETY: the program passes null or live options.
            let options = unsafe { options_or_default(options) };
            Ok(ListenerHandle {
                listener: Listener::from_udp_socket(socket, dccp_port, &options.options)?,
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
        let accept = || SocketHandle::new(handle.listener()?.accept()?, &handle.options);
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
        let listener = handle.listener()?;
        descriptor(&handle.ready, || listener.ready_fd())
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
        let addresses = handle.listener()?.local_addrs();
        let address = addresses.get(index).ok_or_else(|| {
            let count = addresses.len();
            Failure::invalid(format!("index: {index}: must be less than {count}"))
        })?;
        // SAFETY: the program passes `size` bytes.
        let buffer = unsafe { memory::buffer(buffer.cast::<c_void>(), size, "buffer") }?;
        text::copy(&address.to_string(), buffer)
    })
}

/// Takes the next event of a listener and writes it to `*event`, without waiting: DCCP_EVENT_SOCKET_LOST or
/// DCCP_EVENT_SOCKET_RESTORED. The program has nothing to do, because the library opens the new socket. Returns 1, 0 if there
/// is none, or a negative error. The newest 16 are kept. They do not make the descriptor of dccp_listener_fd() readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_listener_poll_event(
    listener: *const ListenerHandle,
    event: *mut CEvent,
) -> c_int {
    value(|| {
        // SAFETY: the program passes null or a live listener.
        let handle = unsafe { memory::shared(listener, "listener") }?;
        let listener = handle.listener()?;
        let poll = || {
            let found = listener.poll_event();
            found.map(|found| CEvent::of_listener(&found))
        };
        // SAFETY: the program passes null or a struct that begins with its size.
        unsafe { events::put(event, poll) }
    })
}

/// Connections that a listener refused as "too busy" (RFC 4340 §5.6, Reset 9). Set `size` to the size of the struct before
/// the call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CListenerCounters {
    /// The size of this struct in bytes. The call sets it to the number of bytes written.
    pub size: usize,
    /// As many as dccp_options_backlog() permits waited to be accepted.
    pub refused_backlog: u64,
    /// Their address had as many connections as dccp_options_connections_per_source() permits.
    pub refused_source: u64,
}

// SAFETY: the struct begins with its size, and zeros are a value of each field.
unsafe impl Growing for CListenerCounters {
    const FIRST_SIZE: usize = 24;
}

/// Writes the counters of a listener to `*counters`. Returns 0 or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_listener_stats(
    listener: *const ListenerHandle,
    counters: *mut CListenerCounters,
) -> c_int {
    status(|| {
        // SAFETY: the program passes null or a live listener.
        let handle = unsafe { memory::shared(listener, "listener") }?;
        let stats = handle.listener()?.stats();
        let found = CListenerCounters {
            size: size_of::<CListenerCounters>(),
            refused_backlog: stats.refused_backlog,
            refused_source: stats.refused_source,
        };
        // SAFETY: the program passes null or a struct that begins with its size.
        unsafe { memory::write_growing(counters, &found, "counters") }
    })
}
