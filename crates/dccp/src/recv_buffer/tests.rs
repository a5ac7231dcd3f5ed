use super::*;
use crate::budget::Budget;
use crate::limits::RECV_BYTES_CONNECTION;
use crate::request::Calls;
use dccp_proto::wire::Ecn;
use dccp_proto::{Instant, Seq};
use dccp_ring::{Shape, in_process, silent};

const META: Delivery = Delivery {
    arrived: Instant::ZERO,
    seq: Seq::ZERO,
    ecn: Ecn::NotEct,
    is_corrupt: false,
};

/// One turn of the engine that brings one datagram.
fn push(buffer: &mut RecvBuffer, payload: Payload<'_>) -> Accepted {
    let mut intake = Intake::default();
    buffer.open(&mut intake);
    let accepted = intake.deliver(payload, META);
    buffer.absorb(&mut intake);
    accepted
}

fn filled(n: u8) -> RecvBuffer {
    let mut buffer = RecvBuffer::new(4, RECV_BYTES_CONNECTION);
    for i in 0..n {
        let accepted = push(&mut buffer, Payload::Bytes(&[i; 3]));
        assert_eq!(accepted, Accepted::Yes);
    }
    buffer
}

#[test]
fn datagrams_come_out_in_order() {
    let mut buffer = filled(3);
    let mut batch = RecvBatch::new(2);
    assert_eq!(buffer.pop_batch(&mut batch), 2);
    let first: Vec<u8> = batch.iter().map(|d| d[0]).collect();
    assert_eq!(first, [0, 1]);
    assert_eq!(buffer.pop_batch(&mut batch), 1);
    assert_eq!(batch.iter().next().map(Received::bytes), Some(&[2; 3][..]));
    assert_eq!(buffer.pop_batch(&mut batch), 0);
    assert!(batch.is_empty());
}

#[test]
fn full_buffer_drops_the_newest_and_counts() {
    let mut buffer = filled(4);
    assert_eq!(push(&mut buffer, Payload::Zeros(9)), Accepted::Full);
    assert_eq!(buffer.waiting.len(), 4);
    assert_eq!(buffer.counts().dropped_full, 1);
    assert_eq!(buffer.counts().delivered, 4);
    assert_eq!(buffer.counts().delivered_bytes, 12);
}

#[test]
fn small_buffer_gets_the_beginning_and_the_whole_length() {
    let mut buffer = filled(1);
    let mut small = [9; 2];
    assert_eq!(buffer.pop_into(&mut small), Some(RecvMeta::new(3, 2, META)));
    assert_eq!(small, [0; 2]);
    assert_eq!(buffer.counts().taken, 1);
}

#[test]
fn memory_goes_round() {
    let mut buffer = filled(1);
    let mut batch = RecvBatch::new(1);
    buffer.pop_batch(&mut batch);
    let memory = batch.datagrams[0].bytes.as_ptr();
    buffer.pop_batch(&mut batch);
    push(&mut buffer, Payload::Zeros(3));
    buffer.pop_batch(&mut batch);
    assert_eq!(batch.datagrams[0].bytes.as_ptr(), memory);
    assert_eq!(batch.datagrams[0].bytes(), [0; 3]);
}

#[test]
fn list_of_spare_memory_returns_to_its_buffer() {
    // The intake goes from connection to connection, turn by turn.
    let new = || RecvBuffer::new(1024, RECV_BYTES_CONNECTION);
    let (mut busy, mut idle) = (new(), new());
    let (mut intake, mut batch) = (Intake::default(), RecvBatch::new(1024));
    for _ in 0..3 {
        busy.open(&mut intake);
        for _ in 0..1024 {
            assert_eq!(intake.deliver(Payload::Zeros(9), META), Accepted::Yes);
        }
        busy.absorb(&mut intake);
        idle.open(&mut intake);
        idle.absorb(&mut intake);
        assert_eq!(busy.pop_batch(&mut batch), 1024);
        assert_eq!(busy.pop_batch(&mut batch), 0, "all memory has come back");
        let lists = [&idle.spare, &busy.spare].map(Vec::capacity);
        assert_eq!(lists, [0, 1024]);
    }
    // Once all was used there is as little in the one as in the other.
    busy.open(&mut intake);
    (0..1024).for_each(|_| _ = intake.deliver(Payload::Zeros(9), META));
    busy.absorb(&mut intake);
    idle.open(&mut intake);
    assert_eq!(intake.deliver(Payload::Zeros(9), META), Accepted::Yes);
    idle.absorb(&mut intake);
    assert_eq!([&idle.spare, &busy.spare].map(Vec::capacity), [0, 1024]);
}

#[test]
fn closed_buffer_rejects_datagrams_as_not_listening() {
    let mut buffer = filled(2);
    buffer.close();
    assert!(buffer.is_empty());
    assert_eq!(push(&mut buffer, Payload::Zeros(1)), Accepted::NotListening);
    let counts = buffer.counts();
    assert_eq!(counts.dropped_not_listening, 1);
    assert_eq!((counts.delivered, counts.taken), (2, 0));
}

#[test]
fn turn_takes_at_most_the_datagrams_that_had_room() {
    let mut buffer = filled(1);
    let mut intake = Intake::default();
    buffer.open(&mut intake);
    let accepted = [(); 5].map(|()| intake.deliver(Payload::Zeros(2), META));
    assert_eq!(accepted[..3], [Accepted::Yes; 3]);
    assert_eq!(accepted[3..], [Accepted::Full; 2]);
    assert_eq!(
        buffer.counts().delivered,
        1,
        "not there before the turn ends"
    );
    buffer.absorb(&mut intake);
    let counts = buffer.counts();
    assert_eq!((counts.delivered, counts.dropped_full), (4, 2));
    assert_eq!(counts.delivered_bytes, 3 + 3 * 2);
    // The intake is as new.
    buffer.absorb(&mut intake);
    assert_eq!(buffer.counts(), counts);
}

#[test]
fn datagrams_that_arrive_while_the_application_closes_are_counted_as_dropped() {
    let mut buffer = filled(0);
    let mut intake = Intake::default();
    buffer.open(&mut intake);
    assert_eq!(intake.deliver(Payload::Zeros(2), META), Accepted::Yes);
    buffer.close();
    buffer.absorb(&mut intake);
    assert!(buffer.is_empty());
    let counts = buffer.counts();
    assert_eq!((counts.delivered, counts.dropped_not_listening), (0, 1));
}

#[test]
fn ring_takes_over_datagrams_that_wait_or_are_arriving() {
    let mut buffer = filled(2);
    let mut one = [0; 3];
    buffer.pop_into(&mut one).unwrap();
    let mut intake = Intake::default();
    buffer.open(&mut intake);
    let accepted = [Payload::Zeros(1), Payload::Zeros(2)].map(|p| intake.deliver(p, META));
    assert_eq!(accepted, [Accepted::Yes; 2]);

    let (mut app, transport) = in_process(Shape::new(2, 4), silent(), silent()).unwrap();
    let calls = Calls::to(|_| panic!("nobody breaks rules"));
    buffer.divert(RingInbox::new(transport.sink, calls));
    assert!(buffer.is_empty());
    buffer.absorb(&mut intake);
    let counts = buffer.counts();
    assert_eq!((counts.delivered, counts.delivered_bytes), (3, 3 + 3 + 1));
    assert_eq!((counts.dropped_full, counts.taken), (1, 1));

    let mut received = || app.receiver.recv(&mut one).unwrap().map(|(len, _)| len);
    assert_eq!([(); 3].map(|()| received()), [Some(3), Some(1), None]);
    assert_eq!(buffer.counts().taken, 3);
    // From now on the intake has the ring for a turn.
    buffer.open(&mut intake);
    assert_eq!(intake.deliver(Payload::Zeros(4), META), Accepted::Yes);
    assert_eq!(intake.deliver(Payload::Zeros(5), META), Accepted::Full);
    assert_eq!(buffer.counts().taken, 3, "as it was");
    assert_eq!(received(), None, "not before the turn ends");
    buffer.absorb(&mut intake);
    assert_eq!(received(), Some(4));
    let counts = buffer.counts();
    assert_eq!((counts.delivered, counts.taken), (4, 4));
    assert_eq!(counts.dropped_too_long, 1);
}

/// 4340-18-9
#[test]
fn bytes_that_wait_are_bounded_and_counted() {
    let engine = Budget::new(500_000);
    let mut buffer = RecvBuffer::new(100, 300_000);
    buffer.account.join(engine.clone());
    let mut other = Account::default();
    other.join(engine.clone());
    for _ in 0..3 {
        assert_eq!(push(&mut buffer, Payload::Zeros(100_000)), Accepted::Yes);
    }
    assert_eq!(push(&mut buffer, Payload::Zeros(1)), Accepted::Full);
    assert_eq!(other.room(), 200_000);
    let mut batch = RecvBatch::new(2);
    assert_eq!(buffer.pop_batch(&mut batch), 2);
    assert!(buffer.pop().is_some());
    assert_eq!(other.room(), 500_000, "nothing waits, nothing is spare");
    assert_eq!(push(&mut buffer, Payload::Zeros(300_000)), Accepted::Yes);

    // Other connections use the same budget.
    buffer.set_capacity(100, u64::MAX);
    other.settle(150_000);
    assert_eq!(push(&mut buffer, Payload::Zeros(50_001)), Accepted::Full);
    assert_eq!(push(&mut buffer, Payload::Zeros(50_000)), Accepted::Yes);
    let counts = buffer.counts();
    // The first was beyond the connection's own limit.
    assert_eq!((counts.dropped_full, counts.dropped_budget), (1, 1));
    buffer.close();
    assert_eq!(other.room(), 350_000);
}

#[test]
fn large_spare_memory_counts_for_the_small_datagram_in_it() {
    let mut buffer = RecvBuffer::new(100, 100_000);
    let mut batch = RecvBatch::new(100);
    for _ in 0..4 {
        assert_eq!(push(&mut buffer, Payload::Zeros(20_000)), Accepted::Yes);
    }
    buffer.pop_batch(&mut batch);
    buffer.pop_batch(&mut batch);
    let accepted = [(); 6].map(|()| push(&mut buffer, Payload::Zeros(1)));
    // Four lie in large memory. Where no more of that fits, small memory is new.
    assert_eq!(accepted, [Accepted::Yes; 6]);
    assert!(buffer.held <= 100_000);
    assert_eq!(push(&mut buffer, Payload::Zeros(20_000)), Accepted::Full);
    let memory = buffer.waiting.iter().map(|d| d.bytes.capacity() as u64);
    assert_eq!(memory.sum::<u64>(), buffer.held);
}

/// 4340-18-9
#[test]
fn connection_keeps_a_reserve_when_others_have_used_the_budget_up() {
    let engine = Budget::new(1_000_000);
    let mut others = Account::default();
    others.join(engine.clone());
    others.settle(1_000_000);
    let mut buffer = RecvBuffer::new(100, RECV_BYTES_CONNECTION);
    buffer.account.join(engine);
    let accepted = (0..20).map(|_| push(&mut buffer, Payload::Zeros(1_000)));
    let taken = accepted.filter(|a| *a == Accepted::Yes).count();
    assert_eq!(taken, 16, "of 16,384 bytes");
    assert!(buffer.pop().is_some());
    assert_eq!(push(&mut buffer, Payload::Zeros(1_000)), Accepted::Yes);
}

/// 4340-18-9
#[test]
fn spare_memory_counts_and_takes_half_of_a_budget_at_most() {
    let engine = Budget::new(5_000_000);
    let mut buffer = RecvBuffer::new(1_000, 4_000_000);
    buffer.account.join(engine.clone());
    let mut other = Account::default();
    other.join(engine);
    let keep = |buffer: &mut RecvBuffer| {
        for _ in 0..1_000 {
            buffer.recycle(Vec::with_capacity(10_000));
            buffer.settle_if_stale();
        }
        buffer.spare.len()
    };
    assert_eq!(keep(&mut buffer), 251);
    assert_eq!(other.room(), 5_000_000 - 2_510_000);
    let mut intake = Intake::default();
    buffer.open(&mut intake);
    assert_eq!(keep(&mut buffer), 0, "the intake has all that is permitted");
    assert_eq!(other.room(), 5_000_000 - 2_510_000);
    buffer.absorb(&mut intake);
    assert_eq!(buffer.spare.len(), 251);

    // A datagram in spare memory does not count twice, and the memory goes when others need the budget.
    other.settle(2_490_000);
    assert_eq!(push(&mut buffer, Payload::Zeros(10_000)), Accepted::Yes);
    assert_eq!((buffer.held, other.room()), (10_000, 0));
    let mut taken = [0; 1];
    assert!(buffer.pop_into(&mut taken).is_some());
    assert_eq!(buffer.spare.len(), 250);
    assert_eq!(other.room(), 10_000);

    // A connection keeps no more than may wait in it.
    other.settle(0);
    buffer.set_capacity(1_000, 200_000);
    buffer.drop_spare();
    buffer.settle();
    assert_eq!(keep(&mut buffer), 20);
}

#[test]
fn spare_memory_beyond_the_bound_gives_way() {
    // A batch that was used with another socket brings it.
    let mut buffer = RecvBuffer::new(100, 32_000);
    let mut batch = RecvBatch::new(1);
    batch.datagrams = vec![Received {
        bytes: vec![0; 31_000],
        meta: META,
    }];
    assert_eq!(buffer.pop_batch(&mut batch), 0);
    buffer.set_capacity(100, 10_000);
    let accepted = [(); 6].map(|()| push(&mut buffer, Payload::Zeros(2_000)));
    assert_eq!(accepted[..5], [Accepted::Yes; 5]);
    assert_eq!(accepted[5], Accepted::Full);
    assert_eq!(buffer.memory(), 10_000);
}

#[test]
fn spare_memory_is_bounded() {
    let mut buffer = filled(4);
    let mut batch = RecvBatch::new(4);
    buffer.pop_batch(&mut batch);
    buffer.pop_batch(&mut batch);
    assert_eq!(buffer.spare.len(), 4);
    let mut intake = Intake::default();
    buffer.open(&mut intake);
    assert!(buffer.spare.is_empty());
    buffer.recycle(vec![0; 9]);
    buffer.absorb(&mut intake);
    assert_eq!(buffer.spare.len(), 4);
}
