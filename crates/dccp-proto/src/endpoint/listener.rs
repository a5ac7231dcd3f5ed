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

#[derive(Default)]
struct Listener {
    /// Each call that listens has settings of its own.
    services: BTreeMap<ServiceCode, Arc<Config>>,
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
        let listener = self.by_port.get(&port);
        let is_known = |service| listener.is_some_and(|l| l.services.contains_key(service));
        for (i, service) in services.iter().enumerate() {
            if *service == ServiceCode::INVALID {
                // 5595-2.5-1
                return Err(ListenError::InvalidServiceCode);
            }
            if is_known(service) || services[..i].contains(service) {
                // 5595-3.3-1
                return Err(ListenError::ServiceCodeInUse);
            }
        }
        if services.len() > bounds::SERVICE_CODES {
            return Err(ListenError::TooManyServiceCodes);
        }
        let config = Arc::new(config);
        let listener = self.by_port.entry(port).or_default();
        let added = services.iter().map(|service| (*service, config.clone()));
        listener.services.extend(added);
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
            Some(l) if l.services.contains_key(&service) => Ok(()),
            Some(_) => Err(ResetCode::BAD_SERVICE_CODE),
        }
    }

    /// Returns the settings for a Service Code of a port; defaults without a listener.
    pub(super) fn config(&self, port: u16, service: ServiceCode) -> Arc<Config> {
        let listener = self.by_port.get(&port);
        let config = listener.and_then(|l| l.services.get(&service));
        config.cloned().unwrap_or_default()
    }

    /// Whether the next Request gets a cookie because too many connections are half-open (4340-8.1.4-4).
    pub(super) fn is_flooded(&self, port: u16, service: ServiceCode) -> bool {
        let threshold = self.config(port, service).cookie_threshold;
        let half_open = self.by_port.get(&port).map_or(0, |l| l.half_open.len());
        half_open >= threshold.min(bounds::RESPOND_PER_LISTENER)
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
