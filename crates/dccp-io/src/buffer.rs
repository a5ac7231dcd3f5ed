//! The memory that datagrams are received into.

use std::io::IoSliceMut;

#[cfg(target_os = "linux")]
use crate::sys::cmsg::Control;

/// Buffers of one receive call.
pub(crate) const SLOTS: usize = 32;
/// Bytes of each: the largest UDP datagram, and the largest chain that GRO makes.
pub(crate) const SLOT_LEN: usize = 1 << 16;

/// Memory for one receive call. All transports of a thread share one, since what is received is
/// handed on before the next call. Pages that are never used cost nothing.
pub struct RecvBuffer {
    bytes: Vec<u8>,
    #[cfg(target_os = "linux")]
    controls: Box<[Control; SLOTS]>,
}

impl RecvBuffer {
    /// Room for 32 buffers of 64 KiB.
    pub fn new() -> Self {
        Self {
            bytes: vec![0; SLOTS * SLOT_LEN],
            #[cfg(target_os = "linux")]
            controls: Box::new([Control::EMPTY; SLOTS]),
        }
    }

    /// The buffers, ready for a call that fills them.
    pub(crate) fn slices(&mut self) -> [IoSliceMut<'_>; SLOTS] {
        slices(&mut self.bytes)
    }

    /// The same, with room for control messages.
    #[cfg(target_os = "linux")]
    pub(crate) fn parts(&mut self) -> ([IoSliceMut<'_>; SLOTS], &mut [Control; SLOTS]) {
        (slices(&mut self.bytes), &mut self.controls)
    }

    /// The bytes of one buffer.
    pub(crate) fn slot(&self, index: usize) -> &[u8] {
        let start = index * SLOT_LEN;
        &self.bytes[start..start + SLOT_LEN]
    }

    /// The first buffer, for one message.
    #[cfg(target_os = "linux")]
    pub(crate) fn first_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..SLOT_LEN]
    }
}

impl Default for RecvBuffer {
    fn default() -> Self {
        Self::new()
    }
}

fn slices(mut rest: &mut [u8]) -> [IoSliceMut<'_>; SLOTS] {
    core::array::from_fn(|_| {
        let (slot, tail) = core::mem::take(&mut rest).split_at_mut(SLOT_LEN);
        rest = tail;
        IoSliceMut::new(slot)
    })
}
