//! CCID 3 with a Linux receiver at its start: the flow goes on, whichever packet the path loses first.
//!
//! The kernel sends feedback after the first data packet, after CCVal has moved by more than three, and when a loss
//! event begins. So a sender must move CCVal even before it knows the round trip.

use core::time::Duration;
use dccp_proto::Instant;
use dccp_proto::wire::PacketType;
use dccp_sim::Frame;
use dccp_sim::pair::{End, Pair, Profile, Setup};
use dccp_sim::rule::{Action, Rule, packet_type_of};
use dccp_sim::source::{App, Source};

const SECOND: Duration = Duration::from_secs(1);
/// Datagrams of a run.
const COUNT: u64 = 500;

const ENDS: [End; 2] = [End::Client, End::Server];

/// A connection with CCID 3 between our host at one end and a peer at the other.
#[derive(Clone, Debug)]
struct Case {
    ours: End,
    peer: Profile,
    sender: End,
}

impl Case {
    fn all() -> Vec<Self> {
        let mut cases = Vec::new();
        for ours in ENDS {
            for sender in ENDS {
                for peer in [Profile::ours(), Profile::linux()] {
                    cases.push(Self { ours, peer, sender });
                }
            }
        }
        cases
    }

    /// The sender has its datagrams, and the receiver these.
    fn start(&self, setup: Setup, receiver: App) -> Pair {
        let (client, server) = match self.ours {
            End::Client => (Profile::ours(), self.peer.clone()),
            End::Server => (self.peer.clone(), Profile::ours()),
        };
        let mut pair = Pair::new(Setup {
            client: client.with_ccid(3),
            server: server.with_ccid(3),
            ..setup
        });
        let sender = App::bulk(1000, COUNT);
        let (client, server) = match self.sender {
            End::Client => (sender, receiver),
            End::Server => (receiver, sender),
        };
        pair.listen(server);
        pair.connect(client);
        pair
    }

    /// Loses `count` data packets of the sender.
    fn lose_data(&self, pair: &mut Pair, count: u64) {
        let is_data = |f: &Frame| {
            matches!(
                packet_type_of(f),
                Some(PacketType::Data | PacketType::DataAck)
            )
        };
        let rule = Rule::new(Action::Drop).matching(is_data);
        let link = if self.sender == End::Client {
            pair.there
        } else {
            pair.back
        };
        pair.world.add_rule(link, rule.from_nth(1, count));
    }

    /// Loses `count` feedback packets of the receiver. The client's first Ack is the handshake's.
    fn lose_feedback(&self, pair: &mut Pair, count: u64) {
        let rule = Rule::new(Action::Drop).of_type(PacketType::Ack);
        match self.sender {
            End::Client => pair.world.add_rule(pair.back, rule.from_nth(1, count)),
            End::Server => pair.world.add_rule(pair.there, rule.from_nth(2, count)),
        }
    }

    /// A kernel drops its send queue when it closes, so those datagrams need not leave.
    fn assert_sent_within(&self, mut pair: Pair, limit: Duration) {
        let sent = |pair: &Pair| match pair.connections(self.sender) {
            0 => 0,
            _ => pair.report(self.sender).sent,
        };
        while sent(&pair) < COUNT - 5 {
            pair.run_for(Duration::from_millis(10));
            let is_late = pair.world.now() - Instant::ZERO >= limit;
            assert!(!is_late, "{self:?}: {} sent", sent(&pair));
        }
    }
}

/// An application that sends a little, all the time.
fn chatty() -> App {
    App {
        source: Source::Cbr {
            len: 100,
            interval: Duration::from_millis(50),
            count: u64::MAX,
        },
        ..App::default()
    }
}

/// Drops the handshake's last packet. Its repetition by a timer is no round-trip sample.
fn lose_first_ack(pair: &mut Pair) {
    let rule = Rule::new(Action::Drop).of_type(PacketType::Ack);
    pair.world.add_rule(pair.there, rule.nth(1));
}

#[test]
fn lost_feedback_at_the_begin_costs_round_trips() {
    // 5348-4.2-1, 4342-8.1-1
    for case in Case::all() {
        for count in 0..=4 {
            let mut pair = case.start(Setup::default(), App::default());
            case.lose_feedback(&mut pair, count);
            case.assert_sent_within(pair, SECOND);
        }
    }
}

#[test]
fn lost_data_at_the_begin_costs_a_second() {
    for case in Case::all() {
        for count in 1..=4 {
            let mut pair = case.start(Setup::default(), App::default());
            case.lose_data(&mut pair, count);
            case.assert_sent_within(pair, 2 * SECOND);
        }
    }
}

#[test]
fn a_server_that_knows_no_round_trip_finds_it_by_the_next_packet() {
    // 5348-4.2-1, 4342-8.1-1: a packet per second is allowed, and after the nofeedback timer one in two.
    // Data both ways: a kernel that has nothing to send never repeats the handshake's Ack.
    for case in Case::all()
        .into_iter()
        .filter(|case| case.sender == case.ours)
    {
        for (count, seconds) in [(0, 1), (1, 2), (2, 3), (3, 5)] {
            let mut pair = case.start(Setup::default(), chatty());
            lose_first_ack(&mut pair);
            case.lose_feedback(&mut pair, count);
            case.assert_sent_within(pair, seconds * SECOND);
            let mut pair = case.start(Setup::default(), chatty());
            lose_first_ack(&mut pair);
            case.lose_data(&mut pair, count);
            case.assert_sent_within(pair, (seconds + 2) * SECOND);
        }
    }
}

#[test]
fn no_pattern_of_losses_stalls_a_flow() {
    for case in Case::all() {
        for seed in 1..=50 {
            let setup = Setup {
                seed,
                ..Setup::default()
            };
            let pair = case.start(setup.links(|link| link.faults.loss = 0.01), chatty());
            case.assert_sent_within(pair, 10 * SECOND);
        }
    }
}
