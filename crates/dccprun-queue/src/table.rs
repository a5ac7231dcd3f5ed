//! The queues of a process by their descriptors.
//!
//! Nothing locks, because signal handlers use the table, and nothing allocates. A queue stays where it is while a call uses
//! it, even if another thread closes its descriptor.

#![expect(
    unsafe_code,
    reason = "a cell whose owner is found by atomic operations"
)]

use core::cell::UnsafeCell;
use core::ops::Deref;
use core::sync::atomic::{AtomicU32, Ordering};

/// Values of a descriptor: nothing is known, no queue, or the place with this number plus [`FIRST`].
const UNKNOWN: u32 = 0;
const NONE: u32 = 1;
const FIRST: u32 = 2;

/// References of a place that is being filled or emptied.
const BUSY: u32 = u32::MAX;

/// Queues at most `PLACES`, of descriptors below `DESCRIPTORS`.
#[derive(Debug)]
pub struct Table<Q, const DESCRIPTORS: usize, const PLACES: usize> {
    descriptors: [AtomicU32; DESCRIPTORS],
    places: [Place<Q>; PLACES],
}

/// Why a descriptor has no queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Absent {
    /// It may have one later.
    Now,
    /// It has none until it is closed, or until [`Table::look_again`].
    Always,
}

#[derive(Debug)]
struct Place<Q> {
    /// The descriptor's, and one for each call that uses the queue; 0: the place is free.
    references: AtomicU32,
    queue: UnsafeCell<Option<Q>>,
}

// SAFETY: `queue` changes only while `references` is BUSY, which one thread sets. Other threads read it while they hold a
// reference, so it must be Sync; the last one drops it, so it must be Send.
unsafe impl<Q: Send + Sync> Sync for Place<Q> {}

/// A queue that stays until this is dropped.
#[derive(Debug)]
pub struct Used<'a, Q> {
    place: &'a Place<Q>,
    queue: &'a Q,
}

impl<Q, const DESCRIPTORS: usize, const PLACES: usize> Table<Q, DESCRIPTORS, PLACES> {
    /// An empty table, all zeros.
    pub const fn new() -> Self {
        Self {
            descriptors: [const { AtomicU32::new(UNKNOWN) }; DESCRIPTORS],
            places: [const { Place::new() }; PLACES],
        }
    }

    /// The queue of a descriptor. If nothing is known about it, `make` gives the queue. It is forgotten again if `is_right`
    /// finds that another thread has meanwhile closed the descriptor.
    pub fn find(
        &self,
        descriptor: i32,
        make: impl Fn() -> Result<Q, Absent>,
        is_right: impl Fn() -> bool,
    ) -> Option<Used<'_, Q>> {
        let cell = self.cell(descriptor)?;
        loop {
            match cell.load(Ordering::Acquire) {
                NONE => return None,
                UNKNOWN => {
                    self.add(cell, &make)?;
                    if !is_right() {
                        self.forget(descriptor);
                        return None;
                    }
                }
                value => {
                    let used = self.place(value)?.enter();
                    // The place may have become another descriptor's since it was read.
                    if cell.load(Ordering::Acquire) == value {
                        return used;
                    }
                }
            }
        }
    }

    /// The queue of a descriptor that has one already.
    pub fn known(&self, descriptor: i32) -> Option<Used<'_, Q>> {
        let value = self.cell(descriptor)?.load(Ordering::Acquire);
        match value {
            NONE | UNKNOWN => None,
            _ => self.find(descriptor, || Err(Absent::Now), || true),
        }
    }

    /// Forgets a descriptor that is closed or stands for something else.
    pub fn forget(&self, descriptor: i32) {
        let Some(cell) = self.cell(descriptor) else {
            return;
        };
        // Most descriptors are not in the table.
        if cell.load(Ordering::Relaxed) != UNKNOWN {
            self.release(cell.swap(UNKNOWN, Ordering::AcqRel));
        }
    }

    /// The next call that finds may make a queue of a descriptor, even if it had none.
    pub fn look_again(&self, descriptor: i32) {
        if let Some(cell) = self.cell(descriptor) {
            // One that has a queue keeps it.
            let _ = cell.compare_exchange(NONE, UNKNOWN, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Finds out what a descriptor stands for; `None`: nothing now.
    fn add(&self, cell: &AtomicU32, make: impl Fn() -> Result<Q, Absent>) -> Option<()> {
        // First a place, so that no queue is made for which there is none.
        let free = (FIRST..)
            .zip(&self.places)
            .find(|(_, place)| place.reserve());
        let value = match free {
            None => NONE,
            Some((value, place)) => match make() {
                Ok(queue) => {
                    place.fill(queue);
                    value
                }
                Err(absent) => {
                    place.free();
                    if absent == Absent::Now {
                        return None;
                    }
                    NONE
                }
            },
        };
        let set = cell.compare_exchange(UNKNOWN, value, Ordering::AcqRel, Ordering::Relaxed);
        if set.is_err() {
            // Another thread was faster.
            self.release(value);
        }
        Some(())
    }

    fn release(&self, value: u32) {
        if let Some(place) = self.place(value) {
            place.leave();
        }
    }

    fn cell(&self, descriptor: i32) -> Option<&AtomicU32> {
        self.descriptors.get(usize::try_from(descriptor).ok()?)
    }

    fn place(&self, value: u32) -> Option<&Place<Q>> {
        self.places.get(value.checked_sub(FIRST)? as usize)
    }
}

impl<Q, const DESCRIPTORS: usize, const PLACES: usize> Default for Table<Q, DESCRIPTORS, PLACES> {
    fn default() -> Self {
        Self::new()
    }
}

impl<Q> Place<Q> {
    const fn new() -> Self {
        Self {
            references: AtomicU32::new(0),
            queue: UnsafeCell::new(None),
        }
    }

    /// Makes a free place BUSY for this thread. Returns `false` if it is not free.
    fn reserve(&self) -> bool {
        let references = &self.references;
        references
            .compare_exchange(0, BUSY, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    }

    /// Puts a queue into a reserved place, with the descriptor's reference.
    fn fill(&self, queue: Q) {
        // SAFETY: this thread has reserved the place.
        unsafe { *self.queue.get() = Some(queue) };
        self.references.store(1, Ordering::Release);
    }

    /// Empties a place that this thread has made BUSY.
    fn free(&self) {
        // SAFETY: this thread has made the place BUSY.
        unsafe { *self.queue.get() = None };
        self.references.store(0, Ordering::Release);
    }

    /// Takes a reference; `None`: the place has no queue.
    fn enter(&self) -> Option<Used<'_, Q>> {
        let more = |count| (count != 0 && count != BUSY).then(|| count + 1);
        self.references
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, more)
            .ok()?;
        // SAFETY: this reference keeps the place from becoming BUSY.
        let queue = unsafe { &*self.queue.get() };
        let Some(queue) = queue else {
            self.leave();
            return None;
        };
        Some(Used { place: self, queue })
    }

    /// Gives a reference back. The last one drops the queue.
    fn leave(&self) {
        let less = |count| Some(if count == 1 { BUSY } else { count - 1 });
        let left = self
            .references
            .fetch_update(Ordering::AcqRel, Ordering::Relaxed, less);
        if left == Ok(1) {
            self.free();
        }
    }
}

impl<Q> Deref for Used<'_, Q> {
    type Target = Q;

    fn deref(&self) -> &Q {
        self.queue
    }
}

impl<Q> Drop for Used<'_, Q> {
    fn drop(&mut self) {
        self.place.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;
    use std::sync::Arc;
    use std::thread;

    fn right() -> bool {
        true
    }

    #[test]
    fn queue_of_a_descriptor_that_was_closed_meanwhile_is_forgotten() {
        let table = Table::<u8, 4, 2>::new();
        assert!(table.find(0, || Ok(1), || false).is_none());
        assert!(table.known(0).is_none());
        assert!(table.find(0, || Ok(1), right).is_some());
    }

    #[test]
    fn queue_is_made_once_and_dropped_after_its_last_use() {
        let table = Table::<Arc<u8>, 4, 2>::new();
        let count = Cell::new(0);
        let queue = Arc::new(7);
        let make = || {
            count.set(count.get() + 1);
            Ok(queue.clone())
        };
        assert!(table.known(3).is_none());
        let used = table.find(3, make, right).unwrap();
        assert_eq!((**used, count.get()), (7, 1));
        drop(table.find(3, make, right).unwrap());
        assert!(table.known(3).is_some());
        assert_eq!(count.get(), 1);
        table.forget(3);
        assert!(table.known(3).is_none());
        assert_eq!(Arc::strong_count(&queue), 2, "a call uses it");
        drop(used);
        assert_eq!(Arc::strong_count(&queue), 1);
        assert!(table.find(4, make, right).is_none(), "beyond the table");
        assert!(table.find(-1, make, right).is_none());
    }

    #[test]
    fn absence_lasts_until_the_descriptor_is_closed_or_not_at_all() {
        let table = Table::<u8, 4, 1>::new();
        assert!(table.find(0, || Err(Absent::Now), right).is_none());
        assert!(table.find(0, || Err(Absent::Always), right).is_none());
        assert!(table.find(0, || Ok(1), right).is_none());
        table.forget(0);
        assert!(table.find(0, || Err(Absent::Always), right).is_none());
        table.look_again(0);
        assert!(table.find(0, || Ok(1), right).is_some());
        table.look_again(0);
        assert!(table.known(0).is_some());
        // The only place is taken: the queue is not even made.
        let make = || panic!("there is no place");
        assert!(table.find(1, make, right).is_none());
        table.forget(0);
        table.forget(1);
        assert!(table.find(1, || Ok(2), right).is_some());
    }

    #[test]
    fn threads_that_find_and_forget_see_only_queues_of_their_descriptor() {
        static TABLE: Table<Box<i32>, 8, 4> = Table::new();
        thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    for round in 0..50_000 {
                        let descriptor = (round * 5 + thread) % 8;
                        if (round + thread) % 3 == 0 {
                            TABLE.forget(descriptor);
                        } else if let Some(used) =
                            TABLE.find(descriptor, || Ok(Box::new(descriptor)), right)
                        {
                            assert_eq!(**used, descriptor);
                        }
                    }
                });
            }
        });
        for descriptor in 0..8 {
            TABLE.forget(descriptor);
        }
        assert!(
            TABLE
                .places
                .iter()
                .all(|place| place.references.load(Ordering::Relaxed) == 0)
        );
    }
}
