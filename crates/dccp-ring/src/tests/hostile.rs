//! One side writes arbitrary words into the memory. The other must report it or continue; it must not
//! panic, hang or return more bytes than a slot holds.

use super::*;
use crate::index::{AppIndex, START, TransportIndex};
use crate::layout::{Control, Entries};
use core::hash::BuildHasher as _;
use std::sync::atomic::AtomicBool;
use std::thread;

/// A ring, and its memory for the hostile side.
fn open_ring() -> (App, Transport, Memory, Layout) {
    let layout = Layout::new(Shape::new(4, 16)).unwrap();
    let memory = Memory::plain(layout.atomic_words(), layout.entry_words());
    Layout::write_indexes(&memory);
    let app = App::new(&memory, &layout, silent());
    let transport = Transport::new(&memory, &layout, silent());
    (app, transport, memory, layout)
}

fn set(memory: &Memory, at: usize, word: u64) {
    memory.atomic(at).store(word, Ordering::Release);
}

#[test]
fn transport_reports_kind_of_violation() {
    let index = |umod: u32, user: u32| {
        AppIndex {
            umod: START.wrapping_add(umod),
            user: START.wrapping_add(user),
        }
        .word()
    };
    let looks = |word| {
        let (_app, mut transport, memory, _) = open_ring();
        set(&memory, Control::App.at(), word);
        transport.source.look(0)
    };
    // A slot of zeros has the deadline 0.
    assert!(matches!(looks(index(4, 4)), Ok(Look::Expired(_))));
    assert_eq!(looks(index(0, 4)), Ok(Look::Nothing));
    assert_eq!(looks(index(5, 5)), Err(Violation::Index), "too far");
    assert_eq!(
        looks(index(2, 1)),
        Err(Violation::Index),
        "ready before it is there"
    );
    let back = 0_u32.wrapping_sub(1);
    assert_eq!(looks(index(back, back)), Err(Violation::Index), "behind");
    assert_eq!(
        looks(index(back, 3)),
        Ok(Look::Nothing),
        "taken back long ago"
    );
}

#[test]
fn changed_transport_index_is_detected() {
    let (mut app, mut transport, memory, _) = open_ring();
    app.sender.push(&[1], tag(1)).unwrap();
    let own = memory
        .atomic(Control::Transport.at())
        .load(Ordering::Relaxed);
    set(&memory, Control::Transport.at(), own ^ 1);
    assert_eq!(transport.source.look(0), Err(Violation::Index));
}

#[test]
fn invalid_slots_and_lengths_are_detected() {
    for (slot, len, expected) in [
        (3, 16, Ok(Look::Offer { len: 16 })),
        (4, 16, Err(Violation::Slot)),
        (u32::MAX, 0, Err(Violation::Slot)),
        (3, 17, Err(Violation::Length)),
        (0, u32::MAX, Err(Violation::Length)),
    ] {
        let (mut app, mut transport, memory, layout) = open_ring();
        app.sender.push(&[1], tag(1)).unwrap();
        let word = u64::from(slot) | u64::from(len) << 32;
        set(&memory, layout.order.at(START), word);
        assert_eq!(transport.source.look(0), expected);
    }
}

#[test]
fn failed_claim_leaves_datagram_with_application() {
    let keyed = Label {
        key: Some(7),
        ..tag(1)
    };
    let changes: [fn(&mut Sender, Ticket, Label); 3] = [
        |sender, ticket, label| assert_eq!(sender.withdraw(ticket), Ok(label)),
        |sender, _, _| assert_eq!(sender.take_back(9).unwrap().len(), 1),
        |sender, _, label| {
            let pushed = sender.push(&[], label).unwrap();
            assert_eq!(pushed.superseded, Some(label));
        },
    ];
    for change in changes {
        let (mut app, _transport, memory, _) = open_ring();
        let ticket = app.sender.push(&[1], keyed).unwrap().ticket;
        let claiming = TransportIndex {
            kern: START.wrapping_add(1),
            dev: START,
        };
        set(&memory, Control::Transport.at(), claiming.word());
        assert_eq!(app.sender.withdraw(ticket), Err(ChangeError::TooLate));
        // The transport saw the take-back and gave up.
        set(
            &memory,
            Control::Transport.at(),
            TransportIndex::START.word(),
        );
        change(&mut app.sender, ticket, keyed);
    }
}

#[test]
fn draining_fates_ends_against_hostile_transport() {
    let (mut app, _transport, memory, layout) = open_ring();
    let mut filled = START;
    let mut heard = 0;
    let mut fill = || {
        filled = filled.wrapping_add(1);
        set(&memory, Control::FatesFilled.at(), filled.into());
    };
    fill();
    // One more for each that was read.
    let each = |_| {
        heard += 1;
        assert!(heard <= layout.fates.count);
        fill();
    };
    let taken = app.sender.fates(usize::MAX, each);
    assert_eq!((taken, heard), (Err(Violation::Index), layout.fates.count));
}

#[test]
fn missed_fates_count_is_capped() {
    let (app, _transport, memory, _) = open_ring();
    let at = Control::FatesFilled.at() + 1;
    for (told, believed) in [(3, 3), (u64::MAX, 1 << 48)] {
        set(&memory, at, told);
        assert_eq!(app.sender.fates_missed(), believed);
    }
}

#[test]
fn datagram_changed_between_offer_and_claim_is_not_claimed() {
    let (mut app, mut transport, memory, layout) = open_ring();
    app.sender.push(&[1], tag(1)).unwrap();
    let source = &mut transport.source;
    assert_eq!(source.look(0), Ok(Look::Offer { len: 1 }));
    set(&memory, layout.order.at(START), 16 << 32);
    assert_eq!(source.claim_into(&mut [0]), Ok(None));
    assert_eq!(source.look(0), Ok(Look::Offer { len: 16 }));
    set(&memory, Control::App.at(), 7);
    assert_eq!(source.claim_into(&mut [0; 16]), Err(Violation::Index));
}

#[test]
fn claimed_ahead_datagrams_use_first_read() {
    let (mut app, mut transport, memory, layout) = open_ring();
    for n in 0..4 {
        app.sender.push(&[7], tag(n)).unwrap();
    }
    let source = &mut transport.source;
    // A slot that does not exist: the third.
    set(&memory, layout.order.at(START.wrapping_add(2)), 4 | 1 << 32);
    assert_eq!(source.look(0), Ok(Look::Offer { len: 1 }));
    source.claim_ahead(4).unwrap();
    let shown = TransportIndex {
        kern: START.wrapping_add(2),
        dev: START,
    };
    assert_eq!(memory.own(Control::Transport.at()), shown.word());
    // Too long, and too far.
    set(&memory, layout.order.at(START.wrapping_add(1)), 17 << 32);
    set(&memory, Control::App.at(), 7);
    for n in 0..2 {
        assert_eq!(source.look(0), Ok(Look::Offer { len: 1 }));
        let claimed = source.claim_into(&mut [0]).unwrap().unwrap();
        assert_eq!((claimed.len, claimed.label), (1, tag(n)));
    }
    assert_eq!(source.look(0), Err(Violation::Slot));
    assert_eq!(source.claim_ahead(4), Err(Violation::Index));
}

#[test]
fn lanes_detect_invalid_indexes_and_lengths() {
    let (mut app, mut transport, memory, layout) = open_ring();
    let deliver = |transport: &mut Transport| transport.sink.deliver(&[7; 3], Arrival::default());
    while deliver(&mut transport) == Ok(Delivered::Yes) {}
    transport.sink.flush();
    for wrong in [
        START.wrapping_add(5).into(),
        START.wrapping_sub(1).into(),
        1 << 32,
    ] {
        set(&memory, Control::ArrivalsTaken.at(), wrong);
        assert_eq!(deliver(&mut transport), Err(Violation::Index));
    }
    for (told, waiting) in [(START.into(), 4), (3, 0), (4, 4), (1 << 32, 4)] {
        set(&memory, Control::ArrivalsTaken.at(), told);
        assert_eq!(transport.sink.waiting(), waiting, "{told}");
    }
    memory.set(layout.arrivals.at(START), 17);
    assert_eq!(app.receiver.recv(&mut [0; 99]), Err(Violation::Length));
    memory.set(layout.arrivals.at(START), u64::MAX);
    assert_eq!(app.receiver.recv(&mut [0; 99]), Err(Violation::Length));
    set(
        &memory,
        Control::FatesFilled.at(),
        START.wrapping_add(17).into(),
    );
    assert_eq!(app.sender.fates(9, |_| ()), Err(Violation::Index));
}

#[test]
fn application_detects_invalid_transport_indexes() {
    let index = |kern: u32, dev: u32| {
        TransportIndex {
            kern: START.wrapping_add(kern),
            dev: START.wrapping_add(dev),
        }
        .word()
    };
    for (kern, dev, is_possible) in [
        (2, 2, true),
        (3, 2, true),
        (3, 3, false),
        (1, 2, false),
        (7, 2, false),
        (u32::MAX, u32::MAX, false),
    ] {
        let (mut app, _transport, memory, _) = open_ring();
        for n in 0..2 {
            app.sender.push(&[1], tag(n)).unwrap();
        }
        set(&memory, Control::Transport.at(), index(kern, dev));
        assert_eq!(app.sender.room().is_ok(), is_possible, "{kern} {dev}");
    }
}

#[test]
fn failed_push_leaves_ring_unchanged() {
    let (mut app, mut transport, memory, _) = open_ring();
    let urgent = |number| Label {
        priority: 1,
        key: Some(7),
        ..tag(number)
    };
    app.sender.push(&[1], tag(1)).unwrap();
    let honest = memory.own(Control::Transport.at());
    set(&memory, Control::Transport.at(), honest ^ 1 << 63);
    let broken = Err(PushError::Broken(Violation::Index));
    assert_eq!(
        app.sender.push(&[2], urgent(2)),
        broken,
        "it cannot overtake"
    );
    set(&memory, Control::Transport.at(), honest);
    assert_eq!(app.sender.room(), Ok(3));
    assert_eq!(app.sender.push(&[3], urgent(3)).unwrap().superseded, None);
    assert_eq!(claim_all(&mut transport.source), [3, 1]);
}

/// Numbers of an attacker: small, near the ends, or anything.
struct Dice(u64);

impl Dice {
    /// `xorshift64*`.
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.roll() >> 33).unwrap_or_default() % n
    }

    fn half(&mut self) -> u64 {
        match self.below(4) {
            0 => self.roll() & 0xFFFF_FFFF,
            1 => 0xFFFF_FFFF - self.roll() % 8,
            _ => self.roll() % 8,
        }
    }

    /// Writes a random word, mostly an index: two random halves, or one of them changed.
    fn attack(&mut self, memory: &Memory, layout: &Layout) {
        let at = match self.below(8) {
            0 => self.below(layout.words()),
            1 | 2 => self.entry(&layout.order),
            3 => self.entry(&layout.arrivals),
            _ => Control::at(CONTROLS[self.below(CONTROLS.len())]),
        };
        let old = memory.atomic(at).load(Ordering::Relaxed);
        let word = match self.below(3) {
            0 => old.wrapping_add(self.roll() % 5).wrapping_sub(2),
            1 => old ^ 1 << self.below(64),
            _ => self.half() | self.half() << 32,
        };
        set(memory, at, word);
    }

    fn entry(&mut self, entries: &Entries) -> usize {
        let index = u32::try_from(self.below(entries.count as usize)).unwrap_or_default();
        entries.at(index)
    }
}

const CONTROLS: [Control; 10] = [
    Control::App,
    Control::Transport,
    Control::TransportSleeps,
    Control::WaitsForRoom,
    Control::WaitsForFates,
    Control::FatesFilled,
    Control::FatesTaken,
    Control::ArrivalsFilled,
    Control::ArrivalsTaken,
    Control::WaitsForArrivals,
];

/// One step of an honest transport. Fails when the ring is unusable.
fn transport_step(transport: &mut Transport, n: u64) -> Result<(), Violation> {
    let Transport { source, sink } = transport;
    match source.look(n % 3)? {
        Look::Nothing => {}
        Look::Expired(claimed) => assert!(claimed.len <= 16),
        Look::Offer { len } => {
            assert!(len <= 16);
            source.claim_ahead((n % 4) as u32)?;
            if n.is_multiple_of(5) {
                source.refuse()?;
            } else if let Some(claimed) = source.claim_into(&mut [0; 16][..len])? {
                assert_eq!(claimed.len, len);
                let report = Report {
                    tag: claimed.label.tag,
                    fate: n,
                    at_ns: n,
                };
                source.report(report)?;
            }
        }
    }
    sink.deliver(&[1; 16][..(n % 17) as usize], Arrival::default())?;
    if n.is_multiple_of(3) {
        source.flush();
    }
    sink.flush();
    Ok(())
}

/// One step of an honest application.
fn app_step(app: &mut App, tickets: &mut Vec<Ticket>, n: u64) -> Result<(), ()> {
    let label = Label {
        tag: n,
        priority: (n % 3) as u8,
        deadline_ns: n.is_multiple_of(7).then_some(1),
        key: n.is_multiple_of(4).then_some(n % 3),
    };
    match app.sender.push(&[2; 16][..(n % 17) as usize], label) {
        Ok(pushed) => tickets.push(pushed.ticket),
        Err(PushError::Broken(_)) => return Err(()),
        Err(_) => {}
    }
    if n.is_multiple_of(3)
        && let Some(ticket) = tickets.pop()
    {
        match app.sender.revise(ticket, &[3], label) {
            Err(ChangeError::Broken(_)) => return Err(()),
            Ok(()) if n.is_multiple_of(2) => _ = app.sender.withdraw(ticket),
            _ => {}
        }
    }
    let mut held = app.sender.take_back((n % 4) as usize).map_err(|_| ())?;
    held.sort_by(|a, b| b.priority.cmp(&a.priority));
    drop(held);
    app.sender.fates(9, |_| ()).map_err(|_| ())?;
    let received = app.receiver.recv(&mut [0; 16]).map_err(|_| ())?;
    assert!(received.is_none_or(|(len, _)| len <= 16));
    Ok(())
}

const SEED: &str = "RING_SEED";

fn seed() -> u64 {
    let given = std::env::var(SEED).ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| std::hash::RandomState::new().hash_one(0) | 1);
    println!("repeat with: {SEED}={seed} cargo test -p dccp-ring hostile");
    seed
}

/// The attacker writes, then the honest sides take a step, in turns. The sides go on after a violation.
#[test]
fn random_words_harm_neither_side() {
    const RINGS: u64 = if cfg!(miri) { 20 } else { 20_000 };
    let mut dice = Dice(seed());
    let (mut violations, mut steps) = (0, 0_u64);
    for _ in 0..RINGS {
        let (mut app, mut transport, memory, layout) = open_ring();
        let mut tickets = Vec::new();
        let mut is_noticed = false;
        for n in 0..40 {
            let (a, t) = (
                app_step(&mut app, &mut tickets, n),
                transport_step(&mut transport, n),
            );
            steps += 1;
            is_noticed |= a.is_err() || t.is_err();
            if n > 5 && dice.below(2) == 0 {
                dice.attack(&memory, &layout);
            }
        }
        violations += u64::from(is_noticed);
    }
    println!("{RINGS} rings, {steps} steps, {violations} attacks seen");
    assert!(violations > RINGS / 4, "the attacker must be noticed");
}

/// The attacker writes while the transport looks and copies.
#[test]
fn concurrent_random_words_do_not_harm_transport() {
    const RINGS: u64 = if cfg!(miri) { 2 } else { 300 };
    const STEPS: u64 = if cfg!(miri) { 40 } else { 2000 };
    let mut dice = Dice(seed());
    for _ in 0..RINGS {
        let (_, mut transport, memory, layout) = open_ring();
        let is_over = AtomicBool::new(false);
        let mut attacker = Dice(dice.roll() | 1);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    attacker.attack(&memory, &layout);
                }
            });
            for n in 0..STEPS {
                // After a violation too: it must stay harmless.
                _ = transport_step(&mut transport, n);
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }
}
