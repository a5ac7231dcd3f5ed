//! The receiving half: the data that have arrived, and their acknowledgements (RFC 9293 §3.8.6.3, RFC 5681
//! §4.2, RFC 2018 §4, RFC 7323 §4.3, RFC 3168 §6.1.3).

use super::config::Config;
use super::ranges::Ranges;
use super::wire_number;
use crate::frame::segment::{BLOCKS_MAX, Flags, Sack, Segment};
use core::time::Duration;
use dccp_proto::Instant;
use dccp_proto::wire::Ecn;

/// Counters of a receiving half.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Received {
    /// Segments with new data.
    pub(super) segments: u64,
    /// Bytes that the application has taken.
    pub(super) bytes: u64,
    /// Segments that arrived after one that begins later.
    pub(super) reordered: u64,
    /// Segments that arrived marked.
    pub(super) marked: u64,
}

/// One end's view of what the other sends. Bytes of the stream count from 0; FIN counts as one.
#[derive(Debug)]
pub(super) struct Receiver {
    next: u64,
    beyond: Ranges,
    /// The blocks that changed last, newest first.
    recent: [(u64, u64); BLOCKS_MAX],
    fin_at: Option<u64>,
    ack_every: u32,
    delayed_ack: Duration,
    pending: u32,
    ack_at: Option<Instant>,
    is_ack_due: bool,
    /// The timestamp to echo, and what the last acknowledgement named.
    echo: u32,
    last_ack: u64,
    /// A mark has arrived and the sender has not answered yet.
    is_marked: bool,
    pub(super) received: Received,
}

impl Receiver {
    /// Nothing has arrived yet.
    pub(super) fn new(config: &Config) -> Self {
        Self {
            next: 0,
            beyond: Ranges::default(),
            recent: [(0, 0); BLOCKS_MAX],
            fin_at: None,
            ack_every: config.ack_every,
            delayed_ack: config.delayed_ack,
            pending: 0,
            ack_at: None,
            is_ack_due: false,
            echo: 0,
            last_ack: 0,
            is_marked: false,
            received: Received::default(),
        }
    }

    /// The next byte expected.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Whether the stream has ended.
    pub(super) fn is_finished(&self) -> bool {
        self.fin_at.is_some_and(|end| self.next > end)
    }

    /// The acknowledgement of the peer's SYN was lost.
    pub(super) const fn tell_again(&mut self) {
        self.is_ack_due = true;
    }

    /// The timestamp to echo.
    pub(super) const fn echo(&self) -> u32 {
        self.echo
    }

    /// Takes the timestamp of a SYN.
    pub(super) const fn set_echo(&mut self, value: u32) {
        self.echo = value;
    }

    /// ECE if a mark must be reported.
    pub(super) fn flags(&self) -> Flags {
        Flags::default().with_if(self.is_marked, Flags::ECE)
    }

    /// Takes a segment whose first number in the stream is `seq`. Returns how many bytes of data the
    /// application gets.
    #[inline]
    pub(super) fn on_segment(&mut self, now: Instant, s: &Segment, seq: u64, ecn: Ecn) -> u64 {
        if s.flags.has(Flags::CWR) {
            self.is_marked = false;
        }
        let end = seq + u64::from(s.seq_len());
        if ecn == Ecn::Ce {
            self.received.marked += 1;
            self.is_marked = true;
        }
        if let Some(t) = s.timestamps
            && seq <= self.last_ack
        {
            self.echo = t.value;
        }
        if s.flags.has(Flags::FIN) {
            self.fin_at = Some(end - 1);
        }
        if end <= self.next {
            // A retransmission of what was received: its sender must learn that.
            self.is_ack_due = true;
            return 0;
        }
        self.received.segments += u64::from(s.len > 0);
        self.arrive(now, seq, end)
    }

    #[inline]
    fn arrive(&mut self, now: Instant, seq: u64, end: u64) -> u64 {
        if seq > self.next {
            self.arrive_beyond(seq, end);
            return 0;
        }
        let before = self.next;
        self.next = end;
        if !self.beyond.is_empty() {
            self.fill_gap();
        }
        self.pending += 1;
        if self.pending >= self.ack_every {
            self.is_ack_due = true;
        } else {
            self.ack_at.get_or_insert(now + self.delayed_ack);
        }
        let fin = u64::from(self.is_finished());
        let bytes = self.next - before - fin;
        self.received.bytes += bytes;
        self.is_ack_due |= fin > 0;
        bytes
    }

    /// Data arrived that leaves a gap.
    #[cold]
    fn arrive_beyond(&mut self, seq: u64, end: u64) {
        self.is_ack_due = true;
        let is_late = self.beyond.last().is_some_and(|(_, last)| end < last);
        self.received.reordered += u64::from(is_late);
        let block = self.beyond.insert(seq, end, |_, _| ());
        self.remember(block);
    }

    /// Data arrived that fills a gap, or the begin of one, up to `next`.
    #[cold]
    fn fill_gap(&mut self) {
        // RFC 5681 §4.2: acknowledge it at once.
        self.is_ack_due = true;
        self.received.reordered += 1;
        if let Some((from, to)) = self.beyond.first()
            && from <= self.next
        {
            self.next = self.next.max(to);
        }
        self.beyond.remove_below(self.next);
    }

    /// When an acknowledgement leaves at the latest.
    pub(super) const fn ack_at(&self) -> Option<Instant> {
        self.ack_at
    }

    /// Whether one is due.
    pub(super) fn is_ack_due(&self, now: Instant) -> bool {
        self.is_ack_due || self.ack_at.is_some_and(|at| at <= now)
    }

    /// Whether the next acknowledgement contains blocks, which take the room of data.
    pub(super) fn has_blocks(&self) -> bool {
        !self.beyond.is_empty()
    }

    /// An acknowledgement leaves.
    pub(super) fn on_ack_sent(&mut self) {
        self.pending = 0;
        self.ack_at = None;
        self.is_ack_due = false;
        self.last_ack = self.next;
    }

    /// The SACK option.
    pub(super) fn sack(&self) -> Sack {
        let mut sack = Sack::default();
        if !self.beyond.is_empty() {
            for &(from, to) in self
                .recent
                .iter()
                .filter(|(from, to)| from < to && *from > self.next)
            {
                sack.push((wire_number(from), wire_number(to)));
            }
        }
        sack
    }

    /// RFC 2018 §4: the block of the newest segment first, then those reported before.
    fn remember(&mut self, block: (u64, u64)) {
        let old = self.recent;
        let apart = |b: &&(u64, u64)| b.1 < block.0 || b.0 > block.1;
        self.recent = [(0, 0); BLOCKS_MAX];
        self.recent[0] = block;
        let others = old.iter().filter(apart);
        for (place, &other) in self.recent[1..].iter_mut().zip(others) {
            *place = other;
        }
    }
}

#[cfg(test)]
mod tests;
