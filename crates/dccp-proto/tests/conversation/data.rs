//! Data, and acknowledgements that travel with them.

use crate::bench::Bench;
use dccp_proto::wire::{Kind, PacketType};

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
    let types: Vec<_> = sent.iter().map(crate::bench::Pkt::packet_type).collect();
    assert_eq!(types, [PacketType::Ack, PacketType::Data]);
    assert_eq!(sent[0].ack(), Some(bench.peer_gss));
}
