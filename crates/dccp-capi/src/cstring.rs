//! Texts that end with a zero byte.

use std::ffi::CString;

/// A text without the zero bytes that C would end at.
pub(crate) fn c_text(text: &str) -> CString {
    let bytes: Vec<u8> = text.bytes().filter(|&byte| byte != 0).collect();
    CString::new(bytes).unwrap_or_default()
}
