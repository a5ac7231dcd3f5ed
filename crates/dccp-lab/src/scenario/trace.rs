//! `trace`: the rate of a link over time, recorded in a file or drawn from a preset's model.

use super::contents;
use super::keys::{PresetName, Trace, TraceKeys};
use super::values::At;
use crate::mistake::{Mistake, Place};
use core::time::Duration;
use dccp_proto::number::to_f64;
use dccp_sim::Seed;
use dccp_sim::queue::Limit;
use dccp_sim::rate_trace::RateTrace;
use dccp_sim::rate_trace::model::{Model, PRESETS, Preset};
use std::io;
use std::path::Path;

/// The start of a text that names a preset.
const PREFIX: &str = "preset:";

/// The rate of a link over time, and what else a preset brings.
#[derive(Default)]
pub(crate) struct RateOverTime {
    /// Of a model: one of its traces, until the run draws its own.
    pub(crate) trace: Option<RateTrace>,
    pub(crate) model: Option<Model>,
    /// The delay of a link that has none of its own.
    pub(crate) delay: Duration,
    /// The room of a queue that has none of its own.
    pub(crate) queue: Option<Limit>,
}

/// The rate that a link's `trace` says.
pub(crate) fn rate_over_time(keys: &At<Trace>, folder: &Path) -> Result<RateOverTime, Mistake> {
    match &keys.value {
        Trace::Table(table) => drawn(&keys.place, preset(table.preset), |m| altered(table, m)),
        Trace::Named(name) => match name.strip_prefix(PREFIX) {
            Some(preset) => drawn(&keys.place, named(preset, &keys.place)?, |model| model),
            None => Ok(RateOverTime {
                trace: Some(recorded(name, &keys.place, folder)?),
                ..RateOverTime::default()
            }),
        },
    }
}

fn named(name: &str, place: &Place) -> Result<&'static Preset, Mistake> {
    let known = PRESETS.map(|preset| preset.name);
    Preset::named(name).ok_or_else(|| Mistake::unknown(place, "preset", name, &known))
}

fn preset(name: PresetName) -> &'static Preset {
    let [mobile, wifi, satellite, dsl] = &PRESETS;
    match name {
        PresetName::Mobile => mobile,
        PresetName::Wifi => wifi,
        PresetName::Satellite => satellite,
        PresetName::Dsl => dsl,
    }
}

/// A preset whose model `alter` changes.
fn drawn(
    place: &Place,
    preset: &Preset,
    alter: impl FnOnce(Model) -> Model,
) -> Result<RateOverTime, Mistake> {
    const LONGEST: Duration = Duration::from_hours(1);
    let model = alter(preset.model);
    let fades = [model.fades.every, model.stops.every];
    if fades
        .into_iter()
        .any(|every| !every.is_zero() && every < Duration::from_millis(1))
    {
        let what = "fades and stops of a trace are at least a millisecond apart";
        return Err(Mistake::new(
            place,
            what,
            "write fade_every = \"1ms\" or more; so stop_every",
        ));
    }
    if model.duration > LONGEST {
        let what = "a trace of more than an hour is not possible";
        return Err(Mistake::new(
            place,
            what,
            "write a shorter duration, after which it is repeated",
        ));
    }
    if model.opportunities() > to_f64(RateTrace::LONGEST as u64) {
        let what = "this trace would have more than 10 million packets";
        let next = "write a lower mean, or a shorter duration, after which it is repeated";
        return Err(Mistake::new(place, what, next));
    }
    let room = model.mean.bytes_per_s() * preset.queue.as_secs_f64();
    Ok(RateOverTime {
        trace: Some(model.draw(&Seed(0).stream("trace"))),
        model: Some(model),
        delay: preset.delay,
        queue: Some(Limit::Bytes(whole_bytes(room))),
    })
}

/// Room for two packets at least.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "above 3000; it saturates at the largest number"
)]
fn whole_bytes(bytes: f64) -> usize {
    const LEAST: f64 = 3000.0;
    bytes.max(LEAST).round() as usize
}

/// The model with the changes of the table.
fn altered(keys: &TraceKeys, mut model: Model) -> Model {
    fn set<T>(place: &mut T, value: Option<T>) {
        if let Some(value) = value {
            *place = value;
        }
    }
    set(&mut model.mean, keys.mean.map(|rate| rate.0));
    set(&mut model.spread, keys.spread.map(|number| number.0));
    set(&mut model.correlation, keys.correlation.map(|time| time.0));
    set(&mut model.fades.every, keys.fade_every.map(|time| time.0));
    set(&mut model.fades.lasts, keys.fade_for.map(|time| time.0));
    set(&mut model.fades.rate, keys.fade_rate.map(|share| share.0));
    set(&mut model.stops.every, keys.stop_every.map(|time| time.0));
    set(&mut model.stops.lasts, keys.stop_for.map(|time| time.0));
    set(&mut model.duration, keys.duration.map(|time| time.0));
    model
}

/// A recorded rate: a file in mahimahi's format.
fn recorded(name: &str, place: &Place, folder: &Path) -> Result<RateTrace, Mistake> {
    let text = contents(&folder.join(name))
        .and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other))
        .map_err(|error| {
            let what = format!("{name} cannot be read: {error}");
            Mistake::new(place, what, "check the file's name")
        })?;
    RateTrace::parse(&text).map_err(|error| {
        let text = error.to_string();
        let (what, next) = text
            .split_once('\n')
            .unwrap_or((&text, "correct the trace"));
        Mistake::new(place, format!("{name}: {what}"), next)
    })
}
