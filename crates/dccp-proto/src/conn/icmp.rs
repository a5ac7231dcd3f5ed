//! Handles ICMP errors about packets of this connection (RFC 4340 §14.1, RFC 5927).

use super::pmtu::Quote;
use super::{App, Connection, State};
use crate::endpoint::{IcmpError, IcmpKind};
use crate::event::CloseReason;
use crate::seq::Seq;
use crate::time::Instant;

impl Connection {
    /// Takes an ICMP error that quotes the beginning of one of our packets.
    pub(crate) fn handle_icmp(&mut self, now: Instant, error: &IcmpError<'_>, app: &mut App<'_>) {
        // 4340-14.1-3, LINUX-19: a number that was not sent lately is a guess or a forgery.
        let quoted = quoted_seq(error.quoted);
        let plausible = quoted.and_then(|(seq, is_short)| self.plausible_seq(seq, is_short));
        let is_plausible = plausible.is_some();
        match error.kind {
            IcmpKind::TooBig { mtu } => {
                let quote = plausible.map(|seq| Quote {
                    seq,
                    len: self.in_flight.unreceived_len(seq),
                });
                let is_used = self.pmtu.on_too_big(now, mtu, quote);
                let counters = &mut self.stats.counters;
                counters.icmp_used += u64::from(is_used);
                counters.icmp_ignored += u64::from(!is_used);
            }
            // 5596-2.2.2-4: soft while inviting. Once data flows the path may come back: only silence ends the
            // connection.
            IcmpKind::Unreachable { kind, code } => {
                let counters = &mut self.stats.counters;
                counters.icmp_used += u64::from(is_plausible);
                counters.icmp_ignored += u64::from(!is_plausible);
                let is_setting_up = matches!(self.state, State::Request | State::Respond);
                if is_plausible {
                    self.on_unreachable(now, kind, code);
                }
                if is_setting_up && quoted.is_none() {
                    self.note_unreachable(kind, code);
                }
                if is_setting_up && is_plausible {
                    self.stats.mib.attempt_fails += 1;
                    self.give_up(now, CloseReason::Unreachable { kind, code }, app);
                }
            }
        }
        self.after_input(now, app);
    }

    /// The whole sequence number, if a packet of ours had it lately. A number of 24 bits is easily guessed, so it counts
    /// only where this end sends such.
    fn plausible_seq(&self, seq: Seq, is_short: bool) -> Option<Seq> {
        let seq = if is_short {
            let may_be_short = self.config.short_seqnos && self.state >= State::PartOpen;
            may_be_short.then(|| Seq::extend_24(seq.low_24(), self.seqs.gss))?
        } else {
            seq
        };
        self.seqs.is_ack_valid(seq).then_some(seq)
    }
}

/// The sequence number in a quoted header, and whether it has only 24 bits.
fn quoted_seq(quoted: &[u8]) -> Option<(Seq, bool)> {
    let number = |bytes: &[u8]| Seq::new(bytes.iter().fold(0, |n, &b| (n << 8) | u64::from(b)));
    if quoted.get(8)? & 1 == 1 {
        Some((number(quoted.get(10..16)?), false))
    } else {
        Some((number(quoted.get(9..12)?), true))
    }
}
