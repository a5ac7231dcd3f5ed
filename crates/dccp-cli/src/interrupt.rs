//! Ctrl-C, or a request to terminate. After the first, the program ends by itself with the results so far. The
//! second ends it at once.

use crate::{Failure, exit};
use core::sync::atomic::{AtomicBool, Ordering};

static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);
static IS_LISTENING: AtomicBool = AtomicBool::new(false);

/// Installs the handler, if it is not installed yet.
///
/// # Errors
/// The system rejects the handler.
pub fn listen() -> Result<(), Failure> {
    if IS_LISTENING.swap(true, Ordering::SeqCst) {
        return Ok(());
    }
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

/// Does what the first Ctrl-C does. A terminal that passes keys on as they are sends no signal for Ctrl-C.
pub fn press() {
    IS_INTERRUPTED.store(true, Ordering::SeqCst);
}

/// Returns true after the first Ctrl-C or request to terminate.
pub fn is_pressed() -> bool {
    IS_INTERRUPTED.load(Ordering::SeqCst)
}
