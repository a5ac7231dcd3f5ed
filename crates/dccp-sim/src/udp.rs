//! UDP: datagrams leave as they come, without retransmission or rate limit. Of [`App`] it uses the source, the
//! echoes, the answers and the record; all data are zeros. A bulk source needs a transport that limits it, so UDP refuses it.

use crate::flow::FlowSample;
use crate::frame::{Content, UdpDatagram};
use crate::net::Context;
use crate::schedule::Schedule;
use crate::source::{App, AtSender, Log, RunningSource, Source};
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use dccp_proto::Instant;
use dccp_proto::path::{Encap, Path};
use dccp_proto::wire::{Ecn, Payload};
use std::collections::BTreeMap;

/// The number of newest datagrams among which second copies are detected.
const WINDOW: u64 = 64;

/// The datagrams of the peer that have arrived, by their numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    /// One more than the greatest number.
    expected: u64,
    /// Those before `expected` that have arrived; the lowest bit is the newest.
    bits: u64,
    /// Datagrams, second copies left out.
    distinct: u64,
    reordered: u64,
}

impl Seen {
    /// Notes a datagram. Returns whether it is the first with this number.
    pub fn note(&mut self, number: u64) -> bool {
        if number >= self.expected {
            let steps = number + 1 - self.expected;
            self.bits = if steps < WINDOW {
                self.bits << steps
            } else {
                0
            } | 1;
            self.expected = number + 1;
        } else {
            let age = self.expected - 1 - number;
            let bit = if age < WINDOW { 1 << age } else { 0 };
            if self.bits & bit != 0 {
                return false;
            }
            self.bits |= bit;
            self.reordered += 1;
        }
        self.distinct += 1;
        true
    }

    /// Numbers below the greatest that have not arrived.
    pub const fn missing(&self) -> u64 {
        self.expected - self.distinct
    }
}

/// One end of a flow.
struct Flow {
    path: Path,
    local_port: u16,
    remote_port: u16,
    app: App,
    source: RunningSource,
    log: Log,
    sent: u64,
    sent_bytes: u64,
    seen: Seen,
    received_bytes: u64,
    marked: u64,
    rtt: Option<Duration>,
    one_way: Option<Duration>,
}

/// The UDP of a host.
#[derive(Default)]
pub(crate) struct Udp {
    flows: Vec<Flow>,
    listeners: BTreeMap<u16, App>,
    /// Flows by peer and local port.
    by_ends: BTreeMap<(IpAddr, u16, u16), usize>,
    /// When sources send next.
    timers: Schedule,
}

impl Udp {
    pub(crate) fn listen(&mut self, port: u16, app: App) {
        self.listeners.insert(port, app);
    }

    pub(crate) fn open(
        &mut self,
        context: &mut Context<'_>,
        local: SocketAddr,
        remote: SocketAddr,
        app: App,
    ) -> usize {
        let path = Path {
            local: local.ip(),
            remote: remote.ip(),
            encap: Encap::Ip,
        };
        let number = self.add(context.now(), path, local.port(), remote.port(), app);
        self.run(context, number);
        number
    }

    fn add(
        &mut self,
        now: Instant,
        path: Path,
        local_port: u16,
        remote_port: u16,
        app: App,
    ) -> usize {
        let is_bulk = matches!(app.source, Source::Bulk { .. });
        assert!(!is_bulk, "nothing would limit a bulk source over UDP");
        let number = self.flows.len();
        self.flows.push(Flow {
            path,
            local_port,
            remote_port,
            source: RunningSource::new(&app, now),
            log: Log::new(app.logs),
            app,
            sent: 0,
            sent_bytes: 0,
            seen: Seen::default(),
            received_bytes: 0,
            marked: 0,
            rtt: None,
            one_way: None,
        });
        self.by_ends
            .insert((path.remote, remote_port, local_port), number);
        number
    }

    /// Whether a flow or a listener takes a datagram that arrived over this path, as its receiver sees it.
    pub(crate) fn knows(&self, path: Path, d: &UdpDatagram) -> bool {
        let key = (path.remote, d.source_port, d.dest_port);
        self.by_ends.contains_key(&key) || self.listeners.contains_key(&d.dest_port)
    }

    /// Takes a datagram. Returns the flow that it began.
    pub(crate) fn on_datagram(
        &mut self,
        context: &mut Context<'_>,
        path: Path,
        d: &UdpDatagram,
        ecn: Ecn,
    ) -> Option<usize> {
        let now = context.now();
        let key = (path.remote, d.source_port, d.dest_port);
        let known = self.by_ends.get(&key).copied();
        let number = if let Some(number) = known {
            number
        } else {
            let app = self.listeners.get(&d.dest_port)?.clone();
            self.add(now, path, d.dest_port, d.source_port, app)
        };
        let flow = &mut self.flows[number];
        if flow.seen.note(d.number) {
            flow.received_bytes += u64::from(d.len);
            flow.marked += u64::from(ecn == Ecn::Ce);
            flow.one_way = Some(now - d.sent);
            flow.rtt = d.answers.map(|sent| now - sent).or(flow.rtt);
            flow.log.arrive(now, d.number);
            flow.source.on_received(now, d.len.into());
            for message in flow.app.replies(Payload::Zeros(d.len.into())) {
                flow.send(context, message.len(), Some(d.sent));
            }
        }
        self.run(context, number);
        known.is_none().then_some(number)
    }

    pub(crate) fn on_wake(&mut self, context: &mut Context<'_>) {
        while let Some(turn) = self.timers.pop_until(context.now()) {
            self.run(context, turn.actor() as usize);
        }
    }

    pub(crate) fn next_at(&mut self) -> Option<Instant> {
        self.timers.next_at()
    }

    /// Whether the source of a flow has ended.
    pub(crate) fn is_over(&self, number: usize) -> bool {
        self.flows[number].source.next_at().is_none()
    }

    /// Ends the source of a flow.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "memory ends before 2^32 flows"
    )]
    pub(crate) fn abandon(&mut self, number: usize) {
        let flow = &mut self.flows[number];
        flow.app = App::default();
        flow.source = RunningSource::new(&flow.app, Instant::ZERO);
        self.timers.set(number as u32, None, Instant::ZERO);
    }

    /// The record of a flow.
    pub(crate) fn log(&self, number: usize) -> &Log {
        &self.flows[number].log
    }

    pub(crate) fn sample(&self, number: usize) -> FlowSample {
        let flow = &self.flows[number];
        FlowSample {
            sent: flow.sent,
            sent_bytes: flow.sent_bytes,
            missing: Some(flow.seen.missing()),
            received: flow.seen.distinct,
            received_bytes: flow.received_bytes,
            reordered: flow.seen.reordered,
            received_marked: flow.marked,
            rtt: flow.rtt,
            one_way: flow.one_way,
            ..FlowSample::default()
        }
    }

    /// Sends what a source has by now.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "memory ends before 2^32 flows"
    )]
    fn run(&mut self, context: &mut Context<'_>, number: usize) {
        let flow = &mut self.flows[number];
        while let Some(datagram) = flow.source.poll(context.now(), usize::MAX) {
            flow.log.offer(&datagram, AtSender::Left(context.now()));
            flow.send(context, datagram.message.len(), None);
        }
        let next = flow.source.next_at();
        self.timers.set(number as u32, next, context.now());
    }
}

impl Flow {
    fn send(&mut self, context: &mut Context<'_>, len: usize, answers: Option<Instant>) {
        let datagram = UdpDatagram {
            source_port: self.local_port,
            dest_port: self.remote_port,
            len: u16::try_from(len).unwrap_or(u16::MAX),
            number: self.sent,
            sent: context.now(),
            answers,
        };
        self.sent += 1;
        self.sent_bytes += len as u64;
        context.send_value(self.path, Ecn::NotEct, Content::Udp(datagram));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_reveal_missing_late_and_duplicate_datagrams() {
        let mut seen = Seen::default();
        let first: Vec<bool> = [0, 1, 4, 4, 2, 2, 70, 3, 100, 99, 99]
            .map(|number| seen.note(number))
            .to_vec();
        let expected = [
            true, true, true, false, true, false, true, true, true, true, false,
        ];
        assert_eq!(first, expected);
        assert_eq!((seen.expected, seen.distinct, seen.reordered), (101, 8, 3));
    }

    #[test]
    fn step_of_the_whole_window_forgets_older_datagrams() {
        for (step, is_known) in [(WINDOW - 1, true), (WINDOW, false)] {
            let mut seen = Seen::default();
            seen.note(0);
            seen.note(step);
            assert_eq!(seen.note(0), !is_known, "{step}");
        }
    }
}
