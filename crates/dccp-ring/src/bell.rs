//! Wake-ups of the other side, only when it sleeps.
//!
//! A side that wants to sleep announces it in a word of the ring, then checks once more for work. A
//! producer publishes its work first, then reads that word. Both execute a sequentially consistent fence
//! in between, so at least one sees the other's write and no wake-up is lost (docs/ring.md).

use crate::mem::{AtomicU64, Ordering, fence};
use core::fmt;
use std::sync::Arc;

/// Wakes the other side of a ring, for example by a byte on a socket. Called only when that side has
/// announced that it sleeps.
pub trait Bell: Send + Sync {
    /// Wakes it. Returns `false` if the system refused, so that the next call wakes it.
    fn ring(&self) -> bool;
}

impl<F: Fn() + Send + Sync> Bell for F {
    fn ring(&self) -> bool {
        self();
        true
    }
}

/// A bell for a side that polls and never sleeps.
pub fn silent() -> Arc<dyn Bell> {
    Arc::new(|| ())
}

impl fmt::Debug for dyn Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bell")
    }
}

const AWAKE: u64 = 0;
const ASLEEP: u64 = 1;

/// Announces that this side is about to sleep. It must check for work once more before it sleeps.
pub(crate) fn announce_sleep(sleeper: &AtomicU64) {
    sleeper.store(ASLEEP, Ordering::Relaxed);
    fence(Ordering::SeqCst);
}

/// Withdraws the announcement, because this side found work.
pub(crate) fn cancel_sleep(sleeper: &AtomicU64) {
    sleeper.store(AWAKE, Ordering::Relaxed);
}

/// Wakes the other side if it sleeps; call after publishing work.
pub(crate) fn wake(sleeper: &AtomicU64, bell: &dyn Bell) {
    fence(Ordering::SeqCst);
    let is_asleep = sleeper.load(Ordering::Relaxed) != AWAKE;
    if is_asleep && sleeper.swap(AWAKE, Ordering::Relaxed) != AWAKE {
        let is_woken = bell.ring();
        if !is_woken {
            sleeper.store(ASLEEP, Ordering::Relaxed);
        }
    }
}
