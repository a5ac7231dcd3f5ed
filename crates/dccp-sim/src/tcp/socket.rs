//! One end of a connection: handshake, the two halves, the application, and what leaves when.

use super::config::Config;
use super::receiver::Receiver;
use super::sender::{Ack, Next, Sender};
use super::stream::Stream;
use super::{duration, stream_number, ticks_since, wire_number};
use crate::flow::FlowSample;
use crate::frame::Content;
use crate::frame::segment::{BLOCKS_MAX, Flags, Sack, Segment, SocketId, Timestamps, UNKNOWN};
use crate::machine::AckCost;
use crate::net::Context;
use crate::schedule::earlier;
use crate::source::{App, Log};
use core::time::Duration;
use dccp_proto::Instant;
use dccp_proto::path::Path;
use dccp_proto::wire::Ecn;

/// The first timeout of a SYN (RFC 6298 §2), which doubles.
const SYN_TIMEOUT: Duration = Duration::from_secs(1);
/// How often a SYN is sent.
const SYN_TRIES: u32 = 6;

/// The state of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Our SYN is on the way.
    SynSent,
    /// Our answer to the peer's SYN is.
    SynReceived,
    /// Data may flow; either end may have finished.
    Open,
    /// The peer did not answer, or the application is gone.
    Failed,
}

/// Addresses and ports of one end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ends {
    pub(super) path: Path,
    pub(super) local_port: u16,
    pub(super) remote_port: u16,
}

/// The SYN that is to be repeated.
#[derive(Clone, Copy, Debug)]
struct Syn {
    first_sent: Instant,
    tries: u32,
    retry_at: Instant,
}

/// One end of a connection.
pub(super) struct Socket {
    ends: Ends,
    /// A segment with the fields that all segments share.
    plain: Segment,
    state: State,
    config: Config,
    syn: Option<Syn>,
    sender: Sender,
    receiver: Receiver,
    stream: Stream,
    /// How long the newest data was under way, in units of the Timestamps option.
    one_way: Option<u32>,
    /// The machine did not let it send what it may have.
    pub(super) is_held: bool,
    /// It stands in the queue for the machine.
    pub(super) is_queued: bool,
    /// When the host's timers call it: not later than it wants. Far in the future: never.
    pub(super) scheduled: Instant,
}

impl Socket {
    /// A connection that sends its SYN.
    pub(super) fn connect(
        context: &mut Context<'_>,
        ends: Ends,
        me: SocketId,
        config: Config,
        app: App,
    ) -> Self {
        let mut socket = Self::new(context.now(), ends, me, config, app);
        socket.send_syn(context);
        socket
    }

    /// A connection that answers a SYN.
    pub(super) fn accept(
        context: &mut Context<'_>,
        ends: Ends,
        me: SocketId,
        config: Config,
        app: App,
        syn: &Segment,
    ) -> Self {
        let mut socket = Self::new(context.now(), ends, me, config, app);
        socket.state = State::SynReceived;
        socket.negotiate(
            context.now(),
            syn,
            syn.flags.has(Flags::ECE.with(Flags::CWR)),
        );
        socket.send_syn(context);
        socket
    }

    fn new(now: Instant, ends: Ends, me: SocketId, config: Config, app: App) -> Self {
        Self {
            ends,
            plain: Segment {
                source_port: ends.local_port,
                dest_port: ends.remote_port,
                seq: 0,
                ack: 0,
                window: config.receive_window,
                window_scale: config.window_scale(),
                flags: Flags::default(),
                mss: config.mss_option(),
                len: 0,
                timestamps: None,
                sack: Sack::default(),
                from: me,
                to: UNKNOWN,
            },
            state: State::SynSent,
            syn: None,
            sender: Sender::new(&config, now, 0),
            receiver: Receiver::new(&config),
            config,
            stream: Stream::new(app),
            one_way: None,
            is_held: false,
            is_queued: false,
            scheduled: Instant::FAR_FUTURE,
        }
    }

    /// Whether a segment that was sent over this path, as its sender sees it, comes from the peer. (TCP stands in IP
    /// itself: ports and addresses are all.)
    pub(super) fn hears(&self, path: &Path, s: &Segment) -> bool {
        let ours = &self.ends;
        ours.local_port == s.dest_port
            && ours.remote_port == s.source_port
            && ours.path.remote == path.local
            && ours.path.local == path.remote
    }

    /// A segment of the peer arrived.
    #[inline]
    pub(super) fn on_segment(&mut self, context: &mut Context<'_>, s: &Segment, ecn: Ecn) {
        let now = context.now();
        if self.state != State::Open && !self.shake_hands(context, s) {
            return;
        }
        if s.is_syn() {
            self.receiver.tell_again();
        } else {
            self.on_ack(now, s);
            if s.seq_len() > 0 {
                self.on_data(now, s, ecn);
            }
        }
        self.act(context);
    }

    /// Before the connection is open. Returns whether it is now.
    fn shake_hands(&mut self, context: &mut Context<'_>, s: &Segment) -> bool {
        let now = context.now();
        let is_answer = s.flags.has(Flags::ACK);
        match self.state {
            State::SynSent if s.is_syn() && is_answer => {
                self.negotiate(now, s, s.flags.has(Flags::ECE));
            }
            State::SynReceived if is_answer && !s.is_syn() => {}
            State::SynReceived if s.is_syn() => {
                self.send_syn(context);
                return false;
            }
            _ => return false,
        }
        self.state = State::Open;
        // Karn: the answer to a repeated SYN is no round-trip sample.
        if let Some(syn) = self.syn.take().filter(|syn| syn.tries == 1) {
            self.sender.window.on_rtt_hint(now - syn.first_sent);
        }
        self.stream.open(now);
        true
    }

    /// Stores the options of the peer's SYN.
    fn negotiate(&mut self, now: Instant, s: &Segment, peer_has_ecn: bool) {
        self.plain.to = s.from;
        self.config.ecn &= peer_has_ecn;
        self.config.timestamps &= s.timestamps.is_some();
        // The MSS option does not count other options (RFC 6691).
        let room = s.mss.saturating_sub(self.config.options_len()).max(1);
        self.config.mss = self.config.mss.min(room);
        self.plain.mss = self.config.mss_option();
        self.sender = Sender::new(&self.config, now, s.window.into());
        if let Some(t) = s.timestamps {
            self.receiver.set_echo(t.value);
        }
    }

    #[inline]
    fn on_ack(&mut self, now: Instant, s: &Segment) {
        let Some(next) = stream_number(s.ack, self.sender.next()) else {
            return;
        };
        let limit = next + u64::from(s.window);
        self.sender.set_limit(limit);
        if !self.sender.is_waiting() {
            return;
        }
        let mut blocks = [(0, 0); BLOCKS_MAX];
        let told = s.sack.blocks();
        for (block, &(from, to)) in blocks.iter_mut().zip(told) {
            let numbers = stream_number(from, next).zip(stream_number(to, next));
            *block = numbers.unwrap_or_default();
        }
        let ack = Ack {
            next,
            blocks: &blocks[..told.len()],
            ece: self.config.ecn && s.flags.has(Flags::ECE),
            is_pure: s.seq_len() == 0,
            timestamps: s.timestamps,
        };
        self.sender.on_ack(now, &ack);
    }

    /// Takes a segment that is more than an acknowledgement.
    #[inline]
    fn on_data(&mut self, now: Instant, s: &Segment, ecn: Ecn) {
        let Some(seq) = stream_number(s.seq, self.receiver.next()) else {
            return;
        };
        let bytes = self.receiver.on_segment(now, s, seq, ecn);
        if let Some(t) = s.timestamps.filter(|_| s.len > 0) {
            self.one_way = Some(ticks_since(t.value, now));
        }
        if bytes > 0 {
            let replies = self.stream.on_received(now, bytes);
            self.sender.write(replies);
        }
        if self.receiver.is_finished() {
            self.stream.on_finish();
        }
    }

    /// The processor time that an acknowledgement takes now: none if nothing is in flight.
    pub(super) fn work_of_ack(&self, cost: &AckCost) -> Duration {
        match self.sender.in_flight() {
            0 => Duration::ZERO,
            packets if self.sender.is_in_fast_recovery() => cost.each + cost.tcp_search * packets,
            _ => cost.each,
        }
    }

    /// The time has come that it asked for.
    pub(super) fn on_timer(&mut self, context: &mut Context<'_>) {
        let now = context.now();
        if let Some(syn) = self.syn.filter(|syn| syn.retry_at <= now) {
            if syn.tries >= SYN_TRIES {
                self.syn = None;
                self.state = State::Failed;
            } else {
                self.send_syn(context);
            }
        }
        if self.state == State::Open {
            self.sender.on_timeout(now);
            self.act(context);
        }
    }

    /// The machine may send again.
    pub(super) fn resume(&mut self, context: &mut Context<'_>) {
        if self.state == State::Open {
            self.act(context);
        }
    }

    /// The application is gone: nothing is sent any more, and what comes is ignored.
    pub(super) fn abandon(&mut self) {
        self.state = State::Failed;
        self.syn = None;
    }

    /// Whether [`next_at`](Self::next_at) may be before this moment: a question for each segment. Those that are
    /// paced, or not open, have to look closer.
    #[inline]
    pub(super) fn may_want_before(&self, moment: Instant) -> bool {
        let is_before = |at: Option<Instant>| at.is_some_and(|at| at < moment);
        self.state != State::Open
            || self.sender.window.is_paced()
            || is_before(self.sender.poll_timeout())
            || is_before(self.receiver.ack_at())
            || is_before(self.stream.next_at())
    }

    /// When [`on_timer`](Self::on_timer) is due.
    pub(super) fn next_at(&self, now: Instant) -> Option<Instant> {
        if self.state != State::Open {
            return self.syn.map(|syn| syn.retry_at);
        }
        let feedback = earlier(self.sender.poll_timeout(), self.receiver.ack_at());
        let data = earlier(self.sender.paced_until(now), self.stream.next_at());
        earlier(feedback, data)
    }

    /// Lets the application write, then sends what may leave.
    fn act(&mut self, context: &mut Context<'_>) {
        let now = context.now();
        let room = self.room();
        self.sender.write(self.stream.poll(now, room));
        if self.stream.is_done() {
            self.sender.finish();
        }
        if self.sender.check_begun() || self.receiver.is_ack_due(now) {
            self.send_what_may_leave(context);
        }
    }

    /// Bytes that the application may write now.
    #[inline]
    fn room(&self) -> u64 {
        let buffer = self.config.send_buffer;
        buffer.map_or(u64::MAX, |bytes| {
            bytes.saturating_sub(self.sender.unacknowledged())
        })
    }

    fn send_what_may_leave(&mut self, context: &mut Context<'_>) {
        let now = context.now();
        if self.receiver.has_blocks() && self.receiver.is_ack_due(now) {
            // Blocks have no room beside a full segment of data.
            self.send_ack(context);
        }
        self.is_held = false;
        if self.sender.check_begun() {
            let has_machine = context.has_machine();
            while !(has_machine && self.is_stopped(context))
                && let Some(next) = self.sender.poll(now)
            {
                self.send_data(context, &next);
            }
        }
        if self.receiver.is_ack_due(now) {
            self.send_ack(context);
        }
    }

    /// Whether the host's machine takes nothing more now.
    fn is_stopped(&mut self, context: &mut Context<'_>) -> bool {
        let now = context.now();
        if context.is_locally_congested() && self.sender.on_local_congestion(now) {
            return true;
        }
        self.is_held = context.may_send() == 0;
        self.is_held
    }

    fn send_syn(&mut self, context: &mut Context<'_>) {
        let now = context.now();
        let syn = self.syn.get_or_insert(Syn {
            first_sent: now,
            tries: 0,
            retry_at: now,
        });
        syn.retry_at = now + SYN_TIMEOUT * (1 << syn.tries.min(SYN_TRIES));
        syn.tries += 1;
        let is_answer = self.state == State::SynReceived;
        let ecn = if is_answer {
            Flags::ECE
        } else {
            Flags::ECE.with(Flags::CWR)
        };
        let segment = Segment {
            seq: 0,
            flags: Flags::SYN
                .with_if(is_answer, Flags::ACK)
                .with_if(self.config.ecn, ecn),
            ..self.segment(now)
        };
        self.send(context, segment, Ecn::NotEct);
    }

    fn send_ack(&mut self, context: &mut Context<'_>) {
        let segment = Segment {
            sack: self.receiver.sack(),
            ..self.segment(context.now())
        };
        self.receiver.on_ack_sent();
        self.send(context, segment, Ecn::NotEct);
    }

    #[expect(clippy::cast_possible_truncation, reason = "no longer than the MSS")]
    fn send_data(&mut self, context: &mut Context<'_>, next: &Next) {
        let plain = self.segment(context.now());
        let has_cwr = self.config.ecn && !next.is_again && self.sender.take_cwr();
        let segment = Segment {
            seq: wire_number(next.start),
            len: next.len as u16,
            flags: plain
                .flags
                .with_if(next.fin, Flags::FIN)
                .with_if(has_cwr, Flags::CWR),
            ..plain
        };
        self.receiver.on_ack_sent();
        // RFC 3168 §6.1.5: a retransmission is not ECN-capable.
        let is_capable = self.config.ecn && !next.is_again;
        let ecn = if is_capable { Ecn::Ect0 } else { Ecn::NotEct };
        self.send(context, segment, ecn);
    }

    /// A segment without data that acknowledges.
    fn segment(&self, now: Instant) -> Segment {
        let has_ack = self.state != State::SynSent;
        Segment {
            seq: wire_number(self.sender.next()),
            ack: if has_ack {
                wire_number(self.receiver.next())
            } else {
                0
            },
            flags: self.receiver.flags().with_if(has_ack, Flags::ACK),
            timestamps: self.config.timestamps.then(|| Timestamps {
                value: now.timestamp(),
                echo: self.receiver.echo(),
            }),
            ..self.plain
        }
    }

    fn send(&self, context: &mut Context<'_>, segment: Segment, ecn: Ecn) {
        context.send_value(self.ends.path, ecn, Content::Tcp(segment));
    }

    /// The account of this end.
    pub(super) fn sample(&self) -> FlowSample {
        let c = self.sender.counters;
        let r = self.receiver.received;
        let cc = self.sender.window.snapshot();
        FlowSample {
            sent: c.sent,
            sent_bytes: c.sent_bytes,
            retransmitted: c.retransmitted,
            dropped: self.stream.dropped,
            delivered: c.delivered,
            delivered_bytes: c.delivered_bytes,
            lost: c.lost,
            missing: None,
            marked: c.marked,
            loss_events: cc.loss_events,
            timeouts: c.timeouts,
            duplicate_acks: c.duplicate_acks,
            received: r.segments,
            received_bytes: r.bytes,
            received_corrupt: 0,
            reordered: r.reordered,
            received_marked: r.marked,
            rtt: self.sender.rtt(),
            one_way: self.one_way.map(duration),
            cc,
        }
    }

    /// The record of the application.
    pub(super) const fn log(&self) -> &Log {
        &self.stream.log
    }

    /// Whether both ends have finished and all is acknowledged.
    pub(super) fn is_over(&self) -> bool {
        let is_finished = self.sender.is_finished() && self.receiver.is_finished();
        is_finished || self.state == State::Failed
    }

    /// # Errors
    /// The promise that is broken.
    pub(super) fn check(&self) -> Result<(), String> {
        self.sender.check()
    }
}
