//! Loss intervals recomputed from everything that ever arrived, as the RFC's words have it.

use super::{NDUPACK, Packet, Seq};
use crate::wire::Ecn;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Default)]
pub(super) struct Model {
    first: u64,
    packets: BTreeMap<u64, Packet>,
}

struct Event {
    start: u64,
    loss_end: u64,
    counter: u64,
}

impl Model {
    pub(super) fn on_packet(&mut self, p: &Packet) {
        let seq = p.seq.value();
        if self.packets.is_empty() {
            self.first = seq;
        }
        if seq >= self.first {
            self.packets.entry(seq).or_insert(*p);
        }
    }

    fn last(&self) -> u64 {
        self.packets.keys().last().copied().unwrap_or(0)
    }

    /// The window counter before a sequence number, continued beyond 15.
    fn counter_before(&self, seq: u64) -> u64 {
        let mut counter = 0;
        for ccval in self.packets.range(..seq).filter_map(|(_, p)| p.ccval) {
            counter += (u64::from(ccval) + 16 - counter % 16) % 16;
        }
        counter
    }

    fn missing(&self) -> impl Iterator<Item = u64> + '_ {
        (self.first..self.last()).filter(|seq| !self.packets.contains_key(seq))
    }

    fn marks(&self) -> impl Iterator<Item = u64> + '_ {
        let is_marked = |p: &Packet| p.ccval.is_some() && p.ecn == Ecn::Ce;
        self.packets
            .iter()
            .filter(move |(_, p)| is_marked(p))
            .map(|(seq, _)| *seq)
    }

    /// Up to here it is decided what is lost.
    fn decided(&self) -> u64 {
        let mark = self.marks().last().unwrap_or(0);
        let is_open =
            |seq: &u64| *seq > mark && self.packets.range(seq..).count() < usize::from(NDUPACK);
        self.missing()
            .find(is_open)
            .map_or(self.last(), |seq| seq - 1)
    }

    fn events(&self) -> Vec<Event> {
        let mut losses: Vec<u64> = self.missing().chain(self.marks()).collect();
        losses.retain(|&seq| seq <= self.decided());
        losses.sort_unstable();
        let mut events: Vec<Event> = Vec::new();
        for seq in losses {
            let counter = self.counter_before(seq);
            match events.last_mut() {
                Some(e) if counter - e.counter <= 4 => e.loss_end = seq,
                _ => events.push(Event {
                    start: seq,
                    loss_end: seq,
                    counter,
                }),
            }
        }
        events
    }

    pub(super) fn skip(&self) -> u64 {
        (self.last() - self.decided()).min(3)
    }

    /// (lossless, loss, data), newest first.
    pub(super) fn lengths(&self) -> Vec<(u64, u64, u64)> {
        let mut end = self.last() - self.skip();
        let mut lengths = Vec::new();
        for e in self.events().iter().rev() {
            let within = self.packets.range(e.start..=end);
            let non_data = within.filter(|(_, p)| p.ccval.is_none()).count() as u64;
            let data = (end + 1 - e.start).saturating_sub(non_data).max(1);
            lengths.push((end - e.loss_end, e.loss_end + 1 - e.start, data));
            end = e.start - 1;
        }
        lengths.push((end + 1 - self.first, 0, 0));
        lengths
    }

    pub(super) fn nonces(&self) -> Vec<bool> {
        let parity = |from: u64, to: u64| {
            let is_odd = |p: &Packet| p.ccval.is_some() && p.ecn == Ecn::Ect1;
            let within = (from <= to).then(|| self.packets.range(from..=to));
            let odd = within.into_iter().flatten().filter(|(_, p)| is_odd(p));
            odd.count() % 2 == 1
        };
        let mut end = self.last() - self.skip();
        let mut nonces = Vec::new();
        for e in self.events().iter().rev() {
            nonces.push(parity(e.loss_end + 1, end));
            end = e.start - 1;
        }
        nonces.push(parity(self.first, end));
        nonces
    }
}

/// Up to 60 packets, at most 20 of them lost, late or marked, some twice. Counters rise by up to 5,
/// but never by 16 from one packet to the next that is sure to arrive; some packets carry no data.
pub(super) fn script() -> impl Strategy<Value = Vec<Packet>> {
    let packet = (0..6_u8, 0..10_u8, 0..10_u8, 0..8_usize);
    prop::collection::vec(packet, 1..60).prop_map(|packets| {
        let mut counter = 0;
        let mut risen = 0;
        let mut spared = 20;
        let mut arrivals = Vec::new();
        for (i, (tick, kind, ecn, late)) in packets.into_iter().enumerate() {
            let tick = tick.min(15 - risen);
            counter = (counter + tick) % 16;
            risen += tick;
            let is_hit = (kind == 0 || ecn == 0) && spared > 0;
            spared -= i32::from(is_hit);
            let p = Packet {
                seq: Seq::new(100 + i as u64),
                ccval: (kind != 1).then_some(counter),
                ecn: match ecn {
                    0 if is_hit => Ecn::Ce,
                    1..=3 => Ecn::Ect1,
                    _ => Ecn::Ect0,
                },
                ndp_count: 0,
            };
            let is_missing = kind == 0 && is_hit && i > 0;
            if !is_missing && kind != 1 {
                risen = 0;
            }
            if !is_missing {
                arrivals.push((i, p));
            }
            if (is_missing && late > 3) || kind == 2 {
                arrivals.push((i + late, p));
            }
        }
        arrivals.sort_by_key(|(place, _)| *place);
        arrivals.into_iter().map(|(_, p)| p).collect()
    })
}
