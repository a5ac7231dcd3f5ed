//! Stores which packets arrived and reports them as Ack Vectors (RFC 4340 §11.4, §11.5, appendix A).
//!
//! A ring of run-length coded cells, newest first. A packet in order lengthens the first cell; an
//! acknowledged acknowledgement takes cells from the far end; only a late packet searches, as far as
//! it is late:
//!
//! ```text
//!   newest                                        oldest
//!   +-----+-----+-----+-----+-----+-----+-----+-----+
//!   | S,L | S,L | S,L | S,L | S,L | S,L | S,L | S,L |   S: fate, 2 bits; L: length − 1, 6 bits
//!   +-----+-----+-----+-----+-----+-----+-----+-----+
//!   grows here                          shrinks here
//! ```
//!
//! Cells remember nonces too (the value that is reserved on the wire means "received with nonce 1"),
//! so that any part of the ring has a known nonce sum.
//!
//! A vector carries the newest cells. Older cells that its options cannot hold are not reported
//! again once the packet arrived (`docs/design.md`, decision 8c).

use super::ack_records::AckRecords;
use crate::config::bounds::{ACK_VECTOR_CELLS, MISSING_PACKETS};
use crate::seq::Seq;
use crate::wire::ack_cells::{AckCell, AckState};
use crate::wire::{Ecn, Opt, OptionWriter};
use std::collections::VecDeque;

/// Arrived packets about which the peer may not know.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct AckVector {
    /// Newest first; at most [`ACK_VECTOR_CELLS`].
    cells: VecDeque<Cell>,
    /// The packet that the first cell begins with.
    newest: Seq,
    /// Number of packets that the cells describe.
    packets: u64,
    /// A packet has arrived with ECN nonce 1.
    has_nonces: bool,
    records: AckRecords,
}

/// The fate of a packet. The order is that of the wire, except for the nonce.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Received = 0,
    Marked = 1,
    /// Received with ECN nonce 1.
    Nonce = 2,
    Missing = 3,
}

impl Fate {
    /// 4340-11.4-1. AMB-10: nonce 1 is ECT(1) in the bits of RFC 3168.
    const fn of(ecn: Ecn) -> Self {
        match ecn {
            Ecn::NotEct | Ecn::Ect0 => Self::Received,
            Ecn::Ect1 => Self::Nonce,
            Ecn::Ce => Self::Marked,
        }
    }

    const fn state(self) -> AckState {
        match self {
            Self::Received | Self::Nonce => AckState::Received,
            Self::Marked => AckState::Marked,
            Self::Missing => AckState::NotReceived,
        }
    }

    /// The fate of a packet that arrives again, or late (4340-11.4.1-2). A mark once seen stays.
    const fn merged_with(self, arrival: Self) -> Self {
        match (self, arrival) {
            (Self::Missing, _) | (_, Self::Marked) => arrival,
            _ => self,
        }
    }
}

/// Neighbouring packets of one fate; at most 64.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Cell(u8);

impl Cell {
    const LEN_MAX: u64 = AckCell::LEN_MAX as u64;

    /// `len` is 1–64.
    const fn new(fate: Fate, len: u64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "six bits")]
        let low = (len - 1) as u8 & 0x3F;
        Self((fate as u8) << 6 | low)
    }

    const fn fate(self) -> Fate {
        match self.0 >> 6 {
            0 => Fate::Received,
            1 => Fate::Marked,
            2 => Fate::Nonce,
            _ => Fate::Missing,
        }
    }

    const fn len(self) -> u64 {
        (self.0 & 0x3F) as u64 + 1
    }

    /// With one packet more, if that has the same fate and there is room.
    fn lengthened_by(self, fate: Fate) -> Option<Self> {
        let has_room = self.len() < Self::LEN_MAX && self.fate() == fate;
        // Computed only with room: 64 missing packets are the greatest value of a byte.
        has_room.then(|| Self(self.0 + 1))
    }
}

impl AckVector {
    /// Records packet `seq`, which must be acknowledgeable (step 8 of RFC 4340 §8.5; 4340-11.4-2),
    /// whatever becomes of its data later (4340-11.4-3).
    pub(crate) fn on_packet(&mut self, seq: Seq, ecn: Ecn) {
        let fate = Fate::of(ecn);
        self.has_nonces |= fate == Fate::Nonce;
        if seq == self.newest.next()
            && let Some(head) = self.cells.front_mut()
            && let Some(longer) = head.lengthened_by(fate)
        {
            *head = longer;
            self.newest = seq;
            self.packets += 1;
            return;
        }
        self.on_unexpected(seq, fate);
    }

    /// Any packet that does not just lengthen the first cell.
    #[inline(never)]
    fn on_unexpected(&mut self, seq: Seq, fate: Fate) {
        let ahead = seq.distance(self.newest);
        if self.cells.is_empty() || ahead > 0 {
            self.on_newer(seq, fate);
        } else {
            self.on_older(seq, ahead.unsigned_abs(), fate);
        }
        debug_assert!(self.cells.len() <= ACK_VECTOR_CELLS);
    }

    /// The packet that a vector written now begins with: the Acknowledgement Number of the packet
    /// that carries it. `None` before the first packet.
    pub(crate) fn newest(&self) -> Option<Seq> {
        (!self.cells.is_empty()).then_some(self.newest)
    }

    /// How many cells are kept, one byte each.
    pub(crate) fn len_cells(&self) -> usize {
        self.cells.len()
    }

    /// Bytes of options that a complete report takes at most.
    pub(crate) fn option_len(&self) -> usize {
        self.cells.len() + 2 * self.cells.len().div_ceil(OPTION_CELLS)
    }

    /// Adds Ack Vector options with the newest cells that fit, to our packet `own`, which leaves now
    /// and acknowledges [`newest`](Self::newest). Returns whether at least one option was written.
    pub(crate) fn write(&mut self, own: Seq, w: &mut OptionWriter) -> bool {
        let before = w.len();
        if self.has_nonces {
            self.write_joined(w);
        } else {
            self.write_cells(w);
        }
        if w.len() == before {
            return false;
        }
        // 4340-11.4.2-1: until this packet or a later one is acknowledged, reports repeat all of it.
        self.records.on_sent(own, self.newest, self.packets);
        true
    }

    /// The peer received our packet `own`: what it reported need not be reported again
    /// (4340-A-1). To be called for every such packet; those without a vector do no harm.
    pub(crate) fn on_acked(&mut self, own: Seq) {
        if let Some(covered) = self.records.on_acked(own) {
            self.forget_up_to(covered);
        }
    }

    /// The peer has sent nothing after `newest` (4340-7.5.4-10). Reports that said otherwise were refused.
    pub(crate) fn roll_back(&mut self, newest: Seq) {
        let ahead = self.newest.distance(newest);
        if self.cells.is_empty() || ahead <= 0 {
            return;
        }
        let mut excess = ahead.unsigned_abs();
        while let Some(head) = self.cells.front_mut().filter(|_| excess > 0) {
            let len = head.len();
            if len > excess {
                *head = Cell::new(head.fate(), len - excess);
                self.packets -= excess;
                break;
            }
            self.cells.pop_front();
            self.packets -= len;
            excess -= len;
        }
        self.newest = newest;
        self.records = AckRecords::default();
    }

    fn on_newer(&mut self, seq: Seq, fate: Fate) {
        let missing = if self.cells.is_empty() {
            0
        } else {
            seq.steps_from(self.newest) - 1
        };
        self.newest = seq;
        if missing > MISSING_PACKETS {
            // No report could reach the cells before the gap.
            self.cells.clear();
            self.packets = 0;
        } else {
            self.push_front(Fate::Missing, missing);
        }
        self.push_front(fate, 1);
        self.trim();
    }

    /// Puts `count` packets of one fate before all others.
    fn push_front(&mut self, fate: Fate, count: u64) {
        self.packets += count;
        let mut count = count;
        if let Some(head) = self.cells.front_mut().filter(|c| c.fate() == fate) {
            let added = count.min(Cell::LEN_MAX - head.len());
            *head = Cell::new(fate, head.len() + added);
            count -= added;
        }
        while count > 0 {
            let len = count.min(Cell::LEN_MAX);
            self.cells.push_front(Cell::new(fate, len));
            count -= len;
        }
    }

    fn on_older(&mut self, seq: Seq, offset: u64, arrival: Fate) {
        if offset >= self.packets {
            return; // Too old to be known.
        }
        let Some((index, before, cell)) = self.find(offset) else {
            return;
        };
        let old = cell.fate();
        let new = old.merged_with(arrival);
        if new != old {
            self.replace_one(index, cell, before, new);
            self.records.on_revised(seq);
        }
    }

    /// The cell of the packet `offset` before the newest, its index, and how many of its packets are newer than that
    /// one. `None` if it lies behind what the next reports can hold.
    fn find(&self, offset: u64) -> Option<(usize, u64, Cell)> {
        let mut rest = offset;
        for (index, &cell) in self.cells.iter().take(SEARCHED_CELLS).enumerate() {
            if rest < cell.len() {
                return Some((index, rest, cell));
            }
            rest -= cell.len();
        }
        None
    }

    /// Gives one packet of `cell`, which has `before` newer ones in the cell, another fate. At the edge
    /// of its cell it joins the neighbour, if that has its fate and room.
    fn replace_one(&mut self, index: usize, cell: Cell, before: u64, fate: Fate) {
        let after = cell.len() - before - 1;
        let (mut first, mut count, mut joined) = (index, 1, 1);
        let joinable = |c: Option<&Cell>, joined: u64| {
            c.filter(|c| c.fate() == fate && c.len() + joined <= Cell::LEN_MAX)
                .map(|c| c.len())
        };
        if before == 0
            && let Some(newer) = index.checked_sub(1)
            && let Some(len) = joinable(self.cells.get(newer), joined)
        {
            (first, count, joined) = (newer, count + 1, joined + len);
        }
        if after == 0
            && let Some(len) = joinable(self.cells.get(index + 1), joined)
        {
            (count, joined) = (count + 1, joined + len);
        }
        for _ in 0..count {
            self.cells.remove(first);
        }
        for (fate, len) in [(cell.fate(), after), (fate, joined), (cell.fate(), before)] {
            if len > 0 {
                self.cells.insert(first, Cell::new(fate, len));
            }
        }
        self.trim();
    }

    /// Keeps the bound: forgets the oldest cells beyond it.
    fn trim(&mut self) {
        while self.cells.len() > ACK_VECTOR_CELLS {
            self.packets -= self.cells.pop_back().map_or(0, Cell::len);
        }
    }

    /// Forgets packets up to `covered`, but never the newest: a vector must begin with something.
    fn forget_up_to(&mut self, covered: Seq) {
        let kept = self.newest.steps_from(covered).max(1);
        while let Some(oldest) = self.cells.back_mut()
            && self.packets > kept
        {
            let excess = self.packets - kept;
            if let Some(rest) = oldest.len().checked_sub(excess).filter(|&rest| rest > 0) {
                *oldest = Cell::new(oldest.fate(), rest);
                self.packets = kept;
            } else {
                self.packets -= oldest.len();
                self.cells.pop_back();
            }
        }
    }

    /// Writes cells without nonces: they are stored as they are on the wire.
    fn write_cells(&mut self, w: &mut OptionWriter) {
        for cells in self.cells.make_contiguous().chunks(OPTION_CELLS) {
            let room = w.remaining().saturating_sub(2);
            let mut option = VectorOption::new();
            for (byte, cell) in option.cells.iter_mut().zip(cells) {
                *byte = cell.0;
            }
            option.len = cells.len().min(room);
            option.flush(w);
        }
    }

    /// Neighbours that differ in their nonces only, and fit into one cell, are one on the wire.
    fn write_joined(&self, w: &mut OptionWriter) {
        let mut left = w.remaining();
        let mut option = VectorOption::new();
        for part in self.compressed() {
            let cost = if option.len == 0 { 3 } else { 1 };
            if left < cost {
                break;
            }
            left -= cost;
            option.push(part);
            if option.len == OPTION_CELLS {
                option.flush(w);
            }
        }
        option.flush(w);
    }

    /// Yields the runs of a vector, newest first. Neighbours with the same state on the wire are joined
    /// where one cell can hold them.
    fn compressed(&self) -> impl Iterator<Item = Part> {
        let mut cells = self.cells.iter().map(|&cell| Part::from(cell)).peekable();
        core::iter::from_fn(move || {
            let mut part = cells.next()?;
            while let Some(next) = cells.next_if(|next| part.is_joinable(next)) {
                part.len += next.len;
                part.nonce_sum ^= next.nonce_sum;
            }
            Some(part)
        })
    }
}

/// A cell as the wire shows it, with the nonce sum of its packets.
#[derive(Clone, Copy, Debug)]
struct Part {
    state: AckState,
    len: u64,
    nonce_sum: bool,
}

impl Part {
    fn is_joinable(&self, next: &Self) -> bool {
        self.state == next.state && self.len + next.len <= Cell::LEN_MAX
    }
}

impl From<Cell> for Part {
    fn from(cell: Cell) -> Self {
        Self {
            state: cell.fate().state(),
            len: cell.len(),
            nonce_sum: cell.fate() == Fate::Nonce && cell.len() % 2 == 1,
        }
    }
}

/// A late packet searches at most this number of cells, so that many late packets cost little (4340-18-4). Behind the
/// 1,000 or so that a report can hold the fate of a packet matters only if late packets fill gaps in front of it: each
/// makes three cells one. Four times a report leaves room for that.
const SEARCHED_CELLS: usize = 4096;

/// The most cells in one option: its length byte counts to 255.
const OPTION_CELLS: usize = 253;

/// One Ack Vector option in the making.
struct VectorOption {
    cells: [u8; OPTION_CELLS],
    len: usize,
    nonce: bool,
}

impl VectorOption {
    const fn new() -> Self {
        Self {
            cells: [0; OPTION_CELLS],
            len: 0,
            nonce: false,
        }
    }

    fn push(&mut self, part: Part) {
        if let Some(place) = self.cells.get_mut(self.len) {
            let cell = AckCell {
                state: part.state,
                len: u8::try_from(part.len).unwrap_or(AckCell::LEN_MAX),
            };
            *place = cell.to_byte();
            self.len += 1;
            // 4340-12.2-1: the sum over the packets that this option reports in state 0.
            self.nonce ^= part.nonce_sum;
        }
    }

    /// Writes the option, if there is one, and begins the next.
    fn flush(&mut self, w: &mut OptionWriter) {
        let cells = self.cells.get(..self.len).unwrap_or_default();
        if !cells.is_empty() {
            let nonce = self.nonce;
            let written = w.push(&Opt::AckVector { nonce, cells });
            debug_assert!(written.is_ok(), "room was counted");
        }
        self.len = 0;
        self.nonce = false;
    }
}

#[cfg(test)]
mod tests;
