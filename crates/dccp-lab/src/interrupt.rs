//! Ctrl-C, or a request to terminate: the first keeps the finished cells and ends, the second ends the
//! program at once.

use crate::error::{Failure, exit};
use core::sync::atomic::{AtomicBool, Ordering};

static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Begins to listen.
pub(crate) fn listen() -> Result<(), Failure> {
    let handler = || {
        if IS_INTERRUPTED.swap(true, Ordering::SeqCst) {
            std::process::exit(exit::INTERRUPTED);
        }
    };
    ctrlc::set_handler(handler).map_err(|e| {
        Failure::run(
            format!("Ctrl-C cannot be caught: {e}"),
            "check this system's limits",
        )
    })
}

/// Whether it came.
pub(crate) fn is_pressed() -> bool {
    IS_INTERRUPTED.load(Ordering::SeqCst)
}
