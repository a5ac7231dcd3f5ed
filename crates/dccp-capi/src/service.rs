//! Names: Service Codes and ports.

#![expect(unsafe_code, reason = "functions with names that C can call")]

use crate::failure::{Failure, status, value};
use crate::options::{OptionsHandle, set};
use crate::{memory, text};
use core::ffi::{c_char, c_int, c_void};
use dccp::{ServiceCode, service_port};

/// Room that every Service Code needs as text, with its zero byte.
pub const DCCP_SERVICE_CODE_SIZE: usize = 16;

/// The Service Code of a text.
unsafe fn code(text: *const c_char) -> Result<ServiceCode, Failure> {
    // SAFETY: the program passes null or a text.
    let text = unsafe { memory::text(text, "text") }?;
    text.parse()
        .map_err(|e| Failure::invalid(format!("Service Code {text}: {e}")))
}

/// Adds a Service Code by its text, as dccp_options_service_code() does by its number. The text is "SC:VIDE",
/// "SC=1447642181" or "SC=x56494445" (RFC 5595). Returns 0, DCCP_ERR_INVALID for another text, or DCCP_ERR_OPTION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_options_service(
    options: *mut OptionsHandle,
    text: *const c_char,
) -> c_int {
    let change = |o: dccp::Options| {
        // SAFETY: the program passes null or a text.
        let code = unsafe { code(text) }?;
        Ok(o.service_code(code.0.to_be_bytes()))
    };
    // SAFETY: the program passes null or live options.
    unsafe { set(options, change) }
}

/// Reads the text of a Service Code, as dccp_options_service() does, and writes its number to `*number`. Returns 0 or a
/// negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_service_code_from_text(
    text: *const c_char,
    number: *mut u32,
) -> c_int {
    status(|| {
        // SAFETY: the program passes null or a text.
        let code = unsafe { code(text) }?;
        // SAFETY: the program passes room for a number.
        unsafe { memory::put(number, code.0, "number") }
    })
}

/// Writes a Service Code as text into `buffer` of `size` bytes: "SC:VIDE" where its characters permit, otherwise
/// "SC=x0000002A". DCCP_SERVICE_CODE_SIZE bytes suffice. Returns the length of the text, or a negative error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_service_code_to_text(
    number: u32,
    buffer: *mut c_char,
    size: usize,
) -> i64 {
    value(|| {
        // SAFETY: the program passes `size` bytes.
        let buffer = unsafe { memory::buffer(buffer.cast::<c_void>(), size, "buffer") }?;
        text::copy(&ServiceCode(number).to_string(), buffer)
    })
}

/// Returns the port of a service in /etc/services, such as that of "discard", or DCCP_ERR_ADDRESS if there is none.
/// `protocol` is "dccp" or "udp". The addresses of dccp_connect() and dccp_listen() can have such names instead of ports.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dccp_service_port(name: *const c_char, protocol: *const c_char) -> c_int {
    value(|| {
        // SAFETY: the program passes null or a text.
        let name = unsafe { memory::text(name, "name") }?;
        // SAFETY: the program passes null or a text.
        let protocol = unsafe { memory::text(protocol, "protocol") }?;
        let port = service_port(name, protocol);
        port.map(c_int::from)
            .ok_or_else(|| Failure::service(name, protocol))
    })
}
