//! The queue of requests that wait for a seat.
//!
//! Requests of one listener get seats in the order of their arrival. One source address, or IPv6 network of 64 bits,
//! never takes the last free place while it holds another.

use core::net::IpAddr;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The requests of all listeners that wait.
#[derive(Debug)]
pub(super) struct Queue {
    /// How many may wait.
    most: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// In the order of their arrival.
    places: VecDeque<(u64, IpAddr)>,
    /// The number of the next one.
    next: u64,
}

impl Queue {
    pub(super) fn new(most: u32) -> Self {
        Self {
            most: most as usize,
            waiting: Mutex::default(),
        }
    }

    /// Whether the server has a queue.
    pub(super) fn is_open(&self) -> bool {
        self.most > 0
    }

    /// A place at the end of the queue; `None` if there is no room.
    pub(super) fn join(self: &Arc<Self>, source: IpAddr) -> Option<Place> {
        let mut waiting = self.lock();
        let holds = waiting.places.iter().any(|(_, other)| *other == source);
        match self.most.saturating_sub(waiting.places.len()) {
            0 => return None,
            1 if holds && self.most > 1 => return None,
            _ => {}
        }
        let number = waiting.next;
        waiting.next += 1;
        waiting.places.push_back((number, source));
        Some(Place {
            queue: self.clone(),
            number,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the queue; free again when dropped.
#[derive(Debug)]
pub(super) struct Place {
    queue: Arc<Queue>,
    number: u64,
}

impl Place {
    /// The first one has position 1.
    pub(super) fn position(&self) -> u32 {
        let waiting = self.queue.lock();
        let before = waiting.places.iter();
        let before = before.take_while(|(number, _)| *number != self.number);
        u32::try_from(before.count() + 1).unwrap_or(u32::MAX)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut waiting = self.queue.lock();
        waiting.places.retain(|(number, _)| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    #[test]
    fn places_move_up_when_one_leaves() {
        let queue = Arc::new(Queue::new(3));
        let first = queue.join(source(1)).unwrap();
        let second = queue.join(source(1)).unwrap();
        assert_eq!((first.position(), second.position()), (1, 2));
        // The last place is kept for others.
        assert!(queue.join(source(1)).is_none());
        let third = queue.join(source(2)).unwrap();
        assert_eq!(third.position(), 3);
        assert!(queue.join(source(3)).is_none());
        drop(first);
        assert_eq!((second.position(), third.position()), (1, 2));
    }

    #[test]
    fn server_without_a_queue_has_no_place() {
        let queue = Arc::new(Queue::new(0));
        assert!(!queue.is_open());
        assert!(queue.join(source(1)).is_none());
        let single = Arc::new(Queue::new(1));
        assert!(single.join(source(1)).is_some());
    }
}
