//! The memory of a ring: words that two sides read and write concurrently.
//!
//! Every access is atomic, including payload. A side that breaks the rules therefore causes wrong values but
//! never undefined behaviour. Relaxed loads and stores of words are plain instructions on all machines.
//! The module `shared` at the end is the crate's only unsafe code.
//!
//! The loom tests replace this module by one with non-atomic entries. It detects every access that the
//! indexes do not order (`tests/loom`).

pub(crate) use core::sync::atomic::{AtomicU64, Ordering, fence};

use crate::words::{read_words, write_words};
use core::fmt;
use core::sync::atomic::AtomicBool;
use std::sync::Arc;

/// Words of two cache lines, which keep one side's writes apart from the other's: processors fetch cache
/// lines in pairs.
pub(crate) const LINE: usize = 16;

/// A ring's memory. Clones are the same memory.
#[derive(Clone)]
pub(crate) struct Memory {
    backing: Backing,
    /// The application also uses the words without this crate.
    is_direct: Arc<AtomicBool>,
}

#[derive(Clone)]
enum Backing {
    /// Memory of this process; it starts at `start`, aligned to cache lines.
    Plain {
        words: Arc<[AtomicU64]>,
        start: usize,
    },
    /// Shared with another process.
    #[cfg(target_os = "linux")]
    Shared(Arc<shared::Mapping>),
}

impl Memory {
    /// Zeroed memory of this process: control words and order, then entries.
    pub(crate) fn plain(atomic_words: usize, entry_words: usize) -> Self {
        let words = (0..atomic_words + entry_words + LINE).map(|_| AtomicU64::new(0));
        let words: Arc<[AtomicU64]> = words.collect();
        let start = words.as_ptr().align_offset(LINE * size_of::<AtomicU64>());
        // Without the alignment the ring is only slower.
        let start = start.min(LINE);
        Self {
            backing: Backing::Plain { words, start },
            is_direct: Arc::default(),
        }
    }

    /// Memory of two processes.
    #[cfg(target_os = "linux")]
    pub(crate) fn shared(mapping: shared::Mapping) -> Self {
        Self {
            backing: Backing::Shared(Arc::new(mapping)),
            is_direct: Arc::default(),
        }
    }

    /// A word that both sides may access at any time.
    pub(crate) fn atomic(&self, at: usize) -> &AtomicU64 {
        &self.words()[at]
    }

    /// The current value of a word that only this side may write.
    pub(crate) fn own(&self, at: usize) -> u64 {
        self.words()[at].load(Ordering::Relaxed)
    }

    /// Stores a word that only this side may write, and publishes all earlier writes: Release.
    pub(crate) fn publish(&self, at: usize, value: u64) {
        self.words()[at].store(value, Ordering::Release);
    }

    /// Reads a word of an entry that this side owns.
    pub(crate) fn get(&self, at: usize) -> u64 {
        self.words()[at].load(Ordering::Relaxed)
    }

    /// Writes a word of an entry that this side owns.
    pub(crate) fn set(&self, at: usize, value: u64) {
        self.words()[at].store(value, Ordering::Relaxed);
    }

    /// Copies bytes out of an entry that this side owns.
    pub(crate) fn read(&self, at: usize, bytes: &mut [u8]) {
        read_words(&self.words()[at..at + bytes.len().div_ceil(8)], bytes);
    }

    /// Copies bytes into an entry that this side owns.
    pub(crate) fn write(&self, at: usize, bytes: &[u8]) {
        write_words(&self.words()[at..at + bytes.len().div_ceil(8)], bytes);
    }

    /// Whether the process that created the memory has taken it back. Values read before this call may
    /// then be zeros.
    pub(crate) fn is_taken_back(&self) -> bool {
        match &self.backing {
            Backing::Plain { .. } => false,
            #[cfg(target_os = "linux")]
            Backing::Shared(mapping) => mapping.is_taken_back(),
        }
    }

    /// Permits the application to use the words without this crate, and returns them.
    pub(crate) fn open(&self) -> &[AtomicU64] {
        self.is_direct.store(true, Ordering::Relaxed);
        self.words()
    }

    /// Whether the application also uses the words without this crate.
    pub(crate) fn is_direct(&self) -> bool {
        self.is_direct.load(Ordering::Relaxed)
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

/// Memory that two processes share: an anonymous file that neither can shrink.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "a mapping is a pointer")]
pub(crate) mod shared {
    use core::ptr::NonNull;
    use core::slice;
    use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
    use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
    use rustix::mm::{MapFlags, ProtFlags};
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

    /// A whole file of words, mapped for reading and writing. Two processes share it.
    #[derive(Debug)]
    pub struct Mapping {
        start: NonNull<AtomicU64>,
        words: usize,
        /// True in the process that created the file; dropping this then releases the pages.
        is_maker: bool,
    }

    /// Without these the other process could shrink the file, and the next access would raise SIGBUS. The
    /// last seal prevents further seals.
    const SEALS: SealFlags = SealFlags::SHRINK
        .union(SealFlags::GROW)
        .union(SealFlags::SEAL);

    impl Mapping {
        /// A new file of `words` zeros, sealed, and its descriptor for the other process. Dropping this mapping sets the
        /// first word to zero, and releases the memory, unless [`keep_contents`](Self::keep_contents) was called.
        ///
        /// # Errors
        /// When the system has no memory or descriptor.
        pub fn create(words: usize) -> io::Result<(Self, OwnedFd)> {
            let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
            let fd = rustix::fs::memfd_create("dccp-ring", flags)?;
            let bytes = words as u64 * size_of::<AtomicU64>() as u64;
            // Allocates all pages now, so that a lack of memory fails here and not at the first access.
            rustix::fs::fallocate(&fd, FallocateFlags::empty(), 0, bytes)?;
            rustix::fs::fcntl_add_seals(&fd, SEALS)?;
            let mut mapping = Self::of(fd.as_fd(), words)?;
            mapping.is_maker = true;
            Ok((mapping, fd))
        }

        /// Keeps the memory and its contents for as long as another process maps it.
        pub fn keep_contents(&mut self) {
            self.is_maker = false;
        }

        /// The file that another process has made.
        ///
        /// # Errors
        /// Also when the file is not sealed: it could shrink while we use it.
        pub fn attach(fd: BorrowedFd<'_>) -> io::Result<Self> {
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
            // A larger size could not be one slice, and on 32 bits the length would wrap.
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
        pub fn words(&self) -> &[AtomicU64] {
            // SAFETY: `of` mapped `words` words at `start`, aligned to pages, at most `isize::MAX` bytes.
            // They stay mapped until `drop`, and the seal that both constructors require keeps the file's
            // length. Any bits are a valid u64. Atomics allow concurrent changes by the other process.
            unsafe { slice::from_raw_parts(self.start.as_ptr(), self.words) }
        }

        /// The first half of a word, as a futex needs it. Use the word by this function only.
        ///
        /// # Panics
        /// When there is no such word.
        pub fn half_word(&self, at: usize) -> &AtomicU32 {
            let word = &self.words()[at];
            // SAFETY: the word is 8 bytes of the mapping, aligned to 8, and lives as long as `self`. Any bits are a valid
            // u32, and atomics allow concurrent changes.
            unsafe { AtomicU32::from_ptr(word.as_ptr().cast()) }
        }

        /// Whether the file's first word is zero, which means that its creator has dropped it.
        pub(crate) fn is_taken_back(&self) -> bool {
            // Earlier reads must not be reordered behind this load: Acquire.
            fence(Ordering::Acquire);
            let first = self.words().first();
            first.is_some_and(|word| word.load(Ordering::Relaxed) == 0)
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            let bytes = self.words * size_of::<AtomicU64>();
            if self.is_maker {
                // This precedes the zeroing of pages, so a reader of zeros also sees this word.
                if let Some(first) = self.words().first() {
                    first.store(0, Ordering::SeqCst);
                }
                let start = self.start.as_ptr().cast();
                // The other process may keep its mapping, but not our pages. If the system cannot release
                // them now, they are released with the last mapping.
                // SAFETY: the bytes are those of the mapping; later readers of the file read zeros.
                let _ =
                    unsafe { rustix::mm::madvise(start, bytes, rustix::mm::Advice::LinuxRemove) };
            }
            // SAFETY: this is the mapping that `of` made, and all slices of it borrowed from `self`.
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
        fn sizes_beyond_a_slice_are_refused() {
            let (_mapping, fd) = Mapping::create(1).unwrap();
            // The first size would wrap to 8 bytes, the second exceeds half of the address space.
            for words in [usize::MAX / 8 + 2, usize::MAX / 16 + 1] {
                let mapping = Mapping::of(fd.as_fd(), words);
                assert_eq!(mapping.unwrap_err().kind(), io::ErrorKind::OutOfMemory);
            }
        }
    }
}
