//! TIMEWAIT: a flow rests after its end (RFC 4340 §8.3, §8.5).

use crate::bench::{Bench, NANOSECOND, SERVICE, almost, reset};
use dccp_proto::conn::stats::DropReason;
use dccp_proto::wire::{Kind, ResetCode};
use dccp_proto::{ConnectError, Seq};
use std::time::Duration;

/// 2 MSL.
const TIME_WAIT: Duration = Duration::from_mins(4);

/// A client whose connection has just ended in TIMEWAIT, and the last number it sent.
fn in_time_wait() -> Bench {
    let mut bench = Bench::open_client(Bench::config());
    bench.close();
    let close = bench.take_one();
    bench.answers_next(reset(close.seq, ResetCode::CLOSED));
    assert_eq!(bench.endpoint.resting(), 1);
    bench
}

#[test]
fn in_time_wait_every_packet_but_a_reset_is_answered_by_a_reset() {
    // 4340-8.5-2, 4340-8.3.1-1, 4340-8.3.1-2
    let mut bench = in_time_wait();
    bench
        .endpoint
        .listen(crate::bench::OUR_PORT, &[SERVICE], Bench::config())
        .unwrap();
    let ack = Seq::new(4711);
    for kind in [
        Kind::Request { service: SERVICE },
        Kind::Response {
            ack,
            service: SERVICE,
        },
        Kind::Data,
        Kind::Ack { ack },
        Kind::DataAck { ack },
        Kind::CloseReq { ack },
        Kind::Close { ack },
        Kind::Sync { ack },
        Kind::SyncAck { ack },
    ] {
        bench.is_unknown(kind);
    }
    assert_eq!(bench.answers_next(reset(ack, ResetCode::ABORTED)), []);
    assert_eq!(bench.dropped(DropReason::TimeWait), 10);
    assert_eq!(bench.stats().mib.out_rsts, 9);
}

#[test]
fn a_flow_rests_for_two_msl() {
    // 4340-8.3-2, 4340-3.4-2
    let mut bench = in_time_wait();
    let connect = |bench: &mut Bench| {
        bench
            .endpoint
            .connect(bench.now, Bench::flow(), Bench::config())
    };
    let start = bench.now;
    assert_eq!(connect(&mut bench), Err(ConnectError::FlowInUse));
    bench.now = start + almost(TIME_WAIT);
    assert_eq!(connect(&mut bench), Err(ConnectError::FlowInUse));
    bench.now = start + TIME_WAIT;
    assert!(connect(&mut bench).is_ok());
    assert_eq!(
        connect(&mut bench),
        Err(ConnectError::FlowInUse),
        "it is open now"
    );
    let mut other = Bench::flow();
    other.local_port += 1;
    assert!(
        bench
            .endpoint
            .connect(bench.now, other, Bench::config())
            .is_ok()
    );
}

#[test]
fn the_msl_is_a_setting() {
    // 4340-3.4-2
    let config = dccp_proto::Config {
        msl: Duration::from_millis(5),
        ..Bench::config()
    };
    let mut bench = Bench::open_client(config.clone());
    bench.close();
    let close = bench.take_one();
    bench.answers_next(reset(close.seq, ResetCode::CLOSED));
    bench.now += almost(Duration::from_millis(10));
    let early = bench
        .endpoint
        .connect(bench.now, Bench::flow(), config.clone());
    assert_eq!(early, Err(ConnectError::FlowInUse));
    bench.now += NANOSECOND;
    assert!(
        bench
            .endpoint
            .connect(bench.now, Bench::flow(), config)
            .is_ok()
    );
}
