use super::*;
use std::thread;

fn pair() -> (Consumer, Producer, OwnedFd) {
    let (consumer, descriptor) = Consumer::create().unwrap();
    let producer = Producer::attach(&descriptor).unwrap();
    (consumer, producer, descriptor)
}

fn take(consumer: &mut Consumer) -> Option<Vec<u8>> {
    let mut room = vec![0; LEN_MAX];
    let len = consumer.take(&mut room).unwrap()?;
    room.truncate(len);
    Some(room)
}

const DONE: Pushed = Pushed::Done {
    sleeps: false,
    is_full: false,
};

fn byte(number: usize) -> u8 {
    number.to_le_bytes()[0]
}

/// A datagram of `len` bytes that `number` tells from others.
fn datagram(number: u64, len: usize) -> Vec<u8> {
    let head = number.to_le_bytes();
    let tail = (8..len.max(8)).map(|at| byte(at) ^ head[0]);
    head.into_iter().chain(tail).collect()
}

#[test]
fn datagrams_of_all_lengths_come_back_in_order() {
    let (mut consumer, producer, _) = pair();
    for len in 0..=LEN_MAX {
        let sent: Vec<u8> = (0..len).map(|at| byte(at * 7 + len)).collect();
        assert_eq!(producer.push(&sent), DONE);
        assert_eq!(producer.push(b"next"), DONE);
        assert_eq!(take(&mut consumer).as_ref(), Some(&sent), "{len}");
        assert_eq!(take(&mut consumer).as_deref(), Some(&b"next"[..]));
        assert_eq!(take(&mut consumer), None);
        consumer.free();
    }
    assert_eq!(producer.push(&[0; LEN_MAX + 1]), Pushed::Refused);
}

#[test]
fn datagrams_above_the_limit_are_refused() {
    let (mut consumer, producer, _) = pair();
    assert_eq!(producer.push(&[7; 100]), DONE);
    consumer.set_limit(99);
    assert_eq!(producer.push(&[7; 100]), Pushed::TooLong);
    assert_eq!(producer.push(&[7; 99]), DONE);
    producer.set_limit(100);
    let parts = [&[7; 50][..], &[7; 50]];
    assert_eq!(producer.push_parts(parts.into_iter()), DONE);
    for len in [100, 99, 100] {
        assert_eq!(take(&mut consumer), Some(vec![7; len]));
    }
}

#[test]
fn parts_become_one_datagram() {
    let (mut consumer, producer, _) = pair();
    let whole: Vec<u8> = (0..LEN_MAX).map(|at| byte(at * 7)).collect();
    for step in [1, 7, 8, 1000, ENTRY_BYTES - 1, ENTRY_BYTES, ENTRY_BYTES + 1] {
        for len in [0, 1, ENTRY_BYTES, LEN_MAX] {
            let sent = &whole[..len];
            assert_eq!(producer.push_parts(sent.chunks(step)), DONE);
            assert_eq!(producer.push_parts([b"n", &b"ext"[..]].into_iter()), DONE);
            assert_eq!(
                take(&mut consumer).as_deref(),
                Some(sent),
                "{len} by {step}"
            );
            assert_eq!(take(&mut consumer).as_deref(), Some(&b"next"[..]));
            consumer.free();
        }
    }
    let long = [&whole[..], b"x"];
    assert_eq!(producer.push_parts(long.into_iter()), Pushed::Refused);
}

#[test]
fn full_queue_has_room_again_once_entries_are_freed() {
    let (mut consumer, producer, _) = pair();
    for number in 0..ENTRIES {
        let done = Pushed::Done {
            sleeps: false,
            is_full: number == ENTRIES - 1,
        };
        assert_eq!(producer.push(&datagram(number, 8)), done);
    }
    assert_eq!(producer.push(b"late"), Pushed::Full);
    assert!(producer.ask_for_room(4));
    assert_eq!(take(&mut consumer), Some(datagram(0, 8)));
    // Taken, and not freed yet.
    assert_eq!(producer.push(b"late"), Pushed::Full);
    assert!(!consumer.free(), "little is free");
    assert!(!producer.ask_for_room(4));
    // A long datagram needs more than the one entry.
    assert_eq!(producer.push(&[0; ENTRY_BYTES + 1]), Pushed::Full);
    assert!(matches!(
        producer.push(b"late"),
        Pushed::Done { is_full: true, .. }
    ));
    assert!(producer.ask_for_room(4));
    for number in 1..ENTRIES * 3 / 4 {
        assert!(!consumer.free(), "{number}");
        assert_eq!(take(&mut consumer), Some(datagram(number, 8)));
    }
    assert_eq!(take(&mut consumer), Some(datagram(ENTRIES * 3 / 4, 8)));
    assert!(consumer.free(), "a producer waits");
    assert!(!consumer.free(), "it is told once");
    for number in ENTRIES * 3 / 4 + 1..ENTRIES {
        assert_eq!(take(&mut consumer), Some(datagram(number, 8)));
    }
    assert_eq!(take(&mut consumer).as_deref(), Some(&b"late"[..]));
}

#[test]
fn sleeper_is_woken_once_and_not_where_a_datagram_waits() {
    let (mut consumer, producer, _) = pair();
    assert!(consumer.announce_sleep());
    let woken = Pushed::Done {
        sleeps: true,
        is_full: false,
    };
    assert_eq!(producer.push(b"1"), woken);
    assert_eq!(producer.push(b"2"), DONE);
    assert!(!consumer.announce_sleep());
    assert_eq!(producer.push(b"3"), DONE);
    while take(&mut consumer).is_some() {}
    assert!(consumer.announce_sleep());
}

#[test]
fn closed_queue_refuses_and_keeps_what_it_has() {
    let (mut consumer, producer, descriptor) = pair();
    let other = Producer::attach(&descriptor).unwrap();
    assert_eq!(producer.push(b"before"), DONE);
    other.close();
    assert_eq!(producer.push(b"after"), Pushed::Refused);
    assert_eq!(take(&mut consumer).as_deref(), Some(&b"before"[..]));
    let (consumer, producer, _) = pair();
    drop(consumer);
    assert_eq!(producer.push(b"after"), Pushed::Refused);
}

#[test]
fn producers_of_many_threads_lose_and_mix_nothing() {
    const EACH: u64 = 20_000;
    let (mut consumer, producer, _) = pair();
    let mut next = [0; 4];
    thread::scope(|scope| {
        for thread in 0..next.len() as u64 {
            let producer = &producer;
            scope.spawn(move || {
                for number in 0..EACH {
                    // One entry and several.
                    let sent = datagram(
                        thread << 32 | number,
                        8 + usize::from(number.to_le_bytes()[0] % 5) * 1500,
                    );
                    while producer.push(&sent) == Pushed::Full {
                        thread::yield_now();
                    }
                }
            });
        }
        let mut taken = 0;
        while taken < EACH * next.len() as u64 {
            let Some(received) = take(&mut consumer) else {
                thread::yield_now();
                continue;
            };
            consumer.free();
            let number = u64::from_le_bytes(*received.first_chunk().unwrap());
            assert_eq!(received, datagram(number, received.len()));
            let (thread, number) = (usize::try_from(number >> 32).unwrap(), number & 0xffff_ffff);
            assert_eq!(number, next[thread], "thread {thread}");
            next[thread] += 1;
            taken += 1;
        }
    });
}

#[test]
fn sleepers_of_both_sides_are_woken() {
    const COUNT: u64 = 100_000;
    let (mut consumer, producer, _) = pair();
    let (wake_consumer, consumer_sleeps) = std::sync::mpsc::channel();
    let (wake_producer, producer_sleeps) = std::sync::mpsc::channel();
    let patience = core::time::Duration::from_secs(20);
    thread::scope(|scope| {
        scope.spawn(move || {
            for number in 0..COUNT {
                let sent = datagram(number, 8);
                loop {
                    match producer.push(&sent) {
                        Pushed::Done { sleeps: false, .. } => break,
                        Pushed::Done { sleeps: true, .. } => break wake_consumer.send(()).unwrap(),
                        Pushed::Full if producer.ask_for_room(8) => {
                            producer_sleeps.recv_timeout(patience).unwrap();
                        }
                        Pushed::Full => {}
                        Pushed::TooLong | Pushed::Refused => panic!("refused"),
                    }
                }
            }
        });
        let mut next = 0;
        while next < COUNT {
            while let Some(received) = take(&mut consumer) {
                assert_eq!(received, datagram(next, 8));
                next += 1;
            }
            if consumer.free() {
                // The producer has ended where it found room before it slept.
                let _ = wake_producer.send(());
            }
            if next < COUNT && consumer.announce_sleep() {
                consumer_sleeps.recv_timeout(patience).unwrap();
            }
        }
    });
}

#[test]
fn garbage_breaks_the_queue_and_nothing_else() {
    // The other entries of a long datagram are not filled.
    for value in [u64::MAX, LEN_MAX as u64 + 1, LEN_MAX as u64] {
        let (mut consumer, producer, _) = pair();
        assert_eq!(producer.push(b"x"), DONE);
        let memory = &producer.memory;
        memory.entry(0).len.store(value, Ordering::Relaxed);
        assert_eq!(consumer.take(&mut [0; LEN_MAX]), Err(Broken), "{value:x}");
    }
    // Indexes without sense.
    let (mut consumer, producer, _) = pair();
    let memory = &producer.memory;
    memory.word(HEAD).store(u64::MAX / 2, Ordering::Relaxed);
    assert_eq!(producer.push(b"x"), Pushed::Full);
    assert_eq!(take(&mut consumer), None);
    memory.word(TAIL).store(u64::MAX, Ordering::Relaxed);
    memory.word(HEAD).store(u64::MAX, Ordering::Relaxed);
    assert_eq!(producer.push(&[1; LEN_MAX]), DONE);
    // It begins with an entry in the middle: damaged, and within bounds.
    assert!(matches!(
        consumer.take(&mut [0; LEN_MAX]),
        Ok(None | Some(..=LEN_MAX)) | Err(Broken)
    ));
}
