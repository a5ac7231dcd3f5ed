//! The receiver's record of losses and marks, and the loss intervals that follow from it
//! (RFC 4342 §6.1, §10.2; RFC 5348 §5.1–5.3).
//!
//! ```text
//!   packets     - - * - - - - - * * - * - - - - - - - * -      * lost or marked
//!   losses          ^           ^^^   ^               ^        runs, the newest one still open
//!   events          |<-- 1 -->| |<------- 2 ------->|          closer than a round trip: one event
//! ```
//!
//! A run becomes a loss when [`NDUPACK`] later packets have arrived. The latest runs are kept, so
//! that a packet that arrives late can take its loss back; events are recomputed then.

use super::loss_intervals::INTERVALS;
use super::window_counter::unwrapped;
use crate::seq::Seq;
use crate::wire::Ecn;
use crate::wire::ccid_options::LossInterval;
use std::collections::VecDeque;

/// How many later packets show that a missing one is lost (5348-5.1-1).
const NDUPACK: u8 = 3;
/// Runs that a late packet can still change. Later arrivals count as lost.
const RECENT: usize = 32;
/// Events kept: what is reported, and what replaces recent events that vanish.
const EVENTS: usize = INTERVALS + RECENT;
/// Counters of one round trip differ by this much at most (4342-10.2-1).
const ROUND_TRIP: u64 = 4;

/// A packet as the history needs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Packet {
    /// Its sequence number.
    pub(crate) seq: Seq,
    /// Its window counter, if it is a data packet.
    pub(crate) ccval: Option<u8>,
    /// Its ECN field.
    pub(crate) ecn: Ecn,
    /// How many packets before it were no data packets, as far as it says.
    pub(crate) ndp_count: u64,
}

/// The change that a packet caused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// It came twice, or too late to count.
    Ignored,
    /// No loss event more or less.
    None,
    /// A loss event began (or several did).
    Event,
    /// A loss event vanished.
    EventGone,
}

/// A summary of all packets before a sequence number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Prefix {
    /// The window counter of the last of them, continued beyond 15.
    counter: u64,
    /// How many were no data packets.
    non_data: u64,
    /// The sum of the ECN nonces of data packets.
    nonce: bool,
}

impl Prefix {
    fn absorb(&mut self, p: &Packet) {
        match p.ccval {
            Some(ccval) => {
                self.counter = unwrapped(self.counter, ccval);
                self.nonce ^= p.ecn == Ecn::Ect1;
            }
            None => self.non_data += 1,
        }
    }
}

/// A run of missing packets, or a marked one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Loss {
    first: Seq,
    last: Seq,
    before: Prefix,
    is_mark: bool,
    /// Packets that arrived later, up to [`NDUPACK`].
    later: u8,
}

/// A loss event: where its lossy part begins and ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Event {
    start: Seq,
    before: Prefix,
    loss_end: Seq,
    /// How many packets of the lossy part were lost or marked.
    drops: u64,
    /// The sum of nonces up to `loss_end`.
    nonce: bool,
}

impl Event {
    fn new(loss: &Loss) -> Self {
        Self {
            start: loss.first,
            before: loss.before,
            loss_end: loss.last,
            drops: loss.len(),
            nonce: loss.before.nonce,
        }
    }

    /// Adds a later loss, unless it is more than a round trip later (5348-5.2-1, 4342-10.2-1).
    fn try_extend(&mut self, loss: &Loss) -> bool {
        let is_same = loss.before.counter.saturating_sub(self.before.counter) <= ROUND_TRIP;
        if is_same {
            self.loss_end = loss.last;
            self.drops += loss.len();
            self.nonce = loss.before.nonce;
        }
        is_same
    }
}

/// The loss intervals of a half-connection.
#[derive(Debug, Default)]
pub(crate) struct LossHistory {
    /// The first packet, and the greatest that arrived.
    range: Option<(Seq, Seq)>,
    /// Up to the greatest packet.
    prefix: Prefix,
    losses: VecDeque<Loss>,
    /// How many of `losses` are in `events`.
    counted: usize,
    events: VecDeque<Event>,
    /// How many of `events` stand without `losses`, and how the last of those then ends.
    settled: usize,
    settled_last: Option<Event>,
    /// Events that were forgotten.
    forgotten: u64,
    /// The data length of the interval before the first event.
    first_length: u64,
    /// Data packets that arrived, each once.
    arrived_data: u64,
}

impl LossHistory {
    /// Takes a packet that arrived.
    pub(crate) fn on_packet(&mut self, p: &Packet) -> Change {
        let before = self.event_count();
        match self.range {
            None => {
                self.range = Some((p.seq, p.seq));
                self.append(p);
            }
            Some((first, greatest)) if p.seq.is_after(greatest) => {
                self.range = Some((first, p.seq));
                self.open_run(greatest.next(), p);
                self.append(p);
            }
            Some(_) => {
                if !self.fill(p) {
                    return Change::Ignored;
                }
            }
        }
        self.arrived_data += u64::from(p.ccval.is_some());
        self.count_losses();
        match self.event_count().cmp(&before) {
            core::cmp::Ordering::Less => Change::EventGone,
            core::cmp::Ordering::Equal => Change::None,
            core::cmp::Ordering::Greater => Change::Event,
        }
    }

    /// The peer has sent nothing after `newest`: the hole that holds it ends there, and what followed was forged.
    pub(crate) fn roll_back(&mut self, newest: Seq) {
        let holds = |l: &Loss| !l.is_mark && newest.next().is_within(l.first, l.last);
        let Some(index) = self.losses.iter().rposition(holds) else {
            return;
        };
        self.losses.truncate(index + 1);
        if let (Some(hole), Some((_, greatest))) = (self.losses.back_mut(), &mut self.range) {
            // Counters never fall.
            self.prefix = Prefix {
                counter: self.prefix.counter,
                ..hole.before
            };
            hole.last = newest;
            hole.later = 0;
            *greatest = newest;
        }
        self.losses
            .pop_back_if(|hole| hole.last.is_before(hole.first));
        self.recount();
        self.count_losses();
    }

    /// The window counter of the greatest packet, continued beyond 15.
    pub(crate) const fn counter(&self) -> u64 {
        self.prefix.counter
    }

    /// How many loss events there have been.
    pub(crate) fn event_count(&self) -> u64 {
        self.forgotten + self.events.len() as u64
    }

    /// Data packets between the first and the greatest that have not arrived; those that come later than
    /// the history reaches back stay missing.
    pub(crate) fn missing_data(&self) -> u64 {
        let packets = (self.range).map_or(0, |(first, greatest)| greatest.steps_from(first) + 1);
        packets.saturating_sub(self.prefix.non_data + self.arrived_data)
    }

    /// Whether no data arrived before the first loss event.
    pub(crate) fn began_with_loss(&self) -> bool {
        let (Some((first, _)), Some(e)) = (self.range, self.events.front()) else {
            return false;
        };
        e.start.steps_from(first) == e.before.non_data
    }

    /// Sets the data length of the interval before the first event (5348-6.3.1-1).
    pub(crate) const fn set_first_length(&mut self, packets: u64) {
        self.first_length = packets;
    }

    /// How many of the newest packets are in no interval: those from the first hole on that may
    /// still be filled, at most [`NDUPACK`] (4342-6.1-1, 4342-8.6-2).
    pub(crate) fn skip(&self) -> u8 {
        let (Some(hole), Some((_, greatest))) = (self.losses.get(self.counted), self.range) else {
            return 0;
        };
        let open = greatest.steps_from(hole.first) + 1;
        u8::try_from(open).unwrap_or(NDUPACK).min(NDUPACK)
    }

    /// The intervals, newest first; none before the first packet. The last one is that before the
    /// first event, unless it is forgotten.
    pub(crate) fn intervals(&self) -> impl Iterator<Item = Interval> + Clone + '_ {
        let (first, greatest) = self.range.unwrap_or_default();
        let mut end = greatest.minus(u64::from(self.skip()));
        let mut known = self.known_before(end.next());
        let has_first = self.range.is_some() && self.forgotten == 0;
        let events = self.events.iter().rev().map(Some);
        events.chain(has_first.then_some(None)).map(move |event| {
            let Some(e) = event else {
                return Interval {
                    lossless: end.next().steps_from(first),
                    nonce: known.nonce,
                    loss: 0,
                    drops: 0,
                    ticks: known.counter,
                    data: if self.events.is_empty() {
                        0
                    } else {
                        self.first_length
                    },
                };
            };
            let interval = Interval {
                lossless: end.steps_from(e.loss_end),
                nonce: known.nonce ^ e.nonce,
                loss: e.loss_end.steps_from(e.start) + 1,
                drops: e.drops,
                ticks: known.counter.saturating_sub(e.before.counter),
                // 5348-5.3-1, 4342-6.1.1-1
                data: (end.steps_from(e.start) + 1)
                    .saturating_sub(known.non_data - e.before.non_data)
                    .max(1),
            };
            end = e.start.minus(1);
            known = e.before;
            interval
        })
    }

    /// Summarizes all packets before `seq`, the first packet that is in no interval.
    fn known_before(&self, seq: Seq) -> Prefix {
        self.losses
            .range(self.counted..)
            .take_while(|l| !l.first.is_after(seq))
            .last()
            .map_or(self.prefix, |hole| hole.before)
    }

    /// Packets are missing from `first` on, up to the one that arrived.
    fn open_run(&mut self, first: Seq, p: &Packet) {
        let missing = p.seq.steps_from(first);
        // 4342-6.1-2: all count as data, but for those that the NDP Count excludes.
        let non_data = p.ndp_count.min(missing);
        if missing > non_data {
            self.losses.push_back(Loss {
                first,
                last: p.seq.minus(1 + non_data),
                before: self.prefix,
                is_mark: false,
                later: 0,
            });
        }
        self.prefix.non_data += non_data;
    }

    /// Takes the newest packet.
    fn append(&mut self, p: &Packet) {
        self.on_later(self.losses.len());
        if is_marked(p) {
            self.losses.push_back(Loss::mark(p.seq, self.prefix));
        }
        self.prefix.absorb(p);
    }

    /// A packet arrived after the first `n` runs.
    fn on_later(&mut self, n: usize) {
        for loss in self.losses.range_mut(self.counted.min(n)..n) {
            loss.later = (loss.later + 1).min(NDUPACK);
        }
    }

    /// Takes a late packet; `false` if none was missing there (5348-5.1-1).
    fn fill(&mut self, p: &Packet) -> bool {
        let Some(i) = self
            .losses
            .iter()
            .rposition(|l| !l.is_mark && p.seq.is_within(l.first, l.last))
        else {
            return false;
        };
        self.on_later(i);
        let Some(hole) = self.losses.remove(i) else {
            return false;
        };
        let mut after = hole.before;
        after.absorb(p);
        self.shift(i, p, after.counter);
        let right = Loss {
            first: p.seq.next(),
            before: after,
            ..hole
        };
        let left = Loss {
            last: p.seq.minus(1),
            later: (hole.later + 1).min(NDUPACK),
            ..hole
        };
        let mark = Loss::mark(p.seq, hole.before);
        let parts = [
            (p.seq != hole.last).then_some(right),
            is_marked(p).then_some(mark),
            (p.seq != hole.first).then_some(left),
        ];
        for part in parts.into_iter().flatten() {
            self.losses.insert(i, part);
        }
        if i < self.counted {
            self.recount();
        }
        true
    }

    /// A late packet changes what is known before all later runs. Counters never fall.
    fn shift(&mut self, from: usize, p: &Packet, counter: u64) {
        let is_data = p.ccval.is_some();
        let flips = is_data && p.ecn == Ecn::Ect1;
        let later = self.losses.range_mut(from..).map(|l| &mut l.before);
        for prefix in later.chain([&mut self.prefix]) {
            prefix.non_data += u64::from(!is_data);
            prefix.nonce ^= flips;
            prefix.counter = prefix.counter.max(counter);
        }
    }

    /// Forgets the events that recent runs made, so that they are counted again.
    fn recount(&mut self) {
        self.counted = 0;
        self.events.truncate(self.settled);
        if let (Some(last), Some(settled)) = (self.events.back_mut(), self.settled_last) {
            *last = settled;
        }
    }

    /// Counts each run that is lost by now as an event (5348-5.1-1). A run is lost once 3 packets
    /// followed it. A mark needs no later packets, and its event includes the hole before it.
    fn count_losses(&mut self) {
        let lost = self
            .losses
            .iter()
            .rposition(|l| l.later >= NDUPACK)
            .map_or(0, |i| i + 1);
        for loss in self.losses.range(self.counted.min(lost)..lost) {
            let is_old = self.events.back_mut().is_some_and(|e| e.try_extend(loss));
            if !is_old {
                self.events.push_back(Event::new(loss));
            }
        }
        self.counted = self.counted.max(lost);
        self.settle();
    }

    /// Gives up the possibility to take back the oldest runs.
    fn settle(&mut self) {
        while self.losses.len() > RECENT {
            let Some(loss) = self.losses.pop_front() else {
                break;
            };
            self.counted -= 1;
            let is_old = self
                .settled_last
                .as_mut()
                .is_some_and(|e| e.try_extend(&loss));
            if !is_old {
                self.settled += 1;
                self.settled_last = Some(Event::new(&loss));
            }
        }
        while self.events.len() > EVENTS {
            self.events.pop_front();
            self.settled -= 1;
            self.forgotten += 1;
        }
    }
}

impl Loss {
    /// How many packets it is.
    fn len(&self) -> u64 {
        self.last.steps_from(self.first) + 1
    }

    fn mark(seq: Seq, before: Prefix) -> Self {
        Self {
            first: seq,
            last: seq,
            before,
            is_mark: true,
            later: NDUPACK,
        }
    }
}

/// Marks of packets without data say nothing about data (4342-6.1-1).
fn is_marked(p: &Packet) -> bool {
    p.ccval.is_some() && p.ecn == Ecn::Ce
}

/// A loss interval in packets, not yet cut to the width of its option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Interval {
    /// Length of the lossless part, the newer one.
    pub(crate) lossless: u64,
    /// The sum of the ECN nonces of its data packets (4342-8.6-3).
    pub(crate) nonce: bool,
    /// Length of the lossy part; 0 before the first event only.
    pub(crate) loss: u64,
    /// How many packets of that were lost or marked (RFC 5622 §8.7).
    pub(crate) drops: u64,
    /// How far the window counter advanced in it: 4 per round trip (5622-8.4-1).
    pub(crate) ticks: u64,
    /// Data packets.
    pub(crate) data: u64,
}

impl From<Interval> for LossInterval {
    /// Lengths that are too large become the largest there is, which means "at least".
    fn from(i: Interval) -> Self {
        let cut = |n| u32::try_from(n).unwrap_or(u32::MAX);
        Self {
            lossless: cut(i.lossless),
            nonce: i.nonce,
            loss: cut(i.loss),
            data: cut(i.data),
        }
    }
}

#[cfg(test)]
mod tests;
