//! What a flow sends: `kind` and the keys that belong to it.

use super::document::Item;
use super::fields::Fields;
use super::mistake::Mistake;
use super::plan::Kind;
use super::read;
use core::time::Duration;
use dccp_proto::Rate;
use dccp_sim::Stream;
use dccp_sim::source::{App, Frames, Source, Spread, Stamp};

/// The bytes of a datagram if nobody says otherwise: what TCP has in packets of 1500 bytes.
const SIZE: usize = 1460;
/// The same for DCCP, if the application chooses it: what fits a packet of 1500 bytes with any options.
const DCCP_SIZE: usize = 1444;
const PING_SIZE: usize = 64;
const KINDS: &[&str] = &[
    "bulk",
    "udp",
    "cbr",
    "poisson",
    "onoff",
    "exponential",
    "pareto",
    "sine",
    "media",
    "ping",
    "rr",
    "requests",
];
/// For ever.
const ALL: u64 = u64::MAX;

/// What a flow sends, and what the other end does with it.
pub(super) struct Traffic {
    /// The word for it in the file.
    pub(super) word: &'static str,
    pub(super) kind: Kind,
    /// Bytes of a datagram.
    pub(super) size: usize,
    pub(super) sender: App,
    pub(super) receiver: App,
}

impl Traffic {
    fn new(word: &'static str, kind: Kind, size: usize, source: Source) -> Self {
        Self {
            word,
            kind,
            size,
            sender: App {
                source,
                ..App::default()
            },
            receiver: App::default(),
        }
    }

    /// The receiver learns how old data is that arrives.
    fn with_ages(mut self) -> Self {
        self.sender.stamps = true;
        self.receiver.stamps = true;
        self
    }
}

/// What a flow sends. What is left to chance follows `random`.
pub(super) fn traffic(fields: &Fields<'_>, random: Stream) -> Result<Traffic, Mistake> {
    let item = fields.item("kind");
    let word = item.map_or(Ok("bulk"), read::text)?;
    let Some(word) = KINDS.iter().find(|kind| **kind == word) else {
        let place = item.map_or(fields.place(), |item| &item.place);
        return Err(Mistake::unknown(place, "kind of flow", word, KINDS));
    };
    let carrier = fields.get("transport", read::text)?;
    let is_dccp = carrier.map_or(*word != "udp", |name| name.starts_with("dccp"));
    let usual = match *word {
        "ping" | "rr" | "requests" => PING_SIZE,
        "bulk" => SIZE,
        _ if is_dccp => DCCP_SIZE,
        _ => SIZE,
    };
    let len = fields.get("size", datagram_size)?.unwrap_or(usual);
    let rhythm = |source| Traffic::new(word, Kind::Rhythm, len, source);
    let mut traffic = match *word {
        "cbr" => rhythm(cbr(
            len,
            fields.need("rate", |item| interval(item, read::rate(item)?, len))?,
        )),
        "poisson" => rhythm(poisson(
            len,
            fields.need("rate", |item| interval(item, read::rate(item)?, len))?,
        )),
        "sine" => rhythm(fields.need("shape", |item| sine(item, read::text(item)?, len))?),
        "udp" => rhythm(fields.need("shape", |item| shape(item, len))?),
        "onoff" | "exponential" | "pareto" => rhythm(on_off(fields, word, len)?),
        "media" => rhythm(media(fields, len)?).with_ages(),
        "ping" | "rr" => ping(fields, word, len)?,
        "requests" => requests(fields, word, len)?,
        _ => bulk(fields, len)?,
    };
    traffic.sender.random = random;
    Ok(traffic)
}

fn datagram_size(item: &Item) -> Result<usize, Mistake> {
    let bytes = read::size(item)?;
    match usize::try_from(bytes) {
        Ok(size) if (1..=65_000).contains(&size) => Ok(size),
        _ => Err(Mistake::new(
            &item.place,
            format!("a datagram of {bytes} bytes is not possible"),
            "write 1B to 65000B",
        )),
    }
}

fn bulk(fields: &Fields<'_>, len: usize) -> Result<Traffic, Mistake> {
    let amount = fields.get("amount", read::bytes)?;
    let count = amount.map_or(ALL, |bytes| bytes.div_ceil(len as u64));
    Ok(Traffic::new(
        "bulk",
        Kind::Bulk,
        len,
        Source::Bulk { len, count },
    ))
}

/// The time of a datagram at a rate. The simulator's clock knows nothing shorter than a nanosecond.
fn interval(item: &Item, rate: Rate, len: usize) -> Result<Duration, Mistake> {
    const LEAST: Duration = Duration::from_nanos(1);
    let interval = rate.time_for(len as u64);
    if interval < LEAST {
        return Err(Mistake::new(
            &item.place,
            format!("datagrams of {len} B would come more than once in a nanosecond"),
            "write a lower rate, or larger datagrams",
        ));
    }
    Ok(interval)
}

fn cbr(len: usize, interval: Duration) -> Source {
    Source::Cbr {
        len,
        interval,
        count: ALL,
    }
}

fn poisson(len: usize, interval: Duration) -> Source {
    Source::Poisson {
        len,
        interval,
        count: ALL,
    }
}

/// `shape = "cbr:50Mbit"`, `"poisson:50Mbit"` or `"sine:20Mbit..80Mbit/60s"`.
fn shape(item: &Item, len: usize) -> Result<Source, Mistake> {
    let text = read::text(item)?;
    let rate = |text| rate(item, text);
    match text.split_once(':') {
        Some(("cbr", text)) => Ok(cbr(len, interval(item, rate(text)?, len)?)),
        Some(("poisson", text)) => Ok(poisson(len, interval(item, rate(text)?, len)?)),
        Some(("sine", text)) => sine(item, text, len),
        _ => Err(Mistake::new(
            &item.place,
            format!("'{text}' is no shape"),
            "write cbr:50Mbit, poisson:50Mbit or sine:20Mbit..80Mbit/60s",
        )),
    }
}

fn rate(item: &Item, text: &str) -> Result<Rate, Mistake> {
    read::rate(&Item {
        value: super::document::Value::Text(text.to_owned()),
        ..item.clone()
    })
}

/// `20Mbit..80Mbit/60s`: from the least to the most, and the time of a swing.
fn sine(item: &Item, text: &str, len: usize) -> Result<Source, Mistake> {
    let parts = text
        .split_once("..")
        .and_then(|(least, rest)| Some((least, rest.rsplit_once('/')?)));
    let Some((least, (most, period))) = parts else {
        return Err(Mistake::new(
            &item.place,
            format!("'{text}' is no swinging rate"),
            "write 20Mbit..80Mbit/60s",
        ));
    };
    let (least, most) = (rate(item, least)?, rate(item, most)?);
    interval(item, most, len)?;
    let (least, most) = (least.bytes_per_s(), most.bytes_per_s());
    let period = dccp_cli::quantity::time(period).map_err(|e| read::from_quantity(item, &e))?;
    if most <= least || period.is_zero() {
        return Err(Mistake::new(
            &item.place,
            format!("'{text}' does not swing"),
            "write the lower rate first, and a period above 0s",
        ));
    }
    Ok(Source::Sine {
        len,
        mean: Rate::from_bytes_per_s(f64::midpoint(least, most)),
        swing: Rate::from_bytes_per_s((most - least) / 2.0),
        period,
    })
}

fn on_off(fields: &Fields<'_>, word: &str, len: usize) -> Result<Source, Mistake> {
    let interval = fields.need("rate", |item| interval(item, read::rate(item)?, len))?;
    let (on, off) = (
        fields.need("on", read::period)?,
        fields.need("off", read::period)?,
    );
    let spread = match word {
        "onoff" => |mean, _| Spread::Fixed(mean),
        "exponential" => |mean, _| Spread::Exponential(mean),
        _ => |mean, shape| Spread::Pareto { mean, shape },
    };
    let shape = match word {
        "pareto" => fields.get("pareto_shape", read::number(1.01..=100.0))?,
        _ => None,
    };
    let shape = shape.unwrap_or(1.5);
    Ok(Source::OnOff {
        len,
        interval,
        on: spread(on, shape),
        off: spread(off, shape),
    })
}

/// A film: `pattern`, `every`, and the bytes of an I, a P and a B picture.
fn media(fields: &Fields<'_>, len: usize) -> Result<Source, Mistake> {
    const PATTERN: &str = "IBBPBBPBBPBB";
    const EVERY: Duration = Duration::from_millis(40);
    let pattern = fields.get("pattern", |item| {
        let text = read::text(item)?;
        if text.is_empty() || !text.chars().all(|c| "IPB".contains(c)) {
            let what = format!("'{text}' is no pattern of pictures");
            return Err(Mistake::new(&item.place, what, "write IBBPBBPBBPBB"));
        }
        Ok(text)
    })?;
    let pictures = fields.need("pictures", Ok)?;
    let sizes: Vec<usize> = (fields.list("pictures").iter())
        .map(|item| Ok(usize::try_from(read::bytes(item)?).unwrap_or(usize::MAX)))
        .collect::<Result<_, Mistake>>()?;
    let sizes: [usize; 3] = sizes.try_into().map_err(|_| {
        Mistake::new(
            &pictures.place,
            "a film has three sizes of pictures",
            "write [\"15000B\", \"6000B\", \"2000B\"]: I, P and B",
        )
    })?;
    if len < Stamp::LEN {
        return Err(Mistake::new(
            fields.place(),
            format!("datagrams of {len} bytes have no room for a stamp"),
            format!("write a size of {}B or more", Stamp::LEN),
        ));
    }
    Ok(Source::Frames(Frames {
        pattern: pattern.unwrap_or(PATTERN).to_owned(),
        interval: fields.get("every", read::period)?.unwrap_or(EVERY),
        sizes,
        datagram: len,
        count: ALL,
    }))
}

/// Datagrams at an interval that come back.
fn ping(fields: &Fields<'_>, word: &'static str, len: usize) -> Result<Traffic, Mistake> {
    const EVERY: Duration = Duration::from_millis(100);
    if len < Stamp::LEN {
        return Err(Mistake::new(
            fields.place(),
            format!("a ping of {len} bytes has no room for a stamp"),
            format!("write a size of {}B or more", Stamp::LEN),
        ));
    }
    let interval = fields.get("every", read::period)?.unwrap_or(EVERY);
    let source = Source::Cbr {
        len,
        interval,
        count: ALL,
    };
    let mut traffic = Traffic::new(word, Kind::Probe, len, source);
    traffic.sender.stamps = true;
    traffic.receiver.echo = true;
    Ok(traffic)
}

/// A request, its answer, and after a pause the next.
fn requests(fields: &Fields<'_>, word: &'static str, len: usize) -> Result<Traffic, Mistake> {
    const PATIENCE: Duration = Duration::from_secs(3);
    let answer = fields.need("answer", read::bytes)?;
    let source = Source::Requests {
        len,
        answer: usize::try_from(answer).unwrap_or(usize::MAX),
        think: Spread::Exponential(fields.get("think", read::time)?.unwrap_or_default()),
        patience: fields.get("patience", read::period)?.unwrap_or(PATIENCE),
        count: ALL,
    };
    let mut traffic = Traffic::new(word, Kind::Rhythm, len, source);
    traffic.receiver.answer = usize::try_from(answer).unwrap_or(usize::MAX);
    Ok(traffic)
}
