//! A TCP for comparison: runs the laws of CCID 2 in the protocol that they were designed for.
//!
//! It implements the parts that matter to congestion control: SACK-based loss recovery (RFC 6675), the
//! retransmission timeout (RFC 6298), a receive window, delayed acknowledgements, timestamps (RFC 7323) and ECN
//! (RFC 3168). It has no Nagle algorithm. Segments are values without bytes (`frame/segment.rs`). Congestion
//! control is [`dccp_proto::cc::window::WindowSender`], as in CCID 2, with the same `Feedback`. `sender.rs` lists
//! the differences.
//!
//! | file | holds |
//! |---|---|
//! | `config.rs` | settings |
//! | `socket.rs`, `stream.rs` | one end of a connection · its application |
//! | `sender.rs`, `scoreboard.rs` | what to send next · what is in flight, sacked, lost |
//! | `receiver.rs`, `ranges.rs` | what has arrived, when to acknowledge · sets of ranges |
//!
//! Functions that each segment passes are `#[inline]` across modules; rare cases are out of line.
//!
//! Left out: reneging, D-SACK, urgent data, keep-alive, TIME-WAIT (numbers of connections are not
//! used again), window probes (the window never closes: applications read at once).

mod config;
mod ranges;
mod receiver;
mod rules;
mod scoreboard;
mod sender;
mod socket;
mod stream;

pub use config::{Config, NotForTcp};

use crate::flow::FlowSample;
use crate::frame::segment::{Segment, SocketId};
use crate::net::Context;
use crate::schedule::Schedule;
use crate::source::{App, Log};
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use dccp_proto::Instant;
use dccp_proto::path::{Encap, Path};
use dccp_proto::wire::Ecn;
use socket::{Ends, Socket};
use std::collections::{BTreeMap, VecDeque};

/// The TCP of a host.
#[derive(Default)]
pub(crate) struct Tcp {
    sockets: Vec<Socket>,
    listeners: BTreeMap<u16, (Config, App)>,
    /// Accepted connections by peer and local port, for repeated SYNs.
    accepted: BTreeMap<(IpAddr, u16, u16), SocketId>,
    /// The next event of each socket, or an earlier time.
    timers: Schedule,
    /// Sockets that wait for the machine, in the order of sending.
    held: VecDeque<usize>,
    /// Whether [`next_at`](Self::next_at) may have changed since it was asked.
    has_new_timer: bool,
    /// The socket that something happened to last.
    touched: Option<usize>,
}

/// The receiver of a segment.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    /// This connection.
    Known(usize),
    /// A listener: the segment begins a connection.
    Listener,
}

impl Tcp {
    pub(crate) fn listen(&mut self, port: u16, config: Config, app: App) {
        self.listeners.insert(port, (config, app));
    }

    pub(crate) fn connect(
        &mut self,
        context: &mut Context<'_>,
        local: SocketAddr,
        remote: SocketAddr,
        config: Config,
        app: App,
    ) -> usize {
        let ends = Ends {
            path: Path {
                local: local.ip(),
                remote: remote.ip(),
                encap: Encap::Ip,
            },
            local_port: local.port(),
            remote_port: remote.port(),
        };
        let number = self.sockets.len();
        let socket = Socket::connect(context, ends, id(number), config, app);
        self.sockets.push(socket);
        self.settle(context, number);
        number
    }

    /// Finds the receiver of a segment that was sent over this path, as its sender sees it.
    pub(crate) fn target(&self, path: &Path, s: &Segment) -> Option<Target> {
        let number = s.to as usize;
        if self
            .sockets
            .get(number)
            .is_some_and(|own| own.hears(path, s))
        {
            return Some(Target::Known(number));
        }
        let key = (path.local, s.source_port, s.dest_port);
        if let Some(known) = self.accepted.get(&key) {
            return Some(Target::Known(*known as usize));
        }
        let is_begin = s.is_syn() && self.listeners.contains_key(&s.dest_port);
        is_begin.then_some(Target::Listener)
    }

    /// Takes a segment of a connection.
    #[inline]
    pub(crate) fn on_segment(
        &mut self,
        context: &mut Context<'_>,
        number: usize,
        segment: &Segment,
        ecn: Ecn,
    ) {
        self.sockets[number].on_segment(context, segment, ecn);
        self.settle(context, number);
    }

    /// The processor time that an acknowledgement of this connection takes now.
    #[inline]
    pub(crate) fn work_of_ack(&self, context: &Context<'_>, number: usize) -> Duration {
        let cost = context.ack_cost();
        cost.map_or(Duration::ZERO, |cost| {
            self.sockets[number].work_of_ack(&cost)
        })
    }

    /// Accepts a connection with its first segment, which arrived over this path as its receiver sees it. Returns
    /// the number of the connection and the peer.
    #[cold]
    pub(crate) fn accept(
        &mut self,
        context: &mut Context<'_>,
        path: Path,
        s: &Segment,
    ) -> Option<(usize, SocketAddr)> {
        let ends = Ends {
            path,
            local_port: s.dest_port,
            remote_port: s.source_port,
        };
        let (config, app) = self.listeners.get(&ends.local_port)?;
        let number = self.sockets.len();
        let socket = Socket::accept(context, ends, id(number), config.clone(), app.clone(), s);
        self.sockets.push(socket);
        let remote = ends.path.remote;
        let key = (remote, ends.remote_port, ends.local_port);
        self.accepted.insert(key, id(number));
        self.settle(context, number);
        Some((number, SocketAddr::new(remote, ends.remote_port)))
    }

    pub(crate) fn on_wake(&mut self, context: &mut Context<'_>) {
        for _ in 0..self.held.len() {
            if context.may_send() == 0 {
                break;
            }
            if let Some(number) = self.held.pop_front() {
                self.sockets[number].is_queued = false;
                self.sockets[number].resume(context);
                self.settle(context, number);
            }
        }
        while let Some(turn) = self.timers.pop_until(context.now()) {
            let number = turn.actor() as usize;
            let socket = &mut self.sockets[number];
            socket.scheduled = Instant::FAR_FUTURE;
            socket.on_timer(context);
            self.settle(context, number);
        }
    }

    pub(crate) fn next_at(&mut self) -> Option<Instant> {
        self.has_new_timer = false;
        self.timers.next_at()
    }

    pub(crate) const fn has_new_timer(&self) -> bool {
        self.has_new_timer
    }

    pub(crate) fn abandon(&mut self, number: usize) {
        self.sockets[number].abandon();
    }

    pub(crate) fn sample(&self, number: usize) -> FlowSample {
        self.sockets[number].sample()
    }

    /// The record of a connection's application.
    pub(crate) fn log(&self, number: usize) -> &Log {
        self.sockets[number].log()
    }

    pub(crate) fn is_over(&self, number: usize) -> bool {
        self.sockets[number].is_over()
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        self.touched.map_or(Ok(()), |n| self.sockets[n].check())
    }

    /// Schedules the next event of a socket. An event that should now come later stays: one early call is cheaper
    /// than to move the event with each acknowledgement.
    #[inline]
    fn settle(&mut self, context: &Context<'_>, number: usize) {
        self.touched = Some(number);
        let socket = &self.sockets[number];
        if socket.is_held || socket.may_want_before(socket.scheduled) {
            self.arrange(context, number);
        }
    }

    // Out of line: after most segments `settle` has nothing to schedule.
    #[inline(never)]
    fn arrange(&mut self, context: &Context<'_>, number: usize) {
        let socket = &mut self.sockets[number];
        if socket.is_held && !socket.is_queued {
            socket.is_queued = true;
            self.held.push_back(number);
        }
        if let Some(at) = socket.next_at(context.now())
            && at < socket.scheduled
        {
            socket.scheduled = at;
            self.has_new_timer = true;
            self.timers.set(id(number), Some(at), context.now());
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "memory ends before 2^32 connections"
)]
const fn id(number: usize) -> SocketId {
    number as SocketId
}

/// The sequence number of a number of the stream: SYN has 0, the first byte 1.
#[expect(clippy::cast_possible_truncation, reason = "sequence numbers wrap")]
const fn wire_number(number: u64) -> u32 {
    (number as u32).wrapping_add(1)
}

/// The number of the stream that a sequence number stands for, that is less than 2^31 from `near`.
fn stream_number(wire: u32, near: u64) -> Option<u64> {
    let distance = wire.wrapping_sub(wire_number(near)).cast_signed();
    near.checked_add_signed(distance.into())
}

/// How long ago a timestamp was made, in its units.
const fn ticks_since(timestamp: u32, now: Instant) -> u32 {
    now.timestamp().wrapping_sub(timestamp)
}

/// A time in units of the Timestamps option.
fn duration(ticks: u32) -> Duration {
    Duration::from_micros(10) * ticks
}

#[cfg(test)]
mod tests;
