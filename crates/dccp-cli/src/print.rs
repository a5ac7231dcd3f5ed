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

/// A text broken between words into lines of `columns` characters. Lines after the first begin with `indent` spaces.
pub fn wrapped(text: &str, indent: usize, columns: usize) -> String {
    let mut lines = String::new();
    let mut width = 0;
    for word in text.split_inclusive(' ') {
        let length = word.chars().count();
        if width > 0 && width + word.trim_end().chars().count() > columns {
            lines.truncate(lines.trim_end().len());
            lines.push('\n');
            lines += &" ".repeat(indent);
            width = indent;
        }
        lines += word;
        width += length;
    }
    lines
}
