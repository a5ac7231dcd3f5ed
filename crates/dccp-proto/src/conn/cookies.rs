//! Init Cookies that a client carries for its server (RFC 4340 §8.1.4).

use super::{Connection, State, Timer};
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::{OptionWriter, Options, Packet, PacketType};
use core::time::Duration;

/// The server is asked again, whether it has a cookie, after this time.
const ASK_INTERVAL: Duration = Duration::from_secs(1);

/// The Init Cookies of one Response, until one of our packets with them is known to have arrived.
/// What one packet brought always fits into another.
#[derive(Clone, Debug, Default)]
pub(super) struct Cookies(Option<Box<Carried>>);

#[derive(Clone, Debug)]
struct Carried {
    /// As options.
    bytes: Vec<u8>,
    /// The first of our packets that carries them.
    since: Seq,
    /// When the server may be asked whether it has them.
    ask_at: Instant,
}

impl Cookies {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    fn as_slice(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |carried| &carried.bytes)
    }

    /// Bytes of them, as options.
    pub(super) fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// One more, which our packets carry from `since` on.
    fn keep(&mut self, cookie: &[u8], since: Seq) {
        let carried = self.0.get_or_insert_with(|| {
            Box::new(Carried {
                bytes: Vec::new(),
                since,
                ask_at: Instant::ZERO,
            })
        });
        let len = u8::try_from(cookie.len() + 2).unwrap_or(u8::MAX);
        carried.bytes.extend([36, len]);
        carried.bytes.extend_from_slice(cookie);
    }

    /// 4340-8.1.4-2, 4340-8.1.5-1: as they came, in the same order.
    pub(super) fn write(&self, w: &mut OptionWriter) {
        // No room is left only if the path MTU has fallen below the size of the Response.
        let _ = w.push_all(Options(self.as_slice()));
    }

    /// One of our packets arrived.
    pub(super) fn on_acked(&mut self, seq: Seq) {
        self.0.take_if(|carried| !seq.is_before(carried.since));
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

    /// Data have to wait until the server has its cookies, because only then they may go without.
    /// A Sync asks it, for a server with nothing to send would never say. `false`: it was asked
    /// lately.
    pub(super) fn ask_for_cookies(&mut self, now: Instant) -> bool {
        let Some(carried) = &mut self.cookies.0 else {
            return false;
        };
        let is_due = now >= carried.ask_at;
        if is_due {
            carried.ask_at = now + ASK_INTERVAL;
            self.due.sync = Some(self.seqs.gsr);
        }
        self.timers.set(Timer::Pace, carried.ask_at);
        is_due
    }
}
