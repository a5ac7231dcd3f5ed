//! The ring against a map from packets to states, over a network that loses, reorders, duplicates and
//! marks, in both directions.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
enum Step {
    /// A packet so far ahead of (or behind) the newest arrives.
    Arrive { ahead: i64, ecn: Ecn },
    /// We send a vector of at most `room` bytes.
    Report { room: usize },
    /// The peer acknowledges the packet that is `back` places behind the newest one sent.
    Acked { back: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let ecn = prop_oneof![4 => Just(Ecn::Ect0), 2 => Just(Ecn::Ect1), 1 => Just(Ecn::Ce)];
    let ahead = prop_oneof![6 => Just(1_i64), 2 => 2..6_i64, 3 => -8..1_i64, 1 => -80..90_i64];
    let room = prop_oneof![5 => Just(ROOM), 1 => 0..30_usize];
    prop_oneof![
        8 => (ahead, ecn).prop_map(|(ahead, ecn)| Step::Arrive { ahead, ecn }),
        2 => room.prop_map(|room| Step::Report { room }),
        1 => (0..5_usize).prop_map(|back| Step::Acked { back }),
    ]
}

/// A map from the position after the base to the state and the nonce.
#[derive(Default)]
struct Model {
    arrived: BTreeMap<i64, (AckState, bool)>,
    newest: i64,
    /// For each packet of ours: the states of arrived packets in its vector.
    sent: Vec<BTreeMap<i64, AckState>>,
    /// The states that have certainly reached the peer.
    known: BTreeMap<i64, AckState>,
}

impl Model {
    fn arrive(&mut self, at: i64, ecn: Ecn) {
        let marked = (AckState::Marked, false);
        let entry = self.arrived.entry(at);
        match ecn {
            Ecn::Ce => *entry.or_insert(marked) = marked,
            _ => {
                entry.or_insert((AckState::Received, ecn == Ecn::Ect1));
            }
        }
        self.newest = self.newest.max(at);
    }

    fn state(&self, at: i64) -> AckState {
        self.arrived.get(&at).map_or(AckState::NotReceived, |s| s.0)
    }
}

/// Checks a report against the model; returns what it says of arrived packets.
fn check(model: &Model, base: Seq, ack: Seq, bytes: &[u8]) -> BTreeMap<i64, AckState> {
    assert_eq!(ack.distance(base), model.newest);
    let mut said = BTreeMap::new();
    let mut at = model.newest;
    for option in Options(bytes) {
        let Opt::AckVector { nonce, cells } = option else {
            panic!("{option:?}");
        };
        let mut sum = false;
        for &byte in cells {
            let cell = AckCell::from_byte(byte);
            for _ in 0..cell.len {
                assert_eq!(cell.state, model.state(at), "packet {at}");
                if cell.state != AckState::NotReceived {
                    said.insert(at, cell.state);
                    sum ^= cell.state == AckState::Received && model.arrived[&at].1;
                }
                at -= 1;
            }
        }
        assert_eq!(nonce, sum);
    }
    said
}

proptest! {
    #[test]
    fn a_packet_in_order_is_recorded_as_any_other(steps in prop::collection::vec(step(), 1..300)) {
        let (mut quick, mut slow) = (AckVector::default(), AckVector::default());
        let mut newest = Seq::new((1 << 48) - 50);
        for step in steps {
            if let Step::Arrive { ahead, ecn } = step {
                let far = ahead.unsigned_abs();
                let seq = if ahead < 0 { newest.minus(far) } else { newest.plus(far) };
                slow.has_nonces |= ecn == Ecn::Ect1;
                slow.on_unexpected(seq, Fate::of(ecn));
                quick.on_packet(seq, ecn);
                newest = newest.max(seq);
            }
            prop_assert_eq!(format!("{quick:?}"), format!("{slow:?}"));
        }
    }

    #[test]
    fn cells_that_are_written_at_once_are_those_of_a_loop(
        runs in prop::collection::vec((0..4_u8, 1..65_u64, 1..300_usize), 1..8),
        has_nonces in any::<bool>(),
        room in 0..ROOM,
    ) {
        let received = if has_nonces { Fate::Nonce } else { Fate::Received };
        let fates = [Fate::Received, Fate::Marked, received, Fate::Missing];
        let mut v = AckVector { has_nonces, ..AckVector::default() };
        for (fate, len, cells) in runs {
            let cell = Cell::new(fates[usize::from(fate)], len);
            v.cells.extend(core::iter::repeat_n(cell, cells));
            v.packets += len * cells as u64;
        }
        let mut w = OptionWriter::new(room);
        v.write(Seq::ZERO, &mut w);
        prop_assert_eq!(w.as_slice(), one_by_one(&v, room));
    }
}

/// The options with the newest cells that fit, written cell by cell; where there are nonces, joined.
fn one_by_one(v: &AckVector, room: usize) -> Vec<u8> {
    let mut joined: Vec<(AckState, u64, bool)> = Vec::new();
    for cell in &v.cells {
        let (state, len) = (cell.fate().state(), cell.len());
        let nonce = cell.fate() == Fate::Nonce && len % 2 == 1;
        match joined.last_mut() {
            Some(last) if v.has_nonces && last.0 == state && last.1 + len <= Cell::LEN_MAX => {
                last.1 += len;
                last.2 ^= nonce;
            }
            _ => joined.push((state, len, nonce)),
        }
    }
    let mut w = OptionWriter::new(room);
    for cells in joined.chunks(OPTION_CELLS) {
        let fits = w.remaining().saturating_sub(2).min(cells.len());
        let cells = &cells[..fits];
        let bytes = cells.iter().map(|&(state, len, _)| {
            let len = u8::try_from(len).unwrap();
            AckCell { state, len }.to_byte()
        });
        let nonce = cells.iter().fold(false, |sum, cell| sum ^ cell.2);
        if fits > 0 {
            let cells = &bytes.collect::<Vec<_>>();
            w.push(&Opt::AckVector { nonce, cells }).unwrap();
        }
    }
    w.as_slice().to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn vectors_tell_the_truth_until_the_peer_knows_it(
        base in prop_oneof![Just(0), Just((1_u64 << 48) - 100), any::<u64>()],
        has_nonces in any::<bool>(),
        steps in prop::collection::vec(step(), 1..300),
    ) {
        let base = Seq::new(base);
        let mut v = AckVector::default();
        let mut model = Model::default();
        // A truncated report omits packets for good (`docs/design.md`, decision 8c). From then on the
        // reports must be correct, not complete.
        let mut is_complete = true;
        model.arrive(0, Ecn::Ect0);
        v.on_packet(base, Ecn::Ect0);
        for step in steps {
            match step {
                Step::Arrive { ahead, ecn } => {
                    let at = model.newest + ahead;
                    if at < 0 {
                        continue;
                    }
                    let ecn = if has_nonces || ecn == Ecn::Ce { ecn } else { Ecn::Ect0 };
                    let oldest = model.newest + 1 - i64::try_from(v.packets).unwrap();
                    v.on_packet(base.plus(at.unsigned_abs()), ecn);
                    if at >= oldest {
                        model.arrive(at, ecn);
                    } else {
                        // A packet that is not kept is older than one that the peer knows.
                        prop_assert!(model.known.keys().any(|&k| k >= at));
                    }
                }
                Step::Report { room } => {
                    let mut w = OptionWriter::new(room);
                    let own = Seq::new(model.sent.len() as u64);
                    let wrote = v.write(own, &mut w);
                    prop_assert_eq!(wrote, room >= 3);
                    let said = check(&model, base, v.newest().unwrap(), w.as_slice());
                    if room == ROOM && is_complete {
                        // 4340-11.4.2-1: whatever is left out, the peer knows.
                        for (at, (state, _)) in &model.arrived {
                            let told = said.get(at).or_else(|| model.known.get(at));
                            prop_assert_eq!(told, Some(state), "packet {}", at);
                        }
                    }
                    is_complete &= room == ROOM;
                    model.sent.push(said);
                }
                Step::Acked { back } => {
                    let Some(index) = model.sent.len().checked_sub(back + 1) else {
                        continue;
                    };
                    v.on_acked(Seq::new(index as u64));
                    for (at, state) in model.sent[index].clone() {
                        // 4340-11.4.1-1: what was marked once stays so.
                        let known = model.known.entry(at).or_insert(state);
                        if state == AckState::Marked {
                            *known = state;
                        }
                    }
                }
            }
            let packets: u64 = v.cells.iter().map(|c| c.len()).sum();
            prop_assert_eq!(packets, v.packets);
        }
    }
}
