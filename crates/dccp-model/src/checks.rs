//! Properties of a state that need a look into its future.

use crate::action::Action;
use crate::end::End;
use crate::forge::Numbers;
use crate::property::{Property, Violation};
use crate::world::{Scenario, World};
use dccp_proto::conn::State;
use dccp_proto::wire::PacketType;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Datagrams after a forged packet until one must arrive in each direction.
const RECOVERY_DATAGRAMS: usize = 4;

/// How a state ends on a fair network.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Outcome {
    is_settled: bool,
    is_open: bool,
    delivered: [Vec<u8>; 2],
}

/// Runs `run` and reports a panic as a violation.
pub fn without_panic(run: impl FnOnce() -> Vec<Violation>) -> Vec<Violation> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        vec![Violation {
            property: Property::NoPanic,
            detail: text.unwrap_or_default(),
        }]
    })
}

/// Checks the state after `trace`.
pub fn check(scenario: &Scenario, trace: &[Action]) -> Vec<Violation> {
    without_panic(|| {
        let mut violations = Vec::new();
        let outcome = check_fair(scenario, trace, &mut violations);
        for end in End::BOTH {
            check_alone(scenario, trace, end, &mut violations);
        }
        if let Some((Action::Inject(forgery), before)) = trace.split_last()
            && forgery.numbers.is_blind()
        {
            let mut world = World::after(scenario, before);
            // Known gap, docs/security.md: the server challenges the packet with a Sync, and a client in REQUEST
            // answers each Sync with a Reset (RFC 4340 §8.5, step 4). So its handshake begins again.
            let may_end_handshake = world.state(End::Client) == Some(State::Request)
                && world.state(End::Server) == Some(State::Respond);
            let without = fair(&mut world);
            let is_equal = if before.iter().any(|action| action.ends()) {
                // The Sync in answer changes when packets leave, and so what arrives before the end.
                without.is_settled == outcome.is_settled && without.is_open == outcome.is_open
            } else {
                without == outcome
            };
            if !is_equal && !may_end_handshake {
                let detail = format!("{forgery}; without it {without:?}, with it {outcome:?}");
                let property = Property::BlindIsHarmless;
                violations.push(Violation { property, detail });
            }
        }
        check_recovery(scenario, trace, &mut violations);
        violations
    })
}

fn fair(world: &mut World<'_>) -> Outcome {
    let is_settled = world.run_fairly();
    Outcome {
        is_settled,
        is_open: world.are_both_open(),
        delivered: End::BOTH.map(|end| world.delivered(end).to_vec()),
    }
}

fn check_fair(scenario: &Scenario, trace: &[Action], violations: &mut Vec<Violation>) -> Outcome {
    let mut world = World::after(scenario, trace);
    let outcome = fair(&mut world);
    violations.append(&mut world.take_violations());
    if !outcome.is_settled {
        let states = End::BOTH.map(|end| world.state(end));
        let detail = format!("a fair network ends with client and server in {states:?}");
        let property = Property::NoDeadlock;
        violations.push(Violation { property, detail });
    }
    outcome
}

fn check_alone(scenario: &Scenario, trace: &[Action], end: End, violations: &mut Vec<Violation>) {
    let mut world = World::after(scenario, trace);
    if !world.run_alone(end) {
        let state = world.state(end);
        let detail = format!("without its peer the {end} stays in {state:?}");
        let property = Property::NoHalfOpen;
        violations.push(Violation { property, detail });
    }
    violations.append(&mut world.take_violations());
}

/// 4340-7.5.4-10: a forged data packet, or a forged acknowledgement, at the end of the window ends no connection.
fn check_recovery(scenario: &Scenario, trace: &[Action], violations: &mut Vec<Violation>) {
    let is_ahead = |action: &Action| {
        let Action::Inject(forgery) = action else {
            return false;
        };
        let moves_only = matches!(
            forgery.packet_type,
            PacketType::Data | PacketType::Ack | PacketType::DataAck
        );
        forgery.numbers == Numbers::Ahead && moves_only
    };
    if !trace.iter().any(is_ahead) {
        return;
    }
    let mut world = World::after(scenario, trace);
    if !fair(&mut world).is_open {
        return;
    }
    let before = End::BOTH.map(|end| world.delivered(end).len());
    for _ in 0..RECOVERY_DATAGRAMS {
        for end in End::BOTH {
            if world.are_both_open() {
                world.send(end);
            }
        }
        world.run_fairly();
    }
    let has_news = |end: End| world.delivered(end).len() > before[end as usize];
    if !world.are_both_open() || !End::BOTH.into_iter().all(has_news) {
        let states = End::BOTH.map(|end| world.state(end));
        let detail = format!("after {RECOVERY_DATAGRAMS} more datagrams each: {states:?}");
        let property = Property::Recovers;
        violations.push(Violation { property, detail });
    }
}
