//! Equal fingerprints mean equal futures: two random traces to one fingerprint show the same states, packets and
//! deliveries on the same continuation.

use dccp_model::models::{self, Model, Scale};
use dccp_model::world::Fingerprint;
use dccp_model::{Action, End, World};
use std::collections::HashMap;

/// Random traces of each model.
const TRACES: u32 = 2000;
const LENGTH_MAX: u64 = 16;
const CONTINUATION: u64 = 12;

/// xorshift64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

fn seed() -> u64 {
    let seed = std::env::var("MODEL_SEED").ok();
    let seed = seed.and_then(|seed| seed.parse().ok());
    seed.unwrap_or(0x9e37_79b9)
}

fn step(random: &mut Random, world: &World<'_>) -> Option<Action> {
    let mut actions = Vec::new();
    world.enabled(&mut actions);
    let count = u64::try_from(actions.len())
        .ok()
        .filter(|&count| count > 0)?;
    actions
        .get(usize::try_from(random.below(count)).ok()?)
        .copied()
}

#[test]
fn traces_with_equal_fingerprints_go_on_alike() {
    let seed = seed();
    println!("MODEL_SEED={seed} cargo test -p dccp-model --test fingerprint");
    let mut random = Random(seed);
    let mut pairs = 0;
    for model in models::all(Scale::All) {
        pairs += check(&model, &mut random);
    }
    assert!(
        pairs > 1000,
        "only {pairs} pairs of traces had equal fingerprints"
    );
}

/// Everything that an observer of both ends and of the network sees.
fn observation(world: &World<'_>) -> impl PartialEq + std::fmt::Debug {
    let states = End::BOTH.map(|end| (world.state(end), world.delivered(end).to_vec()));
    (states, world.packets())
}

/// Returns the number of pairs of traces.
fn check(model: &Model, random: &mut Random) -> u32 {
    let mut known: HashMap<Fingerprint, Vec<Action>> = HashMap::new();
    let mut pairs = 0;
    for _ in 0..TRACES {
        let mut world = World::new(&model.scenario);
        let mut trace = Vec::new();
        for _ in 0..=random.below(LENGTH_MAX) {
            let Some(action) = step(random, &world) else {
                break;
            };
            world.apply(action);
            trace.push(action);
        }
        let other = known
            .entry(world.fingerprint())
            .or_insert_with(|| trace.clone());
        if *other == trace {
            continue;
        }
        pairs += 1;
        let mut twin = World::after(&model.scenario, other);
        let mut continuation = Vec::new();
        for _ in 0..CONTINUATION {
            let Some(action) = step(random, &world) else {
                break;
            };
            continuation.push(action);
            world.apply(action);
            let mut actions = Vec::new();
            twin.enabled(&mut actions);
            assert!(
                actions.contains(&action),
                "{}: {other:?} cannot go on as {trace:?} does: {continuation:?}",
                model.name
            );
            twin.apply(action);
            assert_eq!(
                observation(&world),
                observation(&twin),
                "{}: {trace:?} and {other:?} differ after {continuation:?}",
                model.name
            );
        }
    }
    pairs
}
