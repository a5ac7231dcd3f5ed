//! Datagrams supplied when they may leave.

#![expect(unsafe_code, reason = "functions with names that C can call")]

use crate::failure::status;
use crate::memory;
use crate::socket::SocketHandle;
use core::ffi::{c_int, c_void};
use dccp::{SourceReply, SourceRequest};

/// The argument of a function that supplies datagrams: a datagram may leave now.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CSourceRequest {
    /// The datagram's number in the report of its fate, if there is a datagram.
    pub id: u64,
    /// The time, as of dccp_now_ns().
    pub now_ns: u64,
    /// The size of the buffer, which is the most bytes that the datagram can hold.
    pub max_len: usize,
}

/// A function that writes a datagram. Returns its length, or a negative number for none.
type Supply = unsafe extern "C" fn(*mut c_void, *const CSourceRequest, *mut c_void) -> i64;

/// The program's pointer, with the function that takes it back.
struct User {
    pointer: *mut c_void,
    release: Option<unsafe extern "C" fn(*mut c_void)>,
}

// SAFETY: the header says that both functions run on the library's thread, so the program permits that.
unsafe impl Send for User {}

impl Drop for User {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: the program passed the function for this pointer. It is called once.
            unsafe { release(self.pointer) };
        }
    }
}

impl User {
    /// Asks the program for a datagram.
    fn ask(&self, supply: Supply, request: &SourceRequest, datagram: &mut Vec<u8>) -> SourceReply {
        let request = CSourceRequest {
            id: request.id.0,
            now_ns: request.now.as_nanos(),
            max_len: request.max_len,
        };
        datagram.resize(request.max_len, 0);
        let buffer = datagram.as_mut_ptr().cast::<c_void>();
        // SAFETY: the buffer has `max_len` bytes, and the pointer is the program's own.
        let len = unsafe { supply(self.pointer, &raw const request, buffer) };
        match usize::try_from(len) {
            Ok(len) if len <= request.max_len => {
                datagram.truncate(len);
                SourceReply::Datagram
            }
            _ => SourceReply::Nothing,
        }
    }
}

/// Makes a function the source of datagrams: the library calls it when one may leave, so that no datagram is older than the
/// decision to send it. Datagrams of dccp_send() leave before. Returns 0 or a negative error.
///
/// `supply` gets `user`, the request, and a buffer of `max_len` bytes. It writes a datagram and returns its length, or a
/// negative number if there is none. A length above `max_len` counts as none. It is called until it has none, and again after
/// dccp_data_ready(). NULL ends the supply.
///
/// `supply` runs on the library's thread, which serves other sockets too: it must not wait, must not call functions of this
/// socket, and must return normally.
///
/// `release` gets `user` once the library no longer needs it: when the connection ends, or another source replaces this one.
/// It runs on the library's thread or on that of the call, and NULL is permitted. After an error it is not called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_set_source(
    socket: *const SocketHandle,
    supply: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            request: *const CSourceRequest,
            buffer: *mut c_void,
        ) -> i64,
    >,
    release: Option<unsafe extern "C" fn(user: *mut c_void)>,
    user: *mut c_void,
) -> c_int {
    status(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        let socket = handle.datagrams()?;
        // From here on nothing fails: dropping it calls `release`.
        let user = User {
            pointer: user,
            release,
        };
        socket.set_datagram_source(move |request, datagram| match supply {
            Some(supply) => user.ask(supply, request, datagram),
            None => SourceReply::Nothing,
        });
        Ok(())
    })
}

/// Lets the library call the function of dccp_set_source() again after it had no datagram. Returns 0 or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_data_ready(socket: *const SocketHandle) -> c_int {
    status(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        handle.datagrams()?.data_ready();
        Ok(())
    })
}
