//! CCID 2, TCP-like congestion control (RFC 4341): a window sender that also governs how often the
//! peer acknowledges, and a receiver that counts to the Ack Ratio.
//!
//! The Ack Vectors that CCID 2 lives on are the connection's (`conn/ack_vector.rs`).

use super::ack_ratio::AckRatio;
use super::ack_timing::AckTiming;
use super::config::CcConfig;
use super::law::Law;
use super::one_way::{self, Times};
use super::window::{Sent, WindowSender};
use super::window_rules::Ccid2Rules;
use super::{
    AckDue, Arrival, Ccid, Dependency, Feedback, HcReceiver, HcSender, OutgoingAck, Permit, Run,
    Signal, Snapshot,
};
use crate::seq::Seq;
use crate::time::{Instant, Nanos};
use crate::wire::OptionWriter;
use crate::wire::features::Feature;
use core::time::Duration;

const ACK_RATIO: u8 = Feature::AckRatio.number();
/// Acknowledgements are acknowledged this often per window (`docs/design.md`, decision 8c) …
const ACKS_OF_ACKS_PER_WINDOW: u32 = 4;
/// … and after this many data packets at the latest.
const ACK_OF_ACKS_PACKETS: u32 = 128;

/// CCID 2.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ccid2;

impl Ccid for Ccid2 {
    fn number(&self) -> u8 {
        2
    }

    fn name(&self) -> &'static str {
        "tcp-like"
    }

    /// With the law of the settings: Reno, unless this end chose another (docs/design.md, decision 9).
    fn sender(&self, config: &CcConfig) -> Box<dyn HcSender> {
        Box::new(Sender::new(config, config.law.build()))
    }

    fn receiver(&self, config: &CcConfig) -> Box<dyn HcReceiver> {
        Box::new(Receiver::new(config))
    }

    fn has_law(&self) -> bool {
        true
    }

    fn needs(&self) -> &[Dependency] {
        // 4341-4-1: the receiver sends Ack Vectors.
        const {
            &[Dependency {
                feature: Feature::SendAckVector,
                at_sender: false,
                value: 1,
                is_mandatory: true,
            }]
        }
    }
}

/// The sending half of CCID 2, with any law.
pub(crate) struct Sender {
    window: WindowSender,
    ratio: AckRatio,
    is_strict: bool,
    /// Data packets sent since the peer's acknowledgements were last acknowledged.
    sent_since_ack: u32,
    /// Acknowledgements arrived since then.
    has_new_acks: bool,
    wants_ack: bool,
}

impl Sender {
    /// A sender governed by `law`.
    pub(crate) fn new(config: &CcConfig, law: Box<dyn Law>) -> Self {
        let window = WindowSender::new(config, law, Ccid2Rules);
        let cwnd = window.window().packets();
        Self {
            window,
            ratio: AckRatio::new(cwnd, config.ack_ratio, config.is_strict),
            is_strict: config.is_strict,
            sent_since_ack: 0,
            has_new_acks: false,
            wants_ack: false,
        }
    }

    fn cwnd(&self) -> u32 {
        self.window.window().packets()
    }

    /// 4341-6.2-1: the peer can drop Ack Vector state only after we acknowledge it.
    fn acknowledge_acks(&mut self, sent: u32) {
        self.sent_since_ack += sent;
        let every = if self.is_strict {
            self.cwnd()
        } else {
            (self.cwnd() / ACKS_OF_ACKS_PER_WINDOW).clamp(1, ACK_OF_ACKS_PACKETS)
        };
        if self.has_new_acks && self.sent_since_ack >= every {
            // Packets of the run behind the one that reached `every` count for the next time.
            self.sent_since_ack = (self.sent_since_ack - every).min(sent - 1);
            self.has_new_acks = false;
            self.wants_ack = true;
        }
    }
}

impl HcSender for Sender {
    fn permit(&self, now: Instant, pipe: u32) -> Permit {
        self.window.permit(now, pipe)
    }

    fn prepare(&mut self, _now: Instant, _options: &mut OptionWriter) -> u8 {
        // 4341-3-1: CCID 2 sets CCVal to 0.
        0
    }

    fn on_sent(&mut self, run: &Run) {
        let sent = Sent {
            now: run.now,
            seq: run.last,
            packets: run.packets,
            pipe: run.pipe,
        };
        self.window.on_sent(sent, self.ratio.in_use());
        self.acknowledge_acks(run.packets);
    }

    fn on_feedback(&mut self, now: Instant, fb: &Feedback<'_>) {
        self.has_new_acks = true;
        if self.window.wants().one_way
            && let Some(times) = Times::of(fb)
        {
            self.window.on_times(times);
        }
        self.window.on_feedback(now, fb, self.ratio.in_use());
        // 4341-6.1.1-1
        let cwnd = self.cwnd();
        self.ratio.on_feedback(fb.round, fb.acks_lost, cwnd);
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.window.poll_timeout()
    }

    fn on_timeout(&mut self, now: Instant) -> bool {
        self.window.on_timeout(now)
    }

    fn poll_signal(&mut self) -> Option<Signal> {
        if core::mem::take(&mut self.wants_ack) {
            return Some(Signal::SendAck);
        }
        let value = self.ratio.poll(self.cwnd())?;
        Some(Signal::Change {
            feature: ACK_RATIO,
            value: u64::from(value),
        })
    }

    fn on_rtt_hint(&mut self, _now: Instant, rtt: Duration) {
        self.window.on_rtt_hint(rtt);
    }

    fn on_mps(&mut self, _mps: usize) {}

    fn on_feature(&mut self, feature: u8, value: u64) {
        if feature == ACK_RATIO {
            self.ratio.on_confirm(value);
        }
    }

    fn packets_per_rtt(&self) -> Option<f64> {
        Some(self.window.window().cwnd)
    }

    fn snapshot(&self) -> Snapshot {
        let mut snapshot = self.window.snapshot();
        let ratio = f64::from(self.ratio.in_use());
        snapshot.inner.push(("ack_ratio", ratio));
        snapshot
    }
}

/// The receiving half of CCID 2: one acknowledgement per Ack Ratio data packets, sooner where
/// congestion shows, and never later than the delayed-ack timer.
#[derive(Debug)]
struct Receiver {
    timing: AckTiming,
    delayed_ack: Nanos,
    /// The time of arrival is not reported.
    is_strict: bool,
}

impl Receiver {
    fn new(config: &CcConfig) -> Self {
        Self {
            timing: AckTiming::new(config, config.is_strict),
            delayed_ack: config.delayed_ack.into(),
            is_strict: config.is_strict,
        }
    }
}

impl HcReceiver for Receiver {
    fn on_packet(&mut self, p: &Arrival<'_>) {
        self.timing.on_packet(p);
    }

    fn ack_due(&self, now: Instant) -> AckDue {
        self.timing.due(now, self.delayed_ack)
    }

    fn ack_options_len(&self, _now: Instant) -> usize {
        if self.is_strict { 0 } else { one_way::LEN }
    }

    fn on_ack(&mut self, ack: &mut OutgoingAck<'_>) -> bool {
        // 4341-10-1: CCID 2 has no options but those for experiments; its Ack Vectors are the
        // connection's.
        if !self.is_strict {
            self.timing.newest().push(ack.ack, ack.options);
        }
        self.timing.on_ack();
        true
    }

    fn on_rollback(&mut self, _newest: Seq) {
        self.timing.on_rollback();
    }

    fn on_feature(&mut self, feature: u8, value: u64) {
        if feature == ACK_RATIO {
            self.timing.on_ratio(value);
        }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            rtt: Some(self.timing.rtt().duration()),
            inner: vec![
                ("ack_ratio", f64::from(self.timing.ratio())),
                ("pending", f64::from(self.timing.pending())),
            ],
            ..Snapshot::default()
        }
    }
}

#[cfg(test)]
mod tests;
