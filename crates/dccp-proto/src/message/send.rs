//! The sending side: messages that wait, their fragments, and their fates.

use super::{HEADER_LEN, Header, LEN_MAX, in_24_bits};
use crate::queue::Fate;
use crate::time::{Instant, Rate};
use core::cmp::Reverse;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Datagrams without a fate that are remembered. Of more the oldest count as sent.
const FRAGMENTS_MAX: usize = 1 << 16;
/// After this time without a fragment the rate is taken for outdated.
const PROBE_AFTER: Duration = Duration::from_millis(100);

/// Names one message of a sender: they are numbered from 0 in the order of sending.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct MessageId(pub u64);

/// The application's wishes for one message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MessageLabel {
    /// Fragments overtake those of messages of lower priority, also of messages that have begun.
    pub priority: u8,
    /// From this time on no fragment is sent. A message that cannot finish in time does not begin, unless nothing has
    /// been sent for 100 ms.
    pub deadline: Option<Instant>,
    /// A newer message with the same key replaces it until it begins.
    pub key: Option<u64>,
    /// Returned in the report.
    pub tag: u64,
}

/// The fate of one message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageReport {
    /// The message.
    pub id: MessageId,
    /// The application's tag.
    pub tag: u64,
    /// Its length in bytes.
    pub len: usize,
    /// [`Fate::Acked`] if the peer received all fragments. Otherwise the fate of the fragment that failed first.
    pub fate: Fate,
    /// When the application sent it.
    pub queued: Instant,
    /// When its first fragment left.
    pub begun: Option<Instant>,
    /// When the fate became known.
    pub told: Instant,
}

/// Bounds of a [`MessageSender`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendLimits {
    /// Messages without a fate.
    pub messages: usize,
    /// Their bytes. One message may exceed this bound if no other is stored.
    pub bytes: usize,
    /// Reports that the application has not fetched. Of more the oldest are dropped.
    pub reports: usize,
}

impl Default for SendLimits {
    fn default() -> Self {
        Self {
            messages: 1024,
            bytes: 4 << 20,
            reports: 4096,
        }
    }
}

/// Why a message was not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotTaken {
    /// A bound of [`SendLimits`] is reached.
    Full,
    /// It is longer than [`LEN_MAX`].
    TooLong,
}

/// A message without a fate.
#[derive(Clone, Debug)]
struct Outgoing {
    data: Vec<u8>,
    label: MessageLabel,
    queued: Instant,
    begun: Option<Instant>,
    /// Bytes that have been cut into fragments.
    cut: usize,
    /// Fragments without a fate.
    open: usize,
    /// The least certain good fate of its fragments.
    fate: Fate,
}

impl Outgoing {
    fn is_cut(&self) -> bool {
        self.begun.is_some() && self.cut == self.data.len()
    }

    /// Whether the rest cannot leave before the deadline. A message that has begun gets the benefit of the doubt: its
    /// rest may take twice as long as the rate says.
    fn is_hopeless(&self, now: Instant, rate: Option<Rate>) -> bool {
        let Some(deadline) = self.label.deadline else {
            return false;
        };
        let rest = (self.data.len() - self.cut) as u64;
        let needed = rate.map_or(Duration::ZERO, |rate| rate.time_for(rest));
        let needed = match self.begun {
            None => needed,
            Some(_) => needed / 2,
        };
        deadline <= now || deadline - now < needed
    }
}

/// A fragment whose fate is open.
#[derive(Clone, Copy, Debug)]
struct Fragment {
    message: MessageId,
    begin: usize,
    end: usize,
}

/// Cuts messages into datagrams when they may leave, and combines the fates of the datagrams.
#[derive(Clone, Debug)]
pub struct MessageSender {
    limits: SendLimits,
    messages: BTreeMap<MessageId, Outgoing>,
    /// Messages that are not entirely cut, in the order of leaving.
    queue: BTreeSet<(Reverse<u8>, MessageId)>,
    /// By the datagram's name.
    fragments: BTreeMap<u64, Fragment>,
    bytes: usize,
    /// Bytes of `bytes` that have not been cut into fragments.
    uncut: usize,
    next: u64,
    rate: Option<Rate>,
    /// When the last fragment was cut.
    last_cut: Option<Instant>,
    /// This message is sent although the rate says that it comes too late, because the rate grows only if something
    /// is sent.
    probe: Option<MessageId>,
    /// No deadline of the queue comes before this time.
    earliest: Option<Instant>,
    reports: VecDeque<MessageReport>,
    reports_missed: u64,
}

impl MessageSender {
    /// A sender without messages.
    pub fn new(limits: SendLimits) -> Self {
        Self {
            limits,
            messages: BTreeMap::new(),
            queue: BTreeSet::new(),
            fragments: BTreeMap::new(),
            bytes: 0,
            uncut: 0,
            next: 0,
            rate: None,
            last_cut: None,
            probe: None,
            earliest: None,
            reports: VecDeque::new(),
            reports_missed: 0,
        }
    }

    /// Takes a message.
    ///
    /// # Errors
    /// [`NotTaken`]; nothing changes then.
    pub fn push(
        &mut self,
        now: Instant,
        data: Vec<u8>,
        label: MessageLabel,
    ) -> Result<MessageId, NotTaken> {
        if data.len() > LEN_MAX {
            return Err(NotTaken::TooLong);
        }
        self.expire(now);
        let replaced = self.replaced_by(&label);
        if !self.has_room(data.len(), replaced) {
            return Err(NotTaken::Full);
        }
        if let Some(old) = replaced {
            self.conclude(now, old, Fate::Superseded);
        }
        let id = MessageId(self.next);
        self.next += 1;
        self.bytes += data.len();
        self.uncut += data.len();
        self.queue.insert((Reverse(label.priority), id));
        if let Some(deadline) = label.deadline {
            self.earliest = Some(self.earliest.map_or(deadline, |at| at.min(deadline)));
        }
        let message = Outgoing {
            data,
            label,
            queued: now,
            begun: None,
            cut: 0,
            open: 0,
            fate: Fate::Acked,
        };
        self.messages.insert(id, message);
        Ok(id)
    }

    /// The waiting message with the same key. One that has begun is finished, because otherwise none would be if each
    /// is replaced in time.
    fn replaced_by(&self, label: &MessageLabel) -> Option<MessageId> {
        label.key?;
        let waiting = self.queue.iter().map(|(_, id)| *id);
        waiting.into_iter().find(|id| {
            let old = self.messages.get(id);
            old.is_some_and(|old| old.begun.is_none() && old.label.key == label.key)
        })
    }

    /// Whether a message of this length has room, once the replaced one is gone.
    fn has_room(&self, len: usize, replaced: Option<MessageId>) -> bool {
        let replaced = replaced.and_then(|id| self.messages.get(&id));
        let messages = self.messages.len() - usize::from(replaced.is_some());
        let bytes = self.bytes - replaced.map_or(0, |old| old.data.len());
        let fits = bytes == 0 || bytes.saturating_add(len) <= self.limits.bytes;
        messages < self.limits.messages && fits
    }

    /// The network's rate in bits of application data per second, as far as it is known.
    pub fn set_rate(&mut self, bits_per_s: Option<u64>) {
        #[expect(clippy::cast_precision_loss, reason = "a rate need not be exact")]
        let rate = |bits: u64| Rate::from_bytes_per_s(bits as f64 / 8.0);
        self.rate = bits_per_s.filter(|&bits| bits > 0).map(rate);
    }

    /// Writes the next fragment into `out`, which is cleared: at most `max_len` bytes with the header. The datagram is
    /// called `name`, and [`on_fate`](Self::on_fate) must report its fate. `false`: nothing is to be sent now.
    pub fn fill(&mut self, now: Instant, name: u64, max_len: usize, out: &mut Vec<u8>) -> bool {
        out.clear();
        let Some(room) = max_len.checked_sub(HEADER_LEN).filter(|&room| room > 0) else {
            return false;
        };
        self.expire(now);
        let Some(id) = self.next_to_cut(now) else {
            return false;
        };
        let Some(message) = self.messages.get_mut(&id) else {
            return false;
        };
        let begin = message.cut;
        let end = message.data.len().min(begin + room);
        let header = Header {
            #[expect(clippy::cast_possible_truncation, reason = "numbers are modulo 2^32")]
            number: id.0 as u32,
            len: in_24_bits(message.data.len()),
            offset: in_24_bits(begin),
        };
        out.extend_from_slice(&header.to_bytes());
        out.extend_from_slice(&message.data[begin..end]);
        message.begun.get_or_insert(now);
        message.cut = end;
        self.uncut -= end - begin;
        message.open += 1;
        if message.is_cut() {
            let priority = message.label.priority;
            self.queue.remove(&(Reverse(priority), id));
        }
        let fragment = Fragment {
            message: id,
            begin,
            end,
        };
        self.fragments.insert(name, fragment);
        if self.fragments.len() > FRAGMENTS_MAX
            && let Some((&oldest, _)) = self.fragments.first_key_value()
        {
            self.on_fate(now, oldest, Fate::Sent);
        }
        true
    }

    /// The first message that can still finish in time. The others before it expire. If nothing has been cut for
    /// [`PROBE_AFTER`], the first message is sent in spite of the rate, until its deadline.
    fn next_to_cut(&mut self, now: Instant) -> Option<MessageId> {
        loop {
            let (_, id) = *self.queue.first()?;
            let message = self.messages.get(&id)?;
            let is_late = message.label.deadline.is_some_and(|at| at <= now);
            if !is_late && self.last_cut.is_none_or(|at| now - at >= PROBE_AFTER) {
                self.probe = Some(id);
            }
            let is_probe = !is_late && self.probe == Some(id);
            if is_probe || !message.is_hopeless(now, self.rate) {
                self.last_cut = Some(now);
                return Some(id);
            }
            self.conclude(now, id, Fate::Expired);
        }
    }

    /// Records the fate of a datagram. One that was too big for the path is cut again, if nothing was cut after it.
    pub fn on_fate(&mut self, now: Instant, name: u64, fate: Fate) {
        let Some(fragment) = self.fragments.remove(&name) else {
            return;
        };
        let id = fragment.message;
        let Some(message) = self.messages.get_mut(&id) else {
            return;
        };
        message.open -= 1;
        match fate {
            Fate::AckedCe | Fate::Sent if message.fate != Fate::Sent => message.fate = fate,
            Fate::Acked | Fate::AckedCe | Fate::Sent => {}
            Fate::TooBig if message.cut == fragment.end => {
                message.cut = fragment.begin;
                self.uncut += fragment.end - fragment.begin;
                if message.cut == 0 && message.open == 0 {
                    message.begun = None;
                }
                self.queue.insert((Reverse(message.label.priority), id));
                return;
            }
            failure => return self.conclude(now, id, failure),
        }
        if message.is_cut() && message.open == 0 {
            let fate = message.fate;
            self.conclude(now, id, fate);
        }
    }

    /// Expires the messages whose deadline has come. Returns the next deadline.
    pub fn expire(&mut self, now: Instant) -> Option<Instant> {
        let earliest = self.earliest?;
        if now < earliest {
            return Some(earliest);
        }
        let mut late = Vec::new();
        self.earliest = None;
        for (_, id) in &self.queue {
            let deadline = self.messages.get(id).and_then(|m| m.label.deadline);
            match deadline {
                Some(deadline) if deadline <= now => late.push(*id),
                Some(deadline) => {
                    self.earliest = Some(self.earliest.map_or(deadline, |at| at.min(deadline)));
                }
                None => {}
            }
        }
        for id in late {
            self.conclude(now, id, Fate::Expired);
        }
        self.earliest
    }

    /// Withdraws the messages for which `is_unwanted` returns true, as far as they have not left entirely. Returns their
    /// number.
    pub fn withdraw_if(
        &mut self,
        now: Instant,
        mut is_unwanted: impl FnMut(MessageId, &MessageLabel) -> bool,
    ) -> usize {
        let waiting = self.queue.iter().map(|(_, id)| *id);
        let labels = waiting.filter_map(|id| Some((id, self.messages.get(&id)?.label)));
        let unwanted: Vec<_> = labels
            .filter(|(id, label)| is_unwanted(*id, label))
            .collect();
        for (id, _) in &unwanted {
            self.conclude(now, *id, Fate::Withdrawn);
        }
        unwanted.len()
    }

    /// The connection is over: every message gets its fate.
    pub fn end(&mut self, now: Instant) {
        self.fragments.clear();
        while let Some((&id, message)) = self.messages.first_key_value() {
            let fate = if message.is_cut() {
                Fate::Sent
            } else {
                Fate::Withdrawn
            };
            self.conclude(now, id, fate);
        }
    }

    /// Whether a fragment waits to be cut.
    pub fn has_waiting(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Bytes that have not been cut into fragments.
    pub fn waiting_bytes(&self) -> u64 {
        self.uncut as u64
    }

    /// Messages without a fate.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether every message has its fate.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// The oldest report that has not been fetched.
    pub fn poll_report(&mut self) -> Option<MessageReport> {
        self.reports.pop_front()
    }

    /// Whether a report waits.
    pub fn has_reports(&self) -> bool {
        !self.reports.is_empty()
    }

    /// Reports that were dropped because the application did not fetch them.
    pub fn reports_missed(&self) -> u64 {
        self.reports_missed
    }

    fn conclude(&mut self, now: Instant, id: MessageId, fate: Fate) {
        let Some(message) = self.messages.remove(&id) else {
            return;
        };
        self.queue.remove(&(Reverse(message.label.priority), id));
        self.bytes -= message.data.len();
        self.uncut -= message.data.len() - message.cut;
        self.reports.push_back(MessageReport {
            id,
            tag: message.label.tag,
            len: message.data.len(),
            fate,
            queued: message.queued,
            begun: message.begun,
            told: now,
        });
        if self.reports.len() > self.limits.reports {
            self.reports.pop_front();
            self.reports_missed += 1;
        }
    }
}
