//! Setting up (RFC 4340 §8.1).

use crate::bench::{Bench, SERVICE};
use dccp_proto::Event;
use dccp_proto::conn::State;
use dccp_proto::wire::{Kind, PacketType, ServiceCode};
use std::time::Duration;

#[test]
fn a_client_goes_from_request_to_open() {
    // 4340-8.5-4, 4340-8.5-10, 4340-8.5-12, 4340-8.1.5-3, 4340-5.3-1
    let (mut bench, request) = Bench::requesting(Bench::config());
    assert_eq!(request.kind, Kind::Request { service: SERVICE });
    assert_eq!(bench.state(), State::Request);
    let response = bench.next(Kind::Response {
        ack: request.seq,
        service: SERVICE,
    });
    let ack = bench.answers(&response).remove(0);
    assert_eq!(ack.kind, Kind::Ack { ack: response.seq });
    assert_eq!(ack.seq, request.seq.next());
    assert_eq!(bench.state(), State::PartOpen);
    assert_eq!(bench.events, [Event::Connected]);
    let ack = bench.next(Kind::Ack { ack: ack.seq });
    bench.give(&ack);
    assert_eq!(bench.state(), State::Open);
}

#[test]
fn a_server_goes_from_request_to_open() {
    // 4340-8.5-3, 4340-8.5-11, 5595-3.3-2
    let (mut bench, response) = Bench::responding(Bench::config());
    assert_eq!(
        response.kind,
        Kind::Response {
            ack: bench.peer_gss,
            service: SERVICE
        }
    );
    assert_eq!(bench.state(), State::Respond);
    let ack = bench.next(Kind::Ack { ack: response.seq });
    bench.answers(&ack);
    assert_eq!(bench.state(), State::Open);
    let accepted = Event::Accepted {
        port: crate::bench::OUR_PORT,
        service: SERVICE,
    };
    assert_eq!(bench.events, [accepted, Event::Connected]);
}

#[test]
fn requests_are_repeated_ever_more_slowly() {
    // 4340-8.1.1-1, 4340-8.1.1-2, 4340-8.1.1-3
    let (mut bench, first) = Bench::requesting(Bench::config());
    let sent = bench.advance(Duration::from_secs(179));
    let at: Vec<_> = sent.iter().map(|(at, _)| at.as_secs()).collect();
    assert_eq!(at, [1, 3, 7, 15, 31, 63, 127]);
    for (n, (_, p)) in (1..).zip(&sent) {
        assert_eq!((p.kind, p.seq), (first.kind, first.seq.plus(n)));
    }
    let last = bench.advance(Duration::from_secs(1));
    assert_eq!(last.len(), 1);
    assert_eq!(last[0].1.packet_type(), PacketType::Reset);
    assert_eq!(last[0].1.ack().map(|a| a.value()), Some(0));
    assert_eq!(bench.state(), State::Closed);
}

#[test]
fn a_wrong_service_code_is_refused() {
    // 4340-8.1.2-2, 5595-3.3.1-2
    let mut bench = Bench::listening(Bench::config());
    let request = bench.next(Kind::Request {
        service: ServiceCode(1),
    });
    let reset = bench.answers(&request).remove(0);
    assert_eq!(reset.reset_code().map(|c| c.0), Some(8));
}
