//! One socket: its states, its timers, and the packets that it sends.

use super::LinuxConfig;
use super::ack_vector::AckVector;
use super::features::{ACK_RATIO, Features, SEND_ACK_VECTOR, SEND_NDP_COUNT, SEQUENCE_WINDOW};
use super::{ccid2, ccid3};
use crate::report::Report;
use crate::source::{App, Closing, Message, RunningSource};
use core::cmp::Ordering;
use core::time::Duration;
use dccp_proto::path::Flow;
use dccp_proto::wire::options::OPTIONS_MAX;
use dccp_proto::wire::{
    self, CcidOpt, Elapsed, Kind, Opt, OptionWriter, Options, Packet, PacketType, Payload,
    ResetCode, ServiceCode,
};
use dccp_proto::{Instant, Seq};
use std::collections::VecDeque;

/// First retransmission of Request, Close and CloseReq, and the longest back-off.
const RETRY_FIRST: Duration = Duration::from_secs(3);
const RETRY_MAX: Duration = Duration::from_secs(64);
/// `retries2`: how often Close and CloseReq are repeated.
const CLOSE_RETRIES: u32 = 15;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Requesting,
    Respond,
    PartOpen,
    Open,
    ActiveCloseReq,
    Closing,
    PassiveClose,
    PassiveCloseReq,
    /// Closed, or in TIMEWAIT: packets for it are answered like those for no socket at all.
    Over,
}

/// The congestion control of data that this end sends.
#[derive(Clone, Debug)]
pub(super) enum Tx {
    Ccid2(ccid2::Sender),
    Ccid3(ccid3::Sender),
}

/// The congestion control of data that arrives.
#[derive(Clone, Debug)]
pub(super) enum Rx {
    Ccid2(ccid2::Receiver),
    Ccid3(ccid3::Receiver),
}

#[derive(Debug)]
pub(super) struct Socket {
    pub(super) flow: Flow,
    pub(super) is_server: bool,
    pub(super) state: State,
    pub(super) config: LinuxConfig,
    service: ServiceCode,
    pub(super) iss: Seq,
    pub(super) isr: Seq,
    pub(super) osr: Seq,
    pub(super) gss: Seq,
    pub(super) gsr: Seq,
    pub(super) gar: Seq,
    pub(super) has_sent: bool,
    /// Sequence Windows of this end and of the peer.
    pub(super) local_window: u64,
    pub(super) remote_window: u64,
    pub(super) features: Features,
    pub(super) ack_vector: Option<AckVector>,
    pub(super) halves: Option<(Tx, Rx)>,
    /// The peer's Timestamp, to be echoed once.
    pub(super) timestamp: Option<(u32, Instant)>,
    pub(super) handshake_rtt: Option<Duration>,
    /// Receive Rate and Loss Event Rate of the next Ack.
    feedback: Option<(u32, u32)>,
    sends_ndp: bool,
    ndp: u64,
    pub(super) last_sync: Option<Instant>,
    /// When to repeat a Request, Close or CloseReq, after how long again, and how often still.
    retry: Option<(Instant, Duration, u32)>,
    close_at: Option<Instant>,
    pub(super) app: App,
    source: Option<RunningSource>,
    replies: VecDeque<Message>,
    queue: VecDeque<Message>,
    output: Vec<(Vec<u8>, usize)>,
    pub(super) report: Report,
}

impl Socket {
    pub(super) fn new(
        flow: Flow,
        is_server: bool,
        iss: Seq,
        service: ServiceCode,
        app: App,
        config: LinuxConfig,
    ) -> Self {
        Self {
            flow,
            is_server,
            state: if is_server {
                State::Respond
            } else {
                State::Requesting
            },
            features: Features::new(is_server, &config),
            local_window: config.seq_window,
            remote_window: 100,
            config,
            service,
            iss,
            isr: Seq::ZERO,
            osr: Seq::ZERO,
            gss: iss,
            gsr: Seq::ZERO,
            gar: iss,
            has_sent: false,
            ack_vector: None,
            halves: None,
            timestamp: None,
            handshake_rtt: None,
            feedback: None,
            sends_ndp: false,
            ndp: 0,
            last_sync: None,
            retry: None,
            close_at: None,
            app,
            source: None,
            replies: VecDeque::new(),
            queue: VecDeque::new(),
            output: Vec::new(),
            report: Report::default(),
        }
    }

    pub(super) fn flow(&self) -> &Flow {
        &self.flow
    }

    pub(super) fn report(&self) -> &Report {
        &self.report
    }

    pub(super) fn is_over(&self) -> bool {
        self.state == State::Over
    }

    pub(super) fn is_requesting(&self) -> bool {
        self.state == State::Requesting
    }

    pub(super) fn take_output(&mut self) -> Vec<(Vec<u8>, usize)> {
        core::mem::take(&mut self.output)
    }

    /// Promises: no more in the send queue than `tx_qlen`, windows as the RFC allows them.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.queue.len() > self.config.tx_qlen {
            return Err(format!("{} packets in the send queue", self.queue.len()));
        }
        if self.local_window < 32 {
            return Err(format!("Sequence Window {}", self.local_window));
        }
        Ok(())
    }

    /// The lowest and the highest acceptable sequence number (RFC 4340 §7.5.1).
    pub(super) fn sequence_window(&self) -> (Seq, Seq) {
        let low = self.gsr.next().minus(self.remote_window / 4);
        let high = self.gsr.plus(self.remote_window - self.remote_window / 4);
        (low.max(self.isr), high)
    }

    /// The same for acknowledgement numbers.
    pub(super) fn ack_window(&self) -> (Seq, Seq) {
        let low = self.gss.next().minus(self.local_window);
        (low.max(self.iss), self.gss)
    }

    pub(super) fn connect(&mut self, now: Instant) {
        self.transmit(now, PacketType::Request, None, &Payload::EMPTY);
        self.retry_until(now, self.config.request_retries);
    }

    /// Repeats the packet that was just sent, 3 s later and then ever less often.
    fn retry_until(&mut self, now: Instant, times: u32) {
        self.retry = Some((now + RETRY_FIRST, RETRY_FIRST * 2, times));
    }

    /// The handshake is done, as far as this end is concerned.
    pub(super) fn open(&mut self, now: Instant, state: State) {
        self.state = state;
        self.retry = None;
        self.report.opened = Some(now);
        self.source = Some(RunningSource::new(&self.app, now));
        self.sends_ndp = self.features.value(SEND_NDP_COUNT, true) == 1;
        if self.features.value(SEND_ACK_VECTOR, true) == 1 {
            self.ack_vector = Some(AckVector::default());
        }
        let mss = self.max_packet_size();
        let tx = if self.features.ccid(true) == 3 {
            Tx::Ccid3(ccid3::Sender::new(now, self.handshake_rtt))
        } else {
            Tx::Ccid2(ccid2::Sender::new(mss))
        };
        let rx = if self.features.ccid(false) == 3 {
            Rx::Ccid3(ccid3::Receiver::new(self.handshake_rtt))
        } else {
            Rx::Ccid2(ccid2::Receiver::default())
        };
        self.halves = Some((tx, rx));
    }

    /// The kernel leaves room for options: 1440 bytes over IPv4 on an MTU of 1500.
    fn max_packet_size(&self) -> usize {
        self.config.mtu - self.flow.path.overhead() - 40
    }

    /// The application closes.
    pub(super) fn close(&mut self, now: Instant) {
        self.close_at = None;
        // The rest of the send queue is dropped.
        self.report.unsent += self.queue.len() as u64;
        self.queue.clear();
        let none = &Payload::EMPTY;
        match self.state {
            State::PassiveClose => self.reset(now, ResetCode::CLOSED, [0; 3]),
            State::PassiveCloseReq => {
                self.transmit(now, PacketType::Close, None, none);
                self.state = State::Closing;
                self.retry_until(now, CLOSE_RETRIES);
            }
            State::PartOpen | State::Open => {
                let (packet_type, state) = if self.is_server {
                    (PacketType::CloseReq, State::ActiveCloseReq)
                } else {
                    (PacketType::Close, State::Closing)
                };
                self.transmit(now, packet_type, None, none);
                self.state = state;
                self.retry_until(now, CLOSE_RETRIES);
            }
            State::Requesting | State::Respond => self.give_up(),
            State::ActiveCloseReq | State::Closing | State::Over => {}
        }
    }

    /// The application closes with `SO_LINGER` 0.
    pub(super) fn abort(&mut self, now: Instant) {
        match self.state {
            State::Requesting | State::Respond => self.give_up(),
            State::Over => {}
            _ => self.reset(now, ResetCode::ABORTED, [0; 3]),
        }
    }

    pub(super) fn give_up(&mut self) {
        self.state = State::Over;
        self.retry = None;
        self.report.is_over = true;
    }

    /// Sends a Reset and forgets the connection.
    pub(super) fn reset(&mut self, now: Instant, code: ResetCode, data: [u8; 3]) {
        let ack = self.gsr;
        self.send(now, Kind::Reset { ack, code, data }, &Payload::EMPTY);
        self.report.reset.get_or_insert(code);
        self.give_up();
    }

    /// The peer has closed: the application will too, if it is one that does.
    pub(super) fn on_peer_closed(&mut self, now: Instant, state: State) {
        self.state = state;
        if self.app.closing != Closing::Never {
            self.close_at = Some(now + self.config.close_after);
        }
    }

    /// When [`on_timers`](Self::on_timers) is due.
    pub(super) fn next_at(&self) -> Option<Instant> {
        let retry = self.retry.map(|(at, ..)| at);
        let (mut source, mut paced) = (None, None);
        if self.can_send() {
            let has_room = self.queue.len() < self.config.tx_qlen && self.replies.is_empty();
            source = self
                .source
                .as_ref()
                .filter(|_| has_room)
                .and_then(RunningSource::next_at);
            if let Some((Tx::Ccid3(tx), _)) = &self.halves {
                paced = (!self.queue.is_empty()).then(|| tx.next_at());
            }
        }
        let control = self.halves.as_ref().and_then(|(tx, _)| match tx {
            Tx::Ccid2(tx) => tx.poll_timeout(),
            Tx::Ccid3(tx) => tx.poll_timeout(),
        });
        [
            retry,
            self.close_at,
            source,
            paced,
            control.filter(|_| self.can_send()),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    pub(super) fn on_timers(&mut self, now: Instant) {
        if self.close_at.is_some_and(|at| at <= now) {
            self.close(now);
        }
        if let Some((at, again, times)) = self.retry
            && at <= now
        {
            if times == 0 {
                return self.give_up();
            }
            self.retry = Some((now + again, (again * 2).min(RETRY_MAX), times - 1));
            let packet_type = match self.state {
                State::Requesting => PacketType::Request,
                State::ActiveCloseReq => PacketType::CloseReq,
                _ => PacketType::Close,
            };
            self.transmit(now, packet_type, None, &Payload::EMPTY);
        }
        match &mut self.halves {
            Some((Tx::Ccid2(tx), _)) if tx.poll_timeout().is_some_and(|at| at <= now) => {
                tx.on_timeout();
                // LINUX-11
                self.features.change_number(ACK_RATIO, 1);
            }
            Some((Tx::Ccid3(tx), _)) if tx.poll_timeout().is_some_and(|at| at <= now) => {
                tx.on_timeout(now);
            }
            _ => {}
        }
    }

    fn can_send(&self) -> bool {
        matches!(self.state, State::PartOpen | State::Open)
    }

    /// Lets the application write and the congestion control send.
    pub(super) fn run(&mut self, now: Instant) {
        while self.can_send() {
            while self.queue.len() < self.config.tx_qlen
                && let Some(message) = self.next_message(now)
            {
                self.queue.push_back(message);
            }
            let may_send = match &self.halves {
                Some((Tx::Ccid2(tx), _)) => tx.may_send(),
                Some((Tx::Ccid3(tx), _)) => tx.next_at() <= now,
                None => false,
            };
            if !may_send {
                break;
            }
            let Some(message) = self.queue.pop_front() else {
                break;
            };
            self.send_data(now, &message);
        }
        let is_done = self.source.as_ref().is_some_and(|s| s.next_at().is_none());
        // The application closes as soon as the last datagram is in the send queue.
        let is_idle = is_done && self.replies.is_empty() && self.app.closing == Closing::WhenSent;
        if is_idle && self.can_send() {
            self.close(now);
        }
    }

    fn next_message(&mut self, now: Instant) -> Option<Message> {
        let reply = self.replies.pop_front();
        let mps = self.max_packet_size();
        reply.or_else(|| Some(self.source.as_mut()?.poll(now, mps)?.message))
    }

    fn send_data(&mut self, now: Instant, message: &Message) {
        self.report.sent += 1;
        self.report.sent_bytes += message.len() as u64;
        let has_acks = self.ack_vector.as_ref().is_some_and(|v| !v.is_empty());
        let packet_type = if self.state == State::PartOpen || has_acks {
            PacketType::DataAck
        } else {
            PacketType::Data
        };
        self.transmit(now, packet_type, None, &message.payload());
    }

    /// Takes data for the application.
    pub(super) fn deliver(&mut self, now: Instant, payload: Payload<'_>) {
        self.report.on_message(now, payload, &self.app);
        self.replies.extend(self.app.replies(payload));
        if let Some(source) = &mut self.source {
            source.on_received(now, payload.len());
        }
    }

    /// Sends an Ack with CCID 3's feedback.
    pub(super) fn send_feedback(&mut self, now: Instant, ccval: u8) {
        if let Some((_, Rx::Ccid3(rx))) = &mut self.halves {
            self.feedback = Some(rx.feedback(now, ccval));
        }
        self.transmit(now, PacketType::Ack, None, &Payload::EMPTY);
    }

    /// Sends a packet. `ack` is its acknowledgement number if that is not GSR.
    pub(super) fn transmit(
        &mut self,
        now: Instant,
        packet_type: PacketType,
        ack: Option<Seq>,
        payload: &Payload<'_>,
    ) {
        let ack = ack.unwrap_or(self.gsr);
        let kind = Kind::new(packet_type, ack, self.service, ResetCode::UNSPECIFIED);
        self.send(now, kind, payload);
    }

    fn send(&mut self, now: Instant, kind: Kind, payload: &Payload<'_>) {
        if core::mem::replace(&mut self.has_sent, true) {
            self.gss = self.gss.next();
        }
        let seq = self.gss;
        let packet_type = kind.packet_type();
        let is_app_data = matches!(packet_type, PacketType::Data | PacketType::DataAck);
        let ccval = match &mut self.halves {
            Some((Tx::Ccid3(tx), _)) if is_app_data => tx.on_send(now, seq, payload.len()),
            Some((Tx::Ccid2(tx), _)) if is_app_data => {
                tx.on_send(now, seq);
                0
            }
            _ => 0,
        };
        let options = self.options(now, packet_type);
        let packet = Packet {
            source_port: self.flow.local_port,
            dest_port: self.flow.remote_port,
            ccval,
            cscov: if is_app_data { self.cscov(payload) } else { 0 },
            is_short: false,
            seq,
            kind,
            options: Options(&options),
            payload: *payload,
        };
        let mut bytes = Vec::new();
        let rule = self.flow.path.checksum_rule();
        if wire::build(&mut bytes, &packet, rule).is_ok() {
            let zeros = match payload {
                Payload::Zeros(n) => *n,
                Payload::Bytes(_) => 0,
            };
            self.output.push((bytes, zeros));
        }
        self.ndp = if packet_type.is_data() {
            0
        } else {
            self.ndp + 1
        };
    }

    fn cscov(&self, payload: &Payload<'_>) -> u8 {
        let wanted = self.config.cscov.unwrap_or(0);
        if usize::from(wanted).saturating_sub(1) * 4 <= payload.len() {
            wanted
        } else {
            0
        }
    }

    /// The option area in the kernel's order: padding, timestamps, CCID 3, Ack Vector, features, NDP
    /// Count.
    fn options(&mut self, now: Instant, packet_type: PacketType) -> Vec<u8> {
        const FITS: &str = "options far below the limit";
        let mut writer = OptionWriter::new(OPTIONS_MAX);
        if packet_type != PacketType::Data
            && let Some((echo, at)) = self.timestamp.take()
        {
            let elapsed = Elapsed::smallest(now - at);
            writer
                .push(&Opt::TimestampEcho { echo, elapsed })
                .expect(FITS);
        }
        if matches!(packet_type, PacketType::Request | PacketType::Response) {
            writer.push(&Opt::Timestamp(now.timestamp())).expect(FITS);
        }
        if packet_type == PacketType::Ack
            && let Some((receive_rate, loss)) = self.feedback.take()
        {
            CcidOpt::ReceiveRate(receive_rate)
                .push(&mut writer)
                .expect(FITS);
            CcidOpt::LossEventRate(loss).push(&mut writer).expect(FITS);
        }
        let mut area = writer.as_slice().to_vec();
        if packet_type != PacketType::Data {
            if let Some(vector) = self.ack_vector.as_mut().filter(|v| !v.is_empty()) {
                vector.write(self.gss, &mut area);
            }
            self.features.write(&mut area);
        }
        if self.sends_ndp && self.ndp > 0 {
            let mut writer = OptionWriter::new(8);
            let width = self.ndp.ilog2() / 8 + 1;
            let (count, width) = (self.ndp, u8::try_from(width).unwrap_or(6));
            writer.push(&Opt::NdpCount { count, width }).expect(FITS);
            area.extend_from_slice(writer.as_slice());
        }
        let padding = area.len().next_multiple_of(4) - area.len();
        area.splice(0..0, core::iter::repeat_n(0, padding));
        area
    }

    /// The window has grown or shrunk: announces a Sequence Window of about five windows, and an Ack
    /// Ratio that leaves as much room for the acknowledgements in the peer's (LINUX-11).
    pub(super) fn adapt_numbers(&mut self, cwnd: u32) {
        let room = |packets: u64, window: u64| match 5 * packets {
            wanted if wanted >= window => Ordering::Less,
            wanted if wanted < window / 2 => Ordering::Greater,
            _ => Ordering::Equal,
        };
        let ratio = self.features.value(ACK_RATIO, true).max(1);
        let most = u64::from(cwnd.div_ceil(2));
        let wanted = match room(u64::from(cwnd) / ratio, self.remote_window) {
            Ordering::Less => ratio * 2,
            Ordering::Equal => ratio,
            Ordering::Greater => (ratio / 2).max(1),
        };
        if wanted.min(most) != ratio {
            self.features.change_number(ACK_RATIO, wanted.min(most));
        }
        let window = self.local_window;
        match room(cwnd.into(), window) {
            Ordering::Less => self.features.change_number(SEQUENCE_WINDOW, window * 2),
            Ordering::Greater if window > 32 => {
                self.features
                    .change_number(SEQUENCE_WINDOW, (window / 2).max(32));
            }
            _ => {}
        }
    }
}
