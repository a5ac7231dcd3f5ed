//! CCID 3 as in Linux 6.1: Receive Rate and Loss Event Rate, never Loss Intervals.

use core::time::Duration;
use dccp_proto::number::to_f64;
use dccp_proto::wire::{CcidOpt, Opt, Packet};
use dccp_proto::{Instant, Seq};
use std::collections::VecDeque;

/// The sender sends a packet in this time at least (RFC 5348 §4.3, `t_mbi`).
const LONGEST_GAP_S: f64 = 64.0;
const HISTORY_MAX: usize = 10_000;
/// The Loss Event Rate of a receiver that has seen no loss.
const NO_LOSS: u32 = u32::MAX;
/// The round trip before the first measurement.
const RTT_FALLBACK: Duration = Duration::from_millis(200);

/// Bytes per second by the throughput equation of TCP (RFC 5348 §3.1).
fn equation(size: f64, rtt: f64, p: f64) -> f64 {
    let root = (2.0 * p / 3.0).sqrt();
    let timeouts = 12.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
    size / (rtt * (root + timeouts))
}

/// The loss event rate at which the equation gives this rate.
fn inverse(size: f64, rtt: f64, rate: f64) -> f64 {
    let (mut low, mut high) = (1e-8, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if equation(size, rtt, middle) > rate {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The sending half.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    /// Allowed rate in bytes per second.
    x: f64,
    size: f64,
    rtt: Option<Duration>,
    next_at: Instant,
    no_feedback_at: Option<Instant>,
    has_feedback: bool,
    sent: VecDeque<(Seq, Instant)>,
    window_counter: u8,
    counted_at: Instant,
}

impl Sender {
    /// `rtt` is what the handshake measured. The first packet sets the first rate.
    pub(super) fn new(now: Instant, rtt: Option<Duration>) -> Self {
        Self {
            x: 0.0,
            size: 0.0,
            rtt,
            next_at: now,
            no_feedback_at: None,
            has_feedback: false,
            sent: VecDeque::new(),
            window_counter: 0,
            counted_at: now,
        }
    }

    pub(super) fn next_at(&self) -> Instant {
        self.next_at
    }

    /// Accounts a data packet, and returns its CCVal: it rises by one per quarter of a round trip, at
    /// most by 5 at once (4342-8.1).
    pub(super) fn on_send(&mut self, now: Instant, seq: Seq, len: usize) -> u8 {
        let quarter = self
            .rtt
            .unwrap_or(RTT_FALLBACK)
            .max(Duration::from_micros(4))
            / 4;
        let quarters = (now - self.counted_at).as_nanos() / quarter.as_nanos();
        if quarters > 0 {
            let step = u8::try_from(quarters).unwrap_or(5).min(5);
            self.window_counter = (self.window_counter + step) % 16;
            self.counted_at = now;
        }
        if self.size == 0.0 {
            // Four packets in the first round trip.
            self.size = to_f64(len.max(1) as u64);
            self.x = 4.0 * self.size / self.rtt.unwrap_or(RTT_FALLBACK).as_secs_f64().max(1e-4);
        }
        self.size = 0.9 * self.size + 0.1 * to_f64(len as u64);
        self.sent.push_back((seq, now));
        if self.sent.len() > HISTORY_MAX {
            self.sent.pop_front();
        }
        let gap = Duration::from_secs_f64((to_f64(len as u64) / self.x).min(LONGEST_GAP_S));
        self.next_at = self.next_at.max(now - gap) + gap;
        self.no_feedback_at
            .get_or_insert(now + Duration::from_secs(2));
        self.window_counter
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.no_feedback_at
    }

    /// No feedback for long: half the rate.
    pub(super) fn on_timeout(&mut self, now: Instant) {
        self.x = (self.x / 2.0).max(self.size / LONGEST_GAP_S);
        self.expect_feedback(now);
    }

    /// Takes feedback, if the packet is some: Receive Rate and Loss Event Rate together.
    pub(super) fn on_packet(&mut self, now: Instant, packet: &Packet<'_>) {
        let (mut receive_rate, mut loss) = (None, None);
        for option in packet.options {
            if let Opt::CcidSpecific { kind, data } = option {
                match CcidOpt::decode(3, kind, data) {
                    CcidOpt::ReceiveRate(rate) => receive_rate = Some(f64::from(rate)),
                    CcidOpt::LossEventRate(interval) => loss = Some(interval),
                    // LINUX-12: Loss Intervals mean nothing here.
                    _ => {}
                }
            }
        }
        let (Some(receive_rate), Some(loss), Some(ack)) = (receive_rate, loss, packet.ack()) else {
            return;
        };
        let Some(place) = self.sent.iter().position(|(seq, _)| *seq == ack) else {
            return;
        };
        let sample = now - self.sent[place].1;
        self.sent.drain(..place);
        let rtt = self.rtt.map_or(sample, |rtt| (rtt * 9 + sample) / 10);
        self.rtt = Some(rtt);
        let rtt = rtt.as_secs_f64().max(1e-6);
        if loss == NO_LOSS || loss == 0 {
            let first = 4.0 * self.size / rtt;
            let is_first = !self.has_feedback;
            let most = if is_first { first } else { 2.0 * receive_rate };
            self.x = (2.0 * self.x).min(most).max(self.size / rtt);
        } else {
            let allowed = equation(self.size, rtt, 1.0 / f64::from(loss));
            self.x = allowed
                .min(2.0 * receive_rate)
                .max(self.size / LONGEST_GAP_S);
        }
        self.has_feedback = true;
        self.expect_feedback(now);
    }

    fn expect_feedback(&mut self, now: Instant) {
        let rtt = self.rtt.unwrap_or(RTT_FALLBACK);
        let two_packets = Duration::from_secs_f64((2.0 * self.size / self.x).min(LONGEST_GAP_S));
        self.no_feedback_at = Some(now + (rtt * 4).max(two_packets));
    }
}

/// The receiving half.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    rtt: Duration,
    /// CCVal and time of the last feedback, and data bytes since.
    last: Option<(u8, Instant)>,
    bytes: usize,
    size: usize,
    receive_rate: f64,
    losses: Losses,
}

impl Receiver {
    pub(super) fn new(rtt: Option<Duration>) -> Self {
        Self {
            rtt: rtt.unwrap_or(RTT_FALLBACK),
            last: None,
            bytes: 0,
            size: 0,
            receive_rate: 0.0,
            losses: Losses::default(),
        }
    }

    /// Takes a data packet; `ndp` is its NDP Count. Returns whether feedback is due: after the first
    /// packet, once per round trip by the window counter, and when a loss event begins.
    pub(super) fn on_data(&mut self, now: Instant, packet: &Packet<'_>, ndp: u64) -> bool {
        self.bytes += packet.payload.len();
        self.size = packet.payload.len();
        let is_new_loss = self.losses.on_data(packet.seq, packet.ccval, ndp);
        if is_new_loss && self.losses.intervals.len() == 1 {
            // RFC 5348 §6.3.1: the first interval is one that explains the rate so far.
            let rate = self.rate_until(now).max(1.0);
            let p = inverse(
                to_f64(self.size.max(1) as u64),
                self.rtt.as_secs_f64(),
                rate,
            );
            self.losses.intervals[0] = 1.0 / p;
        }
        match self.last {
            None => true,
            Some((ccval, _)) => is_new_loss || (packet.ccval + 16 - ccval) % 16 > 3,
        }
    }

    fn rate_until(&self, now: Instant) -> f64 {
        let since = self.last.map_or(Duration::ZERO, |(_, at)| now - at);
        if since.is_zero() {
            self.receive_rate
        } else {
            to_f64(self.bytes as u64) / since.as_secs_f64()
        }
    }

    /// Receive Rate and Loss Event Rate for a feedback packet that leaves now.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates"
    )]
    pub(super) fn feedback(&mut self, now: Instant, ccval: u8) -> (u32, u32) {
        let is_first = self.last.is_none();
        self.receive_rate = if is_first { 0.0 } else { self.rate_until(now) };
        self.last = Some((ccval, now));
        self.bytes = 0;
        let loss = self.losses.mean().map_or(NO_LOSS, |i| i as u32);
        (self.receive_rate as u32, loss)
    }
}

/// Loss events of a receiver.
#[derive(Clone, Debug, Default)]
struct Losses {
    newest: Option<Seq>,
    /// Missing packets, and how many newer ones have arrived.
    missing: Vec<(Seq, u8, usize)>,
    /// Lengths of the intervals between loss events in packets, the newest, still open, first.
    intervals: VecDeque<f64>,
    event_ccval: u8,
}

impl Losses {
    /// Returns whether a loss event begins.
    fn on_data(&mut self, seq: Seq, ccval: u8, ndp: u64) -> bool {
        self.missing.retain(|(lost, ..)| *lost != seq);
        let newest = *self.newest.get_or_insert(seq);
        let ahead = seq.distance(newest);
        if ahead <= 0 {
            return false;
        }
        self.newest = Some(seq);
        if let Some(open) = self.intervals.front_mut() {
            *open += f64::from(u32::try_from(ahead).unwrap_or(u32::MAX));
        }
        // Packets without data may be missing: NDP Count says how many there were in a row.
        if ahead.unsigned_abs() - 1 > ndp && ahead < 1000 {
            self.missing.push((newest.next(), ccval, 0));
        }
        for (.., newer) in &mut self.missing {
            *newer += 1;
        }
        let Some(place) = self.missing.iter().position(|(.., newer)| *newer >= 3) else {
            return false;
        };
        let (_, ccval, _) = self.missing.remove(place);
        // Losses within a round trip, four steps of CCVal, are one event.
        let is_new = self.intervals.is_empty() || (ccval + 16 - self.event_ccval) % 16 > 4;
        if is_new {
            self.event_ccval = ccval;
            self.intervals.push_front(1.0);
            self.intervals.truncate(9);
        }
        is_new
    }

    /// The mean loss interval (RFC 5348 §5.4): the open one counts if it raises the mean.
    fn mean(&self) -> Option<f64> {
        const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];
        let weighted = |skip: usize| {
            let (mut sum, mut weight) = (0.0, 0.0);
            for (interval, w) in self.intervals.iter().skip(skip).zip(WEIGHTS) {
                sum += interval * w;
                weight += w;
            }
            (weight > 0.0).then(|| sum / weight)
        };
        let with_open = weighted(0)?;
        Some(
            weighted(1)
                .map_or(with_open, |closed| closed.max(with_open))
                .max(1.0),
        )
    }
}
