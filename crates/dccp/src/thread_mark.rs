//! Marks the engine's threads, which must not wait for themselves.

use core::cell::Cell;

thread_local! {
    static RUNS_ENGINE: Cell<bool> = const { Cell::new(false) };
}

/// Marks this thread as an engine's.
pub(crate) fn mark() {
    RUNS_ENGINE.set(true);
}

/// Whether this thread is an engine's: then no call here may wait for the engine.
pub(crate) fn is_on_engine() -> bool {
    RUNS_ENGINE.get()
}
