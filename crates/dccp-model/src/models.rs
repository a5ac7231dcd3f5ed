//! The models, each with its settings, bounds and the situations that it must reach.

use crate::end::End;
use crate::forge::{Forgery, Numbers};
use crate::world::{Budget, Scenario, Settings, World};
use core::time::Duration;
use dccp_proto::Config;
use dccp_proto::conn::State;
use dccp_proto::wire::features::Feature;

/// A situation that a model must reach: without it the model would hold because nothing happens.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// Its name in reports.
    pub name: &'static str,
    /// Whether a state is such a situation.
    pub is_here: fn(&World<'_>) -> bool,
}

/// A scenario with a name.
#[derive(Clone, Debug)]
pub struct Model {
    /// Its name.
    pub name: &'static str,
    /// Settings and bounds.
    pub scenario: Scenario,
    /// Situations that some state must show.
    pub situations: Vec<Situation>,
}

/// The size of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scale {
    /// Some seconds, for every submission.
    Quick,
    /// Some minutes.
    All,
}

/// All models.
pub fn all(scale: Scale) -> Vec<Model> {
    vec![
        handshake(scale),
        invitation(scale),
        cookie(scale),
        negotiation(scale),
        close(scale),
        abort(scale),
        blind_at_open(scale),
        blind_at_handshake(scale),
        lucky_next(scale),
        lucky_ahead(scale),
    ]
}

/// The settings of all models: silence ends a connection, so that no end stays half open. Without an idle timeout an
/// idle end whose peer has gone stays open, as RFC 4340 permits.
pub fn config() -> Config {
    Config {
        idle_timeout: Some(Duration::from_mins(2)),
        ..Config::default()
    }
}

/// A scenario with these settings at both ends, which permits only deliveries.
pub fn plain() -> Scenario {
    Scenario {
        settings: [vec![config().into()], vec![config().into()]],
        starts_open: false,
        budget: Budget::default(),
        network_max: 4,
        forgeries: Vec::new(),
        sabotage: None,
    }
}

const BOTH_OPEN: Situation = Situation {
    name: "both ends are open",
    is_here: |world| world.are_both_open(),
};

const BOTH_GOT_DATA: Situation = Situation {
    name: "both ends got a datagram",
    is_here: |world| {
        let mut ends = End::BOTH.into_iter();
        ends.all(|end| !world.delivered(end).is_empty())
    },
};

const BOTH_ENDED: Situation = Situation {
    name: "both ends have ended",
    is_here: |world| End::BOTH.into_iter().all(|end| world.has_ended(end)),
};

/// `quick`, or `all` in a long search.
fn sized<T>(scale: Scale, quick: T, all: T) -> T {
    match scale {
        Scale::Quick => quick,
        Scale::All => all,
    }
}

fn handshake(scale: Scale) -> Model {
    let budget = Budget {
        sends: sized(scale, [1, 0], [1, 1]),
        drops: 1,
        duplicates: sized(scale, 0, 1),
        reorders: 1,
        timers: sized(scale, [1, 0], [2, 1]),
        ..Budget::default()
    };
    Model {
        name: "handshake",
        scenario: Scenario { budget, ..plain() },
        situations: sized(scale, vec![BOTH_OPEN], vec![BOTH_OPEN, BOTH_GOT_DATA]),
    }
}

/// RFC 5596: the server opens with DCCP-Listen.
fn invitation(scale: Scale) -> Model {
    let invites = Settings {
        config: config(),
        invites: true,
    };
    let budget = Budget {
        sends: sized(scale, [0, 0], [1, 0]),
        drops: 1,
        duplicates: sized(scale, 0, 1),
        reorders: 1,
        timers: sized(scale, [0, 1], [1, 2]),
        ..Budget::default()
    };
    Model {
        name: "invitation",
        scenario: Scenario {
            settings: [vec![config().into()], vec![invites]],
            budget,
            ..plain()
        },
        situations: vec![BOTH_OPEN],
    }
}

/// RFC 4340 §8.1.4: every Response carries an Init Cookie.
fn cookie(scale: Scale) -> Model {
    let server = Config {
        cookie_threshold: 0,
        ..config()
    };
    let budget = Budget {
        sends: sized(scale, [0, 0], [1, 0]),
        drops: 1,
        duplicates: 1,
        reorders: 1,
        timers: sized(scale, [1, 0], [2, 1]),
        ..Budget::default()
    };
    Model {
        name: "cookie",
        scenario: Scenario {
            settings: [vec![config().into()], vec![server.into()]],
            budget,
            ..plain()
        },
        situations: vec![
            BOTH_OPEN,
            Situation {
                name: "a cookie has opened the server's connection",
                is_here: |world| world.connections(End::Server) == 1,
            },
        ],
    }
}

/// Several settings of client and server, which differ in every feature.
pub fn negotiable() -> [Vec<Settings>; 2] {
    let clients = [
        config(),
        Config {
            tx_ccids: vec![3, 2],
            rx_ccids: vec![3],
            ecn: false,
            ..config()
        },
        Config {
            sequence_window: 64,
            ack_ratio: Some(4),
            short_seqnos: true,
            ndp_count: true,
            min_cscov: 2,
            ..config()
        },
        Config {
            rx_ccids: vec![2],
            ack_vectors: true,
            data_checksum: true,
            strict: true,
            ..config()
        },
    ];
    let servers = [
        config(),
        Config {
            tx_ccids: vec![3],
            rx_ccids: vec![2, 3],
            ack_vectors: true,
            ndp_count: true,
            ..config()
        },
        Config {
            sequence_window: 200,
            ack_ratio: Some(1),
            short_seqnos: true,
            ecn: false,
            min_cscov: 1,
            data_checksum: true,
            ..config()
        },
    ];
    let settings = |configs: &[Config]| configs.iter().cloned().map(Settings::from).collect();
    [settings(&clients), settings(&servers)]
}

/// Each end begins with one of several settings, so they propose different values for every feature.
fn negotiation(scale: Scale) -> Model {
    let budget = Budget {
        sends: sized(scale, [0, 0], [1, 0]),
        drops: 1,
        reorders: sized(scale, 0, 1),
        timers: sized(scale, [1, 0], [1, 1]),
        ..Budget::default()
    };
    Model {
        name: "negotiation",
        scenario: Scenario {
            settings: negotiable(),
            budget,
            ..plain()
        },
        situations: vec![
            BOTH_OPEN,
            Situation {
                name: "CCID 3 is agreed on",
                is_here: |world| {
                    world.are_both_open() && agrees(world, Feature::CongestionControlId, 3)
                },
            },
            Situation {
                name: "short sequence numbers are agreed on",
                is_here: |world| {
                    world.are_both_open() && agrees(world, Feature::AllowShortSeqnos, 1)
                },
            },
            Situation {
                name: "an end without ECN is known",
                is_here: |world| world.are_both_open() && agrees(world, Feature::EcnIncapable, 1),
            },
        ],
    }
}

fn agrees(world: &World<'_>, feature: Feature, value: u64) -> bool {
    End::BOTH
        .into_iter()
        .any(|end| world.feature(end, feature) == Some(value))
}

/// RFC 4340 §8.3: the client closes, the server asks it to, or both at the same time.
fn close(scale: Scale) -> Model {
    let budget = Budget {
        sends: sized(scale, [1, 0], [1, 1]),
        closes: [1, 1],
        drops: 1,
        duplicates: 1,
        reorders: sized(scale, 0, 1),
        timers: sized(scale, [0, 0], [1, 1]),
        ..Budget::default()
    };
    Model {
        name: "close",
        scenario: Scenario {
            starts_open: true,
            budget,
            ..plain()
        },
        situations: vec![
            BOTH_ENDED,
            Situation {
                name: "both close at the same time",
                is_here: |world| {
                    world.state(End::Client) == Some(State::Closing)
                        && world.state(End::Server) == Some(State::CloseReq)
                },
            },
        ],
    }
}

/// Closes and aborts from any state of the handshake.
fn abort(scale: Scale) -> Model {
    let budget = Budget {
        sends: sized(scale, [0, 0], [1, 0]),
        closes: [1, 1],
        may_abort: true,
        drops: sized(scale, 0, 1),
        reorders: sized(scale, 0, 1),
        timers: [1, 1],
        ..Budget::default()
    };
    Model {
        name: "early close and abort",
        scenario: Scenario { budget, ..plain() },
        situations: vec![BOTH_OPEN, BOTH_ENDED],
    }
}

fn blind() -> Vec<Forgery> {
    let mut forgeries = Forgery::all(Numbers::Far);
    forgeries.extend(Forgery::all(Numbers::WrongAck));
    forgeries
}

fn blind_at_open(scale: Scale) -> Model {
    let budget = Budget {
        sends: sized(scale, [1, 0], [1, 1]),
        closes: sized(scale, [0, 1], [1, 1]),
        timers: sized(scale, [0, 0], [1, 0]),
        injections: 1,
        ..Budget::default()
    };
    Model {
        name: "blind attacker, open",
        scenario: Scenario {
            starts_open: true,
            budget,
            forgeries: blind(),
            ..plain()
        },
        situations: vec![BOTH_OPEN, BOTH_ENDED],
    }
}

fn blind_at_handshake(scale: Scale) -> Model {
    let budget = Budget {
        sends: sized(scale, [0, 0], [1, 1]),
        reorders: sized(scale, 0, 1),
        timers: sized(scale, [1, 0], [1, 1]),
        injections: 1,
        ..Budget::default()
    };
    Model {
        name: "blind attacker, handshake",
        scenario: Scenario {
            budget,
            // With a number of the server, an attacker can make a client in REQUEST reset the server (AMB-3).
            forgeries: Forgery::all(Numbers::Far),
            ..plain()
        },
        situations: vec![BOTH_OPEN],
    }
}

/// The attacker guesses the next numbers, or sees them.
fn lucky_next(scale: Scale) -> Model {
    let budget = Budget {
        sends: sized(scale, [1, 0], [1, 1]),
        closes: sized(scale, [0, 0], [1, 0]),
        reorders: sized(scale, 0, 1),
        timers: sized(scale, [0, 0], [1, 0]),
        injections: 1,
        ..Budget::default()
    };
    Model {
        name: "lucky attacker, next numbers",
        scenario: Scenario {
            starts_open: true,
            budget,
            forgeries: Forgery::all(Numbers::Next),
            ..plain()
        },
        situations: vec![BOTH_OPEN, BOTH_ENDED],
    }
}

/// The attacker hits the end of the window.
fn lucky_ahead(scale: Scale) -> Model {
    let budget = Budget {
        sends: sized(scale, [1, 0], [1, 1]),
        closes: sized(scale, [0, 0], [0, 1]),
        reorders: sized(scale, 0, 1),
        timers: sized(scale, [1, 0], [1, 1]),
        injections: 1,
        ..Budget::default()
    };
    Model {
        name: "lucky attacker, ¾ of the window ahead",
        scenario: Scenario {
            starts_open: true,
            budget,
            forgeries: Forgery::all(Numbers::Ahead),
            ..plain()
        },
        situations: vec![BOTH_OPEN, BOTH_ENDED],
    }
}
