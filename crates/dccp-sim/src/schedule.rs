//! When whom to call next: one entry per actor, ordered by time.
//!
//! A link or a node has one next moment at most, however many packets it holds. So the heap is as
//! large as the topology, not as the windows, and moving an appointment costs no dead entries.

use dccp_proto::Instant;

/// Whom to call: a number that the owner of the schedule gives out, from 0 without gaps.
pub(crate) type Actor = u32;

/// Appointments of actors: a heap of four children per node, with each actor's place in it.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    heap: Vec<Entry>,
    /// Index in `heap` for each actor, or `NOWHERE`.
    places: Vec<u32>,
    made: u64,
    /// Whose appointment was taken off last. It stays in the heap until the next use: who was called
    /// mostly makes a new one at once, which then takes its place.
    taken: Option<Actor>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Instant,
    /// How many appointments were made before: of two at one moment the older comes first.
    order: u64,
    actor: Actor,
}

const NOWHERE: u32 = u32::MAX;
const ARITY: usize = 4;

impl Entry {
    /// One number, so that comparing takes no branch.
    const fn key(&self) -> u128 {
        (self.at.as_nanos() as u128) << 64 | self.order as u128
    }

    fn is_before(&self, other: &Self) -> bool {
        self.key() < other.key()
    }
}

impl Schedule {
    /// Makes, moves or (`None`) cancels the appointment of `actor`. Setting the moment that it
    /// already has keeps its turn.
    pub(crate) fn set(&mut self, actor: Actor, at: Option<Instant>) {
        let actor_index = actor as usize;
        if actor_index >= self.places.len() {
            self.places.resize(actor_index + 1, NOWHERE);
        }
        let place = self.places[actor_index];
        match (place, at) {
            (NOWHERE, None) => {}
            (NOWHERE, Some(at)) => {
                let entry = self.entry(at, actor);
                self.heap.push(entry);
                self.rise(self.heap.len() - 1);
            }
            (place, None) => {
                self.taken = self.taken.filter(|taken| *taken != actor);
                self.remove(place as usize);
            }
            (place, Some(at)) => {
                let place = place as usize;
                let old = self.heap[place].at;
                let is_new = self.taken == Some(actor);
                if is_new {
                    self.taken = None;
                }
                if is_new || at != old {
                    self.heap[place] = self.entry(at, actor);
                    // A later number at the same or a later moment sinks, at an earlier one rises.
                    if at < old {
                        self.rise(place);
                    } else {
                        self.sink(place);
                    }
                }
            }
        }
    }

    /// The next moment at which somebody is to be called.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        let first = self.heap.first()?;
        if self.taken != Some(first.actor) {
            return Some(first.at);
        }
        let children = self.heap.iter().skip(1).take(ARITY);
        children.map(|e| e.at).min()
    }

    /// Takes the next appointment off.
    pub(crate) fn pop(&mut self) -> Option<(Instant, Actor)> {
        self.settle();
        let first = *self.heap.first()?;
        self.taken = Some(first.actor);
        Some((first.at, first.actor))
    }

    /// Removes what was taken off and not made anew.
    fn settle(&mut self) {
        if let Some(actor) = self.taken.take() {
            self.remove(self.places[actor as usize] as usize);
        }
    }

    fn entry(&mut self, at: Instant, actor: Actor) -> Entry {
        self.made += 1;
        Entry {
            at,
            order: self.made,
            actor,
        }
    }

    fn remove(&mut self, place: usize) {
        let gone = self.heap.swap_remove(place);
        self.places[gone.actor as usize] = NOWHERE;
        if let Some(moved) = self.heap.get(place) {
            if moved.is_before(&gone) {
                self.rise(place);
            } else {
                self.sink(place);
            }
        }
    }

    fn rise(&mut self, mut place: usize) {
        let entry = self.heap[place];
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if !entry.is_before(&self.heap[parent]) {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    fn sink(&mut self, mut place: usize) {
        let entry = self.heap[place];
        let key = entry.key();
        loop {
            let first = ARITY * place + 1;
            let end = (first + ARITY).min(self.heap.len());
            let (mut least, mut below) = (place, key);
            for (index, child) in self.heap[first.min(end)..end].iter().enumerate() {
                let child = child.key();
                if child < below {
                    (least, below) = (first + index, child);
                }
            }
            if least == place {
                break;
            }
            self.put(place, self.heap[least]);
            place = least;
        }
        self.put(place, entry);
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "actors are u32, so places are"
    )]
    fn put(&mut self, place: usize, entry: Entry) {
        self.heap[place] = entry;
        self.places[entry.actor as usize] = place as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    fn drain(schedule: &mut Schedule) -> Vec<(u64, Actor)> {
        core::iter::from_fn(|| schedule.pop())
            .map(|(at, actor)| (at.as_nanos(), actor))
            .collect()
    }

    #[test]
    fn of_two_at_one_moment_the_older_appointment_comes_first() {
        let mut schedule = Schedule::default();
        for actor in [5, 1, 3] {
            schedule.set(actor, Some(at(10)));
        }
        schedule.set(1, Some(at(10))); // no change, keeps its turn
        schedule.set(5, Some(at(11)));
        schedule.set(5, Some(at(10))); // moved and moved back: last
        assert_eq!(drain(&mut schedule), [(10, 1), (10, 3), (10, 5)]);
    }

    #[test]
    fn a_cancelled_appointment_never_comes() {
        let mut schedule = Schedule::default();
        schedule.set(0, Some(at(1)));
        schedule.set(1, Some(at(2)));
        schedule.set(0, None);
        schedule.set(7, None);
        assert_eq!(schedule.next_at(), Some(at(2)));
        assert_eq!(drain(&mut schedule), [(2, 1)]);
        assert_eq!(schedule.next_at(), None);
    }

    #[test]
    fn who_was_called_can_make_a_new_appointment_at_any_time() {
        let mut schedule = Schedule::default();
        schedule.set(0, Some(at(1)));
        schedule.set(1, Some(at(1)));
        assert_eq!(schedule.pop(), Some((at(1), 0)));
        schedule.set(0, Some(at(1))); // the same moment: behind actor 1
        assert_eq!(schedule.pop(), Some((at(1), 1)));
        schedule.set(1, None);
        assert_eq!(schedule.next_at(), Some(at(1)));
        assert_eq!(schedule.pop(), Some((at(1), 0)));
        schedule.set(0, Some(at(0)));
        assert_eq!(drain(&mut schedule), [(0, 0)]);
    }

    proptest! {
        #[test]
        fn it_is_a_sorted_map_from_actor_to_moment(
            steps in proptest::collection::vec(
                (0..20_u32, proptest::option::of(0..50_u64), proptest::bool::weighted(0.3)),
                0..200,
            ),
        ) {
            let mut schedule = Schedule::default();
            let mut model = std::collections::BTreeMap::new();
            for (turn, (actor, moment, pops)) in steps.into_iter().enumerate() {
                if pops {
                    let first = model.iter().map(|(a, (m, t))| (*m, *t, *a)).min();
                    prop_assert_eq!(
                        schedule.pop(),
                        first.map(|(m, _, a)| (Instant::from_nanos(m), a))
                    );
                    if let Some((_, _, a)) = first {
                        model.remove(&a);
                    }
                }
                schedule.set(actor, moment.map(Instant::from_nanos));
                match moment {
                    Some(m) if model.get(&actor).is_some_and(|&(old, _)| old == m) => {}
                    Some(m) => drop(model.insert(actor, (m, turn))),
                    None => drop(model.remove(&actor)),
                }
            }
            let mut expected: Vec<_> = model.into_iter().map(|(a, (m, turn))| (m, turn, a)).collect();
            expected.sort_unstable();
            let expected: Vec<_> = expected.into_iter().map(|(m, _, a)| (m, a)).collect();
            prop_assert_eq!(drain(&mut schedule), expected);
        }
    }
}
