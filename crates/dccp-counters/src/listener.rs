//! The counters of a listener.

use dccp::{DccpAddr, Listener, ServiceCode};
use serde::{Deserialize, Serialize};

/// A listener and its counters.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ListenerCounters {
    /// User ID of the application.
    pub user: u32,
    /// Addresses.
    pub local: Vec<String>,
    /// Service Codes.
    pub services: Vec<String>,
    /// Connections refused because too many waited to be accepted.
    pub refused_backlog: u64,
    /// Connections refused because their address had too many.
    pub refused_source: u64,
}

impl ListenerCounters {
    /// Reads a listener.
    pub fn new(user: u32, services: &[ServiceCode], listener: &Listener) -> Self {
        let stats = listener.stats();
        Self {
            user,
            local: listener
                .local_addrs()
                .iter()
                .map(DccpAddr::to_string)
                .collect(),
            services: services.iter().map(ServiceCode::to_string).collect(),
            refused_backlog: stats.refused_backlog,
            refused_source: stats.refused_source,
        }
    }
}
