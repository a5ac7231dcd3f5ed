//! A fingerprint of a connection for model checkers: two connections with equal fingerprints have the same future.
//!
//! `crates/dccp-model` explores the states of two real connections. It must know when it has seen a state before, and a
//! connection cannot be compared, because its controllers are trait objects of other crates, too. So this file hashes
//! what decides how a connection reacts to a packet, a timer or a call:
//!
//! - state, role, Service Code, all sequence number variables, and which numbers have arrived
//! - the value of each feature, negotiations, and the Confirms that wait
//! - the packets that are due, the progress of the handshake and of the close, cookies, the open challenge
//! - reports on arrived packets, and which of the newest packets sent still await a report
//! - the controllers' numbers, windows and phases, and whether the windows leave room for data
//! - the timers that are set: their order, and the magnitude of the time that is left
//!
//! Left out, with the reason:
//!
//! - **Statistics, events, rate hints**: nothing reads them back.
//! - **Absolute times**: a connection only compares times of its own. A model checker fires timers in the order of
//!   their deadlines, so this order counts. The magnitude (a power of two) decides how timers that are set later mix
//!   with those that are set now. Two deadlines of one magnitude may mix differently. Then the search keeps one of
//!   the two orders, so it may miss a trace, but it never reports one that cannot happen.
//! - **Rates and round-trip times in the controllers**: they decide when data leaves, not which packets are valid.
//! - **Rate limits of answers**: a search sends far fewer packets than they admit.
//!
//! `dccp-model` tests this claim at random: of pairs of traces with equal fingerprints, both must behave alike on the
//! same continuation.

use super::{Connection, Timer};
use crate::cc::AckDue;
use crate::time::Instant;
use core::hash::{Hash, Hasher};

/// The newest packets sent whose reports count.
const NEWEST_SENT: u64 = 32;

impl Connection {
    /// Hashes everything that decides the connection's future (see the source for what is left out).
    #[doc(hidden)]
    pub fn fingerprint<H: Hasher>(&self, now: Instant, hasher: &mut H) {
        self.fingerprint_of_input(now, hasher);
        self.seqs.hash(hasher);
        self.features.fingerprint(hasher);
        (&self.ack_vector, &self.reverse_path, &self.ndp).hash(hasher);
        self.silence.fingerprint(hasher);
        self.challenge.hash(hasher);
        self.due.fingerprint(hasher);
        let flags = [
            self.resync.is_some(),
            self.data_hold.is_some_and(|until| now < until),
            self.controller_reset.is_some(),
            self.has_needs_met,
            self.is_drained,
            self.timestamp.is_some(),
        ];
        flags.hash(hasher);
        self.fingerprint_data_in_flight(hasher);
        self.fingerprint_timers(now, hasher);
    }

    /// Hashes what only a valid packet, the application or a timer may change. A packet with wrong numbers must not:
    /// at most it causes a Sync, which takes a sequence number.
    #[doc(hidden)]
    pub fn fingerprint_of_input<H: Hasher>(&self, now: Instant, hasher: &mut H) {
        (self.state as u8, self.role, self.service).hash(hasher);
        let seqs = &self.seqs;
        (seqs.iss, seqs.isr, seqs.gsr, seqs.gar, seqs.osr).hash(hasher);
        (seqs.local_window, seqs.remote_window).hash(hasher);
        self.features.fingerprint_in_force(hasher);
        (self.tx.ccid, self.rx.ccid).hash(hasher);
        self.handshake.fingerprint(hasher);
        self.closing.fingerprint(hasher);
        self.cookies.fingerprint(hasher);
        self.init_cookie.hash(hasher);
        let flags = [
            self.has_handshake_data,
            self.is_short_refused,
            self.is_app_slow,
            self.is_peer_slow,
            self.is_peer_listening,
            self.was_established,
        ];
        flags.hash(hasher);
        // 4340-7.5.3-2: a Sync may be farther ahead once the connection is no longer active.
        (now - self.last_valid < 3 * self.rtt_or_default()).hash(hasher);
        self.pmtu.pmtu().hash(hasher);
    }

    /// Whether no negotiation of a feature is under way at this end.
    #[doc(hidden)]
    pub fn has_settled_features(&self) -> bool {
        self.features.is_settled()
    }

    fn fingerprint_data_in_flight<H: Hasher>(&self, hasher: &mut H) {
        (self.in_flight.pipe(), self.in_flight.pipe_bytes()).hash(hasher);
        for back in 0..NEWEST_SENT {
            let seq = self.seqs.gss.minus(back);
            self.in_flight.unreceived_len(seq).hash(hasher);
        }
        let cc = self.tx.cc.snapshot();
        (cc.phase, cc.cwnd_packets.map(f64::to_bits)).hash(hasher);
        self.room_in_peers_window().min(NEWEST_SENT).hash(hasher);
    }

    fn fingerprint_timers<H: Hasher>(&self, now: Instant, hasher: &mut H) {
        let ack = match self.rx.cc.ack_due(self.last_valid) {
            AckDue::At(at) => Some(at),
            AckDue::No | AckDue::Now => None,
        };
        let others = [
            (self.tx.cc.poll_timeout(), Timer::HcSender),
            (ack, Timer::Ack),
            (self.features.poll_timeout(), Timer::Feature),
            (self.pmtu.poll_timeout(), Timer::Pmtu),
        ];
        let others = others
            .into_iter()
            .filter_map(|(at, timer)| Some((at?, timer)));
        let mut deadlines: Vec<(Instant, Timer)> = self.timers.all_set().chain(others).collect();
        deadlines.sort_unstable();
        for (at, timer) in deadlines {
            let left = (at - now).as_nanos().checked_ilog2();
            (timer, left).hash(hasher);
        }
        (self.rx.cc.ack_due(self.last_valid) == AckDue::Now).hash(hasher);
    }
}

impl super::Due {
    /// Hashes the packets that are due.
    fn fingerprint<H: Hasher>(&self, hasher: &mut H) {
        let flags = [
            self.listen,
            self.request,
            self.response,
            self.ack,
            self.ack_of_ack,
            self.close_req,
            self.close,
        ];
        flags.hash(hasher);
        (self.sync, self.sync_ack).hash(hasher);
        let reset = self.reset.map(|due| (due.reset.code.0, due.ack, due.seq));
        reset.hash(hasher);
    }
}
