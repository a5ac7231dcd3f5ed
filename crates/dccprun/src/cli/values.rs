//! The values of options, and the errors of those that are wrong.

use super::Parsed;
use core::time::Duration;
use dccp::ServiceCode;
use dccp_cli::args::BadValue;
use dccp_cli::law::{self, NamedLaw};
use dccp_cli::quantity;

pub(super) fn port(text: &str) -> Parsed<u16> {
    let port = text.parse().ok().filter(|port| *port != 0);
    port.ok_or_else(|| BadValue::new("must be from 1 to 65535", "write for example 7000"))
}

pub(super) fn connections(text: &str) -> Parsed<u32> {
    let number = text.parse().ok().filter(|n| (1..=65_536).contains(n));
    number.ok_or_else(|| BadValue::new("must be from 1 to 65536", "write for example 64"))
}

pub(super) fn span(text: &str) -> Parsed<Duration> {
    let value = quantity::time(text)?;
    let range = Duration::from_millis(100)..=Duration::from_hours(1);
    if range.contains(&value) {
        Ok(value)
    } else {
        Err(BadValue::new(
            "must be 100 ms to 1 h",
            "write for example 30s",
        ))
    }
}

/// A Service Code in a form of RFC 4340 §8.1.2, or as a number.
pub(super) fn service(text: &str) -> Parsed<ServiceCode> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let code = number
        .map(ServiceCode)
        .filter(|code| *code != ServiceCode::INVALID);
    code.or_else(|| text.parse().ok()).ok_or_else(|| {
        BadValue::new(
            "must be a number below 4294967295, or a Service Code of RFC 4340",
            "write for example 42, 0x2a, SC:VIDE or SC=x56494445",
        )
    })
}

pub(super) fn law(text: &str) -> Parsed<NamedLaw> {
    law::parse(text).map_err(|e| BadValue::new(e.problem, e.next))
}
