//! Receivers that lie to be sent more: how much more, on a path whose honest rate is known (4340-12.3-1).
//!
//! A liar of CCID 2 or CCID 4 gains at most twice the honest rate in any second after the first ten round trips. One of
//! CCID 3 gains more, up to `Config::max_rate`: no audit finds hidden loss events. `cargo test -p dccp-sim --test liars -- --nocapture` prints all gains.

mod honest;
mod liar;

use core::net::{IpAddr, Ipv4Addr};
use core::time::Duration;
use dccp_proto::number::to_f64;
use dccp_proto::path::{Encap, Flow, Path};
use dccp_proto::wire::{ResetCode, ServiceCode};
use dccp_proto::{CloseReason, Config, Rate};
use dccp_sim::queue::{DropTailConfig, Limit, QueueConfig};
use dccp_sim::source::App;
use dccp_sim::{Host, LinkConfig, Seed, SimHash, World};
use liar::{Liar, Lies, RTT};

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));
const PORT: u16 = 5001;
const SERVICE: ServiceCode = ServiceCode(42);

/// Rate of the bottleneck in bits per second.
const LINK_RATE: f64 = 20e6;
/// A sender that exceeds the honest rate by this factor has no congestion control; its run ends.
const GAIN_MAX: f64 = 64.0;
const STEP: Duration = Duration::from_millis(100);
const RUN: Duration = Duration::from_secs(20);

/// A path that signals congestion or loses packets.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Trouble {
    /// A queue of half a product of rate and delay that overflows.
    SmallQueue,
    /// Random loss of 1 %.
    Loss,
    /// The queue marks packets before it overflows.
    Marks,
}

fn link(trouble: Trouble) -> LinkConfig {
    let mut link = LinkConfig {
        rate: Some(Rate::from_bytes_per_s(LINK_RATE / 8.0)),
        delay: RTT / 2,
        queue: QueueConfig::drop_tail(Limit::Packets(40)),
        ..LinkConfig::default()
    };
    match trouble {
        Trouble::SmallQueue => {}
        Trouble::Loss => link.faults.loss = 0.01,
        Trouble::Marks => {
            link.queue = QueueConfig::DropTail(DropTailConfig {
                limit: Limit::Packets(80),
                mark_at: Some(Limit::Packets(20)),
            });
        }
    }
    link
}

/// The outcome of one run.
struct Outcome {
    /// Bits of application data sent in each tenth of a second after the first ten round trips.
    tenths: Vec<f64>,
    misreports: u64,
    audits: u64,
    /// Why the connection ended before the end of the run.
    end: Option<CloseReason>,
}

impl Outcome {
    /// The mean rate in bits per second.
    fn mean(&self) -> f64 {
        let seconds = to_f64(self.tenths.len() as u64) * STEP.as_secs_f64();
        self.tenths.iter().sum::<f64>() / seconds
    }

    /// The most bits sent in any second.
    fn max(&self) -> f64 {
        let seconds = self.tenths.windows(10).map(|tenths| tenths.iter().sum());
        seconds.fold(0.0, f64::max)
    }
}

/// Sends as fast as congestion control permits for half a minute, or until the rate exceeds `limit`.
fn run(config: &Config, trouble: Trouble, lies: Lies, limit: f64) -> Outcome {
    let mut world = World::new(Seed(1));
    let ccid = config.tx_ccids[0];
    let host = |world: &World, name: &str| Host::new(SimHash::new(world.seed(), name));
    let client_host = host(&world, "client");
    let client = world.add("client", &[CLIENT], client_host);
    let liar = world.add("liar", &[], Liar::new(lies, ccid, SERVER));
    let server_host = host(&world, "server");
    let server = world.add("server", &[SERVER], server_host);
    let back = LinkConfig {
        delay: RTT / 2,
        ..LinkConfig::default()
    };
    world.connect(client.id(), liar.id(), link(trouble), back);
    let near = LinkConfig::default();
    world.connect(liar.id(), server.id(), near.clone(), near);
    let sender = Config {
        service_code: SERVICE,
        ..config.clone()
    };
    world
        .call(server, |host, _| {
            let app = App::default();
            host.listen(PORT, &[SERVICE], config.clone(), app)
        })
        .expect("valid settings");
    let path = Path {
        local: CLIENT,
        remote: SERVER,
        encap: Encap::Ip,
    };
    let flow = Flow {
        path,
        local_port: 40_000,
        remote_port: PORT,
    };
    let app = App::bulk(1400, u64::MAX);
    world
        .call(client, |host, context| {
            host.connect(context, flow, sender, app)
        })
        .expect("valid settings");
    // The handshake takes a round trip.
    world.run_for(11 * RTT);
    let mut before = world.node(client).report(0).sent_bytes;
    let mut tenths = Vec::new();
    let steps = RUN.as_millis() / STEP.as_millis();
    for _ in 0..steps {
        world.run_for(STEP);
        let sent = world.node(client).report(0).sent_bytes;
        tenths.push(to_f64(sent - before) * 8.0);
        before = sent;
        if tenths
            .last()
            .is_some_and(|&bits| bits > limit * STEP.as_secs_f64())
        {
            break;
        }
    }
    let stats = world.node(client).stats(0);
    Outcome {
        tenths,
        misreports: stats.counters.misreports,
        audits: stats.counters.audits,
        end: world.node(client).report(0).close_reason().cloned(),
    }
}

/// Settings of both ends with one CCID.
fn config(ccid: u8) -> Config {
    Config {
        tx_ccids: vec![ccid],
        rx_ccids: vec![ccid],
        ..Config::default()
    }
}

/// The most that a liar is sent in any second, in mean rates of the honest run, and the run.
fn gain(config: &Config, trouble: Trouble, lies: Lies, honest: &Outcome) -> (f64, Outcome) {
    let limit = GAIN_MAX * honest.mean();
    let outcome = run(config, trouble, lies, limit);
    let gain = outcome.max() / honest.mean();
    println!(
        "CCID {} {trouble:?} {lies:?}: {:.2} Mbit/s, gain {gain:.2}, {} misreports",
        config.tx_ccids[0],
        outcome.max() / 1e6,
        outcome.misreports,
    );
    (gain, outcome)
}

/// The run of an honest receiver, which must pass all audits.
fn honest(config: &Config, trouble: Trouble) -> Outcome {
    let outcome = run(config, trouble, NONE, f64::INFINITY);
    assert_eq!(outcome.misreports, 0, "an honest receiver");
    assert_eq!(outcome.end, None);
    println!(
        "CCID {} {trouble:?} honest: mean {:.2}, most {:.2} Mbit/s, {} audits",
        config.tx_ccids[0],
        outcome.mean() / 1e6,
        outcome.max() / 1e6,
        outcome.audits,
    );
    outcome
}

const NONE: Lies = Lies {
    hides_losses: false,
    hides_bursts: false,
    blames_its_host: false,
    is_early: false,
    divides: false,
    hides_marks: false,
    inflates_rate: false,
    hides_events: false,
    shrinks_rtt: false,
};
const TROUBLES: [Trouble; 3] = [Trouble::SmallQueue, Trouble::Loss, Trouble::Marks];

#[test]
fn false_ack_vectors_end_the_connection() {
    // 4340-12.3-1, 4340-12.3-2: three misreports in different round trips, and no second with more than the honest rate.
    let lies = [
        Lies {
            hides_losses: true,
            ..NONE
        },
        Lies {
            blames_its_host: true,
            ..NONE
        },
        Lies {
            is_early: true,
            ..NONE
        },
        Lies {
            is_early: true,
            hides_losses: true,
            ..NONE
        },
        Lies {
            divides: true,
            hides_losses: true,
            ..NONE
        },
    ];
    let config = config(2);
    for trouble in TROUBLES {
        let honest = honest(&config, trouble);
        for lies in lies {
            let (gain, outcome) = gain(&config, trouble, lies, &honest);
            assert!(gain <= 1.0, "{trouble:?} {lies:?}: {gain}");
            assert_eq!(outcome.misreports, 3, "{trouble:?} {lies:?}");
            let penalty = CloseReason::Aborted(ResetCode::AGGRESSION_PENALTY);
            assert_eq!(outcome.end, Some(penalty), "{trouble:?} {lies:?}");
        }
    }
}

#[test]
fn lies_without_false_receipts_gain_less_than_twice_the_rate() {
    let lies = [
        Lies {
            hides_bursts: true,
            ..NONE
        },
        Lies {
            divides: true,
            ..NONE
        },
        Lies {
            hides_marks: true,
            ..NONE
        },
        Lies {
            shrinks_rtt: true,
            ..NONE
        },
    ];
    let config = config(2);
    for trouble in TROUBLES {
        let honest = honest(&config, trouble);
        for lies in lies {
            let (gain, _) = gain(&config, trouble, lies, &honest);
            assert!(gain <= 2.0, "{trouble:?} {lies:?}: {gain}");
        }
    }
}

/// Lies that concern CCID 3 and CCID 4.
const ABOUT_EVENTS: Lies = Lies {
    hides_events: true,
    ..NONE
};
const ABOUT_RATE: Lies = Lies {
    inflates_rate: true,
    ..NONE
};
const ABOUT_RTT: Lies = Lies {
    shrinks_rtt: true,
    ..NONE
};

#[test]
fn ccid_3_rate_follows_true_loss_events_or_a_true_receive_rate() {
    // 5348-4.3-4: the sender takes the lower limit of the two. If the peer lies about both, nothing limits the rate.
    let config = config(3);
    for trouble in TROUBLES {
        let honest = honest(&config, trouble);
        for lies in [
            ABOUT_RATE,
            ABOUT_RTT,
            Lies {
                is_early: true,
                ..ABOUT_RATE
            },
            Lies {
                hides_marks: true,
                ..NONE
            },
        ] {
            let (gain, _) = gain(&config, trouble, lies, &honest);
            assert!(gain <= 2.0, "{trouble:?} {lies:?}: {gain}");
        }
        // Without loss events it is twice the receive rate, which is that of the link at most.
        let (_, outcome) = gain(&config, trouble, ABOUT_EVENTS, &honest);
        assert!(outcome.max() <= 2.0 * LINK_RATE, "{trouble:?}");
    }
}

#[test]
fn ccid_3_liar_that_hides_all_loss_events_gets_the_largest_rate() {
    // 4340-12.3-3
    const MAX_RATE: u64 = 30_000_000;
    let config = Config {
        max_rate: Some(MAX_RATE),
        ..config(3)
    };
    for trouble in TROUBLES {
        let honest = honest(&config, trouble);
        for lies in [
            Lies {
                inflates_rate: true,
                ..ABOUT_EVENTS
            },
            Lies {
                inflates_rate: true,
                shrinks_rtt: true,
                ..ABOUT_EVENTS
            },
        ] {
            let (_, outcome) = gain(&config, trouble, lies, &honest);
            let most = 1.05 * to_f64(MAX_RATE);
            assert!(outcome.max() <= most, "{trouble:?} {lies:?}");
        }
    }
}

#[test]
fn ccid_4_liars_get_100_packets_per_second() {
    // 5622-5-2
    let config = config(4);
    for trouble in TROUBLES {
        let honest = honest(&config, trouble);
        for lies in [
            ABOUT_EVENTS,
            ABOUT_RATE,
            Lies {
                inflates_rate: true,
                ..ABOUT_EVENTS
            },
            Lies {
                inflates_rate: true,
                ..ABOUT_RTT
            },
            Lies {
                is_early: true,
                ..ABOUT_RATE
            },
        ] {
            let (gain, outcome) = gain(&config, trouble, lies, &honest);
            assert!(
                outcome.max() <= 100.0 * 8.0 * 1400.0,
                "{trouble:?} {lies:?}"
            );
            assert!(gain <= 1.01, "{trouble:?} {lies:?}: {gain}");
        }
    }
}
