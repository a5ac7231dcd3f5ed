//! The sending half: the rate, and the times of departure that follow from it.

use core::time::Duration;
use dccp_proto::cc::config::CcConfig;
use dccp_proto::cc::{Feedback, HcSender, Permit, Run, Signal, Snapshot};
use dccp_proto::wire::OptionWriter;
use dccp_proto::{Instant, Rate, Seq};

/// Packets in the first round trip.
const INITIAL_PACKETS: f64 = 4.0;
/// The lowest rate in packets per second.
const RATE_MIN: f64 = 1.0;
/// The round-trip time in seconds before the first measurement (4340-3.4-1).
const DEFAULT_RTT: f64 = 0.2;
/// The shortest round-trip time in seconds that the rate follows.
const RTT_MIN: f64 = 0.001;
/// The weight of a new round-trip sample.
const RTT_GAIN: f64 = 0.125;
/// The shortest time without any acknowledgement after which the rate halves.
const SILENCE_MIN: Duration = Duration::from_secs(1);

/// The state of the sending half.
#[derive(Debug)]
pub(super) struct Sender {
    /// Packets per second.
    rate: f64,
    /// Smoothed round-trip time in seconds.
    rtt: f64,
    /// When the next packet may leave.
    next: Instant,
    /// Packets may leave this much late and still count as on time, because timers are no finer.
    granularity: Duration,
    /// Bytes of application data in a packet, for display.
    packet_len: f64,
    /// The rate was the limit: data waited behind the last packet.
    is_limited: bool,
    /// Losses of packets up to this one belong to the congestion event that was answered last.
    recovery: Option<Seq>,
    /// When the rate halves, unless an acknowledgement arrives before.
    silent_at: Option<Instant>,
    /// The number of the round trip when the peer's acknowledgements were last acknowledged.
    acked_round: u64,
    must_ack: bool,
    congestion_events: u64,
}

impl Sender {
    pub(super) fn new(config: &CcConfig) -> Self {
        let rtt = config.rtt.map_or(DEFAULT_RTT, in_seconds);
        Self {
            rate: INITIAL_PACKETS / rtt,
            rtt,
            next: config.now,
            granularity: config.granularity,
            packet_len: 0.0,
            is_limited: false,
            recovery: None,
            silent_at: None,
            acked_round: 0,
            must_ack: false,
            congestion_events: 0,
        }
    }

    fn halve(&mut self) {
        self.rate = (self.rate / 2.0).max(RATE_MIN);
    }

    /// Answers at most one congestion event per round trip.
    fn on_congestion(&mut self, congestion: Seq, newest: Seq) {
        if self.recovery.is_none_or(|last| congestion.is_after(last)) {
            self.recovery = Some(newest);
            self.congestion_events += 1;
            self.halve();
        }
    }

    /// Grows by one packet per round trip: `rate * rtt` packets are acknowledged in it, and the rate of one packet per
    /// round trip is `1 / rtt`.
    fn grow(&mut self, acked: u32) {
        self.rate += f64::from(acked) / (self.rate * self.rtt * self.rtt);
    }

    fn restart_silence(&mut self, now: Instant) {
        let four_round_trips = Duration::from_secs_f64(4.0 * self.rtt);
        self.silent_at = Some(now + four_round_trips.max(SILENCE_MIN));
    }
}

/// A round-trip time as the rate uses it.
fn in_seconds(rtt: Duration) -> f64 {
    rtt.as_secs_f64().max(RTT_MIN)
}

impl HcSender for Sender {
    fn permit(&self, now: Instant, _pipe: u32) -> Permit {
        if now < self.next {
            Permit::At(self.next)
        } else {
            Permit::Now { packets: 1 }
        }
    }

    fn packets_per_rtt(&self) -> Option<f64> {
        Some(self.rate * self.rtt)
    }

    fn prepare(&mut self, _now: Instant, _options: &mut OptionWriter) -> u8 {
        0
    }

    fn on_sent(&mut self, run: &Run) {
        let interval = Duration::from_secs_f64(f64::from(run.packets) / self.rate);
        // Time without data gives no right to a burst later.
        self.next = self.next.max(run.now - self.granularity) + interval;
        self.is_limited = run.has_more;
        if self.silent_at.is_none() {
            self.restart_silence(run.now);
        }
    }

    fn on_feedback(&mut self, now: Instant, fb: &Feedback<'_>) {
        if let Some(sample) = fb.rtt {
            self.rtt += RTT_GAIN * (in_seconds(sample) - self.rtt);
        }
        self.packet_len = u32::try_from(fb.mean_size).map_or(0.0, f64::from);
        if let Some(congestion) = fb.congestion {
            self.on_congestion(congestion, fb.gss);
        } else if self.is_limited && !fb.slow_receiver && fb.drops.receive_buffer == 0 {
            self.grow(fb.acked.packets);
        }
        if fb.pipe == 0 {
            self.silent_at = None;
        } else {
            self.restart_silence(now);
        }
        // Once per round trip, so that the peer can forget the packets that its Ack Vectors report (RFC 4340 §11.4.2).
        if fb.round > self.acked_round {
            self.acked_round = fb.round;
            self.must_ack = true;
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.silent_at
    }

    fn on_timeout(&mut self, _now: Instant) -> bool {
        self.silent_at = None;
        self.halve();
        true
    }

    fn poll_signal(&mut self) -> Option<Signal> {
        core::mem::take(&mut self.must_ack).then_some(Signal::SendAck)
    }

    fn on_rtt_hint(&mut self, _now: Instant, rtt: Duration) {
        self.rtt = in_seconds(rtt);
        self.rate = INITIAL_PACKETS / self.rtt;
    }

    fn on_mps(&mut self, _mps: usize) {}

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            rate: Some(Rate::from_bytes_per_s(self.rate * self.packet_len)),
            rtt: Some(Duration::from_secs_f64(self.rtt)),
            loss_events: Some(self.congestion_events),
            inner: vec![("packets_per_s", self.rate)],
            ..Snapshot::default()
        }
    }
}
