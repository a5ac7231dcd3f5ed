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
//! A SyncAck that names a Sync is proof if GSR has not changed since the Sync left. It left after the Sync arrived, so the
//! peer's numbers lie where the SyncAck is, and GSR returns there (4340-7.5.4-10). If GSR has changed, packets of the peer
//! can have overtaken the SyncAck.

use super::Connection;
use crate::seq::Seq;

/// Our Syncs whose `SyncAck` is proof.
#[derive(Clone, Copy, Hash, Debug)]
pub(super) struct Challenge {
    /// The first one. The later ones count, too: the peer answers none that answers a blind packet, so such packets could
    /// otherwise keep the place of the one that it answers.
    first: Seq,
    /// GSR when it left.
    gsr: Seq,
}

impl Connection {
    /// A Sync left with this number.
    pub(super) fn note_challenge(&mut self, sync: Seq) {
        let gsr = self.seqs.gsr;
        if self.challenge.is_none_or(|c| c.gsr != gsr) {
            self.challenge = Some(Challenge { first: sync, gsr });
        }
    }

    /// A SyncAck with the number `seq` names the Sync `ack`. If it proves that GSR is too great, GSR returns to the
    /// number before it.
    pub(super) fn on_challenge_answered(&mut self, seq: Seq, ack: Seq) {
        let is_proof = self.challenge.is_some_and(|c| {
            c.gsr == self.seqs.gsr && !ack.is_before(c.first) && self.seqs.is_ack_valid(ack)
        });
        if is_proof && seq.is_before(self.seqs.swl()) && !self.config.strict {
            let newest = seq.minus(1);
            self.challenge = None;
            self.stats.counters.rollbacks += 1;
            self.seqs.roll_back(newest);
            self.ack_vector.roll_back(newest);
            self.data_dropped.roll_back(newest);
            self.reverse_path.roll_back();
            self.rx.cc.on_rollback(newest);
        }
    }
}
