//! Version.

#![expect(unsafe_code, reason = "functions with names that C can call")]

use core::ffi::{CStr, c_char};

/// The version's text with its zero byte.
const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    };

/// Returns the version of the library, such as "0.1.0". The text is static.
#[unsafe(no_mangle)]
pub extern "C" fn dccp_version() -> *const c_char {
    VERSION.as_ptr()
}
