//! One local address: finds the connection of a packet, listens, answers packets of unknown flows (RFC
//! 4340 §8.5, steps 1 to 3), and schedules its connections.

mod accept;
mod cookie_issue;
mod cookie_keys;
mod hold_off;
mod listener;
mod prefix_limit;
mod schedule;
mod settle;
mod stateless;
mod table;
mod time_wait;
mod train;

#[cfg(test)]
mod tests;

pub use table::ConnId;

use crate::batch::Batch;
use crate::cc::{HostDrops, HostLossWish, safeudp};
use crate::config::Config;
use crate::conn::stats::{DropReason, Resets, Stats};
use crate::conn::{App, Birth, Connection, Role, State};
use crate::error::{ConnectError, ListenError};
use crate::event::Event;
use crate::path::{Flow, Path};
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::{Datagram, Ecn, Kind, Packet, ResetCode, ServiceCode};
use cookie_keys::CookieKeys;
use core::iter::once;
pub use hold_off::HoldOff;
use listener::Listeners;
use prefix_limit::PrefixLimit;
use schedule::Schedule;
use stateless::Stateless;
use std::collections::VecDeque;
use std::sync::Arc;
use table::Table;
use time_wait::TimeWait;
use train::Train;

/// A keyed hash for sequence numbers and cookies: the core has no cryptography of its own.
pub trait KeyedHash: Send {
    /// Returns the hash of `data` under a secret that the implementor never reveals. Without the secret,
    /// guessing the hash must be infeasible.
    fn hash(&self, data: &[u8]) -> u128;
}

/// The application's queues, by connection.
pub trait Queues {
    /// Calls `run` once with both queues of a connection. Queues that other threads use too can be
    /// locked once for the whole call.
    fn with_app(&mut self, id: ConnId, run: &mut dyn FnMut(&mut App<'_>));
}

/// An ICMP error about one of our packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IcmpError<'a> {
    /// The path of the packet, as we sent it.
    pub path: Path,
    /// The packet from its DCCP header on, as far as it is quoted; can be empty (6773-3.6-1).
    pub quoted: &'a [u8],
    /// Kind of error.
    pub kind: IcmpKind,
}

/// The ICMP errors that matter to a transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IcmpKind {
    /// Fragmentation needed, or Packet Too Big.
    TooBig {
        /// MTU of the next hop in bytes; 0 if the router did not report it (4340-14.1-2).
        mtu: usize,
    },
    /// Destination unreachable, or any other error.
    Unreachable {
        /// Type in ICMP or `ICMPv6`.
        kind: u8,
        /// Code in ICMP or `ICMPv6`.
        code: u8,
    },
}

/// The connections and listeners of one local address.
///
/// Each connection costs one boxed [`Connection`] (see `docs/`), a slot of the table, an entry in
/// the flow map and at most a few entries in the timer heap.
pub struct Endpoint {
    hash: Box<dyn KeyedHash>,
    table: Table,
    listeners: Listeners,
    time_wait: TimeWait,
    stateless: Stateless,
    cookie_keys: CookieKeys,
    prefix_limit: PrefixLimit,
    hold_off: HoldOff,
    /// Packets that this host has dropped below DCCP.
    host_losses: HostDrops,
    /// The strongest wish of connections for that number.
    host_loss_wish: HostLossWish,
    schedule: Schedule,
    events: VecDeque<(ConnId, Event)>,
    /// The connection whose end was polled last.
    closed: Option<ConnId>,
    /// Counters of packets that found no connection, and of connections that are gone.
    stats: Stats,
    resets: Resets,
    answers_strangers: bool,
}

impl Endpoint {
    /// An endpoint without connections and listeners. 4340-3.1-4: the key of `hash` is secret and random,
    /// because initial sequence numbers and cookies come from it.
    pub fn new(hash: Box<dyn KeyedHash>) -> Self {
        Self {
            hash,
            table: Table::default(),
            listeners: Listeners::default(),
            time_wait: TimeWait::default(),
            stateless: Stateless::default(),
            cookie_keys: CookieKeys::new(),
            prefix_limit: PrefixLimit::default(),
            hold_off: HoldOff::default(),
            host_losses: HostDrops::default(),
            host_loss_wish: HostLossWish::None,
            schedule: Schedule::default(),
            events: VecDeque::new(),
            closed: None,
            stats: Stats::default(),
            resets: Resets::default(),
            answers_strangers: true,
        }
    }

    /// Shares the memory of peers that circuit breakers of CCID 248 hold off. By default an endpoint has its own.
    pub fn share_hold_off(&mut self, shared: &HoldOff) {
        self.hold_off = shared.clone();
    }

    /// Whether packets of unknown flows are answered with Resets. An engine that shares IP protocol
    /// 33 with others must stay silent, because such a flow may be another engine's.
    pub fn set_answers_strangers(&mut self, answers: bool) {
        self.answers_strangers = answers;
    }

    /// Listens on a DCCP port for some Service Codes. May be called again for the same port with other codes and other
    /// settings.
    ///
    /// # Errors
    /// [`ListenError`]; nothing changes then.
    pub fn listen(
        &mut self,
        port: u16,
        services: &[ServiceCode],
        config: Config,
    ) -> Result<(), ListenError> {
        config
            .check()
            .map_err(|why| ListenError::Open(ConnectError::Config(why)))?;
        self.listeners.add(port, services, config)
    }

    /// Ends listening on a port. Connections that it accepted live on.
    pub fn unlisten(&mut self, port: u16) {
        self.listeners.remove(port);
    }

    /// Opens a connection actively. Connections that are given the same `Arc` of settings share them.
    ///
    /// # Errors
    /// [`ConnectError`]; nothing changes then.
    pub fn connect(
        &mut self,
        now: Instant,
        flow: Flow,
        config: impl Into<Arc<Config>>,
    ) -> Result<ConnId, ConnectError> {
        let birth = self.birth(now, flow, Role::Client, config.into())?;
        Ok(self.adopt(now, Connection::client(birth)))
    }

    /// Opens passively towards a known peer, with DCCP-Listen (RFC 5596 §2.2.2).
    ///
    /// # Errors
    /// [`ListenError`]; nothing changes then.
    pub fn open_simultaneously(
        &mut self,
        now: Instant,
        flow: Flow,
        config: impl Into<Arc<Config>>,
    ) -> Result<ConnId, ListenError> {
        let birth = self
            .birth(now, flow, Role::Server, config.into())
            .map_err(ListenError::Open)?;
        Ok(self.adopt(now, Connection::inviting_server(birth)))
    }

    fn birth(
        &self,
        now: Instant,
        flow: Flow,
        role: Role,
        config: Arc<Config>,
    ) -> Result<Birth, ConnectError> {
        config.check().map_err(ConnectError::Config)?;
        if self.table.find(&flow).is_some() || self.time_wait.holds(now, &flow) {
            return Err(ConnectError::FlowInUse);
        }
        if self.table.is_full() {
            return Err(ConnectError::TooManyConnections);
        }
        let config = self.permitted(now, &flow, config);
        let config = config.map_err(|until| ConnectError::HeldOff { until })?;
        let iss = self.initial_seq(now, &flow, &config);
        Ok(Birth {
            now,
            flow,
            role,
            service: config.service_code,
            config,
            iss,
            audit_seed: stateless::audit_seed(&*self.hash, now, &flow),
        })
    }

    /// The settings for a connection to this peer: without CCID 248 while a breaker holds it off. It is the peer's address that
    /// counts, because another port is no other path.
    ///
    /// # Errors
    /// No other CCID is left before this time.
    fn permitted(
        &self,
        now: Instant,
        flow: &Flow,
        mut config: Arc<Config>,
    ) -> Result<Arc<Config>, Instant> {
        if config.tx_ccids.contains(&safeudp::NUMBER)
            && let Some(until) = self.hold_off.until(now, flow.path.remote)
        {
            let ccids = &mut Arc::make_mut(&mut config).tx_ccids;
            ccids.retain(|ccid| *ccid != safeudp::NUMBER);
            if ccids.is_empty() {
                return Err(until);
            }
        }
        Ok(config)
    }

    /// 4340-7.2-1, 4340-7.2-2, 4340-7.3-1, 4340-18-1: a keyed hash of the flow, moved on by a clock that is
    /// faster than any sender: a step each 256 ns. Where short numbers may be used their 24 bits must
    /// not come round within two maximum segment lifetimes (4 minutes): a step each 16 µs, which is
    /// still faster than what such connections are for.
    fn initial_seq(&self, now: Instant, flow: &Flow, config: &Config) -> Seq {
        let step_bits = if config.short_seqnos { 14 } else { 8 };
        let offset = self.hash.hash(&stateless::flow_bytes(b"iss", flow));
        #[expect(clippy::cast_possible_truncation, reason = "48 bits of it are used")]
        let offset = offset as u64;
        Seq::new(offset.wrapping_add(now.as_nanos() >> step_bits))
    }

    fn adopt(&mut self, now: Instant, conn: Connection) -> ConnId {
        let id = self.table.insert(conn);
        self.schedule.wake(id);
        self.settle(now, id);
        id
    }

    /// Takes a datagram that arrived over `path` with an ECN mark.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        path: &Path,
        ecn: Ecn,
        datagram: &Datagram<'_>,
        queues: &mut dyn Queues,
    ) {
        self.handle_train(now, path, ecn, &mut once(*datagram), queues);
    }

    /// Takes datagrams that arrived together over `path` with one ECN mark, in order. Consecutive packets
    /// of one connection share the search for it and one call of [`Queues::with_app`].
    pub fn handle_train(
        &mut self,
        now: Instant,
        path: &Path,
        ecn: Ecn,
        datagrams: &mut dyn Iterator<Item = Datagram<'_>>,
        queues: &mut dyn Queues,
    ) {
        let mut train = Train {
            datagrams,
            checksum: path.checksum_rule(),
            ecn,
        };
        let mut next = train.next(&mut self.stats);
        while let Some(packet) = next {
            let flow = Flow {
                path: *path,
                local_port: packet.dest_port,
                remote_port: packet.source_port,
            };
            let known = self.table.find(&flow);
            let id = known.or_else(|| self.handle_stranger(now, flow, &packet));
            next = match id {
                Some(id) => self.give(now, id, &packet, &mut train, queues),
                None => train.pass_over(&packet, &mut self.stats),
            };
        }
    }

    /// Passes a packet and the following ones of the same connection through steps 4 to 16. Returns the
    /// first packet of another connection.
    fn give<'a>(
        &mut self,
        now: Instant,
        id: ConnId,
        packet: &Packet<'a>,
        train: &mut Train<'_, 'a>,
        queues: &mut dyn Queues,
    ) -> Option<Packet<'a>> {
        if matches!(packet.kind, Kind::Request { .. }) && !self.may_repeat(now, id, packet) {
            return train.pass_over(packet, &mut self.stats);
        }
        let Self { table, stats, .. } = self;
        let Some(conn) = table.get_mut(id).filter(|c| c.state().is_alive()) else {
            // It has ended and its Reset is about to leave: that is the answer.
            stats.drops.count(DropReason::NoConnection);
            return train.pass_over(packet, stats);
        };
        if matches!(conn.state(), State::Invited | State::Listen1) {
            // 5596-2.2.2-2, 5596-2.2.2-3
            let refusal = match packet.kind {
                Kind::Request { service } if service == conn.service() => None,
                Kind::Request { .. } => Some(ResetCode::BAD_SERVICE_CODE),
                Kind::Listen { .. } => {
                    stats.drops.count(DropReason::UnwantedListen);
                    return train.pass_over(packet, stats);
                }
                _ => Some(ResetCode::NO_CONNECTION),
            };
            if let Some(code) = refusal {
                self.refuse(now, packet, id, code);
                return train.pass_over(packet, &mut self.stats);
            }
            conn.respond_to_invited(now, packet.seq);
        }
        conn.on_host_losses(self.host_losses);
        let (mut is_given, mut next) = (false, None);
        queues.with_app(id, &mut |app| {
            if !core::mem::replace(&mut is_given, true) {
                next = train.give_to(conn, packet, now, app, stats);
            }
        });
        self.host_loss_wish = self.host_loss_wish.max(conn.host_loss_wish());
        self.schedule.wake(id);
        if is_given {
            next
        } else {
            // `with_app` did not call its argument: only this packet is lost.
            train.pass_over(packet, &mut self.stats)
        }
    }

    fn refuse(&mut self, now: Instant, packet: &Packet<'_>, id: ConnId, code: ResetCode) {
        if let Some(conn) = self.table.get(id) {
            let path = conn.flow().path;
            self.answer_with_reset(now, &path, packet, code);
        }
    }

    /// Takes an ICMP error about a packet of ours (4340-14.1-3, 6773-3.6-1).
    pub fn handle_icmp(&mut self, now: Instant, error: &IcmpError<'_>, queues: &mut dyn Queues) {
        let Some(id) = self.table.find_quoted(error) else {
            self.stats.counters.icmp_ignored += 1;
            return;
        };
        let conn = self.table.get_mut(id);
        let Some(conn) = conn.filter(|conn| conn.state().is_alive()) else {
            self.stats.counters.icmp_ignored += 1;
            return;
        };
        queues.with_app(id, &mut |app| conn.handle_icmp(now, error, app));
        self.schedule.wake(id);
    }

    /// Does what is due by `now`.
    pub fn handle_timeout(&mut self, now: Instant, queues: &mut dyn Queues) {
        while let Some(id) = self.schedule.expire(now) {
            if let Some(conn) = self.table.get_mut(id) {
                queues.with_app(id, &mut |app| conn.handle_timeout(now, app));
                self.schedule.wake(id);
                self.serve_busy(now, id);
            }
        }
    }

    /// The application put data into the outbox of a connection.
    pub fn on_data_ready(&mut self, id: ConnId) {
        if self.table.get(id).is_some() {
            self.schedule.wake(id);
        }
    }

    /// Ends a connection once its outbox is empty (RFC 4340 §8.3).
    pub fn close(&mut self, now: Instant, id: ConnId, queues: &mut dyn Queues) {
        if let Some(conn) = self.table.get_mut(id) {
            queues.with_app(id, &mut |app| conn.close(now, app));
            self.schedule.wake(id);
        }
    }

    /// Ends a connection at once with Reset "Aborted".
    pub fn abort(&mut self, now: Instant, id: ConnId, queues: &mut dyn Queues) {
        if let Some(conn) = self.table.get_mut(id) {
            queues.with_app(id, &mut |app| conn.abort(now, app));
            self.schedule.wake(id);
        }
    }

    /// Ends a connection that there is no room for with Reset "Too Busy" (4340-8.1.3-1).
    pub fn turn_away(&mut self, now: Instant, id: ConnId, queues: &mut dyn Queues) {
        if let Some(conn) = self.table.get_mut(id) {
            queues.with_app(id, &mut |app| conn.turn_away(now, app));
            self.schedule.wake(id);
        }
    }

    /// Sets what this host has dropped in all before it came here. CCID 248 reports it to peers.
    pub fn on_host_losses(&mut self, total: HostDrops) {
        self.host_losses = total;
    }

    /// The strongest wish of connections with CCID 248 for the newest total of [`on_host_losses`](Self::on_host_losses), since
    /// the last call.
    pub fn take_host_loss_wish(&mut self) -> HostLossWish {
        core::mem::take(&mut self.host_loss_wish)
    }

    /// This host failed to send a packet that [`poll_transmit`](Self::poll_transmit) gave: `datagram`, from its DCCP header on.
    pub fn on_send_failed(&mut self, path: &Path, datagram: &[u8]) {
        if let [a, b, c, d, ..] = *datagram {
            let flow = Flow {
                path: *path,
                local_port: u16::from_be_bytes([a, b]),
                remote_port: u16::from_be_bytes([c, d]),
            };
            let conn = self.table.find(&flow).and_then(|id| self.table.get_mut(id));
            if let Some(conn) = conn {
                conn.on_send_failed();
            }
        }
    }

    /// Sets whether the application is slow to read (4340-11.6-2).
    pub fn set_slow_receiver(&mut self, id: ConnId, is_slow: bool) {
        if let Some(conn) = self.table.get_mut(id) {
            conn.set_slow_receiver(is_slow);
        }
    }

    /// Restarts path MTU discovery from the interface's MTU. Returns `false` if the connection is unknown
    /// or the last start was less than two seconds ago (RFC 4340 §14.1).
    pub fn rediscover_pmtu(&mut self, now: Instant, id: ConnId, queues: &mut dyn Queues) -> bool {
        let mut is_begun = false;
        if let Some(conn) = self.table.get_mut(id) {
            queues.with_app(id, &mut |app| is_begun = conn.rediscover_pmtu(now, app));
        }
        is_begun
    }

    /// Fills an empty batch with packets that may leave now. Returns `false` if there are none until the
    /// next packet, deadline or call.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        queues: &mut dyn Queues,
        batch: &mut Batch,
    ) -> bool {
        debug_assert!(
            batch.is_empty(),
            "the batch of an earlier call has not been taken"
        );
        if self.stateless.poll_transmit(batch) {
            return true;
        }
        while let Some(id) = self.schedule.next_ready() {
            let Some(conn) = self.table.get_mut(id) else {
                self.schedule.sleep(id);
                continue;
            };
            let is_in_respond = conn.state() == State::Respond;
            conn.on_host_losses(self.host_losses);
            queues.with_app(id, &mut |app| _ = conn.poll_transmit(now, app, batch));
            if is_in_respond && !batch.is_empty() {
                let (path, len) = (conn.flow().path, batch.bytes().len());
                self.prefix_limit.charge(now, &*self.hash, &path, len);
            }
            if !batch.is_empty() && !conn.is_drained() {
                self.schedule.rotate();
                return true;
            }
            self.schedule.sleep(id);
            self.settle(now, id);
            if !batch.is_empty() {
                return true;
            }
        }
        false
    }

    /// The next event of a connection. After [`Event::Closed`] the connection can be looked at until
    /// the next call; then its id is unknown.
    pub fn poll_event(&mut self) -> Option<(ConnId, Event)> {
        if let Some(id) = self.closed.take() {
            self.table.remove(id);
        }
        let (id, event) = self.events.pop_front()?;
        if matches!(event, Event::Closed(_)) {
            self.closed = Some(id);
        }
        Some((id, event))
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.schedule.next_deadline()
    }

    /// A connection.
    pub fn connection(&self, id: ConnId) -> Option<&Connection> {
        self.table.get(id)
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.table.len()
    }

    /// Flows that rest in TIMEWAIT.
    pub fn resting(&self) -> usize {
        self.time_wait.len()
    }

    /// Counters over all: packets of no connection, and connections that are gone.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Resets by code over all: those that answer packets of no connection, and those of connections that are gone.
    pub fn resets(&self) -> &Resets {
        &self.resets
    }

    /// Counters over all: as [`stats`](Self::stats) and [`resets`](Self::resets), and of the connections that there are.
    pub fn totals(&self) -> (Stats, Resets) {
        let (mut stats, mut resets) = (self.stats, self.resets);
        self.table.each(|conn| {
            stats += conn.stats();
            resets += conn.resets();
        });
        (stats, resets)
    }
}
