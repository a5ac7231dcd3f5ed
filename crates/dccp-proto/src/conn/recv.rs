//! Receiving: steps 4 to 16 of RFC 4340 §8.5, in order, one function each. Step 1 is
//! `wire/parse.rs`, steps 2 and 3 are `endpoint.rs`.

use super::features::Side;
use super::options::ParsedOptions;
use super::stats::DropReason;
use super::{App, Connection, DueReset, Reset, Role, State};
use crate::cc::Arrival;
use crate::event::{CloseReason, Event};
use crate::queue::{Accepted, Delivery};
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::ack_cells::DropCode;
use crate::wire::features::Feature;
use crate::wire::{Ecn, Kind, Packet, PacketType, Payload, ResetCode};

use core::ops::ControlFlow::{self, Break, Continue};

/// Why processing of a packet ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// It is ignored.
    Drop(DropReason),
    /// It is ignored and answered by a Sync with this Acknowledgement Number.
    Sync(DropReason, Seq),
    /// The connection is reset.
    Reset(Reset),
    /// It has had its effect.
    Done,
}

type Step = ControlFlow<Verdict>;

impl Connection {
    /// Takes a packet of this connection that step 1 let through.
    pub(crate) fn handle_packet(
        &mut self,
        now: Instant,
        p: &Packet<'_>,
        ecn: Ecn,
        app: &mut App<'_>,
    ) {
        self.stats.on_received(p, ecn);
        let ecn = self.readable(ecn);
        match self.receive(now, p, ecn, app) {
            Continue(()) | Break(Verdict::Done) => {}
            Break(Verdict::Drop(reason)) => self.count_drop(reason),
            Break(Verdict::Sync(reason, ack)) => {
                self.count_drop(reason);
                self.send_limited_sync(now, ack);
            }
            Break(Verdict::Reset(reset)) => self.reset(now, reset, app),
        }
        self.features.after_packet(self.seqs.gsr, self.seqs.gss);
        if self.has_work_after_input() {
            self.after_input(now, app);
        }
    }

    /// Steps 4 to 16. A Data packet on an open connection has no business with steps 4, 5, 7 and 9 to
    /// 15: they concern other packet types and other states.
    #[inline]
    fn receive(&mut self, now: Instant, p: &Packet<'_>, ecn: Ecn, app: &mut App<'_>) -> Step {
        let is_open_data = self.state == State::Open && p.packet_type() == PacketType::Data;
        if !is_open_data {
            self.step_4_ignore_listen(now, p)?;
            self.step_4_in_request(now, p)?;
            self.step_5_prepare_for_sync(now, p)?;
        }
        let mut extended;
        let p = if p.is_short {
            extended = *p;
            self.step_6_extend(&mut extended)?;
            &extended
        } else {
            p
        };
        self.step_6_check_sequence(now, p)?;
        if !is_open_data {
            self.step_7_check_type(p)?;
        }
        let parsed = self.step_8_process_options(now, p, ecn, app)?;
        if !is_open_data {
            self.step_9_process_reset(now, p, app)?;
            self.step_10_leave_request(now, p);
            self.step_11_in_respond(now, p)?;
            self.step_12_in_partopen(now, p);
            self.step_13_process_close_req(now, p, app);
            self.step_14_process_close(now, p, app)?;
            self.step_15_process_sync(p);
        }
        self.step_16_process_data(now, p, ecn, &parsed, app);
        Continue(())
    }

    /// Whether [`after_input`](Self::after_input) has something to do.
    #[inline]
    fn has_work_after_input(&self) -> bool {
        self.controller_reset.is_some()
            || self.has_feature_news()
            || self.closing.is_wanted
            || self.pmtu.has_changed()
    }

    /// Does what any input may have made possible.
    pub(super) fn after_input(&mut self, now: Instant, app: &mut App<'_>) {
        if self.state.is_alive() {
            if let Some(reset) = self.controller_reset.take() {
                return self.reset(now, reset, app);
            }
            self.take_feature_changes(now);
            self.close_when_drained(now, app);
        }
        if let Some(mps) = self.pmtu.poll_changed() {
            self.in_flight.set_large_len(self.pmtu.large_len());
            self.tx.cc.on_mps(mps);
            self.tell(Event::Mps(mps));
        }
    }

    /// 5596-2.2.3-1, 5596-2.2.1-2: a Listen has no place in the sequence; only its arrival counts.
    fn step_4_ignore_listen(&mut self, now: Instant, p: &Packet<'_>) -> Step {
        if p.packet_type() != PacketType::Listen {
            return Continue(());
        }
        if self.state == State::Request {
            self.on_listen_in_request(now);
        }
        Break(Verdict::Drop(DropReason::UnwantedListen))
    }

    /// 4340-8.5-4: in REQUEST only a Response or Reset that answers one of our Requests counts.
    fn step_4_in_request(&mut self, now: Instant, p: &Packet<'_>) -> Step {
        if self.state != State::Request {
            return Continue(());
        }
        let is_answer = matches!(p.kind, Kind::Response { .. } | Kind::Reset { .. });
        // AWL in REQUEST is ISS: every Request that was sent may be answered.
        let is_ours = |ack: Seq| self.seqs.has_left(self.seqs.iss, ack);
        if is_answer && p.ack().is_some_and(is_ours) {
            self.seqs.start_receiving(p.seq);
            self.gsr_arrived = now;
            self.features.set_isr(p.seq);
            return Continue(());
        }
        // AMB-3: with our next number, unless a Sync names the number that its sender expects: a half-open
        // connection that challenges our last Reset must be able to believe this one (4340-7.5.4-5).
        let seq = match p.kind {
            Kind::Sync { ack } if !is_ours(ack) => Some(ack.next()),
            _ => None,
        };
        // 4340-18-3: limited, so that two ends in REQUEST fall silent.
        if self.reset_limit.grant(now) {
            // 4340-5.6-4
            let data = [p.packet_type() as u8, 0, 0];
            let reset = Reset {
                code: ResetCode::PACKET_ERROR,
                data,
            };
            let ack = p.seq;
            self.due.reset = Some(DueReset { reset, ack, seq });
        } else {
            self.stats.counters.resets_limited += 1;
        }
        Break(Verdict::Drop(DropReason::NotResponse))
    }

    /// 4340-8.5-5, 4340-7.5.4-1
    fn step_5_prepare_for_sync(&mut self, now: Instant, p: &Packet<'_>) -> Step {
        let (Kind::Sync { ack } | Kind::SyncAck { ack }) = p.kind else {
            return Continue(());
        };
        if matches!(p.kind, Kind::SyncAck { .. }) {
            self.on_challenge_answered(p.seq, ack);
        }
        let is_active = now - self.last_valid < 3 * self.rtt_or_default();
        if !self.seqs.is_sync_valid(p.seq, ack, is_active) {
            self.note_short_refusal(ack);
            return Break(Verdict::Drop(DropReason::SyncOutOfWindow));
        }
        self.note_received(now, p.seq);
        Continue(())
    }

    /// LINUX-23: a Linux client allows short numbers, then takes the 24 bits for the whole number and answers
    /// with a Sync that acknowledges them. Long numbers leave from then on.
    fn note_short_refusal(&mut self, ack: Seq) {
        let is_short = ack.value() == u64::from(ack.low_24());
        let extended = Seq::extend_24(ack.low_24(), self.seqs.gss);
        if is_short && self.sends_short() && self.seqs.is_ack_valid(extended) {
            self.is_short_refused = true;
        }
    }

    /// 4340-7.6-1: extends short sequence numbers.
    fn step_6_extend(&self, p: &mut Packet<'_>) -> Step {
        // 4340-7.6.1-1: short numbers are valid only where this end allows them.
        if self.features.value(Side::Remote, Feature::AllowShortSeqnos) == 0 {
            return Break(Verdict::Drop(DropReason::ShortSeqnoRefused));
        }
        p.seq = Seq::extend_24(p.seq.low_24(), self.seqs.gsr);
        if let Some(ack) = p.ack() {
            p.kind = p.kind.with_ack(Seq::extend_24(ack.low_24(), self.seqs.gss));
        }
        p.is_short = false;
        Continue(())
    }

    /// 4340-8.5-6, 4340-7.5.3-1: the sequence and acknowledgement numbers are within their windows.
    #[inline]
    fn step_6_check_sequence(&mut self, now: Instant, p: &Packet<'_>) -> Step {
        // 4340-8.5-4: what answers a Request is valid, since step 4 took its number as the first. A
        // Reset without a connection has any number (4340-8.3.1-2).
        if self.state != State::Request
            && let Some(fault) = self.seqs.fault(p)
        {
            // 4340-7.5.4-2, 4340-7.5.4-3, 4340-7.5.4-7
            let ack = if p.packet_type() == PacketType::Reset {
                self.seqs.gsr
            } else {
                p.seq
            };
            return Break(Verdict::Sync(fault, ack));
        }
        self.note_received(now, p.seq);
        if let Some(ack) = p.ack()
            && p.packet_type() != PacketType::Sync
        {
            self.seqs.on_acked(ack);
        }
        Continue(())
    }

    /// 4340-8.5-7, 4340-8.3-4
    fn step_7_check_type(&self, p: &Packet<'_>) -> Step {
        use PacketType::{CloseReq, Data, Request, Response};
        let packet_type = p.packet_type();
        let is_unexpected = match (self.role, packet_type) {
            (Role::Server, CloseReq | Response) | (Role::Client, Request) => true,
            (_, Request | Response) => {
                self.state >= State::Open && self.seqs.osr.is_none_or(|osr| !p.seq.is_before(osr))
            }
            (_, Data) => self.state == State::Respond,
            _ => false,
        };
        if is_unexpected {
            return Break(Verdict::Sync(DropReason::UnexpectedType, p.seq));
        }
        Continue(())
    }

    /// 4340-8.5-8, 4340-7.4-1: options first, then the packet counts as received.
    #[inline]
    fn step_8_process_options(
        &mut self,
        now: Instant,
        p: &Packet<'_>,
        ecn: Ecn,
        app: &mut App<'_>,
    ) -> ControlFlow<Verdict, ParsedOptions> {
        let mut parsed = ParsedOptions::default();
        if p.packet_type() == PacketType::Response {
            self.begin_cookies(p);
        }
        if !p.options.0.is_empty() {
            parsed = match self.process_options(now, p) {
                Ok(parsed) => parsed,
                Err(reset) => return Break(Verdict::Reset(reset)),
            };
            self.take_feature_changes(now);
            // 4340-9.3-1: data that do not match their checksum are corrupt.
            let checksum = parsed.data_checksum;
            parsed.is_corrupt = checksum.is_some_and(|crc| p.payload.crc_32c() != crc);
        }
        parsed.is_duplicate = self.note_arrival(now, p, ecn, parsed.ndp_count, parsed.is_corrupt);
        if let Some(ack) = p.ack() {
            self.process_acknowledgement(now, p, ack, &parsed, app);
        }
        Continue(parsed)
    }

    /// The packet counts as received (4340-7.4-1). Returns whether it had been before.
    #[inline]
    fn note_arrival(
        &mut self,
        now: Instant,
        p: &Packet<'_>,
        ecn: Ecn,
        ndp_count: Option<u64>,
        is_corrupt: bool,
    ) -> bool {
        self.ack_vector.on_packet(p.seq, ecn);
        self.reverse_path
            .on_packet(p.seq, p.packet_type().is_data(), ndp_count, ecn);
        let is_data = is_application_data(p);
        self.rx.cc.on_packet(&Arrival {
            now,
            seq: p.seq,
            ccval: p.ccval,
            // 4340-11.7-5: the peer must answer to corrupt data as to a mark, so it is counted as one.
            ecn: if is_corrupt { Ecn::Ce } else { ecn },
            packet_type: p.packet_type(),
            is_data,
            payload_len: if is_data { p.payload.len() } else { 0 },
            is_short: p.is_short,
            ndp_count,
            rtt: self.rtt,
            options: p.options,
        });
        self.seqs.note_arrival(p.seq)
    }

    /// 4340-8.5-9. An unknown code ends the connection as code 0 does (4340-5.6-3).
    fn step_9_process_reset(&mut self, now: Instant, p: &Packet<'_>, app: &mut App<'_>) -> Step {
        let Kind::Reset { code, data, .. } = p.kind else {
            return Continue(());
        };
        self.resets.received = Some(code);
        self.on_reset(now, code, data, p.payload, app);
        Break(Verdict::Done)
    }

    /// 4340-8.5-10: only a Response gets this far in REQUEST.
    fn step_10_leave_request(&mut self, now: Instant, p: &Packet<'_>) {
        if self.state == State::Request {
            self.enter_partopen(now, p);
        }
    }

    /// 4340-8.5-11
    fn step_11_in_respond(&mut self, now: Instant, p: &Packet<'_>) -> Step {
        if self.state == State::Respond {
            if p.packet_type() == PacketType::Request {
                // LINUX-4: what the CCIDs need of other features is asked for in the Response, because a
                // Linux client negotiates preferences in the handshake only.
                self.wish_for_agreed_needs();
                // 4340-8.1.3-3
                self.due.response = true;
            } else {
                self.enter_open(now, p.seq);
            }
        }
        Continue(())
    }

    /// 4340-8.5-12, 4340-8.1.5-3
    fn step_12_in_partopen(&mut self, now: Instant, p: &Packet<'_>) {
        if self.state == State::PartOpen {
            match p.packet_type() {
                PacketType::Response => self.due.ack = true,
                PacketType::Sync => {}
                _ => self.enter_open(now, p.seq),
            }
        }
    }

    /// 4340-8.5-13, 4340-8.3-1
    fn step_13_process_close_req(&mut self, now: Instant, p: &Packet<'_>, app: &mut App<'_>) {
        if p.packet_type() == PacketType::CloseReq && self.state < State::CloseReq {
            self.tell(Event::PeerClosed);
            self.enter_closing(now, app);
        }
    }

    /// 4340-8.5-14: in every state that gets here.
    fn step_14_process_close(&mut self, now: Instant, p: &Packet<'_>, app: &mut App<'_>) -> Step {
        if p.packet_type() != PacketType::Close {
            return Continue(());
        }
        self.on_close(now, app);
        Break(Verdict::Done)
    }

    /// 4340-8.5-15, 4340-7.5.4-4, 4340-8.2-2, 4340-5.7-2
    fn step_15_process_sync(&mut self, p: &Packet<'_>) {
        if p.packet_type() == PacketType::Sync {
            self.due.sync_ack = Some(p.seq);
        }
    }

    /// 4340-8.5-16
    #[inline]
    fn step_16_process_data(
        &mut self,
        now: Instant,
        p: &Packet<'_>,
        ecn: Ecn,
        parsed: &ParsedOptions,
        app: &mut App<'_>,
    ) {
        if parsed.is_duplicate && is_application_data(p) {
            // 4340-18-6: at most one delivery. The first arrival reported the fate of the data.
            self.count_drop(DropReason::Duplicate);
            return;
        }
        if parsed.is_corrupt {
            // 4340-9.3-2, 4340-9.3-3
            let is_wanted = self.config.deliver_corrupt && is_application_data(p);
            let code = if is_wanted {
                DropCode::DELIVERED_CORRUPT
            } else {
                DropCode::CORRUPT
            };
            self.refuse_data(p.seq, DropReason::DataCorrupt, code);
            if !is_wanted {
                return;
            }
        }
        if !is_application_data(p) {
            return;
        }
        if let Some(reason) = self.constraint_on_data(p) {
            self.refuse_data(p.seq, reason, DropCode::PROTOCOL_CONSTRAINTS);
            return;
        }
        self.stats.on_data_received(p.payload.len());
        let meta = Delivery {
            arrived: now,
            seq: p.seq,
            ecn,
            is_corrupt: parsed.is_corrupt,
        };
        match app.inbox.deliver(p.payload, meta) {
            Accepted::Yes => self.stats.counters.data_delivered += 1,
            Accepted::Full => {
                self.refuse_data(p.seq, DropReason::ReceiveBuffer, DropCode::RECEIVE_BUFFER);
            }
            Accepted::NotListening => {
                let code = DropCode::APPLICATION_NOT_LISTENING;
                self.refuse_data(p.seq, DropReason::NotListening, code);
            }
        }
    }

    /// Why the protocol does not let us take this packet's data, if it does not.
    fn constraint_on_data(&mut self, p: &Packet<'_>) -> Option<DropReason> {
        let is_handshake = matches!(p.packet_type(), PacketType::Request | PacketType::Response);
        if !self.accepts_coverage(p.cscov) {
            // 4340-9.2.1-2
            Some(DropReason::BelowMinCscov)
        } else if self.refuses_ecn_blind_data() {
            // 4340-12.1-3, 4340-8.2-3
            Some(DropReason::NotReady)
        } else if is_handshake && core::mem::replace(&mut self.has_handshake_data, true) {
            // 4340-8.1.3-4, 4340-8.1.3-5: the data of one Request is taken, not that of the others.
            Some(DropReason::Duplicate)
        } else {
            None
        }
    }

    /// The data of the peer's Request could not be kept: a cookie holds none (4340-11.7-6).
    pub(crate) fn refuse_request_data(&mut self, seq: Seq) {
        self.refuse_data(seq, DropReason::NotReady, DropCode::PROTOCOL_CONSTRAINTS);
    }

    /// Counts dropped data and reports it to the peer (4340-11.7-6).
    fn refuse_data(&mut self, seq: Seq, reason: DropReason, code: DropCode) {
        self.count_drop(reason);
        self.stats.drop_codes_out.count(code);
        self.data_dropped.on_drop(seq, code);
    }

    /// 4340-7.5.4-6: Syncs are limited. Numbers that the peer used lately have a limit of their own, so that a flood of blind
    /// packets leaves room for the Sync that brings GSR back (4340-7.5.4-10).
    fn send_limited_sync(&mut self, now: Instant, ack: Seq) {
        let limit = if self.seqs.is_just_behind(ack) {
            &mut self.late_sync_limit
        } else {
            &mut self.sync_limit
        };
        if limit.grant(now) {
            self.due.sync = Some(ack);
        } else {
            self.stats.counters.syncs_limited += 1;
        }
    }

    fn note_received(&mut self, now: Instant, seq: Seq) {
        if self.seqs.on_received(seq) {
            self.gsr_arrived = now;
        }
        self.last_valid = now;
        self.silence.unanswered_since = None;
    }

    fn on_reset(
        &mut self,
        now: Instant,
        code: ResetCode,
        data: [u8; 3],
        text: Payload<'_>,
        app: &mut App<'_>,
    ) {
        let is_closing = self.state == State::Closing;
        // A peer that answered our Close has forgotten us. If that answer was lost, the next Close comes
        // to a host without the connection (4340-8.3.1-1).
        let is_late_answer =
            is_closing && self.closing.is_repeated && code == ResetCode::NO_CONNECTION;
        let is_closed = code == ResetCode::CLOSED || is_late_answer;
        let reason = if !is_closed {
            CloseReason::Reset {
                code,
                data,
                text: error_text(text),
            }
        } else if is_closing && self.closing.is_wanted {
            CloseReason::Local
        } else {
            CloseReason::Peer
        };
        if self.was_established && !is_closed {
            self.stats.mib.estab_resets += 1;
        } else if !self.was_established {
            self.stats.mib.attempt_fails += 1;
        }
        // 4340-8.5-9; but a peer in REQUEST, which alone says Packet Error, is about to open the flow
        // again (4340-7.5.4-5): no TIMEWAIT then, as in the third example of RFC 4340 §7.5.6.
        let state = match code {
            ResetCode::PACKET_ERROR => State::Closed,
            _ => State::TimeWait,
        };
        self.finish(now, state, reason, app);
    }
}

/// Whether the packet's application area holds data: always on Data and `DataAck`, even when empty
/// (4340-5.4-1); on Request and Response when it is not empty (4340-5.2-1); never on the others,
/// which use it for padding (4340-5.4-2).
fn is_application_data(p: &Packet<'_>) -> bool {
    match p.packet_type() {
        PacketType::Data | PacketType::DataAck => true,
        PacketType::Request | PacketType::Response => !p.payload.is_empty(),
        _ => false,
    }
}

/// The text of a Reset, cut to a length that a log can bear.
fn error_text(payload: Payload<'_>) -> String {
    const MAX: usize = 256;
    match payload {
        Payload::Bytes(b) => String::from_utf8_lossy(&b[..b.len().min(MAX)]).into_owned(),
        Payload::Zeros(_) => String::new(),
    }
}

#[cfg(test)]
mod tests;
