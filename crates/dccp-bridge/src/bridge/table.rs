//! The flows by place, and the tokens of their sockets.

use crate::flow::Flow;
use mio::Token;

/// Tokens of sockets that belong to no flow.
pub(super) const DOORS: usize = 16;

/// The meaning of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// A listener, or the socket where applications send to.
    Door(usize),
    /// The connection of the flow at this place.
    Connection(usize),
    /// The flow's own UDP socket.
    Port(usize),
}

impl Place {
    pub(super) fn of(token: Token) -> Self {
        let Token(number) = token;
        match number.checked_sub(DOORS) {
            None => Self::Door(number),
            Some(number) if number % 2 == 0 => Self::Connection(number / 2),
            Some(number) => Self::Port(number / 2),
        }
    }

    pub(super) fn token(self) -> Token {
        Token(match self {
            Self::Door(index) => index,
            Self::Connection(slot) => DOORS + 2 * slot,
            Self::Port(slot) => DOORS + 2 * slot + 1,
        })
    }
}

/// Flows, each at a place that stays the same.
#[derive(Default)]
pub(super) struct Table {
    places: Vec<Option<Flow>>,
    free: Vec<usize>,
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }

    pub(super) fn get_mut(&mut self, slot: usize) -> Option<&mut Flow> {
        self.places.get_mut(slot)?.as_mut()
    }

    /// Adds the flow that `make` returns for a place. Returns the place.
    pub(super) fn insert(&mut self, make: impl FnOnce(usize) -> Flow) -> usize {
        let slot = self.free.pop().unwrap_or(self.places.len());
        let flow = Some(make(slot));
        match self.places.get_mut(slot) {
            Some(place) => *place = flow,
            None => self.places.push(flow),
        }
        slot
    }

    pub(super) fn remove(&mut self, slot: usize) -> Option<Flow> {
        let flow = self.places.get_mut(slot)?.take()?;
        self.free.push(slot);
        Some(flow)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Flow> {
        self.places.iter().flatten()
    }

    /// At most `at_most` places of flows, from `from` on and around.
    pub(super) fn next_slots(&self, from: usize, at_most: usize) -> Vec<usize> {
        let (before, after) = self.places.split_at(from.min(self.places.len()));
        let slots = after.iter().chain(before).flatten().map(|flow| flow.slot);
        slots.take(at_most).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::udp::AppAddr;
    use dccp::Instant;

    #[test]
    fn tokens_and_places_are_the_same() {
        for place in [
            Place::Door(0),
            Place::Door(DOORS - 1),
            Place::Connection(0),
            Place::Port(0),
            Place::Port(77),
        ] {
            assert_eq!(Place::of(place.token()), place);
        }
    }

    #[test]
    fn places_are_used_again_and_sampled_in_turns() {
        let mut table = Table::default();
        let app = AppAddr {
            remote: ([127, 0, 0, 1], 1).into(),
            local: None,
        };
        let flow = |slot| Flow::new(1, slot, Token(0), app, None, Instant::ZERO);
        let slots: Vec<_> = (0..4).map(|_| table.insert(flow)).collect();
        assert_eq!(slots, [0, 1, 2, 3]);
        assert!(table.remove(1).is_some());
        assert!(table.remove(1).is_none());
        assert_eq!(table.len(), 3);
        assert_eq!(table.next_slots(1, 2), [2, 3]);
        assert_eq!(table.next_slots(4, 2), [0, 2]);
        assert_eq!(table.insert(flow), 1);
        assert_eq!(table.next_slots(3, 9), [3, 0, 1, 2]);
    }
}
