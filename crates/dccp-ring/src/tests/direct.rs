//! An application that uses the ring's memory itself, and calls between such uses.

use super::*;
use crate::mem::{AtomicU64, Ordering};
use proptest::prelude::*;

/// The words of a ring, and their places.
struct Words<'a> {
    words: &'a [AtomicU64],
    parts: Vec<(&'static str, usize)>,
}

impl<'a> Words<'a> {
    fn of(words: &'a [AtomicU64], shape: Shape) -> Self {
        let parts = shape.parts().unwrap();
        Self { words, parts }
    }

    fn part(&self, name: &str) -> usize {
        let found = self.parts.iter().find(|(part, _)| *part == name);
        found.unwrap().1 / 8
    }

    fn get(&self, at: usize) -> u64 {
        self.words[at].load(Ordering::Acquire)
    }

    fn set(&self, at: usize, word: u64) {
        self.words[at].store(word, Ordering::Release);
    }

    /// The entry of a part for an index that wraps around.
    fn entry(&self, part: &str, stride: &str, index: u64) -> usize {
        self.part(part) + usize::try_from(index).unwrap() * self.part(stride)
    }

    /// Appends a datagram of 8 bytes in `slot`.
    fn push(&self, slot: u64, tag: u64, data: u64) {
        let app = self.get(self.part("app"));
        let (umod, user) = (app & 0xFFFF_FFFF, app >> 32);
        assert_eq!(umod, user, "nothing is held");
        let at = self.entry("slots", "slot_stride", slot);
        for (word, value) in (at..).zip([tag, 0, 0, data]) {
            self.set(word, value);
        }
        let place = self.entry("order", "order_stride", user & (SLOTS - 1));
        self.set(place, slot | 8 << 32);
        self.set(place + 1, u64::MAX);
        let user = (user + 1) & 0xFFFF_FFFF;
        self.set(self.part("app"), user | user << 32);
    }
}

const SLOTS: u64 = 4;

#[test]
fn calls_continue_behind_datagrams_written_to_the_memory() {
    let (mut app, mut transport) = ring(4);
    let shape = Shape::new(4, 16);
    let first = app.sender.push(&[1; 8], tag(1)).unwrap().ticket;
    let words = Words::of(app.sender.memory(), shape);
    words.push(1, 2, u64::from_ne_bytes([2; 8]));
    let third = app.sender.push(&[3; 8], tag(3)).unwrap().ticket;
    assert_eq!(app.sender.waiting(), Ok(3));
    assert_eq!(app.sender.room(), Ok(1));
    app.sender.revise(third, &[4; 8], tag(4)).unwrap();
    app.sender.withdraw(first).unwrap();
    assert_eq!(claim(&mut transport.source), Some((vec![2; 8], tag(2))));
    assert_eq!(claim(&mut transport.source), Some((vec![4; 8], tag(4))));
    assert_eq!(claim(&mut transport.source), None);
    assert_eq!(app.sender.withdraw(third), Err(ChangeError::TooLate));
}

#[test]
fn batch_keeps_its_datagrams_between_uses_of_the_memory() {
    let (mut app, mut transport) = ring(4);
    app.sender.memory();
    let mut batch = app.sender.batch();
    for n in 0..4 {
        batch.push(&[], tag(n)).unwrap();
    }
    assert_eq!(batch.push(&[], tag(4)), Err(PushError::Full));
    drop(batch);
    assert_eq!(claim_all(&mut transport.source), [0, 1, 2, 3]);
}

#[test]
fn calls_continue_behind_entries_that_the_program_has_read() {
    let (mut app, mut transport) = ring(4);
    let shape = Shape::new(4, 16);
    for n in 1..=2 {
        let arrival = Arrival { at_ns: n, info: n };
        transport.sink.deliver(&[7; 3], arrival).unwrap();
        let report = Report {
            tag: n,
            fate: 1,
            at_ns: n,
        };
        transport.source.report(report).unwrap();
    }
    transport.sink.flush();
    transport.source.flush();
    let words = Words::of(app.sender.memory(), shape);
    for taken in ["arrivals_taken", "fates_taken"] {
        // Indexes begin just before they wrap around.
        assert_eq!(words.get(words.part(taken)), u64::from(u32::MAX));
        words.set(words.part(taken), 0);
    }
    let mut buf = [0; 8];
    let (len, arrival) = app.receiver.recv(&mut buf).unwrap().unwrap();
    assert_eq!((len, arrival.info), (3, 2));
    assert_eq!(app.receiver.recv(&mut buf), Ok(None));
    let mut tags = Vec::new();
    app.sender.fates(9, |report| tags.push(report.tag)).unwrap();
    assert_eq!(tags, [2]);
}

#[test]
fn tickets_have_numbers() {
    let (mut app, mut transport) = ring(4);
    for n in 0..100 {
        let ticket = app.sender.push(&[], tag(n)).unwrap().ticket;
        assert_eq!(Ticket::of_number(ticket.number()), ticket);
        assert!(i64::try_from(ticket.number()).is_ok());
        claim(&mut transport.source);
        assert_eq!(app.sender.withdraw(ticket), Err(ChangeError::TooLate));
    }
    let none = Ticket::of_number(u64::MAX);
    assert_eq!(app.sender.withdraw(none), Err(ChangeError::TooLate));
}

proptest! {
    /// The transport of another process can write the application's words too.
    #[test]
    fn any_words_in_the_memory_are_refused_or_used_safely(
        changes in proptest::collection::vec((0_usize..700, any::<u64>(), any::<bool>()), 1..40),
    ) {
        let (mut app, _transport) = ring(4);
        app.sender.memory();
        let mut buf = [0; 16];
        for (at, word, is_small) in changes {
            let words = app.sender.memory();
            words[at % words.len()].store(if is_small { word & 3 } else { word }, Ordering::Relaxed);
            let ticket = app.sender.push(&[1; 5], tag(1)).map(|pushed| pushed.ticket);
            if let Ok(ticket) = ticket {
                let _ = app.sender.revise(ticket, &[2; 5], tag(2));
            }
            if let Ok(mut held) = app.sender.take_back(2) && !held.is_empty() {
                held.withdraw(0);
            }
            let _ = app.sender.fates(8, |_| ());
            let _ = app.receiver.recv(&mut buf);
            prop_assert!(app.sender.room().is_ok_and(|room| room <= 4) || app.sender.room().is_err());
        }
    }
}
