use super::*;
use crate::DATAGRAMS_MAX;
use core::sync::atomic::AtomicUsize;
use std::thread;

fn pair() -> (Producer, Consumer, OwnedFd) {
    let (producer, descriptor) = Producer::create().unwrap();
    let consumer = Consumer::attach(&descriptor).unwrap();
    (producer, consumer, descriptor)
}

fn take(consumer: &Consumer) -> Option<Vec<u8>> {
    let mut room = vec![0; LEN_MAX];
    let len = consumer.receive(Mode::Take, &mut room)?;
    room.truncate(len);
    Some(room)
}

fn byte(number: usize) -> u8 {
    number.to_le_bytes()[0]
}

#[test]
fn datagrams_of_all_lengths_come_back_in_order() {
    let (mut producer, consumer, _) = pair();
    let lengths = (0..5000).chain([LEN_MAX - 1, LEN_MAX]);
    for len in lengths {
        let sent: Vec<u8> = (0..len).map(|at| byte(at * 7 + len)).collect();
        assert!(producer.push(&sent) && producer.push(b"next"));
        assert_eq!(take(&consumer), None, "not published");
        let _ = producer.publish();
        assert_eq!(take(&consumer).as_ref(), Some(&sent), "{len}");
        assert_eq!(take(&consumer).as_deref(), Some(&b"next"[..]));
        assert_eq!(take(&consumer), None);
    }
}

#[test]
fn room_cuts_a_datagram_and_a_peek_leaves_it() {
    let (mut producer, consumer, _) = pair();
    let sent: Vec<u8> = (0..5000).map(byte).collect();
    assert!(producer.push(&sent));
    let _ = producer.publish();
    for room_len in [0, 1, 9, ENTRY_BYTES, ENTRY_BYTES + 1, 4999, 6000] {
        let mut room = vec![0; room_len];
        assert_eq!(consumer.receive(Mode::Peek, &mut room), Some(5000));
        let fits = room_len.min(5000);
        assert_eq!(room[..fits], sent[..fits], "{room_len}");
    }
    let mut parts = Vec::new();
    let len = consumer.receive_parts(Mode::Take, |offset, part| {
        assert_eq!(offset, parts.len());
        parts.extend_from_slice(part);
    });
    assert_eq!((len, parts), (Some(5000), sent));
    assert!(consumer.is_empty());
}

#[test]
fn full_queue_has_room_again_and_wakes_the_producer_at_half() {
    let (mut producer, consumer, _) = pair();
    while producer.push(b"x") {}
    let _ = producer.publish();
    let woken = AtomicUsize::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            producer.wait_for_room(1, Duration::from_secs(20));
            woken.store(1, Ordering::SeqCst);
        });
        // It waits on the futex now, or soon.
        while consumer.memory.full().load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
        for taken in 1..=DATAGRAMS_MAX / 2 {
            assert_eq!(woken.load(Ordering::SeqCst), 0, "after {taken}");
            assert!(take(&consumer).is_some());
        }
    });
    assert_eq!(woken.load(Ordering::SeqCst), 1);
    // Without anyone who takes, the wait ends by itself.
    while producer.push(b"x") {}
    producer.wait_for_room(1, Duration::from_millis(1));
}

#[test]
fn bells_are_sent_once_and_read_once_the_queue_is_empty() {
    let (mut producer, consumer, _) = pair();
    let bells = AtomicUsize::new(0);
    let send = |producer: &Producer| {
        if producer.publish() {
            bells.fetch_add(1, Ordering::Relaxed);
        }
    };
    let read = || {
        bells.fetch_sub(1, Ordering::Relaxed);
    };
    for _ in 0..3 {
        assert!(producer.push(b"x"));
        send(&producer);
    }
    assert_eq!(bells.load(Ordering::Relaxed), 1);
    for left in (0..3).rev() {
        assert!(take(&consumer).is_some());
        consumer.settle(read);
        assert_eq!(bells.load(Ordering::Relaxed), usize::from(left > 0));
    }
}

/// A socket of bells: the count, and threads that wait for it.
#[derive(Default)]
struct Bells {
    count: std::sync::Mutex<usize>,
    changed: std::sync::Condvar,
}

impl Bells {
    fn send(&self) {
        *self.count.lock().unwrap() += 1;
        self.changed.notify_all();
    }

    /// Reads a bell that has been counted and may still be on its way.
    fn read(&self) {
        self.wait();
        *self.count.lock().unwrap() -= 1;
    }

    fn wait(&self) {
        let count = self.count.lock().unwrap();
        let patience = Duration::from_secs(20);
        let waited = self
            .changed
            .wait_timeout_while(count, patience, |n| *n == 0);
        assert!(!waited.unwrap().1.timed_out(), "a bell is missing");
    }
}

#[test]
fn threads_that_wait_for_bells_receive_each_datagram_once() {
    const COUNT: u64 = 200_000;
    const END: &[u8] = b"end";
    let (mut producer, consumer, _) = pair();
    let bells = Bells::default();
    let sum = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            let (consumer, bells, sum) = (&consumer, &bells, &sum);
            scope.spawn(move || {
                loop {
                    let Some(received) = take(consumer) else {
                        consumer.settle(|| bells.read());
                        bells.wait();
                        continue;
                    };
                    consumer.settle(|| bells.read());
                    if received == END {
                        return;
                    }
                    let number = u64::from_le_bytes(*received.first_chunk().unwrap());
                    assert!(received[8..].iter().all(|byte| *byte == received[0]));
                    sum.fetch_add(number, Ordering::Relaxed);
                }
            });
        }
        let mut send = |datagram: &[u8]| {
            while !producer.push(datagram) {
                if producer.publish() {
                    bells.send();
                }
                producer.wait_for_room(datagram.len(), Duration::from_secs(20));
            }
            if producer.publish() {
                bells.send();
            }
        };
        for number in 0..COUNT {
            let head = number.to_le_bytes();
            let tail = vec![head[0]; usize::from(head[0] % 5) * 1000];
            send(&[&head[..], &tail].concat());
        }
        for _ in 0..3 {
            send(END);
        }
    });
    assert_eq!(sum.into_inner(), COUNT * (COUNT - 1) / 2);
}

#[test]
fn garbage_of_either_side_stays_within_bounds() {
    let (mut producer, consumer, _) = pair();
    assert!(producer.push(b"x"));
    let _ = producer.publish();
    let memory = &consumer.memory;
    memory.entry(0).len.store(u64::MAX, Ordering::Relaxed);
    assert_eq!(take(&consumer).map(|bytes| bytes.len()), Some(LEN_MAX));
    memory.word(HEAD).store(u64::MAX, Ordering::Relaxed);
    assert!(take(&consumer).is_some());
    // The entries that were claimed out of order are not free for the producer.
    for position in 0..ENTRIES {
        memory.entry(position).sequence.store(0, Ordering::Relaxed);
    }
    while producer.push(b"x") {}
    assert!(!producer.push(b"x"));
}

#[test]
fn waiters_get_another_bell_while_there_are_datagrams() {
    let (mut producer, consumer, _) = pair();
    let read = AtomicUsize::new(0);
    let leaves = || {
        consumer.leaves_waiters(|| {
            read.fetch_add(1, Ordering::Relaxed);
        })
    };
    assert!(producer.push(b"x"));
    assert!(producer.publish());
    assert!(!leaves(), "no thread waits");
    assert!(!consumer.begin_waiting(), "a datagram waits");
    for _ in 0..2 * BELLS_MAX {
        assert!(leaves());
        consumer.count_bell();
    }
    // The first bell, and as many as were asked for, less those that were read.
    assert_eq!(read.load(Ordering::Relaxed) as u64, BELLS_MAX);
    consumer.end_waiting();
    assert!(!leaves());
    assert!(consumer.begin_waiting() || take(&consumer).is_some());
    assert!(!leaves(), "the queue is empty");
}
