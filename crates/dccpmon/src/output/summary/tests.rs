use super::*;
use crate::output::sample;

#[test]
fn summary_of_one_flow_names_each_figure() {
    let text = lines(&sample::document()).join("\n");
    let golden = "\
--------------------------------------------------------------------------------
 total        5.00 s  59.0 MB  goodput 94.4 Mbit/s (wire 99.9 Mbit/s)
              loss 0.05 %  stability 0.021 (0 is steady)
 not sent     6 of 42170 offered:  application 2  send ring 4
 where lost   network 18  receiver socket 3  receiver app 0  = 21 of 42164 sent
 RTT          min 20.1  p50 27.2  p99 42.9  max 44.0 ms
              p50 of send queue 0.100, network 27.2, receiver 0.002 ms
 one way      min 10.0  p50 17.2  p99 32.9  max 34.0 ms (± 0.002)
              from program to program
 jitter       RFC 3550 0.120  median change 0.100  p95 - p50 14.0 ms
 schedule     asked for a packet each 118.0 us, got 118.6 us
              late p50 0.020 p99 0.200 ms
 probe RTT    idle min 20.0  p50 20.2  p99 20.5  max 20.6 ms
              loaded min 20.2  p50 31.0  p99 42.0  max 43.5 ms (1935 RPM)
 packets      reordered 0  duplicates 0  ECN marks 0  data dropped 3
 loss runs    14 runs, the longest 4 packets
              a run begins after 0.03 %, ends after 67.00 % (Gilbert's p, r)
 CPU          client 11 % of a core (13.0 us/packet)
              server 11 % of a core (13.0 us/packet)
 limited by   network queue: a queue in the network was full
              (p99 RTT - min = 22.8 ms, 18 packets lost)";
    assert_eq!(text, golden, "{text}");
}

#[test]
fn summary_of_ccid_248_names_states_places_and_trips() {
    let mut document = sample::safe_udp();
    let text = lines(&document).join("\n");
    for line in [
        " SafeUDP      ADVISORY 2 s  CLEAR 1 s  THROTTLED 2 s",
        "              missing: network 2  sending host 1  receiving host 2  dropped 10",
        "              trips: loss at 3 s",
        "1 s congestion: at most 50.0 Mbit/s advised, X_tfrc 7.00",
        " not sent     16 of 42180 offered:  application 2  send ring 4",
        "congestion control 10",
    ] {
        assert!(text.contains(line), "no {line}: {text}");
    }
    assert!(!text.contains("loss runs"), "{text}");
    document.status = Status::Incomplete;
    document.error = Some(crate::schema::Problem {
        what: "the breaker".into(),
        next: "send less".into(),
    });
    let flow = &mut document.summary.as_mut().unwrap().flows[0];
    flow.broken = Some("the breaker".into());
    flow.safe_udp.as_mut().unwrap().ended = Some(crate::schema::Ended {
        cause: "loss".into(),
        hold_ns: 1,
    });
    let text = lines(&document).join("\n");
    let end = " broken off   [ 1] the breaker\n next         send less";
    assert!(text.ends_with(end), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

#[test]
fn directions_and_shared_connections_are_named() {
    let mut document = sample::two_flows();
    let text = |document: &Document| lines(document).join("\n");
    assert!(!text(&document).contains("connections"));
    let summary = document.summary.as_mut().unwrap();
    summary.flows[1].direction = Direction::Reverse;
    summary.flows[1].connection = Some(1);
    let text = text(&document);
    assert!(text.contains("\n[ 1] forward goodput 94.4 Mbit/s  loss 0.05 %  limited by "));
    assert!(text.contains("\n[ 2] reverse goodput "), "{text}");
    assert!(
        text.contains("\n connections  [ 1] and [ 2] share one\n"),
        "{text}"
    );
}

#[test]
fn no_line_is_longer_than_eighty() {
    let mut document = sample::two_flows();
    document.summary.as_mut().unwrap().flows[1].direction = Direction::Reverse;
    document.hosts = None;
    document.status = Status::Incomplete;
    let summary = document.summary.as_mut().unwrap();
    summary.fairness_jain = Some(0.54);
    summary.asymmetry = Some(0.917);
    for flow in &mut summary.flows {
        flow.broken = Some("the peer went away ".repeat(9));
        flow.limited_by.evidence = vec!["a long piece of evidence".into(); 9];
        flow.limited_by.command = Some("sysctl -w net.core.rmem_max=4194304".into());
        let ledger = flow.ledger.as_mut().unwrap();
        ledger.lost_sender_queue = 123_456_789;
        ledger.lost_receiver_softnet = 123_456_789;
        ledger.lost_sender_interface = 123_456_789;
        ledger.unknown = 123_456_789;
        ledger.sent += 4 * 123_456_789;
    }
    for line in lines(&document) {
        assert!(line.chars().count() <= WIDTH, "{line}");
    }
}

// The losses of all places are the packets that were sent and did not arrive.
#[test]
fn places_of_losses_sum_up() {
    let mut document = sample::document();
    let summary = document.summary.as_mut().unwrap();
    let ledger = summary.flows[0].ledger.as_mut().unwrap();
    (ledger.in_flight, ledger.unknown) = (5, 2);
    ledger.sent += 7;
    ledger.offered += 7;
    assert!(ledger.is_closed());
    let text = lines(&document).join("\n");
    assert!(
        text.contains(
            " where lost   network 18  receiver socket 3  receiver app 0  unknown 2\n\
                 \x20             = 23 of 42171 sent\n in flight    5\n"
        ),
        "{text}"
    );
}

#[test]
fn longest_run_of_a_class_is_a_range() {
    let mut document = sample::document();
    let summary = document.summary.as_mut().unwrap();
    let pattern = summary.flows[0].loss_pattern.as_mut().unwrap();
    pattern.runs = vec![(1, 13), (960, 1)];
    let text = lines(&document).join("\n");
    assert!(
        text.contains("14 runs, the longest 960 to 1023 packets"),
        "{text}"
    );
}

#[test]
fn details_of_many_flows_are_left_out() {
    let mut document = sample::document();
    let summary = document.summary.as_mut().unwrap();
    let flow = summary.flows[0].clone();
    summary.flows = (1..=32).map(|id| Flow { id, ..flow.clone() }).collect();
    let text = lines(&document).join("\n");
    assert_eq!(text.matches("\n limited by ").count(), FLOWS_MAX, "{text}");
    assert!(
        text.contains("\n[32] goodput ") && text.contains(" 28 more flows"),
        "{text}"
    );
}

#[test]
fn reason_of_an_early_end_is_shown() {
    let mut document = sample::document();
    document.status = Status::Incomplete;
    document.error = Some(crate::schema::Problem {
        what: "the peer is not dccpmon".into(),
        next: "try again".into(),
    });
    let last = lines(&document).pop();
    let wanted = " incomplete   the server was lost (the peer is not dccpmon)";
    assert_eq!(last.as_deref(), Some(wanted));
}

#[test]
fn lost_server_is_named() {
    let mut document = sample::document();
    if let Some(hosts) = &mut document.hosts {
        hosts.server = None;
    }
    let last = lines(&document).pop();
    let wanted = " incomplete   the server was lost before its totals came";
    assert_eq!(last.as_deref(), Some(wanted));
}
