//! `[bench]`: a measurement of this machine.

use super::document::{Item, refuse, value};
use super::keys::{BenchKeys, BenchKind, File, MeasureKeys};
use super::measure::measure;
use super::plan::{Backend, Bench, Call, Network, Run};
use super::values::{At, Size};
use crate::metrics::Metric;
use crate::mistake::{Mistake, Mistakes};
use core::time::Duration;

/// Sections that describe a network and its traffic.
const OF_NETWORKS: [&str; 6] = ["topology", "link", "route", "host", "flow", "phase"];
/// The keys of `[measure]` that concern a measurement.
const OF_MEASURE: [&str; 3] = ["duration", "repeat", "metrics"];
/// The longest measurement.
const DURATION_MAX: Duration = Duration::from_hours(1);
/// Bytes of data of the largest datagram.
const SIZE_MAX: u64 = 60_000;
/// Bytes of data that a packet of 1500 bytes holds beside all headers.
const SENDING_SIZE_MAX: u64 = 1400;
/// Datagrams between two publications of a ring.
const RING_BATCH: usize = 64;

impl BenchKind {
    const fn word(self) -> &'static str {
        match self {
            Self::Checksum => "checksum",
            Self::Sending => "sending",
            Self::AckVector => "ack-vector",
        }
    }

    /// The settings of this kind.
    const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Checksum => &["kind", "size", "coverage"],
            Self::Sending => &["kind", "by", "batch", "size"],
            Self::AckVector => &["kind", "window", "loss"],
        }
    }

    /// The columns of its table, unless the scenario names others.
    const fn metrics(self) -> &'static [Metric] {
        match self {
            Self::Sending => &[Metric::Operations, Metric::Cost],
            Self::Checksum | Self::AckVector => &[
                Metric::Operations,
                Metric::Cost,
                Metric::CostShare,
                Metric::PacketCost,
            ],
        }
    }
}

/// The run of a measurement, still without variables and seed.
pub(crate) fn measurement(
    keys: &At<BenchKeys>,
    file: &File,
    document: &Item<'_>,
    mistakes: &mut Mistakes,
) -> Option<Run> {
    let owner = "a scenario with [bench]";
    refuse(document, owner, |key| OF_NETWORKS.contains(&key), mistakes);
    if let Some(table) = value(document, "measure") {
        refuse(table, owner, |key| !OF_MEASURE.contains(&key), mistakes);
    }
    if let Some(table) = value(document, "bench") {
        let owner = format!("kind {}", keys.kind.word());
        let is_of_others = |key: &str| !keys.kind.keys().contains(&key);
        refuse(table, &owner, is_of_others, mistakes);
    }
    let bench = mistakes.check(bench(keys));
    let end = mistakes.check(duration(file));
    let defaults = MeasureKeys::default();
    let measure_keys = file.measure.as_ref().map_or(&defaults, |keys| &keys.value);
    let mut measure = mistakes.check(measure(measure_keys, &[]))?;
    if measure.metrics.is_empty() {
        measure.metrics = keys.kind.metrics().to_vec();
    }
    Some(Run {
        backend: Backend::Machine(bench?),
        places: Vec::new(),
        cell: Vec::new(),
        drawn: Vec::new(),
        phase: None,
        repeat: 0,
        seed: 0,
        network: Network::default(),
        flows: Vec::new(),
        end: end?,
        measure,
    })
}

fn duration(file: &File) -> Result<Duration, Mistake> {
    let place = file
        .measure
        .as_ref()
        .map_or(0..0, |keys| keys.place.clone());
    let keys = file.measure.as_ref().and_then(|keys| keys.duration);
    match keys.map(|time| time.0) {
        None => {
            let next = "add duration = \"1s\" to [measure]";
            Err(Mistake::new(
                &place,
                "nothing says how long to measure",
                next,
            ))
        }
        Some(time) if time > DURATION_MAX => {
            let what = format!("a measurement of {} s is too long", time.as_secs_f64());
            Err(Mistake::new(&place, what, "write 1h at most"))
        }
        Some(time) => Ok(time),
    }
}

fn bench(keys: &At<BenchKeys>) -> Result<Bench, Mistake> {
    let missing = |key: &str| Mistake::missing(&keys.place, key);
    Ok(match keys.kind {
        BenchKind::Checksum => Bench::Checksum {
            size: size(keys.size.as_ref().ok_or_else(|| missing("size"))?, SIZE_MAX)?,
            coverage: keys.coverage.ok_or_else(|| missing("coverage"))?,
        },
        BenchKind::Sending => {
            let by = keys.by.ok_or_else(|| missing("by"))?;
            let bytes = keys
                .size
                .as_ref()
                .map(|bytes| size(bytes, SENDING_SIZE_MAX));
            Bench::Sending {
                by,
                batch: batch(keys, by)?,
                size: bytes.transpose()?.unwrap_or(0),
            }
        }
        BenchKind::AckVector => Bench::AckVector {
            window: keys.window.ok_or_else(|| missing("window"))?.0,
            loss: keys.loss.map_or(0.0, |share| share.0),
        },
    })
}

fn batch(keys: &BenchKeys, by: Call) -> Result<usize, Mistake> {
    match &keys.batch {
        Some(batch) if by == Call::Udp && batch.0 > 1 => {
            let what = format!("a system call sends one datagram, not {}", batch.0);
            Err(Mistake::new(&batch.place, what, "leave batch out"))
        }
        Some(batch) => Ok(batch.to()),
        None if by == Call::Ring => Ok(RING_BATCH),
        None => Ok(1),
    }
}

fn size(bytes: &At<Size>, max: u64) -> Result<usize, Mistake> {
    match usize::try_from(bytes.0) {
        Ok(size) if bytes.0 <= max => Ok(size),
        _ => {
            let what = format!("a datagram of {} bytes is too large here", bytes.0);
            Err(Mistake::new(
                &bytes.place,
                what,
                format!("write {max}B or less"),
            ))
        }
    }
}
