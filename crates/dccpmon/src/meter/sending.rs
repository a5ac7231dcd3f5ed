//! A sending end: the figures of its transport and of its send queue.

use super::safeudp::{Counted, History};
use crate::load::rtt::EchoReader;
use crate::load::send::{Sender, TxCounts};
use crate::output::capture::State;
use crate::schema::{CcSample, Samples};
use crate::transport::{Counters, Sample};
use crate::wire::figures::{TxInterval, TxTotal};
use core::sync::atomic::Ordering;
use core::time::Duration;
use dccp::proto::number::to_f64;
use dccp::proto::time::nanos;
use dccp_stats::{Histogram, Spread};

/// A sending end and what was seen of it.
pub(crate) struct TxEnd {
    pub(super) id: u16,
    pub(super) sender: Sender,
    pub(super) before: Counters,
    /// Datagrams that had left when the interval began, and their bytes.
    pub(super) left: u64,
    pub(super) length: u64,
    /// Of the round-trip times that the connection measured, the newest at each look.
    pub(super) rtts: Times,
    /// Those of looks that found new losses.
    pub(super) loss_rtts: Histogram,
    /// Of each datagram in the send queue.
    pub(super) queue: Times,
    /// Of echoes: the whole round trip, and its part at the receiver.
    pub(super) user: Times,
    pub(super) receiver: Times,
    pub(super) echoes: Option<EchoReader>,
    pub(super) samples: Samples,
    pub(super) last: Sample,
    /// Segments sent again until the interval began.
    pub(super) retransmitted: Option<u64>,
    /// Datagrams taken back at the end: they count as never offered.
    pub(super) taken_back: u64,
    /// Of CCID 248 only.
    pub(super) history: Option<Box<History>>,
}

/// Times of an interval and of the whole test, in nanoseconds.
#[derive(Default)]
pub(super) struct Times {
    interval: Histogram,
    all: Histogram,
}

impl Times {
    pub(super) fn record(&mut self, time: Duration) {
        self.interval.record(nanos(time));
    }

    /// Ends the interval.
    pub(super) fn interval(&mut self) -> Option<Spread> {
        let interval = core::mem::take(&mut self.interval);
        self.all.merge(&interval);
        interval.spread()
    }

    /// The whole test, after its end.
    pub(super) fn total(&mut self) -> Option<Spread> {
        self.interval();
        self.all.spread()
    }
}

impl TxEnd {
    pub(super) fn sample(&mut self, elapsed: Duration) {
        self.note_queue_times();
        self.note_echoes();
        // Before the sample, because a state that is older than a code would contradict it.
        let mut codes = Vec::new();
        if self.history.is_some() {
            self.sender.flow.conclusions(&mut |code| codes.push(code));
        }
        let Some(now) = self.sender.flow.sample() else {
            return;
        };
        if let Some((_, rtt)) = now.rtt.filter(|_| now.rtt != self.last.rtt) {
            self.rtts.record(rtt);
        }
        if let Some((_, rtt)) = now.rtt.filter(|_| now.lost > self.last.lost) {
            self.loss_rtts.record(nanos(rtt));
        }
        self.samples.n += 1;
        *match (now.is_idle, now.is_window_full) {
            (true, _) => &mut self.samples.idle,
            (false, true) => &mut self.samples.window_full,
            (false, false) => &mut self.samples.paced,
        } += 1;
        self.samples.slow_start += u64::from(now.phase == Some("slow_start"));
        self.samples.sequence_window_full += u64::from(now.is_sequence_window_full);
        self.last = now;
        if let (Some(history), Some(seen)) = (&mut self.history, now.safe_udp) {
            let allowed = history.look(elapsed, seen, &codes);
            self.sender.slow_to(allowed);
        }
    }

    /// Ends sending.
    pub(super) fn stop(&mut self) {
        self.sender.stop();
        if let Some(history) = &mut self.history {
            history.stop();
        }
    }

    /// The newest sample as a row.
    pub(super) fn row(&self, elapsed: Duration) -> CcSample {
        let now = &self.last;
        CcSample {
            flow: u32::from(self.id) + 1,
            at_ns: nanos(elapsed),
            rtt_ns: now.rtt.map(|(_, rtt)| nanos(rtt)),
            cwnd_packets: now.cwnd_packets,
            ssthresh_packets: now.ssthresh_packets,
            rate_bps: now.rate_bps,
            cc_state: now.phase.map(str::to_owned),
            is_idle: now.is_idle,
            is_window_full: now.is_window_full,
        }
    }

    pub(super) fn note_queue_times(&mut self) {
        let (flow, queue) = (&self.sender.flow, &mut self.queue);
        flow.queue_times(&mut |time| queue.record(time));
    }

    pub(super) fn note_echoes(&mut self) {
        let Some(echoes) = &self.echoes else { return };
        for trip in echoes.take() {
            self.user.record(trip.user);
            self.receiver.record(trip.receiver);
            if !self.sender.flow.shows_round_trips() {
                self.rtts.record(trip.network());
            }
        }
    }

    pub(super) fn state(&self) -> State {
        let bytes = |packets: Option<f64>| {
            let bytes = packets? * to_f64(self.length);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a window is no larger, and not negative"
            )]
            Some(bytes as u64)
        };
        State {
            rtt: self.last.rtt.map(|(_, rtt)| rtt),
            cwnd_bytes: bytes(self.last.cwnd_packets),
            ssthresh_bytes: bytes(self.last.ssthresh_packets),
        }
    }

    pub(super) fn interval(&mut self) -> TxInterval {
        let now = self.sender.flow.counters();
        let left = now.map_or(self.left, |now| now.left - self.before.left);
        let packets = left - self.left;
        self.left = left;
        let retransmitted = self.last.retransmitted;
        let before = core::mem::replace(&mut self.retransmitted, retransmitted);
        TxInterval {
            packets,
            bytes: packets * self.length,
            rtt_ns: self.rtts.interval(),
            queue_ns: self.queue.interval(),
            cwnd_packets: self.last.cwnd_packets,
            ssthresh_packets: self.last.ssthresh_packets,
            rate_bps: self.last.rate_bps,
            cc_state: self.last.phase.map(str::to_owned),
            retransmitted: retransmitted.map(|n| n - before.unwrap_or(0)),
            safe_udp: (self.history.as_mut().zip(now))
                .map(|(history, now)| history.interval(now.counted())),
        }
    }

    /// Datagrams that the socket took and that were not taken back.
    pub(super) fn packets(&self) -> u64 {
        let counts = &self.sender.counts;
        let [offered, refused] =
            [&counts.offered, &counts.refused].map(|n| n.load(Ordering::Relaxed));
        offered - refused - self.taken_back
    }

    pub(super) fn total(&mut self, shares_transport: bool) -> TxTotal {
        if let Some(echoes) = &mut self.echoes {
            echoes.stop();
        }
        self.note_echoes();
        self.note_queue_times();
        let TxCounts {
            offered, refused, ..
        } = &*self.sender.counts;
        let mut total = TxTotal {
            offered: offered.load(Ordering::Relaxed) - self.taken_back,
            refused: refused.load(Ordering::Relaxed),
            rtt_ns: self.rtts.total(),
            loss_rtt_ns: self.loss_rtts.spread(),
            queue_ns: self.queue.total(),
            user_ns: self.user.total(),
            echo_wait_ns: self.receiver.total(),
            stamps: self.echoes.as_ref().and_then(|_| self.sender.flow.stamps()),
            samples: self.samples,
            broken: self.sender.failure().map(|e| e.to_string()),
            shares_transport,
            schedule: self.sender.achieved(),
            connection: self.sender.flow.negotiated(),
            buffers: self.sender.flow.buffers(),
            ..TxTotal::default()
        };
        let Some(now) = self.sender.flow.counters() else {
            return total;
        };
        let before = &self.before;
        total.left = now.left - before.left;
        total.dropped_ccid = now.limited - before.limited;
        total.dropped_queue =
            now.taken - before.taken - self.taken_back - total.left - total.dropped_ccid;
        total.acked = now.fates.acked - before.fates.acked;
        total.marked = now.fates.marked - before.fates.marked;
        total.rx_dropped = now.fates.rx_dropped - before.fates.rx_dropped;
        total.lost = now.fates.lost - before.fates.lost;
        total.unreported = now.fates.unreported - before.fates.unreported + now.fates.in_flight;
        forget_tokens(&mut total);
        total.dropped_host = now.dropped_host - before.dropped_host;
        total.wire_bytes = now.wire_bytes - before.wire_bytes;
        total.tcp = now
            .tcp
            .zip(before.tcp)
            .map(|(now, before)| now.since(before));
        total.safe_udp = (self.history.as_ref()).map(|history| history.total(total.dropped_ccid));
        if let Some(ended) = total.safe_udp.as_ref().and_then(|of| of.ended.as_ref()) {
            total.broken = Some(ended.to_string());
        }
        total
    }
}

impl Counters {
    /// The totals that a history of CCID 248 needs.
    pub(super) fn counted(&self) -> Counted {
        Counted {
            limited: self.limited,
            lost: self.fates.lost,
        }
    }
}

/// A token whose fate was still open when the test began is no datagram of the test; it was most
/// likely lost, or came in the end.
fn forget_tokens(total: &mut TxTotal) {
    let told = total.acked + total.marked + total.rx_dropped + total.lost + total.unreported;
    let mut tokens = told.saturating_sub(total.left);
    for fate in [&mut total.lost, &mut total.unreported, &mut total.acked] {
        let part = tokens.min(*fate);
        *fate -= part;
        tokens -= part;
    }
}
