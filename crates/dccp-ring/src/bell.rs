//! Waking the other side, but only when it sleeps.
//!
//! Who wants to sleep says so in a word of the ring, then looks once more; who has news writes them
//! first, then looks at that word. Between write and look both have a sequentially consistent
//! fence, so that one of the two sees the other's write: no sleeper is forgotten (docs/ring.md).

use crate::mem::{AtomicU64, Ordering, fence};
use core::fmt;
use std::sync::Arc;

/// Wakes the other side of a ring, for example by a byte on a socket. Called only when that side
/// has said that it sleeps.
pub trait Bell: Send + Sync {
    /// Wakes it.
    fn ring(&self);
}

impl<F: Fn() + Send + Sync> Bell for F {
    fn ring(&self) {
        self();
    }
}

/// A bell for a side that never sleeps but looks again and again.
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

/// This side is about to sleep. It must look for news once more before it does.
pub(crate) fn lie_down(sleeper: &AtomicU64) {
    sleeper.store(ASLEEP, Ordering::Relaxed);
    fence(Ordering::SeqCst);
}

/// This side found news after all: nobody need wake it.
pub(crate) fn stand_up(sleeper: &AtomicU64) {
    sleeper.store(AWAKE, Ordering::Relaxed);
}

/// There are news: wakes the other side if it sleeps.
pub(crate) fn wake(sleeper: &AtomicU64, bell: &dyn Bell) {
    fence(Ordering::SeqCst);
    let is_asleep = sleeper.load(Ordering::Relaxed) != AWAKE;
    if is_asleep && sleeper.swap(AWAKE, Ordering::Relaxed) != AWAKE {
        bell.ring();
    }
}
