//! Ctrl-C, or a request to terminate: after the first a program ends by itself, with what it has; the second
//! ends it at once.

use crate::{Failure, exit};
use core::sync::atomic::{AtomicBool, Ordering};

static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Begins to listen.
///
/// # Errors
/// The system does not let it.
pub fn listen() -> Result<(), Failure> {
    let handler = || {
        if IS_INTERRUPTED.swap(true, Ordering::SeqCst) {
            std::process::exit(exit::INTERRUPTED.into());
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
pub fn is_pressed() -> bool {
    IS_INTERRUPTED.load(Ordering::SeqCst)
}
