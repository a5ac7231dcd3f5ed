//! The Ack Vector of a Linux socket: states 0 and 3 only, pruned when the peer acknowledges a packet
//! that carried it.

use dccp_proto::Seq;
use dccp_proto::wire::{AckCell, AckState};
use std::collections::VecDeque;

/// Arrivals whose report the peer has not acknowledged yet.
#[derive(Clone, Debug, Default)]
pub(super) struct AckVector {
    newest: Seq,
    /// Whether each packet has arrived, the newest first.
    arrived: VecDeque<bool>,
    /// Packets that carried the vector, the newest first: their number, and what they acknowledged.
    carriers: VecDeque<(Seq, Seq)>,
}

/// A bound that tests never reach. (The kernel keeps the cells of two options.)
const PACKETS_MAX: usize = 4096;
const OPTION_CELLS: usize = 253;

impl AckVector {
    pub(super) fn is_empty(&self) -> bool {
        self.arrived.is_empty()
    }

    /// Takes note of a packet.
    pub(super) fn on_packet(&mut self, seq: Seq) {
        if self.arrived.is_empty() {
            self.newest = seq;
            self.arrived.push_front(true);
            return;
        }
        let ahead = seq.distance(self.newest);
        if ahead > 0 {
            let gap = usize::try_from(ahead).unwrap_or(PACKETS_MAX) - 1;
            for _ in 0..gap.min(PACKETS_MAX) {
                self.arrived.push_front(false);
            }
            self.arrived.push_front(true);
            self.newest = seq;
            self.arrived.truncate(PACKETS_MAX);
        } else if let Ok(behind) = usize::try_from(-ahead)
            && let Some(slot) = self.arrived.get_mut(behind)
        {
            *slot = true;
        }
    }

    /// Appends the vector as one or two options, and notes that this packet carries it.
    pub(super) fn write(&mut self, carrier: Seq, out: &mut Vec<u8>) {
        self.carriers.push_front((carrier, self.newest));
        self.carriers.truncate(PACKETS_MAX);
        let mut cells: Vec<AckCell> = Vec::new();
        for &arrived in &self.arrived {
            let state = if arrived {
                AckState::Received
            } else {
                AckState::NotReceived
            };
            match cells.last_mut() {
                Some(cell) if cell.state == state && cell.len < AckCell::LEN_MAX => cell.len += 1,
                _ => cells.push(AckCell { state, len: 1 }),
            }
        }
        let bytes: Vec<u8> = cells.into_iter().map(AckCell::to_byte).collect();
        for cells in bytes.chunks(OPTION_CELLS).take(2) {
            out.extend_from_slice(&[38, u8::try_from(2 + cells.len()).unwrap_or(u8::MAX)]);
            out.extend_from_slice(cells);
        }
    }

    /// The peer acknowledged a packet of ours: what it or an older carrier reported is known.
    pub(super) fn on_acked(&mut self, acked: Seq) {
        let known = self
            .carriers
            .iter()
            .position(|(carrier, _)| !carrier.is_after(acked));
        let Some(place) = known else { return };
        let (_, reported) = self.carriers[place];
        self.carriers.truncate(place);
        let keep = reported.distance(self.newest).unsigned_abs();
        // Reported packets are cut off, but the newest packet is always reported.
        let keep = usize::try_from(keep).unwrap_or(usize::MAX).max(1);
        self.arrived.truncate(keep);
    }
}
