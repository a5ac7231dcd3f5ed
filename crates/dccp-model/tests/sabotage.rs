//! Each property can fail: a deliberate fault breaks it, and the search reports it with a trace.

use dccp_model::forge::{Forgery, Numbers};
use dccp_model::models::{Model, Situation, config, plain};
use dccp_model::search::{Report, explore};
use dccp_model::world::{Budget, Sabotage, Scenario};
use dccp_model::{Action, End, Property, World};
use dccp_proto::Config;
use dccp_proto::wire::PacketType;

const STATES_MAX: usize = 20_000;

fn search(scenario: Scenario) -> Report {
    let model = Model {
        name: "sabotaged",
        scenario,
        situations: Vec::new(),
    };
    explore(&model, 2, STATES_MAX)
}

/// Two open ends that may send, close and lose a little.
fn busy(sabotage: Sabotage) -> Scenario {
    Scenario {
        starts_open: true,
        budget: Budget {
            sends: [1, 1],
            closes: [1, 0],
            drops: 1,
            ..Budget::default()
        },
        sabotage: Some(sabotage),
        ..plain()
    }
}

/// The search finds the property violated, and its trace leads there again.
fn assert_found(scenario: Scenario, property: Property) {
    let report = search(scenario.clone());
    let mut findings = report.findings.iter();
    let finding = findings.find(|finding| finding.violation.property == property);
    let finding = finding.unwrap_or_else(|| panic!("{} is not found: {report}", property.name()));
    assert!(!report.holds());
    let fault = scenario.sabotage.is_some_and(|s| s == Sabotage::Panics);
    if !fault {
        // It also repeats from the trace alone.
        let mut world = World::after(&scenario, &finding.trace);
        let mut seen = world.take_violations();
        seen.extend(dccp_model::checks::check(&scenario, &finding.trace));
        assert!(seen.iter().any(|violation| violation.property == property));
    }
    let scenario = Scenario {
        sabotage: None,
        ..scenario
    };
    let settings = &scenario.settings[0][0].config;
    if settings.idle_timeout.is_some() && scenario.forgeries.is_empty() {
        assert!(search(scenario).holds(), "without the fault it holds");
    }
}

#[test]
fn panic_is_reported() {
    assert_found(busy(Sabotage::Panics), Property::NoPanic);
}

#[test]
fn copy_with_another_number_is_reported_as_second_delivery() {
    assert_found(busy(Sabotage::RenumbersCopies), Property::AtMostOnce);
}

#[test]
fn altered_datagram_is_reported_as_never_sent() {
    assert_found(busy(Sabotage::AltersData), Property::OnlySent);
}

#[test]
fn second_fate_is_reported() {
    assert_found(busy(Sabotage::DoublesFates), Property::OneFate);
}

#[test]
fn altered_feature_option_is_reported() {
    let scenario = Scenario {
        settings: [
            vec![
                Config {
                    sequence_window: 64,
                    adapt_sequence_window: false,
                    ..config()
                }
                .into(),
            ],
            vec![config().into()],
        ],
        sabotage: Some(Sabotage::AltersFeatures),
        ..plain()
    };
    assert_found(scenario, Property::EqualFeatures);
}

#[test]
fn stopped_timer_is_reported_as_deadlock_and_as_half_open() {
    let scenario = Scenario {
        starts_open: false,
        ..busy(Sabotage::StopsTimers)
    };
    assert_found(scenario.clone(), Property::NoDeadlock);
    assert_found(scenario, Property::NoHalfOpen);
}

#[test]
fn idle_end_without_timeout_is_reported_as_half_open() {
    let settings = Config::default();
    let scenario = Scenario {
        settings: [vec![settings.clone().into()], vec![settings.into()]],
        ..plain()
    };
    assert_found(scenario, Property::NoHalfOpen);
}

#[test]
fn data_after_the_end_is_reported() {
    assert_found(busy(Sabotage::SendsAfterEnd), Property::SilentAfterEnd);
}

#[test]
fn packet_with_right_numbers_is_reported_as_not_blind() {
    let scenario = Scenario {
        starts_open: true,
        budget: Budget {
            injections: 1,
            ..Budget::default()
        },
        forgeries: vec![Forgery {
            to: End::Server,
            packet_type: PacketType::Data,
            numbers: Numbers::Next,
        }],
        sabotage: Some(Sabotage::SeesNumbers),
        ..plain()
    };
    assert_found(scenario, Property::BlindIsHarmless);
}

#[test]
fn end_without_rollback_is_reported_as_not_recovered() {
    // 4340-7.5.4-10: strict mode does not return to the peer's numbers.
    let strict = Config {
        strict: true,
        ..config()
    };
    let scenario = Scenario {
        settings: [vec![strict.clone().into()], vec![strict.into()]],
        starts_open: true,
        budget: Budget {
            injections: 1,
            ..Budget::default()
        },
        forgeries: vec![Forgery {
            to: End::Server,
            packet_type: PacketType::Data,
            numbers: Numbers::Ahead,
        }],
        ..plain()
    };
    assert_found(scenario, Property::Recovers);
}

#[test]
fn situation_that_no_state_shows_is_reported() {
    let model = Model {
        name: "no client",
        scenario: plain(),
        situations: vec![Situation {
            name: "five connections",
            is_here: |world| world.connections(End::Client) == 5,
        }],
    };
    let report = explore(&model, 1, STATES_MAX);
    assert_eq!(report.unreached, ["five connections"]);
    assert!(report.findings.is_empty() && !report.holds());
}

#[test]
fn search_does_not_depend_on_the_number_of_threads() {
    let model = Model {
        name: "both",
        scenario: Scenario {
            budget: Budget {
                drops: 1,
                ..Budget::default()
            },
            ..plain()
        },
        situations: Vec::new(),
    };
    let counts = [1, 2, 5].map(|threads| {
        let report = explore(&model, threads, STATES_MAX);
        assert!(report.is_complete && report.holds(), "{report}");
        (report.steps, report.states, report.depth)
    });
    assert_eq!(counts[0], counts[1]);
    assert_eq!(counts[0], counts[2]);
}

#[test]
fn trace_is_readable() {
    let forged = Forgery {
        to: End::Server,
        packet_type: PacketType::Reset,
        numbers: Numbers::Far,
    };
    let actions = [
        Action::Start(End::Client, 0),
        Action::Drop(2),
        Action::Inject(forged),
    ];
    let text = actions.map(|action| action.to_string());
    let expected = [
        "client connects with settings 0",
        "packet 2 is lost",
        "a forged Reset with far numbers reaches the server",
    ];
    assert_eq!(text, expected);
}
