//! Texts for the program, in its own buffers.

use crate::cstring::c_text;
use crate::failure::Failure;

/// Copies a text and its zero byte. Returns the length without it.
pub(crate) fn copy(text: &str, buffer: &mut [u8]) -> Result<i64, Failure> {
    let text = c_text(text);
    let bytes = text.as_bytes_with_nul();
    let available = buffer.len();
    let Some(room) = buffer.get_mut(..bytes.len()) else {
        return Err(Failure::invalid(format!(
            "size: {available}: must be at least {} for this text",
            bytes.len()
        )));
    };
    room.copy_from_slice(bytes);
    Ok(count(bytes.len() - 1))
}

/// A number of things in memory, which always fits.
pub(crate) fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}
