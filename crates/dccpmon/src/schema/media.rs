//! Results of a source that chooses between important packets and others.

use super::OneWay;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Important packets, and others that make room for them.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Media {
    /// One packet in this many is important.
    pub important_every: u64,
    /// Packets that can wait in the packet ring; null without a ring, so without a choice.
    pub ring_packets: Option<u32>,
    /// The important packets.
    pub important: MediaClass,
    /// The other packets.
    pub other: MediaClass,
}

/// Packets of one class.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug, Default)]
#[schemars(deny_unknown_fields)]
pub struct MediaClass {
    /// Packets that the source made.
    pub offered_packets: u64,
    /// Of these, left this host.
    pub sent_packets: u64,
    /// Of these, arrived; null if the server did not report.
    pub delivered_packets: Option<u64>,
    /// The time from making a packet to its arrival; null if the clocks are unknown, or nothing arrived.
    pub age: Option<OneWay>,
}
