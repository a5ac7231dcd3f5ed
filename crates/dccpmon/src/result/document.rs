//! The document of a test, made from the figures of both ends.

use crate::cli::Bulk;
use crate::limits::LENGTH;
use crate::plan::Plan;
use crate::result::{self, FlowResult, TestResult, rate};
use crate::schema::{
    Acknowledged, Direction, Document, End, Ends, Flow, FlowRequest, Granted, Hosts, Interval,
    IntervalFlow, Negotiated, Problem, Record, Requested, RttSplit, SCHEMA, StampSource, Stamps,
    Status, Summary, Transport,
};
use crate::transport::FlowError;
use crate::wire::figures::{self, Host, RxTotal, TxTotal};
use core::time::Duration;
use dccp::proto::time::nanos;
use dccp::{Encapsulation, clock};
use dccp_cli::{Failure, exit};
use dccp_stats::{asymmetry, fairness};

/// The document of a test that ran.
pub(crate) fn of_test(plan: &Plan, result: &TestResult, exit_code: u8) -> Document {
    let mut document = Document {
        status: match result.status {
            result::Status::Complete => Status::Complete,
            result::Status::Interrupted => Status::Interrupted,
            result::Status::Incomplete => Status::Incomplete,
        },
        exit_code,
        negotiated: result
            .flows
            .iter()
            .map(|flow| negotiated(plan, result, flow))
            .collect(),
        ends: Some(Ends {
            client: end(&result.client, stamps_at(plan, result, true)),
            server: (result.server.as_ref())
                .map(|server| end(server, stamps_at(plan, result, false))),
        }),
        hosts: Some(hosts(plan, result)),
        samples: result.samples.clone(),
        ..empty(&plan.asked)
    };
    document.summary = summary(result);
    document
}

/// The document of a test that did not run.
pub(crate) fn of_failure(asked: &Bulk, failure: &Failure) -> Document {
    Document {
        status: status_of(failure.code),
        exit_code: failure.code,
        error: Some(failure.into()),
        ..empty(asked)
    }
}

/// The status of a run that ended with this exit code.
pub(crate) fn status_of(exit_code: u8) -> Status {
    match exit_code {
        exit::DONE => Status::Complete,
        exit::REFUSED => Status::Refused,
        exit::INTERRUPTED => Status::Interrupted,
        exit::INCOMPLETE => Status::Incomplete,
        _ => Status::Failed,
    }
}

impl From<&Failure> for Problem {
    fn from(failure: &Failure) -> Self {
        Self {
            what: failure.what.clone(),
            next: failure.next.clone(),
        }
    }
}

/// The document of a test of another kind than `bulk`, without the figures of that kind. `trouble` is the failure of the
/// connection that carried the data. Each end has its host and the source of its arrival times.
pub(crate) fn of_kind(
    asked: &Bulk,
    status: Status,
    trouble: Option<&FlowError>,
    client: (&Host, Option<StampSource>),
    server: Option<(&Host, Option<StampSource>)>,
) -> Document {
    Document {
        status,
        exit_code: match status {
            Status::Complete => exit::DONE,
            Status::Interrupted => exit::INTERRUPTED,
            _ => exit::INCOMPLETE,
        },
        error: trouble.map(|trouble| Problem {
            what: trouble.to_string(),
            next: "look at the server's output, and try again".into(),
        }),
        ends: Some(Ends {
            client: end(client.0, client.1),
            server: server.map(|(host, stamps)| end(host, stamps)),
        }),
        hosts: Some(Hosts {
            client: client.0.delta.clone(),
            server: server.map(|(host, _)| host.delta.clone()),
        }),
        ..empty(asked)
    }
}

/// The document of a test that was not to run.
pub(crate) fn of_plan(asked: &Bulk, granted: Granted) -> Document {
    Document {
        status: Status::Planned,
        granted: Some(granted),
        ..empty(asked)
    }
}

/// The document of a test that begins.
pub(crate) fn of_begin(asked: &Bulk) -> Document {
    Document {
        status: Status::Running,
        ..empty(asked)
    }
}

/// A document without results.
pub(crate) fn empty(asked: &Bulk) -> Document {
    Document {
        schema: SCHEMA.into(),
        kind: asked.kind,
        status: Status::Failed,
        exit_code: 0,
        error: None,
        requested: requested(asked),
        granted: None,
        negotiated: Vec::new(),
        ends: None,
        clock: None,
        idle: None,
        intervals: Vec::new(),
        samples: None,
        marks: Vec::new(),
        summary: None,
        hosts: None,
        points: None,
        knees: None,
        rr: None,
        media: None,
        assertions: None,
        record: Record {
            argv: argv(),
            program_version: env!("CARGO_PKG_VERSION").into(),
            ended_unix_s: clock::unix_time().as_secs(),
        },
    }
}

/// The command line. A word that is no text, such as the name of a file in another encoding, is shown as well as possible.
fn argv() -> Vec<String> {
    let words = std::env::args_os();
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

fn requested_flow(asked: &Bulk, flow: u32) -> FlowRequest {
    let values = asked.values_of(flow);
    FlowRequest {
        ccid: (asked.transport == Transport::Dccp).then_some(values.ccid),
        cc: asked.cc(flow),
        rate_bps: values.shape.mean_bps(asked.length.unwrap_or(LENGTH)),
        shape: values.shape.to_string(),
        packet_bytes: asked.length.map(|length| length as u64),
        socket_buffer_bytes: asked.socket_buffer,
        dscp: None,
    }
}

fn requested(asked: &Bulk) -> Requested {
    let is_random = (0..asked.flows).any(|flow| asked.values_of(flow).shape.is_random());
    Requested {
        host: asked.host.clone(),
        from: None,
        transport: asked.transport,
        udp_port: (asked.over == Encapsulation::Udp).then_some(asked.udp_port),
        dccp_port: Some(asked.dccp_port),
        over: Some(asked.over.to_string()),
        duration_ns: nanos(asked.duration),
        packets: asked.packets,
        interval_ns: nanos(asked.interval),
        idle_ns: nanos(asked.idle_time()),
        direction: match (asked.is_reverse, asked.is_both) {
            (_, true) => Direction::Both,
            (true, _) => Direction::Reverse,
            (false, _) => Direction::Forward,
        },
        one_connection: asked.is_one_connection,
        flows: (0..asked.flows)
            .map(|flow| requested_flow(asked, flow))
            .collect(),
        seed: is_random.then(|| asked.seed.to_string()),
        repeat: asked.runs_max,
        title: asked.title.clone(),
    }
}

fn negotiated(plan: &Plan, result: &TestResult, flow: &FlowResult) -> Negotiated {
    let agreed = &flow.tx.connection;
    Negotiated {
        flow: flow.id + 1,
        transport: plan.asked.transport,
        client_host: flow.client.map(|client| client.ip().to_string()),
        client_port: flow.client.map(|client| client.port()),
        ccid: agreed.ccid,
        cc: agreed.cc.clone(),
        ack_ratio: agreed.ack_ratio,
        ecn: agreed.is_ecn,
        encap: (plan.asked.transport == Transport::Dccp).then(|| plan.asked.over.to_string()),
        mps_bytes: agreed.mps_bytes,
        mss_bytes: agreed.mss_bytes,
        csum_cover: agreed.cscov,
        packet_bytes: result.length as u64,
        send_buffer_bytes: flow.tx.buffers.send_bytes,
        recv_buffer_bytes: flow.rx.as_ref().and_then(|rx| rx.buffers.recv_bytes),
        gso: None,
        gro: None,
    }
}

/// The source of the arrival times at one end: of the data that it received, and of echoes.
fn stamps_at(plan: &Plan, result: &TestResult, is_client: bool) -> Option<StampSource> {
    let sources = result.flows.iter().map(|flow| {
        if plan.asked.client_sends(flow.id) == is_client {
            flow.tx.stamps
        } else {
            flow.rx.as_ref().and_then(|rx| rx.stamps)
        }
    });
    StampSource::of_all(sources)
}

/// An end of a test, and the source of its arrival times.
fn end(host: &Host, stamps: Option<StampSource>) -> End {
    End {
        version: host.version.clone(),
        system: host.identity.system.clone(),
        boot_id: host.identity.boot_id.clone(),
        clock_source: host.identity.clock_source.clone(),
        timestamps: stamps,
        cores: Some(host.identity.cores),
    }
}

/// The counters of both hosts, with the packets that each one handled.
fn hosts(plan: &Plan, result: &TestResult) -> Hosts {
    let (mut client, mut server) = (0, 0);
    for flow in &result.flows {
        let (sent, delivered) = (flow.ledger.sent, flow.ledger.delivered);
        let is_forward = plan.asked.client_sends(flow.id);
        client += if is_forward { sent } else { delivered };
        server += if is_forward { delivered } else { sent };
    }
    Hosts {
        client: result.client.delta.clone().with_packets(client),
        server: result
            .server
            .as_ref()
            .map(|host| host.delta.clone().with_packets(server)),
    }
}

/// One interval of all flows; `None` if there is none.
pub(crate) fn interval<'a>(
    flows: impl Iterator<Item = &'a figures::Interval> + Clone,
) -> Option<Interval> {
    let first = flows.clone().next()?;
    Some(Interval {
        t0_ns: first.t0_ns,
        t1_ns: first.t1_ns,
        flows: flows.map(interval_flow).collect(),
    })
}

fn interval_flow(interval: &figures::Interval) -> IntervalFlow {
    let time = Duration::from_nanos(interval.t1_ns.saturating_sub(interval.t0_ns));
    let (tx, rx) = (interval.tx.as_ref(), interval.rx.as_ref());
    let safe_udp = tx.and_then(|tx| tx.safe_udp.clone());
    IntervalFlow {
        id: interval.flow + 1,
        offered_packets: None,
        sent_packets: tx.map(|t| t.packets),
        sent_bytes: tx.map(|t| t.bytes),
        received_packets: rx.map(|r| r.packets),
        received_bytes: rx.map(|r| r.bytes),
        goodput_bps: rx.map(|r| rate(r.bytes, time)),
        // The numbers of datagrams that the CCID dropped are missing at the receiver too.
        lost_packets: (safe_udp.as_ref().map(|of| of.lost_packets))
            .or_else(|| rx.map(|r| r.lost_packets)),
        recovered_packets: rx
            .filter(|_| safe_udp.is_none())
            .map(|r| r.recovered_packets),
        marked_packets: rx.map(|r| r.marked),
        rtt_ns: tx.and_then(|t| t.rtt_ns.clone()),
        queue_ns: tx.and_then(|t| t.queue_ns.clone()),
        cwnd_packets: tx.and_then(|t| t.cwnd_packets),
        ssthresh_packets: tx.and_then(|t| t.ssthresh_packets),
        cc_rate_bps: tx.and_then(|t| t.rate_bps),
        retransmitted_segments: tx.and_then(|t| t.retransmitted),
        cc_state: tx.and_then(|t| t.cc_state.clone()),
        held_by_cc_ns: None,
        late_ns: None,
        safe_udp,
    }
}

/// The whole test; `None` if it had no flow.
fn summary(result: &TestResult) -> Option<Summary> {
    let flows: Vec<Flow> = result.flows.iter().map(flow).collect();
    let goodputs: Option<Vec<f64>> = flows.iter().map(|flow| flow.goodput_bps).collect();
    // A flow whose goodput is not known comes first.
    let bps = |flow: &Flow| flow.goodput_bps.unwrap_or(0.0);
    let slowest = flows.iter().min_by(|a, b| bps(a).total_cmp(&bps(b)))?;
    Some(Summary {
        duration_ns: nanos(result.elapsed),
        goodput_bps: goodputs.as_ref().map(|goodputs| goodputs.iter().sum()),
        fairness_jain: goodputs.as_ref().and_then(|goodputs| fairness(goodputs)),
        asymmetry: match goodputs.as_deref() {
            Some([first, second]) => asymmetry(*first, *second),
            _ => None,
        },
        repeat: None,
        limited_by: slowest.limited_by.clone(),
        flows,
    })
}

/// The parts of the round trip; `None` if the transport shows none.
fn round_trip(transport: Transport, tx: &TxTotal, rx: Option<&RxTotal>) -> Option<RttSplit> {
    let waited = rx.and_then(|rx| rx.wait_ns.clone());
    Some(RttSplit {
        user_ns: tx.user_ns.clone(),
        send_queue_ns: tx.queue_ns.clone(),
        network_ns: Some(tx.rtt_ns.clone()?),
        receiver_ns: waited.or_else(|| tx.echo_wait_ns.clone()),
        source: match (transport, &tx.user_ns) {
            (Transport::Udp, _) => "echoes",
            (_, Some(_)) => "acknowledgements and echoes",
            (_, None) => "acknowledgements",
        }
        .into(),
    })
}

fn flow(f: &FlowResult) -> Flow {
    let rx = f.rx.as_ref();
    let arrivals = rx.and_then(|r| r.arrivals.as_ref());
    let is_dccp = f.transport == Transport::Dccp;
    Flow {
        id: f.id + 1,
        direction: if f.is_reverse {
            Direction::Reverse
        } else {
            Direction::Forward
        },
        connection: (f.transport != Transport::Udp).then_some(f.connection + 1),
        goodput_bps: f.goodput_bps,
        wire_bps: f.wire_bps,
        received_bytes: f.bytes,
        ledger: (f.transport != Transport::Tcp).then_some(f.ledger),
        acknowledged: is_dccp.then_some(Acknowledged {
            received_packets: f.tx.acked,
            marked_packets: f.tx.marked,
            lost_packets: f.tx.lost,
            dropped_by_peer_packets: f.tx.rx_dropped,
            unreported_packets: f.tx.unreported,
        }),
        tcp: f.tx.tcp,
        broken: f.tx.broken.clone(),
        rtt: round_trip(f.transport, &f.tx, rx),
        one_way: None,
        stamps: Stamps {
            data: rx.and_then(|rx| rx.stamps),
            echoes: f.tx.stamps,
        },
        jitter: arrivals.map(|a| a.jitter.clone()),
        order: arrivals.map(|a| a.order.clone()),
        loss_pattern: arrivals
            .filter(|_| f.ledger.dropped_ccid == 0)
            .map(|a| a.loss.clone()),
        reordered_packets: rx.map(|r| r.reordered),
        duplicate_packets: rx.map(|r| r.duplicates),
        marked_packets: rx.map(|r| r.marked),
        schedule: f.tx.schedule.clone(),
        stability: None,
        sender_samples: (f.transport != Transport::Udp).then_some(f.tx.samples),
        safe_udp: f.tx.safe_udp.clone(),
        steps: Vec::new(),
        limited_by: f.limit.clone(),
    }
}
