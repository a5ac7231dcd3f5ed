//! The bell at which the application of a ring in this process sleeps.

use core::time::Duration;
use dccp_ring::Bell;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A bell at which a thread sleeps. A task sleeps with those of the connection, and wakes where
/// nothing is locked: after the engine's turn that rang the bell.
#[derive(Debug, Default)]
pub(crate) struct Parker {
    /// The number of rings.
    rings: Mutex<u64>,
    condvar: Condvar,
}

/// One listener of a bell. Each listener notices each ring by itself.
#[derive(Clone, Debug)]
pub(crate) struct Ear {
    parker: Arc<Parker>,
    /// The number of rings at this listener's last check.
    heard: u64,
}

impl Parker {
    fn rings(&self) -> MutexGuard<'_, u64> {
        self.rings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bell for Parker {
    fn ring(&self) -> bool {
        *self.rings() += 1;
        self.condvar.notify_all();
        true
    }
}

impl Ear {
    pub(crate) fn new(parker: Arc<Parker>) -> Self {
        Self { parker, heard: 0 }
    }

    /// Sleeps until the bell rings, or has rung since the last check, for at most `at_most`.
    pub(crate) fn listen(&mut self, at_most: Option<Duration>) {
        let Self { parker, heard } = self;
        let is_silent = |rings: &mut u64| rings == heard;
        let rings = if let Some(time) = at_most {
            let waited = parker
                .condvar
                .wait_timeout_while(parker.rings(), time, is_silent);
            waited.unwrap_or_else(PoisonError::into_inner).0
        } else {
            let waited = parker.condvar.wait_while(parker.rings(), is_silent);
            waited.unwrap_or_else(PoisonError::into_inner)
        };
        *heard = *rings;
    }

    /// Whether the bell has rung since the last check.
    #[cfg(feature = "tokio")]
    pub(crate) fn hears(&mut self) -> bool {
        let rings = *self.parker.rings();
        core::mem::replace(&mut self.heard, rings) != rings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_listener_notices_each_ring() {
        let parker = Arc::new(Parker::default());
        let mut ears = [Ear::new(parker.clone()), Ear::new(parker.clone())];
        for rings in 1..4 {
            (0..rings).for_each(|_| assert!(parker.ring()));
            for ear in &mut ears {
                // It has rung, so no listener sleeps.
                ear.listen(None);
                assert_eq!(ear.heard, *parker.rings());
                ear.listen(Some(Duration::ZERO));
            }
        }
    }
}
