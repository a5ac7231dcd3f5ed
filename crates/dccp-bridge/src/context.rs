//! Settings and counters that all flows use.

use crate::publish::Metrics;
use core::time::Duration;
use dccp::{DccpAddr, Instant, Options};
use dccp_cli::log::Log;
use mio::Registry;

/// The bridge as its flows see it.
pub(crate) struct Context {
    pub(crate) options: Options,
    /// Addresses of the other side; none on the listening side.
    pub(crate) peers: Vec<DccpAddr>,
    pub(crate) max_age: Duration,
    /// Datagrams of a flow that wait at most.
    pub(crate) queue: usize,
    pub(crate) drops_oldest: bool,
    pub(crate) registry: Registry,
    pub(crate) metrics: Metrics,
    pub(crate) log: Log,
    /// Datagrams that programs did not take, since the last warning.
    pub(crate) not_taken: u64,
    /// The reason why no connection works any more.
    pub(crate) broken: Option<String>,
}

impl Context {
    /// Counts datagrams that a program did not take.
    pub(crate) fn note_not_taken(&mut self, datagrams: u64) {
        self.not_taken += datagrams;
        self.metrics.not_taken.inc_by(datagrams);
    }

    /// Writes a line about the flow with this name.
    pub(crate) fn tell(&mut self, now: Instant, flow: &str, text: &str) {
        self.log.line(now, &format!("{flow} {text}"));
    }
}
