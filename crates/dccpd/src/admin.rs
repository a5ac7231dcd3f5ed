//! The administrator's socket: one request in JSON on a line, one answer.
//!
//! ```text
//! {"request":"report"}            {"ok":{"programs":[],…}}
//! {"request":"abort","id":7}      {"error":"there is no connection 7","next":"…"}
//! {"request":"trace","id":7,…}    {"ok":null}, then the capture file
//! ```

pub(crate) mod client;
pub(crate) mod server;

use dccp_counters::Snapshot;
use serde::{Deserialize, Serialize};

/// The greatest length of a request in bytes.
const REQUEST_MAX: u64 = 64 << 10;

/// A request of `dccpctl`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Request {
    /// All connections, listeners and counters.
    Report,
    /// Read the policy file again.
    Reload,
    /// End a connection at once.
    Abort { id: u32 },
    /// The packets of a connection.
    Trace(TraceRequest),
}

/// Which packets to trace, and how many.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct TraceRequest {
    pub(crate) id: u32,
    /// Bytes of each packet from the DCCP header on; at least the header.
    pub(crate) snap: usize,
    pub(crate) packets: Option<u64>,
    pub(crate) seconds: Option<f64>,
}

/// The daemon's answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Answer<T> {
    Ok { ok: T },
    Error { error: String, next: String },
}

/// The host at one moment.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    /// The programs that have the connections.
    pub(crate) programs: Vec<Program>,
    #[serde(flatten)]
    pub(crate) snapshot: Snapshot,
}

/// The program that has a connection.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Program {
    /// Number of the connection.
    pub(crate) connection: u32,
    pub(crate) pid: u32,
}

/// An answer to a reload.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Reloaded {
    /// The policy has settings that count only after a restart.
    pub(crate) needs_restart: bool,
}
