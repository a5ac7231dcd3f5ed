//! Connections: opening, waiting, closing.

#![expect(unsafe_code, reason = "functions with names that C can call")]

use crate::failure::{Failure, status, value};
use crate::options::{DCCP_FOREVER, OptionsHandle, time};
use crate::{memory, text};
use core::ffi::{c_char, c_int, c_void};
use core::time::Duration;
use dccp::message::MessageSocket;
use dccp::{ConnectError, DccpAddr, Engine, EngineGone, Ready, ReadyFd, RecvBatch, Socket};
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// A connection. dccp_connect() and dccp_accept() make one; dccp_socket_free() frees it. Threads may share it, for example
/// one that sends and one that receives.
#[derive(Debug)]
pub struct SocketHandle {
    carried: Carried,
    /// Opened when the program asks for it. It lives as long as the handle.
    ready: OnceLock<ReadyFd>,
    /// Memory for the datagrams of one call, with their greatest number.
    batch: Mutex<Option<(usize, RecvBatch)>>,
}

/// A connection by what it carries.
#[derive(Debug)]
enum Carried {
    Datagrams(Socket),
    Messages(MessageSocket),
}

impl SocketHandle {
    /// The handle of a connection that was opened with these options.
    pub(crate) fn new(socket: Socket, options: &OptionsHandle) -> Result<Self, Failure> {
        let carried = if options.has_messages {
            Carried::Messages(MessageSocket::new(socket).map_err(ConnectError::from)?)
        } else {
            Carried::Datagrams(socket)
        };
        Ok(Self {
            carried,
            ready: OnceLock::new(),
            batch: Mutex::default(),
        })
    }

    /// The connection, for what does not depend on datagrams.
    ///
    /// # Errors
    /// A parent of this process has opened it.
    pub(crate) fn socket(&self) -> Result<&Socket, Failure> {
        let socket = match &self.carried {
            Carried::Datagrams(socket) => socket,
            Carried::Messages(messages) => messages.socket(),
        };
        if socket.is_of_this_process() {
            Ok(socket)
        } else {
            Err(EngineGone::default().into())
        }
    }

    /// The connection, if it carries datagrams.
    pub(crate) fn datagrams(&self) -> Result<&Socket, Failure> {
        self.socket()?;
        match &self.carried {
            Carried::Datagrams(socket) => Ok(socket),
            Carried::Messages(_) => Err(Failure::invalid(
                "socket: must carry datagrams, but dccp_options_messages() made it carry messages",
            )),
        }
    }

    /// The connection, if it carries messages.
    pub(crate) fn messages(&self) -> Result<&MessageSocket, Failure> {
        self.socket()?;
        match &self.carried {
            Carried::Messages(messages) => Ok(messages),
            Carried::Datagrams(_) => Err(Failure::invalid(
                "socket: must carry messages: open it with dccp_options_messages()",
            )),
        }
    }

    /// Room for `limit` datagrams. Calls of two threads have one each.
    pub(crate) fn take_batch(&self, limit: usize) -> RecvBatch {
        let kept = self.batch().take();
        kept.filter(|(of, _)| *of == limit)
            .map_or_else(|| RecvBatch::new(limit), |(_, batch)| batch)
    }

    /// Keeps the room for the next call.
    pub(crate) fn keep_batch(&self, limit: usize, batch: RecvBatch) {
        *self.batch() = Some((limit, batch));
    }

    fn batch(&self) -> MutexGuard<'_, Option<(usize, RecvBatch)>> {
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bit of dccp_ready(): a datagram waits, or the connection is over.
pub const DCCP_READY_RECV: c_int = 1;
/// Bit of dccp_ready(): there is room to send, or sending is over.
pub const DCCP_READY_SEND: c_int = 2;
/// Bit of dccp_ready(): an event waits.
pub const DCCP_READY_EVENT: c_int = 4;
/// Bit of dccp_ready(): a fate waits.
pub const DCCP_READY_FATES: c_int = 8;

/// Value for dccp_shutdown(): ends receiving. The peer learns that its data are not read.
pub const DCCP_SHUT_RD: c_int = 0;
/// Value for dccp_shutdown(): sends what waits, then closes the connection. DCCP has no half-close.
pub const DCCP_SHUT_WR: c_int = 1;
/// Value for dccp_shutdown(): both.
pub const DCCP_SHUT_RDWR: c_int = 2;

/// A copy of the program's options, or the defaults for null.
pub(crate) unsafe fn options_or_default(options: *const OptionsHandle) -> OptionsHandle {
    // SAFETY: the program passes null or live options.
    let given = unsafe { memory::shared(options, "options") };
    given.map_or_else(|_| OptionsHandle::default(), Clone::clone)
}

/// Connects to a DCCP port and stores a new handle in `*socket`, or NULL if that fails. `address` is
/// "HOST:UDP-PORT/DCCP-PORT"; names of hosts and of services are looked up. `options` may be NULL for the defaults. Returns 0 or a negative error.
///
/// A non-blocking socket is returned at once. An event of type DCCP_EVENT_CONNECTED or DCCP_EVENT_CLOSED reports the
/// outcome.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_connect(
    address: *const c_char,
    options: *const OptionsHandle,
    socket: *mut *mut SocketHandle,
) -> c_int {
    status(|| {
        let open = || {
            // SAFETY: the program passes null or a text.
            let address = unsafe { memory::text(address, "address") }?;
            // SAFETY: the program passes null or live options.
            let options = unsafe { options_or_default(options) };
            let socket = Socket::connect(address, &options.options)?;
            SocketHandle::new(socket, &options)
        };
        // SAFETY: the program passes room for a pointer.
        unsafe { memory::put_handle(socket, open, "socket") }
    })
}

/// Frees a socket; NULL is allowed. A connection that is still open sends what waits and closes in the background. Call
/// dccp_close() or dccp_wait_idle() before the program ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_socket_free(socket: *mut SocketHandle) {
    // SAFETY: the program passes null or a socket that it frees once.
    unsafe { memory::free(socket) }
}

/// Sends what waits, closes, and waits for the end of the connection, at most for the linger time of the options. Returns
/// 0, or DCCP_ERR_TIMED_OUT if the connection then ends in the background. The handle stays valid: fates and counters can
/// still be read. Free it with dccp_socket_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_close(socket: *const SocketHandle) -> c_int {
    status(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        handle.datagrams()?.close()?;
        Ok(())
    })
}

/// Ends the connection at once by a Reset (RFC 4340 §5.6, Reset 2), and withdraws what waits. Waits until the Reset has
/// been sent. The handle stays valid. Returns 0 or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_abort(socket: *const SocketHandle) -> c_int {
    status(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        handle.socket()?.abort();
        Ok(())
    })
}

/// Ends one direction or both without waiting. `how` is DCCP_SHUT_RD, DCCP_SHUT_WR or DCCP_SHUT_RDWR. Returns 0 or a
/// negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_shutdown(socket: *const SocketHandle, how: c_int) -> c_int {
    status(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        let how = match how {
            DCCP_SHUT_RD => Shutdown::Read,
            DCCP_SHUT_WR => Shutdown::Write,
            DCCP_SHUT_RDWR => Shutdown::Both,
            other => {
                let detail = format!("how: {other}: must be one of DCCP_SHUT_…");
                return Err(Failure::invalid(detail));
            }
        };
        handle.socket()?.shutdown(how);
        Ok(())
    })
}

/// Waits until either end has ended the connection, at most for `timeout_us` microseconds. Returns 0, or
/// DCCP_ERR_TIMED_OUT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_wait_closed(socket: *const SocketHandle, timeout_us: u64) -> c_int {
    status(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        handle.socket()?.wait_closed(time(timeout_us))?;
        Ok(())
    })
}

/// Writes the reason of the connection's end as text into `buffer` of `size` bytes, such as "closed by the peer". 1024
/// bytes suffice for most reasons. Returns the length of the text, 0 if the connection has not ended, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_close_reason(
    socket: *const SocketHandle,
    buffer: *mut c_char,
    size: usize,
) -> i64 {
    value(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        let reason = handle.socket()?.close_reason();
        let reason = reason.map_or_else(String::new, |reason| dccp::reason_text(&reason));
        // SAFETY: the program passes `size` bytes.
        let buffer = unsafe { memory::buffer(buffer.cast::<c_void>(), size, "buffer") }?;
        text::copy(&reason, buffer)
    })
}

/// Waits until no connection of this process is open, at most for `timeout_us` microseconds. Call it once at the end of a
/// program that frees sockets without dccp_close(). Returns 0, or DCCP_ERR_TIMED_OUT.
#[unsafe(no_mangle)]
pub extern "C" fn dccp_wait_idle(timeout_us: u64) -> c_int {
    status(|| Ok(Engine::shared()?.wait_idle(time(timeout_us))?))
}

/// Returns a file descriptor for poll() and epoll, or a negative error. It is readable while dccp_ready() has
/// DCCP_READY_RECV, DCCP_READY_EVENT or DCCP_READY_FATES, and when there is room again after a send found none. The socket
/// owns the descriptor: watch it, but never read, write or close it. It is valid until dccp_socket_free().
///
/// A descriptor that stays readable has news of another kind: read events and fates too, not only datagrams.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_fd(socket: *const SocketHandle) -> c_int {
    value(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        let socket = handle.socket()?;
        descriptor(&handle.ready, || socket.ready_fd())
    })
}

/// The descriptor of a handle, opened at the first call.
pub(crate) fn descriptor(
    ready: &OnceLock<ReadyFd>,
    open: impl FnOnce() -> std::io::Result<ReadyFd>,
) -> Result<c_int, Failure> {
    if let Some(fd) = ready.get() {
        return Ok(fd.as_raw_fd());
    }
    let opened = open()?;
    // Of two threads that open one, the second one's is dropped here.
    Ok(ready.get_or_init(|| opened).as_raw_fd())
}

/// Returns the calls that would not wait now: a sum of DCCP_READY_RECV, DCCP_READY_SEND, DCCP_READY_EVENT and
/// DCCP_READY_FATES, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ready(socket: *const SocketHandle) -> c_int {
    value(|| {
        // SAFETY: the program passes null or a live socket.
        let ready = unsafe { memory::shared(socket, "socket") }?
            .socket()?
            .ready();
        Ok(ready_bits(ready))
    })
}

/// The sum of the bits of what is ready.
pub(crate) fn ready_bits(ready: Ready) -> c_int {
    let bits = [
        (ready.recv, DCCP_READY_RECV),
        (ready.send, DCCP_READY_SEND),
        (ready.event, DCCP_READY_EVENT),
        (ready.fates, DCCP_READY_FATES),
    ];
    let set = bits.iter().filter(|(is_set, _)| *is_set);
    set.map(|(_, bit)| *bit).sum()
}

/// Makes calls return DCCP_ERR_AGAIN instead of waiting, or wait again. Returns 0 or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_set_nonblocking(socket: *const SocketHandle, on: bool) -> c_int {
    status(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        handle.socket()?.set_nonblocking(on);
        Ok(())
    })
}

fn limit(us: u64) -> Option<Duration> {
    Some(us).filter(|&us| us != DCCP_FOREVER).map(time)
}

/// Sets how long sending waits for room, in microseconds, or DCCP_FOREVER. Returns 0 or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_set_send_timeout(socket: *const SocketHandle, us: u64) -> c_int {
    status(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        handle.socket()?.set_send_timeout(limit(us));
        Ok(())
    })
}

/// Sets how long receiving waits, in microseconds, or DCCP_FOREVER. Returns 0 or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_set_recv_timeout(socket: *const SocketHandle, us: u64) -> c_int {
    status(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        handle.socket()?.set_recv_timeout(limit(us));
        Ok(())
    })
}

/// Returns the most bytes that a datagram can hold now, 0 before the connection is open, or a negative error. Events of
/// type DCCP_EVENT_MPS report changes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_max_packet_size(socket: *const SocketHandle) -> i64 {
    value(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        Ok(text::count(
            handle.socket()?.max_packet_size().unwrap_or_default(),
        ))
    })
}

/// Writes this end's address as text into `buffer` of `size` bytes; DCCP_ADDRESS_SIZE suffices. Returns the length of the
/// text, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_local_address(
    socket: *const SocketHandle,
    buffer: *mut c_char,
    size: usize,
) -> i64 {
    // SAFETY: the program passes null or a live socket, and `size` bytes.
    unsafe { address(socket, Socket::local_addr, buffer, size) }
}

/// Writes the peer's address as text into `buffer` of `size` bytes; DCCP_ADDRESS_SIZE suffices. Returns the length of the
/// text, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_peer_address(
    socket: *const SocketHandle,
    buffer: *mut c_char,
    size: usize,
) -> i64 {
    // SAFETY: the program passes null or a live socket, and `size` bytes.
    unsafe { address(socket, Socket::peer_addr, buffer, size) }
}

unsafe fn address(
    socket: *const SocketHandle,
    of: fn(&Socket) -> DccpAddr,
    buffer: *mut c_char,
    size: usize,
) -> i64 {
    value(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        // SAFETY: the program passes `size` bytes.
        let buffer = unsafe { memory::buffer(buffer.cast::<c_void>(), size, "buffer") }?;
        text::copy(&of(handle.socket()?).to_string(), buffer)
    })
}

/// Returns the Service Code of the connection (RFC 5595) as a number in host byte order, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_service_code(socket: *const SocketHandle) -> i64 {
    value(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        Ok(i64::from(handle.socket()?.service_code().0))
    })
}
