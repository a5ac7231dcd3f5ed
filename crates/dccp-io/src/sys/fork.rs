//! Counting forks.
#![expect(
    unsafe_code,
    reason = "pthread_atfork: no safe crate offers a hook that runs in the child"
)]

use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::Once;

static FORKS: AtomicU32 = AtomicU32::new(0);

/// Runs in each child before `fork` returns there.
unsafe extern "C" fn count() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// How many forks lie between the process that called this first and this one.
pub(crate) fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Starts to count. Later calls do nothing.
pub(crate) fn watch() {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| {
        // SAFETY: `count` is a function for the whole life of the process and does nothing but an atomic addition, which
        // is allowed in the child of a process with threads. It fails only without memory; then forks go unnoticed.
        let _ = unsafe { libc::pthread_atfork(None, None, Some(count)) };
    });
}
