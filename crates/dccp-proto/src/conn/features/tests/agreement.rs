//! Whatever the network does: when it is quiet, both ends have the same values.
//!
//! In each round both ends may want something of every feature, at any time, so that wishes cross each
//! other and each other's answers. The network loses 30 % of the packets, doubles 10 %, and delays by up
//! to four round trips.

use super::*;
use proptest::prelude::*;

const TICK: Duration = Duration::from_millis(20);
/// Two ticks each way.
const RTT: Duration = Duration::from_millis(80);
/// In ticks.
const WISHES_END: u64 = 100;
const LOSS_ENDS: u64 = 150;
const GIVE_UP: u64 = 10_000;

/// A proposal of one end, and its time.
#[derive(Clone, Debug)]
struct Wish {
    tick: u64,
    at_server: bool,
    side: Side,
    feature: Feature,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Change(Vec<u8>),
    Prefer(Vec<u8>),
    Number(u64),
}

fn wish() -> impl Strategy<Value = Wish> {
    let list = |values| prop::collection::vec(values, 1..4);
    let what = prop_oneof![
        4 => list(2..5_u8).prop_map(|list| (CCID, What::Change(list))),
        1 => list(2..5_u8).prop_map(|list| (CCID, What::Prefer(list))),
        2 => list(0..2_u8).prop_map(|list| (NDP, What::Change(list))),
        2 => (0..5_u64).prop_map(|n| (RATIO, What::Number(n))),
        2 => (32..40_u64).prop_map(|n| (WINDOW, What::Number(n))),
    ];
    let side = prop_oneof![Just(Side::Local), Just(Side::Remote)];
    (0..WISHES_END, any::<bool>(), side, what).prop_map(|(tick, at_server, side, what)| Wish {
        tick,
        at_server,
        side,
        feature: what.0,
        what: what.1,
    })
}

/// The proposals of a round: at most one per end and feature.
fn round() -> impl Strategy<Value = Vec<Wish>> {
    prop::collection::vec(wish(), 0..12).prop_map(|wishes| {
        let mut kept: Vec<Wish> = Vec::new();
        for wish in wishes {
            let subject = |w: &Wish| (w.at_server, w.side == Side::Local, w.feature);
            if kept.iter().all(|w| subject(w) != subject(&wish)) {
                kept.push(wish);
            }
        }
        kept
    })
}

/// Two ends and the network between them.
struct World {
    ends: [End; 2],
    /// Arrival in ticks, receiver, packet.
    in_flight: Vec<(u64, usize, Sent)>,
    random: u64,
    tick: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        let (client, server) = End::pair();
        let mut ends = [client, server];
        for end in &mut ends {
            end.f.set_rtt(RTT);
        }
        Self {
            ends,
            in_flight: Vec::new(),
            random: seed | 1,
            tick: 0,
        }
    }

    /// A number below `n`.
    fn roll(&mut self, n: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 20) % n
    }

    fn play(&mut self, wishes: &[Wish]) {
        self.tick = 0;
        while self.tick < GIVE_UP {
            for wish in wishes.iter().filter(|w| w.tick == self.tick) {
                let f = &mut self.ends[usize::from(wish.at_server)].f;
                match wish.what {
                    What::Change(ref list) => f.change(wish.side, wish.feature, list, false),
                    What::Prefer(ref list) => f.prefer(wish.side, wish.feature, list),
                    What::Number(value) => f.change_number(wish.feature, value),
                }
            }
            self.step();
            let is_settled = self.ends.iter().all(|e| e.f.poll_timeout().is_none());
            if self.tick > LOSS_ENDS && is_settled && self.in_flight.is_empty() {
                return;
            }
        }
        panic!("negotiation never ends");
    }

    fn step(&mut self) {
        let tick = self.tick;
        let due: Vec<_> = self
            .in_flight
            .extract_if(.., |(at, ..)| *at <= tick)
            .collect();
        for (_, to, packet) in due {
            let received = self.ends[to].recv(&packet);
            assert_eq!(received, Ok(()), "two of us understand each other");
        }
        for from in 0..2 {
            let has_data = tick < LOSS_ENDS && self.roll(4) == 0;
            let end = &mut self.ends[from];
            if has_data || end.f.wants_packet(end.now) {
                let packet = end.send(PacketType::Ack);
                self.launch(1 - from, &packet);
            }
        }
        for end in &mut self.ends {
            end.wait(TICK);
        }
        self.tick += 1;
    }

    fn launch(&mut self, to: usize, packet: &Sent) {
        let is_rough = self.tick < LOSS_ENDS;
        let copies = match self.roll(10) {
            0..3 if is_rough => 0,
            3 if is_rough => 2,
            _ => 1,
        };
        for _ in 0..copies {
            let jitter = if is_rough { self.roll(12) } else { 0 };
            let arrival = self.tick + 2 + jitter;
            self.in_flight.push((arrival, to, packet.clone()));
        }
    }

    fn assert_agreement(&self) {
        let [client, server] = &self.ends;
        for feature in Feature::ALL {
            let [local, remote] = server.values(feature);
            assert_eq!(client.values(feature), [remote, local], "{feature:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn both_ends_agree_when_the_network_is_quiet(
        seed in any::<u64>(),
        rounds in prop::collection::vec(round(), 1..4),
    ) {
        // 4340-6.6.6-1, 4340-6.6.5-1, 4340-6.6.4-1, 4340-6.1-2
        let mut world = World::new(seed);
        for wishes in rounds {
            world.play(&wishes);
            world.assert_agreement();
        }
    }
}
