//! Results of the kinds of tests that have more than one run.

use dccp_stats::Jitter;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One point of a sweep: packets of one size with one spacing. Null: not known.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Point {
    /// Bytes of a packet.
    pub packet_bytes: u64,
    /// The time between packets that was asked for; 0: as fast as possible.
    pub asked_gap_ns: u64,
    /// The mean time between packets that left.
    pub gap_ns: Option<f64>,
    /// Packets that left.
    pub sent_packets: u64,
    /// Different packets that the receiving program got.
    pub delivered_packets: u64,
    /// The rate that was asked for.
    pub offered_bps: Option<f64>,
    /// Application data that left.
    pub sent_bps: Option<f64>,
    /// Application data that arrived.
    pub received_bps: Option<f64>,
    /// IP packets that were sent, with their headers.
    pub wire_bps: Option<f64>,
    /// Packets that were lost between the hosts.
    pub lost_network_packets: u64,
    /// Packets that were lost in either host.
    pub lost_host_packets: u64,
    /// Packets that were lost at a place that no counter shows.
    pub unknown_packets: u64,
    /// The share of samples with data that the congestion control held back.
    pub held_ratio: Option<f64>,
    /// The variation of the delay.
    pub jitter: Option<Jitter>,
    /// Processor time of the client, in cores.
    pub client_cpu_ratio: Option<f64>,
    /// Processor time of the server, in cores.
    pub server_cpu_ratio: Option<f64>,
}

/// The smallest spacing that a path bears.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Knee {
    /// Bytes of a packet.
    pub packet_bytes: u64,
    /// The time between packets.
    pub gap_ns: u64,
    /// The rate of application data.
    pub user_bps: f64,
    /// The rate of IP packets with their headers.
    pub wire_bps: Option<f64>,
}
