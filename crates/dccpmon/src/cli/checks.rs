//! Values of a bulk test that follow from several options.

use super::BulkWords;
use crate::limits::{FLOWS_MAX, INTERVAL_MIN};
use crate::load::shape::Shape;
use crate::output::{Format, Options};
use crate::schema::Transport;
use core::time::Duration;
use dccp::safeudp;
use dccp_cli::Failure;

/// The flows of a test, in both directions.
pub(super) fn flows(w: &BulkWords) -> Result<u32, Failure> {
    if w.both.bidir && w.parallel > FLOWS_MAX / 2 {
        return Err(Failure::usage(
            format!(
                "-P {}: --bidir doubles the flows, and a test has {FLOWS_MAX} at most",
                w.parallel
            ),
            format!("write -P {}", FLOWS_MAX / 2),
        ));
    }
    if w.own.is_empty() {
        return Ok(if w.both.bidir {
            2 * w.parallel
        } else {
            w.parallel
        });
    }
    let own = u32::try_from(w.own.len()).ok();
    own.filter(|own| *own <= FLOWS_MAX).ok_or_else(|| {
        Failure::usage(
            format!("--flow: a test has {FLOWS_MAX} flows at most"),
            "write --flow less often",
        )
    })
}

/// Notes on options of iperf3 that change nothing, if they are given.
pub(super) fn notes(w: &BulkWords) -> Vec<&'static str> {
    let all = [
        (
            w.zerocopy,
            "-Z: packets are always sent with as few copies as the system allows",
        ),
        (
            w.get_server_output,
            "--get-server-output: the result always holds the figures of both ends",
        ),
    ];
    let given = all.into_iter().filter(|(is_given, _)| *is_given);
    given.map(|(_, note)| note).collect()
}

/// Whether a test has echoes. Over UDP nothing else measures round trips.
pub(super) fn has_echoes(transport: Transport, is_asked: bool) -> Result<bool, Failure> {
    match transport {
        Transport::Dccp => Ok(is_asked),
        Transport::Udp => Ok(true),
        Transport::Tcp if is_asked => Err(Failure::usage(
            "echoes: tests over TCP have none",
            "run `dccpmon bulk` without --echo, or choose --transport dccp or udp",
        )),
        Transport::Tcp => Ok(false),
    }
}

/// Checks that the sender of a test can have a law.
pub(super) fn check_law(ccid: u8, is_reverse: bool) -> Result<(), Failure> {
    let (problem, next) = if ccid != 2 {
        ("only CCID 2 has laws", "leave --ccid out, or --law")
    } else if is_reverse {
        (
            "the server sends, and the law is the sender's choice",
            "leave -R out, or start the test from the other host",
        )
    } else {
        return Ok(());
    };
    Err(Failure::usage(format!("--law: {problem}"), next))
}

/// The pattern of the data.
pub(super) fn pattern(w: &BulkWords, transport: Transport) -> Shape {
    let constant = w.bitrate.map(|bps| match bps {
        0 => Shape::Greedy,
        bps => Shape::Cbr { bps },
    });
    let given = [&constant, &w.shape, &w.burst, &w.spacing];
    match given.into_iter().flatten().next() {
        Some(shape) => shape.clone(),
        // Nothing else holds UDP back.
        None if transport == Transport::Udp => Shape::Cbr { bps: UDP_BPS },
        None => Shape::Greedy,
    }
}

/// The default rate over UDP, as in iperf3.
const UDP_BPS: u64 = 1_000_000;

/// CCID 248 is for data with a rate of their own, and gives advice that other congestion controls do not.
pub(super) fn check_safe_udp(
    w: &BulkWords,
    transport: Transport,
    shape: &Shape,
) -> Result<(), Failure> {
    if transport == Transport::Dccp && *shape == Shape::Greedy {
        let all = [("--ccid", w.ccid), ("--server-ccid", w.both.server_ccid)];
        if let Some((option, _)) = all.iter().find(|(_, ccid)| is_safe_udp(*ccid)) {
            return Err(needs_rate(option));
        }
    }
    let of_flows = w.own.iter().map(|flow| Some(flow.ccid));
    let mut all = of_flows.chain([w.ccid, w.both.server_ccid]);
    if w.obey && !all.any(is_safe_udp) {
        return Err(Failure::usage(
            "--obey: only CCID 248 gives advice",
            "add --ccid 248 and a rate, or leave --obey out",
        ));
    }
    Ok(())
}

fn is_safe_udp(ccid: Option<u8>) -> bool {
    ccid == Some(safeudp::NUMBER)
}

/// The failure of a test with CCID 248 that has no rate.
pub(super) fn needs_rate(option: &str) -> Failure {
    Failure::usage(
        format!("{option} 248: it needs data with a rate of their own"),
        "give the rate with -b, as in -b 20M, or a pattern with --shape, --burst or --spacing",
    )
}

/// TCP cuts its stream into packets as it likes.
pub(super) fn check_count(transport: Transport, count: Option<u64>) -> Result<(), Failure> {
    if transport != Transport::Tcp || count.is_none() {
        return Ok(());
    }
    Err(Failure::usage(
        "--count: TCP carries a stream of bytes, not packets",
        "leave --count out, or choose --transport dccp or udp",
    ))
}

/// Samples are those of the client's senders, and only the document shows them.
pub(super) fn check_sample(
    transport: Transport,
    is_reverse: bool,
    output: &Options,
) -> Result<(), Failure> {
    let has_document = matches!(output.format, Format::Json | Format::JsonStream);
    let (problem, next) = if transport == Transport::Udp {
        ("UDP has no congestion control", "leave --sample out")
    } else if is_reverse {
        (
            "the server sends, and samples are those of the sender",
            "leave -R out, or start the test from the other host",
        )
    } else if !has_document && output.save.is_none() {
        (
            "the samples stand in the JSON document",
            "add -J, --json-stream or --save FILE",
        )
    } else {
        return Ok(());
    };
    Err(Failure::usage(format!("--sample: {problem}"), next))
}

/// The interval of a test whose user asks for none. Curves need more points than a table needs lines.
pub(super) fn usual_interval(w: &BulkWords) -> Duration {
    if w.output.is_live() {
        (w.time / LIVE_POINTS).clamp(INTERVAL_MIN, INTERVAL)
    } else {
        INTERVAL.min(w.time)
    }
}

/// The points of a curve of --live by default.
const LIVE_POINTS: u32 = 50;

/// The default interval of the table.
const INTERVAL: Duration = Duration::from_secs(1);

/// Flows over DCCP share the kernel's socket with others.
pub(super) fn check_window(transport: Transport, bytes: Option<u64>) -> Result<(), Failure> {
    if bytes.is_none() || transport != Transport::Dccp {
        return Ok(());
    }
    Err(Failure::usage(
        "--window: flows over DCCP have no socket of the kernel each",
        "leave --window out, or choose --transport udp or tcp",
    ))
}
