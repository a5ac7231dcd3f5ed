//! Refused Requests and the Resets that answer them (RFC 4340 §8.1.3, §8.3.1).

use crate::bench::{Bench, OUR_PORT, Pkt, SERVICE, reset, response};
use dccp_proto::conn::stats::DropReason;
use dccp_proto::wire::{Kind, Opt, ResetCode, ServiceCode};
use dccp_proto::{CloseReason, Event, Seq};

#[test]
fn a_server_without_room_for_a_connection_refuses_it() {
    // 4340-8.1.3-1
    let mut bench = Bench::listening(Bench::config());
    let request = bench.next(Kind::Request { service: SERVICE });
    bench.give(&request);
    let (id, accepted) = bench.endpoint.poll_event().unwrap();
    assert!(matches!(accepted, Event::Accepted { .. }));
    bench.endpoint.turn_away(bench.now, id, &mut bench.app);
    let expected = reset(request.seq, ResetCode::TOO_BUSY);
    assert_eq!(bench.take_one().kind, expected);
    assert!(bench.endpoint.connection(id).is_none());
}

#[test]
fn a_wrong_service_code_is_refused() {
    // 4340-8.1.2-2, 5595-3.3.1-2, 4340-8.3.1-2
    let mut bench = Bench::listening(Bench::config());
    let packet = bench.next(Kind::Request {
        service: ServiceCode(1),
    });
    let answer = bench.answer(&packet);
    assert_eq!(answer.kind, reset(packet.seq, ResetCode::BAD_SERVICE_CODE));
    assert_eq!(answer.seq, Seq::ZERO);
    assert_eq!(bench.dropped(DropReason::BadServiceCode), 1);
    assert_eq!(bench.endpoint.connections(), 0);
}

#[test]
fn a_request_to_a_closed_port_is_refused() {
    // AMB-1, 5595-3.3.1-1, 4340-8.1.3-1, 4340-8.5-2
    let mut bench = Bench::new();
    let packet = bench.next(Kind::Request { service: SERVICE });
    let answer = bench.answer(&packet);
    assert_eq!(
        answer.kind,
        reset(packet.seq, ResetCode::CONNECTION_REFUSED)
    );
    assert_eq!(answer.seq, Seq::ZERO);
    assert_eq!(bench.dropped(DropReason::NoConnection), 1);
    assert_eq!(bench.stats().mib.out_rsts, 1);
    let mut bench = Bench::listening(Bench::config());
    bench.endpoint.unlisten(OUR_PORT);
    let packet = bench.next(Kind::Request { service: SERVICE });
    assert!(
        bench
            .answer(&packet)
            .is_reset(ResetCode::CONNECTION_REFUSED)
    );
}

#[test]
fn packet_of_no_connection_is_answered_with_no_connection() {
    // 4340-8.5-2, 4340-8.5-3, 4340-8.3.1-1, 4340-8.3.1-2
    for mut bench in [Bench::new(), Bench::listening(Bench::config())] {
        let ack = Seq::new((1 << 48) - 1);
        for kind in [
            response(ack),
            Kind::Data,
            Kind::Ack { ack },
            Kind::DataAck { ack },
            Kind::CloseReq { ack },
            Kind::Close { ack },
            Kind::Sync { ack },
            Kind::SyncAck { ack },
        ] {
            let packet = bench
                .next(kind)
                .with_payload(b"data")
                .with(&[Opt::Timestamp(1)]);
            let answer = bench.answer(&packet);
            assert_eq!(answer.kind, reset(packet.seq, ResetCode::NO_CONNECTION));
            assert_eq!(answer.seq, Seq::ZERO, "ackno + 1, or 0");
            assert!(answer.options.is_empty() && answer.payload.is_empty());
        }
        assert_eq!(bench.answers_next(reset(ack, ResetCode::ABORTED)), []);
        assert_eq!(bench.dropped(DropReason::NoConnection), 9);
        assert_eq!((bench.endpoint.connections(), bench.events.len()), (0, 0));
    }
}

#[test]
fn a_stateless_reset_for_a_short_packet_has_short_numbers() {
    // 4340-8.3.1-2
    let mut bench = Bench::new();
    let mut packet = Pkt::new(
        Kind::Ack {
            ack: Seq::new(0x12_3456),
        },
        Seq::new(0xAB_CDEF),
    );
    packet.is_short = true;
    let answer = bench.answer(&packet);
    assert_eq!(answer.seq, Seq::new(0x12_3457));
    assert_eq!(
        answer.kind,
        reset(Seq::new(0xAB_CDEF), ResetCode::NO_CONNECTION)
    );
    assert!(!answer.is_short);
}

#[test]
fn an_endpoint_that_shares_its_address_answers_no_strangers() {
    // 4340-8.5-2 would be wrong where others use protocol 33, too.
    let mut bench = Bench::new();
    bench.endpoint.set_answers_strangers(false);
    assert_eq!(bench.answers_next(Kind::Data), []);
    assert_eq!(bench.answers_next(Kind::Request { service: SERVICE }), []);
    assert_eq!(bench.dropped(DropReason::NoConnection), 2);
    bench.endpoint.set_answers_strangers(true);
    assert_eq!(bench.answers_next(Kind::Data).len(), 1);
}

#[test]
fn the_handshake_fails_with_options_that_must_be_understood() {
    // 4340-5.8.2-1: in REQUEST and in RESPOND, before the connection exists for anybody.
    let (mut bench, request) = Bench::requesting(Bench::config());
    let packet = bench
        .next(response(request.seq))
        .with_raw_options(&[1, 60, 3, 9]);
    let answer = bench.answer(&packet);
    let expected = Kind::Reset {
        ack: packet.seq,
        code: ResetCode::MANDATORY_ERROR,
        data: [60, 9, 0],
    };
    assert_eq!((answer.kind, answer.seq), (expected, request.seq.next()));
    let aborted = CloseReason::Aborted(ResetCode::MANDATORY_ERROR);
    assert_eq!(bench.events, [Event::Closed(aborted.clone())]);
    let mut bench = Bench::listening(Bench::config());
    let packet = bench.next(Kind::Request { service: SERVICE });
    let answer = bench.answer(&packet.with_raw_options(&[1, 60, 3, 9]));
    assert!(answer.is_reset(ResetCode::MANDATORY_ERROR));
    assert_eq!(bench.events.last(), Some(&Event::Closed(aborted)));
    assert_eq!(bench.endpoint.connections(), 0);
}
