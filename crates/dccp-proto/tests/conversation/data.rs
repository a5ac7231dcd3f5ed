//! Data, and acknowledgements that travel with them.

use crate::bench::{Bench, Pkt, RECEIVED};
use dccp_proto::Config;
use dccp_proto::wire::{Kind, Opt, PacketType};
use std::collections::VecDeque;

/// One data packet has come, so an acknowledgement is due a little later; ours leave no room for it.
#[test]
fn data_without_room_do_not_wait_for_an_acknowledgement_that_is_not_due() {
    let mut bench = Bench::open_server(Bench::config());
    let data = bench.next(Kind::Data).with_payload(b"one");
    assert_eq!(bench.answers(&data), []);
    let full = vec![7; bench.snapshot().mps];
    bench.send(&full);
    let sent = bench.take_one();
    assert_eq!(sent.packet_type(), PacketType::Data);
    assert_eq!(sent.payload, full);
}

/// Two data packets have come: the acknowledgement is due, and leaves once, before the data.
#[test]
fn an_acknowledgement_that_is_due_leaves_once_before_data_without_room() {
    // 4340-11.2-1
    let mut bench = Bench::open_server(Bench::config());
    let full = vec![7; bench.snapshot().mps];
    for _ in 0..2 {
        let data = bench.next(Kind::Data).with_payload(b"one");
        bench.give(&data);
    }
    bench.send(&full);
    let sent = bench.take();
    let types: Vec<_> = sent.iter().map(Pkt::packet_type).collect();
    assert_eq!(types, [PacketType::Ack, PacketType::Data]);
    assert_eq!(sent[0].ack(), Some(bench.peer_gss));
}

/// One packet of two that the Ack Ratio waits for, but its data is corrupt.
#[test]
fn corrupt_data_is_reported_at_once_like_a_mark() {
    // 4340-11.7-5, 4340-11.7.2-4, 4340-11.3-4
    let mut bench = Bench::open_server(Bench::config());
    let good = bench.next(Kind::Data).with_payload(b"one");
    assert_eq!(bench.answers(&good), []);
    let mut bench = Bench::open_server(Bench::config());
    let bad = bench
        .next(Kind::Data)
        .with(&[Opt::DataChecksum(7)])
        .with_payload(b"one");
    let answers = bench.answers(&bad);
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].packet_type(), PacketType::Ack);
    // Drop Code 3 for the newest packet.
    assert!(
        answers[0]
            .opts()
            .contains(&Opt::DataDropped(&[0x80 | 3 << 4])),
        "{answers:?}"
    );
}

/// Fills a window of four packets with data of `len` bytes, with four more waiting. Returns the types of the
/// packets that leave for each of five acknowledgements. Those carry `option` and ask to be acknowledged.
fn sent_beside_acks_of_acks(len: usize, option: Opt<'_>) -> [Vec<PacketType>; 5] {
    let config = Config {
        pacing: false,
        ..Bench::config()
    };
    let mut bench = Bench::open_server(config);
    let data = vec![7; len.min(bench.snapshot().mps)];
    for _ in 0..8 {
        bench.send(&data);
    }
    let mut unacked: VecDeque<_> = bench.take().iter().map(|p| p.seq).collect();
    assert_eq!(unacked.len(), 4);
    [0; 5].map(|_| {
        let oldest = unacked.pop_front().unwrap();
        let ack = bench.next(Kind::Ack { ack: oldest });
        let sent = bench.answers(&ack.with(&[RECEIVED, option]));
        unacked.extend(sent.iter().filter(|p| !p.payload.is_empty()).map(|p| p.seq));
        sent.iter().map(Pkt::packet_type).collect()
    })
}

#[test]
fn an_acknowledgement_of_acknowledgements_waits_for_data_with_room_for_it() {
    // 4341-6.2-1, 4340-11.2-1: alone it would be one packet more in a queue that is full of ours.
    use PacketType::{Ack, Data, DataAck};
    for len in [1, usize::MAX] {
        assert_eq!(
            sent_beside_acks_of_acks(len, Opt::Padding),
            [
                vec![DataAck],
                vec![DataAck, Data],
                vec![DataAck],
                vec![Ack],
                vec![]
            ],
        );
    }
}

#[test]
fn data_without_room_do_not_wait_for_an_acknowledgement_of_acknowledgements() {
    // 4340-11.2-1: an echo of ten bytes is too much beside full packets.
    use PacketType::{Ack, Data};
    assert_eq!(
        sent_beside_acks_of_acks(usize::MAX, Opt::Timestamp(1)),
        [
            vec![Data, Ack],
            vec![Data, Data, Ack],
            vec![Data, Ack],
            vec![Ack],
            vec![]
        ],
    );
}
