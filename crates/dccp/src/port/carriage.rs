//! The socket of a port. No error of the socket ends the port: the socket rests, or is replaced at the same address.
//!
//! ```text
//! works ──failure──▶ rests for 10 ms, 20 ms … 5 s ──▶ works again      (the host lacks memory)
//!                          │                 ▲
//!                          └▶ lost: closed ──┴─ a new socket           (all other failures)
//! ```

use crate::limits::{ICMP_PAUSE, ICMP_PER_S, RETRY_FIRST, RETRY_MAX};
use core::net::SocketAddr;
use core::time::Duration;
use dccp_io::{
    Counters, LocalDrop, LocalDropReason, OpenError, Poller, Received, RecvBuffer, Sent, Token,
    Transport, is_out_of_memory,
};
use dccp_proto::batch::Batch;
use dccp_proto::{IcmpError, Instant};
use std::io;

/// The socket of a port, and what is needed to keep it working.
pub(super) struct Carriage {
    token: Token,
    /// `None` after it was lost, until a new one is open.
    socket: Option<Box<dyn Transport>>,
    local: SocketAddr,
    segments_max: usize,
    /// Counters of the sockets before this one.
    earlier: Counters,
    is_watched: bool,
    /// The poller reports room to send, too.
    is_room_watched: bool,
    /// When to look for room, if the poller does not report it.
    look_for_room_at: Option<Instant>,
    /// Failures since it last worked.
    failures: u32,
    retry_at: Option<Instant>,
    /// Its users know that it is lost.
    is_reported_lost: bool,
    news: Option<News>,
    icmp: IcmpBudget,
}

/// A change that users of the port must know.
#[derive(Debug)]
pub(super) enum News {
    /// The socket is lost. Nothing arrives or leaves until [`SocketRestored`](Self::SocketRestored).
    SocketLost(io::Error),
    /// A new socket works.
    SocketRestored,
}

/// The time between two looks for room where the poller cannot report it.
const LOOK_FOR_ROOM: Duration = Duration::from_millis(1);
/// This many failures for lack of memory, within 150 ms, count as a loss of the socket.
const SHORTAGES_MAX: u32 = 4;

impl Carriage {
    pub(super) fn new(token: Token, socket: Box<dyn Transport>) -> Self {
        Self {
            token,
            local: socket.local_addr(),
            segments_max: socket.segments_max(),
            socket: Some(socket),
            earlier: Counters::default(),
            is_watched: false,
            is_room_watched: false,
            look_for_room_at: None,
            failures: 0,
            retry_at: None,
            is_reported_lost: false,
            news: None,
            icmp: IcmpBudget::default(),
        }
    }

    /// The bound address and UDP port, also while the socket is lost.
    pub(super) fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Datagrams that one call can take.
    pub(super) fn segments_max(&self) -> usize {
        self.segments_max
    }

    /// Counters of this socket and those before it.
    pub(super) fn counters(&mut self) -> Counters {
        match &mut self.socket {
            Some(socket) => socket.counters().after(&self.earlier),
            None => self.earlier,
        }
    }

    pub(super) fn watch(&mut self, poller: &mut Poller) -> io::Result<()> {
        if let Some(socket) = &mut self.socket {
            poller.add(socket.source(), self.token)?;
            self.is_watched = true;
        }
        Ok(())
    }

    pub(super) fn unwatch(&mut self, poller: &mut Poller) {
        if let Some(socket) = &mut self.socket
            && self.is_watched
        {
            // The source must be unknown to the poller.
            let _ = poller.remove(socket.source());
        }
        self.is_watched = false;
        self.is_room_watched = false;
    }

    /// The next time at which [`retry`](Self::retry) or a turn of the port is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let times = [self.retry_at, self.look_for_room_at, self.icmp.is_off_until];
        times.into_iter().flatten().min()
    }

    /// Takes the last change that users must know.
    pub(super) fn take_news(&mut self) -> Option<News> {
        self.news.take()
    }
}

/// Datagrams and errors.
impl Carriage {
    /// Receives once; returns whether there may be more. A failure is mended later, and finds nothing.
    pub(super) fn recv(
        &mut self,
        now: Instant,
        poller: &mut Poller,
        buffer: &mut RecvBuffer,
        sink: &mut dyn FnMut(Received<'_>),
    ) -> bool {
        let Some(socket) = &mut self.socket else {
            return false;
        };
        match socket.recv(buffer, sink) {
            Ok(may_have_more) => {
                if self.failures != 0 {
                    self.on_mended();
                }
                may_have_more
            }
            Err(e) => {
                self.on_failure(now, poller, e);
                false
            }
        }
    }

    /// Reads some ICMP errors; returns whether there may be more.
    pub(super) fn recv_errors(
        &mut self,
        now: Instant,
        buffer: &mut RecvBuffer,
        sink: &mut dyn FnMut(IcmpError<'_>),
    ) -> bool {
        let Some(socket) = &mut self.socket else {
            return false;
        };
        let Ok(entries) = socket.recv_errors(buffer, sink) else {
            // The reports are advice only, so they pause. A broken socket fails in `recv`, too.
            socket.report_icmp(false);
            return false;
        };
        if self.icmp.spend(now, entries) {
            socket.report_icmp(false);
        }
        entries > 0 && socket.reports_icmp()
    }

    /// Sends a batch. Without a socket its datagrams are lost in this host, so that timers and the ends of connections
    /// go on.
    pub(super) fn send(&mut self, batch: &Batch, from: usize) -> Sent {
        if let Some(socket) = &mut self.socket {
            return socket.send(batch, from);
        }
        let datagrams = batch.len() - from;
        self.earlier.dropped_other += datagrams as u64;
        Sent {
            next: batch.len(),
            dropped: Some(LocalDrop {
                first: from,
                datagrams,
                reason: LocalDropReason::Unreachable,
            }),
        }
    }

    /// Makes the poller report room, or not. If it cannot, the port looks for room by time.
    pub(super) fn want_room(&mut self, now: Instant, poller: &mut Poller, want: bool) {
        self.look_for_room_at = None;
        if want == self.is_room_watched {
            return;
        }
        let is_set = match &mut self.socket {
            Some(socket) if self.is_watched => poller
                .want_writable(socket.source(), self.token, want)
                .is_ok(),
            _ => false,
        };
        if is_set {
            self.is_room_watched = want;
        } else {
            self.look_for_room_at = Some(now + LOOK_FOR_ROOM);
        }
    }

    /// 4340-18-10: ends a pause of ICMP reports when its time is over. A pause begins here, or in the socket itself.
    pub(super) fn tend_icmp(&mut self, now: Instant) {
        let Some(socket) = &mut self.socket else {
            self.icmp.is_off_until = None;
            return;
        };
        if socket.reports_icmp() {
            self.icmp.is_off_until = None;
            return;
        }
        match self.icmp.is_off_until {
            Some(until) if until <= now => {
                socket.report_icmp(true);
                self.icmp = IcmpBudget::default();
            }
            Some(_) => {}
            None => self.icmp.is_off_until = Some(now + ICMP_PAUSE),
        }
    }
}

/// Failures.
impl Carriage {
    fn on_failure(&mut self, now: Instant, poller: &mut Poller, error: io::Error) {
        // The poller would report the same failure at once.
        self.unwatch(poller);
        let pause = RETRY_FIRST * (1 << self.failures.min(16));
        self.retry_at = Some(now + pause.min(RETRY_MAX));
        self.failures = self.failures.saturating_add(1);
        let is_memory_short = is_out_of_memory(&error);
        if !is_memory_short {
            self.close();
        }
        if !self.is_reported_lost && (!is_memory_short || self.failures >= SHORTAGES_MAX) {
            self.is_reported_lost = true;
            self.news = Some(News::SocketLost(error));
        }
    }

    fn close(&mut self) {
        self.earlier = self.counters();
        self.socket = None;
    }

    fn on_mended(&mut self) {
        self.failures = 0;
        if core::mem::take(&mut self.is_reported_lost) {
            self.news = Some(News::SocketRestored);
        }
    }

    /// Whether [`retry`](Self::retry) is due.
    pub(super) fn is_retry_due(&self, now: Instant) -> bool {
        self.retry_at.is_some_and(|at| at <= now)
    }

    /// Whether [`retry`](Self::retry) needs a new socket.
    pub(super) fn lacks_socket(&self) -> bool {
        self.socket.is_none()
    }

    /// Watches the socket again after a pause, or the new one at the same address. Returns whether the port must look
    /// what has arrived.
    pub(super) fn retry(
        &mut self,
        now: Instant,
        poller: &mut Poller,
        socket: Option<Result<Box<dyn Transport>, OpenError>>,
    ) -> bool {
        self.retry_at = None;
        match socket {
            Some(Ok(socket)) => self.socket = Some(socket),
            Some(Err(e)) => {
                self.on_failure(now, poller, io::Error::new(e.io_kind(), e));
                return false;
            }
            None => {}
        }
        match self.watch(poller) {
            Ok(()) => true,
            Err(e) => {
                self.on_failure(now, poller, e);
                false
            }
        }
    }
}

/// The same error once more, because errors of the system cannot be cloned.
pub(super) fn copy_of(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => error.kind().into(),
    }
}

/// ICMP errors that may still be read in this second.
#[derive(Debug)]
struct IcmpBudget {
    left: usize,
    second_ends: Instant,
    /// Reports are off until then.
    is_off_until: Option<Instant>,
}

impl Default for IcmpBudget {
    fn default() -> Self {
        Self {
            left: ICMP_PER_S,
            second_ends: Instant::ZERO,
            is_off_until: None,
        }
    }
}

impl IcmpBudget {
    /// Counts errors that were read; returns whether they are too many.
    fn spend(&mut self, now: Instant, entries: usize) -> bool {
        if now >= self.second_ends {
            self.second_ends = now + Duration::from_secs(1);
            self.left = ICMP_PER_S;
        }
        self.left = self.left.saturating_sub(entries);
        self.left == 0
    }
}
