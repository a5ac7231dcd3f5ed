//! When whom to call next: one entry per actor, ordered by time.
//!
//! A link or a node has one next moment at most, however many packets it holds. So the tree is as
//! large as the topology, not as the windows, and moving an appointment costs no dead entries.

use dccp_proto::Instant;

/// Whom to call: a number that the owner of the schedule gives out, from 0 without gaps.
pub(crate) type Actor = u32;

/// Appointments of actors: a tournament. Actors are the leaves of a complete binary tree; at every inner
/// node the two below it are compared, and the one who comes first goes up.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    /// By inner node, the root at 1, who has come up from the children `2 * n` and `2 * n + 1`. Leaves follow
    /// the inner nodes, by actor.
    pairs: Vec<[Turn; 2]>,
    /// Whose appointment was taken off last. It stays until the next use: who was called mostly makes a new
    /// one at once, and so the way to the root is gone once instead of twice.
    taken: Option<Actor>,
}

/// An appointment in one number, the first being the least: its moment in ns; when it was made, so that of two
/// at one moment the older comes first; the actor. So the order of all events follows from their times, not
/// from the order in which somebody asked for them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Turn(u128);

impl Turn {
    /// Bits of the actor, and of how long before its moment the appointment was made, in ns: 18 minutes, and
    /// all longer times are one.
    const ACTOR_BITS: u32 = 24;
    const AGE_BITS: u32 = 40;
    const AGE_MAX: u64 = (1 << Self::AGE_BITS) - 1;
    /// The moment of actors without appointment.
    const NEVER: u64 = u64::MAX;

    /// An appointment at a moment, made at an earlier one.
    #[inline]
    pub(crate) const fn of(at: Instant, made: Instant, actor: Actor) -> Self {
        Self::new(at.as_nanos(), made.as_nanos(), actor)
    }

    const fn new(at: u64, made: u64, actor: Actor) -> Self {
        let age = at.saturating_sub(made);
        let youth = Self::AGE_MAX.saturating_sub(age);
        let turn = youth << Self::ACTOR_BITS | actor as u64;
        Self((at as u128) << 64 | turn as u128)
    }

    /// The first that there could be after a moment.
    pub(crate) const fn first_after(at: Instant) -> Self {
        Self((at.as_nanos().saturating_add(1) as u128) << 64)
    }

    const fn never(actor: Actor) -> Self {
        Self::new(Self::NEVER, 0, actor)
    }

    const fn at(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// Its moment.
    pub(crate) const fn moment(self) -> Instant {
        Instant::from_nanos(self.at())
    }

    const fn is_ever(self) -> bool {
        self.at() != Self::NEVER
    }

    #[expect(clippy::cast_possible_truncation, reason = "the lowest bits")]
    /// Whose it is.
    pub(crate) const fn actor(self) -> Actor {
        self.0 as Actor & ((1 << Self::ACTOR_BITS) - 1)
    }
}

/// The first of two moments, of which either may not be.
pub(crate) fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        _ => one.or(other),
    }
}

impl Schedule {
    /// Makes, moves or (`None`) cancels the appointment of `actor`, as of `made`. Setting the moment that it
    /// already has keeps its turn.
    #[inline]
    pub(crate) fn set(&mut self, actor: Actor, at: Option<Instant>, made: Instant) {
        let at = at.map_or(Turn::NEVER, Instant::as_nanos);
        let mut leaf = self.leaf(actor);
        if leaf / 2 >= self.pairs.len() {
            if at == Turn::NEVER {
                return;
            }
            self.grow(actor);
            leaf = self.leaf(actor);
        }
        if self.taken == Some(actor) {
            self.taken = None;
        } else if self.pairs[leaf / 2][leaf % 2].at() == at {
            return;
        }
        self.play(leaf, Turn::new(at, made.as_nanos(), actor));
    }

    /// The next moment at which somebody is to be called.
    #[inline]
    pub(crate) fn next_at(&mut self) -> Option<Instant> {
        self.settle();
        self.first().map(Turn::moment)
    }

    /// Takes the next appointment off, if it is not after `end`.
    #[inline]
    pub(crate) fn pop_until(&mut self, end: Instant) -> Option<Turn> {
        self.settle();
        let first = self.first().filter(|first| first.moment() <= end)?;
        self.taken = Some(first.actor());
        Some(first)
    }

    fn first(&self) -> Option<Turn> {
        let [one, other] = *self.pairs.get(1)?;
        Some(one.min(other)).filter(|first| first.is_ever())
    }

    /// Removes what was taken off and not made anew.
    fn settle(&mut self) {
        if self.taken.is_some() {
            self.remove_taken();
        }
    }

    #[cold]
    fn remove_taken(&mut self) {
        if let Some(actor) = self.taken.take() {
            self.play(self.leaf(actor), Turn::never(actor));
        }
    }

    fn leaf(&self, actor: Actor) -> usize {
        self.pairs.len() + actor as usize
    }

    /// Puts an entry at a node, and finds out who comes first from there up to the root.
    #[inline]
    fn play(&mut self, node: usize, entry: Turn) {
        let (mut node, mut entry) = (node, entry);
        while node > 1
            && let Some(pair) = self.pairs.get_mut(node / 2)
        {
            pair[node % 2] = entry;
            // What was just written is not read again: the way up waits for nothing but comparisons.
            entry = entry.min(pair[1 - node % 2]);
            node /= 2;
        }
    }

    /// Makes room for an actor and those before it.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, actor: Actor) {
        let old = core::mem::take(&mut self.pairs);
        let actors = (actor + 1).next_power_of_two().max(2);
        assert!(actors <= 1 << Turn::ACTOR_BITS, "too large a world");
        self.pairs = vec![[Turn::never(0); 2]; actors as usize];
        for actor in 0..actors {
            let leaf = self.leaf(actor);
            self.pairs[leaf / 2][leaf % 2] = Turn::never(actor);
        }
        for entry in old[old.len() / 2..].iter().flatten() {
            self.play(self.leaf(entry.actor()), *entry);
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
            .map(|turn| (turn.moment().as_nanos(), turn.actor()))
            .collect()
    }

    /// What [`Schedule::pop_until`] gives.
    fn turn(ns: u64, made: u64, actor: Actor) -> Turn {
        Turn::of(at(ns), at(made), actor)
    }

    #[test]
    fn of_two_at_one_moment_the_older_appointment_comes_first() {
        let mut schedule = Schedule::default();
        for (actor, made) in [(5, 0), (1, 1), (3, 2), (2, 2)] {
            schedule.set(actor, Some(at(10)), at(made));
        }
        schedule.set(1, Some(at(10)), at(3)); // no change, keeps its turn
        schedule.set(5, Some(at(11)), at(3));
        schedule.set(5, Some(at(10)), at(3)); // moved and moved back: last
        // Of two that were made at one moment, the lower actor's.
        assert_eq!(drain(&mut schedule), [(10, 1), (10, 2), (10, 3), (10, 5)]);
    }

    #[test]
    fn appointments_of_more_than_18_minutes_are_equally_old() {
        let far = 1 << 40;
        let turn = |made| Turn::of(at(far + 10), at(made), 1);
        assert_eq!(turn(0), turn(11));
        assert!(turn(11) < turn(12));
        assert!(turn(far + 9) < turn(far + 10));
        assert_eq!(
            turn(far + 10),
            turn(far + 11),
            "what is late is made at once"
        );
    }

    #[test]
    fn a_cancelled_appointment_never_comes() {
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
    fn who_was_called_can_make_a_new_appointment_at_any_time() {
        let mut schedule = Schedule::default();
        schedule.set(0, Some(at(1)), at(0));
        schedule.set(1, Some(at(1)), at(0));
        assert_eq!(schedule.pop_until(Instant::FAR_FUTURE), Some(turn(1, 0, 0)));
        schedule.set(0, Some(at(1)), at(1)); // the same moment: behind actor 1
        assert_eq!(schedule.pop_until(Instant::FAR_FUTURE), Some(turn(1, 0, 1)));
        schedule.set(1, None, at(1));
        assert_eq!(schedule.next_at(), Some(at(1)));
        assert_eq!(schedule.pop_until(Instant::FAR_FUTURE), Some(turn(1, 1, 0)));
        schedule.set(0, Some(at(0)), at(1));
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
            // By moment, then by when it was made: moments lie after all of these.
            for (made, (actor, moment, pops)) in (0..).zip(steps) {
                let moment = moment.map(|m: u64| m + 200);
                if pops {
                    let first = model.iter().map(|(a, (m, t))| (*m, *t, *a)).min();
                    let popped = schedule.pop_until(Instant::FAR_FUTURE);
                    prop_assert_eq!(popped, first.map(|(m, t, a)| turn(m, t, a)));
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
