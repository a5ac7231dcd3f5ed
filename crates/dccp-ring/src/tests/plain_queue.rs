//! The ring against a model: random steps of both sides beside a plain list.

use super::*;
use core::hash::BuildHasher as _;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use std::collections::BTreeMap;

const SLOTS: u32 = 8;
/// Size of a slot in bytes.
const MAX: usize = 16;
const CASES: u32 = if cfg!(miri) { 8 } else { 2000 };
const STEPS: usize = if cfg!(miri) { 60 } else { 200 };

/// A step of one side.
#[derive(Clone, Debug)]
enum Step {
    /// The application pushes these, in one go.
    Push(Vec<Pushing>),
    Withdraw(usize),
    Revise(usize, Pushing),
    TakeBack(usize, Vec<Change>),
    /// The transport takes this number of datagrams.
    Claim(usize),
    /// The transport claims the first number of datagrams in one step, and takes the second.
    ClaimAhead(u32, usize),
    /// The transport refuses one.
    Refuse,
    /// The transport looks, time passes, and it claims the offer.
    LookLater(u64),
}

/// A datagram.
#[derive(Clone, Debug)]
struct Pushing {
    data: Vec<u8>,
    priority: u8,
    key: Option<u64>,
    /// From now.
    deadline: Option<u64>,
}

#[derive(Clone, Debug)]
enum Change {
    Move(usize, usize),
    Withdraw(usize),
    Revise(usize, Pushing),
    ByTag,
}

fn pushing() -> impl Strategy<Value = Pushing> {
    let data = proptest::collection::vec(any::<u8>(), 0..18);
    let deadline = proptest::option::of(0..5_u64);
    let key = proptest::option::of(0..4_u64);
    (data, 0..3_u8, key, deadline).prop_map(|(data, priority, key, deadline)| Pushing {
        data,
        priority,
        key,
        deadline,
    })
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (0..8_usize, 0..8_usize).prop_map(|(from, to)| Change::Move(from, to)),
        (0..8_usize).prop_map(Change::Withdraw),
        (0..8_usize, pushing()).prop_map(|(n, p)| Change::Revise(n, p)),
        Just(Change::ByTag),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let changes = proptest::collection::vec(change(), 0..4);
    prop_oneof![
        4 => proptest::collection::vec(pushing(), 1..4).prop_map(Step::Push),
        1 => (0..12_usize).prop_map(Step::Withdraw),
        1 => (0..12_usize, pushing()).prop_map(|(n, p)| Step::Revise(n, p)),
        2 => (0..10_usize, changes).prop_map(|(n, c)| Step::TakeBack(n, c)),
        3 => (1..5_usize).prop_map(Step::Claim),
        2 => (1..6_u32, 0..5_usize).prop_map(|(n, taken)| Step::ClaimAhead(n, taken)),
        1 => Just(Step::Refuse),
        1 => (0..4_u64).prop_map(Step::LookLater),
    ]
}

/// A datagram in the list.
#[derive(Clone, Debug)]
struct Listed {
    ticket: Ticket,
    data: Vec<u8>,
    label: Label,
}

/// The ring and its model.
struct Both {
    app: App,
    transport: Transport,
    model: Model,
    next_tag: u64,
}

struct Model {
    list: Vec<Listed>,
    /// The datagram that the next one with a key supersedes.
    keys: BTreeMap<u64, Ticket>,
    /// Tickets of datagrams that no longer wait.
    gone: Vec<Ticket>,
    now: u64,
}

impl Model {
    /// Records that a datagram no longer waits.
    fn forget(&mut self, listed: &Listed) {
        self.gone.push(listed.ticket);
        self.forget_key(listed.ticket, &listed.label);
    }

    fn forget_key(&mut self, ticket: Ticket, label: &Label) {
        if let Some(key) = label.key
            && self.keys.get(&key) == Some(&ticket)
        {
            self.keys.remove(&key);
        }
    }

    /// Revises a datagram of the list.
    fn revise(&mut self, listed: &mut Listed, data: &[u8], label: Label) {
        self.forget_key(listed.ticket, &listed.label);
        self.keys.extend(label.key.map(|key| (key, listed.ticket)));
        listed.data = data.to_vec();
        listed.label = label;
    }

    /// The key of a label, if another datagram has it.
    fn taken_key(&self, ticket: Ticket, label: &Label) -> Option<u64> {
        let owner = label.key.and_then(|key| self.keys.get(&key));
        label
            .key
            .filter(|_| owner.is_some_and(|owner| *owner != ticket))
    }

    /// The transport takes the next datagram, `later` ns after the look. Expired ones are reported first.
    fn claim(&mut self, source: &mut Source, later: u64) {
        // The transport may offer again a datagram that was ready when it last read the indexes.
        let mut stale_offers = 0..1;
        loop {
            let claimed = match source.look(self.now).unwrap() {
                Look::Nothing => return assert!(self.list.is_empty()),
                Look::Expired(claimed) => {
                    let at = claimed.label.deadline_ns;
                    assert!(at.is_some_and(|at| at <= self.now));
                    self.take_first(claimed);
                    continue;
                }
                Look::Offer { len } => {
                    let mut data = vec![0; len];
                    let claimed = source.claim_into(&mut data).unwrap();
                    let first = self.list.first().map(|l| &l.data);
                    assert!(claimed.is_none() || Some(&data) == first);
                    claimed
                }
            };
            let Some(claimed) = claimed else {
                assert!(stale_offers.next().is_some());
                continue;
            };
            let at = claimed.label.deadline_ns;
            assert!(at.is_none_or(|at| at > self.now));
            self.now += later;
            return self.take_first(claimed);
        }
    }

    /// Checks that the claimed datagram is the first of the list.
    fn take_first(&mut self, claimed: Claimed) {
        let first = self.list.remove(0);
        assert_eq!(
            (claimed.len, claimed.label),
            (first.data.len(), first.label)
        );
        self.forget(&first);
    }

    fn refuse(&mut self, source: &mut Source) {
        // At time 0 no datagram has expired.
        if let Look::Offer { .. } = source.look(0).unwrap() {
            let refused = source.refuse().unwrap();
            if let Some(refused) = refused {
                self.take_first(refused);
            }
        }
    }
}

impl Both {
    fn new() -> Self {
        let (app, transport) = ring(SLOTS);
        let model = Model {
            list: Vec::new(),
            keys: BTreeMap::new(),
            gone: Vec::new(),
            now: 100,
        };
        Self {
            app,
            transport,
            model,
            next_tag: 0,
        }
    }

    fn label(&mut self, pushing: &Pushing) -> Label {
        self.next_tag += 1;
        Label {
            tag: self.next_tag,
            priority: pushing.priority,
            deadline_ns: pushing
                .deadline
                .map(|from_now| self.model.now + 1 + from_now),
            key: pushing.key,
        }
    }

    fn play(&mut self, step: Step) {
        let source = &mut self.transport.source;
        match step {
            Step::Push(datagrams) => self.push(&datagrams),
            Step::Withdraw(n) => self.withdraw(n),
            Step::Revise(n, pushing) => self.revise(n, &pushing),
            Step::TakeBack(n, changes) => self.take_back(n, changes),
            Step::Claim(n) => (0..n).for_each(|_| self.model.claim(source, 0)),
            Step::ClaimAhead(n, taken) => {
                source.claim_ahead(n).unwrap();
                (0..taken).for_each(|_| self.model.claim(source, 0));
                source.flush();
            }
            Step::Refuse => self.model.refuse(source),
            Step::LookLater(later) => self.model.claim(source, later),
        }
        let waiting = self.model.list.len();
        assert_eq!(self.app.sender.waiting(), Ok(waiting));
        assert_eq!(self.app.sender.room(), Ok(SLOTS as usize - waiting));
    }

    fn push(&mut self, datagrams: &[Pushing]) {
        let labels: Vec<_> = datagrams.iter().map(|p| self.label(p)).collect();
        let mut batch = self.app.sender.batch();
        let model = &mut self.model;
        for (Pushing { data, .. }, label) in datagrams.iter().zip(labels) {
            let len = data.len();
            let data = data.clone();
            let pushed = batch.push(&data, label);
            let owner = label.key.and_then(|key| model.keys.get(&key).copied());
            if len > MAX {
                assert_eq!(pushed, Err(PushError::TooLong { len, max: MAX }));
                continue;
            }
            let superseded = model.list.iter().position(|l| Some(l.ticket) == owner);
            if superseded.is_none() && model.list.len() == SLOTS as usize {
                assert_eq!(pushed, Err(PushError::Full));
                continue;
            }
            let pushed = pushed.unwrap();
            let ticket = pushed.ticket;
            let at = superseded.unwrap_or_else(|| {
                let is_higher = |l: &Listed| l.label.priority >= label.priority;
                model
                    .list
                    .iter()
                    .rposition(is_higher)
                    .map_or(0, |at| at + 1)
            });
            let old = superseded.map(|at| model.list.remove(at));
            assert_eq!(pushed.superseded, old.as_ref().map(|old| old.label));
            if let Some(old) = old {
                model.forget(&old);
            }
            model.keys.extend(label.key.map(|key| (key, ticket)));
            let listed = Listed {
                ticket,
                data,
                label,
            };
            model.list.insert(at, listed);
        }
    }

    fn withdraw(&mut self, n: usize) {
        let (sender, model) = (&mut self.app.sender, &mut self.model);
        if n < model.list.len() {
            let listed = model.list.remove(n);
            assert_eq!(sender.withdraw(listed.ticket), Ok(listed.label));
            model.forget(&listed);
        } else if let Some(gone) = model.gone.get(n) {
            assert_eq!(sender.withdraw(*gone), Err(ChangeError::TooLate));
        }
    }

    fn revise(&mut self, n: usize, pushing: &Pushing) {
        let label = self.label(pushing);
        let data = &pushing.data;
        let (sender, model) = (&mut self.app.sender, &mut self.model);
        if n >= model.list.len() {
            if let Some(gone) = model.gone.get(n) {
                let revised = sender.revise(*gone, data, label);
                assert_eq!(revised, Err(ChangeError::TooLate));
            }
            return;
        }
        let mut listed = model.list.remove(n);
        let revised = sender.revise(listed.ticket, data, label);
        if let (len, true) = (data.len(), data.len() > MAX) {
            assert_eq!(revised, Err(ChangeError::TooLong { len, max: MAX }));
        } else if let Some(key) = model.taken_key(listed.ticket, &label) {
            assert_eq!(revised, Err(ChangeError::KeyInUse { key }));
        } else {
            assert_eq!(revised, Ok(()));
            model.revise(&mut listed, data, label);
        }
        model.list.insert(n, listed);
    }

    fn take_back(&mut self, newest: usize, changes: Vec<Change>) {
        let labels: Vec<_> = changes
            .iter()
            .map(|change| match change {
                Change::Revise(_, pushing) => self.label(pushing),
                _ => Label::default(),
            })
            .collect();
        let model = &mut self.model;
        let mut held = self.app.sender.take_back(newest).unwrap();
        let first = model.list.len().saturating_sub(newest);
        let mut list = model.list.split_off(first);
        assert!(held.labels().eq(list.iter().map(|l| &l.label)));
        for (change, label) in changes.into_iter().zip(labels) {
            let n = list.len();
            match change {
                Change::Move(from, to) if from < n && to < n => {
                    held.move_to(from, to);
                    let moved = list.remove(from);
                    list.insert(to, moved);
                }
                Change::Withdraw(at) if at < n => {
                    assert_eq!(held.withdraw(at), list[at].label);
                    model.forget(&list.remove(at));
                }
                Change::Revise(at, p) if at < n && p.data.len() <= MAX => {
                    let revised = held.revise(at, &p.data, label);
                    if let Some(key) = model.taken_key(list[at].ticket, &label) {
                        assert_eq!(revised, Err(ChangeError::KeyInUse { key }));
                    } else {
                        assert_eq!(revised, Ok(()));
                        model.revise(&mut list[at], &p.data, label);
                    }
                }
                Change::ByTag => {
                    held.sort_by(|a, b| a.tag.cmp(&b.tag));
                    list.sort_by_key(|l| l.label.tag);
                }
                _ => {}
            }
            let places = list.iter().map(|l| held.find(l.ticket));
            assert!(places.eq((0..list.len()).map(Some)));
        }
        // Meanwhile the other datagrams can be claimed, the held ones cannot.
        model.claim(&mut self.transport.source, 0);
        drop(held);
        model.list.append(&mut list);
    }
}

#[test]
fn ring_behaves_like_a_list() {
    const SEED: &str = "RING_SEED";
    let given = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| std::hash::RandomState::new().hash_one(0));
    let config = Config {
        cases: CASES,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..Config::default()
    };
    let steps = proptest::collection::vec(step(), 1..STEPS);
    let outcome = TestRunner::new(config).run(&steps, |steps| {
        let mut both = Both::new();
        for step in steps {
            both.play(step);
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}\nrepeat with: {SEED}={seed} cargo test -p dccp-ring a_list_of_datagrams");
    }
}
