//! `[[link]]`: rate, delay, queue and faults of both directions.

use super::document::{Entry, Item, Table, Value};
use super::fields::Fields;
use super::mistake::{Mistake, Place};
use super::plan::Link;
use super::read;
use super::topology::node;
use core::time::Duration;
use dccp_proto::{Instant, Rate};
use dccp_sim::LinkConfig;
use dccp_sim::link::TooBig;
use dccp_sim::loss::{FaultConfig, Jitter, Outage};
use dccp_sim::queue::{DropTailConfig, Limit, QueueConfig};

const KNOWN: &[&str] = &[
    "id",
    "from",
    "to",
    "back",
    "rate",
    "delay",
    "rtt",
    "mtu",
    "pmtu_black_hole",
    "queue",
    "aqm",
    "mark_at",
    "burst",
    "latency",
    "loss",
    "corrupt",
    "ber",
    "ge",
    "duplicate",
    "reorder",
    "reorder_by",
    "jitter",
    "outages",
    "trace",
    "changes",
];

/// The links of a section: one for each pair of its two ends.
pub(crate) fn links(section: &Item, nodes: &[String]) -> Result<Vec<(Link, Place)>, Mistake> {
    let fields = Fields::of_item(section, "a link", KNOWN)?;
    let froms = ends(&fields, "from", nodes)?;
    let tos = ends(&fields, "to", nodes)?;
    let id = fields.get("id", read::name)?;
    let there = direction(&fields)?;
    let back = match fields.item("back") {
        None => there.clone(),
        Some(changed) => direction_back(section, changed)?,
    };
    fields.done("a link")?;
    let is_one = froms.len() * tos.len() == 1;
    let mut links = Vec::new();
    for (from, _) in &froms {
        for (to, place) in &tos {
            let id = match &id {
                None => format!("{}-{}", nodes[*from], nodes[*to]),
                Some(id) if is_one => id.clone(),
                Some(id) if froms.len() == 1 => format!("{id}.{}", nodes[*to]),
                Some(id) if tos.len() == 1 => format!("{id}.{}", nodes[*from]),
                Some(id) => format!("{id}.{}-{}", nodes[*from], nodes[*to]),
            };
            let link = Link {
                id,
                from: *from,
                to: *to,
                there: there.clone(),
                back: back.clone(),
            };
            links.push((link, place.clone()));
        }
    }
    Ok(links)
}

fn ends(
    fields: &Fields<'_>,
    key: &'static str,
    nodes: &[String],
) -> Result<Vec<(usize, Place)>, Mistake> {
    fields.need(key, Ok)?;
    let end = |item: &Item| Ok((node(item, nodes)?, item.place.clone()));
    fields.list(key).iter().map(end).collect()
}

/// The way back: as the way there, but for what `back = { … }` says.
fn direction_back(section: &Item, changed: &Item) -> Result<LinkConfig, Mistake> {
    let known: Vec<&str> = (KNOWN.iter().copied())
        .filter(|key| !["id", "from", "to", "back"].contains(key))
        .collect();
    Fields::of_item(changed, "the way back", &known)?;
    let (Value::Table(whole), Value::Table(changed)) = (&section.value, &changed.value) else {
        unreachable!("both were opened as tables");
    };
    let is_replaced = |entry: &&Entry| {
        let other = match entry.key.as_str() {
            "rtt" => "delay",
            "delay" => "rtt",
            key => key,
        };
        changed.entry(&entry.key).is_none() && changed.entry(other).is_none()
    };
    let kept = whole.0.iter().filter(is_replaced).cloned();
    let merged = Table(kept.chain(changed.0.iter().cloned()).collect());
    let fields = Fields::open(&merged, &section.place, "a link", KNOWN)?;
    direction(&fields)
}

fn direction(fields: &Fields<'_>) -> Result<LinkConfig, Mistake> {
    for later in ["burst", "latency", "ber", "ge", "trace", "changes"] {
        fields.not_yet(later)?;
    }
    if let Some(aqm) = fields.item("aqm")
        && read::text(aqm)? != "droptail"
    {
        return Err(Mistake::not_yet(
            &aqm.place,
            &format!("aqm {}", aqm.label()),
        ));
    }
    let rate = fields.get("rate", read::rate)?;
    let delay = delay(fields)?;
    let path = Path { rate, delay };
    let default = DropTailConfig::default();
    let queue = QueueConfig::DropTail(DropTailConfig {
        limit: (fields.get("queue", |item| limit(item, path))?).unwrap_or(default.limit),
        mark_at: fields.get("mark_at", |item| limit(item, path))?,
    });
    let mtu = fields.get("mtu", mtu)?.unwrap_or(1500);
    let is_black_hole = fields.get("pmtu_black_hole", read::flag)? == Some(true);
    let default = LinkConfig::default();
    Ok(LinkConfig {
        rate,
        delay,
        queue,
        mtu,
        too_big: if is_black_hole {
            TooBig::Silent
        } else {
            default.too_big
        },
        faults: faults(fields)?,
        ..default
    })
}

fn delay(fields: &Fields<'_>) -> Result<Duration, Mistake> {
    let delay = fields.get("delay", read::time)?;
    match fields.entry("rtt") {
        None => Ok(delay.unwrap_or_default()),
        Some(entry) if delay.is_some() => Err(Mistake::new(
            &entry.place,
            "a link has either a delay or an rtt",
            "leave one of them out; the delay is half of the rtt",
        )),
        Some(entry) => Ok(read::time(&entry.item)? / 2),
    }
}

fn mtu(item: &Item) -> Result<usize, Mistake> {
    let bytes = read::size(item)?;
    match usize::try_from(bytes) {
        Ok(mtu) if (576..=65_535).contains(&mtu) => Ok(mtu),
        _ => Err(Mistake::new(
            &item.place,
            format!("an MTU of {bytes} bytes is not possible"),
            "write 576B to 65535B",
        )),
    }
}

/// What the size of a queue may refer to.
#[derive(Clone, Copy)]
struct Path {
    rate: Option<Rate>,
    delay: Duration,
}

/// `100p`, `64KiB`, `12ms` at the link's rate, or `bdp*0.5`: half of the link's rate times its own
/// round trip.
fn limit(item: &Item, path: Path) -> Result<Limit, Mistake> {
    const NEXT: &str = "write 100p, 64KiB, 12ms or bdp*0.5";
    let text = read::text(item)?;
    let Some(rate) = path.rate else {
        return Err(Mistake::new(
            &item.place,
            "a link without a rate has no queue",
            "give the link a rate",
        ));
    };
    let quantity = |error| read::from_quantity(item, &error);
    if text.starts_with("bdp") {
        let factor = match text.strip_prefix("bdp*") {
            None if text == "bdp" => Some(1.0),
            None => None,
            Some(factor) => factor.parse().ok().filter(|f| (1e-6..=1e6).contains(f)),
        };
        let Some(factor) = factor else {
            return Err(Mistake::new(
                &item.place,
                format!("'{text}' is no queue"),
                NEXT,
            ));
        };
        if path.delay.is_zero() {
            return Err(Mistake::new(
                &item.place,
                "the bdp of a link without delay is nothing",
                "give the link a delay, or write 100p, 64KiB or 12ms",
            ));
        }
        let bytes: f64 = rate.bytes_per_s() * (path.delay * 2).as_secs_f64() * factor;
        return at_least_a_packet(item, bytes);
    }
    if text.ends_with('p') {
        let packets = dccp_quantity::packets(text).map_err(quantity)?;
        return Ok(Limit::Packets(
            usize::try_from(packets).unwrap_or(usize::MAX),
        ));
    }
    if text.ends_with('B') {
        let bytes = dccp_quantity::size_bytes(text).map_err(quantity)?;
        return Ok(Limit::Bytes(usize::try_from(bytes).unwrap_or(usize::MAX)));
    }
    if text.ends_with('s') {
        let time = dccp_quantity::time(text).map_err(quantity)?;
        return at_least_a_packet(item, rate.bytes_per_s() * time.as_secs_f64());
    }
    Err(Mistake::new(
        &item.place,
        format!("'{text}' is no queue"),
        NEXT,
    ))
}

/// A queue that was not asked for in packets or bytes should hold one packet at least.
fn at_least_a_packet(item: &Item, bytes: f64) -> Result<Limit, Mistake> {
    const PACKET: f64 = 1500.0;
    if bytes < PACKET {
        return Err(Mistake::new(
            &item.place,
            format!(
                "{} is {bytes:.0} bytes here: less than a packet",
                item.label()
            ),
            "write more, or the number of packets: 1p",
        ));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "above 1500; beyond all memory it saturates"
    )]
    let bytes = bytes.round() as usize;
    Ok(Limit::Bytes(bytes))
}

fn faults(fields: &Fields<'_>) -> Result<FaultConfig, Mistake> {
    let share = |key| fields.get(key, read::share).map(Option::unwrap_or_default);
    let time = |key| fields.get(key, read::time).map(Option::unwrap_or_default);
    let faults = FaultConfig {
        loss: share("loss")?,
        duplicate: share("duplicate")?,
        corrupt: share("corrupt")?,
        reorder: share("reorder")?,
        reorder_by: time("reorder_by")?,
        jitter: fields
            .get("jitter", read::time)?
            .map_or(Jitter::None, Jitter::Uniform),
        outages: outages(fields)?,
        ..FaultConfig::default()
    };
    match (fields.entry("reorder"), fields.entry("reorder_by")) {
        (Some(entry), None) if faults.reorder > 0.0 => Err(Mistake::new(
            &entry.place,
            "reorder needs reorder_by: for how long packets are held back",
            "add reorder_by = \"5ms\"",
        )),
        (None, Some(entry)) => Err(Mistake::new(
            &entry.place,
            "reorder_by needs reorder: how many packets are held back",
            "add reorder = \"1%\"",
        )),
        _ => Ok(faults),
    }
}

/// `outages = ["10s..12s"]`.
fn outages(fields: &Fields<'_>) -> Result<Vec<Outage>, Mistake> {
    let outage = |item: &Item| {
        let (start, end) = span(item)?;
        Ok(Outage {
            start: Instant::ZERO + start,
            end: Instant::ZERO + end,
        })
    };
    fields.list("outages").iter().map(outage).collect()
}

/// Two times, `"10s..12s"`, the second after the first.
pub(crate) fn span(item: &Item) -> Result<(Duration, Duration), Mistake> {
    let text = read::text(item)?;
    let Some((start, end)) = text.split_once("..") else {
        return Err(Mistake::new(
            &item.place,
            format!("'{text}' is no span of time"),
            "write 10s..12s",
        ));
    };
    let time = |text| dccp_quantity::time(text).map_err(|e| read::from_quantity(item, &e));
    let (start, end) = (time(start)?, time(end)?);
    if end <= start {
        return Err(Mistake::new(
            &item.place,
            format!("'{text}' ends before it begins"),
            "write the earlier time first",
        ));
    }
    Ok((start, end))
}
