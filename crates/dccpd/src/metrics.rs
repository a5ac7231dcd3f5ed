//! Counters for Prometheus.

use crate::daemon::Daemon;
use crate::policy::next_of_port;
use core::net::SocketAddr;
use core::time::Duration;
use dccp::{Instant, clock};
use dccp_cli::Failure;
use dccp_counters::Snapshot;
use dccp_counters::prometheus::Exporter;
use dccp_metrics::Server;
use prometheus_client::registry::Registry;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Connections that have series of their own at most.
const CONNECTIONS_MAX: usize = 1000;
/// Scrapes within this time get the same values, so that scrapes cannot keep the engine busy.
const AGE_MAX: Duration = Duration::from_secs(1);

/// Serves the counters at this address, if wanted with series for each connection.
pub(crate) fn serve(
    at: SocketAddr,
    has_connections: bool,
    daemon: Arc<Daemon>,
) -> Result<Server, Failure> {
    let last: Mutex<Option<(Instant, Snapshot)>> = Mutex::default();
    let read = move || {
        let now = clock::now();
        // A thread that panicked has left a whole snapshot.
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_young = |(taken, _): &&(Instant, Snapshot)| now - *taken < AGE_MAX;
        if let Some((_, snapshot)) = last.as_ref().filter(is_young) {
            return Ok(snapshot.clone());
        }
        let snapshot = daemon.snapshot().map_err(io::Error::other)?;
        *last = Some((now, snapshot.clone()));
        Ok(snapshot)
    };
    let max = if has_connections { CONNECTIONS_MAX } else { 0 };
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Exporter::new(read).connections(max)));
    Server::start(at, registry).map_err(|e| {
        let what = format!("metrics: {at} cannot be opened: {e}");
        Failure::run(what, next_of_port(&e, "metrics"))
    })
}
