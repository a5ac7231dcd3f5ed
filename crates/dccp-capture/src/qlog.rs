//! Writes qlog files: version 0.3 as a JSON text sequence (RFC 7464), file name extension `.sqlog`.
//!
//! qvis draws packets, acknowledgements, losses, window and round-trip times from them. It knows QUIC only, so each
//! packet has the packet type `1RTT`; `dccp_type` and `dccp_seq` are DCCP's own. Packet numbers count from the first
//! packet of each direction. Each connection of a file has its own `group_id`.

use crate::Direction;
use crate::numbers::Numbers;
use core::time::Duration;
use dccp_proto::Seq;
use dccp_proto::wire::{AckState, Opt, Packet, PacketType};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// qvis reads 0.3 and earlier drafts only.
const VERSION: &str = "0.3";
/// The QUIC packet type of all packets.
const PACKET_TYPE: &str = "1RTT";
const RECORD_SEPARATOR: u8 = 0x1e;

/// The end of the connection that writes the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum VantagePoint {
    /// The end that connects.
    Client,
    /// The end that accepts.
    Server,
}

/// The origin of a file.
#[derive(Clone, Copy, Debug)]
pub struct Description<'a> {
    /// Title of the trace.
    pub title: &'a str,
    /// The end that writes it.
    pub vantage_point: VantagePoint,
    /// The start of the file's times, in nanoseconds since 1970.
    pub start_ns: u64,
}

/// State of a connection's congestion control. `None`: not known.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Metrics {
    /// The least round-trip time.
    pub min_rtt: Option<Duration>,
    /// The smoothed round-trip time.
    pub smoothed_rtt: Option<Duration>,
    /// The newest sample of the round-trip time.
    pub latest_rtt: Option<Duration>,
    /// The congestion window in bytes.
    pub congestion_window_bytes: Option<u64>,
    /// Bytes in flight.
    pub in_flight_bytes: Option<u64>,
    /// The slow-start threshold in bytes.
    pub ssthresh_bytes: Option<u64>,
    /// The pacing rate in bit/s.
    pub pacing_rate_bps: Option<u64>,
}

/// Writes a qlog file.
///
/// Times are [`Duration`]s since the start of the file. Events must come in order of time: an event that is older
/// than the one before it is written with that one's time, because readers need times that rise.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    /// Time of the last event.
    newest: Duration,
    connections: BTreeMap<u32, Connection>,
}

/// Both directions of a connection.
#[derive(Debug, Default)]
struct Connection {
    sent: Option<Numbers>,
    received: Option<Numbers>,
}

impl<W: Write> Writer<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// Writing fails.
    pub fn new(out: W, description: &Description<'_>) -> io::Result<Self> {
        let mut writer = Self {
            out,
            newest: Duration::ZERO,
            connections: BTreeMap::new(),
        };
        let Description {
            title,
            vantage_point,
            start_ns,
        } = *description;
        writer.record(&File {
            qlog_version: VERSION,
            qlog_format: "JSON-SEQ",
            title,
            trace: Trace {
                title,
                vantage_point: VantagePointRecord {
                    kind: vantage_point,
                },
                common_fields: CommonFields {
                    time_format: "relative",
                    reference_time: milliseconds(Duration::from_nanos(start_ns)),
                },
            },
        })?;
        Ok(writer)
    }

    /// Appends a packet of connection `group`, with the acknowledgements in it. `len` is the length of the datagram
    /// in bytes, from the DCCP header on. [`header::read`](crate::header::read) makes a [`Packet`] of captured bytes.
    ///
    /// # Errors
    /// Writing fails.
    pub fn packet(
        &mut self,
        at: Duration,
        group: u32,
        direction: Direction,
        packet: &Packet<'_>,
        len: usize,
    ) -> io::Result<()> {
        let connection = self.connections.entry(group).or_default();
        let (own, other) = match direction {
            Direction::Out => (&mut connection.sent, connection.received),
            Direction::In => (&mut connection.received, connection.sent),
        };
        let seq = Numbers::add(own, packet);
        let data = PacketData {
            header: PacketHeader {
                packet_type: PACKET_TYPE,
                packet_number: own.map_or(0, |numbers| numbers.count(seq)),
                dccp_type: Some(type_name(packet.packet_type())),
                dccp_seq: Some(seq.value()),
            },
            raw: Some(Raw {
                length: len,
                payload_length: packet.payload.len(),
            }),
            frames: other
                .and_then(|numbers| acknowledgement(packet, numbers))
                .map(|frame| [frame]),
        };
        let name = match direction {
            Direction::Out => "transport:packet_sent",
            Direction::In => "transport:packet_received",
        };
        self.event(at, group, name, &data)
    }

    /// Appends the detected loss of a packet that connection `group` sent. A packet of a connection without
    /// [`packet`](Self::packet)s is left out, because its number cannot be counted.
    ///
    /// # Errors
    /// Writing fails.
    pub fn lost(&mut self, at: Duration, group: u32, seq: Seq) -> io::Result<()> {
        let sent = self.connections.get(&group).and_then(|c| c.sent);
        let Some(sent) = sent else {
            return Ok(());
        };
        let data = PacketData {
            header: PacketHeader {
                packet_type: PACKET_TYPE,
                packet_number: sent.count(seq),
                dccp_type: None,
                dccp_seq: Some(seq.value()),
            },
            raw: None,
            frames: None,
        };
        self.event(at, group, "recovery:packet_lost", &data)
    }

    /// Appends the state of connection `group`'s congestion control.
    ///
    /// # Errors
    /// Writing fails.
    pub fn metrics(&mut self, at: Duration, group: u32, metrics: &Metrics) -> io::Result<()> {
        let data = MetricsData {
            min_rtt: metrics.min_rtt.map(milliseconds),
            smoothed_rtt: metrics.smoothed_rtt.map(milliseconds),
            latest_rtt: metrics.latest_rtt.map(milliseconds),
            congestion_window: metrics.congestion_window_bytes,
            bytes_in_flight: metrics.in_flight_bytes,
            ssthresh: metrics.ssthresh_bytes,
            pacing_rate: metrics.pacing_rate_bps,
        };
        self.event(at, group, "recovery:metrics_updated", &data)
    }

    /// Ends the file and returns what it was written to.
    ///
    /// # Errors
    /// Writing fails.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn event(
        &mut self,
        at: Duration,
        group: u32,
        name: &'static str,
        data: &impl Serialize,
    ) -> io::Result<()> {
        self.newest = self.newest.max(at);
        self.record(&Event {
            time: milliseconds(self.newest),
            name,
            group_id: group.to_string(),
            data,
        })
    }

    fn record(&mut self, record: &impl Serialize) -> io::Result<()> {
        self.out.write_all(&[RECORD_SEPARATOR])?;
        serde_json::to_writer(&mut self.out, record)?;
        self.out.write_all(b"\n")
    }
}

/// Returns what a packet acknowledges, by its Ack Vectors or else its Acknowledgement Number. `numbers` are those of
/// the acknowledged direction.
fn acknowledgement(packet: &Packet<'_>, numbers: Numbers) -> Option<AckFrame> {
    let ack = numbers.acknowledged(packet)?;
    let mut acked_ranges: Vec<[i64; 2]> = Vec::new();
    let mut marked = 0;
    let mut has_vector = false;
    for run in packet.options.ack_runs(ack) {
        has_vector = true;
        if !matches!(run.said, AckState::Received | AckState::Marked) {
            continue;
        }
        let (oldest, newest) = (numbers.count(run.oldest), numbers.count(run.newest));
        if run.said == AckState::Marked {
            marked += newest - oldest + 1;
        }
        match acked_ranges.last_mut() {
            Some([from, _]) if *from == newest + 1 => *from = oldest,
            _ => acked_ranges.push([oldest, newest]),
        }
    }
    if !has_vector {
        acked_ranges.push([numbers.count(ack); 2]);
    }
    Some(AckFrame {
        frame_type: "ack",
        ack_delay: elapsed(packet).map(milliseconds),
        acked_ranges,
        dccp_marked: has_vector.then_some(marked),
    })
}

/// Returns the time that the acknowledged packet waited at the peer, if the packet states it.
fn elapsed(packet: &Packet<'_>) -> Option<Duration> {
    packet.options.iter().find_map(|option| match option {
        Opt::ElapsedTime(elapsed) | Opt::TimestampEcho { elapsed, .. } => Some(elapsed.duration()),
        _ => None,
    })
}

#[expect(
    clippy::cast_precision_loss,
    reason = "nanoseconds of 100 days and microseconds of 100,000 days are exact"
)]
fn milliseconds(time: Duration) -> f64 {
    // A sum, because the nanoseconds since 1970 exceed what a f64 holds exactly.
    time.as_millis() as f64 + f64::from(time.subsec_nanos() % 1_000_000) / 1e6
}

const fn type_name(packet_type: PacketType) -> &'static str {
    match packet_type {
        PacketType::Request => "Request",
        PacketType::Response => "Response",
        PacketType::Data => "Data",
        PacketType::Ack => "Ack",
        PacketType::DataAck => "DataAck",
        PacketType::CloseReq => "CloseReq",
        PacketType::Close => "Close",
        PacketType::Reset => "Reset",
        PacketType::Sync => "Sync",
        PacketType::SyncAck => "SyncAck",
        PacketType::Listen => "Listen",
    }
}

#[derive(Serialize)]
struct File<'a> {
    qlog_version: &'static str,
    qlog_format: &'static str,
    title: &'a str,
    trace: Trace<'a>,
}

#[derive(Serialize)]
struct Trace<'a> {
    title: &'a str,
    vantage_point: VantagePointRecord,
    common_fields: CommonFields,
}

#[derive(Serialize)]
struct VantagePointRecord {
    #[serde(rename = "type")]
    kind: VantagePoint,
}

#[derive(Serialize)]
struct CommonFields {
    time_format: &'static str,
    /// In milliseconds since 1970.
    reference_time: f64,
}

#[derive(Serialize)]
struct Event<'a, D> {
    /// In milliseconds since the start.
    time: f64,
    name: &'static str,
    group_id: String,
    data: &'a D,
}

#[derive(Serialize)]
struct PacketData {
    header: PacketHeader,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<Raw>,
    #[serde(skip_serializing_if = "Option::is_none")]
    frames: Option<[AckFrame; 1]>,
}

#[derive(Serialize)]
struct PacketHeader {
    packet_type: &'static str,
    packet_number: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dccp_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dccp_seq: Option<u64>,
}

#[derive(Serialize)]
struct Raw {
    length: usize,
    payload_length: usize,
}

#[derive(Serialize)]
struct AckFrame {
    frame_type: &'static str,
    /// In milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    ack_delay: Option<f64>,
    /// First and last packet number of each range, newest range first.
    acked_ranges: Vec<[i64; 2]>,
    /// Acknowledged packets that arrived with a Congestion Experienced mark. QUIC's `ce` counts all since the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    dccp_marked: Option<i64>,
}

#[derive(Serialize)]
struct MetricsData {
    #[serde(skip_serializing_if = "Option::is_none")]
    min_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    smoothed_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latest_rtt: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    congestion_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_in_flight: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ssthresh: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pacing_rate: Option<u64>,
}
