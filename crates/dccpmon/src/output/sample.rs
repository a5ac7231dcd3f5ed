//! An invented result for the tests of the outputs: 2 s over a link of 100 Mbit/s.

use crate::schema::{
    Achieved, Acknowledged, Conclusion, DelayPhase, Direction, Document, End, Ends, Flow,
    FlowRequest, Hosts, Interval, IntervalFlow, Kind, Ledger, Limit, Missing, Negotiated, OneWay,
    Record, Requested, RttSplit, SCHEMA, SafeUdp, SafeUdpInterval, Samples, StampSource, Stamps,
    StateChange, Status, Summary, Transport, Trip, Verdict,
};
use dccp_host::Delta;
use dccp_stats::{Gilbert, Jitter, LossPattern, Order, Spread};
use std::collections::BTreeMap;

/// A spread with all percentiles, from milliseconds.
pub(crate) fn spread(min: f64, p50: f64, p99: f64, max: f64) -> Spread {
    Spread {
        min: ns(min),
        p50: Some(ns(p50)),
        p90: Some(ns(f64::midpoint(p50, p99))),
        p99: Some(ns(p99)),
        p999: None,
        max: ns(max),
        mean: p50 * 1e6,
        n: 200,
        hdr: None,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "constants of tests"
)]
fn ns(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

fn interval(second: u64) -> Interval {
    Interval {
        t0_ns: second * 1_000_000_000,
        t1_ns: (second + 1) * 1_000_000_000,
        flows: vec![IntervalFlow {
            id: 1,
            offered_packets: Some(8_572),
            sent_packets: Some(8_572),
            sent_bytes: Some(12_000_000),
            received_packets: Some(8_498),
            received_bytes: Some(11_900_000),
            goodput_bps: Some(95.2e6),
            lost_packets: Some(2),
            recovered_packets: Some(0),
            marked_packets: Some(0),
            rtt_ns: Some(spread(20.1, 20.4, 24.1, 25.0)),
            queue_ns: Some(spread(0.0, 0.1, 0.3, 0.4)),
            cwnd_packets: Some(181.0),
            ssthresh_packets: None,
            cc_rate_bps: None,
            retransmitted_segments: None,
            cc_state: Some("slow_start".into()),
            held_by_cc_ns: None,
            late_ns: Some(spread(0.01, 0.02, 0.05, 0.1)),
            safe_udp: None,
        }],
    }
}

/// The losses of the flow.
pub(crate) fn ledger() -> Ledger {
    Ledger {
        offered: 42_170,
        dropped_app: 2,
        dropped_ring: 4,
        sent: 42_164,
        lost_network: 18,
        lost_receiver_socket: 3,
        delivered: 42_143,
        ..Ledger::default()
    }
}

fn flow() -> Flow {
    Flow {
        id: 1,
        direction: Direction::Forward,
        connection: Some(1),
        goodput_bps: Some(94.4e6),
        wire_bps: Some(99.9e6),
        received_bytes: Some(59_000_200),
        ledger: Some(ledger()),
        acknowledged: Some(Acknowledged {
            received_packets: 42_140,
            marked_packets: 0,
            lost_packets: 18,
            dropped_by_peer_packets: 3,
            unreported_packets: 3,
        }),
        tcp: None,
        broken: None,
        rtt: Some(RttSplit {
            user_ns: None,
            send_queue_ns: Some(spread(0.0, 0.1, 0.3, 0.4)),
            network_ns: Some(spread(20.1, 27.2, 42.9, 44.0)),
            receiver_ns: Some(spread(0.001, 0.002, 0.1, 0.2)),
            source: "parts".into(),
        }),
        stamps: Stamps {
            data: Some(StampSource::Engine),
            echoes: Some(StampSource::Engine),
        },
        one_way: Some(OneWay {
            ns: spread(10.0, 17.2, 32.9, 34.0),
            error_ns: 2_100,
            method: "probes".into(),
        }),
        jitter: Some(Jitter {
            rfc3550_ns: Some(120_000),
            ipdv_ns: Some(spread(0.0, 0.1, 0.4, 1.0)),
            p95_minus_p50_ns: Some(14_000_000),
        }),
        order: Some(Order {
            reordered_packets: 0,
            ratio: 0.0,
            extent: None,
            late_ns: None,
            n_reordering: Vec::new(),
            density: vec![(0, 1.0)],
            buffer_density: vec![(0, 1.0)],
        }),
        loss_pattern: Some(LossPattern {
            lost_packets: 21,
            runs_n: 14,
            runs: vec![(1, 10), (2, 2), (3, 1), (4, 1)],
            gaps: vec![(1_000, 10), (5_000, 3)],
            gilbert: Some(Gilbert {
                p: 0.0003,
                r: 0.67,
                one_minus_h: 1.0,
                one_minus_k: 0.0,
            }),
            gilbert_elliott: None,
            list: None,
        }),
        reordered_packets: Some(0),
        duplicate_packets: Some(0),
        marked_packets: Some(0),
        schedule: Some(Achieved {
            asked_gap_ns: Some(118_000.0),
            mean_gap_ns: Some(118_570.0),
            late_ns: Some(spread(0.0, 0.02, 0.2, 1.2)),
            departure_late_ns: None,
            skipped_packets: 0,
            hash: None,
        }),
        stability: Some(0.021),
        sender_samples: Some(Samples {
            n: 500,
            idle: 10,
            window_full: 480,
            paced: 10,
            slow_start: 20,
            sequence_window_full: 0,
        }),
        safe_udp: None,
        steps: Vec::new(),
        limited_by: limit(),
    }
}

fn limit() -> Limit {
    Limit {
        verdict: Verdict::NetworkQueue,
        sentence: "a queue in the network was full".into(),
        evidence: vec!["p99 RTT - min = 22.8 ms".into(), "18 packets lost".into()],
        command: None,
    }
}

fn host() -> Delta {
    Delta {
        wall_ns: 5_000_000_000,
        busiest_core: Some(1),
        cores: None,
        process_cpu_ns: Some(550_000_000),
        process_system_ratio: Some(0.6),
        threads: None,
        interrupts_per_core: None,
        interface: None,
        softnet: None,
        udp: None,
        ip: None,
        dccp: BTreeMap::from([("DCCPActiveOpens".into(), 1)]),
        packets_per_s: None,
        ns_per_packet: None,
    }
    .with_packets(42_164)
}

/// The result.
pub(crate) fn document() -> Document {
    let end = End {
        version: "0.1.0".into(),
        system: "Linux 6.18.0 x86_64".into(),
        boot_id: None,
        clock_source: Some("tsc".into()),
        timestamps: Some(StampSource::Engine),
        cores: Some(2),
    };
    Document {
        schema: SCHEMA.into(),
        kind: Kind::Bulk,
        status: Status::Complete,
        exit_code: 0,
        error: None,
        requested: Requested {
            host: "192.0.2.10".into(),
            from: None,
            transport: Transport::Dccp,
            udp_port: Some(14_233),
            dccp_port: Some(5_001),
            over: Some("udp".into()),
            duration_ns: 5_000_000_000,
            packets: None,
            interval_ns: 1_000_000_000,
            idle_ns: 0,
            direction: Direction::Forward,
            one_connection: false,
            flows: vec![FlowRequest {
                ccid: Some(2),
                cc: Some("reno".into()),
                shape: "greedy".into(),
                rate_bps: None,
                packet_bytes: Some(1_400),
                socket_buffer_bytes: None,
                dscp: None,
            }],
            seed: None,
            repeat: 1,
            title: None,
        },
        granted: None,
        negotiated: vec![Negotiated {
            flow: 1,
            transport: Transport::Dccp,
            client_host: Some("192.0.2.1".into()),
            client_port: Some(40_000),
            ccid: Some(2),
            cc: Some("reno".into()),
            ack_ratio: Some(2),
            ecn: Some(true),
            encap: Some("udp".into()),
            mps_bytes: Some(1_444),
            mss_bytes: None,
            csum_cover: Some(0),
            packet_bytes: 1_400,
            send_buffer_bytes: None,
            recv_buffer_bytes: None,
            gso: None,
            gro: None,
        }],
        ends: Some(Ends {
            client: end.clone(),
            server: Some(end),
        }),
        clock: None,
        idle: Some(DelayPhase {
            idle_ns: spread(20.0, 20.2, 20.5, 20.6),
            loaded_ns: Some(spread(20.2, 31.0, 42.0, 43.5)),
            self_loaded_ns: None,
            rpm: Some(1_935.0),
            lost_packets: 0,
        }),
        intervals: (0..2).map(interval).collect(),
        samples: None,
        marks: Vec::new(),
        summary: Some(Summary {
            duration_ns: 5_000_000_000,
            flows: vec![flow()],
            goodput_bps: Some(94.4e6),
            fairness_jain: None,
            asymmetry: None,
            repeat: None,
            limited_by: limit(),
        }),
        hosts: Some(Hosts {
            client: host(),
            server: Some(host()),
        }),
        points: None,
        knees: None,
        rr: None,
        media: None,
        assertions: None,
        record: Record {
            argv: vec!["dccpmon".into(), "192.0.2.10".into()],
            program_version: "0.1.0".into(),
            ended_unix_s: 1_795_000_000,
        },
    }
}

/// The same with CCID 248, in ADVISORY.
pub(crate) fn safe_udp() -> Document {
    let mut document = document();
    document.requested.flows[0].ccid = Some(248);
    document.negotiated[0].ccid = Some(248);
    let missing = Missing {
        network_packets: 2,
        sending_host_packets: 1,
        receiving_host_packets: 2,
        unknown_host_packets: 0,
    };
    for interval in &mut document.intervals {
        let flow = &mut interval.flows[0];
        flow.cwnd_packets = None;
        flow.cc_state = Some("advisory".into());
        flow.safe_udp = Some(SafeUdpInterval {
            state: "advisory".into(),
            advised_bps: Some(50e6),
            lost_packets: 2,
            missing,
            ..SafeUdpInterval::default()
        });
    }
    let change = |at_ns, state: &str| StateChange {
        at_ns,
        state: state.into(),
    };
    let summary = document.summary.as_mut().expect("it ran");
    let flow = &mut summary.flows[0];
    flow.loss_pattern = None;
    flow.ledger = Some(Ledger {
        offered: 42_180,
        dropped_ccid: 10,
        ..ledger()
    });
    flow.safe_udp = Some(SafeUdp {
        time_ns: BTreeMap::from([
            ("advisory".into(), 2_000_000_000),
            ("clear".into(), 1_000_000_000),
            ("throttled".into(), 2_000_000_000),
        ]),
        states: vec![
            change(0, "clear"),
            change(1_000_000_000, "advisory"),
            change(3_000_000_000, "throttled"),
        ],
        advised_min_bps: Some(50e6),
        cap_min_bps: Some(5e6),
        dropped_packets: 10,
        missing,
        trips: vec![Trip {
            at_ns: 3_000_000_000,
            cause: "loss".into(),
        }],
        conclusions: vec![Conclusion {
            at_ns: 1_000_000_000,
            last_ns: 2_500_000_000,
            times_n: 4,
            code: "congestion".into(),
            rate_bps: Some(50e6),
            tfrc_bps: Some(7e6),
            loss_ratio: Some(0.02),
        }],
        ..SafeUdp::default()
    });
    document
}

/// The same with a second flow.
pub(crate) fn two_flows() -> Document {
    let mut document = document();
    let mut second = flow();
    second.id = 2;
    second.connection = Some(2);
    second.goodput_bps = Some(4.1e6);
    if let Some(summary) = &mut document.summary {
        summary.flows.push(second);
        summary.goodput_bps = Some(98.5e6);
    }
    for interval in &mut document.intervals {
        let mut flow = interval.flows[0].clone();
        flow.id = 2;
        interval.flows.push(flow);
    }
    document
}
