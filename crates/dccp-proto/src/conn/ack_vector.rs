//! What we received, as Ack Vectors (RFC 4340 §11.4).

use crate::seq::Seq;
use crate::wire::{Ecn, OptionWriter};
use std::collections::VecDeque;

#[derive(Clone, Debug, Default)]
pub(crate) struct AckVector {
    newest: Seq,
    /// States, newest first.
    states: VecDeque<u8>,
    sent: VecDeque<(Seq, Seq)>,
}

impl AckVector {
    pub(crate) fn on_packet(&mut self, seq: Seq, ecn: Ecn) {
        let state = u8::from(ecn == Ecn::Ce);
        if self.states.is_empty() || seq.is_after(self.newest) {
            let gap = if self.states.is_empty() {
                1
            } else {
                seq.distance(self.newest)
            };
            for _ in 1..gap.min(16_000) {
                self.states.push_front(3);
            }
            self.states.push_front(state);
            self.newest = seq;
        } else if let Some(old) = self.states.get_mut(self.newest.distance(seq) as usize) {
            *old = if *old == 3 { state } else { *old | state };
        }
        self.states.truncate(16_000);
    }

    pub(crate) fn option_len(&self) -> usize {
        self.cells().len() + 2
    }

    fn cells(&self) -> Vec<u8> {
        let mut cells: Vec<u8> = Vec::new();
        for &s in &self.states {
            match cells.last_mut() {
                Some(c) if *c >> 6 == s && *c & 63 < 63 => *c += 1,
                _ => cells.push(s << 6),
            }
        }
        cells
    }

    pub(crate) fn write(&self, w: &mut OptionWriter) -> bool {
        let mut cells = self.cells();
        cells.truncate(w.remaining().saturating_sub(2).min(253));
        w.push_raw(38, &cells).is_ok()
    }

    pub(crate) fn on_sent(&mut self, seq: Seq) {
        self.sent.push_back((seq, self.newest));
        if self.sent.len() > 256 {
            self.sent.pop_front();
        }
    }

    pub(crate) fn on_acked(&mut self, carrier: Seq) {
        while let Some(&(seq, newest)) = self.sent.front() {
            if seq.is_after(carrier) {
                break;
            }
            self.sent.pop_front();
            let keep = self.newest.distance(newest).max(0) as usize + 1;
            self.states.truncate(keep);
        }
    }

    pub(crate) fn len_cells(&self) -> usize {
        self.states.len()
    }
}
