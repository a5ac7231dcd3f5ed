//! Deadlines, each with its connection.

use crate::bench::{Bench, Pkt};
use dccp_proto::Config;
use dccp_proto::wire::PacketType;
use std::time::Duration;

#[test]
fn a_connection_in_the_place_of_another_has_its_own_deadlines() {
    let (mut bench, _) = Bench::requesting(Bench::config());
    bench.abort();
    bench.take();
    // The same place in the tables, and a deadline at the same moment.
    let (mut bench, second) = bench.connect(Bench::config());
    let sent = bench.advance(Duration::from_secs(1));
    assert_eq!(sent.len(), 1);
    let (at, request) = &sent[0];
    assert_eq!(
        (at.as_secs(), request.packet_type()),
        (1, PacketType::Request)
    );
    assert_eq!(request.seq, second.seq.next());
}

#[test]
fn data_for_a_connection_that_is_gone_do_not_silence_the_next_in_its_place() {
    let (mut bench, _) = Bench::requesting(Bench::config());
    bench.abort();
    bench.take();
    bench.send(b"nobody will take it");
    // `connect` asserts that the Request leaves at once.
    bench.connect(Bench::config());
}

#[test]
fn a_connection_that_ends_while_it_has_something_to_say_does_not_silence_the_next() {
    let (mut bench, _) = Bench::requesting(Bench::config());
    bench.abort();
    let mut batch = dccp_proto::batch::Batch::new(1);
    while bench
        .endpoint
        .poll_transmit(bench.now, &mut bench.app, &mut batch)
    {
        batch.clear();
    }
    // Its end has not been told, so it can still be woken; then it is gone.
    bench.send(b"nobody will take it");
    while bench.endpoint.poll_event().is_some() {}
    bench.connect(Bench::config());
}

#[test]
fn a_deadline_that_is_over_before_the_first_poll_is_only_late() {
    // A caller that was held up between the call and its turn, for longer than a first repetition takes.
    let mut bench = Bench::open_client(Config {
        probe_pmtu: false,
        ..Bench::config()
    });
    bench.advance(Duration::from_secs(1));
    assert_eq!(bench.endpoint.poll_timeout(), None);
    bench.close();
    bench.now += Duration::from_secs(5);
    bench.endpoint.handle_timeout(bench.now, &mut bench.app);
    let types = |sent: &[_]| sent.iter().map(Pkt::packet_type).collect::<Vec<_>>();
    assert_eq!(types(&bench.take()), [PacketType::Close]);
    let due = bench.endpoint.poll_timeout().unwrap();
    assert!(due < bench.now);
    bench.endpoint.handle_timeout(bench.now, &mut bench.app);
    assert_eq!(types(&bench.take()), [PacketType::Close]);
    assert!(bench.endpoint.poll_timeout().unwrap() > bench.now);
}
