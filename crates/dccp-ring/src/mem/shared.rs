//! Memory that two processes share: an anonymous file that neither can make shorter.
#![expect(unsafe_code, reason = "a mapping is a pointer")]

use core::ptr::NonNull;
use core::slice;
use core::sync::atomic::AtomicU64;
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A whole file of words, mapped for reading and writing.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<AtomicU64>,
    words: usize,
}

/// Without these the other process could shorten the file, and the next access would be a SIGBUS;
/// the last one keeps anybody from adding seals.
const SEALS: SealFlags = SealFlags::SHRINK
    .union(SealFlags::GROW)
    .union(SealFlags::SEAL);

impl Mapping {
    /// A new file of `words` zeros, sealed, and its descriptor for the other process.
    pub(crate) fn create(words: usize) -> io::Result<(Self, OwnedFd)> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = rustix::fs::memfd_create("dccp-ring", flags)?;
        let bytes = words as u64 * size_of::<AtomicU64>() as u64;
        // All pages now: when memory is short, this fails, and not the first use of a page.
        rustix::fs::fallocate(&fd, FallocateFlags::empty(), 0, bytes)?;
        rustix::fs::fcntl_add_seals(&fd, SEALS)?;
        Ok((Self::of(fd.as_fd(), words)?, fd))
    }

    /// The file that another process has made.
    ///
    /// # Errors
    /// Also when it is no sealed file of whole words: it could become shorter under our hands.
    pub(crate) fn attach(fd: BorrowedFd<'_>) -> io::Result<Self> {
        if !rustix::fs::fcntl_get_seals(fd)?.contains(SealFlags::SHRINK) {
            let problem = "the memory of a ring must be sealed against shrinking";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        let bytes = u64::try_from(rustix::fs::fstat(fd)?.st_size).unwrap_or_default();
        let words = usize::try_from(bytes / size_of::<AtomicU64>() as u64);
        Self::of(fd, words.map_err(io::Error::other)?)
    }

    /// Maps `words` words of a file that has them and keeps them.
    fn of(fd: BorrowedFd<'_>, words: usize) -> io::Result<Self> {
        // More could not be one slice, and on 32 bits the length would wrap around.
        let bytes = words.checked_mul(size_of::<AtomicU64>());
        let bytes = bytes.filter(|&bytes| isize::try_from(bytes).is_ok());
        let bytes = bytes.ok_or(io::ErrorKind::OutOfMemory)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses a place that nothing else uses.
        let start = unsafe {
            rustix::mm::mmap(
                core::ptr::null_mut(),
                bytes,
                protection,
                MapFlags::SHARED,
                fd,
                0,
            )
        }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Self { start, words })
    }

    /// The words of the file.
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: `of` has mapped so many words from `start` on, aligned to pages, and no more bytes
        // than `isize` has; they stay mapped
        // until `drop`, and the file keeps its length because both constructors see to its seal.
        // Any bits are a u64. The other process changes them at any time, which atomics allow.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let bytes = self.words * size_of::<AtomicU64>();
        // SAFETY: this is the mapping that `of` made; whoever had a slice of it borrowed from us.
        let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), bytes) };
        debug_assert!(unmapped.is_ok(), "a mapping can be unmapped");
    }
}

// SAFETY: the words belong to no thread, and they are atomic.
unsafe impl Send for Mapping {}

// SAFETY: as for `Send`.
unsafe impl Sync for Mapping {}

// Miri has no such files.
#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn what_no_slice_can_hold_is_not_mapped() {
        let (_mapping, fd) = Mapping::create(1).unwrap();
        // Its bytes would wrap around to 8; to more than half of all addresses.
        for words in [usize::MAX / 8 + 2, usize::MAX / 16 + 1] {
            let mapping = Mapping::of(fd.as_fd(), words);
            assert_eq!(mapping.unwrap_err().kind(), io::ErrorKind::OutOfMemory);
        }
    }
}
