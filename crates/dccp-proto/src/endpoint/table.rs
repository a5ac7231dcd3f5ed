//! The connections of an endpoint, by id and by flow.

use super::IcmpError;
use crate::config::bounds;
use crate::conn::Connection;
use crate::path::Flow;
use core::cell::Cell;
use core::hash::BuildHasher;
use core::num::NonZeroU64;
use hashbrown::HashTable;
use std::hash::RandomState;

/// Names a connection of one endpoint. Never reused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ConnId(
    /// One more than place and generation, so that an `Option` takes no more memory: tables keep many.
    NonZeroU64,
);

impl ConnId {
    const fn new(index: usize, generation: u32) -> Self {
        Self(NonZeroU64::MIN.saturating_add((generation as u64) << 32 | index as u64))
    }

    const fn bits(self) -> u64 {
        self.0.get() - 1
    }

    /// The place of the connection in tables of the caller: small numbers, reused after the
    /// connection is gone.
    #[expect(clippy::cast_possible_truncation, reason = "the low half is the index")]
    pub fn index(self) -> usize {
        self.bits() as u32 as usize
    }

    fn generation(self) -> u32 {
        (self.bits() >> 32) as u32
    }
}

#[derive(Default)]
pub(super) struct Table {
    slots: Vec<Slot>,
    free: Vec<usize>,
    // 6773-3.8-3: a flow over UDP is the 6-tuple. Only looked up or summed over: order cannot matter.
    // The flows themselves stand in the connections: a second copy of each would be as large as its place here.
    by_flow: HashTable<ConnId>,
    hasher: RandomState,
    /// The result of the last search. Packets come in trains of one flow, and hashing a flow costs as
    /// much as all other steps between parser and connection.
    last: Cell<Option<(Flow, ConnId)>>,
}

struct Slot {
    generation: u32,
    conn: Option<Box<Connection>>,
}

impl Table {
    pub(super) fn is_full(&self) -> bool {
        self.by_flow.len() >= bounds::CONNECTIONS
    }

    pub(super) fn len(&self) -> usize {
        self.by_flow.len()
    }

    pub(super) fn find(&self, flow: &Flow) -> Option<ConnId> {
        if let Some((last, id)) = self.last.get()
            && last == *flow
        {
            return Some(id);
        }
        let is_it = |id: &ConnId| self.get(*id).is_some_and(|conn| conn.flow() == flow);
        let id = *self.by_flow.find(self.hasher.hash_one(flow), is_it)?;
        self.last.set(Some((*flow, id)));
        Some(id)
    }

    pub(super) fn get(&self, id: ConnId) -> Option<&Connection> {
        let slot = self.slots.get(id.index())?;
        slot.conn
            .as_deref()
            .filter(|_| slot.generation == id.generation())
    }

    pub(super) fn get_mut(&mut self, id: ConnId) -> Option<&mut Connection> {
        let slot = self.slots.get_mut(id.index())?;
        let is_same = slot.generation == id.generation();
        slot.conn.as_deref_mut().filter(|_| is_same)
    }

    pub(super) fn insert(&mut self, conn: Connection) -> ConnId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot {
                generation: 0,
                conn: None,
            });
            self.slots.len() - 1
        });
        let flow = *conn.flow();
        let slot = &mut self.slots[index];
        slot.conn = Some(Box::new(conn));
        let id = ConnId::new(index, slot.generation);
        let Self {
            slots,
            by_flow,
            hasher,
            ..
        } = self;
        let hash_of = |id: &ConnId| {
            let conn = slots.get(id.index()).and_then(|slot| slot.conn.as_deref());
            conn.map_or(0, |conn| hasher.hash_one(conn.flow()))
        };
        by_flow.insert_unique(hasher.hash_one(flow), id, hash_of);
        id
    }

    /// Visits each connection that has its flow, in any order.
    pub(super) fn each(&self, mut visit: impl FnMut(&Connection)) {
        let connections = self.by_flow.iter().filter_map(|id| self.get(*id));
        connections.for_each(&mut visit);
    }

    /// Frees the flow of a connection, which stays known by its id; `None` if it was done before.
    pub(super) fn retire(&mut self, id: ConnId) -> Option<&Connection> {
        let slot = self
            .slots
            .get(id.index())
            .filter(|s| s.generation == id.generation())?;
        let conn = slot.conn.as_deref()?;
        let hash = self.hasher.hash_one(conn.flow());
        let place = self.by_flow.find_entry(hash, |known| *known == id).ok()?;
        place.remove();
        self.last.take();
        Some(conn)
    }

    /// Forgets a connection that has been retired.
    pub(super) fn remove(&mut self, id: ConnId) {
        let slot = self
            .slots
            .get_mut(id.index())
            .filter(|s| s.generation == id.generation());
        if let Some(slot) = slot
            && slot.conn.take().is_some()
        {
            slot.generation = slot.generation.wrapping_add(1);
            self.free.push(id.index());
        }
    }

    /// The connection whose packet an ICMP error quotes. Over UDP a quote may end before the DCCP
    /// ports (6773-3.6-1): it counts only if the endpoint has no other connection.
    pub(super) fn find_quoted(&self, error: &IcmpError<'_>) -> Option<ConnId> {
        let Some(&[a, b, c, d]) = error.quoted.first_chunk() else {
            let mut flows = self.slots.iter().filter_map(|s| s.conn.as_deref());
            let only = flows.next().filter(|conn| conn.flow().path == error.path)?;
            return flows
                .next()
                .is_none()
                .then(|| self.find(only.flow()))
                .flatten();
        };
        self.find(&Flow {
            path: error.path,
            local_port: u16::from_be_bytes([a, b]),
            remote_port: u16::from_be_bytes([c, d]),
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::ConnId;

    /// The id of a place that was used `generation` times before.
    pub(in crate::endpoint) fn id(index: usize, generation: u32) -> ConnId {
        ConnId::new(index, generation)
    }
}
