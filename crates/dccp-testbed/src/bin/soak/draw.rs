//! One conversation: everything about it comes from its seed.

use crate::coverage::Coverage;
use crate::stranger;
use core::time::Duration;
use dccp_proto::conn::State;
use dccp_proto::wire::PacketType;
use dccp_proto::{Config, Instant, Rate};
use dccp_sim::host::Host;
use dccp_sim::link::TooBig;
use dccp_sim::linux::LinuxConfig;
use dccp_sim::loss::Jitter;
use dccp_sim::loss::Outage;
use dccp_sim::pair::{End, Pair, Profile, SERVICE, Setup};
use dccp_sim::queue::{DropTailConfig, Limit, QueueConfig};
use dccp_sim::source::{App, Closing, Reading, Ring, Source};
use dccp_sim::{Handle, LinkConfig, Seed, Stream, World};

/// No conversation lasts longer: what is not over then is closed or aborted, and given its time.
const DATA_TIME: Duration = Duration::from_secs(20);
/// Long enough to drain a queue at a packet per minute, and for every give-up of RFC 4340 §8.
const END_TIME: Duration = Duration::from_hours(72);

/// Plays the conversation of a seed.
pub(crate) fn play(seed: u64, coverage: &mut Coverage) {
    let mut draw = Seed(seed).stream("soak");
    let setup = setup(seed, &mut draw);
    let has_linux =
        matches!(setup.client, Profile::Linux(_)) || matches!(setup.server, Profile::Linux(_));
    // The memory for a trace of all packets would stay with the allocator after a long conversation.
    let mut pair = Pair::untraced(setup.clone());
    pair.world.start_trace_of(PacketType::Reset);
    pair.world.set_repeat_command(format!(
        "cargo run --release -p dccp-testbed --bin soak -- 1 {seed}"
    ));
    let is_invited = !has_linux && draw.chance(0.08);
    // For some clients no server listens.
    if is_invited {
        invite(&mut pair, &setup, &mut draw);
    } else if draw.chance(0.95) {
        pair.listen(app(&mut draw));
    }
    let mut watch = Watch::new(&pair, &setup);
    if !is_invited || draw.chance(0.8) {
        if is_invited {
            // Early or late: while the server invites, or when it has stopped.
            watch.run(&mut pair, span(&mut draw, 1_500), coverage);
        }
        pair.connect(app(&mut draw));
    }
    if draw.chance(0.3) {
        stranger::visit(&mut pair, &setup, &mut draw);
    }
    watch.run(
        &mut pair,
        span(
            &mut draw,
            u64::try_from(DATA_TIME.as_millis()).unwrap_or(u64::MAX),
        ),
        coverage,
    );
    end(&mut pair, &mut draw);
    watch.run(&mut pair, END_TIME, coverage);
    watch.expect_the_end(&pair);
    finish(&pair, &setup, coverage);
}

fn finish(pair: &Pair, setup: &Setup, coverage: &mut Coverage) {
    pair.world.check();
    coverage.on_trace(&pair.world.trace());
    let mut resting = 0;
    for (end, profile) in [(End::Client, &setup.client), (End::Server, &setup.server)] {
        if let Profile::Ours(_) = profile {
            resting += pair.world.node(pair.host(end)).endpoint().resting();
        }
    }
    let received = |end| {
        if pair.connections(end) > 0 {
            pair.report(end).received
        } else {
            0
        }
    };
    let delivered = received(End::Client) + received(End::Server);
    coverage.on_end(resting, delivered, pair.world.totals().sent);
}

/// A random time up to `up_to_ms` milliseconds.
fn span(draw: &mut Stream, up_to_ms: u64) -> Duration {
    Duration::from_micros(draw.below(up_to_ms * 1000))
}

fn setup(seed: u64, draw: &mut Stream) -> Setup {
    let linux_ccid = [2, 3][draw.index_below(2)];
    let (client, server) = match draw.below(10) {
        0..=5 => (ours(draw), ours(draw)),
        6..=7 => (
            ours(draw),
            Profile::Linux(LinuxConfig::with_ccid(linux_ccid)),
        ),
        _ => (
            Profile::Linux(LinuxConfig::with_ccid(linux_ccid)),
            ours(draw),
        ),
    };
    Setup {
        seed,
        over_udp: draw.chance(0.5),
        is_v6: draw.chance(0.5),
        client,
        server,
        there: link(draw),
        back: link(draw),
    }
}

fn ours(draw: &mut Stream) -> Profile {
    let lists: [&[u8]; 6] = [&[2, 3], &[3, 2], &[4, 3, 2], &[2], &[3], &[4]];
    let mut list = || lists[draw.index_below(6)].to_vec();
    let (tx_ccids, rx_ccids) = (list(), list());
    let coverage = |draw: &mut Stream| {
        if draw.chance(0.1) {
            [1, 2, 3, 4, 5][draw.index_below(5)]
        } else {
            0
        }
    };
    Profile::Ours(Config {
        tx_ccids,
        rx_ccids,
        sequence_window: if draw.chance(0.2) {
            32 + draw.below(1000)
        } else {
            100
        },
        adapt_sequence_window: draw.chance(0.9),
        ack_ratio: draw
            .chance(0.1)
            .then(|| [0, 1, 2, 7, 19, u16::MAX][draw.index_below(6)]),
        short_seqnos: draw.chance(0.3),
        send_cscov: coverage(draw),
        min_cscov: coverage(draw),
        data_checksum: draw.chance(0.2),
        deliver_corrupt: draw.chance(0.1),
        ndp_count: draw.chance(0.3),
        ecn: draw.chance(0.8),
        pacing: draw.chance(0.8),
        strict: draw.chance(0.2),
        timestamps: draw.chance(0.2),
        msl: Duration::from_secs([2, 30, 120][draw.index_below(3)]),
        connect_timeout: Duration::from_secs([3, 20, 180][draw.index_below(3)]),
        keepalive: draw.chance(0.1).then(|| Duration::from_secs(5)),
        probe_pmtu: draw.chance(0.7),
        cookie_threshold: if draw.chance(0.3) { 0 } else { 256 },
        ..Config::default()
    })
}

fn link(draw: &mut Stream) -> LinkConfig {
    let delay_ms = [1, 20, 300][draw.index_below(3)];
    let mut link = LinkConfig {
        rate: draw
            .chance(0.7)
            .then(|| Rate::from_bytes_per_s([5e3, 1e5, 1e6, 1e7][draw.index_below(4)])),
        delay: span(draw, delay_ms),
        queue: QueueConfig::DropTail(DropTailConfig {
            limit: Limit::Packets(1 + draw.index_below(200)),
            mark_at: draw
                .chance(0.2)
                .then(|| Limit::Packets(draw.index_below(20))),
        }),
        mtu: [296, 400, 576, 1280, 1400, 1500][draw.index_below(6)],
        too_big: if draw.chance(0.5) {
            TooBig::Silent
        } else {
            TooBig::Icmp {
                quoted: [8, 500][draw.index_below(2)],
            }
        },
        ..LinkConfig::default()
    };
    let faults = &mut link.faults;
    for share in [
        &mut faults.loss,
        &mut faults.duplicate,
        &mut faults.corrupt,
        &mut faults.reorder,
    ] {
        if draw.chance(0.3) {
            *share = [0.001, 0.01, 0.1, 0.3][draw.index_below(4)];
        }
    }
    faults.reorder_by = span(draw, 50);
    if draw.chance(0.2) {
        faults.jitter = Jitter::Uniform(span(draw, 20));
    }
    if draw.chance(0.2) {
        let start = Instant::ZERO + span(draw, 10_000);
        let end = start + span(draw, 20_000);
        faults.outages.push(Outage { start, end });
    }
    link
}

fn app(draw: &mut Stream) -> App {
    let len = [0, 1, 100, 500][draw.index_below(4)];
    let count = [0, 1, 30, 1000][draw.index_below(4)];
    let interval = Duration::from_millis(1 + draw.below(200));
    let source = match draw.below(8) {
        0 | 1 => Source::Silent,
        2 => Source::Cbr {
            len,
            interval,
            count,
        },
        3 => Source::Poisson {
            len,
            interval,
            count,
        },
        _ => Source::Bulk { len, count },
    };
    let reading = match draw.below(10) {
        0 => Reading::Every(Duration::from_millis(1 + draw.below(100))),
        1 => Reading::Never,
        2 => Reading::NotListening,
        _ => Reading::AtOnce,
    };
    App {
        source,
        echo: draw.chance(0.3),
        answer: 0,
        stamps: draw.chance(0.2),
        logs: false,
        important_every: None,
        ring: Ring::default(),
        closing: [Closing::AfterPeer, Closing::WhenSent, Closing::Never][draw.index_below(3)],
        receive_buffer: 1 + draw.index_below(100),
        reading,
        slow_receiver: matches!(reading, Reading::Every(_)),
        obeys: false,
        keeps: false,
        random: draw.fork(count),
    }
}

/// The server opens first (RFC 5596).
fn invite(pair: &mut Pair, setup: &Setup, draw: &mut Stream) {
    let Profile::Ours(config) = &setup.server else {
        return;
    };
    let config = Config {
        service_code: SERVICE,
        ..config.clone()
    };
    let flow = pair.flow(0);
    let mirrored = dccp_proto::path::Flow {
        path: flow.path.reversed(),
        local_port: flow.remote_port,
        remote_port: flow.local_port,
    };
    let app = app(draw);
    let opened = pair.world.call(pair.host(End::Server), |host, context| {
        host.open_simultaneously(context, mirrored, config, app)
    });
    assert!(opened.is_ok(), "{opened:?}");
}

/// The applications end what is still going on.
fn end(pair: &mut Pair, draw: &mut Stream) {
    let mut ends = [End::Client, End::Server];
    if draw.chance(0.5) {
        ends.reverse();
    }
    for end in ends {
        if pair.connections(end) == 0 || draw.chance(0.3) {
            continue;
        }
        if draw.chance(0.3) {
            pair.abort(end);
        } else {
            pair.close(end);
        }
    }
    pair.run_for(Duration::from_millis(draw.below(3000)));
    // All connections end now. An application that went on writing would put off its end without a bound.
    for end in ends {
        pair.finish(end);
    }
}

/// Looks at the states of our connections after every event.
struct Watch {
    hosts: Vec<(Handle<Host>, Option<State>)>,
}

impl Watch {
    fn new(pair: &Pair, setup: &Setup) -> Self {
        let mut hosts = Vec::new();
        for (end, profile) in [(End::Client, &setup.client), (End::Server, &setup.server)] {
            if let Profile::Ours(_) = profile {
                hosts.push((pair.host(end), None));
            }
        }
        Self { hosts }
    }

    fn run(&mut self, pair: &mut Pair, time: Duration, coverage: &mut Coverage) {
        self.look(&pair.world, coverage);
        pair.world.run_while_not(time, |world| {
            self.look(world, coverage);
            let is_over = |(handle, state): &(Handle<Host>, Option<State>)| {
                let host = world.node(*handle);
                *state == Some(State::Closed)
                    && (1..host.connections()).all(|number| host.report(number).is_over)
            };
            !self.hosts.is_empty() && self.hosts.iter().all(is_over)
        });
        pair.world.check();
    }

    fn look(&mut self, world: &World, coverage: &mut Coverage) {
        for (handle, last) in &mut self.hosts {
            let host = world.node(*handle);
            if host.connections() == 0 {
                continue;
            }
            let seen = host
                .connection(0)
                .map_or(State::Closed, dccp_proto::Connection::state);
            let state = if seen.is_alive() { seen } else { State::Closed };
            coverage.on_state(*last, state);
            *last = Some(state);
        }
    }

    /// Every connection that was closed or aborted is over by now: nothing waits for ever.
    fn expect_the_end(&self, pair: &Pair) {
        for (handle, state) in &self.hosts {
            let host = pair.world.node(*handle);
            let is_over = matches!(state, None | Some(State::Closed));
            assert!(is_over, "a connection does not end: {:?}", host.snapshot(0));
            for number in 1..host.connections() {
                let is_over = host.report(number).is_over;
                assert!(
                    is_over,
                    "connection {number} does not end: {:?}",
                    host.snapshot(number)
                );
            }
        }
    }
}
