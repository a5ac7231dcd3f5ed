//! Values of scenario files: each type reads one form of text or number, and names it for messages and for
//! `docs/scenario-keys.md`.

pub(crate) use super::placed::{At, OneOrMany};

use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;
use dccp_cli::quantity::{self, QuantityError};
use dccp_proto::Rate;
use dccp_proto::cc::registry::Ccids;
use dccp_proto::cc::safeudp;
use dccp_proto::config::bounds::MTU_LEAST;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;

pub(super) fn form_schema(form: &str) -> Schema {
    json_schema!({ "title": form })
}

/// The reason why a text is not a value, and a hint.
pub(crate) type Wrong = (String, String);

fn wrong(what: impl Into<String>, next: impl Into<String>) -> Wrong {
    (what.into(), next.into())
}

fn from_quantity(error: &QuantityError) -> Wrong {
    wrong(error.to_string(), error.next_step())
}

/// A value that files write as a text.
pub(crate) trait FromText: Sized {
    /// The form of the text: `a time such as "20ms"`.
    const FORM: &'static str;

    fn from_text(text: &str) -> Result<Self, Wrong>;
}

struct TextVisitor<T>(PhantomData<T>);

impl<T: FromText> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::FORM)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::from_text(text).map_err(|(what, next)| E::custom(format!("{what}\n{next}")))
    }
}

/// Implements serde and the reference for types with [`FromText`].
macro_rules! text_values {
    ($($type:ident)*) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(TextVisitor(PhantomData))
            }
        }

        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                form_schema(Self::FORM)
            }
        }
    )*};
}

text_values!(
    Name Time Period ShortTime LinkRate Size Amount DatagramSize Mtu QueueSize RingSize TimeSpan Start Shape Drift Pattern
    CongestionControl Transport
);

/// A text that can name something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Name(pub(crate) String);

impl FromText for Name {
    const FORM: &'static str = "a name: letters, digits, `-_.`";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        let is_good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if text.is_empty() || !text.chars().all(is_good) {
            let next = "use letters, digits, '-', '_' and '.'";
            return Err(wrong(format!("'{text}' is not a name"), next));
        }
        Ok(Self(text.to_owned()))
    }
}

/// A time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Time(pub(crate) Duration);

impl FromText for Time {
    const FORM: &'static str = "a time such as `\"20ms\"`";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        let time = quantity::time(text);
        time.map(Self).map_err(|error| from_quantity(&error))
    }
}

/// A time above zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Period(pub(crate) Duration);

impl FromText for Period {
    const FORM: &'static str = "a time above 0s";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        let Time(time) = Time::from_text(text)?;
        if time.is_zero() {
            return Err(wrong(
                "this time must not be zero",
                "write 1s, 100ms or 1us",
            ));
        }
        Ok(Self(time))
    }
}

/// A time of at most a day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ShortTime(pub(crate) Duration);

impl FromText for ShortTime {
    const FORM: &'static str = "a time up to 24h";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        const MAX: Duration = Duration::from_hours(24);
        let Time(time) = Time::from_text(text)?;
        if time > MAX {
            return Err(wrong(format!("{text} is too long here"), "write 0s to 24h"));
        }
        Ok(Self(time))
    }
}

/// Reads a quantity whose unit other programs may leave out. Files need the unit.
fn with_unit<T>(
    text: &str,
    (kind, next): (&str, &str),
    read: impl FnOnce(&str) -> Result<T, QuantityError>,
) -> Result<T, Wrong> {
    match read(text) {
        Ok(_) if text.parse::<f64>().is_ok() => {
            Err(wrong(format!("'{text}' is {kind} without a unit"), next))
        }
        Ok(value) => Ok(value),
        Err(error) => {
            // A bare constraint needs the value before it.
            let error = error.to_string();
            let value = if error.starts_with("must ") { text } else { "" };
            Err(wrong(format!("{value} {error}").trim_start(), next))
        }
    }
}

/// A rate that can be simulated. At 10 Tbit/s a packet takes about a nanosecond.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct LinkRate(pub(crate) Rate);

impl FromText for LinkRate {
    const FORM: &'static str = "a rate such as `\"50Mbit\"`";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        const MAX: u64 = 10_000_000_000_000;
        let form = ("a rate", "write 9600bit, 50Mbit or 150kB/s");
        let bits = with_unit(text, form, quantity::rate_bits_per_s)?;
        if !(8..=MAX).contains(&bits) {
            let what = format!("a rate of {text} cannot be simulated");
            return Err(wrong(what, "write 8bit to 10Tbit"));
        }
        #[expect(clippy::cast_precision_loss, reason = "at most 10^13")]
        let bytes = bits as f64 / 8.0;
        Ok(Self(Rate::from_bytes_per_s(bytes)))
    }
}

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Size(pub(crate) u64);

impl FromText for Size {
    const FORM: &'static str = "a size such as `\"64KiB\"`";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        let form = ("a size", "write 1400B, 64KiB or 4MiB");
        with_unit(text, form, quantity::size_bytes).map(Self)
    }
}

/// A number of bytes above zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Amount(pub(crate) u64);

impl Amount {
    pub(crate) fn bytes(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl FromText for Amount {
    const FORM: &'static str = "a size above 0B";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        match Size::from_text(text)? {
            Size(0) => Err(wrong(
                "this size must not be zero",
                "write 1B, 64KiB or 4MiB",
            )),
            Size(bytes) => Ok(Self(bytes)),
        }
    }
}

/// Bytes of data in a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DatagramSize(pub(crate) usize);

impl FromText for DatagramSize {
    const FORM: &'static str = "a size, 1B to 65000B";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        let Size(bytes) = Size::from_text(text)?;
        match usize::try_from(bytes) {
            Ok(size) if (1..=65_000).contains(&size) => Ok(Self(size)),
            _ => {
                let what = format!("a datagram of {bytes} bytes is not possible");
                Err(wrong(what, "write 1B to 65000B"))
            }
        }
    }
}

/// Bytes of the largest packet of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mtu(pub(crate) usize);

// Its form names the bound.
const _: () = assert!(MTU_LEAST == 296);

impl FromText for Mtu {
    const FORM: &'static str = "a size, 296B to 65535B";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        let Size(bytes) = Size::from_text(text)?;
        match usize::try_from(bytes) {
            Ok(mtu) if (MTU_LEAST..=65_535).contains(&mtu) => Ok(Self(mtu)),
            _ => {
                let what = format!("an MTU of {bytes} bytes is not possible");
                Err(wrong(what, format!("write {MTU_LEAST}B to 65535B")))
            }
        }
    }
}

/// How much a queue holds, as files write it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum QueueSize {
    Packets(u64),
    Bytes(u64),
    /// The bytes that the link sends in this time.
    Time(Duration),
    /// A multiple of the link's rate times its round trip.
    BandwidthDelay(f64),
}

impl FromText for QueueSize {
    const FORM: &'static str = "`\"100p\"`, `\"64KiB\"`, `\"12ms\"` at the rate, or `\"bdp*0.5\"`";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        let factor = match text.strip_prefix("bdp*") {
            Some(factor) => factor.parse().ok().filter(|f| (1e-6..=1e6).contains(f)),
            None => (text == "bdp").then_some(1.0),
        };
        let size = match text.chars().last() {
            _ if factor.is_some() => Ok(factor.map(Self::BandwidthDelay)),
            _ if text.starts_with("bdp") => Ok(None),
            Some('p') => quantity::packets(text).map(|n| Some(Self::Packets(n))),
            Some('B') => quantity::size_bytes(text).map(|n| Some(Self::Bytes(n))),
            Some('s') => quantity::time(text).map(|time| Some(Self::Time(time))),
            _ => Ok(None),
        };
        size.map_err(|error| from_quantity(&error))?.ok_or_else(|| {
            let next = "write 100p, 64KiB, 12ms or bdp*0.5";
            wrong(format!("'{text}' is not a size of a queue"), next)
        })
    }
}

/// Datagrams that may wait at a sender or at a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RingSize(pub(crate) usize);

impl FromText for RingSize {
    const FORM: &'static str = "a number of datagrams such as `\"64p\"`, up to 65536p";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        let size = match text.chars().last() {
            Some('p') => quantity::packets(text).map_err(|error| from_quantity(&error))?,
            _ => 0,
        };
        match usize::try_from(size) {
            Ok(size) if (1..=65_536).contains(&size) => Ok(Self(size)),
            _ => {
                let what = format!("'{text}' is not a number of datagrams");
                Err(wrong(what, "write 1p to 65536p"))
            }
        }
    }
}

/// Two times, the second after the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TimeSpan {
    pub(crate) begin: Duration,
    pub(crate) end: Duration,
}

impl FromText for TimeSpan {
    const FORM: &'static str = "a span of time such as `\"10s..12s\"`";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        let Some((begin, end)) = text.split_once("..") else {
            let what = format!("'{text}' is not a span of time");
            return Err(wrong(what, "write 10s..12s"));
        };
        let (Time(begin), Time(end)) = (Time::from_text(begin)?, Time::from_text(end)?);
        if end <= begin {
            let what = format!("'{text}' ends no later than it begins");
            return Err(wrong(what, "write the earlier time first"));
        }
        Ok(Self { begin, end })
    }
}

/// When a stream begins: at a time, or at a random time in a span.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Start {
    At(Duration),
    Within(TimeSpan),
}

impl FromText for Start {
    const FORM: &'static str = "a time, or a span such as `\"0s..1s\"`";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        if text.contains("..") {
            TimeSpan::from_text(text).map(Self::Within)
        } else {
            Time::from_text(text).map(|Time(time)| Self::At(time))
        }
    }
}

/// How a rate moves over time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Shape {
    Constant(Rate),
    Poisson(Rate),
    Sine {
        least: Rate,
        most: Rate,
        period: Duration,
    },
}

impl FromText for Shape {
    const FORM: &'static str =
        "`\"cbr:50Mbit\"`, `\"poisson:50Mbit\"` or `\"sine:20Mbit..80Mbit/60s\"`";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        let rate = |text| LinkRate::from_text(text).map(|LinkRate(rate)| rate);
        match text.split_once(':') {
            Some(("cbr", text)) => rate(text).map(Self::Constant),
            Some(("poisson", text)) => rate(text).map(Self::Poisson),
            Some(("sine", text)) => sine(text),
            None if text.contains("..") => sine(text),
            _ => {
                let next = "write cbr:50Mbit, poisson:50Mbit or sine:20Mbit..80Mbit/60s";
                Err(wrong(format!("'{text}' is not a shape"), next))
            }
        }
    }
}

/// `20Mbit..80Mbit/60s`: the least and the highest rate, and the period.
fn sine(text: &str) -> Result<Shape, Wrong> {
    let ends = text.split_once("..");
    let parts = ends.and_then(|(least, rest)| Some((least, rest.rsplit_once('/')?)));
    let Some((least, (most, period))) = parts else {
        let what = format!("'{text}' is not a rate that swings");
        return Err(wrong(what, "write 20Mbit..80Mbit/60s"));
    };
    let (LinkRate(least), LinkRate(most)) =
        (LinkRate::from_text(least)?, LinkRate::from_text(most)?);
    let Time(period) = Time::from_text(period)?;
    if most.bytes_per_s() <= least.bytes_per_s() || period.is_zero() {
        let next = "write the lower rate first, and a period above 0s";
        return Err(wrong(format!("'{text}' does not swing"), next));
    }
    Ok(Shape::Sine {
        least,
        most,
        period,
    })
}

/// Drift of a clock, in parts per 10^9.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Drift(pub(crate) i32);

impl FromText for Drift {
    const FORM: &'static str = "a drift such as `\"50ppm\"`, −100000ppm to 100000ppm";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        let ppm = text
            .strip_suffix("ppm")
            .and_then(|ppm| ppm.parse::<f64>().ok());
        let Some(ppm) = ppm.filter(|ppm| (-100_000.0..=100_000.0).contains(ppm)) else {
            let what = format!("'{text}' is not a drift");
            return Err(wrong(what, "write -100000ppm to 100000ppm"));
        };
        #[expect(clippy::cast_possible_truncation, reason = "at most 10^8")]
        let ppb = (ppm * 1000.0).round() as i32;
        Ok(Self(ppb))
    }
}

/// The order of pictures in a film.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Pattern(pub(crate) String);

impl FromText for Pattern {
    const FORM: &'static str = "letters I, P, B";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        if text.is_empty() || !text.chars().all(|c| "IPB".contains(c)) {
            let what = format!("'{text}' is not a pattern of pictures");
            return Err(wrong(what, "write IBBPBBPBBPBB"));
        }
        Ok(Self(text.to_owned()))
    }
}

/// The text form of a law, which `flow.rs` reads, and the number of streams under the flow's name.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct CongestionControl {
    pub(crate) law: String,
    pub(crate) streams: usize,
}

/// Streams of one flow.
const STREAMS_MAX: usize = 10_000;

impl FromText for CongestionControl {
    const FORM: &'static str = "a law (`laws.md`); `*16` behind it for 16 streams";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        let Some((name, number)) = text.rsplit_once('*') else {
            let law = text.to_owned();
            return Ok(Self { law, streams: 1 });
        };
        let streams = number.parse().ok();
        let Some(streams) = streams.filter(|n| (1..=STREAMS_MAX).contains(n)) else {
            let what = format!("'{text}': {number} is not a number of streams");
            return Err(wrong(
                what,
                format!("write {name}*2 to {name}*{STREAMS_MAX}"),
            ));
        };
        let law = name.to_owned();
        Ok(Self { law, streams })
    }
}

/// The transport of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transport {
    /// DCCP with this CCID.
    Dccp(u8),
    Tcp,
    Udp,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dccp(safeudp::NUMBER) => f.write_str("dccp/safeudp"),
            Self::Dccp(ccid) => write!(f, "dccp/ccid{ccid}"),
            Self::Tcp => f.write_str("tcp"),
            Self::Udp => f.write_str("udp"),
        }
    }
}

impl FromText for Transport {
    const FORM: &'static str = "dccp/ccid2, dccp/ccid3, dccp/ccid4, dccp/safeudp, tcp, udp";

    fn from_text(text: &str) -> Result<Self, Wrong> {
        let ccids = Ccids::default();
        let ccids = ccids.iter().map(|ccid| Self::Dccp(ccid.number()));
        let all: Vec<Self> = [Self::Tcp, Self::Udp].into_iter().chain(ccids).collect();
        let names: Vec<String> = all.iter().map(Self::to_string).collect();
        if let Some(n) = names.iter().position(|name| name == text) {
            return Ok(all[n]);
        }
        if text == "dccp/ccid248" {
            return Ok(Self::Dccp(safeudp::NUMBER));
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let next = crate::mistake::suggestion(text, &names);
        Err(wrong(format!("{text}: there is no such transport"), next))
    }
}
