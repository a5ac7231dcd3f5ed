//! The sending half: what to send next, and what acknowledgements mean (RFC 6675 §5).
//!
//! Window, slow start, timeout and the answer to congestion are [`WindowSender`]'s, as in CCID 2, and
//! get the same [`Feedback`]. TCP differs in this: what is lost is sent again; until all that was in
//! flight when a loss was found is acknowledged (the recovery point), the window does not grow, and
//! further losses are no new event; the timeout runs for the oldest segment; and a retransmission
//! that is lost too is noticed by the timeout only, or repeated once as a rescue (§5, rule 4).

use super::config::Config;
use super::rules::TcpRules;
use super::scoreboard::{News, Scoreboard};
use super::{duration, ticks_since};
use crate::frame::segment::Timestamps;
use core::time::Duration;
use dccp_proto::cc::delivery::{DeliveryRate, Stamp};
use dccp_proto::cc::one_way::Times;
use dccp_proto::cc::window::{Sent, WindowSender};
use dccp_proto::cc::{Count, Drops, Feedback, Permit};
use dccp_proto::wire::Options;
use dccp_proto::{Instant, Rate, Seq};

/// With halved flight: the room in packets at the end of a recovery.
const RESUME_BURST: u32 = 3;

/// Counters of a sending half, in segments unless they say otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Counters {
    pub(super) sent: u64,
    pub(super) sent_bytes: u64,
    pub(super) retransmitted: u64,
    pub(super) delivered: u64,
    pub(super) delivered_bytes: u64,
    pub(super) lost: u64,
    /// Answers to ECE.
    pub(super) marked: u64,
    pub(super) timeouts: u64,
    pub(super) duplicate_acks: u64,
}

/// An acknowledgement, its numbers those of the stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ack<'a> {
    /// The next byte that the peer expects.
    pub(super) next: u64,
    /// Blocks that it has beyond `next`.
    pub(super) blocks: &'a [(u64, u64)],
    /// It echoes a mark.
    pub(super) ece: bool,
    /// It carries no data.
    pub(super) is_pure: bool,
    /// Its Timestamps option.
    pub(super) timestamps: Option<Timestamps>,
}

/// A segment to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Next {
    /// Its first number in the stream.
    pub(super) start: u64,
    /// Bytes of data.
    pub(super) len: u32,
    /// It ends the stream.
    pub(super) fin: bool,
    /// It was sent before.
    pub(super) is_again: bool,
}

/// Why segments are retransmitted: fast recovery, or a timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cause {
    Loss,
    Timeout,
}

/// Until everything before `point` is acknowledged, losses are no new event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Recovery {
    point: u64,
    cause: Cause,
    /// With halved flight: the most packets in flight until the loss is recovered. It falls by 1 for every second
    /// acknowledgement.
    flight_max: u32,
    /// The first segment has to leave again, whatever the window says (§5, step 4.3).
    is_first_due: bool,
    has_rescued: bool,
}

/// One end's view of what it sends.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent fact of the stream"
)]
pub(super) struct Sender {
    pub(super) window: WindowSender<TcpRules>,
    board: Scoreboard,
    /// If the law wants to know its rate.
    delivery: Option<DeliveryRate>,
    mss: u32,
    ack_every: u32,
    halves_flight: bool,
    /// Next new number of the stream, and how many bytes the application has written.
    next: u64,
    written: u64,
    /// The byte that the peer expects next.
    acked: u64,
    /// The stream ends with what is written, and its end has left.
    wants_fin: bool,
    has_fin: bool,
    limit: u64,
    recovery: Option<Recovery>,
    round: u64,
    round_end: u64,
    pipe_max: u32,
    wants_cwr: bool,
    rtt: Option<Duration>,
    pub(super) counters: Counters,
}

impl Sender {
    /// A sender that has nothing to send yet, to a peer with room for `limit` bytes.
    pub(super) fn new(config: &Config, now: Instant, limit: u64) -> Self {
        let window = WindowSender::new(&config.cc(now), config.law.build(), TcpRules::new(config));
        Self {
            delivery: window.wants().delivered_rate.then(DeliveryRate::default),
            window,
            board: Scoreboard::default(),
            mss: config.mss.into(),
            ack_every: config.ack_every,
            halves_flight: config.halves_flight,
            next: 0,
            written: 0,
            acked: 0,
            wants_fin: false,
            has_fin: false,
            limit,
            recovery: None,
            round: 0,
            round_end: 0,
            pipe_max: 0,
            wants_cwr: false,
            rtt: None,
            counters: Counters::default(),
        }
    }

    /// The application writes `bytes` more.
    pub(super) const fn write(&mut self, bytes: u64) {
        self.written = self.written.saturating_add(bytes);
    }

    /// Bytes that the application has written and the peer has not acknowledged.
    pub(super) const fn unacknowledged(&self) -> u64 {
        self.written.saturating_sub(self.acked)
    }

    /// The application has no more.
    pub(super) const fn finish(&mut self) {
        self.wants_fin = true;
    }

    /// The peer has room up to this byte.
    pub(super) fn set_limit(&mut self, limit: u64) {
        self.limit = self.limit.max(limit);
    }

    /// The first byte that is not acknowledged is near this one.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Whether the end of the stream is acknowledged.
    pub(super) fn is_finished(&self) -> bool {
        self.has_fin && self.board.is_empty()
    }

    /// The last round-trip sample.
    pub(super) const fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// Whether the window was reduced since a segment with new data left: that one says so.
    pub(super) fn take_cwr(&mut self) -> bool {
        core::mem::take(&mut self.wants_cwr)
    }

    /// Whether anything is in flight.
    pub(super) fn is_waiting(&self) -> bool {
        !self.board.is_empty()
    }

    /// Segments that are not acknowledged yet, those that the receiver reported or that are lost included.
    pub(super) fn in_flight(&self) -> u32 {
        u32::try_from(self.board.nxt() - self.board.una()).unwrap_or(u32::MAX)
    }

    /// Whether it recovers from a loss that was not found by a timeout.
    pub(super) fn is_in_fast_recovery(&self) -> bool {
        self.recovery.is_some_and(|r| r.cause == Cause::Loss)
    }

    /// An acknowledgement arrived while something was in flight.
    #[inline]
    pub(super) fn on_ack(&mut self, now: Instant, ack: &Ack<'_>) {
        self.acked = self.acked.max(ack.next);
        let news = self.board.update(ack.next, ack.blocks);
        self.counters.lost += u64::from(news.lost);
        self.counters.delivered += u64::from(news.with_data);
        self.counters.delivered_bytes += news.bytes;
        self.counters.duplicate_acks += u64::from(!news.is_advance && ack.is_pure);
        if self.board.una() > self.round_end {
            self.round += 1;
            self.round_end = self.board.nxt();
        }
        let is_loss = self.recover();
        let fb = self.feedback(now, ack, &news, is_loss);
        self.pipe_max = fb.pipe;
        self.rtt = fb.rtt.or(self.rtt);
        if self.window.wants().one_way
            && let (Some(t), Some(sent)) = (ack.timestamps, news.newest_once)
        {
            // The acknowledgement left when the newest packet arrived. Its echo is of the oldest one that it
            // acknowledges (RFC 7323 §4.3), which may have waited at the receiver for the next.
            self.window.on_times(Times {
                sent: sent.timestamp(),
                arrived: t.value,
            });
        }
        let rules = self.window.rules();
        rules.is_advance = news.is_advance;
        rules.una = self.board.una();
        let events = self.window.events();
        self.window.on_feedback(now, &fb, self.ack_every);
        if self.window.events() > events {
            self.wants_cwr = true;
            self.counters.marked += u64::from(fb.marked.packets);
        }
    }

    /// Ends a recovery, and begins one if segments are lost outside of one. Returns whether one began.
    #[inline]
    fn recover(&mut self) -> bool {
        if self.recovery.is_some_and(|r| self.board.una() >= r.point) {
            if self.halved().is_some() {
                self.window.shrink_to(self.board.pipe() + RESUME_BURST);
            }
            self.recovery = None;
        }
        let begins = self.recovery.is_none() && self.board.lost() > 0;
        if begins {
            self.recovery = Some(Recovery {
                point: self.board.nxt(),
                cause: Cause::Loss,
                flight_max: self.window.window().packets(),
                is_first_due: !self.board.is_first_again(),
                has_rescued: false,
            });
        }
        if let Some(recovery) = &mut self.recovery {
            recovery.flight_max = recovery.flight_max.min(self.board.pipe() + 1);
        }
        begins
    }

    /// The feedback for the window sender. Segments are numbered from 1.
    #[inline]
    fn feedback(
        &mut self,
        now: Instant,
        ack: &Ack<'_>,
        news: &News,
        is_loss: bool,
    ) -> Feedback<'static> {
        let una = Seq::new(self.board.una());
        let is_mark = ack.ece && news.is_advance && self.recovery.is_none();
        let marked = u32::from(is_mark && news.packets > 0);
        let mss = u64::from(self.mss);
        let count = |packets: u32| Count {
            packets,
            bytes: u64::from(packets) * mss,
        };
        let (delivered_rate, is_app_limited) = self.delivered(now, news);
        Feedback {
            seq: Seq::ZERO,
            ack: una,
            acked: count(news.packets - marked),
            marked: count(marked),
            lost: count(news.lost.max(u32::from(is_loss))),
            congestion: match (is_loss, is_mark) {
                (true, _) => Some(Seq::new(self.board.nxt())),
                (false, true) => Some(una),
                (false, false) => None,
            },
            drops: Drops::default(),
            slow_receiver: false,
            rtt: match (news.newest_once, ack.timestamps) {
                (Some(sent), _) => Some(now - sent),
                // RFC 7323 §4.1
                (None, Some(t)) if news.is_advance => Some(duration(ticks_since(t.echo, now))),
                _ => None,
            },
            ack_sent_at: None,
            ack_ccval: None,
            pipe: self.board.pipe(),
            pipe_max: self.pipe_max,
            delivered_rate,
            is_app_limited,
            round: self.round,
            acks_lost: 0,
            mean_size: self.mss as usize,
            gss: Seq::new(self.board.nxt()),
            options: Options(&[]),
            elapsed: None,
        }
    }

    /// How fast data was delivered, and whether the application was the limit, if the law wants to know.
    #[inline]
    fn delivered(&mut self, now: Instant, news: &News) -> (Option<Rate>, bool) {
        let Some(delivery) = &mut self.delivery else {
            return (None, false);
        };
        let newest = self.board.take_newest();
        if news.packets > 0 {
            let bytes = u32::try_from(news.bytes).unwrap_or(u32::MAX);
            delivery.on_delivered(now, bytes);
        }
        match newest {
            Some((at, stamp)) => (delivery.sample(now, &stamp, at), stamp.is_app_limited),
            None => (None, false),
        }
    }

    /// The application has nothing to send while `pipe` packets are in flight.
    fn on_app_limited(&mut self, pipe: u32) {
        if let Some(delivery) = &mut self.delivery {
            delivery.on_app_limited(u64::from(pipe) * u64::from(self.mss));
        }
    }

    /// When [`on_timeout`](Self::on_timeout) is due.
    pub(super) const fn poll_timeout(&self) -> Option<Instant> {
        self.window.poll_timeout()
    }

    /// The retransmission timeout, if it is over: everything is sent again as slow start allows.
    pub(super) fn on_timeout(&mut self, now: Instant) {
        if !self.window.on_timeout(now) {
            return;
        }
        self.counters.timeouts += 1;
        let known = self.board.lost();
        self.board.on_timeout();
        self.counters.lost += u64::from(self.board.lost() - known);
        self.recovery = Some(Recovery {
            point: self.board.nxt(),
            cause: Cause::Timeout,
            flight_max: 0,
            is_first_due: false,
            has_rescued: true,
        });
    }

    /// When pacing lets the next segment leave, if it is pacing that holds it.
    #[inline]
    pub(super) fn paced_until(&self, now: Instant) -> Option<Instant> {
        if self.window.is_paced() {
            self.pacing(now)
        } else {
            None
        }
    }

    fn pacing(&self, now: Instant) -> Option<Instant> {
        if self.board.lost() == 0 && self.new_segment().is_none() {
            return None;
        }
        match self.window.permit(now, self.board.pipe()) {
            Permit::At(at) => Some(at),
            _ => None,
        }
    }

    /// Whether the application has written anything: else this is an end that only receives, so far, and it is noted
    /// that the application is the limit.
    #[inline]
    pub(super) fn check_begun(&mut self) -> bool {
        let has_begun = self.written > 0 || self.wants_fin;
        if !has_begun {
            self.on_app_limited(0);
        }
        has_begun
    }

    /// The next segment that may leave now (`NextSeg`); it has left then.
    #[inline]
    pub(super) fn poll(&mut self, now: Instant) -> Option<Next> {
        let pipe = self.board.pipe();
        let next = self.choose(now, pipe)?;
        self.account(now, pipe, next);
        Some(next)
    }

    /// The next segment that may leave now, with `pipe` in flight. It is in flight then.
    #[inline]
    fn choose(&mut self, now: Instant, pipe: u32) -> Option<Next> {
        if let Some(recovery) = self.recovery.as_mut().filter(|r| r.is_first_due) {
            recovery.is_first_due = false;
            let una = self.board.una();
            return Some(self.resend(now, una));
        }
        if !self.may_send(now, pipe) {
            return None;
        }
        if self.board.lost() > 0
            && let Some(position) = self.board.next_lost()
        {
            return Some(self.resend(now, position));
        }
        if let Some(next) = self.new_segment() {
            self.send(now, pipe, next);
            return Some(next);
        }
        if self.next >= self.written {
            self.on_app_limited(pipe);
        }
        self.poll_doubtful(now)
    }

    /// In fast recovery, with nothing else to send: rules 3 and 4.
    fn poll_doubtful(&mut self, now: Instant) -> Option<Next> {
        let recovery = self.recovery.filter(|r| r.cause == Cause::Loss)?;
        if let Some(position) = self.board.next_doubtful() {
            return Some(self.resend(now, position));
        }
        if recovery.has_rescued {
            return None;
        }
        self.recovery = Some(Recovery {
            has_rescued: true,
            ..recovery
        });
        let position = self.board.last_open()?;
        Some(self.resend(now, position))
    }

    /// The recovery that limits the flight to half of the window.
    fn halved(&self) -> Option<Recovery> {
        self.recovery
            .filter(|r| self.halves_flight && r.cause == Cause::Loss)
    }

    #[inline]
    fn may_send(&self, now: Instant, pipe: u32) -> bool {
        if let Some(recovery) = self.halved() {
            return pipe < recovery.flight_max.max(self.window.window().packets() / 2);
        }
        if self.window.is_paced() {
            matches!(self.window.permit(now, pipe), Permit::Now { .. })
        } else {
            self.window.room(now, pipe) > 0
        }
    }

    /// The interface has no room for what may leave, if there is any. Returns whether an
    /// acknowledgement will come after which to try again.
    pub(super) fn on_local_congestion(&mut self, now: Instant) -> bool {
        let has_next = self.board.lost() > 0 || self.new_segment().is_some();
        let pipe = self.board.pipe();
        if has_next && self.may_send(now, pipe) {
            self.shrink_for_host(now, pipe);
        }
        pipe > 0
    }

    /// The host's interface was full with `pipe` in flight. While the window shrinks for that, or recovers from a
    /// loss, nothing more happens.
    fn shrink_for_host(&mut self, now: Instant, pipe: u32) {
        if self.window.rules().is_shrinking() {
            return;
        }
        if let Some(wanted) = self.window.answer_host_congestion(now, pipe) {
            self.window.shrink_to(pipe + 1);
            let point = self.board.nxt();
            self.window.rules().shrink_towards(wanted.cwnd, point);
        }
    }

    /// The next segment that was never sent, if there is data and the peer has room for it.
    fn new_segment(&self) -> Option<Next> {
        let waiting = self.written - self.next.min(self.written);
        let mut len = waiting.min(self.mss.into());
        let fin = self.wants_fin && !self.has_fin && len == waiting;
        if len == 0 && !fin {
            return None;
        }
        if self.next + len > self.limit {
            // No segment is cut for the peer's window (RFC 9293 §3.8.6.2.1), unless nothing else moves.
            len = self.limit.saturating_sub(self.next);
            if len == 0 || !self.board.is_empty() {
                return None;
            }
        }
        Some(Next {
            start: self.next,
            len: u32::try_from(len).unwrap_or(self.mss),
            fin: fin && len == waiting,
            is_again: false,
        })
    }

    /// A new segment leaves, with `pipe` in flight.
    #[inline]
    fn send(&mut self, now: Instant, pipe: u32, next: Next) {
        let stamp = self.stamp(now, pipe);
        let numbers = next.len + u32::from(next.fin);
        self.board.push(now, stamp, next.start, numbers, next.fin);
        self.next += u64::from(numbers);
        self.has_fin |= next.fin;
    }

    fn resend(&mut self, now: Instant, position: u64) -> Next {
        let pipe = self.board.pipe();
        let stamp = self.stamp(now, pipe);
        let record = self.board.resend(now, stamp, position);
        let next = Next {
            start: record.start,
            len: record.len - u32::from(record.fin),
            fin: record.fin,
            is_again: true,
        };
        self.counters.retransmitted += 1;
        if position == self.board.una() {
            self.window
                .restart_timeout(now, self.board.pipe(), self.ack_every);
        }
        next
    }

    /// # Errors
    /// The promise that is broken.
    pub(super) fn check(&self) -> Result<(), String> {
        self.board.check()?;
        let cwnd = self.window.window().cwnd;
        if cwnd < 1.0 {
            return Err(format!("a window of {cwnd} packets"));
        }
        Ok(())
    }

    /// The delivery state when a segment leaves.
    fn stamp(&mut self, now: Instant, pipe: u32) -> Option<Stamp> {
        let delivery = self.delivery.as_mut()?;
        Some(delivery.on_send(now, pipe == 0))
    }

    /// A segment has left, with `pipe` in flight before.
    #[inline]
    fn account(&mut self, now: Instant, pipe: u32, next: Next) {
        self.counters.sent += u64::from(next.len > 0);
        self.counters.sent_bytes += u64::from(next.len);
        let flight = self.board.pipe();
        self.pipe_max = self.pipe_max.max(flight);
        if let Some(recovery) = &mut self.recovery {
            let fewer = flight.saturating_sub(1).max(1);
            recovery.flight_max = recovery.flight_max.min(fewer);
        }
        let (seq, packets) = (Seq::new(self.board.nxt()), 1);
        let sent = Sent {
            now,
            seq,
            packets,
            pipe,
        };
        self.window.on_sent(sent, self.ack_every);
    }
}

#[cfg(test)]
mod tests;
