//! The values of options, and the errors of those that are wrong.

use crate::limits::{DURATION_MAX, SOCKET_BUFFER};
use crate::load::echo::{ASK_MIN, RESPONSE_MAX};
use crate::load::shape::{self, BadShape, Shape};
use crate::load::timetable::Timetable;
use crate::plan::ccids;
use crate::result::check::Assert;
use crate::schema::Transport;
use crate::session::probe::IDLE_MAX;
use core::fmt;
use core::net::SocketAddr;
use core::ops::RangeInclusive;
use core::str::FromStr;
use core::time::Duration;
use dccp::proto::time::nanos;
use dccp::{Encapsulation, ServiceCode};
use dccp_cli::Failure;
use dccp_cli::args::BadValue;
use dccp_cli::law::{self, NamedLaw};
use dccp_cli::quantity;
use std::path::Path;

pub(crate) fn time(text: &str) -> Result<Duration, BadValue> {
    let value = quantity::time_or_seconds(text)?;
    if value.is_zero() || value > DURATION_MAX {
        return Err(BadValue::new(
            "must be greater than 0 and at most 24h",
            "write 5s, 5m or 5 (seconds)",
        ));
    }
    Ok(value)
}

/// The time of the probes before a test.
pub(super) fn idle(text: &str) -> Result<Duration, BadValue> {
    let value = quantity::time_or_seconds(text)?;
    if value > IDLE_MAX {
        return Err(BadValue::new(
            "must be at most 5s",
            "write 2s, or 0 for no probes",
        ));
    }
    Ok(value)
}

/// A gap between samples.
pub(super) fn sample(text: &str) -> Result<Duration, BadValue> {
    let limits = Duration::from_millis(1)..=Duration::from_mins(1);
    let gap = quantity::time(text)?;
    if !limits.contains(&gap) {
        return Err(BadValue::new(
            "must be 1ms to 1m",
            "write for example --sample 5ms",
        ));
    }
    Ok(gap)
}

pub(crate) fn rate(text: &str) -> Result<u64, BadValue> {
    Ok(quantity::rate_bits_per_s(text)?)
}

/// The rate of a load: as [`rate`], and 0 stands for no limit.
pub(super) fn bitrate(text: &str) -> Result<u64, BadValue> {
    if text == "0" { Ok(0) } else { rate(text) }
}

pub(crate) fn length(text: &str) -> Result<usize, BadValue> {
    use crate::wire::packet::{LEN_MAX, LEN_MIN};
    let bytes = quantity::size_bytes(text)?;
    let length = usize::try_from(bytes).ok();
    length
        .filter(|length| (LEN_MIN..=LEN_MAX).contains(length))
        .ok_or_else(|| {
            let problem = format!("must be {LEN_MIN} to {LEN_MAX} bytes");
            BadValue::new(problem, "write for example --length 1400")
        })
}

/// The size of a socket's buffers.
pub(super) fn socket_buffer(text: &str) -> Result<u64, BadValue> {
    let bytes = quantity::size_bytes(text)?;
    if SOCKET_BUFFER.contains(&bytes) {
        return Ok(bytes);
    }
    let (least, most) = (SOCKET_BUFFER.start(), SOCKET_BUFFER.end());
    let problem = format!("must be {least} to {most} bytes");
    Err(BadValue::new(problem, "write for example --window 4M"))
}

pub(crate) fn ccid(text: &str) -> Result<u8, BadValue> {
    let is_meant = |(number, name): &(u8, &str)| text == *name || text.parse() == Ok(*number);
    let found = ccids().find(is_meant).map(|(number, _)| number);
    found.ok_or_else(|| {
        let list: Vec<String> = ccids()
            .map(|(number, name)| format!("{number} ({name})"))
            .collect();
        let next = format!("choose one of {}", list.join(", "));
        BadValue::new("there is no such congestion control", next)
    })
}

pub(crate) fn law(text: &str) -> Result<NamedLaw, BadValue> {
    law::parse(text).map_err(|e| BadValue::new(e.problem, e.next))
}

/// The name of a congestion control of TCP. Whether a system has it shows later.
pub(crate) fn congestion(text: &str) -> Result<String, BadValue> {
    // The longest name that the kernel takes.
    const NAME_MAX: usize = 15;
    let is_name = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if (1..=NAME_MAX).contains(&text.len()) && text.bytes().all(is_name) {
        return Ok(text.to_owned());
    }
    Err(BadValue::new(
        "must be the name of a congestion control of TCP",
        "write for example --congestion cubic",
    ))
}

/// A parser of numbers within `range`.
pub(crate) fn number<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> Result<T, BadValue> + Clone
where
    T: FromStr + PartialOrd + fmt::Display + Clone,
{
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            let (least, most) = (range.start(), range.end());
            let problem = format!("must be a whole number from {least} to {most}");
            BadValue::new(problem, format!("write for example {least}"))
        })
    }
}

pub(crate) fn share(text: &str) -> Result<f64, BadValue> {
    Ok(quantity::share(text)?)
}

/// The relative error of a mean. None is 0, so repetitions would never reach that.
pub(super) fn precision(text: &str) -> Result<f64, BadValue> {
    let next = "write 2%, or --repeat N for a number of runs";
    let value = share(text)?;
    let value = Some(value).filter(|value| *value > 0.0);
    value.ok_or_else(|| BadValue::new("must be greater than 0", next))
}

pub(crate) fn assertion(text: &str) -> Result<Assert, BadValue> {
    Assert::parse(text).map_err(|e| BadValue::new(e.problem, e.next))
}

/// A shape of the load.
pub(super) fn shape(text: &str) -> Result<Shape, BadValue> {
    if let Some(file) = text.strip_prefix("trace:") {
        let next = "write a time in milliseconds on each line: 0, 33.3, 66.7 …";
        let table = Timetable::read(Path::new(file));
        return table.map(Shape::Trace).map_err(|e| BadValue::new(e, next));
    }
    text.parse()
        .map_err(|e: BadShape| BadValue::new(e.0, SHAPES))
}

/// Bursts: `64/10ms`.
pub(super) fn burst(text: &str) -> Result<Shape, BadValue> {
    shape::burst(text).map_err(|e| BadValue::new(e.0, "write for example --burst 64/10ms"))
}

/// A pause between packets.
pub(super) fn spacing(text: &str) -> Result<Shape, BadValue> {
    shape::burst(&format!("1/{text}")).map_err(|e| BadValue::new(e.0, "write 20us or 20ms"))
}

const SHAPES: &str = "write cbr:20M, burst:64/10ms, poisson:5M, pareto:5M/1.5, frames:30:4M, \
    sine:20M..80M/60s, square:20M..80M/60s or trace:FILE";

/// A transport of the data.
pub(crate) fn transport(text: &str) -> Result<Transport, BadValue> {
    match text {
        "dccp" => Ok(Transport::Dccp),
        "udp" => Ok(Transport::Udp),
        "tcp" => Ok(Transport::Tcp),
        _ => Err(BadValue::new(
            "must be dccp, udp or tcp",
            "write for example --transport udp",
        )),
    }
}

pub(crate) fn over(text: &str) -> Result<Encapsulation, BadValue> {
    text.parse()
        .map_err(|_| BadValue::new("must be udp or ip", "write --over udp or --over ip"))
}

/// A Service Code, with or without the `SC:` before its characters.
pub(super) fn service(text: &str) -> Result<ServiceCode, BadValue> {
    let code = text.parse().or_else(|_| format!("SC:{text}").parse());
    code.map_err(|_| {
        BadValue::new(
            "is no Service Code",
            "write --service DMON or --service SC=x444D4F4E",
        )
    })
}

pub(super) fn place(text: &str) -> Result<SocketAddr, BadValue> {
    let next = "write for example 127.0.0.1:9233 or [::1]:9233";
    text.parse()
        .map_err(|_| BadValue::new("must be an IP address and a port", next))
}

/// The number of packets of a test.
pub(crate) fn count(text: &str) -> Result<u64, BadValue> {
    number(2..=1_000_000_000)(text)
}

/// Equally spaced values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Range {
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// More than 0.
    pub(crate) step: u64,
}

/// The most values of a range.
const RANGE_MAX: u64 = 10_000;

impl Range {
    /// The values in rising order.
    pub(crate) fn values(self) -> impl Iterator<Item = u64> {
        let steps = (self.to - self.from) / self.step;
        (0..=steps).map(move |n| self.from + n * self.step)
    }

    /// Reads `A..B/STEP`, or one value.
    fn read(
        text: &str,
        value: impl Fn(&str) -> Result<u64, BadValue>,
        example: &str,
    ) -> Result<Self, BadValue> {
        let Some((from, rest)) = text.split_once("..") else {
            let from = value(text)?;
            let (to, step) = (from, 1);
            return Ok(Self { from, to, step });
        };
        let next = format!("write {example}");
        let Some((to, step)) = rest.split_once('/') else {
            return Err(BadValue::new("a range needs a step", next));
        };
        let range = Self {
            from: value(from)?,
            to: value(to)?,
            step: value(step)?,
        };
        if range.to < range.from || range.step == 0 {
            return Err(BadValue::new("must rise", next));
        }
        if (range.to - range.from) / range.step >= RANGE_MAX {
            let problem = format!("must have at most {RANGE_MAX} values");
            return Err(BadValue::new(problem, next));
        }
        Ok(range)
    }
}

/// A range of packet sizes.
pub(crate) fn size_range(text: &str) -> Result<Range, BadValue> {
    use crate::wire::packet::{LEN_MAX, LEN_MIN};
    let bytes = |text: &str| Ok(quantity::size_bytes(text)?);
    let range = Range::read(text, bytes, "--size 64..1400/100")?;
    let allowed = LEN_MIN as u64..=LEN_MAX as u64;
    if !allowed.contains(&range.from) || !allowed.contains(&range.to) {
        return Err(BadValue::new(
            format!("must be {LEN_MIN} to {LEN_MAX} bytes"),
            "write for example --size 1400",
        ));
    }
    Ok(range)
}

/// A range of times between packets, in nanoseconds.
pub(crate) fn time_range(text: &str) -> Result<Range, BadValue> {
    let time = |text: &str| -> Result<u64, BadValue> {
        let time = quantity::time(text)?;
        if time > Duration::from_secs(1) {
            return Err(BadValue::new(
                "must be at most 1s",
                "write for example 20us",
            ));
        }
        Ok(nanos(time))
    };
    Range::read(text, time, "--spacing 0us..40us/10us")
}

/// Refuses TCP where a packet is the unit of the measurement.
pub(crate) fn needs_packets(transport: Transport) -> Result<(), Failure> {
    if transport != Transport::Tcp {
        return Ok(());
    }
    Err(Failure::usage(
        "--transport tcp: TCP carries a stream of bytes, and this mode measures packets",
        "write --transport dccp or --transport udp",
    ))
}

/// The length of a message of `rr`.
pub(super) fn message_bytes(text: &str) -> Result<u32, BadValue> {
    allowed_message(quantity::size_bytes(text)?)
}

/// Lengths of messages of `rr`.
pub(super) fn message_range(text: &str) -> Result<Range, BadValue> {
    let bytes = |text: &str| Ok(quantity::size_bytes(text)?);
    let range = Range::read(text, bytes, "for example 64..4864/300")?;
    for end in [range.from, range.to] {
        allowed_message(end)?;
    }
    Ok(range)
}

fn allowed_message(bytes: u64) -> Result<u32, BadValue> {
    let bytes = u32::try_from(bytes).ok();
    let is_allowed = |&bytes: &u32| bytes as usize >= ASK_MIN && bytes <= RESPONSE_MAX;
    bytes.filter(is_allowed).ok_or_else(|| {
        let problem = format!("must be {ASK_MIN} to {RESPONSE_MAX} bytes");
        BadValue::new(problem, "write for example 1400")
    })
}
