//! A distribution in a few numbers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A distribution in a few numbers, in the unit of the field that holds it.
///
/// A percentile q is `None` if fewer than one value in the sample lies above it, that is n·(1 − q) < 1. So the median
/// needs 2 values, p99 needs 100 and p99.9 needs 1,000.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Spread {
    /// The least value.
    pub min: u64,
    /// 50 % of the values are at most this one, by nearest rank, and up to 1 % too high.
    pub p50: Option<u64>,
    /// 90 % of the values are at most this one.
    pub p90: Option<u64>,
    /// 99 % of the values are at most this one.
    pub p99: Option<u64>,
    /// 99.9 % of the values are at most this one.
    pub p999: Option<u64>,
    /// The greatest value.
    pub max: u64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The number of values.
    #[schemars(range(min = 1))]
    pub n: u64,
    /// All buckets, as base64 of `HdrHistogram`'s V2 format with deflate.
    pub hdr: Option<String>,
}
