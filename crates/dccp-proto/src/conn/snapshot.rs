//! A snapshot of a connection, for display.

use super::features::Side;
use super::{Connection, Role, State};
use crate::Instant;
use crate::cc::Snapshot;
use crate::path::Flow;
use crate::wire::ServiceCode;
use crate::wire::features::Feature;
use core::time::Duration;

/// A connection at one moment.
#[derive(Clone, PartialEq, Debug)]
pub struct ConnSnapshot {
    /// State (RFC 4340 §8.4).
    pub state: State,
    /// Client or server.
    pub role: Role,
    /// Addresses and ports.
    pub flow: Flow,
    /// Service Code.
    pub service: ServiceCode,
    /// CCID of the half-connection that this end sends on.
    pub tx_ccid: u8,
    /// CCID of the other half-connection.
    pub rx_ccid: u8,
    /// The sending controller.
    pub tx: Snapshot,
    /// The receiving controller.
    pub rx: Snapshot,
    /// Maximum packet size in bytes of application data.
    pub mps: usize,
    /// Path MTU in bytes.
    pub pmtu: usize,
    /// Smoothed round-trip time.
    pub rtt: Option<Duration>,
    /// The newest round-trip sample, as measured (less Elapsed Time), and when.
    pub rtt_sample: Option<(Instant, Duration)>,
    /// When the peer's last valid packet arrived.
    pub last_heard: Instant,
    /// Data packets in flight.
    pub pipe_packets: u32,
    /// Application data in flight in bytes.
    pub pipe_bytes: u64,
    /// Sequence Window of this end in packets.
    pub sequence_window: u64,
    /// The peer's Sequence Window in packets.
    pub peer_sequence_window: u64,
    /// Ack Ratio for the data of this end.
    pub ack_ratio: u64,
    /// Whether packets of this end are ECN-capable.
    pub is_ecn: bool,
    /// Checksum Coverage of a full data packet of this end.
    pub cscov: u8,
    /// Bytes that the acknowledgement state occupies: Ack Vector cells.
    pub ack_vector_cells: usize,
}

impl Connection {
    /// Data packets in flight.
    pub fn data_in_flight(&self) -> u32 {
        self.in_flight.pipe()
    }

    /// The connection at this moment.
    pub fn snapshot(&self) -> ConnSnapshot {
        ConnSnapshot {
            state: self.state,
            role: self.role,
            flow: self.flow,
            service: self.service,
            tx_ccid: self.tx.ccid,
            rx_ccid: self.rx.ccid,
            tx: self.tx.cc.snapshot(),
            rx: self.rx.cc.snapshot(),
            mps: self.mps(),
            pmtu: self.pmtu.pmtu(),
            rtt: self.rtt,
            rtt_sample: self.rtt_sample,
            last_heard: self.last_heard(),
            pipe_packets: self.in_flight.pipe(),
            pipe_bytes: self.in_flight.pipe_bytes(),
            sequence_window: self.seqs.local_window,
            peer_sequence_window: self.seqs.remote_window,
            ack_ratio: self.features.value(Side::Local, Feature::AckRatio),
            is_ecn: self.ecn() == crate::wire::Ecn::Ect0,
            cscov: self.coverage_to_send(self.mps()),
            ack_vector_cells: self.ack_vector.len_cells(),
        }
    }

    /// The value of a feature at this end (`true`) or at the peer's.
    pub fn feature(&self, at_this_end: bool, feature: Feature) -> u64 {
        let side = if at_this_end {
            Side::Local
        } else {
            Side::Remote
        };
        self.features.value(side, feature)
    }
}
