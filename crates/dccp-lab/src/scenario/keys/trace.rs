//! `trace`: the rate of a link over time.

use super::super::numbers::{Number, Share};
use super::super::values::{LinkRate, Period, Time};
use core::fmt;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;

/// `trace`
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct TraceKeys {
    /// The kind of link; other keys change its model.
    pub(crate) preset: PresetName,
    /// The mean rate. Default: mobile 12Mbit, wifi 30Mbit, satellite 20Mbit, dsl 16Mbit.
    pub(crate) mean: Option<LinkRate>,
    /// The standard deviation of the rate's natural logarithm, spells apart. Default: mobile 0.6, wifi 0.35, satellite 0.1, dsl 0.
    pub(crate) spread: Option<Number<0, 3>>,
    /// The time after which 1/e of a deviation is left. Default: mobile 1s, wifi 200ms, satellite 20s.
    pub(crate) correlation: Option<Period>,
    /// The mean time between fades; 0s: none. Default: mobile 8s, wifi 5s, satellite 60s, dsl 0s.
    pub(crate) fade_every: Option<Time>,
    /// The mean time of a fade. Default: mobile 800ms, wifi 400ms, satellite 4s.
    pub(crate) fade_for: Option<Period>,
    /// The rate in a fade, as a share of the rate without. Default: mobile 10%, wifi 15%, satellite 35%.
    pub(crate) fade_rate: Option<Share>,
    /// The mean time between times without service; 0s: none. Default: mobile 30s, wifi 10s, satellite and dsl 0s.
    pub(crate) stop_every: Option<Time>,
    /// The mean time without service. Default: mobile 150ms, wifi 120ms.
    pub(crate) stop_for: Option<Period>,
    /// The length of the trace, after which it is repeated. Default: 2min.
    pub(crate) duration: Option<Period>,
}

/// The names of the presets.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum PresetName {
    Mobile,
    Wifi,
    Satellite,
    Dsl,
}

/// A rate over time: a name alone, or a table.
#[derive(Debug)]
pub(crate) enum Trace {
    /// A file, or `preset:NAME`.
    Named(String),
    Table(Box<TraceKeys>),
}

struct TraceVisitor;

impl<'de> Visitor<'de> for TraceVisitor {
    type Value = Trace;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("trace = \"FILE\", \"preset:wifi\" or { preset = \"wifi\", … }")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Trace, E> {
        Ok(Trace::Named(name.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Trace, A::Error> {
        let keys = TraceKeys::deserialize(MapAccessDeserializer::new(table))?;
        Ok(Trace::Table(Box::new(keys)))
    }
}

impl<'de> Deserialize<'de> for Trace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TraceVisitor)
    }
}

impl JsonSchema for Trace {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Trace".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<TraceKeys>();
        json_schema!({ "title": "a file, `\"preset:wifi\"`, or a table (see `trace`)" })
    }
}
