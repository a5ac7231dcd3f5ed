//! `[bench]`: a measurement of this machine.

use super::super::numbers::{Share, Whole};
use super::super::plan::{Call, Coverage};
use super::super::values::{At, Size};
use schemars::JsonSchema;
use serde::Deserialize;

/// `[bench]`
///
/// A scenario with this section has no `[topology]`, `[[link]]`, `[[route]]`, `[[host]]`, `[[flow]]` and `[[phase]]`. `duration` of
/// `[measure]` is the real time of each cell. Beside it there are `repeat` and `metrics`,
/// by default all of the measurement.
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct BenchKeys {
    /// The thing to measure; see "Measurements of this machine" in `scenarios.md`.
    pub(crate) kind: BenchKind,
    /// checksum, required; sending: bytes of data of a datagram. Default: 0B.
    pub(crate) size: Option<At<Size>>,
    /// checksum, required: the bytes that the checksum covers.
    pub(crate) coverage: Option<Coverage>,
    /// sending, required: a system call for each datagram over UDP, a call of a DCCP socket, or a packet ring.
    pub(crate) by: Option<Call>,
    /// sending: datagrams of a call; over UDP 1. Default: 1; ring 64.
    pub(crate) batch: Option<At<Whole<1, 256>>>,
    /// ack-vector, required: packets in flight.
    pub(crate) window: Option<Whole<10, 200_000>>,
    /// ack-vector: the share of packets that are lost. Default: 0.
    pub(crate) loss: Option<Share>,
}

/// The thing to measure.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum BenchKind {
    Checksum,
    Sending,
    AckVector,
}
