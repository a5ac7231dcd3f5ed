//! The values of options, and the errors of those that are wrong.

use core::net::SocketAddr;
use core::ops::RangeInclusive;
use core::time::Duration;
use dccp::Encapsulation;
use dccp_cli::args::BadValue;
use dccp_cli::law::{self, NamedLaw};
use dccp_cli::quantity;

/// A parser of times within `range`.
pub(super) fn span(
    range: RangeInclusive<Duration>,
) -> impl Fn(&str) -> Result<Duration, BadValue> + Clone {
    move |text| {
        let value = quantity::time(text)?;
        if range.contains(&value) {
            return Ok(value);
        }
        let (least, most) = (range.start(), range.end());
        Err(BadValue::new(
            format!("must be {} ms to {} s", least.as_millis(), most.as_secs()),
            format!("write for example {}ms", least.as_millis()),
        ))
    }
}

/// A parser of whole numbers within `range`.
pub(super) fn number(range: RangeInclusive<u64>) -> impl Fn(&str) -> Result<u64, BadValue> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            BadValue::new(
                format!("must be a whole number from {least} to {most}"),
                format!("write for example {most}"),
            )
        })
    }
}

pub(super) fn udp_address(text: &str) -> Result<SocketAddr, BadValue> {
    text.parse().map_err(|_| {
        BadValue::new(
            "must be an IP address and a port",
            "write for example 127.0.0.1:5004 or [::1]:5004",
        )
    })
}

pub(super) fn encapsulation(text: &str) -> Result<Encapsulation, BadValue> {
    text.parse()
        .map_err(|_| BadValue::new("must be udp or ip", "leave --over out to use udp"))
}

pub(super) fn law(text: &str) -> Result<NamedLaw, BadValue> {
    law::parse(text).map_err(|e| BadValue::new(e.problem, e.next))
}
