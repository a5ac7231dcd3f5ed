//! Sending: control packets, then data as the controller permits, then acknowledgements that are due.
//!
//! A datagram is claimed only when it may leave now and fits the batch: the application can change
//! its mind until then. A packet whose options differ from those of the others opens a batch of its
//! own, because the packets of a batch have one length.

mod acks;
mod plan;
mod run;
#[cfg(test)]
mod tests;

use super::features::Side;
use super::in_flight::{Record, SentPacket};
use super::{App, Connection, DueReset, State, Timer};
use crate::batch::Batch;
use crate::cc::{Admission, Permit};
use crate::config::bounds::COOKIE_RESPONSE_OPTIONS;
use crate::queue::{Fate, Offer, Waiting};
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::features::Feature;
use crate::wire::options::{OPTIONS_MAX, Opt};
use crate::wire::{self, Ecn, Kind, OptionWriter, Options, Packet, PacketType, Payload};
use core::ops::ControlFlow;
use plan::Plan;

/// Room for the options of an acknowledgement besides its Ack Vectors: Elapsed Time, those of the
/// CCID, a Timestamp Echo.
const ACK_OPTIONS_LEN: usize = 48;

/// Bytes of options, with Padding, on a repeated Request, so that it earns a Response with a cookie (4340-18-5). With its
/// header of 20 bytes and that of IPv4 the Request has 200 bytes and earns 300. The Response has at most 48 bytes and
/// [`COOKIE_RESPONSE_OPTIONS`], which are 288. Longer headers below DCCP count once in the Response, and earn one and a half times their
/// bytes.
const REPEATED_REQUEST_OPTIONS: usize = 160;
const _: () =
    assert!(3 * (20 + 20 + REPEATED_REQUEST_OPTIONS) >= 2 * (48 + COOKIE_RESPONSE_OPTIONS));

/// The shortest time that a timer can wait.
const MOMENT: core::time::Duration = core::time::Duration::from_nanos(1);

impl Connection {
    /// Appends packets to an empty batch as long as they fit together. `false`: nothing may leave
    /// now, and `batch` is still empty.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Instant,
        app: &mut App<'_>,
        batch: &mut Batch,
    ) -> bool {
        // Asking is what the timer was for.
        self.scheduled = self.scheduled.or(self.timers.take(Timer::Pace));
        while self.transmit(now, app, batch) {}
        self.scheduled = None;
        if batch.is_empty() || self.is_drained {
            self.expire_datagrams(now, app);
        }
        !batch.is_empty()
    }

    /// Expires waiting datagrams, and sets the timer for the next.
    fn expire_datagrams(&mut self, now: Instant, app: &mut App<'_>) {
        match app.outbox.expire(now) {
            Some(at) if self.state.is_alive() => {
                self.timers.set(Timer::Expiry, at.max(now + MOMENT));
            }
            _ => self.timers.clear(Timer::Expiry),
        }
    }

    /// Appends a packet, and data like it. `false` if none may leave or the next does not fit.
    fn transmit(&mut self, now: Instant, app: &mut App<'_>, batch: &mut Batch) -> bool {
        self.is_drained = false;
        if self.has_control_due() {
            return batch.is_empty() && self.send_control(now, app, batch);
        }
        if self.send_data(now, app, batch) {
            return true;
        }
        let is_ack_due = self.is_ack_due(now, app);
        // Lack of data may have begun the close.
        self.is_drained &= !is_ack_due && !self.has_control_due();
        batch.is_empty() && is_ack_due && self.send_ack(now, app, batch)
    }

    /// Whether the last [`poll_transmit`](Self::poll_transmit) has sent everything that may leave before the next
    /// input. `false` if unknown.
    pub(crate) fn is_drained(&self) -> bool {
        self.is_drained
    }

    fn has_control_due(&self) -> bool {
        let due = &self.due;
        due.reset.is_some()
            || due.listen
            || due.request
            || due.response
            || due.sync.is_some()
            || due.sync_ack.is_some()
            || due.close_req
            || due.close
            || self.state == State::Open && self.pmtu.has_probe_due()
    }

    /// Sends the most urgent packet that does not depend on the application.
    fn send_control(&mut self, now: Instant, app: &mut App<'_>, batch: &mut Batch) -> bool {
        let service = self.service;
        let ackno = self.ackno();
        if let Some(due) = self.due.reset.take() {
            let DueReset { reset, ack, seq } = due;
            let kind = Kind::Reset {
                ack,
                code: reset.code,
                data: reset.data,
            };
            self.resets.on_sent(reset.code, self.state);
            match seq {
                Some(seq) => self.send_outside_sequence(kind, seq, batch),
                None => _ = self.send_packet(now, kind, 0, app, batch),
            }
        } else if core::mem::take(&mut self.due.listen) {
            // 5596-2.2.1-1
            self.send_outside_sequence(Kind::Listen { service }, Seq::ZERO, batch);
        } else if core::mem::take(&mut self.due.request) {
            // 4340-8.1.1-2: the next number, the same Service Code, and never any data.
            self.send_packet(now, Kind::Request { service }, 0, app, batch);
        } else if core::mem::take(&mut self.due.response) {
            // 4340-5.3-1, 4340-8.1.3-3
            self.send_packet(
                now,
                Kind::Response {
                    ack: ackno,
                    service,
                },
                0,
                app,
                batch,
            );
        } else if let Some(ack) = self.due.sync_ack.take() {
            self.send_packet(now, Kind::SyncAck { ack }, 0, app, batch);
        } else if self.due.sync.is_some() && self.due.ack {
            // LINUX-21: a server in RESPOND that has seen no Ack yet may refuse a Sync.
            self.send_ack(now, app, batch);
        } else if let Some(ack) = self.due.sync.take() {
            self.await_answer(now);
            let sync = self.send_packet(now, Kind::Sync { ack }, 0, app, batch);
            self.note_challenge(sync);
        } else if core::mem::take(&mut self.due.close_req) {
            self.send_packet(now, Kind::CloseReq { ack: ackno }, 0, app, batch);
        } else if core::mem::take(&mut self.due.close) {
            self.send_packet(now, Kind::Close { ack: ackno }, 0, app, batch);
        } else if let Some(size) = self.pmtu.poll_probe() {
            // 4340-14.1-5: a Sync, padded with data that the peer ignores.
            let seq = self.send_packet(now, Kind::Sync { ack: ackno }, size, app, batch);
            self.pmtu.on_probe_sent(now, seq);
        }
        true
    }

    /// Sends a packet that has no place in our sequence.
    fn send_outside_sequence(&mut self, kind: Kind, seq: Seq, batch: &mut Batch) {
        let packet = self.packet(kind, seq, 0);
        self.put(&packet, Ecn::NotEct, batch);
        self.stats.on_sent(kind.packet_type(), 1, batch.last_len());
    }

    /// Sends a packet without application data; zeros follow its header, as many as make a packet of
    /// `size_min` bytes with all headers.
    fn send_packet(
        &mut self,
        now: Instant,
        kind: Kind,
        size_min: usize,
        app: &mut App<'_>,
        batch: &mut Batch,
    ) -> Seq {
        let mut room = self.option_room(kind.packet_type(), 0);
        if self.init_cookie.is_some() && matches!(kind, Kind::Response { .. }) {
            // 4340-14.1-7: nothing is known about the path yet, and the cookie has no second packet.
            room = room.min(COOKIE_RESPONSE_OPTIONS);
        }
        let mut options = batch.option_writer(room);
        self.write_options(now, kind, self.seqs.gss.next(), &mut options);
        let seq = self.finish_packet(now, kind, &options, size_min, app, batch);
        batch.keep_option_memory(options);
        seq
    }

    /// As [`send_packet`](Self::send_packet), with the options that were written for its number.
    fn finish_packet(
        &mut self,
        now: Instant,
        kind: Kind,
        options: &OptionWriter,
        size_min: usize,
        app: &mut App<'_>,
        batch: &mut Batch,
    ) -> Seq {
        let seq = self.seqs.next_to_send();
        let mut packet = self.packet(kind, seq, 0);
        packet.options = Options(options.as_slice());
        let headers = wire::header_len(kind.packet_type(), false, options.len());
        let padding = size_min.saturating_sub(self.flow.path.overhead() + headers);
        packet.payload = Payload::Zeros(padding);
        let record = self.in_flight.record(&SentPacket {
            now,
            seq,
            ccval: 0,
            has_vector: matches!(kind, Kind::Ack { .. }),
            data: None,
        });
        self.push_record(now, record, app);
        // 4340-12-1: acknowledgements too; what sets up and ends a connection goes without.
        let is_ect = matches!(
            kind,
            Kind::Ack { .. } | Kind::Sync { .. } | Kind::SyncAck { .. }
        );
        let ecn = if is_ect { self.ecn() } else { Ecn::NotEct };
        self.put(&packet, ecn, batch);
        self.after_send(now, kind.packet_type(), 1, batch);
        seq
    }

    /// The options of every packet that is not plain data.
    fn write_options(&mut self, now: Instant, kind: Kind, seq: Seq, w: &mut OptionWriter) {
        let packet_type = kind.packet_type();
        if packet_type != PacketType::Request {
            self.cookies.write(w);
        }
        // Nothing is written half: what does not fit now goes with the next packet.
        let _ = self.ndp.write(w);
        if let Some(cookie) = self.init_cookie.as_deref()
            && packet_type == PacketType::Response
        {
            // 4340-8.1.4-1
            let _ = w.push(&Opt::InitCookie(cookie));
        }
        match packet_type {
            PacketType::Request | PacketType::Response | PacketType::Ack | PacketType::DataAck => {
                self.write_timestamps(now, packet_type, w);
                self.features.write(now, packet_type, seq, kind.ack(), w);
            }
            // 6323-3.3-1
            PacketType::Sync | PacketType::SyncAck => self.tx.cc.on_send_sync(w),
            _ => {}
        }
        if self.is_app_slow && matches!(packet_type, PacketType::Ack | PacketType::DataAck) {
            let _ = w.push(&Opt::SlowReceiver);
        }
        if packet_type == PacketType::Request && seq != self.seqs.iss {
            // A server under attack answers only Requests that earn their Response.
            while w.len() < REPEATED_REQUEST_OPTIONS && w.push(&Opt::Padding).is_ok() {}
        }
        if packet_type == PacketType::Response {
            // 4340-8.1.3-5
            self.write_data_dropped(seq, w, w.remaining());
        }
        if matches!(packet_type, PacketType::Ack | PacketType::DataAck) {
            self.write_acknowledgement(now, packet_type, seq, w);
        }
    }

    /// Claims the next datagrams if they may leave now. Returns whether other packets may follow.
    fn send_data(&mut self, now: Instant, app: &mut App<'_>, batch: &mut Batch) -> bool {
        if !self.may_send_data(now) {
            if self.timers.is_set(Timer::Resync) && app.outbox.waiting(now) != Waiting::Nothing {
                self.tx.cc.on_blocked(now);
            }
            self.is_drained = true;
            return false;
        }
        let (offer, permitted) = match self.permitted(now, app, batch.is_full()) {
            ControlFlow::Continue(offer) => offer,
            ControlFlow::Break(is_refused) => return is_refused,
        };
        if batch.is_empty() {
            batch.permit(permitted as usize);
        }
        let cookies = self.cookies.len();
        if cookies > 0 && cookies + self.ndp.option_len() > self.data_option_room(&offer) {
            // 4340-8.1.4-2, 4340-8.1.5-1: such data wait until the cookies need not be echoed.
            return !self.due.ack && self.ask_for_cookies(now);
        }
        let plan = self.plan_data(now, &offer, permitted, batch);
        if plan.packets == 0 {
            return false;
        }
        if plan.ack_goes_alone {
            return self.send_ack(now, app, batch);
        }
        if batch.is_empty() {
            app.outbox.prepare(plan.joins);
        }
        self.send_run(now, offer, &plan, app, batch)
    }

    /// Returns the next datagram, and how many packets congestion control permits. Otherwise returns
    /// whether a datagram was refused.
    fn permitted(
        &mut self,
        now: Instant,
        app: &mut App<'_>,
        is_full: bool,
    ) -> ControlFlow<bool, (Offer, u32)> {
        let permit = self.tx.cc.permit(now, self.in_flight.pipe());
        if is_full && matches!(permit, Permit::Now { .. }) {
            // The application chooses the next datagram when it can leave, which is with the next batch.
            return ControlFlow::Break(false);
        }
        let waiting = match permit {
            Permit::Now { .. } => {
                let offer = app.outbox.peek(now).map(Waiting::Datagram);
                // An outbox that offers nothing in this turn may have more: that is no lack of data.
                offer.unwrap_or_else(|| app.outbox.waiting(now))
            }
            Permit::At(_) | Permit::OnFeedback => app.outbox.waiting(now),
        };
        match (waiting, permit) {
            // A full window is not for lack of data.
            (Waiting::Nothing, Permit::OnFeedback) => self.close_when_drained(now, app),
            (Waiting::Nothing, _) => self.on_lack_of_data(now, app),
            (Waiting::Datagram(offer), _) if offer.len > self.pmtu.mps() => {
                // 4340-14-2, 4340-14.2-2
                app.outbox.refuse(now, offer.slot, Fate::TooBig);
                return ControlFlow::Break(true);
            }
            (Waiting::Datagram(offer), Permit::Now { packets }) => {
                let most = match &mut self.departure {
                    None => u32::MAX,
                    Some(departure) => {
                        match departure.permit(&self.config.rate_caps, now, offer.len) {
                            Ok(most) => most,
                            Err(at) => return self.wait_for_departure(now, at),
                        }
                    }
                };
                let is_important = app.outbox.is_important();
                match self.tx.cc.admits(now, offer.len, is_important) {
                    Admission::Send => {
                        return ControlFlow::Continue((offer, packets.min(most)));
                    }
                    Admission::Drop => {
                        app.outbox.refuse(now, offer.slot, Fate::Limited);
                        return ControlFlow::Break(true);
                    }
                    Admission::At(at) => self.timers.set(Timer::Pace, at.max(now + MOMENT)),
                }
            }
            (_, Permit::At(at)) => self.timers.set(Timer::Pace, at.max(now + MOMENT)),
            (_, Permit::OnFeedback) | (Waiting::OnRequest, _) => {}
        }
        self.is_drained = true;
        ControlFlow::Break(false)
    }

    /// A cap keeps data until `at`. To congestion control, that is as if the application had none.
    fn wait_for_departure<T>(&mut self, now: Instant, at: Instant) -> ControlFlow<bool, T> {
        self.in_flight.on_app_limited();
        self.timers.set(Timer::Pace, at.max(now + MOMENT));
        self.is_drained = true;
        ControlFlow::Break(false)
    }

    /// Data may leave, and there are none.
    fn on_lack_of_data(&mut self, now: Instant, app: &mut App<'_>) {
        self.in_flight.on_app_limited();
        self.close_when_drained(now, app);
        self.is_drained = true;
    }

    /// Whether data may leave, congestion control apart.
    pub(super) fn may_send_data(&mut self, now: Instant) -> bool {
        if !matches!(self.state, State::PartOpen | State::Open) || !self.is_peer_listening {
            return false;
        }
        if let Some(until) = self.data_hold {
            if now < until {
                self.timers.set(Timer::Pace, until);
                return false;
            }
            self.data_hold = None;
        }
        // 4341-4-1
        self.has_needs_met && !self.waits_for_window(now)
    }

    /// The options of a data packet but those that [`data_option_room`](Self::data_option_room)
    /// leaves room for.
    fn write_data_options(
        &mut self,
        now: Instant,
        kind: Kind,
        seq: Seq,
        offer: &Offer,
        batch: &mut Batch,
    ) -> OptionWriter {
        let room = self.option_room(kind.packet_type(), offer.len);
        let reserved = self.reserved_option_len();
        let mut options = batch.option_writer(room.saturating_sub(reserved));
        if kind == Kind::Data {
            let _ = self.ndp.write(&mut options);
        } else {
            self.write_options(now, kind, seq, &mut options);
        }
        options.add_room(reserved);
        options
    }

    /// A packet of this connection with the defaults of its type.
    fn packet(&self, kind: Kind, seq: Seq, payload_len: usize) -> Packet<'static> {
        let is_data = matches!(kind, Kind::Data | Kind::DataAck { .. });
        Packet {
            source_port: self.flow.local_port,
            dest_port: self.flow.remote_port,
            ccval: 0,
            cscov: if is_data {
                self.coverage_to_send(payload_len)
            } else {
                0
            },
            is_short: is_data && self.sends_short()
                || matches!(kind, Kind::Ack { .. }) && self.sends_short(),
            seq,
            kind,
            options: Options::EMPTY,
            payload: Payload::EMPTY,
        }
    }

    /// 4340-7.6.1-1, 4340-7.6.2-1, 4340-5.1-6: a connection with a large window sends long numbers.
    pub(super) fn sends_short(&self) -> bool {
        const WINDOW_MAX: u64 = 1 << 16;
        self.config.short_seqnos
            && !self.is_short_refused
            && self.features.value(Side::Local, Feature::AllowShortSeqnos) == 1
            && self.seqs.local_window <= WINDOW_MAX
    }

    /// 4340-12-1, 4340-12.1-2, 8311-6-1
    pub(super) fn ecn(&self) -> Ecn {
        if self.config.ecn && self.features.value(Side::Remote, Feature::EcnIncapable) == 0 {
            Ecn::Ect0
        } else {
            Ecn::NotEct
        }
    }

    /// Bytes of options that fit a packet of this type with `payload_len` bytes of data (4340-14-3).
    fn option_room(&self, packet_type: PacketType, payload_len: usize) -> usize {
        let fixed = self.flow.path.overhead() + packet_type.header_len(false) + payload_len;
        (self.pmtu.pmtu().saturating_sub(fixed) & !3).min(OPTIONS_MAX - 16)
    }

    /// Bytes of options that every data packet has, whatever else it has: the MPS leaves room for them.
    fn reserved_option_len(&self) -> usize {
        const DATA_CHECKSUM_LEN: usize = 6;
        let checksum = if self.config.data_checksum {
            DATA_CHECKSUM_LEN
        } else {
            0
        };
        self.tx.cc.data_options_len() + checksum
    }

    /// Bytes of other options that fit beside the data of a `DataAck`.
    fn data_option_room(&self, offer: &Offer) -> usize {
        let room = self.option_room(PacketType::DataAck, offer.len);
        room.saturating_sub(self.reserved_option_len())
    }

    fn put(&self, packet: &Packet<'_>, ecn: Ecn, batch: &mut Batch) {
        let rule = self.flow.path.checksum_rule();
        let zeros = packet.payload.len();
        // 4340-14.2-1
        let may_fragment = matches!(
            packet.packet_type(),
            PacketType::Request | PacketType::Response | PacketType::Reset
        );
        batch.push_built(&self.flow.path, ecn, may_fragment, zeros, |buf| {
            let built = wire::build(buf, packet, rule);
            debug_assert!(built.is_ok(), "{built:?}");
            built.is_ok()
        });
    }

    /// Notes a packet that departs now as in flight.
    #[inline]
    pub(super) fn push_record(&mut self, now: Instant, record: Record, app: &mut App<'_>) {
        let outbox = &mut *app.outbox;
        let tell = &mut |slot, fate| outbox.on_fate(now, slot, fate);
        self.in_flight.push(record, tell);
    }

    /// Notes that packets left, each as long as the last of the batch.
    fn after_send(&mut self, now: Instant, packet_type: PacketType, packets: u32, batch: &Batch) {
        self.stats.on_sent(packet_type, packets, batch.last_len());
        self.ndp.on_sent(packet_type.is_data());
        self.last_sent = now;
        if matches!(packet_type, PacketType::Data | PacketType::DataAck) {
            self.await_answer(now);
        }
        self.watch_sequence_window(now);
        if packet_type != PacketType::Data {
            // 4340-6.6.1-2: a Confirm that has left is in force, because the peer may rely on it.
            self.take_feature_changes(now);
        }
    }
}
