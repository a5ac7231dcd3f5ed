//! The allowed rates of all flows, for encoders: as a file, on a Unix socket, and for Prometheus.

mod file;
mod metrics;
mod socket;

use core::net::SocketAddr;
use dccp_cli::Failure;
use file::RateFile;
pub(crate) use metrics::Metrics;
use serde::Serialize;
use socket::RateSocket;
use std::path::Path;

/// The rate of one flow.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct FlowRate {
    /// Its number in the log.
    pub(crate) flow: u64,
    /// The address of the application.
    pub(crate) app: SocketAddr,
    /// Bits of application data per second that may leave; absent without a connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) allowed_bps: Option<u64>,
    /// Bits of application data per second that arrive at the peer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delivered_bps: Option<u64>,
    /// The time that a datagram waits if it is queued now.
    pub(crate) queue_ms: u64,
    /// `clear`, `advisory` or `enforcement`.
    pub(crate) level: &'static str,
}

/// The document that is published: one line of JSON.
#[derive(Serialize)]
struct Document<'a> {
    /// The lowest rate of all flows that have one.
    allowed_bps: Option<u64>,
    flows: &'a [FlowRate],
}

/// Writes the document.
fn line(flows: &[FlowRate]) -> String {
    let document = Document {
        allowed_bps: flows.iter().filter_map(|flow| flow.allowed_bps).min(),
        flows,
    };
    // A document of numbers and words always has a text.
    let mut text = serde_json::to_string(&document).unwrap_or_default();
    text.push('\n');
    text
}

/// The places where rates are published.
pub(crate) struct Publisher {
    file: Option<RateFile>,
    socket: Option<RateSocket>,
    last: String,
}

impl Publisher {
    /// Opens the places.
    ///
    /// # Errors
    /// One cannot be opened.
    pub(crate) fn open(file: Option<&Path>, socket: Option<&Path>) -> Result<Self, Failure> {
        let text = line(&[]);
        Ok(Self {
            file: file.map(|path| RateFile::create(path, &text)).transpose()?,
            socket: socket.map(RateSocket::bind).transpose()?,
            last: text,
        })
    }

    /// Publishes the rates, if they have changed, and serves new clients of the socket. Returns a complaint that is new.
    pub(crate) fn publish(&mut self, flows: &[FlowRate]) -> Option<String> {
        let text = line(flows);
        let is_new = text != self.last;
        if let Some(socket) = &mut self.socket {
            if is_new {
                socket.send(&text);
            }
            socket.accept(&text);
        }
        let complaint = match &mut self.file {
            Some(file) if is_new => file.write(&text),
            _ => None,
        };
        self.last = text;
        complaint
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_has_the_lowest_rate_and_that_of_each_flow() {
        let flow = |flow, allowed_bps| FlowRate {
            flow,
            app: ([127, 0, 0, 1], 4000).into(),
            allowed_bps,
            delivered_bps: Some(7),
            queue_ms: 3,
            level: "clear",
        };
        let text = line(&[flow(1, Some(900)), flow(2, None), flow(3, Some(800))]);
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["allowed_bps"], 800);
        assert_eq!(document["flows"][0]["app"], "127.0.0.1:4000");
        assert_eq!(document["flows"][0]["queue_ms"], 3);
        assert!(document["flows"][1].get("allowed_bps").is_none());
        assert!(text.ends_with("}\n"));
        assert_eq!(line(&[]), "{\"allowed_bps\":null,\"flows\":[]}\n");
    }
}
