//! Files of the kernel.

use std::fs::File;
use std::io::Read as _;

/// No file is read beyond this many bytes.
const LENGTH_MAX: u64 = 4 << 20;

/// The text of a file; `None` if it cannot be read.
pub(crate) fn read(path: &str) -> Option<String> {
    let mut text = String::new();
    let file = File::open(path).ok()?;
    file.take(LENGTH_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

/// The first line of a file.
pub(crate) fn line(path: &str) -> Option<String> {
    let text = read(path)?;
    let line = text.lines().next().map(str::trim);
    line.filter(|line| !line.is_empty()).map(str::to_owned)
}
