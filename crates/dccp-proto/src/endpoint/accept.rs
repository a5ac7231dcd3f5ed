//! Packets of unknown flows (RFC 4340 §8.5, steps 2 and 3), and the connections that listeners accept.

use super::{ConnId, Endpoint, stateless};
use crate::conn::stats::DropReason;
use crate::conn::{Birth, Connection, Role};
use crate::event::Event;
use crate::path::Flow;
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::{Kind, Packet, ResetCode, ServiceCode};

impl Endpoint {
    /// Steps 2 and 3: a packet of no connection (4340-8.5-2, 4340-8.5-3, AMB-1). Returns the connection that it makes.
    pub(super) fn handle_stranger(
        &mut self,
        now: Instant,
        flow: Flow,
        packet: &Packet<'_>,
    ) -> Option<ConnId> {
        if matches!(packet.kind, Kind::Listen { .. }) {
            // 5596-2.2.2-5
            self.stats.drops.count(DropReason::UnwantedListen);
            return None;
        }
        let is_resting = self.time_wait.holds(now, &flow);
        let port = flow.local_port;
        let code = match packet.kind {
            _ if is_resting => ResetCode::NO_CONNECTION,
            Kind::Request { service } => match self.listeners.check(port, service) {
                Ok(()) if self.is_held_off(now, &flow, service) => ResetCode::TOO_BUSY,
                Ok(()) => return self.accept(now, flow, packet, service),
                Err(code) => code,
            },
            _ if self.listeners.is_open(port) => match self.redeem_cookie(now, &flow, packet) {
                Ok(Some(conn)) => return Some(self.welcome(conn)),
                Ok(None) => ResetCode::NO_CONNECTION,
                Err(code) => code,
            },
            _ => ResetCode::NO_CONNECTION,
        };
        self.stats.drops.count(match code {
            _ if is_resting => DropReason::TimeWait,
            ResetCode::BAD_SERVICE_CODE => DropReason::BadServiceCode,
            ResetCode::BAD_INIT_COOKIE => DropReason::BadInitCookie,
            _ => DropReason::NoConnection,
        });
        self.answer_with_reset(now, &flow.path, packet, code);
        None
    }

    /// Whether a breaker leaves a listener no CCID for this peer.
    pub(super) fn is_held_off(&self, now: Instant, flow: &Flow, service: ServiceCode) -> bool {
        let config = self.listeners.config(flow.local_port, service);
        self.permitted(now, flow, config).is_err()
    }

    /// Step 3: a Request that a listener takes.
    fn accept(
        &mut self,
        now: Instant,
        flow: Flow,
        packet: &Packet<'_>,
        service: ServiceCode,
    ) -> Option<ConnId> {
        if !self.may_respond(now, &flow.path, packet) {
            return None;
        }
        if self.listeners.is_flooded(flow.local_port, service) || self.table.is_full() {
            self.offer_cookie(now, &flow, packet, service);
            return None;
        }
        let conn = self.new_server(now, flow, service, packet.seq, None);
        let id = self.welcome(conn);
        self.listeners.on_half_open(flow.local_port, id);
        Some(id)
    }

    pub(super) fn new_server(
        &self,
        now: Instant,
        flow: Flow,
        service: ServiceCode,
        isr: Seq,
        iss: Option<Seq>,
    ) -> Connection {
        let config = self.listeners.config(flow.local_port, service);
        // The callers have turned away peers that are held off from all CCIDs.
        let config = self.permitted(now, &flow, config.clone()).unwrap_or(config);
        let iss = iss.unwrap_or_else(|| self.initial_seq(now, &flow, &config));
        let mut conn = Connection::server(Birth {
            now,
            flow,
            role: Role::Server,
            config,
            service,
            iss,
            audit_seed: stateless::audit_seed(&*self.hash, now, &flow),
        });
        conn.begin_receiving(isr);
        conn
    }

    pub(super) fn welcome(&mut self, conn: Connection) -> ConnId {
        let (port, service) = (conn.flow().local_port, conn.service());
        let id = self.table.insert(conn);
        self.events
            .push_back((id, Event::Accepted { port, service }));
        id
    }
}
