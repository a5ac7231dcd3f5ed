//! The traffic of a flow: `kind` and the keys that belong to it.

use super::keys::{FlowKeys, FlowKind, LateChoice};
use super::plan::{self, Flow, Kind};
use super::values::{Amount, At, LinkRate, Shape, Transport};
use crate::mistake::{Mistake, Place};
use core::time::Duration;
use dccp_proto::Rate;
use dccp_sim::Stream;
use dccp_sim::source::{App, Frames, Ring, Source, Spread, Stamp};

/// Bytes of a datagram unless the file says otherwise: what TCP has in packets of 1500 bytes.
const SIZE: usize = 1500 - IP_AND_TCP;
/// Bytes of the headers of IP and TCP.
const IP_AND_TCP: usize = 40;
/// The same for DCCP: what fits a packet of 1500 bytes with any options.
const DCCP_SIZE: usize = 1444;
const PING_SIZE: usize = 64;
/// The count of a source without an end.
const ENDLESS: u64 = u64::MAX;

impl FlowKind {
    pub(crate) const ALL: [Self; 12] = [
        Self::Bulk,
        Self::Udp,
        Self::Cbr,
        Self::Poisson,
        Self::OnOff,
        Self::Exponential,
        Self::Pareto,
        Self::Sine,
        Self::Media,
        Self::Ping,
        Self::Rr,
        Self::Requests,
    ];

    /// The name in files.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Bulk => "bulk",
            Self::Udp => "udp",
            Self::Cbr => "cbr",
            Self::Poisson => "poisson",
            Self::OnOff => "onoff",
            Self::Exponential => "exponential",
            Self::Pareto => "pareto",
            Self::Sine => "sine",
            Self::Media => "media",
            Self::Ping => "ping",
            Self::Rr => "rr",
            Self::Requests => "requests",
        }
    }

    /// The keys that only some kinds have, and this one does.
    pub(crate) const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Bulk => &["amount"],
            Self::Cbr => &["rate", "important", "ring", "late_choice", "obeys"],
            Self::Poisson => &["rate", "important", "ring", "late_choice"],
            Self::Udp | Self::Sine => &["shape"],
            Self::OnOff | Self::Exponential => &["rate", "on", "off"],
            Self::Pareto => &["rate", "on", "off", "pareto_shape"],
            Self::Media => &[
                "pattern",
                "every",
                "pictures",
                "ring",
                "late_choice",
                "deadline",
            ],
            Self::Ping | Self::Rr => &["every"],
            Self::Requests => &["answer", "think", "patience"],
        }
    }
}

/// The applications of a flow.
pub(crate) struct Traffic {
    pub(crate) kind: Kind,
    /// Bytes of a datagram.
    pub(crate) size: usize,
    pub(crate) sender: App,
    pub(crate) receiver: App,
}

impl Traffic {
    fn new(kind: Kind, size: usize, source: Source) -> Self {
        Self {
            kind,
            size,
            sender: App {
                source,
                ..App::default()
            },
            receiver: App::default(),
        }
    }
}

/// The traffic of a flow. `random` is the source of its random numbers.
pub(crate) fn traffic(keys: &At<FlowKeys>, random: Stream) -> Result<Traffic, Mistake> {
    let kind = keys.kind.unwrap_or_default();
    let is_dccp = match &keys.transport {
        Some(name) => matches!(name.value, Transport::Dccp(_)),
        None => kind != FlowKind::Udp,
    };
    let default = match kind {
        FlowKind::Ping | FlowKind::Rr | FlowKind::Requests => PING_SIZE,
        FlowKind::Bulk => SIZE,
        _ if is_dccp => DCCP_SIZE,
        _ => SIZE,
    };
    let len = keys.size.map_or(default, |size| size.0);
    let rhythm = |source| Traffic::new(Kind::Timed, len, source);
    let mut traffic = match kind {
        FlowKind::Bulk => bulk(keys, len),
        FlowKind::Cbr => rhythm(cbr(len, interval_of(keys, len)?)),
        FlowKind::Poisson => rhythm(poisson(len, interval_of(keys, len)?)),
        FlowKind::Udp | FlowKind::Sine => rhythm(shaped(keys, kind, len)?),
        FlowKind::OnOff | FlowKind::Exponential | FlowKind::Pareto => {
            rhythm(on_off(keys, kind, len)?)
        }
        FlowKind::Media => rhythm(media(keys, len)?),
        FlowKind::Ping | FlowKind::Rr => ping(keys, len)?,
        FlowKind::Requests => requests(keys, len)?,
    };
    traffic.sender.random = random;
    if is_recorded(keys, kind) {
        has_room_for_stamp(keys, len)?;
        // DCCP knows datagrams by their stamps.
        traffic.sender.stamps = is_dccp;
        record(keys, &mut traffic);
    }
    Ok(traffic)
}

/// Whether each datagram is recorded: of films, and of flows with a ring, a choice or important datagrams.
fn is_recorded(keys: &FlowKeys, kind: FlowKind) -> bool {
    let has_keys = keys.important.is_some() || keys.ring.is_some() || keys.late_choice.is_some();
    kind == FlowKind::Media || has_keys
}

/// Sets the importance of datagrams and their ring, and records them at both ends.
fn record(keys: &FlowKeys, traffic: &mut Traffic) {
    let default = Ring::default();
    traffic.receiver.logs = true;
    let sender = &mut traffic.sender;
    sender.logs = true;
    sender.important_every = keys.important.as_ref().map(|important| important.every.0);
    sender.ring = Ring {
        room: keys.ring.as_ref().map_or(default.room, |ring| ring.0),
        prefers_important: keys.late_choice == Some(LateChoice::PreferImportant),
        lifetime: keys.deadline.map(|time| time.0),
    };
}

fn bulk(keys: &FlowKeys, len: usize) -> Traffic {
    let count = keys
        .amount
        .map_or(ENDLESS, |bytes| bytes.0.div_ceil(len as u64));
    Traffic::new(Kind::Bulk, len, Source::Bulk { len, count })
}

/// A DCCP flow knows the MTU of its interface. Unless the file says otherwise, its bulk data fill the packets.
pub(crate) fn use_mtu(keys: &FlowKeys, mtu: Option<usize>, flow: &mut Flow) {
    let (plan::Transport::Dccp(config), Some(mtu)) = (&mut flow.transport, mtu) else {
        return;
    };
    config.mtu = mtu;
    if flow.kind == Kind::Bulk && keys.size.is_none() {
        // The path's packet size bounds a datagram.
        flow.sender.source = bulk(keys, mtu.saturating_sub(IP_AND_TCP)).sender.source;
    }
}

/// The time of a datagram at a rate. A nanosecond is the step of the simulator's clock.
fn interval(place: &Place, rate: Rate, len: usize) -> Result<Duration, Mistake> {
    const LEAST: Duration = Duration::from_nanos(1);
    let interval = rate.time_for(len as u64);
    if interval < LEAST {
        let what = format!("there would be several datagrams of {len} B in a nanosecond");
        let next = "write a lower rate, or larger datagrams";
        return Err(Mistake::new(place, what, next));
    }
    Ok(interval)
}

/// The time of a datagram at the flow's rate.
fn interval_of(keys: &At<FlowKeys>, len: usize) -> Result<Duration, Mistake> {
    match &keys.rate {
        Some(At {
            place,
            value: LinkRate(rate),
        }) => interval(place, *rate, len),
        None => Err(Mistake::missing(&keys.place, "rate")),
    }
}

fn cbr(len: usize, interval: Duration) -> Source {
    Source::Cbr {
        len,
        interval,
        count: ENDLESS,
    }
}

fn poisson(len: usize, interval: Duration) -> Source {
    Source::Poisson {
        len,
        interval,
        count: ENDLESS,
    }
}

fn shaped(keys: &At<FlowKeys>, kind: FlowKind, len: usize) -> Result<Source, Mistake> {
    let missing = || Mistake::missing(&keys.place, "shape");
    let shape = keys.shape.as_ref().ok_or_else(missing)?;
    let place = &shape.place;
    match shape.value {
        Shape::Sine {
            least,
            most,
            period,
        } => {
            interval(place, most, len)?;
            let (least, most) = (least.bytes_per_s(), most.bytes_per_s());
            Ok(Source::Sine {
                len,
                mean: Rate::from_bytes_per_s(f64::midpoint(least, most)),
                swing: Rate::from_bytes_per_s((most - least) / 2.0),
                period,
            })
        }
        _ if kind == FlowKind::Sine => {
            let what = "this is not a rate that swings";
            Err(Mistake::new(place, what, "write 20Mbit..80Mbit/60s"))
        }
        Shape::Constant(rate) => Ok(cbr(len, interval(place, rate, len)?)),
        Shape::Poisson(rate) => Ok(poisson(len, interval(place, rate, len)?)),
    }
}

fn on_off(keys: &At<FlowKeys>, kind: FlowKind, len: usize) -> Result<Source, Mistake> {
    let missing = |key| Mistake::missing(&keys.place, key);
    let on = keys.on.ok_or_else(|| missing("on"))?.0;
    let off = keys.off.ok_or_else(|| missing("off"))?.0;
    at_least_a_microsecond(keys, "the time of on and off", on + off)?;
    let shape = keys.pareto_shape.map_or(1.5, |number| number.0);
    let spread = |mean| match kind {
        FlowKind::OnOff => Spread::Fixed(mean),
        FlowKind::Exponential => Spread::Exponential(mean),
        _ => Spread::Pareto { mean, shape },
    };
    Ok(Source::OnOff {
        len,
        interval: interval_of(keys, len)?,
        on: spread(on),
        off: spread(off),
    })
}

/// Refuses datagrams that are too small for the time that they carry.
fn has_room_for_stamp(keys: &At<FlowKeys>, len: usize) -> Result<(), Mistake> {
    if len >= Stamp::LEN {
        return Ok(());
    }
    let what = format!("a datagram of {len} bytes has no room for the time it was sent");
    let next = format!("write a size of {}B or more", Stamp::LEN);
    Err(Mistake::new(&keys.place, what, next))
}

/// A time of a flow that repeats. Shorter ones would keep the simulator at one moment.
fn at_least_a_microsecond(
    keys: &At<FlowKeys>,
    key: &str,
    time: Duration,
) -> Result<Duration, Mistake> {
    if time >= Duration::from_micros(1) {
        return Ok(time);
    }
    let what = format!("{key} is shorter than a microsecond");
    Err(Mistake::new(&keys.place, what, "write 1us or more"))
}

/// A size that may be large: each datagram of it has a record.
fn at_most_a_gibibyte(keys: &At<FlowKeys>, key: &str, bytes: usize) -> Result<usize, Mistake> {
    if bytes <= 1 << 30 {
        return Ok(bytes);
    }
    let what = format!("{key} is larger than 1GiB");
    Err(Mistake::new(&keys.place, what, "write 1GiB or less"))
}

/// A film: pictures at an interval, in datagrams.
fn media(keys: &At<FlowKeys>, len: usize) -> Result<Source, Mistake> {
    const PATTERN: &str = "IBBPBBPBBPBB";
    const EVERY: Duration = Duration::from_millis(40);
    let missing = || Mistake::missing(&keys.place, "pictures");
    let pictures = keys.pictures.as_ref().ok_or_else(missing)?;
    let sizes: Vec<usize> = pictures.iter().map(|size: &Amount| size.bytes()).collect();
    let sizes: [usize; 3] = sizes.try_into().map_err(|_| {
        let what = "a film has three sizes of pictures";
        let next = "write [\"15000B\", \"6000B\", \"2000B\"]: I, P and B";
        Mistake::new(&pictures.place, what, next)
    })?;
    for size in sizes {
        at_most_a_gibibyte(keys, "a picture", size)?;
    }
    let every = keys.every.map_or(EVERY, |time| time.0);
    let pattern = keys.pattern.as_ref().map_or(PATTERN, |pattern| &pattern.0);
    Ok(Source::Frames(Frames {
        pattern: pattern.to_owned(),
        interval: at_least_a_microsecond(keys, "every", every)?,
        sizes,
        datagram: len,
        count: ENDLESS,
    }))
}

/// Datagrams at an interval, which the receiver sends back.
fn ping(keys: &At<FlowKeys>, len: usize) -> Result<Traffic, Mistake> {
    const EVERY: Duration = Duration::from_millis(100);
    has_room_for_stamp(keys, len)?;
    let interval = keys.every.map_or(EVERY, |time| time.0);
    let interval = at_least_a_microsecond(keys, "every", interval)?;
    let mut traffic = Traffic::new(Kind::Probe, len, cbr(len, interval));
    traffic.sender.stamps = true;
    traffic.receiver.echo = true;
    Ok(traffic)
}

/// A request, its answer, and after a pause the next request.
fn requests(keys: &At<FlowKeys>, len: usize) -> Result<Traffic, Mistake> {
    const PATIENCE: Duration = Duration::from_secs(3);
    let missing = || Mistake::missing(&keys.place, "answer");
    let answer = keys.answer.ok_or_else(missing)?.bytes();
    let answer = at_most_a_gibibyte(keys, "answer", answer)?;
    let patience = keys.patience.map_or(PATIENCE, |time| time.0);
    let source = Source::Requests {
        len,
        answer,
        think: Spread::Exponential(keys.think.map_or(Duration::ZERO, |time| time.0)),
        patience: at_least_a_microsecond(keys, "patience", patience)?,
        count: ENDLESS,
    };
    let mut traffic = Traffic::new(Kind::Timed, len, source);
    traffic.receiver.answer = answer;
    Ok(traffic)
}
