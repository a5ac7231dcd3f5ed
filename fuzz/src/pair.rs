//! Two endpoints, a bad network and an attacker. The first bytes choose the scenario, and each further byte one of the
//! steps that are possible then. The properties are those of the model checks (`crates/dccp-model`).

use dccp_model::forge::{Forgery, Numbers};
use dccp_model::models::negotiable;
use dccp_model::world::{Budget, Scenario};
use dccp_model::{World, checks};
use std::time::Duration;

/// Steps of one run.
const STEPS_MAX: usize = 120;
/// Longer than all timers of a trace together, so that only an end without its peer comes to it.
const IDLE_TIMEOUT: Duration = Duration::from_hours(24);

/// # Panics
/// If a property does not hold.
pub fn run(data: &[u8]) {
    let [kind, attacker, steps @ ..] = data else {
        return;
    };
    let scenario = scenario(*kind, *attacker);
    let mut world = World::new(&scenario);
    let (mut trace, mut actions) = (Vec::new(), Vec::new());
    for &byte in steps.iter().take(STEPS_MAX) {
        world.enabled(&mut actions);
        if actions.is_empty() {
            break;
        }
        let action = actions[usize::from(byte) % actions.len()];
        trace.push(action);
        world.apply(action);
    }
    let mut violations = world.take_violations();
    violations.extend(checks::check(&scenario, &trace));
    if let Some(violation) = violations.first() {
        let steps: Vec<_> = trace.iter().map(ToString::to_string).collect();
        panic!("{violation}\n{}", steps.join("\n"));
    }
}

fn scenario(kind: u8, attacker: u8) -> Scenario {
    let starts_open = kind & 1 != 0;
    let forgeries = match (attacker % 4, starts_open) {
        (0, _) => Vec::new(),
        (1, _) | (_, false) => Forgery::all(Numbers::Far),
        (2, true) => Forgery::all(Numbers::WrongAck),
        (_, true) => {
            let numbers = [Numbers::Next, Numbers::Ahead];
            numbers.into_iter().flat_map(Forgery::all).collect()
        }
    };
    let mut settings = negotiable();
    for settings in settings.iter_mut().flatten() {
        settings.config.idle_timeout = Some(IDLE_TIMEOUT);
    }
    Scenario {
        settings,
        starts_open,
        budget: Budget {
            sends: [8, 8],
            closes: [1, 1],
            may_abort: kind & 2 != 0,
            drops: 8,
            duplicates: 8,
            reorders: 16,
            timers: [12, 12],
            injections: 1,
        },
        network_max: 8,
        forgeries,
        sabotage: None,
    }
}
