//! The memory of a ring: words that two sides read and write at the same time.
//!
//! Every access is atomic, that to data too: so whatever the other side does, however it breaks the
//! rules, a read gives some value and never undefined behaviour. Relaxed loads and stores of words are
//! plain instructions on all machines. The module `shared` at the end is the crate's only unsafe code.
//!
//! The tests replace this module by one in which entries are not atomic, and which finds every access
//! to them that the indexes do not order (`tests/loom`).

pub(crate) use core::sync::atomic::{AtomicU64, Ordering, fence};

use crate::layout::Layout;
use core::fmt;
use std::sync::Arc;

/// Words that keep one side's writing apart from the other's: two cache lines, because processors
/// fetch them in pairs.
pub(crate) const LINE: usize = 16;

/// A ring's memory. Clones are the same memory.
#[derive(Clone)]
pub(crate) struct Memory {
    backing: Backing,
}

#[derive(Clone)]
enum Backing {
    /// Of this process; it begins at `start`, where a cache line does.
    Plain {
        words: Arc<[AtomicU64]>,
        start: usize,
    },
    /// Shared with another process.
    #[cfg(target_os = "linux")]
    Shared(Arc<shared::Mapping>),
}

impl Memory {
    /// Zeroed memory of this process.
    pub(crate) fn plain(layout: &Layout) -> Self {
        let words = (0..layout.words() + LINE).map(|_| AtomicU64::new(0));
        let words: Arc<[AtomicU64]> = words.collect();
        let start = words.as_ptr().align_offset(LINE * size_of::<AtomicU64>());
        // Where the alignment cannot be had, the ring is only slower.
        let start = start.min(LINE);
        Self {
            backing: Backing::Plain { words, start },
        }
    }

    /// Memory of two processes.
    #[cfg(target_os = "linux")]
    pub(crate) fn shared(mapping: shared::Mapping) -> Self {
        Self {
            backing: Backing::Shared(Arc::new(mapping)),
        }
    }

    /// A word that both sides may use at any time.
    pub(crate) fn atomic(&self, at: usize) -> &AtomicU64 {
        &self.words()[at]
    }

    /// A word that only this side may write, as it stands there now.
    pub(crate) fn own(&self, at: usize) -> u64 {
        self.words()[at].load(Ordering::Relaxed)
    }

    /// Shows the other side a word that only this side may write, and all that was written before: Release.
    pub(crate) fn publish(&self, at: usize, value: u64) {
        self.words()[at].store(value, Ordering::Release);
    }

    /// A word of an entry that is this side's.
    pub(crate) fn get(&self, at: usize) -> u64 {
        self.words()[at].load(Ordering::Relaxed)
    }

    /// Writes a word of an entry that is this side's.
    pub(crate) fn set(&self, at: usize, value: u64) {
        self.words()[at].store(value, Ordering::Relaxed);
    }

    /// Copies bytes out of an entry that is this side's.
    pub(crate) fn read(&self, at: usize, bytes: &mut [u8]) {
        let words = &self.words()[at..at + bytes.len().div_ceil(8)];
        let (whole, rest) = bytes.as_chunks_mut::<8>();
        for (chunk, word) in whole.iter_mut().zip(words) {
            *chunk = word.load(Ordering::Relaxed).to_ne_bytes();
        }
        if let Some(last) = words.get(whole.len()) {
            let last = last.load(Ordering::Relaxed).to_ne_bytes();
            rest.copy_from_slice(&last[..rest.len()]);
        }
    }

    /// Copies bytes into an entry that is this side's.
    pub(crate) fn write(&self, at: usize, bytes: &[u8]) {
        let words = &self.words()[at..at + bytes.len().div_ceil(8)];
        let (whole, rest) = bytes.as_chunks::<8>();
        for (chunk, word) in whole.iter().zip(words) {
            word.store(u64::from_ne_bytes(*chunk), Ordering::Relaxed);
        }
        if let Some(last) = words.get(whole.len()) {
            let mut padded = [0; 8];
            padded[..rest.len()].copy_from_slice(rest);
            last.store(u64::from_ne_bytes(padded), Ordering::Relaxed);
        }
    }

    /// Whether the process that made the memory has taken it back: then what was read of it before this is
    /// perhaps nothing but zeros.
    pub(crate) fn is_taken_back(&self) -> bool {
        match &self.backing {
            Backing::Plain { .. } => false,
            #[cfg(target_os = "linux")]
            Backing::Shared(mapping) => mapping.is_taken_back(),
        }
    }

    fn words(&self) -> &[AtomicU64] {
        match &self.backing {
            Backing::Plain { words, start } => &words[*start..],
            #[cfg(target_os = "linux")]
            Backing::Shared(mapping) => mapping.words(),
        }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

/// Memory that two processes share: an anonymous file that neither can make shorter.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "a mapping is a pointer")]
pub(crate) mod shared {
    use core::ptr::NonNull;
    use core::slice;
    use core::sync::atomic::{AtomicU64, Ordering, fence};
    use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
    use rustix::mm::{MapFlags, ProtFlags};
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

    /// A whole file of words, mapped for reading and writing.
    #[derive(Debug)]
    pub(crate) struct Mapping {
        start: NonNull<AtomicU64>,
        words: usize,
        /// Whether this process has made the file: then its pages go when this is dropped.
        is_maker: bool,
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
            let mut mapping = Self::of(fd.as_fd(), words)?;
            mapping.is_maker = true;
            Ok((mapping, fd))
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
            Ok(Self {
                start,
                words,
                is_maker: false,
            })
        }

        /// The words of the file.
        pub(crate) fn words(&self) -> &[AtomicU64] {
            // SAFETY: `of` has mapped so many words from `start` on, aligned to pages, and no more bytes
            // than `isize` has; they stay mapped
            // until `drop`, and the file keeps its length because both constructors see to its seal.
            // Any bits are a u64. The other process changes them at any time, which atomics allow.
            unsafe { slice::from_raw_parts(self.start.as_ptr(), self.words) }
        }

        /// Whether the file's first word, which is never zero in a ring, says that its maker has dropped it.
        pub(crate) fn is_taken_back(&self) -> bool {
            // What was read before must not be younger than the word: Acquire.
            fence(Ordering::Acquire);
            let first = self.words().first();
            first.is_some_and(|word| word.load(Ordering::Relaxed) == 0)
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            let bytes = self.words * size_of::<AtomicU64>();
            if self.is_maker {
                // Before any page becomes zeros: who has read such zeros finds this too.
                if let Some(first) = self.words().first() {
                    first.store(0, Ordering::SeqCst);
                }
                let start = self.start.as_ptr().cast();
                // The other process may keep its mapping as long as it likes, but not our pages. Where the
                // system cannot take them, they go with the last mapping.
                // SAFETY: the bytes are those of the mapping; whoever reads the file still, reads zeros.
                let _ =
                    unsafe { rustix::mm::madvise(start, bytes, rustix::mm::Advice::LinuxRemove) };
            }
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
}
