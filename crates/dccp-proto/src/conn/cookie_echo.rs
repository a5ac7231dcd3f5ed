//! The client's part of Init Cookies: it returns those of a Response (RFC 4340 §8.1.4). The server's
//! part is `endpoint/cookie_issue.rs`.

use super::{Connection, State, Timer};
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::{OptionWriter, Options, Packet, PacketType};
use core::hash::{Hash, Hasher};
use core::time::Duration;

/// After this time a Sync asks the server again whether it has the cookies.
const ASK_INTERVAL: Duration = Duration::from_secs(1);

/// The Init Cookies of one Response. They are kept until the server acknowledges one of our packets
/// with them. Options that came in one packet always fit into another.
#[derive(Clone, Debug, Default)]
pub(super) struct Cookies {
    /// As options; empty without cookies.
    bytes: Vec<u8>,
    /// The first of our packets that carries them.
    since: Seq,
    /// When a Sync may ask the server whether it has them.
    ask_at: Instant,
}

impl Cookies {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes of them, as options.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a cookie, which our packets carry from `since` on.
    fn keep(&mut self, cookie: &[u8], since: Seq) {
        if self.is_empty() {
            self.since = since;
        }
        let len = u8::try_from(cookie.len() + 2).unwrap_or(u8::MAX);
        self.bytes.extend([36, len]);
        self.bytes.extend_from_slice(cookie);
    }

    /// Hashes the cookies and their first packet into a fingerprint.
    pub(super) fn fingerprint<H: Hasher>(&self, hasher: &mut H) {
        (&self.bytes, self.since).hash(hasher);
    }

    /// 4340-8.1.4-2, 4340-8.1.5-1: as they came, in the same order.
    pub(super) fn write(&self, w: &mut OptionWriter) {
        // No room is left only if the path MTU has fallen below the size of the Response.
        let _ = w.push_all(Options(&self.bytes));
    }

    /// One of our packets arrived.
    pub(super) fn on_acked(&mut self, seq: Seq) {
        if !self.is_empty() && !seq.is_before(self.since) {
            *self = Self::default();
        }
    }
}

impl Connection {
    /// Begins with the options of a packet. Those of a Response that we will name from now on are
    /// the ones to echo, instead of those of an older one (AMB-6).
    pub(super) fn begin_cookies(&mut self, p: &Packet<'_>) {
        if self.brings_cookies(p) {
            self.cookies = Cookies::default();
        }
    }

    /// 4340-8.1.4-1: cookies count on a Response only, and not once the connection is open.
    pub(super) fn keep_cookie(&mut self, p: &Packet<'_>, cookie: &[u8]) {
        if self.brings_cookies(p) {
            self.cookies.keep(cookie, self.seqs.gss.next());
        }
    }

    fn brings_cookies(&self, p: &Packet<'_>) -> bool {
        p.packet_type() == PacketType::Response
            && matches!(self.state, State::Request | State::PartOpen)
            && p.seq == self.seqs.gsr
    }

    /// Sends a Sync to learn whether the server has its cookies. Data that leave no room for cookies
    /// wait until then, and a server with nothing to send would never confirm them. Returns `false` if the
    /// last Sync left less than [`ASK_INTERVAL`] ago.
    pub(super) fn ask_for_cookies(&mut self, now: Instant) -> bool {
        let is_due = now >= self.cookies.ask_at;
        if is_due {
            self.cookies.ask_at = now + ASK_INTERVAL;
            self.due.sync = Some(self.seqs.gsr);
        }
        self.timers.set(Timer::Pace, self.cookies.ask_at);
        is_due
    }
}
