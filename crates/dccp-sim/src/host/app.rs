//! The application's side of one connection: its queues, its source, its reading.

use super::watch::Sent;
use crate::report::Report;
use crate::source::{
    App, AtSender, Closing, Datagram, Log, Message, Reading, Ring, RunningSource, Stamp,
};
use core::time::Duration;
use dccp_proto::Instant;
use dccp_proto::conn::stats::Stats;
use dccp_proto::queue::{
    Accepted, Delivery, Fate, Inbox, Offer, Outbox, QueueLabel, SendQueue, Slot, WhenFull,
};
use dccp_proto::wire::{Payload, Place};
use std::collections::VecDeque;

/// Fates that the send queue stores until they are noted, which is after each of its operations.
const FATES: usize = 64;

/// The number of a datagram that is not the source's.
const REPLY: u64 = u64::MAX;

/// One end of a connection above the protocol.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) send: Outgoing,
    pub(super) receive: Incoming,
    /// Counters of the connection when it closed.
    last_stats: Option<Box<Stats>>,
}

/// The sending half.
#[derive(Debug)]
pub(super) struct Outgoing {
    queue: SendQueue,
    ring: Ring,
    /// By slot: bytes of datagrams, where they are not all zeros, and their numbers in the record.
    bytes: Vec<Vec<u8>>,
    numbers: Vec<u64>,
    /// Slots that can be used again.
    free: Vec<u32>,
    pub(super) log: Log,
    source: Option<RunningSource>,
    /// The maximum packet size; `None` after a datagram was too big, until the new size is known.
    mps: Option<usize>,
    replies: VecDeque<Message>,
    closing: Closing,
    sent: u64,
    sent_bytes: u64,
    overflowed: u64,
}

/// The receiving half.
#[derive(Debug)]
pub(super) struct Incoming {
    app: App,
    buffer: VecDeque<Message>,
    next_read: Option<Instant>,
    /// For the sending half: datagrams to send back, and bytes that arrived since it last asked.
    replies: VecDeque<Message>,
    fresh: usize,
    pub(super) log: Log,
    pub(super) report: Report,
}

impl Running {
    /// An application on a connection that is not open yet.
    pub(super) fn new(app: App) -> Self {
        Self {
            send: Outgoing {
                queue: SendQueue::new(app.ring.room, FATES),
                ring: app.ring,
                bytes: Vec::new(),
                numbers: Vec::new(),
                free: Vec::new(),
                log: Log::new(app.logs),
                source: None,
                mps: None,
                replies: VecDeque::new(),
                closing: app.closing,
                sent: 0,
                sent_bytes: 0,
                overflowed: 0,
            },
            receive: Incoming {
                log: Log::new(app.logs),
                app,
                buffer: VecDeque::new(),
                next_read: None,
                replies: VecDeque::new(),
                fresh: 0,
                report: Report::default(),
            },
            last_stats: None,
        }
    }

    /// Datagrams and bytes that have left so far.
    pub(super) const fn sent(&self) -> Sent {
        Sent {
            datagrams: self.send.sent,
            bytes: self.send.sent_bytes,
        }
    }

    /// Counters of the connection when it closed; all 0 before.
    pub(super) fn last_stats(&self) -> Stats {
        self.last_stats.as_deref().copied().unwrap_or_default()
    }

    /// The application of an accepted connection becomes known after the connection itself.
    pub(super) fn set_app(&mut self, app: App) {
        self.send.closing = app.closing;
        self.send.ring = app.ring;
        self.send.queue.set_capacity(app.ring.room);
        self.send.log.switch(app.logs);
        self.receive.log.switch(app.logs);
        self.receive.app = app;
    }

    pub(super) fn open(&mut self, now: Instant) {
        self.receive.report.opened = Some(now);
        self.send.source = Some(RunningSource::new(&self.receive.app, now));
    }

    pub(super) fn set_mps(&mut self, mps: usize) {
        self.send.mps = Some(mps);
    }

    pub(super) fn closes_after_peer(&self) -> bool {
        self.send.closing != Closing::Never
    }

    /// CCID 248 advises this rate.
    pub(super) fn advise(&mut self, now: Instant, bits_per_s: u64) {
        if self.receive.app.obeys
            && let Some(source) = &mut self.send.source
        {
            source.slow_to(now, bits_per_s);
        }
    }

    /// When [`run`](Self::run) is due next. A source that is always ready needs no timer, because the connection
    /// pulls from it.
    pub(super) fn next_at(&self) -> Option<Instant> {
        let source = self.send.source.as_ref().filter(|s| !s.is_greedy());
        let written = source.and_then(RunningSource::next_at);
        [written, self.receive.next_read]
            .into_iter()
            .flatten()
            .min()
    }

    /// Writes and reads the datagrams that are due. Returns whether the send queue was empty and is no more. If it
    /// was not empty, the new datagrams wait behind others for a permit.
    pub(super) fn run(&mut self, now: Instant) -> bool {
        self.receive.read(now);
        let was_empty = self.send.queue.is_empty();
        if !self.receive.replies.is_empty() {
            self.send.replies.append(&mut self.receive.replies);
        }
        let fresh = core::mem::take(&mut self.receive.fresh);
        if let Some(source) = &mut self.send.source {
            source.on_received(now, fresh);
        }
        self.send.fill(now);
        was_empty && !self.send.queue.is_empty()
    }

    /// Whether the application has sent all its data and closes then.
    pub(super) fn wants_close(&self) -> bool {
        let source = self.send.source.as_ref();
        let is_done = source.is_some_and(|s| s.next_at().is_none());
        is_done && self.send.closing == Closing::WhenSent && self.send.replies.is_empty()
    }

    /// The report of this end.
    pub(super) fn report(&self) -> Report {
        let Outgoing {
            sent,
            sent_bytes,
            overflowed,
            ..
        } = self.send;
        Report {
            sent,
            sent_bytes,
            overflowed,
            unsent: self.send.queue.counts().withdrawn,
            fates: *self.send.queue.counts(),
            in_flight: self.send.queue.open(),
            ..self.receive.report.clone()
        }
    }

    /// Ends the source, the echoes and the answers. (An endless source could never be withdrawn completely.)
    pub(super) fn leave(&mut self) {
        self.send.source = None;
        self.send.replies.clear();
        self.receive.replies.clear();
        self.receive.app.echo = false;
        self.receive.app.answer = 0;
    }

    /// The connection is over: queued datagrams are withdrawn.
    pub(super) fn end(&mut self, now: Instant, stats: Option<&Stats>) {
        self.last_stats = stats.copied().map(Box::new);
        self.send.source = None;
        self.send.queue.withdraw_all(now);
        self.receive.next_read = None;
    }

    /// # Errors
    /// The broken invariant.
    pub(super) fn check(&self) -> Result<(), String> {
        self.send.queue.check();
        let held = self.receive.buffer.len();
        if held > self.receive.app.receive_buffer {
            return Err(format!("{held} datagrams in the receive buffer"));
        }
        if self.send.queue.len() > self.send.ring.room {
            return Err(format!(
                "{} datagrams in the send queue",
                self.send.queue.len()
            ));
        }
        Ok(())
    }
}

impl Outgoing {
    /// Moves what the application has by now into the send queue.
    fn fill(&mut self, now: Instant) {
        while self.queue.has_room()
            && let Some(message) = self.replies.pop_front()
        {
            self.push(now, message, REPLY, QueueLabel::default());
        }
        let is_greedy = self.source.as_ref().is_some_and(RunningSource::is_greedy);
        loop {
            if is_greedy && (self.mps.is_none() || !self.queue.has_room()) {
                return;
            }
            let mps = self.mps.unwrap_or(usize::MAX);
            let Some(datagram) = self.source.as_mut().and_then(|s| s.poll(now, mps)) else {
                return;
            };
            self.offer(now, datagram);
        }
    }

    /// The source offers a datagram. A paced source does not wait for room.
    fn offer(&mut self, now: Instant, datagram: Datagram) {
        if self.ring.prefers_important {
            self.log.offer(&datagram, AtSender::Waiting);
            let label = QueueLabel {
                priority: datagram.class,
                deadline: self.ring.lifetime.map(|lifetime| datagram.made + lifetime),
                key: None,
            };
            self.push(now, datagram.message, datagram.number, label);
        } else if self.queue.has_room() {
            self.log.offer(&datagram, AtSender::Waiting);
            self.push(
                now,
                datagram.message,
                datagram.number,
                QueueLabel::default(),
            );
        } else {
            self.log.offer(&datagram, AtSender::Dropped);
            self.overflowed += 1;
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "slots in use are bounded by IN_FLIGHT_PACKETS"
    )]
    fn push(&mut self, now: Instant, message: Message, number: u64, label: QueueLabel) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.bytes.push(Vec::new());
            self.numbers.push(REPLY);
            self.bytes.len() as u32 - 1
        });
        let offer = Offer {
            slot: Slot(slot),
            len: message.len(),
            is_zeros: matches!(message, Message::Zeros(_)),
        };
        if let Message::Bytes(bytes) = message {
            self.bytes[slot as usize] = bytes;
        }
        self.numbers[slot as usize] = number;
        let pushed = self
            .queue
            .push_with(now, offer, label, WhenFull::DropLowestPriority);
        pushed.expect("the policy makes room");
        self.settle();
    }

    /// Frees the slots of datagrams that have their fates, and records those that were dropped.
    fn settle(&mut self) {
        while let Some(decided) = self.queue.poll_fate() {
            let slot = decided.slot.0 as usize;
            if matches!(
                decided.fate,
                Fate::Overflowed | Fate::Expired | Fate::Limited | Fate::TooBig
            ) {
                self.log.set(self.numbers[slot], AtSender::Dropped);
            }
            self.bytes[slot].clear();
            self.free.push(decided.slot.0);
        }
    }
}

impl Outbox for Outgoing {
    fn peek(&mut self, now: Instant) -> Option<Offer> {
        if self.queue.is_empty() {
            self.fill(now);
        }
        if self.ring.lifetime.is_some() {
            self.expire(now);
        }
        self.queue.peek()
    }

    fn is_important(&mut self) -> bool {
        self.queue.is_first_important()
    }

    fn expire(&mut self, now: Instant) -> Option<Instant> {
        while self.queue.expire(now) {
            self.settle();
        }
        self.queue.next_expiry()
    }

    fn claim_into(&mut self, now: Instant, slot: Slot, place: &mut Place<'_>) -> bool {
        let len = self.queue.peek().map_or(0, |o| o.len);
        if !self.queue.claim(slot) {
            return false;
        }
        if !place.is_empty() {
            place.fill(&self.bytes[slot.0 as usize]);
        }
        self.log
            .set(self.numbers[slot.0 as usize], AtSender::Left(now));
        self.sent += 1;
        self.sent_bytes += len as u64;
        true
    }

    fn refuse(&mut self, now: Instant, slot: Slot, fate: Fate) {
        match fate {
            Fate::TooBig => self.mps = None,
            // The connection is over: a source that always has more would offer it for ever.
            Fate::Withdrawn => self.source = None,
            _ => {}
        }
        self.queue.refuse(now, slot, fate);
        self.settle();
    }

    fn on_fate(&mut self, now: Instant, slot: Slot, fate: Fate) {
        self.queue.on_fate(now, slot, fate);
        self.settle();
    }
}

impl Incoming {
    fn read(&mut self, now: Instant) {
        while self.next_read.is_some_and(|at| at <= now) {
            if let Some(message) = self.buffer.pop_front() {
                self.take(now, &message);
            }
            self.next_read = self.reading_time().map(|time| now + time);
        }
    }

    /// The time that the application takes to read the first datagram of its buffer.
    fn reading_time(&self) -> Option<Duration> {
        let first = self.buffer.front()?;
        let time = match self.app.reading {
            Reading::Every(pause) => pause,
            Reading::AtRate(rate) => rate.time_for(first.len() as u64),
            Reading::AtOnce | Reading::Never | Reading::NotListening => return None,
        };
        Some(time.max(Duration::from_nanos(1)))
    }

    /// Whether the application is slow to read; `None`: it does not report that (4340-11.6-2: the API can set it).
    pub(super) fn is_slow(&self) -> Option<bool> {
        let is_slow = || 2 * self.buffer.len() >= self.app.receive_buffer;
        self.app.slow_receiver.then(is_slow)
    }

    /// The application takes a datagram.
    fn take(&mut self, now: Instant, message: &Message) {
        self.report.on_message(now, message.payload(), &self.app);
        if self.app.logs
            && let Payload::Bytes(bytes) = message.payload()
            && let Some(stamp) = Stamp::read(bytes)
        {
            self.log.arrive(now, stamp.number);
        }
        self.replies.extend(self.app.replies(message.payload()));
        self.fresh += message.len();
    }
}

impl Inbox for Incoming {
    fn deliver(&mut self, datagram: Payload<'_>, meta: Delivery) -> Accepted {
        match self.app.reading {
            Reading::AtOnce => self.take(meta.arrived, &datagram.into()),
            Reading::NotListening => return Accepted::NotListening,
            Reading::Every(_) | Reading::AtRate(_) | Reading::Never
                if self.buffer.len() >= self.app.receive_buffer =>
            {
                self.report.refused += 1;
                return Accepted::Full;
            }
            Reading::Every(_) | Reading::AtRate(_) | Reading::Never => {
                self.buffer.push_back(datagram.into());
                if self.next_read.is_none() {
                    let time = self.reading_time();
                    self.next_read = time.map(|time| meta.arrived + time);
                }
            }
        }
        Accepted::Yes
    }
}
