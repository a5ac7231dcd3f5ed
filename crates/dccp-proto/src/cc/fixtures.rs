//! Shared fixtures for tests of congestion controls: settings, an empty feedback, and a network of
//! one link in virtual time.

use super::config::CcConfig;
use super::delivery::{DeliveryRate, Stamp};
use super::law::LawConfig;
pub(crate) use super::law::testing::{START, at, ms};
use super::registry::Ccids;
use super::safeudp::SafeUdpConfig;
use super::{
    AckDue, Arrival, Count, Drops, Feedback, HcReceiver, HcSender, OutgoingAck, Permit, Run, Signal,
};
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::{Ecn, OptionWriter, Options, PacketType};
use core::num::NonZeroU128;
use core::time::Duration;
use std::collections::VecDeque;

pub(crate) const fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

/// Settings without pacing, round trip or floors.
pub(crate) fn config() -> CcConfig {
    CcConfig {
        now: START,
        mps: 1000,
        law: LawConfig::default(),
        initial_window: None,
        max_window: u32::MAX,
        max_rate: None,
        safe_udp: SafeUdpConfig::default(),
        is_paced: false,
        ack_ratio: None,
        is_strict: false,
        rto_min: Duration::from_millis(200),
        granularity: Duration::ZERO,
        delayed_ack: Duration::from_millis(200),
        rtt: None,
    }
}

/// An acknowledgement that reports nothing.
pub(crate) fn feedback() -> Feedback<'static> {
    Feedback {
        seq: Seq::ZERO,
        ack: Seq::ZERO,
        acked: Count::default(),
        marked: Count::default(),
        lost: Count::default(),
        congestion: None,
        drops: Drops::default(),
        slow_receiver: false,
        rtt: None,
        ack_sent_at: None,
        ack_ccval: None,
        pipe: 0,
        pipe_max: 0,
        delivered_rate: None,
        is_app_limited: false,
        round: 0,
        acks_lost: 0,
        mean_size: 1000,
        gss: Seq::ZERO,
        options: Options::EMPTY,
        elapsed: None,
    }
}

/// A data packet of 1000 bytes, as a receiver takes it.
pub(crate) fn arrival(now: Instant, seq: u64) -> Arrival<'static> {
    Arrival {
        now,
        seq: Seq::new(seq),
        ccval: 0,
        ecn: Ecn::Ect0,
        packet_type: PacketType::Data,
        is_data: true,
        payload_len: 1000,
        is_short: false,
        ndp_count: None,
        rtt: None,
        options: Options::EMPTY,
    }
}

/// An acknowledgement without data, as the receiver of the other half-connection takes it.
pub(crate) fn pure_ack(now: Instant, seq: u64) -> Arrival<'static> {
    Arrival {
        packet_type: PacketType::Ack,
        is_data: false,
        payload_len: 0,
        ..arrival(now, seq)
    }
}

/// A count of `n` packets.
pub(crate) fn packets(n: u32) -> Count {
    Count {
        packets: n,
        bytes: 1000 * u64::from(n),
    }
}

/// Whether two numbers agree to five digits, as the pinned tables require.
pub(crate) fn is_near(value: f64, expected: f64) -> bool {
    (value - expected).abs() <= 1e-5 * expected.abs()
}

/// The fate of a data packet in the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fate {
    Arrives,
    Lost,
    Marked,
}

/// A data packet that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) seq: Seq,
    pub(crate) at: Instant,
    pub(crate) ccval: u8,
    stamp: Stamp,
    is_acked: bool,
}

/// An acknowledgement on its way.
#[derive(Clone, Debug)]
struct AckPacket {
    arrives: Instant,
    ack: Seq,
    elapsed: Duration,
    received: Vec<(Seq, bool)>,
    options: Vec<u8>,
}

/// A run of one packet with this number.
pub(crate) fn single(now: Instant, seq: u64) -> Run {
    Run {
        now,
        packets: 1,
        last: Seq::new(seq),
        payload_len: 1000,
        pipe: 0,
        has_more: true,
        is_short: false,
    }
}

/// A sender, a link with a rate, a delay and a queue, and a receiver.
pub(crate) struct Net {
    pub(crate) now: Instant,
    pub(crate) sender: Box<dyn HcSender>,
    pub(crate) receiver: Box<dyn HcReceiver>,
    /// One-way delay; the way back has it too.
    pub(crate) delay: Duration,
    /// Time that the link needs for a packet.
    pub(crate) service: Duration,
    /// Packets that the queue holds.
    pub(crate) queue_max: u64,
    /// The fate of the n-th data packet, from 0.
    pub(crate) fate: Box<dyn FnMut(u64) -> Fate>,
    /// Events are seen at multiples of this after the start only.
    pub(crate) tick: Duration,
    /// Packets of a run, at most.
    pub(crate) run_max: u32,
    /// Runs sent.
    pub(crate) runs: u64,
    /// Time between datagrams of the application; zero: it always has one.
    app_interval: Duration,
    pub(crate) is_app_silent: bool,
    pub(crate) are_acks_lost: bool,
    /// The drops that every acknowledgement reports for the receiver's host.
    pub(crate) drops: Drops,
    pub(crate) is_receiver_slow: bool,
    /// Every packet sent.
    pub(crate) log: Vec<Sent>,
    pub(crate) signals: Vec<Signal>,
    pub(crate) acks: u64,
    pub(crate) timeouts: u64,
    in_flight: VecDeque<Sent>,
    forward: VecDeque<(Instant, Seq, u8, Ecn)>,
    backward: VecDeque<AckPacket>,
    link_free: Instant,
    app_next: Instant,
    received: Vec<(Seq, bool)>,
    greatest: Option<(Seq, Instant)>,
    pipe: u32,
    pipe_max: u32,
    round: (u64, Seq),
    delivery: DeliveryRate,
}

impl Net {
    /// A network with 10 ms each way, no queue and no loss.
    pub(crate) fn new(ccid: u8, config: &CcConfig) -> Self {
        let ccids = Ccids::default();
        let ccid = ccids.find(ccid).expect("a CCID that we have");
        Self {
            now: config.now,
            sender: ccid.sender(config),
            receiver: ccid.receiver(config),
            delay: ms(10),
            service: Duration::ZERO,
            queue_max: u64::MAX,
            fate: Box::new(|_| Fate::Arrives),
            tick: Duration::ZERO,
            run_max: u32::MAX,
            runs: 0,
            app_interval: Duration::ZERO,
            is_app_silent: false,
            are_acks_lost: false,
            drops: Drops::default(),
            is_receiver_slow: false,
            log: Vec::new(),
            signals: Vec::new(),
            acks: 0,
            timeouts: 0,
            in_flight: VecDeque::new(),
            forward: VecDeque::new(),
            backward: VecDeque::new(),
            link_free: config.now,
            app_next: config.now,
            received: Vec::new(),
            greatest: None,
            pipe: 0,
            pipe_max: 0,
            round: (0, Seq::ZERO),
            delivery: DeliveryRate::default(),
        }
    }

    /// Lets time pass until `end`; `look` sees the network after each event.
    pub(crate) fn run(&mut self, end: Instant, mut look: impl FnMut(&Self)) {
        while let Some(next) = self.next_event().filter(|&at| at <= end) {
            self.now = self.now.max(self.seen(next));
            self.step();
            look(self);
        }
        self.now = end;
        self.send();
    }

    /// When an event is seen.
    fn seen(&self, event: Instant) -> Instant {
        let Some(tick) = NonZeroU128::new(self.tick.as_nanos()) else {
            return event;
        };
        let ticks = (event - START).as_nanos().div_ceil(tick.get());
        START + self.tick * u32::try_from(ticks).expect("a short run")
    }

    /// From now on the application has a datagram every `interval`.
    pub(crate) fn limit_app(&mut self, interval: Duration) {
        self.app_interval = interval;
        self.app_next = self.now;
    }

    pub(crate) fn cwnd(&self) -> f64 {
        self.sender.snapshot().cwnd_packets.unwrap_or(f64::NAN)
    }

    pub(crate) fn rate(&self) -> f64 {
        self.sender
            .snapshot()
            .rate
            .unwrap_or_default()
            .bytes_per_s()
    }

    fn next_event(&self) -> Option<Instant> {
        let permit = if self.is_app_silent {
            None
        } else {
            match self.sender.permit(self.now.max(self.app_next), self.pipe) {
                Permit::Now { .. } => Some(self.app_next),
                Permit::At(at) => Some(at.max(self.app_next)),
                Permit::OnFeedback => None,
            }
        };
        let ack = match self.receiver.ack_due(self.now) {
            AckDue::Now => Some(self.now),
            AckDue::At(at) => Some(at),
            AckDue::No => None,
        };
        [
            permit,
            ack,
            self.sender.poll_timeout(),
            self.forward.front().map(|p| p.0),
            self.backward.front().map(|a| a.arrives),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    fn step(&mut self) {
        if let Some(packet) = self.forward.pop_front_if(|p| p.0 <= self.now) {
            self.deliver(packet);
        }
        if let Some(ack) = self.backward.pop_front_if(|a| a.arrives <= self.now) {
            self.take_ack(&ack);
        }
        if self.sender.poll_timeout().is_some_and(|at| at <= self.now) {
            self.timeouts += 1;
            if self.sender.on_timeout(self.now) {
                self.in_flight.clear();
                self.pipe = 0;
            }
        }
        if self.receiver.ack_due(self.now) == AckDue::Now {
            self.send_ack();
        }
        while let Some(signal) = self.sender.poll_signal() {
            if let Signal::Change { feature, value } = signal {
                self.sender.on_feature(feature, value);
                self.receiver.on_feature(feature, value);
            }
            self.signals.push(signal);
        }
        self.send();
    }

    fn send(&mut self) {
        while self.has_data()
            && let Permit::Now { packets } = self.sender.permit(self.now, self.pipe)
        {
            self.send_run(packets.min(self.run_max));
        }
    }

    /// Sends at most `most` packets together.
    fn send_run(&mut self, most: u32) {
        let (now, pipe) = (self.now, self.pipe);
        let ccval = self.sender.prepare(now, &mut OptionWriter::new(100));
        let mut packets = 0;
        while packets < most && self.has_data() {
            self.app_next += self.app_interval;
            self.launch(ccval);
            packets += 1;
        }
        self.sender.on_sent(&Run {
            packets,
            pipe,
            has_more: self.has_data(),
            ..single(now, self.log.len() as u64)
        });
        self.runs += 1;
    }

    fn has_data(&self) -> bool {
        !self.is_app_silent && self.app_next <= self.now
    }

    /// A packet is on its way.
    fn launch(&mut self, ccval: u8) {
        let n = self.log.len() as u64;
        let packet = Sent {
            seq: Seq::new(n + 1),
            at: self.now,
            ccval,
            stamp: self.delivery.on_send(self.now, self.pipe == 0),
            is_acked: false,
        };
        self.log.push(packet);
        self.in_flight.push_back(packet);
        self.pipe += 1;
        self.pipe_max = self.pipe_max.max(self.pipe);
        let start = self.link_free.max(self.now);
        let waits = (start - self.now).as_nanos() / self.service.as_nanos().max(1);
        let fate = (self.fate)(n);
        if fate == Fate::Lost || waits > u128::from(self.queue_max) {
            return;
        }
        self.link_free = start + self.service;
        let ecn = if fate == Fate::Marked {
            Ecn::Ce
        } else {
            Ecn::Ect0
        };
        let arrives = self.link_free + self.delay;
        self.forward
            .push_back((arrives, packet.seq, packet.ccval, ecn));
    }

    fn deliver(&mut self, (now, seq, ccval, ecn): (Instant, Seq, u8, Ecn)) {
        self.received.push((seq, ecn == Ecn::Ce));
        self.greatest = Some((seq, now));
        self.receiver.on_packet(&Arrival {
            now,
            seq,
            ccval,
            ecn,
            packet_type: PacketType::Data,
            is_data: true,
            payload_len: 1000,
            is_short: false,
            ndp_count: None,
            rtt: None,
            options: Options::EMPTY,
        });
    }

    fn send_ack(&mut self) {
        let Some((ack, arrived)) = self.greatest else {
            return;
        };
        let mut options = OptionWriter::new(200);
        let fits = self.receiver.on_ack(&mut OutgoingAck {
            now: self.now,
            seq: Seq::new(self.acks),
            ack,
            has_data: false,
            options: &mut options,
        });
        assert!(fits);
        self.acks += 1;
        let received = core::mem::take(&mut self.received);
        if !self.are_acks_lost {
            self.backward.push_back(AckPacket {
                arrives: self.now + self.delay,
                ack,
                elapsed: self.now - arrived,
                received,
                options: options.as_slice().to_vec(),
            });
        }
    }

    /// Processes an acknowledgement as `conn/in_flight.rs` does, in a network that never reorders.
    fn take_ack(&mut self, ack: &AckPacket) {
        let mut fb = feedback();
        fb.ack = ack.ack;
        fb.elapsed = Some(ack.elapsed);
        fb.options = Options(&ack.options);
        fb.pipe_max = self.pipe_max;
        let mut newest = None;
        (fb.drops, fb.slow_receiver) = (self.drops, self.is_receiver_slow);
        for &(seq, is_marked) in &ack.received {
            let Some(p) = self.in_flight.iter_mut().find(|p| p.seq == seq) else {
                continue;
            };
            p.is_acked = true;
            self.delivery.on_delivered(self.now, 1000);
            newest = Some(*p);
            self.pipe -= 1;
            let count = if is_marked {
                fb.congestion = Some(seq);
                &mut fb.marked
            } else {
                &mut fb.acked
            };
            count.packets += 1;
            count.bytes += 1000;
        }
        if let Some(p) = self.in_flight.iter().find(|p| p.seq == ack.ack) {
            fb.ack_sent_at = Some(p.at);
            fb.ack_ccval = Some(p.ccval);
            fb.rtt = Some(self.now - (p.at + ack.elapsed));
        }
        if let Some(p) = newest {
            fb.delivered_rate = self.delivery.sample(self.now, &p.stamp, p.at);
            fb.is_app_limited = p.stamp.is_app_limited;
        }
        while let Some(p) = self.in_flight.front() {
            if !p.is_acked && ack.ack.distance(p.seq) < 3 {
                break;
            }
            if !p.is_acked {
                fb.congestion = Some(fb.congestion.map_or(p.seq, |seq| seq.max(p.seq)));
                fb.lost.packets += 1;
                self.pipe -= 1;
            }
            self.in_flight.pop_front();
        }
        if ack.ack.is_after(self.round.1) {
            self.round = (self.round.0 + 1, Seq::new(self.log.len() as u64));
        }
        fb.round = self.round.0;
        fb.pipe = self.pipe;
        self.pipe_max = fb.pipe;
        self.sender.on_feedback(self.now, &fb);
    }
}
