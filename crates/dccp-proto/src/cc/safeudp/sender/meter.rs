//! Measures one interval after another.

use crate::cc::safeudp::attribution::{Matched, Matcher};
use crate::cc::safeudp::interval::Interval;
use crate::cc::safeudp::path::Rtt;
use crate::cc::{Feedback, Run};
use crate::number::to_f64;
use crate::time::Instant;
use core::time::Duration;

/// Silence needs this many packets without an answer: fewer may all have been lost.
const UNANSWERED_LEAST: u32 = 3;

/// The interval that goes on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Meter {
    since: Instant,
    input: f64,
    sent: f64,
    sent_packets: u32,
    dropped: u64,
    counts: Interval,
    has_feedback: bool,
    /// Packets sent since the last feedback, and when the first of them left. They outlast the interval.
    unanswered: u32,
    unanswered_since: Instant,
    last_sent: Instant,
    /// Since when datagrams wait for the interface, and how long they did before.
    backlog_since: Option<Instant>,
    backlogged: Duration,
}

impl Meter {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            since: now,
            input: 0.0,
            sent: 0.0,
            sent_packets: 0,
            dropped: 0,
            counts: Interval::default(),
            has_feedback: false,
            unanswered: 0,
            unanswered_since: now,
            last_sent: now,
            backlog_since: None,
            backlogged: Duration::ZERO,
        }
    }

    /// The next interval begins.
    pub(super) fn restart(&mut self, now: Instant) {
        *self = Self {
            unanswered: self.unanswered,
            unanswered_since: self.unanswered_since,
            last_sent: self.last_sent,
            backlog_since: self.backlog_since.map(|_| now),
            ..Self::new(now)
        };
    }

    /// Starts the next interval after one without a packet. Packets that the peer left unanswered before do not count as its
    /// silence.
    pub(super) fn pause(&mut self, now: Instant) {
        self.restart(now);
        self.unanswered = 0;
    }

    /// Packets have left, with `bytes` of application data.
    pub(super) fn on_sent(&mut self, run: &Run, bytes: f64) {
        self.input += bytes;
        self.sent += bytes;
        self.sent_packets += run.packets;
        if self.unanswered == 0 {
            self.unanswered_since = run.now;
        }
        self.unanswered = self.unanswered.saturating_add(run.packets);
        self.last_sent = run.now;
        // The control holds nothing back, so what waits from one run to the next waits for the host.
        if let Some(since) = self.backlog_since.take() {
            self.backlogged += run.now - since;
        }
        self.backlog_since = run.has_more.then_some(run.now);
    }

    /// Data waits for acknowledgements. That counts as sending: the peer is silent.
    pub(super) fn on_blocked(&mut self, now: Instant) {
        self.last_sent = now;
    }

    /// A datagram of `len` bytes was dropped.
    pub(super) fn on_dropped(&mut self, len: f64) {
        self.input += len;
        self.dropped += 1;
        self.backlog_since = None;
    }

    /// An acknowledgement arrived that judges `judged` packets.
    pub(super) fn on_feedback(&mut self, fb: &Feedback<'_>, judged: u64, matched: Matched) {
        self.has_feedback = true;
        self.unanswered = 0;
        let c = &mut self.counts;
        c.judged += judged;
        c.lost += u64::from(fb.lost.packets);
        c.marks += u64::from(fb.marked.packets);
        c.corrupt += u64::from(fb.drops.corrupt);
        c.receive_buffer += u64::from(fb.drops.receive_buffer);
        c.not_listening += u64::from(fb.drops.not_listening);
        c.failed += matched.failed;
        c.host_losses += matched.host_losses;
        c.doubtful += matched.doubtful;
        c.has_slow_receiver |= fb.slow_receiver;
    }

    /// The interval ends. The hosts may have counted a drop after the Ack Vector showed it.
    pub(super) fn claim_late(&mut self, matcher: &mut Matcher) {
        let c = &mut self.counts;
        let late = matcher.claim(c.lost - c.failed - c.host_losses - c.doubtful);
        c.failed += late.failed;
        c.host_losses += late.host_losses;
        c.doubtful += late.doubtful;
    }

    /// The counts.
    pub(super) fn interval(&self, now: Instant, rtt: &Rtt) -> Interval {
        let waits = self
            .backlog_since
            .map_or(Duration::ZERO, |since| now - since);
        Interval {
            is_backlogged: 2 * (self.backlogged + waits) >= self.elapsed(now),
            is_inflated: rtt.is_inflated(),
            ..self.counts
        }
    }

    pub(super) fn elapsed(&self, now: Instant) -> Duration {
        (now - self.since).max(Duration::from_nanos(1))
    }

    /// Bytes per second that the application offered.
    pub(super) fn input_rate(&self, now: Instant) -> f64 {
        self.input / self.elapsed(now).as_secs_f64()
    }

    /// Bytes per second that left.
    pub(super) fn sent_rate(&self, now: Instant) -> f64 {
        self.sent / self.elapsed(now).as_secs_f64()
    }

    /// Packets whose fate became known.
    pub(super) const fn judged(&self) -> u64 {
        self.counts.judged
    }

    /// Datagrams dropped.
    pub(super) const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Whether nothing was sent, dropped or judged.
    pub(super) const fn is_idle(&self) -> bool {
        self.sent_packets == 0 && self.dropped == 0 && self.counts.judged == 0
    }

    /// Whether acknowledgements arrived and none had news, although data was sent.
    pub(super) const fn is_stalled(&self) -> bool {
        self.has_feedback && self.sent_packets > 0 && self.counts.judged == 0
    }

    /// How long the peer has been silent, if that is for `least` or longer, and data goes on to be sent.
    pub(super) fn silence(&self, now: Instant, least: Duration) -> Option<Duration> {
        let time = now - self.unanswered_since;
        let is_sending = now - self.last_sent <= least;
        let is_silent = self.unanswered >= UNANSWERED_LEAST && time >= least && is_sending;
        is_silent.then_some(time)
    }
}

/// Returns a count of bytes as the control computes with it.
pub(super) const fn bytes(n: usize) -> f64 {
    to_f64(n as u64)
}
