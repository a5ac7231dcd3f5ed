//! Returns to the peer's sequence numbers after a forged packet moved GSR ahead of them (RFC 4340 §7.5.5).
//!
//! A forged Data packet up to ¾ of the window ahead moves the window past all numbers of the peer. Its packets are then
//! answered by Syncs, and its answers lie below the window, too. Without a remedy the connection never recovers:
//!
//! ```text
//!        peer's numbers                       forged
//!   ----------+---------------------------------|-----------> sequence numbers
//!             ^ SyncAck                   [ SWL ^ GSR          SWH ]
//! ```
//!
//! A SyncAck that names our last Sync is proof: only the peer knows that number of 48 bits, and it left after the Sync
//! arrived. So the peer's numbers lie where the SyncAck is, and GSR returns there (4340-7.5.4-10).

use super::Connection;
use crate::seq::Seq;
use crate::time::Instant;
use core::time::Duration;

/// A Sync that no SyncAck has answered for this time gives way to a later one.
const PATIENCE: Duration = Duration::from_secs(3);

/// A Sync of ours that awaits its SyncAck.
#[derive(Clone, Copy, Debug)]
pub(super) struct Challenge {
    sync: Seq,
    sent_at: Instant,
}

impl Connection {
    /// A Sync left with this number. The first of several is kept: they may leave faster than answers come.
    pub(super) fn note_challenge(&mut self, now: Instant, sync: Seq) {
        let is_waiting = |c: Challenge| now - c.sent_at < PATIENCE.max(4 * self.rtt_or_default());
        if !self.challenge.is_some_and(is_waiting) {
            self.challenge = Some(Challenge { sync, sent_at: now });
        }
    }

    /// A SyncAck with the number `seq` names the Sync `ack`. If it proves that GSR is too great, GSR returns to the
    /// number before it.
    pub(super) fn on_challenge_answered(&mut self, seq: Seq, ack: Seq) {
        if self.challenge.is_none_or(|c| c.sync != ack) {
            return;
        }
        self.challenge = None;
        if seq.is_before(self.seqs.swl()) && !self.config.strict {
            let newest = seq.minus(1);
            self.stats.counters.rollbacks += 1;
            self.seqs.roll_back(newest);
            self.ack_vector.roll_back(newest);
            self.data_dropped.roll_back(newest);
            self.rx.cc.on_rollback(newest);
        }
    }
}
