//! Receiving.

#![expect(unsafe_code, reason = "functions with names that C can call")]

use crate::failure::{Failure, value};
use crate::memory::{self, Growing};
use crate::socket::SocketHandle;
use crate::text::count;
use core::ffi::c_void;
use dccp::{Delivery, RecvMeta};

/// Bit of the flags of a received datagram: its end did not fit into the buffer and is lost.
pub const DCCP_RECV_TRUNCATED: u32 = 1;
/// Bit of the flags of a received datagram: its Data Checksum failed (RFC 4340 §9.3).
pub const DCCP_RECV_CORRUPT: u32 = 2;

/// Properties of a received datagram. Set `size` to the size of the struct before the call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CRecvMeta {
    /// The size of this struct in bytes. The call sets it to the number of bytes written.
    pub size: usize,
    /// The length of the datagram in bytes, also if the buffer is shorter.
    pub datagram_len: usize,
    /// Time of arrival, as of dccp_now_ns().
    pub arrived_ns: u64,
    /// Sequence number of its packet (RFC 4340 §7).
    pub seq: u64,
    /// ECN field of its packet (RFC 3168): 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    pub ecn: u32,
    /// A sum of DCCP_RECV_TRUNCATED and DCCP_RECV_CORRUPT.
    pub flags: u32,
}

// SAFETY: the struct begins with its size, and zeros are a value of each field.
unsafe impl Growing for CRecvMeta {
    const FIRST_SIZE: usize = 40;
}

impl CRecvMeta {
    fn of(datagram_len: usize, room: usize, delivery: &Delivery) -> Self {
        let is_truncated = datagram_len > room;
        let corrupt = u32::from(delivery.is_corrupt) * DCCP_RECV_CORRUPT;
        Self {
            size: size_of::<Self>(),
            datagram_len,
            arrived_ns: delivery.arrived.as_nanos(),
            seq: delivery.seq.value(),
            ecn: delivery.ecn as u32,
            flags: corrupt | (u32::from(is_truncated) * DCCP_RECV_TRUNCATED),
        }
    }
}

/// One buffer of dccp_recvv(), and the datagram in it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CRecvItem {
    /// The buffer, which the program owns.
    pub buffer: *mut c_void,
    /// Its size in bytes.
    pub buffer_size: usize,
    /// Set by the call: bytes copied into the buffer.
    pub len: usize,
    /// Set by the call: properties of the datagram.
    pub meta: CRecvMeta,
}

/// The datagrams of one call of dccp_recvv() at most.
pub const DCCP_RECVV_MAX: usize = 1024;

/// Copies the next datagram into `buffer` of `size` bytes. A blocking socket waits for it. Returns the number of bytes
/// copied, which is 0 for an empty datagram, or a negative error. DCCP_ERR_CLOSED comes once the connection is over and all
/// datagrams have been read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_recv(
    socket: *const SocketHandle,
    buffer: *mut c_void,
    size: usize,
) -> i64 {
    value(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        // SAFETY: the program passes `size` bytes.
        let buffer = unsafe { memory::buffer(buffer, size, "buffer") }?;
        Ok(count(handle.datagrams()?.recv(buffer)?))
    })
}

/// As dccp_recv(), and writes the properties of the datagram to `*meta`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_recv_with(
    socket: *const SocketHandle,
    buffer: *mut c_void,
    size: usize,
    meta: *mut CRecvMeta,
) -> i64 {
    value(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        // SAFETY: the program passes `size` bytes.
        let buffer = unsafe { memory::buffer(buffer, size, "buffer") }?;
        // SAFETY: the program passes null or a struct that begins with its size.
        unsafe { put_meta(meta, size, || Ok(handle.datagrams()?.recv_meta(buffer)?)) }
    })
}

/// Receives a datagram into a buffer of `size` bytes, and gives the program its properties. The struct is checked first,
/// because a datagram that was taken would be lost.
pub(crate) unsafe fn put_meta(
    meta: *mut CRecvMeta,
    size: usize,
    receive: impl FnOnce() -> Result<RecvMeta, Failure>,
) -> Result<i64, Failure> {
    // SAFETY: the program passes null or a struct that begins with its size.
    unsafe { memory::check_growing(meta, "meta") }?;
    let received = receive()?;
    let found = CRecvMeta::of(received.datagram_len, size, &received.delivery);
    // SAFETY: as above.
    unsafe { memory::write_growing(meta, &found, "meta") }?;
    Ok(count(received.len))
}

/// Takes up to `count` datagrams, at most DCCP_RECVV_MAX, in one call; a blocking socket waits for the first. Returns the
/// number of items filled, or a negative error. The call sets `meta.size` itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_recvv(
    socket: *const SocketHandle,
    items: *mut CRecvItem,
    count: usize,
) -> i64 {
    value(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        // SAFETY: the program passes `count` items.
        let items = unsafe { memory::elements_mut(items, count, "items") }?;
        // Before a datagram is taken, because it would be lost.
        for item in &*items {
            // SAFETY: the program passes `buffer_size` bytes.
            unsafe { memory::buffer(item.buffer, item.buffer_size, "buffer") }?;
        }
        if items.is_empty() {
            return Ok(0);
        }
        let limit = items.len().min(DCCP_RECVV_MAX);
        let mut batch = handle.take_batch(limit);
        if let Err(error) = handle.datagrams()?.recv_batch(&mut batch) {
            // The batch still has the datagrams of an earlier call.
            handle.keep_batch(limit, batch);
            return Err(error.into());
        }
        for (item, datagram) in items.iter_mut().zip(&batch) {
            // SAFETY: the program passes `buffer_size` bytes.
            let buffer = unsafe { memory::buffer(item.buffer, item.buffer_size, "buffer") }?;
            let data = datagram.bytes();
            item.len = data.len().min(buffer.len());
            item.meta = CRecvMeta::of(data.len(), buffer.len(), &datagram.meta());
            buffer[..item.len].copy_from_slice(&data[..item.len]);
        }
        let received = batch.len();
        handle.keep_batch(limit, batch);
        Ok(crate::text::count(received))
    })
}
