//! The machine of a host below its transports: a processor, an interface queue and a clock.
//!
//! ```text
//!   transports ──permission── processor ── interface queue ── link                  sending
//!   transports ── processor ── waiting room ── wake-up ── pool of buffers ── link   receiving
//! ```
//! A machine with the default settings takes no time, and its clock is right.

use crate::loss::Loss;
use core::time::Duration;
use dccp_proto::Instant;
use std::collections::VecDeque;

/// Settings of a host's machine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MachineConfig {
    /// Processor time for each packet sent.
    pub send_cost: Duration,
    /// How many packets a transport hands over at one time.
    pub quantum: usize,
    /// Processor time for each packet received.
    pub receive_cost: Duration,
    /// How long an idle machine takes from the arrival of a packet to the first instruction: wake-up
    /// latency, or an interface that waits for more packets before it interrupts.
    pub wakeup: Duration,
    /// How many packets that wait are handed over at one time (GRO).
    pub batch: usize,
    /// How many received packets may wait for the processor; further ones are lost.
    pub backlog: usize,
    /// Processor time that acknowledgements take beside `receive_cost`.
    pub ack_cost: AckCost,
    /// Memory for received packets; `None`: as much as they need.
    pub memory: Option<Memory>,
    /// How a sender reacts when the queue of its interface is full.
    pub local_congestion: LocalCongestion,
    /// Its clock.
    pub clock: Clock,
}

/// Processor time of an acknowledgement at the sender of the data. The sender first sends what the acknowledgement
/// permits, then the processor is busy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AckCost {
    /// For each acknowledgement.
    pub each: Duration,
    /// For each packet in flight, while TCP recovers from a loss: a kernel that searches its whole window for the
    /// packets that a SACK block names (RFC 3649 §10.4).
    pub tcp_search: Duration,
    /// For each packet in flight of a DCCP connection: a kernel that follows a list of all of them.
    pub dccp_walk: Duration,
}

/// A pool of buffers for received packets. Each packet takes one; all come back together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// How many buffers the pool holds.
    pub buffers: usize,
    /// How often the system refills the pool, counted from time 0; above zero.
    pub refill: Duration,
}

/// Received packets that a host lost before its transports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostLosses {
    /// They found too many others waiting for the processor.
    pub backlog: u64,
    /// They found no buffer.
    pub no_buffer: u64,
}

/// The reaction to a full queue between IP and the interface (Linux: `txqueuelen`). The queue is that of the
/// host's own link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LocalCongestion {
    /// The packet is lost; its sender detects it like any other loss.
    Drop,
    /// As Linux: TCP keeps the packet, treats this as congestion and sends nothing until the next acknowledgement. It
    /// reacts again only when all packets are acknowledged that had left before. DCCP loses the packet, because
    /// Linux counts it as sent. UDP waits.
    Event,
    /// The sender waits for room, and nothing is lost, as in systems of today.
    #[default]
    Wait,
}

/// A clock: `local = offset + time · (1 + drift)`, rounded down to its granularity.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Clock {
    /// How much it is ahead at time zero.
    pub offset: Duration,
    /// How much faster than time it runs, in parts per 10^9; negative: slower.
    pub drift_ppb: i32,
    /// The step of its readings; zero: continuous.
    pub granularity: Duration,
}

impl Default for MachineConfig {
    fn default() -> Self {
        Self {
            send_cost: Duration::ZERO,
            quantum: 64,
            receive_cost: Duration::ZERO,
            wakeup: Duration::ZERO,
            batch: 64,
            backlog: 1000,
            ack_cost: AckCost::default(),
            memory: None,
            local_congestion: LocalCongestion::default(),
            clock: Clock::default(),
        }
    }
}

impl Clock {
    /// The reading of the clock at `time`.
    pub fn at(&self, time: Instant) -> Instant {
        let shown = self.smooth(time.as_nanos());
        let step = clamp(self.granularity.as_nanos()).max(1);
        Instant::from_nanos(shown - shown % step)
    }

    /// The first time at which the clock reads `shown` or later.
    pub fn when(&self, shown: Instant) -> Instant {
        let step = clamp(self.granularity.as_nanos()).max(1);
        let shown = shown.as_nanos().div_ceil(step).saturating_mul(step);
        let past = u128::from(shown.saturating_sub(clamp(self.offset.as_nanos())));
        Instant::from_nanos(clamp((past * BILLION).div_ceil(self.pace())))
    }

    fn smooth(&self, time: u64) -> u64 {
        let run = clamp(u128::from(time) * self.pace() / BILLION);
        run.saturating_add(clamp(self.offset.as_nanos()))
    }

    /// Its nanoseconds in a second of time.
    fn pace(&self) -> u128 {
        let drift = i128::from(self.drift_ppb);
        u128::try_from(1_000_000_000 + drift).unwrap_or(1).max(1)
    }
}

const BILLION: u128 = 1_000_000_000;

fn clamp(ns: u128) -> u64 {
    u64::try_from(ns).unwrap_or(u64::MAX)
}

/// A machine at work. `T` names a received packet.
#[derive(Debug)]
pub(crate) struct Machine<T> {
    config: MachineConfig,
    /// When the processor has done what it was given.
    free_at: Instant,
    /// Received packets that wait for the processor.
    waiting: VecDeque<T>,
    work: Work,
    /// When a transport may send that may not send now.
    sender_waits: Option<Instant>,
    /// How long the processor has worked.
    busy: Duration,
    /// The number of the last refill of the pool, and the buffers taken since.
    taken: (u128, usize),
    losses: HostLosses,
}

/// The work of the processor on received packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Work {
    /// Nothing waits.
    Idle,
    /// It starts on the waiting packets at this time.
    From(Instant),
    /// It processes a batch of this many packets until then.
    Until(Instant, usize),
}

impl<T> Machine<T> {
    pub(crate) fn new(config: MachineConfig) -> Self {
        Self {
            config,
            free_at: Instant::ZERO,
            waiting: VecDeque::new(),
            work: Work::Idle,
            sender_waits: None,
            busy: Duration::ZERO,
            taken: (0, 0),
            losses: HostLosses::default(),
        }
    }

    pub(crate) const fn config(&self) -> &MachineConfig {
        &self.config
    }

    /// How many packets a transport may send now. `room` is how many the interface takes, or when it will take
    /// one. After 0, ask again at [`next_at`](Self::next_at).
    pub(crate) fn may_send(&mut self, now: Instant, room: Result<usize, Instant>) -> usize {
        let free_at = room.err().unwrap_or(now).max(self.free_at);
        self.sender_waits = (free_at > now).then_some(free_at);
        match (room, self.sender_waits) {
            (Ok(room), None) => room.min(self.config.quantum.max(1)),
            _ => 0,
        }
    }

    /// Whether a waiting transport may send now.
    pub(crate) fn takes_sender(&mut self, now: Instant) -> bool {
        self.sender_waits.take_if(|at| *at <= now).is_some()
    }

    /// Accounts the processor time of a packet that leaves.
    pub(crate) fn on_send(&mut self, now: Instant) {
        self.spend(now, self.config.send_cost);
    }

    /// Accounts processor time of a transport.
    pub(crate) fn work(&mut self, now: Instant, time: Duration) {
        self.spend(now, time);
    }

    /// Takes a packet that arrived, or returns it with the reason why it is lost.
    pub(crate) fn receive(&mut self, now: Instant, packet: T) -> Result<(), (T, Loss)> {
        if !self.takes_buffer(now) {
            self.losses.no_buffer += 1;
            return Err((packet, Loss::NoBuffer));
        }
        if self.waiting.len() >= self.config.backlog.max(1) {
            self.losses.backlog += 1;
            return Err((packet, Loss::Backlog));
        }
        self.waiting.push_back(packet);
        if self.work == Work::Idle {
            self.work = Work::From(now + self.config.wakeup);
        }
        Ok(())
    }

    /// Takes a buffer from the pool, if there is one.
    fn takes_buffer(&mut self, now: Instant) -> bool {
        let Some(memory) = self.config.memory else {
            return true;
        };
        let refills = u128::from(now.as_nanos()) / memory.refill.as_nanos().max(1);
        let (last, taken) = self.taken;
        let taken = if refills == last { taken } else { 0 };
        let has_room = taken < memory.buffers;
        self.taken = (refills, taken + usize::from(has_room));
        has_room
    }

    /// When there is something to [`poll`](Self::poll), or a transport that waits may send.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        let received = match self.work {
            Work::Idle => None,
            Work::From(at) => Some(at.max(self.free_at)),
            Work::Until(done, _) => Some(done),
        };
        received.into_iter().chain(self.sender_waits).min()
    }

    /// The next packet whose time has come, all of a batch at the same moment.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<T> {
        if let Work::From(at) = self.work
            && at.max(self.free_at) <= now
        {
            // The batch is formed only now: of all packets that wait.
            let batch = self.waiting.len().min(self.config.batch.max(1));
            let count = u32::try_from(batch).unwrap_or(u32::MAX);
            self.spend(now, self.config.receive_cost * count);
            self.work = Work::Until(self.free_at, batch);
        }
        let Work::Until(done, left) = self.work else {
            return None;
        };
        if done > now {
            return None;
        }
        let packet = self.waiting.pop_front();
        self.work = match (left, self.waiting.is_empty()) {
            (2.., _) => Work::Until(done, left - 1),
            (_, true) => Work::Idle,
            // It is awake: the next batch follows at once.
            (_, false) => Work::From(now),
        };
        packet
    }

    /// The total processor time spent.
    pub(crate) const fn busy(&self) -> Duration {
        self.busy
    }

    /// Received packets that were lost here.
    pub(crate) const fn losses(&self) -> HostLosses {
        self.losses
    }

    fn spend(&mut self, now: Instant, time: Duration) {
        self.busy += time;
        self.free_at = self.free_at.max(now) + time;
    }
}

#[cfg(test)]
mod tests;
