//! How a socket handles a packet.

use super::features::{ACK_RATIO, Failure, MIN_CSCOV, SEQUENCE_WINDOW};
use super::socket::{Rx, Socket, State, Tx};
use core::time::Duration;
use dccp_proto::Instant;
use dccp_proto::wire::{Kind, Opt, Packet, PacketType, Payload, ResetCode};

/// `sync_ratelimit`: no second Sync within this time.
const SYNC_LIMIT: Duration = Duration::from_millis(125);

impl Socket {
    /// Takes a packet of this flow. `Err`: it is answered by a Reset with this code that is not part
    /// of the connection.
    pub(super) fn receive(&mut self, now: Instant, p: &Packet<'_>) -> Result<(), Failure> {
        // LINUX-14: too little coverage, and the packet is as if it had never come.
        let least = self.config.cscov.unwrap_or(0);
        let is_app_data = matches!(p.packet_type(), PacketType::Data | PacketType::DataAck);
        if is_app_data
            && p.cscov != 0
            && u64::from(p.cscov) < u64::from(least).max(self.agreed_cscov())
        {
            return Ok(());
        }
        match self.state {
            State::Requesting => self.in_requesting(now, p),
            State::Respond => self.in_respond(now, p),
            State::Over => Err(Failure::of_code(ResetCode::NO_CONNECTION)),
            _ => {
                self.when_established(now, p);
                Ok(())
            }
        }
    }

    fn agreed_cscov(&self) -> u64 {
        self.features.value(MIN_CSCOV, true)
    }

    /// The handshake's options; a failure ends the connection with a Reset.
    fn take_handshake_options(&mut self, now: Instant, p: &Packet<'_>) -> Result<(), Failure> {
        let mut is_mandatory = false;
        for option in p.options {
            match option {
                Opt::Mandatory => {
                    is_mandatory = true;
                    continue;
                }
                Opt::Timestamp(value) => self.timestamp = Some((value, now)),
                Opt::TimestampEcho { echo, elapsed } => {
                    let units = now.timestamp().wrapping_sub(echo);
                    let units = units.saturating_sub(elapsed.units());
                    self.handshake_rtt = Some(Duration::from_micros(10 * u64::from(units)));
                }
                // LINUX-3: a bad length is an error, where it should be ignored.
                Opt::Malformed { kind, data } => return Err(Failure::option_error(kind, data)),
                // LINUX-2: an unknown option is ignored even after Mandatory.
                _ => self.features.on_option(&option, is_mandatory)?,
            }
            is_mandatory = false;
        }
        self.remote_window = self.features.value(SEQUENCE_WINDOW, false);
        Ok(())
    }

    fn in_requesting(&mut self, now: Instant, p: &Packet<'_>) -> Result<(), Failure> {
        let (low, high) = self.ack_window();
        let is_answer = p.ack().is_some_and(|ack| ack.is_within(low, high));
        match p.kind {
            Kind::Reset { code, .. } if is_answer => {
                self.report.reset = Some(code);
                self.give_up();
            }
            Kind::Reset { .. } => {}
            Kind::Response { ack, .. } if is_answer => {
                (self.isr, self.gsr, self.gar) = (p.seq, p.seq, ack);
                if let Err(Failure { code, data }) = self.take_handshake_options(now, p) {
                    self.reset(now, ResetCode(code), data);
                    return Ok(());
                }
                self.open(now, State::PartOpen);
                self.transmit(now, PacketType::Ack, None, &Payload::EMPTY);
            }
            _ => return Err(Failure::of_code(ResetCode::PACKET_ERROR)),
        }
        Ok(())
    }

    fn in_respond(&mut self, now: Instant, p: &Packet<'_>) -> Result<(), Failure> {
        match p.kind {
            Kind::Request { .. } if !self.has_sent => {
                (self.isr, self.gsr) = (p.seq, p.seq);
                if let Err(failure) = self.take_handshake_options(now, p) {
                    // No Response has left: the Reset has no number of the connection.
                    self.give_up();
                    return Err(failure);
                }
                self.features.resolve_dependencies();
                self.transmit(now, PacketType::Response, None, &Payload::EMPTY);
                self.features.assume_agreement();
            }
            Kind::Request { .. } => {
                self.gsr = self.gsr.max(p.seq);
                self.transmit(now, PacketType::Response, None, &Payload::EMPTY);
            }
            Kind::Ack { ack } | Kind::DataAck { ack } if ack.is_within(self.iss, self.gss) => {
                if let Err(Failure { code, data }) = self.take_handshake_options(now, p) {
                    self.reset(now, ResetCode(code), data);
                    return Ok(());
                }
                if !self.features.are_confirmed() {
                    // LINUX-22
                    return Err(Failure::of_code(ResetCode::TOO_BUSY));
                }
                (self.gsr, self.osr, self.gar) = (p.seq, p.seq, ack);
                self.open(now, State::Open);
                self.features.settle();
                self.take_data(now, p);
            }
            Kind::Reset { code, .. } => {
                self.report.reset = Some(code);
                self.give_up();
            }
            // LINUX-21
            _ => return Err(Failure::of_code(ResetCode::TOO_BUSY)),
        }
        Ok(())
    }

    fn when_established(&mut self, now: Instant, p: &Packet<'_>) {
        if !self.is_in_window(now, p) {
            return;
        }
        let packet_type = p.packet_type();
        let is_stray_request = match packet_type {
            PacketType::Request => !self.is_server || p.seq.distance(self.osr) >= 0,
            PacketType::Response => self.is_server || self.state != State::PartOpen,
            PacketType::CloseReq => self.is_server,
            _ => false,
        };
        // LINUX-15: an old Request gets a Sync as well.
        if is_stray_request || packet_type == PacketType::Request {
            self.sync(now, PacketType::Sync, p);
            return;
        }
        if packet_type != PacketType::Data && self.take_open_options(now, p).is_break() {
            return;
        }
        if self.state == State::PartOpen
            && !matches!(
                packet_type,
                PacketType::Response | PacketType::Reset | PacketType::Sync
            )
        {
            self.osr = p.seq;
            self.state = State::Open;
            self.features.settle();
        }
        match p.kind {
            Kind::Response { .. } => self.transmit(now, PacketType::Ack, None, &Payload::EMPTY),
            Kind::Reset { code, .. } => {
                self.report.reset.get_or_insert(code);
                self.give_up();
            }
            Kind::CloseReq { .. } => self.on_close_request(now),
            Kind::Close { .. } => self.on_close(now),
            Kind::Sync { .. } => self.sync(now, PacketType::SyncAck, p),
            _ => self.take_data(now, p),
        }
    }

    /// Steps 5 and 6 of RFC 4340 §8.5.
    fn is_in_window(&mut self, now: Instant, p: &Packet<'_>) -> bool {
        let ((mut swl, swh), (mut awl, awh)) = (self.sequence_window(), self.ack_window());
        let packet_type = p.packet_type();
        let is_sync = matches!(packet_type, PacketType::Sync | PacketType::SyncAck);
        if is_sync {
            let is_valid = p.ack().is_some_and(|ack| ack.is_within(awl, awh));
            if !is_valid || p.seq.is_before(swl) {
                return false;
            }
            self.gsr = self.gsr.max(p.seq);
            return true;
        }
        if matches!(
            packet_type,
            PacketType::Close | PacketType::CloseReq | PacketType::Reset
        ) {
            (swl, awl) = (self.gsr.next(), self.gar);
        }
        let is_acceptable = |ack: dccp_proto::Seq| ack.is_within(awl, awh);
        if p.seq.is_within(swl, swh) && p.ack().is_none_or(is_acceptable) {
            self.gsr = self.gsr.max(p.seq);
            self.gar = p.ack().map_or(self.gar, |ack| self.gar.max(ack));
            return true;
        }
        self.sync(now, PacketType::Sync, p);
        false
    }

    /// Sends a Sync, at a limited rate, or a SyncAck.
    fn sync(&mut self, now: Instant, packet_type: PacketType, p: &Packet<'_>) {
        if packet_type == PacketType::Sync {
            if self.last_sync.is_some_and(|last| now < last + SYNC_LIMIT) {
                return;
            }
            self.last_sync = Some(now);
        }
        let ack = if p.packet_type() == PacketType::Reset {
            self.gsr
        } else {
            p.seq
        };
        self.transmit(now, packet_type, Some(ack), &Payload::EMPTY);
    }

    /// Options of a packet that is not of the handshake. `Break`: the connection is over.
    fn take_open_options(&mut self, now: Instant, p: &Packet<'_>) -> core::ops::ControlFlow<()> {
        for option in p.options {
            match option {
                Opt::Timestamp(value) => self.timestamp = Some((value, now)),
                // LINUX-3
                Opt::Malformed { kind, data } => {
                    let Failure { code, data } = Failure::option_error(kind, data);
                    self.reset(now, ResetCode(code), data);
                    return core::ops::ControlFlow::Break(());
                }
                _ => match self.features.on_open_option(&option) {
                    Some((SEQUENCE_WINDOW, true, value)) => self.local_window = value,
                    Some((SEQUENCE_WINDOW, false, value)) => self.remote_window = value,
                    _ => {}
                },
            }
        }
        if let Some((tx, _)) = &mut self.halves {
            let grown = match tx {
                Tx::Ccid2(tx) => tx.on_packet(now, p).then(|| tx.cwnd()),
                Tx::Ccid3(tx) => {
                    tx.on_packet(now, p);
                    None
                }
            };
            if let Some(cwnd) = grown {
                self.adapt_numbers(cwnd);
            }
        }
        if let (Some(vector), Some(ack)) = (&mut self.ack_vector, p.ack()) {
            vector.on_acked(ack);
        }
        core::ops::ControlFlow::Continue(())
    }

    /// Gives a packet that may have data to the application and the receiving congestion control.
    fn take_data(&mut self, now: Instant, p: &Packet<'_>) {
        if let Some(vector) = &mut self.ack_vector {
            vector.on_packet(p.seq);
        }
        let is_open = matches!(self.state, State::Open | State::PartOpen);
        if !is_open || !matches!(p.kind, Kind::Data | Kind::DataAck { .. }) {
            return;
        }
        self.deliver(now, p.payload);
        let ndp = p.options.iter().find_map(|o| match o {
            Opt::NdpCount { count, .. } => Some(count),
            _ => None,
        });
        let ack_ratio = self.features.value(ACK_RATIO, false);
        let (is_ack_due, has_feedback) = match &mut self.halves {
            Some((_, Rx::Ccid2(rx))) => (rx.on_data(ack_ratio), false),
            Some((_, Rx::Ccid3(rx))) => (rx.on_data(now, p, ndp.unwrap_or(0)), true),
            None => (false, false),
        };
        if is_ack_due && has_feedback {
            self.send_feedback(now, p.ccval);
        } else if is_ack_due {
            self.transmit(now, PacketType::Ack, None, &Payload::EMPTY);
        }
    }

    fn on_close_request(&mut self, now: Instant) {
        match self.state {
            // LINUX-7: answered when the application closes.
            State::PartOpen | State::Open => self.on_peer_closed(now, State::PassiveCloseReq),
            State::Closing => self.transmit(now, PacketType::Close, None, &Payload::EMPTY),
            _ => {}
        }
    }

    fn on_close(&mut self, now: Instant) {
        match self.state {
            State::PartOpen | State::Open => self.on_peer_closed(now, State::PassiveClose),
            // LINUX-8: of two ends that close at once, the client answers.
            State::Closing if self.is_server => {}
            // Said before: the application has not closed yet.
            State::PassiveClose => {}
            _ => self.reset(now, ResetCode::CLOSED, [0; 3]),
        }
    }
}
