//! Results on standard output.

use crate::Failure;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

/// Prints a text. A reader that closes the pipe early (`| head`) is not a failure.
///
/// # Errors
/// Standard output cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match written {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::write(Path::new("standard output"), &e))
        }
        _ => Ok(()),
    }
}
