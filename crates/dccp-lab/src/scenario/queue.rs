//! The queue of a link: `queue`, how much it holds, and `aqm`, what it does with it.

use super::document::{Item, Table, Value};
use super::fields::Fields;
use super::mistake::Mistake;
use super::read;
use core::time::Duration;
use dccp_proto::Rate;
use dccp_sim::queue::{
    AdaptiveRed, CoDelConfig, DropTailConfig, DualPi2Config, FqCoDelConfig, L4sMarking, Limit,
    PieConfig, QueueConfig, RedConfig, TokenBucketConfig,
};

const DISCIPLINES: &[&str] = &[
    "droptail", "tbf", "red", "codel", "fq_codel", "pie", "dualpi2",
];

/// The queue of a link of this rate and delay.
pub(super) fn queue(
    fields: &Fields<'_>,
    rate: Option<Rate>,
    delay: Duration,
) -> Result<QueueConfig, Mistake> {
    let path = Path { rate, delay };
    let size = fields.get("queue", |item| room(item, path))?;
    let empty = Table::default();
    let (kind, item) = match fields.item("aqm") {
        None => ("droptail", None),
        Some(item) => match &item.value {
            Value::Text(kind) => (kind.as_str(), Some(item)),
            _ => (kind_of_table(item)?, Some(item)),
        },
    };
    let aqm = match item {
        Some(
            item @ Item {
                value: Value::Table(table),
                ..
            },
        ) => Fields::open(table, &item.place, "an aqm", KNOWN)?,
        _ => Fields::open(&empty, fields.place(), "an aqm", KNOWN)?,
    };
    aqm.item("kind");
    let mut config = match kind {
        "droptail" => QueueConfig::DropTail(DropTailConfig {
            mark_at: fields.get("mark_at", |item| limit(item, path))?,
            ..DropTailConfig::default()
        }),
        "tbf" => token_bucket(fields, path, size)?,
        "red" => QueueConfig::Red(red(&aqm, rate)?),
        "codel" => QueueConfig::CoDel(codel(&aqm)?),
        "fq_codel" => QueueConfig::FqCoDel(fq_codel(&aqm)?),
        "pie" => QueueConfig::Pie(pie(&aqm)?),
        "dualpi2" => QueueConfig::DualPi2(dualpi2(&aqm)?),
        unknown => {
            let place = item.map_or(fields.place(), |item| &item.place);
            return Err(Mistake::unknown(place, "aqm", unknown, DISCIPLINES));
        }
    };
    aqm.done(kind)?;
    if let Some(size) = size {
        config.set_limit(size);
    }
    if item.is_some() && rate.is_none() {
        return Err(Mistake::new(
            fields.place(),
            "a link without a rate has no queue",
            "give the link a rate",
        ));
    }
    Ok(config)
}

pub(super) const KNOWN: &[&str] = &[
    "kind", "ecn", "target", "interval", "update", "flows", "quantum", "min", "max", "max_p",
    "weight", "gentle", "adaptive", "alpha", "beta", "coupling", "step",
];

fn kind_of_table(item: &Item) -> Result<&str, Mistake> {
    if !matches!(item.value, Value::Table(_)) {
        return Err(Mistake::new(
            &item.place,
            format!("an aqm is a name or a table, not {}", item.kind()),
            "write aqm = \"codel\" or { kind = \"codel\", … }",
        ));
    }
    Fields::of_item(item, "an aqm", KNOWN)?.need("kind", read::text)
}

/// `aqm = "tbf"`: the link's rate with bursts above it; `latency` says how long packets wait at most.
fn token_bucket(
    fields: &Fields<'_>,
    path: Path,
    size: Option<Limit>,
) -> Result<QueueConfig, Mistake> {
    let rate = fields.need("rate", read::rate)?;
    let burst = fields.need("burst", read::size)?;
    let burst = usize::try_from(burst).unwrap_or(usize::MAX);
    let latency = fields.get("latency", read::period)?;
    let limit = size.unwrap_or(DropTailConfig::default().limit);
    Ok(QueueConfig::TokenBucket(match latency {
        Some(latency) => TokenBucketConfig::with_latency(rate, burst, latency),
        None => TokenBucketConfig {
            rate: path.rate.unwrap_or(rate),
            burst,
            limit,
        },
    }))
}

/// Without thresholds those that ns-2 finds for the link.
fn red(aqm: &Fields<'_>, rate: Option<Rate>) -> Result<RedConfig, Mistake> {
    const PACKET: usize = 1500;
    let usual = rate.map_or(RedConfig::default(), |rate| {
        RedConfig::automatic(rate, PACKET)
    });
    let number = |key, usual: f64| -> Result<f64, Mistake> {
        Ok(aqm.get(key, read::number(0.0..=1e9))?.unwrap_or(usual))
    };
    let is_adaptive = aqm.get("adaptive", read::flag)? == Some(true);
    Ok(RedConfig {
        min_threshold: number("min", usual.min_threshold)?,
        max_threshold: number("max", usual.max_threshold)?,
        max_p: number("max_p", usual.max_p)?,
        weight: number("weight", usual.weight)?,
        gentle: aqm.get("gentle", read::flag)?.unwrap_or(usual.gentle),
        ecn: aqm.get("ecn", read::flag)?.unwrap_or(usual.ecn),
        adaptive: is_adaptive.then(AdaptiveRed::default),
        ..usual
    })
}

fn codel(aqm: &Fields<'_>) -> Result<CoDelConfig, Mistake> {
    let usual = CoDelConfig::default();
    Ok(CoDelConfig {
        target: aqm.get("target", read::period)?.unwrap_or(usual.target),
        interval: aqm.get("interval", read::period)?.unwrap_or(usual.interval),
        ecn: aqm.get("ecn", read::flag)?.unwrap_or(usual.ecn),
        ..usual
    })
}

fn fq_codel(aqm: &Fields<'_>) -> Result<FqCoDelConfig, Mistake> {
    let usual = FqCoDelConfig::default();
    let whole = |key, usual: u32| -> Result<u32, Mistake> {
        let value = aqm.get(key, read::whole(1..=65_536))?;
        Ok(value.and_then(|n| u32::try_from(n).ok()).unwrap_or(usual))
    };
    Ok(FqCoDelConfig {
        flows: whole("flows", usual.flows)?,
        quantum: whole("quantum", usual.quantum)?,
        codel: codel(aqm)?,
        ..usual
    })
}

fn pie(aqm: &Fields<'_>) -> Result<PieConfig, Mistake> {
    let usual = PieConfig::default();
    Ok(PieConfig {
        target: aqm.get("target", read::period)?.unwrap_or(usual.target),
        update: aqm.get("update", read::period)?.unwrap_or(usual.update),
        alpha: aqm
            .get("alpha", read::number(0.0..=1e6))?
            .unwrap_or(usual.alpha),
        beta: aqm
            .get("beta", read::number(0.0..=1e6))?
            .unwrap_or(usual.beta),
        ecn: aqm.get("ecn", read::flag)?.unwrap_or(usual.ecn),
        ..usual
    })
}

fn dualpi2(aqm: &Fields<'_>) -> Result<DualPi2Config, Mistake> {
    let usual = DualPi2Config::default();
    let step = aqm.get("step", read::period)?.map(L4sMarking::Step);
    Ok(DualPi2Config {
        target: aqm.get("target", read::period)?.unwrap_or(usual.target),
        update: aqm.get("update", read::period)?.unwrap_or(usual.update),
        alpha: aqm
            .get("alpha", read::number(0.0..=1e6))?
            .unwrap_or(usual.alpha),
        beta: aqm
            .get("beta", read::number(0.0..=1e6))?
            .unwrap_or(usual.beta),
        coupling: aqm
            .get("coupling", read::number(0.0..=1e3))?
            .unwrap_or(usual.coupling),
        marking: step.unwrap_or(usual.marking),
        ..usual
    })
}

/// What the size of a queue may refer to.
#[derive(Clone, Copy)]
pub(super) struct Path {
    pub(super) rate: Option<Rate>,
    pub(super) delay: Duration,
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
        let packets = dccp_cli::quantity::packets(text).map_err(quantity)?;
        return Ok(Limit::Packets(
            usize::try_from(packets).unwrap_or(usize::MAX),
        ));
    }
    if text.ends_with('B') {
        let bytes = dccp_cli::quantity::size_bytes(text).map_err(quantity)?;
        return Ok(Limit::Bytes(usize::try_from(bytes).unwrap_or(usize::MAX)));
    }
    if text.ends_with('s') {
        let time = dccp_cli::quantity::time(text).map_err(quantity)?;
        return at_least_a_packet(item, rate.bytes_per_s() * time.as_secs_f64());
    }
    Err(Mistake::new(
        &item.place,
        format!("'{text}' is no queue"),
        NEXT,
    ))
}

/// How much a queue holds: something.
pub(super) fn room(item: &Item, path: Path) -> Result<Limit, Mistake> {
    match limit(item, path)? {
        Limit::Packets(0) | Limit::Bytes(0) => Err(Mistake::new(
            &item.place,
            "a queue of this size has room for no packet",
            "write 1p or more",
        )),
        room => Ok(room),
    }
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
