//! The event queue: at most one pending event per actor, ordered by time.
//!
//! A link or a node schedules only its next event, however many packets it holds. So the queue grows with the
//! topology, not with the windows. Rescheduling leaves no dead entries behind.

use dccp_proto::Instant;

/// The number of an actor. The owner of the schedule assigns them, from 0 without gaps.
pub(crate) type Actor = u32;

/// A winner tree of events. Actors are the leaves of a complete binary tree. Each inner node compares its two
/// children and passes the earlier event up.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    /// By inner node, the root at 1: the events that the children `2 * n` and `2 * n + 1` passed up. Leaves
    /// follow the inner nodes, by actor.
    pairs: Vec<[EventKey; 2]>,
    /// The actor whose event was popped last. The event stays in the tree until the next call: most actors
    /// schedule their next event at once, which then needs one path to the root instead of two.
    popped: Option<Actor>,
}

/// The sort key of an event, in one number: its time in ns, when it was scheduled, its actor. Of two events at
/// one time the one scheduled earlier comes first. The order of calls does not matter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct EventKey(u128);

impl EventKey {
    /// Bits of the actor, and of the time in ns between scheduling and event. Beyond 18 minutes all ages are
    /// equal.
    const ACTOR_BITS: u32 = 24;
    const AGE_BITS: u32 = 40;
    const AGE_MAX: u64 = (1 << Self::AGE_BITS) - 1;
    /// The time of actors without an event.
    const NEVER: u64 = u64::MAX;

    /// The key of an event at `at`, scheduled at `made`.
    #[inline]
    pub(crate) const fn of(at: Instant, made: Instant, actor: Actor) -> Self {
        Self::new(at.as_nanos(), made.as_nanos(), actor)
    }

    const fn new(at: u64, made: u64, actor: Actor) -> Self {
        let age = at.saturating_sub(made);
        let youth = Self::AGE_MAX.saturating_sub(age);
        let key = youth << Self::ACTOR_BITS | actor as u64;
        Self((at as u128) << 64 | key as u128)
    }

    /// The least key after `at`.
    pub(crate) const fn first_after(at: Instant) -> Self {
        Self((at.as_nanos().saturating_add(1) as u128) << 64)
    }

    const fn never(actor: Actor) -> Self {
        Self::new(Self::NEVER, 0, actor)
    }

    const fn at(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// The time of the event.
    pub(crate) const fn time(self) -> Instant {
        Instant::from_nanos(self.at())
    }

    const fn is_pending(self) -> bool {
        self.at() != Self::NEVER
    }

    /// The actor of the event.
    #[expect(clippy::cast_possible_truncation, reason = "the lowest bits")]
    pub(crate) const fn actor(self) -> Actor {
        self.0 as Actor & ((1 << Self::ACTOR_BITS) - 1)
    }
}

/// The earlier of two optional times.
pub(crate) fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        _ => one.or(other),
    }
}

impl Schedule {
    /// Schedules, moves or (`None`) cancels the event of `actor`, at the time `made`. Setting the time that the
    /// event already has keeps its key.
    #[inline]
    pub(crate) fn set(&mut self, actor: Actor, at: Option<Instant>, made: Instant) {
        let at = at.map_or(EventKey::NEVER, Instant::as_nanos);
        let mut leaf = self.leaf(actor);
        if leaf / 2 >= self.pairs.len() {
            if at == EventKey::NEVER {
                return;
            }
            self.grow(actor);
            leaf = self.leaf(actor);
        }
        if self.popped == Some(actor) {
            self.popped = None;
        } else if self.pairs[leaf / 2][leaf % 2].at() == at {
            return;
        }
        self.replay(leaf, EventKey::new(at, made.as_nanos(), actor));
    }

    /// The time of the next event.
    #[inline]
    pub(crate) fn next_at(&mut self) -> Option<Instant> {
        self.finish_pop();
        self.first().map(EventKey::time)
    }

    /// Removes and returns the next event, unless it is after `end`.
    #[inline]
    pub(crate) fn pop_until(&mut self, end: Instant) -> Option<EventKey> {
        self.finish_pop();
        let first = self.first().filter(|first| first.time() <= end)?;
        self.popped = Some(first.actor());
        Some(first)
    }

    fn first(&self) -> Option<EventKey> {
        let [one, other] = *self.pairs.get(1)?;
        Some(one.min(other)).filter(|first| first.is_pending())
    }

    /// Removes the popped event from the tree, unless its actor has scheduled another.
    fn finish_pop(&mut self) {
        if self.popped.is_some() {
            self.remove_popped();
        }
    }

    #[cold]
    fn remove_popped(&mut self) {
        if let Some(actor) = self.popped.take() {
            self.replay(self.leaf(actor), EventKey::never(actor));
        }
    }

    fn leaf(&self, actor: Actor) -> usize {
        self.pairs.len() + actor as usize
    }

    /// Stores an event at a node and replays the comparisons from there to the root.
    #[inline]
    fn replay(&mut self, node: usize, entry: EventKey) {
        let (mut node, mut entry) = (node, entry);
        while node > 1
            && let Some(pair) = self.pairs.get_mut(node / 2)
        {
            pair[node % 2] = entry;
            // Nothing just written is read again, so no load waits for a store.
            entry = entry.min(pair[1 - node % 2]);
            node /= 2;
        }
    }

    /// Grows the tree so that it holds `actor`.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, actor: Actor) {
        let old = core::mem::take(&mut self.pairs);
        let actors = (actor + 1).next_power_of_two().max(2);
        assert!(actors <= 1 << EventKey::ACTOR_BITS, "too large a world");
        self.pairs = vec![[EventKey::never(0); 2]; actors as usize];
        for actor in 0..actors {
            let leaf = self.leaf(actor);
            self.pairs[leaf / 2][leaf % 2] = EventKey::never(actor);
        }
        for entry in old[old.len() / 2..].iter().flatten() {
            self.replay(self.leaf(entry.actor()), *entry);
        }
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
        core::iter::from_fn(|| schedule.pop_until(Instant::FAR_FUTURE))
            .map(|key| (key.time().as_nanos(), key.actor()))
            .collect()
    }

    /// The key that [`Schedule::pop_until`] returns.
    fn key(ns: u64, made: u64, actor: Actor) -> EventKey {
        EventKey::of(at(ns), at(made), actor)
    }

    #[test]
    fn event_scheduled_earlier_comes_first_at_equal_times() {
        let mut schedule = Schedule::default();
        for (actor, made) in [(5, 0), (1, 1), (3, 2), (2, 2)] {
            schedule.set(actor, Some(at(10)), at(made));
        }
        schedule.set(1, Some(at(10)), at(3)); // no change, keeps its key
        schedule.set(5, Some(at(11)), at(3));
        schedule.set(5, Some(at(10)), at(3)); // moved and moved back: last
        // Of two that were made at one moment, the lower actor's.
        assert_eq!(drain(&mut schedule), [(10, 1), (10, 2), (10, 3), (10, 5)]);
    }

    #[test]
    fn ages_beyond_18_minutes_are_equal() {
        let far = 1 << 40;
        let key = |made| EventKey::of(at(far + 10), at(made), 1);
        assert_eq!(key(0), key(11));
        assert!(key(11) < key(12));
        assert!(key(far + 9) < key(far + 10));
        assert_eq!(key(far + 10), key(far + 11), "a key of the past has age 0");
    }

    #[test]
    fn cancelled_event_never_comes() {
        let mut schedule = Schedule::default();
        schedule.set(0, Some(at(1)), at(0));
        schedule.set(1, Some(at(2)), at(0));
        schedule.set(0, None, at(0));
        schedule.set(7, None, at(0));
        assert_eq!(schedule.next_at(), Some(at(2)));
        assert_eq!(schedule.pop_until(at(1)), None);
        assert_eq!(drain(&mut schedule), [(2, 1)]);
        assert_eq!(schedule.next_at(), None);
    }

    #[test]
    fn popped_actor_can_schedule_at_any_time() {
        let mut schedule = Schedule::default();
        schedule.set(0, Some(at(1)), at(0));
        schedule.set(1, Some(at(1)), at(0));
        assert_eq!(schedule.pop_until(Instant::FAR_FUTURE), Some(key(1, 0, 0)));
        schedule.set(0, Some(at(1)), at(1)); // the same moment: behind actor 1
        assert_eq!(schedule.pop_until(Instant::FAR_FUTURE), Some(key(1, 0, 1)));
        schedule.set(1, None, at(1));
        assert_eq!(schedule.next_at(), Some(at(1)));
        assert_eq!(schedule.pop_until(Instant::FAR_FUTURE), Some(key(1, 1, 0)));
        schedule.set(0, Some(at(0)), at(1));
        assert_eq!(drain(&mut schedule), [(0, 0)]);
    }

    proptest! {
        #[test]
        fn schedule_behaves_as_a_sorted_map(
            steps in proptest::collection::vec(
                (0..20_u32, proptest::option::of(0..50_u64), proptest::bool::weighted(0.3)),
                0..200,
            ),
        ) {
            let mut schedule = Schedule::default();
            let mut model = std::collections::BTreeMap::new();
            // By deadline, then by creation: deadlines are later than all of these.
            for (made, (actor, moment, pops)) in (0..).zip(steps) {
                let moment = moment.map(|m: u64| m + 200);
                if pops {
                    let first = model.iter().map(|(a, (m, t))| (*m, *t, *a)).min();
                    let popped = schedule.pop_until(Instant::FAR_FUTURE);
                    prop_assert_eq!(popped, first.map(|(m, t, a)| key(m, t, a)));
                    if let Some((_, _, a)) = first {
                        model.remove(&a);
                    }
                }
                schedule.set(actor, moment.map(Instant::from_nanos), at(made));
                match moment {
                    Some(m) if model.get(&actor).is_some_and(|&(old, _)| old == m) => {}
                    Some(m) => drop(model.insert(actor, (m, made))),
                    None => drop(model.remove(&actor)),
                }
            }
            let mut expected: Vec<_> = model.into_iter().map(|(a, (m, made))| (m, made, a)).collect();
            expected.sort_unstable();
            let expected: Vec<_> = expected.into_iter().map(|(m, _, a)| (m, a)).collect();
            prop_assert_eq!(drain(&mut schedule), expected);
        }
    }
}
