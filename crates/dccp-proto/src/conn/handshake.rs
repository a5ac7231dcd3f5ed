//! Setting up (RFC 4340 §8.1, RFC 5596): REQUEST, RESPOND, PARTOPEN, INVITED and LISTEN1.

use super::timers::Backoff;
use super::{Connection, State, Timer};
use crate::event::{CloseReason, Event};
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::Packet;
use core::hash::{Hash, Hasher};
use core::time::Duration;

/// First interval between Requests (4340-8.1.1-1).
const REQUEST_INTERVAL: Duration = Duration::from_secs(1);
/// First interval between Acks in PARTOPEN (4340-8.1.5-2).
const PARTOPEN_INTERVAL: Duration = Duration::from_millis(200);
/// After this many Acks in PARTOPEN, a Sync follows each further one, because the server must answer
/// it (AMB-11).
const PARTOPEN_ACKS: u32 = 3;
/// Interval between DCCP-Listen packets, and their number (5596-2.2.2-1).
const LISTEN_INTERVAL: Duration = Duration::from_millis(200);
const LISTENS: u32 = 3;

/// Progress of the handshake.
#[derive(Clone, Debug)]
pub(super) struct Handshake {
    backoff: Backoff,
    /// Listens sent, or Acks that the timer sent in PARTOPEN.
    sent: u32,
    /// A Listen has already hurried a Request (5596-2.2.3.1-1).
    was_hurried: bool,
    /// Type and code of an ICMP error that quotes no sequence number.
    unreachable: Option<(u8, u8)>,
}

impl Handshake {
    pub(super) fn new() -> Self {
        Self {
            backoff: Backoff::new(REQUEST_INTERVAL),
            sent: 0,
            was_hurried: false,
            unreachable: None,
        }
    }

    /// Hashes the progress for the connection's fingerprint.
    pub(super) fn fingerprint<H: Hasher>(&self, hasher: &mut H) {
        (self.sent, self.was_hurried, self.unreachable).hash(hasher);
        self.backoff.fingerprint(hasher);
    }
}

impl Connection {
    /// 4340-8.1.1-1, 4340-8.1.1-3
    pub(super) fn start_request(&mut self, now: Instant) {
        self.timers
            .set(Timer::GiveUp, now + self.config.connect_timeout);
        self.send_request(now);
    }

    pub(super) fn on_request_timeout(&mut self, now: Instant) {
        self.stats.mib.timeouts += 1;
        self.send_request(now);
    }

    fn send_request(&mut self, now: Instant) {
        self.due.request = true;
        self.timers
            .set(Timer::Request, now + self.handshake.backoff.interval());
    }

    /// 5596-2.2.3.1-1: the first Listen shows that the server's side is open now.
    pub(super) fn on_listen_in_request(&mut self, now: Instant) {
        if !self.handshake.was_hurried {
            self.handshake.was_hurried = true;
            self.send_request(now);
        }
    }

    /// 4340-14.1-3: anyone can forge an error without a sequence number, so it does not end the attempt. It becomes the
    /// reason if the attempt times out.
    pub(super) fn note_unreachable(&mut self, kind: u8, code: u8) {
        self.handshake.unreachable = Some((kind, code));
    }

    /// The reason for an attempt that has timed out.
    pub(super) fn timeout_reason(&self) -> CloseReason {
        match self.handshake.unreachable {
            Some((kind, code)) => CloseReason::Unreachable { kind, code },
            None => CloseReason::TimedOut,
        }
    }

    pub(super) fn start_respond(&mut self, now: Instant) {
        // 4340-8.1.3-6
        self.timers.set(Timer::GiveUp, now + 4 * self.config.msl);
    }

    pub(super) fn start_listen(&mut self, now: Instant) {
        self.timers
            .set(Timer::GiveUp, now + self.config.connect_timeout);
        self.send_listen_at(now);
    }

    fn send_listen_at(&mut self, now: Instant) {
        self.due.listen = true;
        self.handshake.sent += 1;
        self.timers.set(Timer::Listen, now + LISTEN_INTERVAL);
    }

    /// 5596-2.2.2-1
    pub(super) fn on_listen_timeout(&mut self, now: Instant) {
        if self.handshake.sent < LISTENS {
            self.send_listen_at(now);
        } else {
            self.set_state(State::Listen1);
        }
    }

    /// 5596-2.2.2-2: the Request that an inviting server waited for. It goes through the steps
    /// like any other afterwards.
    pub(crate) fn respond_to_invited(&mut self, now: Instant, isr: Seq) {
        self.timers.clear(Timer::Listen);
        self.due.listen = false;
        // 4340-8.1.3-2: no timer repeats the Response. A repeated Request does.
        self.set_state(State::Respond);
        self.stats.on_open(self.role);
        self.begin_receiving(isr);
        self.wish_for_features();
        self.start_respond(now);
    }

    /// Step 3: the sequence variables of a new server connection (4340-8.5-3).
    pub(crate) fn begin_receiving(&mut self, isr: Seq) {
        self.seqs.start_receiving(isr);
        self.features.set_isr(isr);
    }

    /// The Response came (4340-8.5-10, 4340-8.1.5-2).
    pub(super) fn enter_partopen(&mut self, now: Instant, p: &Packet<'_>) {
        debug_assert!(
            p.ack().is_some(),
            "a Response has an Acknowledgement Number"
        );
        self.set_state(State::PartOpen);
        if !self.config.strict {
            self.features.repeat_confirms();
        }
        self.timers.clear(Timer::Request);
        self.due.request = false;
        self.due.ack = true;
        self.handshake = Handshake {
            backoff: Backoff::new(PARTOPEN_INTERVAL),
            ..Handshake::new()
        };
        self.timers.set(Timer::GiveUp, now + 4 * self.config.msl);
        self.timers
            .set(Timer::PartOpen, now + self.handshake.backoff.interval());
        self.settle_ccids(now);
        self.was_established = true;
        self.tell(Event::Connected);
    }

    /// 4340-8.1.5-2
    pub(super) fn on_partopen_timeout(&mut self, now: Instant) {
        self.stats.mib.timeouts += 1;
        self.handshake.sent += 1;
        self.due.ack = true;
        if self.handshake.sent > PARTOPEN_ACKS && !self.config.strict {
            // AMB-11: a silent server would never end PARTOPEN; it must answer a Sync.
            self.due.sync = Some(self.seqs.gsr);
        }
        self.timers
            .set(Timer::PartOpen, now + self.handshake.backoff.interval());
    }

    /// The peer is known to have this end's part of the handshake (4340-8.5-11, 4340-8.5-12).
    pub(super) fn enter_open(&mut self, now: Instant, osr: Seq) {
        let is_server = self.state == State::Respond;
        self.features.stop_repeating();
        self.seqs.osr = Some(osr);
        self.set_state(State::Open);
        self.timers.clear(Timer::PartOpen);
        self.timers.clear(Timer::GiveUp);
        self.due.response = false;
        if let Some(interval) = self.config.keepalive {
            self.timers.set(Timer::Keepalive, now + interval);
        }
        self.arm_silence(now);
        if is_server {
            self.settle_ccids(now);
            self.was_established = true;
            self.tell(Event::Connected);
        }
    }
}
