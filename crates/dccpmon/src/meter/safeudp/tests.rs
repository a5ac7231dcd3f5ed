use super::*;
use crate::load::send::Traffic;
use crate::load::shape::Shape;
use crate::meter::{End, Meter, SAMPLE};
use crate::plan::data_options;
use crate::schema::Missing;
use crate::transport::Flow;
use crate::transport::dccp::DccpFlow;
use dccp::safeudp::Info;
use dccp::{Listener, Options, Socket};
use std::sync::Arc;
use std::thread;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn seen(state: &'static str, network_packets: u64) -> SafeUdpSample {
    SafeUdpSample {
        state,
        advised_bps: Some(5e6),
        missing: Missing {
            network_packets,
            ..Missing::default()
        },
        ..SafeUdpSample::default()
    }
}

fn advice(bits_per_s: u64) -> SendCode {
    SendCode::Congestion {
        advised_bits_per_s: bits_per_s,
        tfrc_bits_per_s: 1_000_000,
        loss_per_billion: 20_000_000,
        deadline: Instant::from_nanos(9),
    }
}

#[test]
fn history_holds_states_advice_and_attribution() {
    let first = seen("clear", 7);
    let counted = |limited, lost| Counted { limited, lost };
    let mut history = History::new(first, counted(1, 0), None);
    assert_eq!(history.look(ms(100), seen("eval", 9), &[]), None);
    let first = history.interval(counted(1, 2));
    assert_eq!(first.state, "eval");
    assert_eq!((first.missing.network_packets, first.lost_packets), (2, 2));
    assert_eq!((first.dropped_packets, first.advised_bps), (0, None));
    let codes = [advice(6_000_000), advice(5_000_000)];
    history.look(ms(300), seen("advisory", 12), &codes);
    let second = history.interval(counted(4, 2));
    assert_eq!(second.advised_bps, Some(5e6));
    assert_eq!(
        (second.missing.network_packets, second.dropped_packets),
        (3, 3)
    );
    history.look(ms(600), seen("clear", 12), &[SendCode::Info(Info::Cleared)]);
    history.stop();
    history.look(ms(9_000), seen("clear", 13), &[]);
    let total = history.total(3);
    let time = |state: &str| total.time_ns.get(state).copied();
    assert_eq!(time("clear"), Some(100_000_000));
    assert_eq!(time("eval"), Some(200_000_000));
    assert_eq!(time("advisory"), Some(300_000_000));
    let states: Vec<_> = total
        .states
        .iter()
        .map(|s| (s.at_ns / 1_000_000, &*s.state))
        .collect();
    assert_eq!(
        states,
        [
            (0, "clear"),
            (100, "eval"),
            (300, "advisory"),
            (600, "clear")
        ]
    );
    let [congestion, cleared] = total.conclusions.as_slice() else {
        panic!("{total:?}");
    };
    assert_eq!((congestion.times_n, congestion.rate_bps), (2, Some(5e6)));
    assert_eq!(congestion.loss_ratio, Some(0.02));
    assert_eq!(cleared.code, "cleared");
    assert_eq!(total.missing.network_packets, 6);
    assert_eq!(
        (total.dropped_packets, total.advised_min_bps),
        (3, Some(5e6))
    );
}

#[test]
fn trips_have_their_cause_and_the_last_one_its_hold() {
    let mut history = History::new(seen("clear", 0), Counted::default(), None);
    let mut tripped = seen("throttled", 0);
    tripped.trips[0] = 1;
    history.look(ms(10), tripped, &[]);
    assert_eq!(history.interval(Counted::default()).trips_n, 1);
    tripped.state = "open";
    tripped.trips[2] = 1;
    let refused = SendCode::Refused {
        cause: Cause::Feedback,
        not_before: clock::now() + Duration::from_secs(10),
    };
    history.look(ms(20), tripped, &[refused]);
    let total = history.total(0);
    let trips: Vec<_> = total.trips.iter().map(|trip| &*trip.cause).collect();
    assert_eq!(trips, ["loss", "feedback"]);
    let ended = total.ended.unwrap();
    assert_eq!(ended.cause, "feedback");
    assert!(
        (9_000_000_000..=10_000_000_000).contains(&ended.hold_ns),
        "{ended:?}"
    );
}

// A message holds the longest history.
#[test]
fn history_of_a_restless_sender_is_bounded() {
    let mut history = History::new(seen("clear", 0), Counted::default(), None);
    let codes = [advice(u64::MAX), SendCode::Info(Info::WithinShare)];
    for n in 0..1000 {
        let state = if n % 2 == 0 { "throttled" } else { "peer_gone" };
        let mut seen = seen(state, n);
        seen.trips[4] = n;
        history.look(Duration::from_nanos(10_000_000_000_000 + n), seen, &codes);
    }
    let total = history.total(u64::MAX >> 12);
    assert!(total.is_bounded());
    // Of 1001 states, 2000 conclusions and 999 trips.
    assert_eq!(total.left_out_n, 601 + 1900 + 949);
    let text = serde_json::to_string(&total).unwrap();
    assert!(
        text.len() < crate::wire::parts::MESSAGE_MAX * 3 / 4,
        "{}",
        text.len()
    );
}

// A program that does not read fills the receive buffer of its socket. The network is innocent.
#[test]
fn receiver_that_does_not_read_is_attributed_to_its_host() {
    let options = data_options(Options::new().ccid(248));
    let slow = options.clone().recv_buffer(8);
    let listener = Listener::bind("127.0.0.1:0/5001", &slow).unwrap();
    let client = Socket::connect(listener.local_addrs()[0], &options).unwrap();
    let flow: Arc<dyn Flow> = Arc::new(DccpFlow::new(client));
    let traffic = Traffic {
        token: 1,
        flow: 0,
        length: 1000,
        shape: Shape::Cbr { bps: 4_000_000 },
        seed: 0,
        packets: None,
        congestion: None,
        has_echoes: false,
        obeys: false,
    };
    let end = End::send(&flow, traffic, Duration::from_secs(2)).unwrap();
    let mut meter = Meter::new(vec![end], true);
    // The socket exists, but its program takes nothing.
    let server = listener.accept_timeout(Duration::from_secs(5)).unwrap();
    while !meter.is_done() {
        meter.sample();
        thread::sleep(SAMPLE);
    }
    let interval = meter.interval().remove(0).tx.unwrap().safe_udp.unwrap();
    meter.finish_sending();
    drop(server);
    let total = meter.totals(&[]).remove(0).tx.unwrap().safe_udp.unwrap();
    for missing in [interval.missing, total.missing] {
        assert!(missing.receiving_host_packets > 100, "{total:?}");
        assert_eq!(missing.network_packets, 0, "{total:?}");
    }
    assert!(total.time_ns.get("host") > Some(&500_000_000), "{total:?}");
    let mut conclusions = total.conclusions.iter();
    assert!(conclusions.any(|one| one.code == "host_rx"), "{total:?}");
    assert!(total.trips.is_empty(), "{total:?}");
}
