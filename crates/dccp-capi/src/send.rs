//! Sending.

#![expect(unsafe_code, reason = "functions with names that C can call")]

use crate::failure::{Failure, send_code, status, value};
use crate::memory::{self, Growing};
use crate::options::{policy, time};
use crate::socket::SocketHandle;
use crate::text::count;
use core::ffi::{c_int, c_void};
use dccp::{DatagramId, Instant, SendError, SendItem, SendOptions, clock};

/// Bit of the flags of dccp_send_options: the key counts.
pub const DCCP_SEND_KEY: u32 = 1;

/// Options of one datagram. They count while the datagram is in the send buffer. Set `size` to the size of the struct, and
/// all other fields to 0 for the defaults: `dccp_send_options options = { .size = sizeof options };`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CSendOptions {
    /// The size of this struct in bytes.
    pub size: usize,
    /// With DCCP_SEND_KEY: the datagram replaces a waiting one with the same key, which gets the fate DCCP_FATE_SUPERSEDED.
    pub key: u64,
    /// A number for the report of the fate, and for dccp_withdraw_tags().
    pub tag: u64,
    /// The time in microseconds after which a waiting datagram gets the fate DCCP_FATE_EXPIRED; 0: no bound.
    pub lifetime_us: u64,
    /// The same as a time of dccp_now_ns(); 0: no bound. With both, the earlier one counts.
    pub deadline_ns: u64,
    /// From 0 to 255: the datagram overtakes those of lower priority.
    pub priority: u32,
    /// The policy for a full send buffer: one of DCCP_WHEN_FULL_…; 0 is that of the socket.
    pub when_full: c_int,
    /// DCCP_SEND_KEY or 0.
    pub flags: u32,
    /// Must be 0.
    pub reserved: u32,
}

// SAFETY: the struct begins with its size, and zeros are a value of each field.
unsafe impl Growing for CSendOptions {
    const FIRST_SIZE: usize = 56;
}

impl CSendOptions {
    pub(crate) fn checked(&self) -> Result<SendOptions, Failure> {
        let invalid = |detail: String| Err(Failure::invalid(detail));
        let Ok(priority) = u8::try_from(self.priority) else {
            let given = self.priority;
            return invalid(format!("priority: {given}: must be from 0 to 255"));
        };
        if self.flags & !DCCP_SEND_KEY != 0 || self.reserved != 0 {
            return invalid("flags, reserved: must be 0 except DCCP_SEND_KEY".into());
        }
        let mut options = SendOptions::new().priority(priority).tag(self.tag);
        if self.flags & DCCP_SEND_KEY != 0 {
            options = options.key(self.key);
        }
        if self.lifetime_us != 0 {
            options = options.lifetime(time(self.lifetime_us));
        }
        if self.deadline_ns != 0 {
            let deadline = Instant::from_nanos(self.deadline_ns);
            options = options.deadline(clock::to_std(deadline));
        }
        if let Some(policy) = policy(self.when_full).map_err(Failure::invalid)? {
            options = options.when_full(policy);
        }
        Ok(options)
    }
}

/// One datagram of dccp_sendv(), and its result.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CSendItem {
    /// The datagram. The call copies it.
    pub data: *const c_void,
    /// Its length in bytes.
    pub len: usize,
    /// Its options, or NULL for the defaults.
    pub options: *const CSendOptions,
    /// Set by the call: the datagram's number, or a negative error. DCCP_ERR_AGAIN if the call did not reach it.
    pub result: i64,
}

/// The options of a datagram, or the defaults for null.
unsafe fn options_of(options: *const CSendOptions) -> Result<SendOptions, Failure> {
    if options.is_null() {
        return Ok(SendOptions::new());
    }
    // SAFETY: the program passes a struct that begins with its size.
    unsafe { memory::read_growing(options, "options") }?.checked()
}

/// A datagram's number for the program.
fn number(id: DatagramId) -> i64 {
    i64::try_from(id.0).unwrap_or(i64::MAX)
}

/// Puts a datagram of `len` bytes into the send buffer, which copies it. A blocking socket waits for room. The datagram
/// leaves when the congestion control allows. Returns its number, counted from 0, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_send(
    socket: *const SocketHandle,
    data: *const c_void,
    len: usize,
) -> i64 {
    // SAFETY: the program passes null or a live socket, and `len` bytes.
    unsafe { dccp_send_with(socket, data, len, core::ptr::null()) }
}

/// As dccp_send(), with priority, deadline, key, tag and the policy for a full buffer. `options` may be NULL for the
/// defaults.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_send_with(
    socket: *const SocketHandle,
    data: *const c_void,
    len: usize,
    options: *const CSendOptions,
) -> i64 {
    value(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        // SAFETY: the program passes `len` bytes.
        let data = unsafe { memory::bytes(data, len, "data") }?;
        // SAFETY: the program passes null or options.
        let options = unsafe { options_of(options) }?;
        Ok(number(handle.datagrams()?.send_with(data, options)?))
    })
}

/// Puts `count` datagrams into the send buffer in one call, each with a result of its own. Returns the number of datagrams
/// taken. That is less than `count` if the socket is non-blocking, the time is over, or some are too long. If it took none,
/// returns the error of the first. If an item has a bad argument, returns DCCP_ERR_INVALID and takes none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_sendv(
    socket: *const SocketHandle,
    items: *mut CSendItem,
    count: usize,
) -> i64 {
    value(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        // SAFETY: the program passes `count` items.
        let items = unsafe { memory::elements_mut(items, count, "items") }?;
        let mut batch = Vec::with_capacity(items.len());
        for item in &*items {
            // SAFETY: the program passes `len` bytes.
            let data = unsafe { memory::bytes(item.data, item.len, "data") }?;
            // SAFETY: the program passes null or options.
            let options = unsafe { options_of(item.options) }?;
            batch.push(SendItem::with(data, options));
        }
        let taken = handle.datagrams()?.send_batch(&mut batch);
        for (item, sent) in items.iter_mut().zip(&batch) {
            item.result = result(&sent.result);
        }
        Ok(crate::text::count(taken?))
    })
}

fn result(result: &Result<DatagramId, SendError>) -> i64 {
    match result {
        Ok(id) => number(*id),
        Err(e) => send_code(e).into(),
    }
}

/// Changes the rate of dccp_options_target_rate() for an open connection; 0 ends the fillers. Returns 0 or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_set_target_rate(
    socket: *const SocketHandle,
    bits_per_s: u64,
    filler: *const c_void,
    len: usize,
) -> c_int {
    status(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        // SAFETY: the program passes `len` bytes.
        let filler = unsafe { memory::bytes(filler, len, "filler") }?;
        if bits_per_s > 0 && filler.is_empty() {
            return Err(Failure::invalid("len: 0: must be at least 1"));
        }
        handle.datagrams()?.set_target_rate(bits_per_s, filler);
        Ok(())
    })
}

/// Returns the number of datagrams in the send buffer, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_queued(socket: *const SocketHandle) -> i64 {
    value(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        Ok(count(handle.datagrams()?.queued()))
    })
}

/// Waits until no datagram is in the send buffer, at most for `timeout_us` microseconds. They may still be on their way.
/// Returns 0 or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_flush(socket: *const SocketHandle, timeout_us: u64) -> c_int {
    value(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        handle.datagrams()?.flush(time(timeout_us))?;
        Ok(0)
    })
}

/// Withdraws a datagram that is in the send buffer by its number. It gets the fate DCCP_FATE_WITHDRAWN. Returns 1 if it was
/// there, 0 if it has left or has another fate, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_withdraw(socket: *const SocketHandle, id: u64) -> i64 {
    // SAFETY: the program passes null or a live socket.
    unsafe { withdraw(socket, |queued| queued.id.0 == id) }
}

/// Withdraws the datagrams in the send buffer whose tag is from `first` to `last`. Returns their number, or a negative
/// error. With one tag per frame this drops the frames that are out of date.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_withdraw_tags(
    socket: *const SocketHandle,
    first: u64,
    last: u64,
) -> i64 {
    // SAFETY: the program passes null or a live socket.
    unsafe { withdraw(socket, |queued| (first..=last).contains(&queued.tag)) }
}

/// Withdraws all datagrams in the send buffer. Returns their number, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_withdraw_all(socket: *const SocketHandle) -> i64 {
    // SAFETY: the program passes null or a live socket.
    unsafe { withdraw(socket, |_| true) }
}

unsafe fn withdraw(
    socket: *const SocketHandle,
    is_unwanted: impl FnMut(&dccp::QueuedDatagram) -> bool,
) -> i64 {
    value(|| {
        // SAFETY: the program passes null or a live socket.
        let handle = unsafe { memory::shared(socket, "socket") }?;
        Ok(count(handle.datagrams()?.withdraw_if(is_unwanted)))
    })
}
