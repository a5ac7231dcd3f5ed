//! Listening ports and their Service Codes (RFC 4340 §8.1.2, RFC 5595 §3.3).

use super::ConnId;
use crate::config::{Config, bounds};
use crate::error::ListenError;
use crate::wire::{ResetCode, ServiceCode};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Default)]
pub(super) struct Listeners {
    by_port: BTreeMap<u16, Listener>,
}

struct Listener {
    services: Vec<ServiceCode>,
    config: Arc<Config>,
    /// Connections in RESPOND that no cookie vouched for.
    half_open: BTreeSet<ConnId>,
}

impl Listeners {
    pub(super) fn add(
        &mut self,
        port: u16,
        services: &[ServiceCode],
        config: Config,
    ) -> Result<(), ListenError> {
        let known = self.by_port.get(&port).map_or(&[][..], |l| &l.services);
        for (i, service) in services.iter().enumerate() {
            if *service == ServiceCode::INVALID {
                // 5595-2.5-1
                return Err(ListenError::InvalidServiceCode);
            }
            if known.contains(service) || services[..i].contains(service) {
                // 5595-3.3-1
                return Err(ListenError::ServiceCodeInUse);
            }
        }
        if known.len() + services.len() > bounds::SERVICE_CODES {
            return Err(ListenError::TooManyServiceCodes);
        }
        let listener = self.by_port.entry(port).or_insert_with(|| Listener {
            services: Vec::new(),
            config: Arc::new(config),
            half_open: BTreeSet::new(),
        });
        listener.services.extend_from_slice(services);
        Ok(())
    }

    pub(super) fn remove(&mut self, port: u16) {
        self.by_port.remove(&port);
    }

    pub(super) fn is_open(&self, port: u16) -> bool {
        self.by_port.contains_key(&port)
    }

    /// Whether a Request for this port and code is welcome, or with which code it is refused
    /// (4340-8.1.2-2, 5595-3.3.1-1, 5595-3.3.1-2).
    pub(super) fn check(&self, port: u16, service: ServiceCode) -> Result<(), ResetCode> {
        match self.by_port.get(&port) {
            None => Err(ResetCode::CONNECTION_REFUSED),
            Some(l) if l.services.contains(&service) => Ok(()),
            Some(_) => Err(ResetCode::BAD_SERVICE_CODE),
        }
    }

    /// Returns the settings of a port; defaults without a listener.
    pub(super) fn config(&self, port: u16) -> Arc<Config> {
        self.by_port
            .get(&port)
            .map(|l| l.config.clone())
            .unwrap_or_default()
    }

    /// Whether the next Request gets a cookie because too many connections are half-open (4340-8.1.4-4).
    pub(super) fn is_flooded(&self, port: u16) -> bool {
        self.by_port.get(&port).is_some_and(|l| {
            l.half_open.len() >= l.config.cookie_threshold.min(bounds::RESPOND_PER_LISTENER)
        })
    }

    /// A Request has made a connection.
    pub(super) fn on_half_open(&mut self, port: u16, id: ConnId) {
        if let Some(l) = self.by_port.get_mut(&port) {
            l.half_open.insert(id);
        }
    }

    /// A server connection is past RESPOND, or over. Nothing happens if this listener did not count
    /// it: a cookie or an invitation had opened it, or an earlier listener of the port.
    pub(super) fn on_settled(&mut self, port: u16, id: ConnId) {
        if let Some(l) = self.by_port.get_mut(&port) {
            l.half_open.remove(&id);
        }
    }
}
