//! The table of gauges: values of a connection that go up and down.

use crate::unit::Unit;
use dccp::{ConnSnapshot, Rate, Stats};

/// One gauge of a connection.
pub struct Gauge {
    /// Name for Prometheus without prefix and unit.
    pub metric: &'static str,
    /// Unit.
    pub unit: Unit,
    /// Meaning, as a sentence without its full stop.
    pub help: &'static str,
    /// Name of the MIB object.
    pub object: &'static str,
    /// Column of the MIB's table of connections.
    pub column: u32,
    /// The MIB has whole numbers: its values are multiplied by this.
    pub scale: f64,
    /// The unit of the MIB's values.
    pub scaled_unit: &'static str,
    read: fn(&Stats, &ConnSnapshot) -> Option<f64>,
}

impl Gauge {
    /// Name in JSON: metric and unit.
    pub fn key(&self) -> String {
        self.unit.name(self.metric)
    }

    /// Name for Prometheus.
    pub fn family(&self) -> String {
        format!("dccp_connection_{}", self.key())
    }

    /// The value; `None` while there is none.
    pub(crate) fn of(&self, stats: &Stats, snapshot: &ConnSnapshot) -> Option<f64> {
        (self.read)(stats, snapshot).filter(|value| value.is_finite())
    }
}

/// A gauge whose values are whole numbers.
const fn whole(
    column: u32,
    object: &'static str,
    metric: &'static str,
    unit: Unit,
    help: &'static str,
    read: fn(&Stats, &ConnSnapshot) -> Option<f64>,
) -> Gauge {
    Gauge {
        metric,
        unit,
        help,
        object,
        column,
        scale: 1.0,
        scaled_unit: unit.words(),
        read,
    }
}

impl Gauge {
    /// The MIB's values are in a smaller unit.
    const fn scaled(self, scale: f64, scaled_unit: &'static str) -> Self {
        Self {
            scale,
            scaled_unit,
            ..self
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "below 2^53")]
pub(crate) const fn exact(n: u64) -> f64 {
    n as f64
}

/// All gauges, in the order of their columns.
pub static GAUGES: &[Gauge] = &[
    whole(
        40,
        "dccpConnCwnd",
        "cwnd_packets",
        Unit::Packets,
        "Congestion window",
        |_, c| c.tx.cwnd_packets,
    ),
    whole(
        41,
        "dccpConnSsthresh",
        "ssthresh_packets",
        Unit::Packets,
        "Slow-start threshold; none while unlimited",
        |_, c| c.tx.ssthresh_packets,
    ),
    whole(
        42,
        "dccpConnSendRate",
        "send_rate",
        Unit::BytesPerSecond,
        "Allowed sending rate, or pacing rate",
        |_, c| c.tx.rate.map(Rate::bytes_per_s),
    ),
    whole(
        43,
        "dccpConnRtt",
        "rtt",
        Unit::Seconds,
        "Smoothed round-trip time",
        |_, c| c.rtt.map(|t| t.as_secs_f64()),
    )
    .scaled(1e6, "microseconds"),
    whole(
        44,
        "dccpConnRto",
        "rto",
        Unit::Seconds,
        "Retransmission or nofeedback timeout",
        |_, c| c.tx.rto.map(|t| t.as_secs_f64()),
    )
    .scaled(1e6, "microseconds"),
    whole(
        45,
        "dccpConnLossEventRate",
        "loss_event",
        Unit::Ratio,
        "Loss event rate p of the sending CCID",
        |_, c| c.tx.loss_event_rate,
    )
    .scaled(1e6, "parts per million"),
    whole(
        46,
        "dccpConnInLossEventRate",
        "receiver_loss_event",
        Unit::Ratio,
        "Loss event rate p that the receiving CCID measures",
        |_, c| c.rx.loss_event_rate,
    )
    .scaled(1e6, "parts per million"),
    whole(
        47,
        "dccpConnReceiveRate",
        "receive_rate",
        Unit::BytesPerSecond,
        "Receive rate X_recv of the last feedback",
        |_, c| c.tx.receive_rate.map(Rate::bytes_per_s),
    ),
    whole(
        48,
        "dccpConnPipe",
        "pipe_packets",
        Unit::Packets,
        "Data packets in flight",
        |_, c| Some(f64::from(c.pipe_packets)),
    ),
    whole(
        49,
        "dccpConnPipeOctets",
        "pipe",
        Unit::Bytes,
        "Application data in flight",
        |_, c| Some(exact(c.pipe_bytes)),
    ),
    whole(
        50,
        "dccpConnMps",
        "max_packet_size",
        Unit::Bytes,
        "Largest datagram that fits",
        |_, c| Some(exact(c.mps as u64)),
    ),
    whole(
        51,
        "dccpConnPmtu",
        "path_mtu",
        Unit::Bytes,
        "Path MTU",
        |_, c| Some(exact(c.pmtu as u64)),
    ),
    whole(
        52,
        "dccpConnSequenceWindow",
        "sequence_window_packets",
        Unit::Packets,
        "Sequence Window of this end",
        |_, c| Some(exact(c.sequence_window)),
    ),
    whole(
        53,
        "dccpConnAckRatio",
        "ack_ratio_packets",
        Unit::Packets,
        "Data packets of this end per acknowledgement",
        |_, c| Some(exact(c.ack_ratio)),
    ),
    whole(
        54,
        "dccpConnAckVectorOctets",
        "ack_vector_state",
        Unit::Bytes,
        "Ack Vector cells that wait for an acknowledgement",
        |_, c| Some(exact(c.ack_vector_cells as u64)),
    ),
    whole(
        55,
        "dccpConnQueued",
        "queued_datagrams",
        Unit::Datagrams,
        "Datagrams that wait in the send buffer",
        |s, _| Some(exact(s.sent.queued)),
    ),
    whole(
        56,
        "dccpConnInFlight",
        "in_flight_datagrams",
        Unit::Datagrams,
        "Datagrams that left and whose fate is open",
        |s, _| Some(exact(s.sent.in_flight)),
    ),
];
