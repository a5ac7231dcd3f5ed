//! Results of requests and responses.

use clap::ValueEnum;
use dccp_stats::{Line, Spread, Step};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Latency against message size.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct Rr {
    /// The messages whose size varies.
    pub varied: Varied,
    /// Each size, rising.
    pub points: Vec<RrPoint>,
    /// The line of nanoseconds over bytes through the least latency of each size; null for fewer than three sizes.
    pub line: Option<Line>,
    /// Jumps of the least latency, in nanoseconds, at a size in bytes.
    pub steps: Vec<Step>,
}

/// The messages whose size varies.
#[derive(
    Serialize, Deserialize, JsonSchema, ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default,
)]
#[serde(rename_all = "lowercase")]
pub enum Varied {
    /// The server's.
    #[default]
    Response,
    /// The client's.
    Request,
    /// Both, with the same size.
    Both,
}

/// Requests and responses of one size.
#[derive(Serialize, Deserialize, JsonSchema, Clone, PartialEq, Debug)]
#[schemars(deny_unknown_fields)]
pub struct RrPoint {
    /// Bytes of a request.
    pub request_bytes: u64,
    /// Bytes of a response.
    pub response_bytes: u64,
    /// From a request to the last part of its response, with the histogram; null if no response arrived.
    pub latency_ns: Option<Spread>,
    /// Requests without a whole response in time.
    pub lost_requests: u64,
}
