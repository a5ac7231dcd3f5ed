//! One flow: the datagrams between an application and its peer, over a DCCP connection.

use crate::context::Context;
use crate::limits::{BATCH, ROUNDS};
use crate::link::{Backoff, Link};
use crate::oversize::Oversize;
use crate::pressure::{Change, Pressure};
use crate::publish::FlowRate;
use crate::rate::AllowedRate;
use crate::udp::{AppAddr, UdpPort};
use core::time::Duration;
use dccp::proto::number::to_f64;
use dccp::safeudp::SendCode;
use dccp::{
    ConnectError, DccpAddr, Event, FateCounts, Instant, Received, RecvBatch, RecvError, SendError,
    SendItem, Socket, reason_text,
};
use dccp_cli::quantity::show;
use mio::Token;

/// Memory for datagrams on their way to the application.
pub(crate) struct Outlet {
    batch: RecvBatch,
    scratch: Vec<u8>,
}

impl Outlet {
    pub(crate) fn new() -> Self {
        Self {
            batch: RecvBatch::new(BATCH),
            scratch: Vec::new(),
        }
    }
}

/// The state of a connection after its datagrams were handed out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Drained {
    /// None waits.
    Empty,
    /// More may wait.
    More,
    /// None waits, and the connection is over for this reason.
    Ended(String),
}

/// A flow.
pub(crate) struct Flow {
    /// The flow's number in the log: flows count from 1.
    pub(crate) number: u64,
    /// The place in the table, which is the label in metrics.
    pub(crate) slot: usize,
    /// The token of the connection.
    token: Token,
    pub(crate) app: AppAddr,
    /// The address of the other bridge.
    peer: Option<DccpAddr>,
    /// The flow's own socket towards the application, on the listening side.
    pub(crate) port: Option<UdpPort>,
    link: Option<Link>,
    backoff: Backoff,
    attempts: usize,
    /// When the last datagram passed.
    used: Instant,
    to_peer: u64,
    to_app: u64,
    /// Bytes offered since the last sample, and the rate that they make.
    offered_bytes: u64,
    offered_bps: f64,
    /// Datagrams dropped since the last sample because they were the newest of a full queue.
    newest_dropped: u64,
    fates: FateCounts,
    /// Datagrams that had left at the last sample.
    left: u64,
    sampled: Option<Instant>,
    rate: AllowedRate,
    pressure: Pressure,
    oversize: Oversize,
}

impl Flow {
    /// A flow without a connection.
    pub(crate) fn new(
        number: u64,
        slot: usize,
        token: Token,
        app: AppAddr,
        port: Option<UdpPort>,
        now: Instant,
    ) -> Self {
        Self {
            number,
            slot,
            token,
            app,
            peer: None,
            port,
            link: None,
            backoff: Backoff::new(),
            attempts: 0,
            used: now,
            to_peer: 0,
            to_app: 0,
            offered_bytes: 0,
            offered_bps: 0.0,
            newest_dropped: 0,
            fates: FateCounts::default(),
            left: 0,
            sampled: None,
            rate: AllowedRate::default(),
            pressure: Pressure::default(),
            oversize: Oversize::default(),
        }
    }

    /// Uses a connection that a listener accepted.
    ///
    /// # Errors
    /// The system has no descriptor left.
    pub(crate) fn accept(
        &mut self,
        now: Instant,
        socket: Socket,
        context: &mut Context,
    ) -> std::io::Result<()> {
        self.peer = Some(socket.peer_addr());
        let mut link = Link::new(socket, &context.registry, self.token)?;
        link.opened = Some(now);
        self.link = Some(link);
        context.metrics.connected.inc();
        context.tell(now, &self.name(), "connected");
        Ok(())
    }

    pub(crate) fn idle(&self, now: Instant) -> Duration {
        now - self.used
    }

    /// The flow's name in the log.
    pub(crate) fn name(&self) -> String {
        match (&self.port, self.peer) {
            (Some(_), Some(peer)) => format!("flow {} ({peer})", self.number),
            _ => format!("flow {} ({})", self.number, self.app.remote),
        }
    }

    /// The connection, if there is one.
    pub(crate) fn socket(&self) -> Option<&Socket> {
        self.link.as_ref().map(|link| &link.socket)
    }

    /// Sends datagrams of the application to the peer. Connects first where the flow has no connection.
    pub(crate) fn offer(&mut self, now: Instant, datagrams: &[&[u8]], context: &mut Context) {
        self.used = now;
        let bytes: usize = datagrams.iter().map(|datagram| datagram.len()).sum();
        self.offered_bytes += bytes as u64;
        if self.link.is_none() {
            self.connect(now, context);
        }
        let Some(link) = &self.link else {
            context.metrics.no_connection.inc_by(datagrams.len() as u64);
            return;
        };
        let room = if context.drops_oldest {
            datagrams.len()
        } else {
            context.queue.saturating_sub(link.socket.queued())
        };
        let surplus = datagrams.len().saturating_sub(room) as u64;
        self.newest_dropped += surplus;
        context.metrics.overflowed.inc_by(surplus);
        let items = datagrams.iter().take(room);
        let mut items: Vec<SendItem<'_>> = items.map(|datagram| SendItem::new(datagram)).collect();
        // Each item has its own result.
        let _ = link.socket.send_batch(&mut items);
        let (mut taken, mut taken_bytes) = (0, 0);
        for (item, datagram) in items.iter().zip(datagrams) {
            match &item.result {
                Ok(_) => {
                    taken += 1;
                    taken_bytes += datagram.len() as u64;
                }
                Err(SendError::TooBig { len, mps }) => {
                    self.oversize.add(*len, *mps);
                    context.metrics.too_big.inc();
                }
                Err(_) => {
                    context.metrics.no_connection.inc();
                }
            }
        }
        self.to_peer += taken;
        context.metrics.to_peer.inc_by(taken);
        context.metrics.to_peer_bytes.inc_by(taken_bytes);
    }

    /// Begins a connection, if the wait since the last one is over.
    fn connect(&mut self, now: Instant, context: &mut Context) {
        let index = self.attempts.checked_rem(context.peers.len());
        let Some(&peer) = index.and_then(|index| context.peers.get(index)) else {
            return;
        };
        if !self.backoff.is_over(now) {
            return;
        }
        self.peer = Some(peer);
        match Link::connect(peer, &context.options, &context.registry, self.token) {
            Ok(link) => {
                self.link = Some(link);
                self.fates = FateCounts::default();
                self.left = 0;
            }
            Err(e) => {
                if matches!(e, ConnectError::EngineGone(_)) {
                    context.broken = Some(e.to_string());
                }
                self.unconnected(now, None, &e.to_string(), context);
            }
        }
    }

    /// Handles events, and hands datagrams of the peer to the application.
    pub(crate) fn drain(
        &mut self,
        now: Instant,
        shared: Option<&UdpPort>,
        outlet: &mut Outlet,
        context: &mut Context,
    ) -> Drained {
        self.take_events(now, context);
        let (Some(link), Some(port)) = (&self.link, self.port.as_ref().or(shared)) else {
            return Drained::Empty;
        };
        for _ in 0..ROUNDS {
            match link.socket.recv_batch(&mut outlet.batch) {
                Ok(0) | Err(RecvError::WouldBlock) => return Drained::Empty,
                Ok(count) => {
                    let datagrams = outlet.batch.iter().map(Received::bytes);
                    let bytes: usize = outlet.batch.iter().map(|datagram| datagram.len()).sum();
                    let dropped = port.send(self.app, datagrams, &mut outlet.scratch);
                    self.used = now;
                    let count = (count as u64).saturating_sub(dropped);
                    self.to_app += count;
                    context.metrics.to_app.inc_by(count);
                    context.metrics.to_app_bytes.inc_by(bytes as u64);
                    context.note_not_taken(dropped);
                }
                Err(RecvError::Closed(reason)) => return Drained::Ended(reason_text(&reason)),
                Err(e) => return Drained::Ended(e.to_string()),
            }
        }
        Drained::More
    }

    fn take_events(&mut self, now: Instant, context: &mut Context) {
        let Some(link) = &mut self.link else { return };
        let mut is_open = false;
        while let Some(event) = link.socket.poll_event() {
            is_open |= event == Event::Connected && link.opened.is_none();
        }
        if is_open {
            link.opened = Some(now);
            context.metrics.connected.inc();
            let text = match self.peer {
                Some(peer) => format!("connected to {peer}"),
                None => "connected".to_owned(),
            };
            context.tell(now, &self.name(), &text);
        }
    }

    /// The connection is over. The next datagram of the application opens another one.
    pub(crate) fn disconnect(&mut self, now: Instant, reason: &str, context: &mut Context) {
        let Some(link) = self.link.take() else { return };
        let lasted = link.opened.map(|opened| now - opened);
        self.count_fates(&link.socket, context);
        link.close(&context.registry);
        self.sampled = None;
        self.rate = AllowedRate::default();
        self.pressure = Pressure::default();
        self.unconnected(now, lasted, reason, context);
    }

    fn unconnected(
        &mut self,
        now: Instant,
        lasted: Option<Duration>,
        reason: &str,
        context: &mut Context,
    ) {
        let wait = self.backoff.after(now, lasted);
        if lasted.is_none() {
            // The next attempt takes the next address.
            self.attempts = self.attempts.wrapping_add(1);
            context.metrics.failed.inc();
        }
        let next = if context.peers.is_empty() {
            String::new()
        } else {
            format!("; next attempt after {} s", wait.as_secs_f64())
        };
        let peer = self.peer.map(|peer| format!(" to {peer}"));
        let peer = peer.unwrap_or_default();
        let what = match lasted {
            Some(_) => format!("connection{peer} ended"),
            None => format!("no connection{peer}"),
        };
        context.tell(now, &self.name(), &format!("{what}: {reason}{next}"));
    }

    /// Ends the flow for this reason.
    pub(crate) fn end(mut self, now: Instant, reason: &str, context: &mut Context) {
        if let Some(link) = self.link.take() {
            self.count_fates(&link.socket, context);
            link.close(&context.registry);
        }
        if let Some(port) = &mut self.port {
            port.deregister(&context.registry);
        }
        context.metrics.forget(self.slot);
        let (sent, received) = (self.to_peer, self.to_app);
        context.tell(
            now,
            &self.name(),
            &format!("ended: {reason}; {sent} datagrams to the peer, {received} from it"),
        );
    }

    /// Counts the fates since the last call. Returns what has happened to the queue meanwhile.
    fn count_fates(&mut self, socket: &Socket, context: &Context) -> Turnover {
        let Ok(stats) = socket.stats() else {
            return Turnover::default();
        };
        let (new, old) = (stats.sent.fates, self.fates);
        let expired = new.expired.saturating_sub(old.expired);
        let overflowed = new.overflowed.saturating_sub(old.overflowed);
        let limited = new.limited.saturating_sub(old.limited);
        let too_big = new.too_big.saturating_sub(old.too_big);
        let lost = new.lost.saturating_sub(old.lost);
        self.fates = new;
        context.metrics.expired.inc_by(expired);
        context.metrics.overflowed.inc_by(overflowed);
        context.metrics.limited.inc_by(limited);
        context.metrics.too_big.inc_by(too_big);
        context.metrics.lost.inc_by(lost);
        self.oversize.add_late(too_big);
        let arrived = new.acked + new.acked_ce + new.rx_dropped;
        let left = stats.sent.in_flight + new.sent + new.lost + arrived;
        let before = core::mem::replace(&mut self.left, left);
        Turnover {
            dropped: expired + overflowed,
            limited,
            left: left.saturating_sub(before),
            queued: stats.sent.queued,
        }
    }

    /// Measures the flow, and logs what has changed. Returns what is published.
    pub(crate) fn sample(&mut self, now: Instant, context: &mut Context) -> FlowRate {
        let elapsed = self.sampled.map_or(Duration::ZERO, |at| now - at);
        self.sampled = Some(now);
        if !elapsed.is_zero() {
            let seconds = elapsed.as_secs_f64();
            let bps = 8.0 * to_f64(self.offered_bytes) / seconds;
            self.offered_bps += (bps - self.offered_bps) * seconds / (seconds + 0.5);
        }
        self.offered_bytes = 0;
        let mut rate = FlowRate {
            flow: self.number,
            app: self.app.remote,
            allowed_bps: None,
            delivered_bps: None,
            queue_ms: 0,
            level: self.pressure.level().name(),
        };
        if let Some(link) = self.link.take() {
            let hint = link.socket.rate_hint().ok().flatten();
            let code = link.socket.send_code();
            // At the start CCID 248 does not know the path yet, and its limit says nothing about it.
            let is_advised = matches!(code, Some(SendCode::Congestion { .. }));
            let is_enforced = !is_advised && !link.is_starting(code);
            let turnover = self.count_fates(&link.socket, context);
            self.link = Some(link);
            let limited = if is_enforced { turnover.limited } else { 0 };
            let newest = core::mem::take(&mut self.newest_dropped);
            let dropped = turnover.dropped + newest + limited;
            let wait = turnover.wait(elapsed).min(context.max_age);
            // CCID 248 says by itself what it advises or enforces, and else nothing limits the program.
            rate.allowed_bps = match (code, &hint) {
                (Some(code), _) => advised_bps(code),
                (None, Some(hint)) => Some(self.rate.update(now, hint, turnover.queued > 0)),
                (None, None) => None,
            };
            if hint.is_some() || code.is_some() {
                rate.delivered_bps = hint.and_then(|hint| hint.delivered_bits_per_s);
                rate.queue_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                let pressure = &mut self.pressure;
                let change = pressure.update(now, dropped, wait, context.max_age, is_advised);
                if let Some(change) = change {
                    self.log_change(now, change, wait, rate.allowed_bps, code, context);
                }
                rate.level = self.pressure.level().name();
            }
        }
        if let Some(report) = self.oversize.report(now) {
            context.tell(now, &self.name(), &report);
        }
        context.metrics.show(self.slot, &rate);
        rate
    }

    /// Logs an advisory, enforcement or recovery.
    fn log_change(
        &self,
        now: Instant,
        change: Change,
        wait: Duration,
        allowed_bps: Option<u64>,
        code: Option<SendCode>,
        context: &mut Context,
    ) {
        context.metrics.changed(change);
        let allowed = allowed_bps.map(|bps| show::rate(to_f64(bps)));
        let rates = format!(
            "{} may leave, the program sends {}",
            allowed.as_deref().unwrap_or("all"),
            show::rate(self.offered_bps)
        );
        let age = context.max_age.as_millis();
        let line = match change {
            Change::Advisory if code.and_then(advised_bps).is_some() => {
                format!("advisory: the network is congested; {rates}")
            }
            Change::Enforcement if code.and_then(advised_bps).is_some() => {
                format!(
                    "enforcement: the network is congested, datagrams beyond the rate are dropped; {rates}"
                )
            }
            Change::Advisory => format!(
                "advisory: datagrams wait {} ms of {age} ms; {rates}",
                wait.as_millis()
            ),
            Change::Enforcement => {
                format!(
                    "enforcement: datagrams older than {age} ms, or beyond {} that wait, are dropped; {rates}",
                    context.queue
                )
            }
            Change::Recovery(dropped) => {
                format!("recovery: datagrams leave in time; {dropped} were dropped; {rates}")
            }
        };
        context.tell(now, &self.name(), &line);
    }
}

/// The rate in bit/s that CCID 248 advises or enforces, if it does.
fn advised_bps(code: SendCode) -> Option<u64> {
    match code {
        SendCode::Congestion {
            advised_bits_per_s: rate,
            ..
        }
        | SendCode::Limited { bits_per_s: rate }
        | SendCode::Dropped {
            bits_per_s: rate, ..
        } => Some(rate),
        _ => None,
    }
}

/// The work of a flow's queue between two samples, in datagrams.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Turnover {
    /// Dropped because of their age, or because the queue was full.
    dropped: u64,
    /// Dropped by congestion control.
    limited: u64,
    /// Sent to the peer.
    left: u64,
    /// Waiting now.
    queued: u64,
}

impl Turnover {
    /// The time that a datagram waits if it is queued now, and the queue empties as it did within `elapsed`. After a pause
    /// this is too long.
    fn wait(&self, elapsed: Duration) -> Duration {
        let each = elapsed.as_secs_f64() / to_f64(self.left.max(1));
        Duration::try_from_secs_f64(to_f64(self.queued) * each).unwrap_or(Duration::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_follows_from_the_queue_and_its_turnover() {
        let wait = |queued, left, ms| {
            let turnover = Turnover {
                dropped: 0,
                limited: 0,
                left,
                queued,
            };
            turnover.wait(Duration::from_millis(ms)).as_millis()
        };
        assert_eq!(wait(0, 0, 100), 0);
        assert_eq!(wait(50, 100, 100), 50);
        assert_eq!(wait(3, 0, 100), 300);
        assert_eq!(wait(9, 1, 0), 0);
    }
}
