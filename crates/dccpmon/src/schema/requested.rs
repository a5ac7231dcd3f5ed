//! The request, the grant of the server and the agreement of both ends.

use core::fmt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The command line.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Eq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Requested {
    /// The server's name or address.
    pub host: String,
    /// The server that measured for the client, in a third-party test; null if the client measured itself.
    pub from: Option<String>,
    /// The transport of the flows.
    pub transport: Transport,
    /// Null without UDP.
    pub udp_port: Option<u16>,
    /// The DCCP port of the control connection.
    pub dccp_port: Option<u16>,
    /// `udp` or `ip`: the encapsulation of DCCP.
    pub over: Option<String>,
    /// How long to send.
    pub duration_ns: u64,
    /// The packets after which each flow ends; null: only the time ends it.
    pub packets: Option<u64>,
    /// The length of an interval.
    pub interval_ns: u64,
    /// The time before the load, for measuring the delay of the idle path.
    pub idle_ns: u64,
    /// The sending end.
    pub direction: Direction,
    /// Whether a flow of each end shares a connection. Only if both ends send.
    #[serde(default)]
    pub one_connection: bool,
    /// Each flow.
    pub flows: Vec<FlowRequest>,
    /// The seed of everything random, as a text because it has 64 bits; null if nothing is.
    pub seed: Option<String>,
    /// The number of runs.
    pub repeat: u32,
    /// `--title`.
    pub title: Option<String>,
}

/// A transport protocol.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// DCCP.
    #[default]
    Dccp,
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Dccp => "DCCP",
            Self::Udp => "UDP",
            Self::Tcp => "TCP",
        })
    }
}

/// The sending end.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// The client.
    #[default]
    Forward,
    /// The server.
    Reverse,
    /// Both.
    Both,
}

/// One flow as it was asked for.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Eq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct FlowRequest {
    /// The congestion control of DCCP.
    pub ccid: Option<u8>,
    /// The law of CCID 2, or TCP's congestion control; null if the sender has none, or is the server.
    pub cc: Option<String>,
    /// The traffic shape.
    pub shape: String,
    /// Null: as fast as congestion control allows.
    pub rate_bps: Option<u64>,
    /// Bytes of a datagram; null: what the path bears.
    pub packet_bytes: Option<u64>,
    /// `-w`.
    pub socket_buffer_bytes: Option<u64>,
    /// The differentiated services code point.
    pub dscp: Option<u8>,
}

/// The test that the server granted.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Eq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Granted {
    /// How long the test may send.
    pub duration_ns: u64,
    /// The rate of each flow; null: no limit.
    pub rate_bps: Option<u64>,
    /// The server's limits.
    pub limits: ServerLimits,
    /// A sentence for each value that the server lowered.
    pub lowered: Vec<String>,
}

/// The most that a server grants.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Eq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct ServerLimits {
    /// Tests at once, of all clients together.
    pub tests: u32,
    /// Flows of a test.
    pub flows: u32,
    /// The rate of all flows of a test; null: no limit.
    pub rate_bps: Option<u64>,
    /// The duration of a test.
    pub duration_ns: u64,
    /// The length of a datagram.
    pub packet_bytes_max: u64,
    /// The shortest interval of reports.
    pub interval_ns_min: u64,
}

/// The features of a flow, as its sender sees them.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Eq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Negotiated {
    /// Counts from 1.
    pub flow: u32,
    /// The transport.
    pub transport: Transport,
    /// The client's address.
    pub client_host: Option<String>,
    /// Its port of UDP or TCP, or that of DCCP over IP.
    pub client_port: Option<u16>,
    /// The congestion control of the data.
    pub ccid: Option<u8>,
    /// The law of CCID 2, or TCP's congestion control.
    pub cc: Option<String>,
    /// Packets that the receiver acknowledges at once.
    pub ack_ratio: Option<u64>,
    /// Whether packets are marked instead of dropped where the path can do so.
    pub ecn: Option<bool>,
    /// `udp` or `ip`.
    pub encap: Option<String>,
    /// The largest datagram that the path bears.
    pub mps_bytes: Option<u64>,
    /// TCP's segment size.
    pub mss_bytes: Option<u64>,
    /// The checksum coverage of DCCP.
    pub csum_cover: Option<u8>,
    /// Bytes of a datagram.
    pub packet_bytes: u64,
    /// The kernel's send buffer.
    pub send_buffer_bytes: Option<u64>,
    /// The kernel's receive buffer.
    pub recv_buffer_bytes: Option<u64>,
    /// Whether one system call hands several datagrams to the kernel as one.
    pub gso: Option<bool>,
    /// Whether the kernel merges datagrams that arrive.
    pub gro: Option<bool>,
}
