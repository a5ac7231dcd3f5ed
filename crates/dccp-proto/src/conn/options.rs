//! Step 8 of RFC 4340 §8.5: the options (§5.8) and the Acknowledgement Number of a packet that passed
//! the sequence checks.

use super::in_flight::Ack;
use super::{App, Connection, Echo, RTT_LEAST, Reset, State};
use crate::event::Event;
use crate::queue::Fate;
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::options::{Elapsed, Opt};
use crate::wire::{Packet, PacketType, ResetCode};
use core::time::Duration;

/// The content of a packet's options that later steps need.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ParsedOptions {
    pub(super) ndp_count: Option<u64>,
    pub(super) data_checksum: Option<u32>,
    pub(super) elapsed: Option<Duration>,
    /// It has a Slow Receiver option.
    pub(super) is_slow_receiver: bool,
    /// A packet with this number was received before.
    pub(super) is_duplicate: bool,
    /// Its data does not match its Data Checksum.
    pub(super) is_corrupt: bool,
}

impl Connection {
    /// Processes the options in order of appearance (4340-5.8-3), each for itself (4340-5.8-6); the error is the Reset that they
    /// lead to. Nothing on a Data packet leads to one (4340-7.5.5-2).
    pub(super) fn process_options(
        &mut self,
        now: Instant,
        p: &Packet<'_>,
    ) -> Result<ParsedOptions, Reset> {
        let mut parsed = ParsedOptions::default();
        let mut is_mandatory = false;
        let packet_type = p.packet_type();
        for opt in p.options {
            match opt {
                // 4340-5.8.2-2, 4340-5.8.2-3
                Opt::Mandatory if packet_type == PacketType::Data => {}
                Opt::Mandatory if is_mandatory => return Err(mandatory_alone()),
                Opt::Mandatory => is_mandatory = true,
                // 4340-5.8-7
                _ if !opt.is_allowed_on(packet_type) => {
                    Self::refuse_if_mandatory(is_mandatory, &opt)?;
                    is_mandatory = false;
                }
                // Padding too ends what Mandatory began: 4340-5.8.2-4
                _ => {
                    self.process_option(now, p, &opt, is_mandatory, &mut parsed)?;
                    is_mandatory = false;
                }
            }
        }
        if is_mandatory {
            return Err(mandatory_alone());
        }
        if parsed.is_slow_receiver {
            self.report_slow_receiver(now);
        }
        Ok(parsed)
    }

    fn process_option(
        &mut self,
        now: Instant,
        p: &Packet<'_>,
        opt: &Opt<'_>,
        is_mandatory: bool,
        parsed: &mut ParsedOptions,
    ) -> Result<(), Reset> {
        match *opt {
            // 4340-11.6-2: on any packet; the controller gets it with the next acknowledgement.
            Opt::SlowReceiver => {
                self.is_peer_slow = true;
                parsed.is_slow_receiver = true;
            }
            Opt::ChangeL(_)
            | Opt::ConfirmL(_)
            | Opt::ChangeR(_)
            | Opt::ConfirmR(_)
            // A Change without a value: 4340-6.6.8-1
            | Opt::Malformed {
                kind: 32 | 34,
                data: &[_],
            } => {
                self.limit_ccid_changes(now, opt);
                self.features
                    .on_option(opt, is_mandatory, p.seq, p.ack())
                    .map_err(|refusal| Reset {
                        code: refusal.code,
                        data: refusal.data,
                    })?;
            }
            Opt::InitCookie(cookie) => self.keep_cookie(p, cookie),
            Opt::NdpCount { count, .. } => parsed.ndp_count = Some(count),
            Opt::Timestamp(value) => self.keep_timestamp(now, p.seq, value),
            Opt::TimestampEcho { echo, elapsed } => {
                self.on_timestamp_echo(now, echo, elapsed);
                if !matches!(elapsed, Elapsed::None) {
                    parsed.elapsed = Some(self.credible_elapsed(p, elapsed.duration()));
                }
            }
            // 4340-13.2-3: packets without an ackno are not allowed to have it.
            Opt::ElapsedTime(elapsed) => {
                parsed.elapsed = Some(self.credible_elapsed(p, elapsed.duration()));
            }
            Opt::DataChecksum(crc) => parsed.data_checksum = Some(crc),
            // 4340-12.2-2. The cells are read with the acknowledgement, all of a packet's at once.
            Opt::AckVector { nonce, cells } => self.stats.on_ack_vector(nonce, cells.len()),
            // The CCIDs read theirs themselves; §10.3 says whose they are (4340-10.3-1).
            Opt::CcidSpecific { kind, .. } => {
                let ccid = if kind < 192 {
                    self.rx.ccid
                } else {
                    self.tx.ccid
                };
                let ccid = self.config.ccids.find(ccid);
                if !ccid.is_some_and(|ccid| ccid.options().contains(&kind)) {
                    Self::refuse_if_mandatory(is_mandatory, opt)?;
                }
            }
            // 4340-5.8-4, 4340-5.8-8, 4340-15-1: not understood, so ignored.
            Opt::QuickStartResponse { .. }
            | Opt::Multipath(_)
            | Opt::Unknown { .. }
            | Opt::Malformed { .. } => {
                Self::refuse_if_mandatory(is_mandatory, opt)?;
                self.stats.counters.options_ignored += 1;
            }
            // Data Dropped is read with the acknowledgement, too.
            Opt::DataDropped(_) | Opt::Padding | Opt::Mandatory => {}
        }
        Ok(())
    }

    /// The Elapsed Time of this packet. 4340-12.3-5: within a longer one the packet after the acknowledged one would have
    /// arrived. CCID 2 gains nothing by a lie about it.
    #[cold]
    fn credible_elapsed(&self, p: &Packet<'_>, told: Duration) -> Duration {
        let gap = p.ack().filter(|_| self.tx.ccid != 2);
        let gap = gap.and_then(|ack| self.in_flight.time_to_next(ack));
        gap.map_or(told, |gap| told.min(gap))
    }

    /// 4340-11.6-2: once for each packet, and to the application at most once a second (4340-18-2).
    fn report_slow_receiver(&mut self, now: Instant) {
        self.stats.counters.slow_receiver += 1;
        if self.slow_event_limit.grant(now) {
            self.tell(Event::SlowReceiver);
        }
    }

    /// 4340-5.8.2-1
    fn refuse_if_mandatory(is_mandatory: bool, opt: &Opt<'_>) -> Result<(), Reset> {
        if !is_mandatory {
            return Ok(());
        }
        Err(Reset {
            code: ResetCode::MANDATORY_ERROR,
            data: opt.reset_data(),
        })
    }

    /// 4340-13.1-2, 4340-13.3-1: of several, the one of the newest packet is echoed.
    fn keep_timestamp(&mut self, now: Instant, seq: Seq, value: u32) {
        if self.timestamp.is_none_or(|kept| !seq.is_before(kept.seq)) {
            self.timestamp = Some(Echo {
                value,
                seq,
                arrived: now,
            });
        }
    }

    /// 4340-13.3-1
    fn on_timestamp_echo(&mut self, now: Instant, echo: u32, elapsed: Elapsed) {
        if !self.config.timestamps {
            return;
        }
        let units = now
            .timestamp()
            .wrapping_sub(echo)
            .saturating_sub(elapsed.units());
        let sample = Duration::from_micros(10 * u64::from(units));
        // An echo of something that we never sent gives an absurd time.
        if sample < Duration::from_mins(1) {
            self.on_rtt_sample(now, sample);
        }
    }

    /// Processes the Acknowledgement Number. A Sync's acknowledges nothing (4340-5.7-1).
    pub(super) fn process_acknowledgement(
        &mut self,
        now: Instant,
        p: &Packet<'_>,
        ack: Seq,
        parsed: &ParsedOptions,
        app: &mut App<'_>,
    ) {
        if matches!(p.packet_type(), PacketType::Sync) {
            return;
        }
        self.cookies.on_acked(ack);
        if p.packet_type() == PacketType::SyncAck {
            self.pmtu.on_sync_acked(now, ack);
            return;
        }
        let outbox = &mut *app.outbox;
        let ack = Ack {
            seq: p.seq,
            names: ack,
            elapsed: parsed.elapsed,
            is_prompt: self.is_prompt(p),
            slow_receiver: core::mem::take(&mut self.is_peer_slow),
            acks_lost: self.reverse_path.take(),
            options: p.options,
        };
        let stats = &mut self.stats;
        let mut tell = |slot, fate| {
            if let Fate::RxDropped(code) = fate {
                stats.on_dropped_by_peer(code);
            }
            outbox.on_fate(now, slot, fate);
        };
        let Some(feedback) = self.in_flight.on_ack(now, &ack, &mut tell) else {
            return;
        };
        self.stats.on_feedback(&feedback);
        if let Some(carrier) = self.in_flight.take_acked_vector() {
            self.ack_vector.on_acked(carrier);
            self.data_dropped.on_acked(carrier);
        }
        if let Some(sample) = feedback.rtt {
            self.on_rtt_sample(now, sample);
        }
        self.pmtu.on_large(now, self.in_flight.large_news());
        self.tx.cc.on_feedback(now, &feedback);
        self.obey_receiver(now, &feedback);
        self.follow_controllers();
        self.meter_rate(now, &feedback, app);
        if self.audit.is_due(now) {
            self.audit(now, app);
        }
    }

    /// Whether a packet left as soon as what it acknowledges had come, so that it tells the round trip
    /// without an Elapsed Time (5348-4.2-1): a Response, and the client's answer to it (RFC 4340 §8.1.5). Any but
    /// the first packet after the Request may be sent by a timer, because that answer was lost.
    fn is_prompt(&self, p: &Packet<'_>) -> bool {
        match p.packet_type() {
            PacketType::Response => true,
            PacketType::Ack | PacketType::DataAck => {
                self.state == State::Respond && p.seq == self.seqs.isr.next()
            }
            _ => false,
        }
    }

    /// The drop codes that are not the controller's alone.
    fn obey_receiver(&mut self, now: Instant, fb: &crate::cc::Feedback<'_>) {
        if fb.drops.not_listening > 0 && self.is_peer_listening {
            // 4340-11.7.2-2
            self.is_peer_listening = false;
            self.tell(Event::PeerNotListening);
        }
        if fb.drops.protocol > 0 {
            // 4340-11.7.2-1: no option reports the end of the constraint, so try again a round trip later.
            self.data_hold = Some(now + self.rtt_or_default());
        }
    }

    pub(super) fn on_rtt_sample(&mut self, now: Instant, sample: Duration) {
        self.rtt_sample = Some((now, sample));
        // An action due one round trip later must not happen at once.
        let sample = sample.max(RTT_LEAST);
        let rtt = self.rtt.map_or(sample, |rtt| (rtt * 7 + sample) / 8);
        if self.rtt.is_none() {
            self.tx.cc.on_rtt_hint(now, sample);
        }
        self.rtt = Some(rtt);
        self.features.set_rtt(rtt);
        self.pmtu.set_rtt(rtt);
    }
}

/// 4340-5.8.2-3: Mandatory before Mandatory, or before nothing.
fn mandatory_alone() -> Reset {
    Reset {
        code: ResetCode::OPTION_ERROR,
        data: [1, 0, 0],
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ack, client, config};
    use super::*;
    use crate::seq::Seq;
    use crate::wire::{Kind, OptionWriter, ServiceCode};

    #[test]
    fn only_handshake_packets_are_prompt() {
        // 5348-4.2-1
        let options = OptionWriter::new(0);
        let mut conn = client(config());
        let mut packet = ack(&options);
        assert!(!conn.is_prompt(&packet), "not of the handshake");
        packet.kind = Kind::Response {
            ack: Seq::ZERO,
            service: ServiceCode::NONE,
        };
        assert!(conn.is_prompt(&packet));
        // RFC 4340 §8.1.5: the client's answer, but not one that a timer may have sent again.
        conn.state = State::Respond;
        conn.seqs.start_receiving(Seq::new(6));
        let mut answer = ack(&options);
        assert!(conn.is_prompt(&answer));
        answer.seq = Seq::new(8);
        assert!(!conn.is_prompt(&answer));
    }
}
