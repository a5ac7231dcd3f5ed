//! Settings and counters that all flows use.

use crate::log::Log;
use crate::publish::Metrics;
use core::time::Duration;
use dccp::{DccpAddr, Instant, Options};
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
    /// The reason why no connection works any more.
    pub(crate) broken: Option<String>,
}

impl Context {
    /// Writes a line about the flow with this name.
    pub(crate) fn tell(&mut self, now: Instant, flow: &str, text: &str) {
        self.log.line(now, &format!("{flow} {text}"));
    }
}
