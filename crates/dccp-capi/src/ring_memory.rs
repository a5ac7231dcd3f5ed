//! The memory of a packet ring, for programs that use its structs themselves.

#![expect(unsafe_code, reason = "functions with names that C can call")]

use crate::failure::{status, value};
use crate::memory;
use crate::ring::RingHandle;
use core::ffi::{c_int, c_void};

/// Returns the memory of a ring, or NULL after an error, and writes its size in bytes to `*size`, which may be NULL.
/// dccp_ring_layout.h has its structs, and functions that claim, publish and take back without a call of this library. The
/// ring owns the memory, which is valid until dccp_ring_free().
///
/// From now on the program may use the memory between calls for this ring, on the same thread. Calls continue behind what
/// the program did: each first reads the program's indexes from the memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_memory(ring: *mut RingHandle, size: *mut usize) -> *mut c_void {
    let mut start = core::ptr::null_mut();
    status(|| {
        // SAFETY: the program passes null or a ring that no other thread uses.
        let handle = unsafe { memory::exclusive(ring, "ring") }?;
        let words = handle.client.sender().memory();
        if !size.is_null() {
            // SAFETY: the program passes room for a number.
            unsafe { memory::put(size, size_of_val(words), "size") }?;
        }
        // The words are atomic, so they may change behind a shared reference.
        start = words.as_ptr().cast_mut().cast::<c_void>();
        Ok(())
    });
    start
}

/// Wakes the server if it sleeps. Call it when dccp_ring_view_publish() or dccp_ring_view_release() returns true: without that,
/// datagrams in the memory may wait. Returns 0 or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_ring_wake(ring: *mut RingHandle) -> c_int {
    value(|| {
        // SAFETY: the program passes null or a ring that no other thread uses.
        let handle = unsafe { memory::exclusive(ring, "ring") }?;
        handle.client.sender().wake();
        Ok(0)
    })
}
