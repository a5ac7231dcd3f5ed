//! FQ-CoDel: a CoDel queue per flow, served in turns, new flows first (RFC 8290).
//!
//! Each packet carries a hash of its flow. The scheduler is deficit round robin: a queue may send `quantum` bytes
//! before the next one.

use super::codel::{CoDelConfig, Control};
use super::discipline::{Discipline, Limit};
use super::fifo::{Books, Fifo, Waiting};
use crate::loss::Loss;
use crate::parcel::{Parcel, Token};
use crate::random::mix;
use crate::setting::Impossible;
use dccp_proto::Instant;
use std::collections::VecDeque;

/// Settings of an FQ-CoDel queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FqCoDelConfig {
    /// When more waits in all queues together, packets are dropped from the head of the longest one
    /// (RFC 8290 §4.1.3).
    pub limit: Limit,
    /// How many queues there are (RFC 8290 §4.1.2).
    pub flows: u32,
    /// How many bytes a queue may send in a turn (RFC 8290 §4.1.1).
    pub quantum: u32,
    /// The control loop of each queue; its limit does not matter.
    pub codel: CoDelConfig,
}

impl Default for FqCoDelConfig {
    /// 10,240 packets, 1024 queues, 1514 bytes a turn (RFC 8290 §5.2); CoDel's defaults.
    fn default() -> Self {
        Self {
            limit: Limit::Packets(10_240),
            flows: 1024,
            quantum: 1514,
            codel: CoDelConfig::default(),
        }
    }
}

impl FqCoDelConfig {
    pub(crate) fn check(&self) -> Result<(), Impossible> {
        self.limit.check("fq_codel.limit")?;
        let flows = (1..=65_536).contains(&self.flows);
        Impossible::unless(flows, "fq_codel.flows", "from 1 to 65536")?;
        Impossible::unless(self.quantum > 0, "fq_codel.quantum", "above 0 bytes")?;
        self.codel.check()
    }
}

/// The most packets that are dropped at once from the longest queue (RFC 8290 §4.1.3).
const DROP_BATCH: usize = 64;

#[derive(Debug)]
pub(crate) struct FqCoDel<T> {
    config: FqCoDelConfig,
    flows: Vec<Flow<T>>,
    /// Flows that have not had a full turn yet, and those that have.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

#[derive(Debug)]
struct Flow<T> {
    fifo: Fifo<T>,
    control: Control,
    /// Bytes that may still be sent in this turn.
    credit: i64,
    is_listed: bool,
}

impl<T> Default for Flow<T> {
    fn default() -> Self {
        Self {
            fifo: Fifo::default(),
            control: Control::default(),
            credit: 0,
            is_listed: false,
        }
    }
}

impl<T: Token> FqCoDel<T> {
    pub(crate) fn new(config: FqCoDelConfig) -> Self {
        Self {
            flows: (0..config.flows.max(1)).map(|_| Flow::default()).collect(),
            config,
            new: VecDeque::new(),
            old: VecDeque::new(),
        }
    }

    /// The queue of a flow.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the high half of a product with a 32-bit number"
    )]
    fn place(&self, flow: u64) -> u32 {
        ((u128::from(mix(flow)) * self.flows.len() as u128) >> 64) as u32
    }

    /// Drops half of the packets of the queue with the most bytes, but a batch at most.
    fn drop_from_longest(&mut self, now: Instant, books: &mut Books<T>) {
        // Of equals the first, so that the choice does not depend on the order of iteration.
        let longest = (0..self.flows.len())
            .rev()
            .max_by_key(|&n| self.flows[n].fifo.bytes());
        let Some(fifo) = longest.map(|n| &mut self.flows[n].fifo) else {
            return;
        };
        for _ in 0..fifo.len().div_ceil(2).min(DROP_BATCH) {
            if let Some(victim) = fifo.pop(now, books) {
                books.drop(now, victim.parcel, Loss::Queue);
            }
        }
    }
}

impl<T: Token> Discipline<T> for FqCoDel<T> {
    fn push(&mut self, now: Instant, parcel: Parcel<T>, books: &mut Books<T>) -> Result<(), Loss> {
        let place = self.place(parcel.flow);
        let flow = &mut self.flows[place as usize];
        flow.fifo.push(now, parcel, books);
        if !flow.is_listed {
            flow.is_listed = true;
            flow.credit = i64::from(self.config.quantum);
            self.new.push_back(place);
        }
        while !self.config.limit.holds(books.packets, books.bytes) {
            self.drop_from_longest(now, books);
        }
        Ok(())
    }

    fn pop(&mut self, now: Instant, books: &mut Books<T>) -> Option<Waiting<T>> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let place = list.pop_front()?;
            let flow = &mut self.flows[place as usize];
            if flow.credit <= 0 {
                flow.credit += i64::from(self.config.quantum);
                self.old.push_back(place);
                continue;
            }
            let codel = &self.config.codel;
            let Some(head) = flow.control.pop(codel, now, &mut flow.fifo, books) else {
                // A new flow that ran empty has its turn among the old ones before it can be new
                // again: else it could starve them (RFC 8290 §4.2).
                if is_new {
                    self.old.push_back(place);
                } else {
                    flow.is_listed = false;
                }
                continue;
            };
            flow.credit -= i64::try_from(head.parcel.len).unwrap_or(i64::MAX);
            let list = if is_new { &mut self.new } else { &mut self.old };
            list.push_front(place);
            return Some(head);
        }
    }

    fn limit_mut(&mut self) -> &mut Limit {
        &mut self.config.limit
    }
}

#[cfg(test)]
mod tests;
